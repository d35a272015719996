"""Base of a ledger: one transaction an entry, between the rules and the store.

**Claim.** An entry that is returned is durable, stands once in its chain, and follows from a state
whose digest the entry before it holds. An entry that is refused left nothing.

**Proof.** The store holds the head's row while the end of the chain is read, checked and written
(:meth:`Store.locked`). The client chooses the entry's UUID before the first attempt. If the store
does not answer whether it committed, the same UUID is asked for once more under the same lock,
which waits for whatever is still on its way: if it is there it is returned, and else appended.

Held by tests/ledger/test_core.py, and by tests/ledger/test_unanswered.py for lost answers.
"""

from __future__ import annotations

import contextlib
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from pydantic import ValidationError

from dpforest.checks import check_integer
from dpforest.display import short_list
from dpforest.exceptions import LedgerUnreachable, LedgerWarning, ParameterError, ParameterTypeError
from dpforest.ledger.bodies import Body, OpenBody, RequestBody, ReserveBody
from dpforest.ledger.chain import (
    Chain,
    End,
    Statement,
    checked_chain,
    end_of,
    entry_of,
    head_of,
    linked,
    row_of,
)
from dpforest.ledger.charges import check_known
from dpforest.ledger.entries import Entry, damaged
from dpforest.ledger.fields import is_id, is_name
from dpforest.ledger.guarantee_marks import counts_marks
from dpforest.ledger.opening import open_store
from dpforest.ledger.pricing import stands_alone
from dpforest.ledger.state import DataSetState
from dpforest.ledger.status import DataSetStatus, status_of
from dpforest.ledger.store import Head, Locked, Row, Store
from dpforest.ledger.words import checked_blocks
from dpforest.signatures import Signer

#: More entries than any chain has.
_MOST_ENTRIES = 10**9


class ChainGrown(ParameterError):
    """A chain does not end with the entry that another one must follow; nothing was written."""

    def __init__(self, after: str) -> None:
        super().__init__(
            "after", after, "is not the hash of the last entry", "Read the chain again, and decide"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value,)


@dataclass(frozen=True)
class Written:
    """An entry that stands, and the state of its data set after it."""

    entry: Entry
    state: DataSetState


class LedgerBase:
    """A ledger as far as reading and writing go; its kinds of entries are in :mod:`core`.

    Parameters
    ----------
    store : Store
    actor : str
        Whoever writes, in entries. Proved by a signature alone.
    signer : Signer or None
        Key that entries are signed with.
    """

    def __init__(self, store: Store, actor: str, signer: Signer | None = None) -> None:
        if not is_id(store.ledger_id):
            raise damaged("it does not say which ledger it is", store.url)
        self._store = store
        self._actor = checked_name(actor, "actor")
        self._signer = checked_signer(signer)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        actor: str,
        signer: Signer | None = None,
        create: bool = False,
        network: bool = False,
        incomplete: bool = False,
    ) -> Self:
        """Open the ledger at a place.

        Parameters
        ----------
        url : str
            ``"sqlite:///claims.ledger"`` for a file, or ``"postgresql://…"`` for several machines.
        actor : str
            Name that entries are written in.
        signer : Signer, optional
            Key that they are signed with.
        create : bool
            Make the ledger if there is none.
        network, incomplete : bool
            See ``dpforest.ledger.opening.open_store``.

        Raises
        ------
        LedgerUnreachable
            If there is no ledger, or it cannot be written to.
        LedgerDamaged
            If it cannot be read.
        """
        checked_name(actor, "actor")
        checked_signer(signer)
        store = open_store(url, create=create, network=network, incomplete=incomplete)
        return cls(store, actor, signer)

    @classmethod
    def create(cls, url: str, *, actor: str, signer: Signer | None = None) -> Self:
        """Make a ledger at a place, or open the one that is there; see :meth:`open`."""
        return cls.open(url, actor=actor, signer=signer, create=True)

    # -- reading ------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """UUID of the ledger."""
        return self._store.ledger_id

    @property
    def url(self) -> str:
        """Place of the ledger, without a password."""
        return self._store.url

    @property
    def actor(self) -> str:
        """Name that entries are written in."""
        return self._actor

    @property
    def data_sets(self) -> tuple[str, ...]:
        """Names of all data sets."""
        names = self._store.data_sets()
        if not all(map(is_name, names)):
            raise damaged("the name of a data set is none", self.url)
        return names

    def status(self, data_set: str | None = None) -> DataSetStatus:
        """A data set as it stands: cap, spent, remaining, blocks, owners, requests, reserves.

        Parameters
        ----------
        data_set : str

        Raises
        ------
        ParameterError
            If there is no such data set, or none is named; it names some that there are.
        LedgerDamaged
            If its end is not what was written.
        """
        if data_set is None:
            raise ParameterError(
                "data_set", None, f"must be named: this ledger has {self._some_names()}",
                "Write ledger.status(name) for each of ledger.data_sets",
            )  # fmt: skip
        end = self._end(data_set)
        whole = () if counts_marks(end.state) else self.log(data_set, 0, end.state.number + 1)
        return status_of(end.state, end.hash, self.url, whole)

    def room(self, data_set: str, blocks: Sequence[str] = ()) -> int:
        """Units that this actor may still be charged, of 2^-128 of the currency each.

        Parameters
        ----------
        data_set : str
        blocks : sequence of str
            Blocks that are read together, of a table that grows; none means the whole table.
        """
        state, named = self._end(data_set).state, checked_blocks(blocks)
        check_known(state, named)
        return state.room(named, self._actor)

    def log(self, data_set: str, start: int = 0, end: int | None = None) -> tuple[Entry, ...]:
        """Entries with ``start <= number < end``, oldest first, each checked by itself."""
        self._end(data_set)
        check_integer(start, "start", 0, _MOST_ENTRIES)
        if end is not None:
            check_integer(end, "end", 0, _MOST_ENTRIES)
        return tuple(entry_of(row, data_set) for row in self._store.rows(data_set, start, end))

    def find(self, entry_id: str) -> Entry | None:
        """The entry of a UUID, or None."""
        row = self._store.find(checked_id(entry_id, "entry_id"))
        return None if row is None else entry_of(row)

    def as_written(self, data_set: str, entry_id: str) -> Written:
        """An entry that stands, and the state that it left, from the first entry on.

        Raises
        ------
        ParameterError
            If the data set has no such entry.
        """
        self._end(data_set)
        entry = self.find(entry_id)
        if entry is None or entry.data_set != data_set:
            raise ParameterError(
                "entry_id", entry_id, f"is no entry of data set {data_set!r}", "Look at its log"
            )
        return Written(
            entry, self._state_after(self._store.rows(data_set, 0, entry.number + 1), entry)
        )

    def chain(self, data_set: str) -> Chain:
        """All entries of a data set, checked whole against each other, the rules and the head.

        Raises
        ------
        LedgerDamaged
            With the first thing that is not as it was written.
        """
        name = checked_name(data_set, "data_set")
        # Rows after the head: what was added meanwhile has moved the head on.
        head = self._head(name)
        rows = self._store.rows(name)
        checked = checked_chain(rows[: head.number + 1], head, self.id, name)
        if len(rows) > head.number + 1:
            self._check_moved(name, head.number, len(rows))
        return checked

    def _check_moved(self, data_set: str, number: int, length: int) -> None:
        """Rows beyond a head are well where the head has moved to them meanwhile."""
        head = self._store.head(data_set)
        if head is None or head.number < length - 1:
            raise damaged(f"its head points at entry {number} of more", self.id, data_set)

    def _end(self, data_set: str) -> End:
        name = checked_name(data_set, "data_set")
        head = self._head(name)
        return end_of(head, self._store.rows(name, head.number, head.number + 1), self.id)

    def _head(self, data_set: str) -> Head:
        head = self._store.head(data_set)
        if head is None and self._store.rows(data_set, 0, 1):
            # It may have been registered between the two questions.
            head = self._store.head(data_set)
            if head is None:
                raise damaged("its head is not there", self.id, data_set)
        if head is None:
            raise self._unknown(data_set)
        return head

    def _unknown(self, data_set: str) -> ParameterError:
        return ParameterError(
            "data_set", data_set, f"is no data set of this ledger (it has {self._some_names()})",
            "Register it once, or open the ledger that it is in",
        )  # fmt: skip

    def _some_names(self) -> str:
        return short_list([*map(repr, self.data_sets)]) or "none"

    # -- writing ------------------------------------------------------------------------

    def _body(self, kind: type[Any], **fields: Any) -> Any:
        """A body of an entry, or an error that names the first parameter that is wrong."""
        try:
            return kind(**fields)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            name = str(first["loc"][0]) if first["loc"] else kind.__name__
            rule = first["msg"].removeprefix("Value error, ")
            raise ParameterError(
                name, fields.get(name), f"is refused by the ledger: {rule}",
                "Names have 1 to 100 printable characters, texts at most 1000, ids are UUIDs",
            ) from None  # fmt: skip

    def _write(self, data_set: str, body: Body, entry_id: str | None) -> Entry:
        return self.write(data_set, body, entry_id).entry

    def write(
        self, data_set: str, body: Body, entry_id: str | None = None, after: str = ""
    ) -> Written:
        """Append one entry, once, whatever the store answers.

        Parameters
        ----------
        data_set : str
        body : Body
        entry_id : str, optional
        after : str
            Hash of the entry that it must follow, where it was worked out from the chain up to
            that one. By default it follows whatever is the last.

        Returns
        -------
        Written
            Durable.

        Raises
        ------
        ChainGrown
            If another entry is the last; nothing was written.
        """
        name = checked_name(data_set, "data_set")
        chosen = str(uuid.uuid4()) if entry_id is None else checked_id(entry_id, "entry_id")
        said = Statement(name, chosen, self._actor, body, self._signer)
        _work_out(body)
        try:
            written = self._append(said, after)
        except LedgerUnreachable as error:
            if not error.unanswered:
                raise
            # Under the lock, which waits for what may still be on its way.
            written = self._append(said, after)
        _warn_of_clock(written.entry)
        return written

    def check_written(self, data_set: str, body: Body) -> None:
        """Refuse what :meth:`write` would refuse as the data set stands; nothing is written."""
        said = Statement(data_set, str(uuid.uuid4()), self._actor, body, self._signer)
        linked(self._end(data_set), said)

    def _append(self, said: Statement, after: str) -> Written:
        with self._store.locked(said.data_set) as locked:
            known = locked.find(said.id)
            if known is not None:
                entry = _the_same(entry_of(known), said)
                return Written(entry, self._state_after(locked.rows(0, entry.number + 1), entry))
            end = self._locked_end(locked, said)
            if after and (end is None or end.hash != after):
                raise ChainGrown(after)
            entry, state = linked(end, said)
            locked.append(row_of(entry), head_of(entry, state))
        return Written(entry, state)

    def _state_after(self, rows: Sequence[Row], entry: Entry) -> DataSetState:
        """The state after an entry that stands already, by the rows up to it."""
        return checked_chain(rows, None, self.id, entry.data_set).state

    def _locked_end(self, locked: Locked, said: Statement) -> End | None:
        head = locked.head
        if head is not None:
            rows = locked.rows(head.number, head.number + 2)
            return end_of(head, rows, self.id)
        if locked.rows(0, 1):
            raise damaged("its head is not there", self.id, said.data_set)
        if not isinstance(said.body, OpenBody):
            raise self._unknown(said.data_set)
        return None

    # -- life ---------------------------------------------------------------------------

    def backup(self, path: str | Path) -> None:
        """Write a whole copy of the ledger as it stands to a new file.

        A backup that is restored later is a shorter chain, and nothing in it shows that: verify it
        with the reports that people hold.
        """
        self._store.backup(path)

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, actor={self._actor!r})"

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "ledger", self.url, "is never pickled: a copy would write in its actor's name",
            "Open it again where it is needed",
        )  # fmt: skip

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _work_out(body: Body) -> None:
    """Work a certificate out before the store's lock is held, under which the rules ask for it."""
    if isinstance(body, (RequestBody, ReserveBody)) and body.charge.alone:
        stands_alone(body.charge)


def _warn_of_clock(entry: Entry) -> None:
    if not entry.clock_behind:
        return
    # Where a filter makes errors of warnings, this one would hide an entry that stands, such as a
    # reserve that its process could not give back any more. The entry says the same.
    with contextlib.suppress(LedgerWarning):
        warnings.warn(
            f"the clock of this machine is behind the last entry of {entry.data_set!r}; entry "
            f"{entry.number} bears that entry's time. Set this clock, or that of whoever wrote "
            "before, if it was ahead; nothing that is spent depends on it.",
            LedgerWarning,
            stacklevel=5,
        )


def _the_same(entry: Entry, said: Statement) -> Entry:
    """The entry that stands already, if it says the very same."""
    same = (entry.data_set, entry.actor, entry.key) == (said.data_set, said.actor, said.key)
    if not same or entry.body != said.body:
        raise ParameterError(
            "entry_id", said.id, "is the UUID of another entry",
            "Choose a new UUID for each thing that you write",
        )  # fmt: skip
    return entry


def checked_name(value: Any, parameter: str) -> str:
    """A name as a ledger keeps it.

    Raises
    ------
    ParameterTypeError, ParameterError
    """
    if not isinstance(value, str):
        raise ParameterTypeError(parameter, value, "must be a name", "Give a text")
    if not is_name(value):
        raise ParameterError(
            parameter, value, "must be 1 to 100 printable characters, without spaces at its ends",
            "Choose a shorter or plainer name",
        )  # fmt: skip
    return value


def checked_signer(value: Any) -> Signer | None:
    """The key that entries are signed with, or None.

    Raises
    ------
    ParameterTypeError
    """
    if value is not None and not isinstance(value, Signer):
        raise ParameterTypeError("signer", None, "must be a Signer", "Use Signer.read(path)")
    return value


def checked_id(value: Any, parameter: str, repair: str = "Use str(uuid.uuid4())") -> str:
    """A UUID as a ledger writes it.

    Raises
    ------
    ParameterError
    """
    if not is_id(value):
        raise ParameterError(parameter, value, "must be a UUID in small letters", repair)
    return str(value)
