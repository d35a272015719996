"""Entries of a ledger: one kind for each thing that happens to a data set, and its body.

An entry is written once and never changed. Its text is its canonical JSON without the signature,
and its hash is SHA-256 over that text, which holds the hash of the entry before it and a digest of
the state after it. So an edited byte in any of them is found.

Held by tests/ledger/test_entries.py and tests/ledger/test_edited_bytes.py.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from enum import StrEnum
from os import PathLike
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from dpforest.accounting.certificate_record import EventRecord
from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.checks import write_file
from dpforest.display import printable
from dpforest.exceptions import LedgerDamaged, ParameterError
from dpforest.ledger.amounts import Units
from dpforest.report.digests import canonical_bytes
from dpforest.signatures import is_hex
from dpforest.strict_json import is_writable, name_of, parse_object, read_object

#: Version of what the entries of a data set hold, for its life; releases read all up to it.
#: Since version 2 its state counts the fits whose own guarantee does not hold, and it says what its
#: cap was given in. Since version 3 approvals end with the key, or the office, of their owner.
VERSION: Literal[3] = 3
#: Name and version of a plan file's format.
PLAN_FORMAT, PLAN_VERSION = "dpforest-charge", 1
#: Longest name and longest free text, in characters.
LONGEST_NAME, LONGEST_TEXT = 100, 1000
#: Most fits of a reserve, whose state holds a digest of each, and most lines of its list.
MOST_PARTS, MOST_LINES = 1000, 20_000

#: What a settlement says of a fit whose own guarantee does not hold, or is not known to.
SettleMark = Literal["", "demonstration", "void", "unknown"]
#: What an import says of the guarantee that was earned with it; empty where nobody said so.
ImportMark = Literal["", "holds", "demonstration", "void"]

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


class Kind(StrEnum):
    """Kinds of entries."""

    OPEN = "open"
    POLICY = "policy"
    BLOCK = "block"
    REQUEST = "request"
    APPROVE = "approve"
    REVOKE = "revoke"
    RESERVE = "reserve"
    START = "start"
    SETTLE = "settle"
    VOID = "void"
    IMPORT = "import"
    CHECKPOINT = "checkpoint"
    NOTE = "note"


def is_name(value: Any) -> bool:
    """Say if a value may name a data set, a block or an actor."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= LONGEST_NAME
        and value.isprintable()
        and value == value.strip()
        and is_writable(value)
    )


def is_text(value: Any) -> bool:
    """Say if a value may be a purpose, a reason or a note: some printable words, or none."""
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_TEXT
        and value.isprintable()
        and is_writable(value)
    )


def is_id(value: Any) -> bool:
    """Say if a value is a UUID as it is written in a ledger: 36 small characters."""
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False


def _rule(passes: Any, words: str) -> AfterValidator:
    def check(value: Any) -> Any:
        if not passes(value):
            raise ValueError(words)
        return value

    return AfterValidator(check)


# Strict: bytes are no text, and neither is any other type that reads as one.
_strict = Field(strict=True)
Name = Annotated[str, _strict, _rule(is_name, "not a name of 1 to 100 printable characters")]
Text = Annotated[str, _strict, _rule(is_text, "not a text of at most 1000 printable characters")]
Id = Annotated[str, _strict, _rule(is_id, "not a UUID in small letters")]
IdOrNone = Annotated[str, _strict, _rule(lambda v: not v or is_id(v), "not a UUID")]
Digest = Annotated[str, _strict, _rule(lambda v: is_hex(v, 32), "not 64 hexadecimal digits")]
DigestOrNone = Annotated[
    str, _strict, _rule(lambda v: not v or is_hex(v, 32), "not 64 hexadecimal digits")
]
#: An ed25519 public key, or empty where nobody signs.
PublicKey = DigestOrNone
Signature = Annotated[str, _strict, _rule(lambda v: not v or is_hex(v, 64), "not a signature")]
Time = Annotated[str, _strict, _rule(lambda v: _TIME.fullmatch(v) is not None, "not a time")]
Flag = Annotated[bool, _strict]
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]


class Part(Frozen):
    """One fit of a reserve.

    Attributes
    ----------
    plan : str
        Digest of its plan.
    units : int
        Its own price.
    """

    plan: Digest
    units: Units


class Repeated(Frozen):
    """A few releases in order, so many times over.

    Attributes
    ----------
    releases : tuple of EventRecord
        Mechanism and parameters of each, as rationals in text.
    times : int
    """

    releases: tuple[EventRecord, ...] = Field(min_length=1, max_length=1000)
    times: Count


class Charge(Frozen):
    """Everything that a reserve asks for, and that owners approve of.

    Attributes
    ----------
    domain : str
        Fingerprint of the domain that it was planned for.
    records_per_unit : int
        Number of records of a unit that it was priced for.
    parts : tuple of Part
        The fits. A campaign has several.
    units : int
        The price of all of them together, in the currency of the data set.
    epsilon, rho, delta : str
        Of all of them, exactly, for people; infinite where there is none.
    blocks : tuple of str
        Blocks that are read, of a table that grows.
    alone : bool
        Whether the price is a certificate's (epsilon, delta), beside which nothing else may stand.
    purpose : str
    releases : tuple of Repeated
        The list of releases.
    """

    domain: Digest
    records_per_unit: Count
    parts: tuple[Part, ...] = Field(min_length=1, max_length=MOST_PARTS)
    units: Units
    epsilon: ExactText
    rho: ExactText
    delta: ExactText
    blocks: tuple[Name, ...] = ()
    alone: Flag = False
    purpose: Text = ""
    releases: tuple[Repeated, ...] = Field(default=(), max_length=MOST_LINES)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Write it as a plan file: what ``dpforest ledger plan``, ``request`` and ``reserve`` take.

        Parameters
        ----------
        path : str or path, optional
            A file to write; one that is there is replaced.
        """
        charge = self.model_dump(mode="json")
        data = {"format": PLAN_FORMAT, "version": PLAN_VERSION, "charge": charge}
        text = json.dumps(data, indent=1) + "\n"
        if path is not None:
            write_file(path, text)
        return text

    @classmethod
    def from_json(cls, given: str | PathLike[str]) -> Charge:
        """Read what :meth:`to_json` wrote, from its text or its file.

        Raises
        ------
        ParameterError
            If it is something else.
        """

        def refuse(rule: str) -> ParameterError:
            return ParameterError(
                "plan", name_of(given), f"cannot be read as a plan file: {rule}",
                "Write one with ledger.charge(data_set, forests, purpose=...).to_json(path)",
            )  # fmt: skip

        data = read_object(given, refuse)
        if set(data) != {"format", "version", "charge"} or data["format"] != PLAN_FORMAT:
            raise refuse(f"it is no {PLAN_FORMAT}")
        if data["version"] != PLAN_VERSION:
            raise refuse("it is of another version")
        try:
            return cls.model_validate(data["charge"])
        except ValidationError as error:
            raise refuse(_reason(error)) from None


class OpenBody(Frozen):
    """A data set and what is fixed for its life.

    Attributes
    ----------
    version : {1, 2, 3}
        Of what entries and states hold; always written.
    ledger : str
        Identity of the ledger, so that no chain passes as another ledger's.
    domain : str
        Fingerprint of the public facts that decide codes.
    relation, unit : str
        Native neighbouring relation, and what a unit of privacy is, in words.
    max_records_per_unit : int
        Most records of a unit in what any one fit reads: the whole table, or all blocks that it
        names together.
    max_blocks_per_unit : int
        Most blocks that a unit's records are in; 0 where nobody said so.
    currency : {"rho", "epsilon"}
    cap : int
        In units of the currency.
    epsilon, delta : str
        The guarantee that the cap stands for, exactly.
    conversion : str
        Means of the conversion between both.
    given_in : {"", "epsilon", "rho"}
        What the cap was given in; empty in version 1, which did not say. Where it is rho, that is
        promised too, and nothing but a sum of rho keeps it.
    owners : dict of str
        Public key of each owner, or an empty text.
    approvals : int
        Number of owners who must approve of a reserve.
    """

    version: Literal[1, 2, 3]
    ledger: Id
    domain: Digest
    relation: Text
    unit: Text
    max_records_per_unit: Count = Field(ge=1)
    max_blocks_per_unit: Count
    currency: Literal["rho", "epsilon"]
    cap: Units
    epsilon: ExactText
    delta: ExactText
    conversion: Text
    given_in: Literal["", "epsilon", "rho"] = ""
    owners: dict[Name, PublicKey] = Field(min_length=1)
    approvals: Count


class PolicyBody(Frozen):
    """New rules of a data set; None and what is not named stays as it is.

    Attributes
    ----------
    cap : int or None
        Not above the present one, and not below what is spent.
    block_caps : dict of int
        The same of blocks.
    quotas : dict of int or None
        Most that each analyst may spend; None lifts it. A policy within the cap, no guarantee.
    approvals : int or None
    add_owners : dict of str
    remove_owners : tuple of str
    reason : str
    """

    cap: Units | None = None
    block_caps: dict[Name, Units] = {}
    quotas: dict[Name, Units | None] = {}
    approvals: Count | None = None
    add_owners: dict[Name, PublicKey] = {}
    remove_owners: tuple[Name, ...] = ()
    reason: Text = ""


class BlockBody(Frozen):
    """A block of a table that grows.

    Attributes
    ----------
    name : str
    by : {"arrival", "unit"}
        Rule that says which records are in it: when they came, or a hash of their unit.
    cap : int
    """

    name: Name
    by: Literal["arrival", "unit"]
    cap: Units


class RequestBody(Frozen):
    """A charge that owners are asked to approve of."""

    charge: Charge


class ApproveBody(Frozen):
    """Approval of a request by its number and by the digest of its charge."""

    request: Id
    charge: Digest


class RevokeBody(Frozen):
    """An approval taken back by its owner, or a request by whoever made it or by another owner."""

    request: Id
    reason: Text = ""


class ReserveBody(Frozen):
    """Budget set aside, which counts as spent from now on.

    Attributes
    ----------
    charge : Charge
    request : str
        Request that was approved, or empty.
    token : str
        SHA-256 of a secret of the reserving process, by which it may void what it never began.
    """

    charge: Charge
    request: IdOrNone = ""
    token: Digest


class StartBody(Frozen):
    """A fit of a reserve begins: from now on nothing of it ever comes back."""

    reserve: Id
    part: Count


class SettleBody(Frozen):
    """A fit of a reserve ended. Nothing comes back, whatever it used.

    Attributes
    ----------
    reserve : str
    part : int
    outcome : {"done", "failed"}
    guarantee : {"", "demonstration", "void", "unknown"}
        Status of the fit's own guarantee, where it does not hold as it was planned or nobody said:
        then what the cap stands for does not speak of this fit.
    """

    reserve: Id
    part: Count
    outcome: Literal["done", "failed"]
    guarantee: SettleMark = ""


class VoidBody(Frozen):
    """A reserve of which no fit began comes back whole.

    Attributes
    ----------
    reserve : str
    token : str
        Secret of the reserving process, or empty where an owner voids.
    reason : str
    """

    reserve: Id
    token: DigestOrNone = ""
    reason: Text = ""


class ImportBody(Frozen):
    """Something that was spent outside of this chain, or that it lost; it counts for ever.

    Attributes
    ----------
    units : int
        In the currency of the data set.
    source : str
        Where it was spent, in words.
    witness : str
        Hash of the entry that a report bears witness of, or empty.
    blocks : tuple of str
        Blocks that it read; none means the whole table.
    write_off : bool
        Whether an owner wrote it off without a witness.
    reserve : str
        Entry of a lost chain that is charged again here, or empty.
    guarantee : {"", "holds", "demonstration", "void"}
        Status of the guarantee that was earned with it, by its witness; empty where nobody said.
        The cap speaks of it only where that holds.
    """

    units: Units
    source: Text
    witness: DigestOrNone = ""
    reserve: IdOrNone = ""
    blocks: tuple[Name, ...] = ()
    write_off: Flag = False
    guarantee: ImportMark = ""


class CheckpointBody(Frozen):
    """A data set is frozen or goes on.

    Attributes
    ----------
    frozen : bool
    reason : str
    needed, witnessed : int
        Units that must count as spent before it goes on, and that a witness says were spent on a
        lost chain; see ``dpforest.ledger.recovery``.
    at_least : int
        Units that must count even by an owner's word; 0 where it is ``needed`` itself.
    heard : tuple of str
        Hashes of the entries of lost chains that witnesses speak of, all that were heard so far.
    """

    frozen: Flag
    reason: Text
    needed: Units = 0
    witnessed: Units = 0
    at_least: Units = 0
    heard: tuple[Digest, ...] = ()


class NoteBody(Frozen):
    """Words for people."""

    text: Text


Body = (
    OpenBody | PolicyBody | BlockBody | RequestBody | ApproveBody | RevokeBody | ReserveBody
    | StartBody | SettleBody | VoidBody | ImportBody | CheckpointBody | NoteBody
)  # fmt: skip

BODIES: dict[Kind, type[BaseModel]] = {
    Kind.OPEN: OpenBody,
    Kind.POLICY: PolicyBody,
    Kind.BLOCK: BlockBody,
    Kind.REQUEST: RequestBody,
    Kind.APPROVE: ApproveBody,
    Kind.REVOKE: RevokeBody,
    Kind.RESERVE: ReserveBody,
    Kind.START: StartBody,
    Kind.SETTLE: SettleBody,
    Kind.VOID: VoidBody,
    Kind.IMPORT: ImportBody,
    Kind.CHECKPOINT: CheckpointBody,
    Kind.NOTE: NoteBody,
}


class Entry(Frozen):
    """One entry of a data set's chain.

    Attributes
    ----------
    data_set : str
    number : int
        Place in the chain, from 0.
    id : str
        UUID that the client chose.
    kind : Kind
    time : str
        UTC, never before the entry before it.
    clock_behind : bool
        Whether the clock was before that entry, so that ``time`` is only that entry's.
    actor : str
        Whoever says so; proved by a signature alone.
    key : str
        Public key of the signature, or empty.
    body : Body
    previous : str
        Hash of the entry before it; empty in the first.
    state : str
        Digest of the data set's state after it.
    hash, signature : str
        Of the text, which is everything but these two.
    """

    data_set: Name
    number: Count
    id: Id
    kind: Kind
    time: Time
    clock_behind: Flag = False
    actor: Name
    key: PublicKey = ""
    body: Body
    previous: DigestOrNone
    state: DigestOrNone = ""
    hash: DigestOrNone = ""
    signature: Signature = ""

    @property
    def text(self) -> str:
        """Everything that the hash is over, as canonical JSON.

        Fields that have their default are left out, so that a release which adds a field reads and
        writes the entries of earlier ones to the byte.
        """
        data = self.model_dump(mode="json", exclude={"hash", "signature"}, exclude_defaults=True)
        return canonical_bytes(data).decode("ascii")

    def hashed(self) -> str:
        """SHA-256 of the text, as 64 hexadecimal digits."""
        return hashlib.sha256(self.text.encode("ascii")).hexdigest()


def read_entry(text: str, hash_: str = "", signature: str = "", where: str = "") -> Entry:
    """The entry whose text this is.

    Parameters
    ----------
    text : str
        As :attr:`Entry.text` wrote it, to the byte.
    hash_, signature : str
        As they stand beside it.
    where : str
        For the error.

    Raises
    ------
    LedgerDamaged
        If it is not a text that any entry has.
    """

    def refuse(why: str) -> LedgerDamaged:
        return damaged(f"{where or 'an entry'} is not one: {why}")

    data = parse_object(text, refuse)
    try:
        body = BODIES[Kind(str(data.get("kind")))].model_validate(data.pop("body", None))
        entry = Entry.model_validate({**data, "body": body, "hash": hash_, "signature": signature})
    except (ValidationError, ValueError) as error:
        raise refuse(_reason(error)) from None
    if entry.text != text:
        raise refuse("it is not written as a ledger writes it")
    return entry


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        # Keys of whoever wrote it are among its places, and terminals heed what they are told.
        return f"{printable('.'.join(map(str, first['loc'])))}: {first['msg']}"
    return "its kind is unknown"


def damaged(rule: str, ledger: str = "", data_set: str = "") -> LedgerDamaged:
    """The error of a ledger that does not hold what was written."""
    repair = "Restore a backup, then compare it with the reports that people hold (verify, recover)"
    return LedgerDamaged(rule, repair, ledger, data_set)
