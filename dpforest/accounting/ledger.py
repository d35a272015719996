"""Spending as frozen data: entries, the composition tree, and both as JSON."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from dpforest.accounting.certificate_record import CertificateRecord
from dpforest.accounting.figures import figure_down, figure_up
from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text, float_up, parse_loss, shortest_down
from dpforest.checks import write_file

FORMAT: Literal["dpforest-ledger"] = "dpforest-ledger"
#: Version 1 had the spent rho converted to an epsilon, which is no bound (``Budget``).
VERSION: Literal[2] = 2


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of budget for display, beside the exact one.

    Attributes
    ----------
    epsilon : float
        Of what an accountant spent the pure epsilon, rounded up, infinite where there is none; of
        what a finished fit spent the epsilon of its guarantee; of what remains the pure one,
        rounded down.
    delta : float
        The delta that goes with ``epsilon``.
    rho : float
        Zero-concentrated rho. Of a total or a remainder: what may be spent in that currency,
        nothing when the accountant has no delta.
    exact : PrivacyLoss
        Pure epsilon, rho and the delta spent, as rationals.
    left_over : bool
        Whether it is what may be spent or remains; its text is then rounded down.
    """

    epsilon: float
    delta: float
    rho: float
    exact: PrivacyLoss = field(repr=False)  # sixty digits, which no reader wants
    left_over: bool = field(default=False, compare=False, repr=False)

    @classmethod
    def spent(cls, loss: PrivacyLoss) -> Budget:
        """Spending of an accountant, in the amounts that add up, rounded up."""
        return cls(float_up(loss.epsilon), float_up(loss.delta), float_up(loss.rho), loss)

    @classmethod
    def left(cls, loss: PrivacyLoss) -> Budget:
        """Budget that remains, rounded down."""
        epsilon, delta, rho = map(shortest_down, (loss.epsilon, loss.delta, loss.rho))
        return cls(epsilon, delta, rho, loss, left_over=True)

    def __str__(self) -> str:
        figure = figure_down if self.left_over else figure_up
        return f"({', '.join(f'{name}={figure(a)}' for name, a in self._shown().items())})"

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={a!r}' for name, a in self._shown().items())})"

    def _shown(self) -> dict[str, float]:
        """Amounts that say something."""
        amounts = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        # An epsilon that does not exist says nothing beside a rho that does, nor does a delta of 0.
        without = {"epsilon"} if self.epsilon == math.inf > self.rho else set()
        without |= {"rho"} if self.rho == math.inf > self.epsilon else set()
        without |= set() if self.delta else {"delta"}
        return {name: amount for name, amount in amounts.items() if name not in without}


class LossRecord(Frozen):
    """A privacy loss: exact rationals as text, doubles rounded up beside them."""

    epsilon: ExactText
    rho: ExactText
    delta: ExactText
    epsilon_float: float
    rho_float: float
    delta_float: float

    @classmethod
    def of(cls, loss: PrivacyLoss) -> LossRecord:
        """Write a loss down."""
        return cls(
            epsilon=exact_text(loss.epsilon),
            rho=exact_text(loss.rho),
            delta=exact_text(loss.delta),
            epsilon_float=float_up(loss.epsilon),
            rho_float=float_up(loss.rho),
            delta_float=float_up(loss.delta),
        )

    @property
    def loss(self) -> PrivacyLoss:
        """The exact loss."""
        return parse_loss(self.epsilon, self.rho, self.delta)


class BudgetRecord(Frozen):
    """A :class:`Budget` as data."""

    epsilon: float
    delta: float
    rho: float
    exact: LossRecord

    @classmethod
    def of(cls, budget: Budget) -> BudgetRecord:
        """Write a budget down."""
        return cls(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=budget.rho,
            exact=LossRecord.of(budget.exact),
        )

    @property
    def budget(self) -> Budget:
        """The budget that was written down."""
        return Budget(self.epsilon, self.delta, self.rho, self.exact.loss)


class LedgerEntry(Frozen):
    """One granted request.

    Attributes
    ----------
    index : int
        Place in the ledger, which is ordered by scope, not by time.
    path : tuple of str
        Labels of the scopes it was asked in, outermost first.
    role, mechanism : str
        What for, and what was to run.
    parameters : dict
        The event's parameters as rationals in text.
    cells : int
        Cells it may run on, at one price: disjoint and public, or leaves of several trees, for
        noise of a sensitivity that counts a record in each of them.
    level : int or None
        Level of the tree.
    epsilon, rho, delta : str
        Its own loss, before composition.
    """

    index: int
    path: tuple[str, ...]
    role: str
    mechanism: str
    parameters: dict[str, str]
    cells: int
    level: int | None
    epsilon: ExactText
    rho: ExactText
    delta: ExactText

    @property
    def loss(self) -> PrivacyLoss:
        """Its own loss, exactly."""
        return parse_loss(self.epsilon, self.rho, self.delta)


ScopeKind = Literal["sequential", "parallel cells", "parallel records", "poisson", "units"]


class ScopeRecord(Frozen):
    """One scope of the composition tree with what it composes to.

    Attributes
    ----------
    label : str
        Name among its siblings; empty for the root.
    kind : str
        Rule by which its entries and children compose.
    probabilities : dict
        Of the sides of a scope that is parallel over records, or of entering a sampled one.
    composed : LossRecord
        What its entries and children compose to.
    charged : LossRecord
        What it counts as towards its parent: more than ``composed`` while a reserve is held.
    reserve : LossRecord or None
        The reserve that was opened with it.
    adaptive : bool
        Whether its rho stays the reserve's because what is spent depends on released values.
    caps : tuple of LossRecord
        Alternatives of which what is spent in it always stays under one, because it depends on
        released values in which currency it is counted.
    certificate : CertificateRecord or None
        The list of releases that it grants and nothing else, with the (epsilon, delta) that was
        shown for it; charged with the first of them.
    records_per_unit : int
        Of a scope of kind ``units``: how many records a unit may own. What is in it is composed for
        one record; ``composed``, ``charged``, its reserve and its caps are a unit's.
    closed, reserve_kept : bool
        Whether it takes no more requests, and whether its reserve stayed spent after that.
    failed : bool
        Whether an error ended it after something was granted: what was set aside stays spent.
    entries : tuple of LedgerEntry
    children : tuple of ScopeRecord
    """

    label: str
    kind: ScopeKind
    probabilities: dict[str, str]
    composed: LossRecord
    charged: LossRecord
    reserve: LossRecord | None
    adaptive: bool
    caps: tuple[LossRecord, ...] = ()
    certificate: CertificateRecord | None = None
    records_per_unit: int = Field(default=1, ge=1)
    closed: bool
    reserve_kept: bool
    failed: bool = False
    entries: tuple[LedgerEntry, ...]
    children: tuple[ScopeRecord, ...]

    def walk(self) -> Iterator[ScopeRecord]:
        """Yield this scope and all scopes in it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def apart(self) -> ScopeRecord:
        """This scope by itself: the same, with its entries numbered from 0."""
        return self._numbered(itertools.count())

    def relabelled(self, label: str) -> ScopeRecord:
        """The same scope, the outermost of its entries' paths, under another name."""
        return self._moved((label,)).model_copy(update={"label": label})

    def _moved(self, path: tuple[str, ...]) -> ScopeRecord:
        entries = tuple(
            e.model_copy(update={"path": (*path, *e.path[len(path) :])}) for e in self.entries
        )
        children = tuple(child._moved(path) for child in self.children)
        return self.model_copy(update={"entries": entries, "children": children})

    def _numbered(self, numbers: Iterator[int]) -> ScopeRecord:
        entries = tuple(e.model_copy(update={"index": next(numbers)}) for e in self.entries)
        children = tuple(child._numbered(numbers) for child in self.children)
        return self.model_copy(update={"entries": entries, "children": children})

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """All entries of this scope and the scopes in it, in the ledger's order."""
        return tuple(entry for scope in self.walk() for entry in scope.entries)


class LedgerRecord(Frozen):
    """Content of a frozen ledger."""

    format: Literal["dpforest-ledger"] = FORMAT
    version: Literal[1, 2] = VERSION
    name: str | None
    conversion: str
    total_record: BudgetRecord
    spent_record: BudgetRecord
    remaining_record: BudgetRecord
    scopes: ScopeRecord

    def renewed(self) -> Self:
        """The same books as they are written today."""
        if self.version == VERSION:
            return self
        spent = BudgetRecord.of(Budget.spent(self.spent_record.exact.loss))
        return self.model_copy(update={"spent_record": spent, "version": VERSION})

    @property
    def total(self) -> Budget:
        """Budget that might have been spent."""
        return replace(self.total_record.budget, left_over=True)

    @property
    def spent(self) -> Budget:
        """Amounts that were spent when the books were frozen."""
        return self.spent_record.budget

    @property
    def remaining(self) -> Budget:
        """Budget that was left then."""
        return replace(self.remaining_record.budget, left_over=True)

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Entry by entry, ordered by scope."""
        return self.scopes.ledger

    def composition(self) -> ScopeRecord:
        """Return the tree of scopes with their totals."""
        return self.scopes

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the books as JSON, to a file too if ``path`` is given: over what is there."""
        text = self.model_dump_json(indent=2)
        if path is not None:
            write_file(path, text)
        return text
