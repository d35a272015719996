"""State of a data set after an entry, as frozen data that a store keeps beside its head.

It is worked out from the entries alone (:mod:`dpforest.ledger.rules`), and holds what a next entry
is judged by: no more of the past than that, so it stays small however long a chain becomes.

Held by tests/ledger/test_rules.py and test_brute_force.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal, TypeVar

from pydantic import ValidationError

from dpforest.accounting.frozen import Frozen
from dpforest.ledger.amounts import Units
from dpforest.ledger.bodies import OpenBody
from dpforest.ledger.entries import damaged
from dpforest.ledger.fields import Count, Digest, Id, IdOrNone, Name, PublicKey, Time
from dpforest.ledger.plan_files import Charge
from dpforest.report.digests import canonical_bytes
from dpforest.strict_json import parse_object

T = TypeVar("T")


class Block(Frozen):
    """A block's cap and what was charged to it, without what the whole table was charged."""

    cap: Units
    spent: Units = 0


class Pending(Frozen):
    """A request that was not used yet: who asks for what, and who approved of it."""

    actor: Name
    charge: Charge
    approvals: tuple[Name, ...] = ()


class OpenReserve(Frozen):
    """A reserve that is not settled yet.

    Attributes
    ----------
    actor : str
    token : str
    charged : int
        What it counts as, in the whole table or in each of its blocks.
    blocks : tuple of str
    plans : tuple of str
        Digests of the plans of its fits.
    started, settled : tuple of int
        Which of them began and ended.
    request : str
    pending : Pending or None
        The request that it used up, until it begins.
    """

    actor: Name
    token: Digest
    charged: Units
    blocks: tuple[Name, ...] = ()
    plans: tuple[Digest, ...]
    started: tuple[Count, ...] = ()
    settled: tuple[Count, ...] = ()
    request: IdOrNone = ""
    pending: Pending | None = None


class DataSetState(Frozen):
    """All that the next entry of a data set is judged by.

    Attributes
    ----------
    name : str
    facts : OpenBody
        What was fixed when it was opened.
    number : int
        Of the last entry.
    time : str
        Of the last entry.
    cap : int
        The present one.
    spent : int
        Charged to the whole table: reserves, started or not, and imports.
    blocks : dict of Block
    blocks_by : str
        Rule of all blocks, or empty.
    owners : dict of str
        Public keys, or empty texts.
    approvals : int
    quotas, used : dict of int
        Most that an analyst may spend, and what each one did.
    requests : dict of Pending
    reserves : dict of OpenReserve
    alone : str
        Reserve whose certificate stands alone, so that the cap counts as reached.
    imported : tuple of str
        Witnesses of what was imported.
    frozen : bool
    why_frozen : str
    lacking : dict of int
        Numbers of settled fits and imports whose own guarantee does not hold, or is not known; not
        counted in data sets of version 1.
    """

    name: Name
    facts: OpenBody
    number: Count
    time: Time
    cap: Units
    spent: Units = 0
    blocks: dict[Name, Block] = {}
    blocks_by: str = ""
    owners: dict[Name, PublicKey]
    approvals: Count
    quotas: dict[Name, Units] = {}
    used: dict[Name, Units] = {}
    requests: dict[Id, Pending] = {}
    reserves: dict[Id, OpenReserve] = {}
    alone: IdOrNone = ""
    imported: tuple[Digest, ...] = ()
    frozen: bool = False
    why_frozen: str = ""
    lacking: dict[Literal["demonstration", "void", "unknown"], Count] = {}

    @property
    def most_blocks(self) -> int:
        """Most blocks that the records of one unit are in."""
        # Where the unit's hash decides, all of its records are in one.
        return self.facts.max_blocks_per_unit or 1

    @property
    def total(self) -> int:
        """Most that any unit may have been charged: the table's, and its costliest blocks'."""
        return self.spent + self.costliest(block.spent for block in self.blocks.values())

    def costliest(self, amounts: Iterable[int]) -> int:
        """Sum of the largest amounts of blocks, as many as a unit may be in."""
        return sum_of_largest(amounts, self.most_blocks)

    @property
    def remaining(self) -> int:
        """Units that every record of the table may still be charged."""
        return self.room()

    def room(self, named: Iterable[str] = (), actor: str = "") -> int:
        """Units that may still be charged to each of some blocks at once, or to the whole table.

        Parameters
        ----------
        named : iterable of str
            Blocks of the data set.
        actor : str
            Whoever spends, if a quota is to be heeded.
        """
        names = tuple(named)
        rooms = [self.room_under_cap(names), *map(self.room_of_block, names)]
        if actor in self.quotas:
            rooms.append(self.room_of(actor))
        return max(min(rooms), 0)

    def room_of(self, actor: str) -> int:
        """Units that an analyst's quota leaves."""
        return self.quotas[actor] - self.used.get(actor, 0)

    def room_of_block(self, name: str) -> int:
        """Units that a block's own cap leaves."""
        block = self.blocks[name]
        return block.cap - self.spent - block.spent

    def room_under_cap(self, named: tuple[str, ...] = ()) -> int:
        """Units that the data set's cap leaves for each of some blocks, or the whole table."""
        if not named or self.total > self.cap:
            return self.cap - self.total
        others = [block.spent for name, block in self.blocks.items() if name not in named]
        own = [self.blocks[name].spent for name in named]
        left = self.cap - self.spent
        # The k costliest of the named and the rest of the others must fit, for each k.
        return min(
            (left - sum_of_largest(own, k) - sum_of_largest(others, self.most_blocks - k)) // k
            for k in range(1, min(len(own), self.most_blocks) + 1)
        )

    @property
    def text(self) -> str:
        """Canonical JSON, as a store keeps it, without the fields that have their default."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        return canonical_bytes(data).decode("ascii")

    def digest(self) -> str:
        """SHA-256 of :attr:`text`, which the entry before it holds."""
        return digest_of_text(self.text)


def sum_of_largest(amounts: Iterable[int], count: int) -> int:
    """Sum of so many amounts, the largest ones."""
    return sum(sorted(amounts, reverse=True)[:count])


def digest_of_text(text: str) -> str:
    """SHA-256 of a state's text, as 64 hexadecimal digits; of any other text too."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def read_state(text: str, data_set: str = "") -> DataSetState:
    """The state whose text this is; LedgerDamaged for anything else."""

    def refuse(why: str) -> Exception:
        return damaged(f"the state that its head keeps cannot be read: {why}", data_set=data_set)

    try:
        return DataSetState.model_validate(parse_object(text, refuse))
    except ValidationError:
        raise refuse("it is not a state") from None


def put(named: dict[str, T], name: str, value: T | None) -> dict[str, T]:
    """The same, with another value under a name; None takes the name out."""
    others = {other: one for other, one in named.items() if other != name}
    return others if value is None else {**others, name: value}
