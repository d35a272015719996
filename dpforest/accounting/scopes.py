"""The composition tree: scopes in which budget is asked for, and how each one composes.

Every scope keeps three losses: ``inner``, what its entries and children add up to by its own
rule; ``composed``, the price of that for one record of its parent (they differ under sampling
only); and ``charged``, what its parent counts, which a reserve can raise above ``composed``.
A request changes ``inner`` of one scope and walks to the root: nothing is written before every
reserve on the way and the accountant's cap have agreed, so a refusal changes nothing.

The rules and their proofs are in docs/accounting.md; held by tests/accounting/test_laws.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from dpforest.accounting import grants
from dpforest.accounting.events import Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import Budget, LedgerEntry, LossRecord, ScopeKind, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, ZERO, Amount, PrivacyLoss
from dpforest.accounting.rationals import exact_text, mixture_epsilon, to_rational
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError

if TYPE_CHECKING:
    from dpforest.accounting.accountant import BudgetAccountant


_S = TypeVar("_S", bound="Scope")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A granted request, as the scope keeps it."""

    event: Event
    loss: PrivacyLoss
    role: str
    cells: int
    level: int | None


class Scope:
    """Node of the composition tree. Opened by an accountant or by another scope.

    A context manager: leaving it closes it, and a closed scope takes no more requests. All
    methods may be called from any thread of the process.
    """

    kind: ClassVar[ScopeKind]

    def __init__(
        self,
        accountant: BudgetAccountant,
        parent: Scope | None,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
    ) -> None:
        self._accountant = accountant
        self._parent = parent
        self._label = label
        self._path: tuple[str, ...] = () if parent is None else (*parent._path, label)
        self._reserve = reserve
        self._adaptive = adaptive
        # Inside an adaptive scope no rho may rest on a pure epsilon fixed beforehand.
        self._within_adaptive: bool = adaptive or (parent is not None and parent._within_adaptive)
        self._contains_adaptive = False
        self._entries: list[_Entry] = []
        self._children: dict[str, Scope] = {}
        self._inner = self._composed = self._charged = NO_LOSS
        self._closed = self._reserve_kept = False

    # -- reading ------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Name among its siblings."""
        return self._label

    @property
    def path(self) -> tuple[str, ...]:
        """Labels from the outermost scope to this one."""
        return self._path

    @property
    def reserve(self) -> PrivacyLoss | None:
        """What was set aside when it was opened."""
        return self._reserve

    @property
    def loss(self) -> PrivacyLoss:
        """What everything granted in it composes to, exactly, without unspent reserve."""
        return self._composed

    @property
    def charged(self) -> PrivacyLoss:
        """What its parent counts: ``loss``, or more where a reserve is held."""
        return self._charged

    @property
    def is_open(self) -> bool:
        """Whether it and all scopes around it still take requests."""
        scope: Scope | None = self
        while scope is not None:
            if scope._closed:
                return False
            scope = scope._parent
        return True

    def record(self) -> ScopeRecord:
        """Return the scope, its entries and its children as frozen data."""
        with self._accountant._lock:
            return self._record([0])

    # -- opening scopes -----------------------------------------------------------------

    def sequential(
        self, label: str, reserve: PrivacyLoss | None = None, adaptive: bool = False
    ) -> SequentialScope:
        """Open a scope whose spendings add up.

        Parameters
        ----------
        label : str
            Name, unlike those of its siblings.
        reserve : PrivacyLoss, optional
            Set aside at once, all or nothing: while the scope is open it counts as at least
            that much, and nothing in it may exceed it. Closing releases what was not spent.
        adaptive : bool
            What is spent inside depends on released values (stopping early, a plan picked by
            a noisy count). Needs a reserve; rho then stays the reserve's for good, because
            a realised rho is no bound.

        Raises
        ------
        BudgetExceeded
            If the reserve does not fit; nothing is opened.
        ScopeError
            If this scope is closed or has a child of that name.
        """
        if adaptive and reserve is None:
            raise ParameterError(
                "adaptive", adaptive, "needs a reserve", "Give the cap as reserve=PrivacyLoss(...)"
            )
        return self._adopt(SequentialScope(self._accountant, self, label, reserve, adaptive))

    def parallel_cells(self, label: str) -> ParallelCellsScope:
        """Open a scope whose children run on disjoint cells of a public partition."""
        return self._adopt(ParallelCellsScope(self._accountant, self, label))

    def parallel_records(
        self, label: str, sides: Mapping[str, Fraction | int | float | str]
    ) -> ParallelRecordsScope:
        """Open a scope whose sides run on disjoint records.

        Parameters
        ----------
        label : str
            Name, unlike those of its siblings.
        sides : mapping of str to number
            Name of each side and the probability with which a record enters it: drawn for
            each record on its own, afresh for this scope, and kept secret. The sum is at most
            one; the rest is left out.

        Returns
        -------
        ParallelRecordsScope
            Ask in ``scope.side(name)``.
        """
        probabilities = _read_sides(sides)
        return self._adopt(ParallelRecordsScope(self._accountant, self, label, probabilities))

    def poisson(self, label: str, rate: Fraction | int | float | str) -> PoissonScope:
        """Open a scope that each record enters on its own, secretly, with probability ``rate``."""
        return self._adopt(PoissonScope(self._accountant, self, label, _probability("rate", rate)))

    def request(
        self, event: Event, *, role: str, cells: int = 1, level: int | None = None
    ) -> Grant:
        """Ask for budget; only sequential and sampled scopes and sides grant any."""
        raise ScopeError(
            f"scope {self._name()!r} is {self.kind}: it composes its children and takes no "
            "requests of its own. Open a child and request there."
        )

    # -- closing ------------------------------------------------------------------------

    def close(self, *, keep_reserve: bool = False) -> None:
        """Take no more requests, and release the reserve that was not spent.

        With ``keep_reserve=True`` all of it stays spent.
        """
        with self._accountant._lock:
            if self._closed:
                return
            self._closed = True
            self._reserve_kept = keep_reserve and self._reserve is not None
            self._commit(self._changes(self._inner))

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Where a run failed may depend on records, so how much it had spent by then is no
        # bound that was fixed beforehand. If nothing was granted nothing can have leaked.
        self.close(keep_reserve=error is not None and self._composed != NO_LOSS)

    # -- composing ----------------------------------------------------------------------

    def _inner_with(self, child: Scope, charged: PrivacyLoss) -> PrivacyLoss:
        """``inner`` if this child came to count as ``charged``; writes nothing."""
        raise NotImplementedError

    def _price(self, inner: PrivacyLoss) -> PrivacyLoss:
        """Cost of ``inner`` for one record of the parent."""
        return inner

    def _charge(self, composed: PrivacyLoss) -> PrivacyLoss:
        """What the parent counts, given what was spent and what is held in reserve."""
        if self._reserve is None:
            return composed
        if not self._closed or self._reserve_kept:
            return self._reserve.maximum(composed)
        if self._adaptive:
            return PrivacyLoss(composed.epsilon, self._reserve.rho, self._reserve.delta)
        return composed

    def _changes(self, inner: PrivacyLoss) -> list[_Change]:
        """Work out what a new ``inner`` does to this scope and all around it."""
        changes = []
        scope: Scope = self
        while True:
            composed = scope._price(inner)
            charged = scope._charge(composed)
            changes.append(_Change(scope, inner, composed, charged))
            parent = scope._parent
            if parent is None or charged == scope._charged:
                return changes
            inner = parent._inner_with(scope, charged)
            scope = parent

    def _check(self, changes: list[_Change], requested: PrivacyLoss) -> None:
        """Refuse changes that break a reserve or the accountant's cap."""
        for change in changes:
            scope, reserve = change.scope, change.scope._reserve
            if reserve is not None and not reserve.covers(change.composed):
                left = Budget.left(reserve.left_after(scope._composed))
                raise BudgetExceeded(requested, left, where=f"reserve of {scope._name()!r}")
        last = changes[-1]
        if last.scope._parent is None and last.charged != last.scope._charged:
            self._accountant._admit(last.charged, requested)

    @staticmethod
    def _commit(changes: list[_Change]) -> None:
        for change in changes:
            scope = change.scope
            scope._inner, scope._composed = change.inner, change.composed
            scope._charged = change.charged

    # -- shared steps -------------------------------------------------------------------

    def _adopt(self, child: _S) -> _S:
        """Take a new child in, with its reserve, or refuse and change nothing."""
        label = child._label
        if not isinstance(label, str) or not label:
            raise ParameterTypeError("label", label, "must be a non-empty str", "Name the scope")
        if child._reserve is not None and not isinstance(child._reserve, PrivacyLoss):
            raise ParameterTypeError(
                "reserve", child._reserve, "must be a PrivacyLoss", "Use PrivacyLoss.pure(...)"
            )
        with self._accountant._lock:
            self._check_open()
            self._check_free(label)
            newly_adaptive = self._mark_adaptive() if child._adaptive else []
            try:
                changes = child._changes(child._inner)
                self._check(changes, child._charge(child._composed))
            except BudgetExceeded:
                for scope in newly_adaptive:
                    scope._contains_adaptive = False
                raise
            self._children[label] = child
            self._commit(changes)
        return child

    def _mark_adaptive(self) -> list[Scope]:
        """Note in all scopes around that something in them is adaptive; return the new ones."""
        around: list[Scope] = []
        scope: Scope | None = self
        while scope is not None and not scope._contains_adaptive:
            scope._contains_adaptive = True
            around.append(scope)
            scope = scope._parent
        return around

    def _check_free(self, label: str) -> None:
        if label in self._children:
            raise ScopeError(
                f"scope {self._name()!r} has a child {label!r} already. Give every scope a "
                "name of its own, so that the ledger can tell them apart."
            )

    def _check_open(self) -> None:
        self._accountant._check_process()
        scope: Scope | None = self
        while scope is not None:
            if scope._closed:
                raise ScopeError(
                    f"scope {scope._name()!r} is closed and takes no more requests. Open a new one."
                )
            scope = scope._parent

    def _spends_adaptively(self) -> bool:
        return self._within_adaptive or self._contains_adaptive

    def _name(self) -> str:
        return " / ".join(self._path) or "accountant"

    def _probabilities(self) -> dict[str, Fraction]:
        return {}

    def _record(self, counter: list[int]) -> ScopeRecord:
        entries = tuple(self._entry_record(entry, counter) for entry in self._entries)
        # Threads may open siblings in any order; the books are sorted by name instead.
        ordered = sorted(self._children.values(), key=lambda child: _natural(child._label))
        children = tuple(child._record(counter) for child in ordered)
        return ScopeRecord(
            label=self._label,
            kind=self.kind,
            probabilities={k: exact_text(p) for k, p in self._probabilities().items()},
            composed=LossRecord.of(self._composed),
            charged=LossRecord.of(self._charged),
            reserve=None if self._reserve is None else LossRecord.of(self._reserve),
            adaptive=self._adaptive,
            closed=self._closed,
            reserve_kept=self._reserve_kept,
            entries=entries,
            children=children,
        )

    def _entry_record(self, entry: _Entry, counter: list[int]) -> LedgerEntry:
        index = counter[0]
        counter[0] += 1
        return LedgerEntry(
            index=index,
            path=self._path,
            role=entry.role,
            mechanism=entry.event.mechanism,
            parameters=entry.event.parameters,
            cells=entry.cells,
            level=entry.level,
            epsilon=exact_text(entry.loss.epsilon),
            rho=exact_text(entry.loss.rho),
            delta=exact_text(entry.loss.delta),
        )

    def __copy__(self) -> Scope:
        return self

    def __deepcopy__(self, memo: Any) -> Scope:
        return self

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "scope",
            self,
            "belongs to a live accountant and cannot be pickled",
            "Keep scope.record() instead",
        )

    def __repr__(self) -> str:
        return f"<{self.kind} scope {self._name()!r}: {self._composed}>"


@dataclass(frozen=True, slots=True)
class _Change:
    """What a scope would become."""

    scope: Scope
    inner: PrivacyLoss
    composed: PrivacyLoss
    charged: PrivacyLoss


class SequentialScope(Scope):
    """Everything in it meets the same records: epsilon, rho and delta add up."""

    kind: ClassVar[ScopeKind] = "sequential"

    def request(
        self, event: Event, *, role: str, cells: int = 1, level: int | None = None
    ) -> Grant:
        """Record what an event costs, then return the permission to run it.

        Parameters
        ----------
        event : Event
            What is to run.
        role : str
            What for, for instance ``"feature selection"``.
        cells : int
            On how many disjoint cells of a public partition: nodes of a level, leaves of a
            tree. A record lies in one of them, so they cost as much as one.
        level : int, optional
            Level of the tree, for the ledger.

        Returns
        -------
        Grant

        Raises
        ------
        BudgetExceeded
            If a reserve around it or the accountant's total does not allow it. Nothing is
            spent, and a smaller request may still be granted.
        ScopeError
            If the scope is closed.
        """
        _check_request(event, role, cells)
        loss = _checked_loss(event)
        with self._accountant._lock:
            self._check_open()
            changes = self._changes(self._inner + loss)
            self._check(changes, loss)
            # The entry comes before the grant: a crash in between leaves the budget spent.
            self._entries.append(_Entry(event, loss, role, cells, level))
            self._commit(changes)
        return grants.issue(event, role, cells, self._path, level)

    def _inner_with(self, child: Scope, charged: PrivacyLoss) -> PrivacyLoss:
        inner, old = self._inner, child._charged
        return PrivacyLoss(
            self._replaced("epsilon", inner.epsilon, old.epsilon, charged.epsilon, child),
            self._replaced("rho", inner.rho, old.rho, charged.rho, child),
            inner.delta - old.delta + charged.delta,
        )

    def _replaced(self, name: str, total: Any, old: Any, new: Any, child: Scope) -> Amount:
        """``total`` with one summand exchanged; a pass over all of them only for inf - inf."""
        if old == new:
            return total
        if old != math.inf:
            return total - old + new
        siblings = [c._charged for c in self._children.values() if c is not child]
        own = [entry.loss for entry in self._entries]
        return sum((getattr(loss, name) for loss in (*siblings, *own)), new)


class ParallelCellsScope(Scope):
    """Children run on disjoint cells of a public partition: the maximum counts."""

    kind: ClassVar[ScopeKind] = "parallel cells"

    def _inner_with(self, child: Scope, charged: PrivacyLoss) -> PrivacyLoss:
        if charged.covers(child._charged):
            return self._inner.maximum(charged)
        largest = charged
        for other in self._children.values():
            if other is not child:
                largest = largest.maximum(other._charged)
        return largest


class ParallelRecordsScope(Scope):
    """Sides run on disjoint records, each record's side its own secret draw.

    The pure epsilon is that of the mixture, at most the maximum over the sides. rho and delta
    are the maximum; rho, where the spending is fixed beforehand, at most the mixture's
    epsilon squared over 2.
    """

    kind: ClassVar[ScopeKind] = "parallel records"

    def __init__(
        self,
        accountant: BudgetAccountant,
        parent: Scope,
        label: str,
        probabilities: dict[str, Fraction],
    ) -> None:
        super().__init__(accountant, parent, label)
        self._weights = tuple(probabilities.values())
        self._sides = {name: SequentialScope(accountant, self, name) for name in probabilities}
        self._children.update(self._sides)

    def side(self, name: str) -> SequentialScope:
        """Return the scope of everything that is run on one side."""
        try:
            return self._sides[name]
        except KeyError:
            raise ScopeError(
                f"scope {self._name()!r} has no side {name!r}. "
                f"Its sides are {', '.join(map(repr, self._sides))}."
            ) from None

    def _check_free(self, label: str) -> None:
        raise ScopeError(
            f"scope {self._name()!r} is {self.kind}: its sides are fixed. "
            "Open scopes in scope.side(name)."
        )

    def _inner_with(self, child: Scope, charged: PrivacyLoss) -> PrivacyLoss:
        losses = [charged if side is child else side._charged for side in self._sides.values()]
        return _mixed(self._weights, losses, self._spends_adaptively())

    def _probabilities(self) -> dict[str, Fraction]:
        return dict(zip(self._sides, self._weights, strict=True))


class PoissonScope(SequentialScope):
    """Each record enters on its own with one rate; spendings inside add up, then are mixed.

    One draw, one mixture: everything inside shares one draw of records. A tree with a draw of
    its own opens a scope of its own.
    """

    kind: ClassVar[ScopeKind] = "poisson"

    def __init__(
        self, accountant: BudgetAccountant, parent: Scope, label: str, rate: Fraction
    ) -> None:
        super().__init__(accountant, parent, label)
        self._rate = rate

    def _price(self, inner: PrivacyLoss) -> PrivacyLoss:
        return _mixed((self._rate,), [inner], self._spends_adaptively())

    def _probabilities(self) -> dict[str, Fraction]:
        return {"rate": self._rate}


def _mixed(weights: tuple[Fraction, ...], losses: list[PrivacyLoss], adaptive: bool) -> PrivacyLoss:
    """Loss of a record that meets side j with probability ``weights[j]``, else none."""
    worst = NO_LOSS
    for loss in losses:
        worst = worst.maximum(loss)
    if worst == NO_LOSS:
        return NO_LOSS
    epsilon = mixture_epsilon(weights, [loss.epsilon for loss in losses])
    rho = worst.rho
    if not adaptive and epsilon != worst.epsilon:
        rho = min(rho, epsilon * epsilon / 2)
    # With one side a failure needs the record to enter it. With several the larger delta may
    # sit on the likelier posterior side, so only the maximum is sure.
    delta = weights[0] * worst.delta if len(weights) == 1 else worst.delta
    return PrivacyLoss(epsilon, rho, delta)


def _check_request(event: Any, role: Any, cells: Any) -> None:
    if not isinstance(event, Event):
        raise ParameterTypeError(
            "event", event, "must be an Event", "Describe the release with one of the events"
        )
    if not isinstance(role, str) or not role:
        raise ParameterTypeError("role", role, "must be a non-empty str", "Say what it is for")
    if isinstance(cells, bool) or not hasattr(cells, "__index__") or cells < 1:
        raise ParameterError(
            "cells", cells, "must be a positive integer", "Count the nodes or leaves it runs on"
        )


def _checked_loss(event: Event) -> PrivacyLoss:
    # Events of other packages may come here too; a negative loss would be a refund.
    loss = event.loss
    exact = all(isinstance(a, (Fraction, int)) or a == math.inf for a in (loss.epsilon, loss.rho))
    if not exact or min(loss.epsilon, loss.rho, loss.delta) < 0:
        raise ParameterError(
            "event", event, "must have an exact loss that is not negative", "Mend its loss"
        )
    return loss


def _read_sides(sides: Mapping[str, Any]) -> dict[str, Fraction]:
    if not sides:
        raise ParameterError("sides", sides, "must name at least one side", "Name the sides")
    probabilities = {name: _probability(f"sides[{name!r}]", p) for name, p in sides.items()}
    if sum(probabilities.values()) > 1:
        raise ParameterError(
            "sides", dict(sides), "must sum to at most 1", "Lower the probabilities"
        )
    return probabilities


def _probability(parameter: str, value: Any) -> Fraction:
    probability = to_rational(value, parameter)
    if not ZERO < probability <= 1:
        raise ParameterError(
            parameter, value, "must be a probability above 0, at most 1", "Use, say, 0.5"
        )
    return probability


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Sort key by which "tree 2" comes before "tree 10"."""
    parts = re.split(r"(\d+)", label)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
