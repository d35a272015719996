"""Chains: how the next entry is linked, and how a whole chain is checked.

**Claim.** Let a chain pass :func:`checked_chain` against the head that a store keeps. Then no byte
of any column of any of its rows, nor of its head, differs from what was written, unless whoever
changed it made all hashes after it anew. In a chain whose entries are signed, he also needs their
keys, or writes the chain anew from its first entry, which is where keys are named; then only
reports that people hold tell.

**Proof.** A row's text is one that an entry is written as, to the byte, and its columns repeat what
the text says (:func:`entry_of`). The hash is SHA-256 over the text, so a changed text needs another
hash; that stands in the next entry's text, and so on to the head. The key is in the text; a
signature is checked with it. The head's number and hash are the last row's, and its state's digest
is in the last row's text.

A chain that was cut off at its end, head and all, is whole. Only reports that people hold tell.

Held by tests/ledger/test_chain.py and test_edited_bytes.py.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from dpforest.exceptions import LedgerUnreachable
from dpforest.ledger.bodies import BODIES, VERSION, Body, Kind, OpenBody
from dpforest.ledger.entries import Entry, damaged, read_entry
from dpforest.ledger.rules import applied
from dpforest.ledger.state import DataSetState, digest_of_text, read_state
from dpforest.ledger.store import Head, Row
from dpforest.signatures import Signer, is_hex, verifier
from dpforest.strict_json import parse_object

_KIND_OF = {body: kind for kind, body in BODIES.items()}


@dataclass(frozen=True)
class Statement:
    """Words of somebody about a data set, before it has a place in its chain.

    Attributes
    ----------
    data_set, id, actor : str
    body : Body
    signer : Signer or None
    """

    data_set: str
    id: str
    actor: str
    body: Body
    signer: Signer | None = None

    @property
    def kind(self) -> Kind:
        """Kind of its body."""
        return _KIND_OF[type(self.body)]

    @property
    def key(self) -> str:
        """Public key of whoever signs it, or empty."""
        return self.signer.public_key if self.signer else ""


@dataclass(frozen=True)
class End:
    """End of a chain: the last entry's hash, and the state after it."""

    hash: str
    state: DataSetState


def now() -> str:
    """The clock's time as an entry holds it."""
    clock = datetime.datetime.now(datetime.UTC)
    return clock.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def linked(end: End | None, said: Statement) -> tuple[Entry, DataSetState]:
    """The next entry of a chain, and the state after it.

    Parameters
    ----------
    end : End or None
        Its end; None where there is no chain yet.
    said : Statement

    Raises
    ------
    BudgetExceeded, ApprovalMissing, LedgerFrozen, ParameterError
        If the rules refuse it.
    """
    clock, last = now(), end.state.time if end else ""
    draft = Entry(
        data_set=said.data_set,
        number=end.state.number + 1 if end else 0,
        id=said.id,
        kind=said.kind,
        # Texts of one form, so the later time is the larger text.
        time=max(clock, last),
        clock_behind=clock < last,
        actor=said.actor,
        key=said.key,
        body=said.body,
        previous=end.hash if end else "",
    )
    state = applied(end.state if end else None, draft)
    whole = draft.model_copy(update={"state": state.digest()})
    digest = whole.hashed()
    signature = said.signer.sign(digest) if said.signer else ""
    return whole.model_copy(update={"hash": digest, "signature": signature}), state


def row_of(entry: Entry) -> Row:
    """An entry as a store keeps it."""
    return Row(
        data_set=entry.data_set,
        number=entry.number,
        id=entry.id,
        kind=str(entry.kind),
        text=entry.text,
        hash=entry.hash,
        signature=entry.signature,
        key=entry.key,
    )


def head_of(entry: Entry, state: DataSetState) -> Head:
    """The end of a chain as a store keeps it."""
    return Head(entry.data_set, entry.number, entry.hash, state.text)


def entry_of(row: Row, data_set: str = "") -> Entry:
    """The entry that a row holds; LedgerDamaged where a column says otherwise than its text."""
    where = f"entry {row.number} of data set {data_set or row.data_set!r}"
    if not is_hex(row.hash, 32):
        raise damaged(f"{where} has no hash")
    entry = read_entry(row.text, row.hash, row.signature, where)
    if entry.hashed() != row.hash:
        raise damaged(f"{where} has not the hash of what it says")
    if row_of(entry) != row or (data_set and entry.data_set != data_set):
        raise damaged(f"{where} says otherwise than the columns beside it")
    if bool(entry.signature) != bool(entry.key):
        raise damaged(f"{where} names a key and is not signed, or the other way round")
    return entry


def end_of(head: Head, last: Sequence[Row], ledger: str) -> End:
    """The end of a chain, checked as far as its last row tells.

    Parameters
    ----------
    head : Head
    last : sequence of Row
        The row of the head's number, and no other.
    ledger : str
        Identity of the ledger.

    Raises
    ------
    LedgerDamaged
        If the head, its row and its state do not belong together, or to this ledger.
    LedgerUnreachable
        If a newer release wrote them.
    """
    name = head.data_set
    if len(last) != 1:
        raise damaged(f"the entry of its head ({head.number}) is not there", ledger, name)
    _check_version_at_end(head, last[0], ledger)
    entry = entry_of(last[0], name)
    if (entry.number, entry.hash) != (head.number, head.hash):
        raise damaged("its head does not point at its last entry", ledger, name)
    if digest_of_text(head.state) != entry.state:
        raise damaged("the state that its head keeps was edited", ledger, name)
    state = read_state(head.state, name)
    if state.facts.ledger != ledger:
        raise damaged("it is a chain of another ledger", ledger, name)
    return End(head.hash, state)


def _check_version_at_end(head: Head, last: Row, ledger: str) -> None:
    """Refuse the end of a chain that a newer release wrote; where it was edited, it is damaged."""
    state = f'"state":"{digest_of_text(head.state)}"'
    if digest_of_text(last.text) == last.hash == head.hash and state in last.text:
        _check_version(head.state, "facts", ledger, head.data_set)


def _check_version(text: str, part: str, ledger: str, data_set: str) -> None:
    """Refuse the facts of a newer release: this one would call its entries damaged."""
    try:
        version = parse_object(text, ValueError)[part]["version"]
    except (ValueError, LookupError, TypeError):
        return  # it is no entry, or no state, of any release
    if type(version) is int and version > VERSION:
        raise LedgerUnreachable(
            f"it is of version {version}, which a newer release wrote (this release knows versions "
            f"up to {VERSION})",
            "Install a newer dpforest, and restore no backup for this",
            ledger,
            data_set,
        )


@dataclass(frozen=True)
class Chain:
    """A chain that was checked whole.

    Attributes
    ----------
    entries : tuple of Entry
    state : DataSetState
        After the last of them.
    """

    entries: tuple[Entry, ...]
    state: DataSetState


def checked_chain(rows: Sequence[Row], head: Head | None, ledger: str, data_set: str) -> Chain:
    """All entries of a chain, each checked against what stands before it.

    Parameters
    ----------
    rows : sequence of Row
    head : Head or None
        As the store keeps it; None checks the rows alone.
    ledger, data_set : str
        Whose chain it should be.

    Raises
    ------
    LedgerDamaged
        With the first thing that does not fit.
    LedgerUnreachable
        If a newer release wrote it.
    MissingExtraError
        If an entry is signed and ``cryptography`` is not installed.
    """
    entries: list[Entry] = []
    state: DataSetState | None = None
    if rows and digest_of_text(rows[0].text) == rows[0].hash:
        _check_version(rows[0].text, "body", ledger, data_set)
    for number, row in enumerate(rows):
        entry = entry_of(row, data_set)
        _check_link(entry, entries[-1] if entries else None, number, ledger)
        state = _after(state, entry)
        entries.append(entry)
    if state is None:
        raise damaged("it has no entries", ledger, data_set)
    _check_signatures(entries)
    if head is not None and head != head_of(entries[-1], state):
        raise damaged("its head is not that of its entries", ledger, data_set)
    return Chain(tuple(entries), state)


def _check_link(entry: Entry, before: Entry | None, number: int, ledger: str) -> None:
    where = f"entry {number}"
    if entry.number != number:
        raise damaged(f"{where} is not there", ledger, entry.data_set)
    if entry.previous != (before.hash if before else ""):
        raise damaged(f"{where} does not follow from the one before it", ledger, entry.data_set)
    if before and entry.time < before.time:
        raise damaged(f"{where} is older than the one before it", ledger, entry.data_set)
    if isinstance(entry.body, OpenBody) and entry.body.ledger != ledger:
        raise damaged("it is a chain of another ledger", ledger, entry.data_set)


def _after(state: DataSetState | None, entry: Entry) -> DataSetState:
    try:
        after = applied(state, entry)
    except ValueError as error:
        raise damaged(
            f"entry {entry.number} breaks a rule ({error})", data_set=entry.data_set
        ) from None
    if after.digest() != entry.state:
        raise damaged(
            f"entry {entry.number} leads to another state than it says", data_set=entry.data_set
        )
    return after


def _check_signatures(entries: Sequence[Entry]) -> None:
    signed = [entry for entry in entries if entry.key]
    fits = verifier() if signed else None
    for entry in signed:
        if fits is not None and not fits(entry.key, entry.hash, entry.signature):
            raise damaged(
                f"entry {entry.number} is not signed with its key", data_set=entry.data_set
            )
