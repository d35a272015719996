"""Bodies of entries: each kind of thing that happens to a data set, and what is said of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.ledger.amounts import Units
from dpforest.ledger.fields import (
    Count,
    Digest,
    DigestOrNone,
    Flag,
    Id,
    IdOrNone,
    Name,
    PublicKey,
    Text,
)
from dpforest.ledger.plan_files import Charge

#: Version of what the entries of a data set hold, for its life; releases read all up to it.
#: Since version 2 its state counts the fits whose own guarantee does not hold, and it says what its
#: cap was given in. Since version 3 approvals end with the key, or the office, of their owner.
VERSION: Literal[3] = 3

#: What a settlement says of a fit whose own guarantee does not hold, or is not known to.
SettleMark = Literal["", "demonstration", "void", "unknown"]
#: What an import says of the guarantee that was earned with it; empty where nobody said so.
ImportMark = Literal["", "holds", "demonstration", "void"]


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
