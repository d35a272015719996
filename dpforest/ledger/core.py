"""Core of a ledger: one transaction an entry, between the rules and the store.

**Claim.** An entry that is returned is durable, stands once in its chain, and follows from a state
whose digest the entry before it holds. An entry that is refused left nothing.

**Proof.** The store holds the head's row while the end of the chain is read, checked and written
(:meth:`Store.locked`). The client chooses the entry's UUID before the first attempt. If the store
does not answer whether it committed, the same UUID is asked for once more under the same lock,
which waits for whatever is still on its way: if it is there it is returned, and else appended.

Held by tests/ledger/test_core.py, and by tests/ledger/test_unanswered.py for lost answers.
"""

from __future__ import annotations

import secrets
import uuid
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, Self

from pydantic import ValidationError

from dpforest.accounting.rationals import to_rational
from dpforest.accounting.units import check_records_per_unit
from dpforest.checks import check_integer
from dpforest.domain.domain import Domain
from dpforest.exceptions import (
    LedgerUnreachable,
    LedgerWarning,
    ParameterError,
    ParameterTypeError,
)
from dpforest.ledger.amounts import cap_in_units
from dpforest.ledger.chain import (
    Chain,
    Place,
    Said,
    checked_chain,
    entry_of,
    head_of,
    linked,
    place_of,
    row_of,
)
from dpforest.ledger.entries import (
    VERSION,
    ApproveBody,
    BlockBody,
    Body,
    Charge,
    CheckpointBody,
    Entry,
    ImportBody,
    NoteBody,
    OpenBody,
    PolicyBody,
    RequestBody,
    ReserveBody,
    RevokeBody,
    SettleBody,
    StartBody,
    VoidBody,
    damaged,
    is_id,
    is_name,
)
from dpforest.ledger.facts import cap_facts, domain_digest
from dpforest.ledger.rules import charge_digest, token_digest
from dpforest.ledger.signatures import Signer
from dpforest.ledger.state import DataSetState
from dpforest.ledger.status import DataSetStatus, status_of
from dpforest.ledger.store import Head, Locked, Store, open_store
from dpforest.relations import relations_of


@dataclass(frozen=True)
class Written:
    """An entry that stands, and the state of its data set after it."""

    entry: Entry
    state: DataSetState


@dataclass(frozen=True)
class Reserved:
    """Budget that is set aside, and the secret by which its process may void it.

    Attributes
    ----------
    entry : Entry
        The ``reserve`` entry; its ``id`` names the reserve.
    state : DataSetState
        After that entry.
    token : str
        64 hexadecimal digits; kept in memory only.
    """

    entry: Entry
    state: DataSetState
    token: str

    @property
    def id(self) -> str:
        """Name of the reserve."""
        return self.entry.id

    def __repr__(self) -> str:
        return f"Reserved(id={self.id!r})"


class LedgerCore:
    """A ledger as far as entries go; :class:`dpforest.BudgetLedger` is what people use.

    Parameters
    ----------
    store : Store
    actor : str
        Whoever writes, in entries. Proved by a signature alone.
    signer : Signer or None
        Key that entries are signed with.
    """

    def __init__(self, store: Store, actor: str, signer: Signer | None = None) -> None:
        self._store = store
        self._actor = _checked_name(actor, "actor")
        self._signer = _checked_signer(signer)

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
            See :func:`dpforest.ledger.store.open_store`.

        Raises
        ------
        LedgerUnreachable
            If there is no ledger, or it cannot be written to.
        LedgerDamaged
            If it cannot be read.
        """
        _checked_name(actor, "actor")
        _checked_signer(signer)
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
        return self._store.data_sets()

    def status(self, data_set: str) -> DataSetStatus:
        """A data set as it stands: cap, spent, remaining, blocks, owners, requests, reserves.

        Parameters
        ----------
        data_set : str

        Raises
        ------
        ParameterError
            If there is no such data set.
        LedgerDamaged
            If its end is not what was written.
        """
        place = self._place(data_set)
        return status_of(place.state, place.hash, self.url)

    def log(self, data_set: str, start: int = 0, end: int | None = None) -> tuple[Entry, ...]:
        """Entries with ``start <= number < end``, oldest first, each checked by itself."""
        self._place(data_set)
        return tuple(entry_of(row, data_set) for row in self._store.rows(data_set, start, end))

    def find(self, entry_id: str) -> Entry | None:
        """The entry of a UUID, or None."""
        row = self._store.find(_checked_id(entry_id, "entry_id"))
        return None if row is None else entry_of(row)

    def chain(self, data_set: str) -> Chain:
        """All entries of a data set, checked whole against each other, the rules and the head.

        Raises
        ------
        LedgerDamaged
            With the first thing that is not as it was written.
        """
        name = _checked_name(data_set, "data_set")
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

    def _place(self, data_set: str) -> Place:
        name = _checked_name(data_set, "data_set")
        head = self._head(name)
        return place_of(head, self._store.rows(name, head.number, head.number + 1), self.id)

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
        names = ", ".join(map(repr, self.data_sets[:10])) or "none"
        return ParameterError(
            "data_set", data_set, f"is no data set of this ledger (it has {names})",
            "Register it once, or open the ledger that it is in",
        )  # fmt: skip

    # -- data sets ----------------------------------------------------------------------

    def register(
        self,
        data_set: str,
        *,
        domain: Domain,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        currency: Literal["rho", "epsilon"] = "rho",
        unit: str = "one record",
        max_records_per_unit: int = 1,
        max_blocks_per_unit: int | None = None,
        owners: Mapping[str, str] | Sequence[str] | None = None,
        approvals: int = 0,
        entry_id: str | None = None,
    ) -> Entry:
        """Register a data set, once for its life.

        Nothing can detect that one table is registered twice, here or in two ledgers: then each
        guarantee holds for what was spent in its own book only, and the two add up.

        Parameters
        ----------
        data_set : str
            Name.
        domain : Domain
            Public facts about the table. A fit with another domain is refused.
        epsilon, delta : number
            The guarantee over the data set's life.
        rho : number, optional
            The cap in rho, in place of ``epsilon``.
        currency : {"rho", "epsilon"}
            What is added up. Of ``"rho"`` the cap is the rho that converts to (epsilon, delta);
            ``"epsilon"`` is pure, and refuses every fit with a delta.
        unit : str
            What a unit of privacy is, for people.
        max_records_per_unit : int
            Most records of a unit in the whole table, all of its blocks together.
        max_blocks_per_unit : int, optional
            Most blocks that a unit's records are in; needed for blocks by arrival.
        owners : mapping of str to str, or sequence of str, optional
            Public key of each owner, or an empty text. By default whoever registers it.
        approvals : int
            Number of owners, other than who asks, that must approve of a fit.
        entry_id : str, optional
            UUID of the entry; the same one is never written twice.

        Returns
        -------
        Entry
        """
        per_unit = check_records_per_unit(max_records_per_unit)
        body = self._body(
            OpenBody,
            version=VERSION,
            ledger=self.id,
            domain=domain_digest(domain),
            relation=str(relations_of(per_unit)[0]),
            unit=unit,
            max_records_per_unit=per_unit,
            max_blocks_per_unit=_blocks_per_unit(max_blocks_per_unit),
            owners=self._owners(owners),
            approvals=check_integer(approvals, "approvals", 0),
            **cap_facts(currency, epsilon, delta, rho),
        )
        return self._write(data_set, body, entry_id)

    def _owners(self, owners: Any) -> dict[str, str]:
        if owners is None:
            return {self._actor: self._signer.public_key if self._signer else ""}
        if isinstance(owners, Mapping):
            return dict(owners)
        if isinstance(owners, str) or not isinstance(owners, Sequence):
            raise ParameterTypeError(
                "owners", owners, "must be names, or a mapping of names to public keys",
                'Write owners={"olga": ""}',
            )  # fmt: skip
        return dict.fromkeys(owners, "")

    # -- spending -----------------------------------------------------------------------

    def reserve(
        self, data_set: str, charge: Charge, *, request: str = "", entry_id: str | None = None
    ) -> Reserved:
        """Set budget aside for the fits of a charge; it counts as spent from now on.

        Parameters
        ----------
        data_set : str
        charge : Charge
        request : str
            Id of the request that was approved, where the data set asks for approvals.
        entry_id : str, optional
            UUID of the reserve.

        Returns
        -------
        Reserved
            Durable when it is returned. A crash from here on leaves it spent.

        Raises
        ------
        BudgetExceeded
            If it does not fit under the cap, a block's cap or the actor's quota.
        ApprovalMissing
            If the data set asks for approvals, and this charge has too few.
        LedgerFrozen, LedgerUnreachable, LedgerDamaged, ParameterError
        """
        token = secrets.token_hex(32)
        body = self._body(ReserveBody, charge=charge, request=request, token=token_digest(token))
        written = self.write(data_set, body, entry_id)
        return Reserved(written.entry, written.state, token)

    def start(
        self, data_set: str, reserve: str, part: int = 0, *, entry_id: str | None = None
    ) -> Entry:
        """Begin a fit of a reserve. Durable when it is returned; call it before a record is read.

        Parameters
        ----------
        data_set, reserve : str
        part : int
            Which of the reserve's fits, from 0. Each begins once.
        entry_id : str, optional
        """
        return self._write(data_set, self._body(StartBody, reserve=reserve, part=part), entry_id)

    def settle(
        self,
        data_set: str,
        reserve: str,
        part: int = 0,
        outcome: Literal["done", "failed"] = "done",
        *,
        entry_id: str | None = None,
    ) -> Entry:
        """Note that a fit ended. Nothing comes back, whatever it used."""
        body = self._body(SettleBody, reserve=reserve, part=part, outcome=outcome)
        return self._write(data_set, body, entry_id)

    def void(
        self,
        data_set: str,
        reserve: str,
        *,
        token: str = "",
        reason: str = "",
        entry_id: str | None = None,
    ) -> Entry:
        """Give a reserve back of which no fit began.

        Parameters
        ----------
        data_set, reserve : str
        token : str
            The reserve's secret, where its own process voids it.
        reason : str
            Needed where an owner voids it.
        entry_id : str, optional
        """
        body = self._body(VoidBody, reserve=reserve, token=token, reason=reason)
        return self._write(data_set, body, entry_id)

    # -- approvals ----------------------------------------------------------------------

    def request(self, data_set: str, charge: Charge, *, entry_id: str | None = None) -> Entry:
        """Ask owners to approve of a charge; the entry's id names the request."""
        return self._write(data_set, self._body(RequestBody, charge=charge), entry_id)

    def approve(
        self, data_set: str, request: str, charge: str | None = None, *, entry_id: str | None = None
    ) -> Entry:
        """Approve of a request as one of its owners.

        Parameters
        ----------
        data_set, request : str
        charge : str, optional
            Digest of the charge that is approved of, as ``status`` shows it; by default the one
            that the request has now.
        entry_id : str, optional
        """
        _checked_id(request, "request")
        if charge is None:
            pending = self._place(data_set).state.requests.get(request)
            charge = charge_digest(pending.charge) if pending else "0" * 64
        body = self._body(ApproveBody, request=request, charge=charge)
        return self._write(data_set, body, entry_id)

    def revoke(
        self, data_set: str, request: str, reason: str = "", *, entry_id: str | None = None
    ) -> Entry:
        """Take back one's approval of a request that was not used, or one's own request."""
        body = self._body(RevokeBody, request=request, reason=reason)
        return self._write(data_set, body, entry_id)

    # -- owners -------------------------------------------------------------------------

    def policy(
        self,
        data_set: str,
        *,
        cap: Any = None,
        block_caps: Mapping[str, Any] | None = None,
        quotas: Mapping[str, Any] | None = None,
        approvals: int | None = None,
        add_owners: Mapping[str, str] | None = None,
        remove_owners: Sequence[str] = (),
        reason: str = "",
        entry_id: str | None = None,
    ) -> Entry:
        """Change rules of a data set, as one of its owners. What is not named stays as it is.

        One owner is enough, also to ask for fewer approvals: the chain shows who did so, and why.

        Parameters
        ----------
        data_set : str
        cap : number, optional
            A lower cap, in the currency of the data set. A cap is never raised, and nothing is
            ever renewed by a date.
        block_caps : mapping of str to number, optional
            Lower caps of blocks.
        quotas : mapping of str to number or None, optional
            Most that each analyst may spend, within the cap. None lifts it. A quota is a rule of
            the house and no guarantee: analysts who share what they learn learn all of it.
        approvals : int, optional
        add_owners : mapping of str to str, optional
        remove_owners : sequence of str
        reason : str
        entry_id : str, optional
        """
        body = self._body(
            PolicyBody,
            cap=_cap(cap, "cap"),
            block_caps=_caps(block_caps, "block_caps"),
            quotas=_caps(quotas, "quotas"),
            approvals=approvals,
            add_owners={} if add_owners is None else add_owners,
            remove_owners=_names(remove_owners, "remove_owners"),
            reason=reason,
        )
        return self._write(data_set, body, entry_id)

    def add_block(
        self,
        data_set: str,
        name: str,
        *,
        cap: Any,
        by: Literal["arrival", "unit"] = "arrival",
        entry_id: str | None = None,
    ) -> Entry:
        """Add a block to a table that grows, as one of its owners.

        Parameters
        ----------
        data_set, name : str
        cap : number
            Most that the block may be charged, in the currency of the data set; what the whole
            table was charged before counts too.
        by : {"arrival", "unit"}
            Which records are in it: those that came in some time, or those whose unit has some
            hash. Decided by each record alone, never by what others are there.
        entry_id : str, optional
        """
        body = self._body(BlockBody, name=name, by=by, cap=_cap(cap, "cap"))
        return self._write(data_set, body, entry_id)

    def charge_elsewhere(
        self,
        data_set: str,
        units: int,
        source: str,
        *,
        witness: str = "",
        blocks: Sequence[str] = (),
        write_off: bool = False,
        reserve: str = "",
        entry_id: str | None = None,
    ) -> Entry:
        """Charge what was spent outside of this chain, or what it lost; it counts for ever.

        Parameters
        ----------
        data_set : str
        units : int
            In units of the currency, 2^-128 each.
        source : str
            Where it was spent, in words.
        witness : str
            Hash of the entry that a report bears witness of.
        blocks : sequence of str
            Blocks that it read; none means the whole table.
        write_off : bool
            Whether there is no witness of it.
        reserve : str
            Entry of a lost chain that is charged again here.
        entry_id : str, optional
        """
        body = self._body(
            ImportBody,
            units=units,
            source=source,
            witness=witness,
            blocks=_names(blocks, "blocks"),
            write_off=write_off,
            reserve=reserve,
        )
        return self._write(data_set, body, entry_id)

    def checkpoint(
        self,
        data_set: str,
        *,
        frozen: bool,
        reason: str,
        needed: int = 0,
        witnessed: int = 0,
        entry_id: str | None = None,
    ) -> Entry:
        """Freeze a data set, or let it go on, as one of its owners.

        ``needed`` and ``witnessed`` are for :mod:`dpforest.ledger.recovery`.
        """
        body = self._body(
            CheckpointBody, frozen=frozen, reason=reason, needed=needed, witnessed=witnessed
        )
        return self._write(data_set, body, entry_id)

    def note(self, data_set: str, text: str, *, entry_id: str | None = None) -> Entry:
        """Write some words into the chain, for people."""
        return self._write(data_set, self._body(NoteBody, text=text), entry_id)

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

    def write(self, data_set: str, body: Body, entry_id: str | None = None) -> Written:
        """Append one entry, once, whatever the store answers.

        Parameters
        ----------
        data_set : str
        body : Body
        entry_id : str, optional

        Returns
        -------
        Written
            Durable.
        """
        name = _checked_name(data_set, "data_set")
        chosen = str(uuid.uuid4()) if entry_id is None else _checked_id(entry_id, "entry_id")
        said = Said(name, chosen, self._actor, body, self._signer)
        try:
            written = self._append(said)
        except LedgerUnreachable as error:
            if not error.unanswered:
                raise
            # Under the lock, which waits for what may still be on its way.
            written = self._append(said)
        if (entry := written.entry).clock_behind:
            warnings.warn(
                f"the clock of this machine is behind the last entry of {name!r}; entry "
                f"{entry.number} bears that entry's time.",
                LedgerWarning,
                stacklevel=3,
            )
        return written

    def _append(self, said: Said) -> Written:
        with self._store.locked(said.data_set) as locked:
            known = locked.find(said.id)
            if known is not None:
                entry = _the_same(entry_of(known), said)
                return Written(entry, self._state_after(locked, entry))
            place = self._locked_place(locked, said)
            entry, state = linked(place, said)
            locked.append(row_of(entry), head_of(entry, state))
        return Written(entry, state)

    def _state_after(self, locked: Locked, entry: Entry) -> DataSetState:
        """The state after an entry that stands already, whatever stands behind it."""
        rows = locked.rows(0, entry.number + 1)
        return checked_chain(rows, None, self.id, entry.data_set).state

    def _locked_place(self, locked: Locked, said: Said) -> Place | None:
        head = locked.head
        if head is not None:
            rows = locked.rows(head.number, head.number + 2)
            return place_of(head, rows, self.id)
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


def _the_same(entry: Entry, said: Said) -> Entry:
    """The entry that stands already, if it says the very same."""
    same = (entry.data_set, entry.actor, entry.key) == (said.data_set, said.actor, said.key)
    if not same or entry.body != said.body:
        raise ParameterError(
            "entry_id", said.id, "is the UUID of another entry",
            "Choose a new UUID for each thing that you write",
        )  # fmt: skip
    return entry


def _checked_name(value: Any, parameter: str) -> str:
    if not isinstance(value, str):
        raise ParameterTypeError(parameter, value, "must be a name", "Give a text")
    if not is_name(value):
        raise ParameterError(
            parameter, value, "must be 1 to 100 printable characters, without spaces at its ends",
            "Choose a shorter or plainer name",
        )  # fmt: skip
    return value


def _checked_signer(value: Any) -> Signer | None:
    if value is not None and not isinstance(value, Signer):
        raise ParameterTypeError("signer", None, "must be a Signer", "Use Signer.read(path)")
    return value


def _names(values: Any, parameter: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ParameterTypeError(parameter, values, "must be a list of names", 'Write ["a", "b"]')
    return tuple(values)


def _checked_id(value: Any, parameter: str) -> str:
    if not is_id(value):
        raise ParameterError(
            parameter, value, "must be a UUID in small letters", "Use str(uuid.uuid4())"
        )
    return str(value)


def _blocks_per_unit(value: Any) -> int:
    return 0 if value is None else check_integer(value, "max_blocks_per_unit", 1, 10**9)


def _cap(value: Any, parameter: str) -> int | None:
    return None if value is None else cap_in_units(to_rational(value, parameter), parameter)


def _caps(values: Any, parameter: str) -> dict[str, int | None]:
    if values is not None and not isinstance(values, Mapping):
        raise ParameterTypeError(
            parameter, values, "must be a mapping of names", 'Write {"ana": 1}'
        )
    return {name: _cap(value, f"{parameter}[{name!r}]") for name, value in (values or {}).items()}
