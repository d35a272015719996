"""Composition as a tree: what a node costs, and how a change travels to the root.

Every node keeps three losses: ``inner``, what its entries and children add up to by its own
rule; ``composed``, the price of that for one record of its parent (they differ under sampling
only); and ``charged``, what its parent counts, which a reserve can raise above ``composed``.
A request changes ``inner`` of one node and walks to the root: nothing is written before every
reserve on the way and the accountant's cap have agreed, so a refusal changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from dpforest.accounting.books import Books
from dpforest.accounting.events import Event
from dpforest.accounting.ledger import Budget, LedgerEntry, LossRecord, ScopeKind, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import check_length, exact_text
from dpforest.exceptions import (
    BudgetExceeded,
    DPForestError,
    ParameterError,
    ParameterTypeError,
    ScopeError,
)

_N = TypeVar("_N", bound="Node")


@dataclass(frozen=True, slots=True)
class Granted:
    """A granted request, as the scope keeps it."""

    event: Event
    loss: PrivacyLoss
    role: str
    cells: int
    level: int | None


@dataclass(frozen=True, slots=True)
class _Change:
    """What a node would become."""

    scope: Node
    inner: PrivacyLoss
    composed: PrivacyLoss
    charged: PrivacyLoss


class Node:
    """Node of the composition tree; what can be opened and asked for in it is in ``scopes``.

    A context manager: leaving it closes it, and a closed node takes no more requests. All
    methods may be called from any thread of the process.
    """

    kind: ClassVar[ScopeKind]
    #: Whether ``inner`` is the plain sum of what entries and children are charged.
    _adds_up: ClassVar[bool] = False
    #: Records of a unit, where its loss counts in units of its own; see ``units``.
    _records_per_unit = 1
    #: Size of the units for which a certified scope was certified.
    _certified_units = 1

    def __init__(
        self,
        books: Books,
        parent: Node | None,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
        caps: tuple[PrivacyLoss, ...] = (),
    ) -> None:
        self._books = books
        self._parent = parent
        self._label = label
        self._path: tuple[str, ...] = () if parent is None else (*parent._path, label)
        self._reserve = reserve
        self._adaptive = adaptive
        self._caps = caps
        # Inside an adaptive scope no rho may rest on a pure epsilon fixed beforehand.
        self._within_adaptive: bool = (
            adaptive or bool(caps) or (parent is not None and parent._within_adaptive)
        )
        self._contains_adaptive = False
        self._entries: list[Granted] = []
        self._children: dict[str, Node] = {}
        self._inner = self._composed = self._charged = NO_LOSS
        self._closed = self._reserve_kept = self._failed = False
        # Of an adaptive scope: whether the accountant had granted nothing when it was opened.
        self._was_first = False

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
        scope: Node | None = self
        while scope is not None:
            if scope._closed:
                return False
            scope = scope._parent
        return True

    def record(self) -> ScopeRecord:
        """Return the scope, its entries and its children as frozen data."""
        with self._books.lock:
            return self._record([0])

    # -- closing ------------------------------------------------------------------------

    def close(self, *, keep_reserve: bool = False) -> None:
        """Take no more requests, and release the reserve that was not spent.

        With ``keep_reserve=True`` all of it stays spent; so it does where what is around would
        come to an amount of more digits than books hold without it.
        """
        with self._books.lock:
            if self._closed:
                return
            self._closed = True
            self._reserve_kept = keep_reserve and self._reserve is not None
            changes = self._changes(self._inner)
            try:
                self._check_lengths(changes)
            except ParameterError:  # after records were read nothing may fail for a sum
                self._reserve_kept = self._reserve is not None
                changes = self._changes(self._inner)
            self._commit(changes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Where a run failed may depend on records, so how much it had spent by then is no
        # bound that was fixed beforehand. If nothing was granted nothing can have leaked.
        self._failed = error is not None and self._composed != NO_LOSS
        self.close(keep_reserve=self._failed)

    # -- composing ----------------------------------------------------------------------

    def _inner_with(self, child: Node, charged: PrivacyLoss) -> PrivacyLoss:
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

    def _changes(self, inner: PrivacyLoss, added: PrivacyLoss | None = None) -> list[_Change]:
        """Work out what a new ``inner`` does to this scope and all around it.

        ``added``, if given, is what ``inner`` was increased by. As long as scopes only add up, what
        is around grows by the same: one sum of rationals in place of a difference and a sum.
        """
        changes = []
        scope: Node = self
        while True:
            composed = scope._price(inner)
            charged = scope._charge(composed)
            changes.append(_Change(scope, inner, composed, charged))
            parent = scope._parent
            if parent is None or charged == scope._charged:
                return changes
            if added is not None and charged is inner and parent._adds_up:
                inner = parent._inner + added
            else:
                added = None
                inner = parent._inner_with(scope, charged)
            scope = parent

    def _check(self, changes: list[_Change], requested: PrivacyLoss) -> None:
        """Refuse changes that break a reserve or the accountant's cap, or cannot be written."""
        self._check_lengths(changes)
        for change in changes:
            scope, reserve = change.scope, change.scope._reserve
            covered = reserve is change.charged  # the maximum of the two is the reserve itself
            if reserve is not None and not covered and not reserve.covers(change.composed):
                left = Budget.left(reserve.left_after(scope._composed))
                raise BudgetExceeded(requested, left, where=f"reserve of {scope._name()!r}")
            if scope._caps and not any(cap.covers(change.charged) for cap in scope._caps):
                left = Budget.left(scope._caps[0].left_after(scope._charged))
                raise BudgetExceeded(requested, left, where=f"caps of {scope._name()!r}")
        last = changes[-1]
        if last.scope._parent is None and last.charged != last.scope._charged:
            self._books.admit(last.scope._charged, last.charged, requested)

    def _check_lengths(self, changes: list[_Change]) -> None:
        """Refuse changes to amounts of more digits than books hold."""
        for change in changes:
            check_length(change.inner)
            if change.composed is not change.inner:
                check_length(change.composed)
            if change.charged is not change.composed:
                check_length(change.charged)
        last = changes[-1]
        if last.scope._parent is None:
            self._books.check_remainder(last.charged)

    @staticmethod
    def _commit(changes: list[_Change]) -> None:
        # From the root down: were it cut short, too much would be spent, not too little.
        for change in reversed(changes):
            scope = change.scope
            scope._inner, scope._composed = change.inner, change.composed
            scope._charged = change.charged

    # -- shared steps -------------------------------------------------------------------

    def _adopt(self, child: _N) -> _N:
        """Take a new child in, with its reserve, or refuse and change nothing."""
        label = child._label
        if not isinstance(label, str) or not label:
            raise ParameterTypeError("label", label, "must be a non-empty str", "Name the scope")
        if child._reserve is not None and not isinstance(child._reserve, PrivacyLoss):
            raise ParameterTypeError(
                "reserve", child._reserve, "must be a PrivacyLoss", "Use PrivacyLoss.pure(...)"
            )
        for cap in child._caps:
            check_length(cap)
        with self._books.lock:
            self._check_open()
            self._check_free(label)
            child._was_first = child._adaptive and not self._root()._has_granted()
            newly_adaptive = self._mark_adaptive() if child._adaptive or child._caps else []
            try:
                changes = child._changes(child._inner)
                self._check(changes, child._charge(child._composed))
            except DPForestError:
                for scope in newly_adaptive:
                    scope._contains_adaptive = False
                raise
            self._children[label] = child
            self._commit(changes)
        return child

    def _mark_adaptive(self) -> list[Node]:
        """Note in all scopes around that something in them is adaptive; return the new ones."""
        around: list[Node] = []
        scope: Node | None = self
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
        self._books.check_process()
        scope: Node | None = self
        while scope is not None:
            if scope._closed:
                raise ScopeError(
                    f"scope {scope._name()!r} is closed and takes no more requests. Open a new one."
                )
            scope = scope._parent

    def _root(self) -> Node:
        return self if self._parent is None else self._parent._root()

    def _has_granted(self) -> bool:
        """Whether anything was granted in it or in a scope inside."""
        return bool(self._entries) or any(c._has_granted() for c in self._children.values())

    def _is_held_alone(self) -> bool:
        """Whether it, or a scope around it, is the one beside which nothing is granted."""
        place: Node | None = self
        while place is not None and place is not self._books.alone:
            place = place._parent
        return place is not None and place._charged != NO_LOSS

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
            caps=tuple(LossRecord.of(cap) for cap in self._caps),
            records_per_unit=self._records_per_unit,
            closed=self._closed,
            reserve_kept=self._reserve_kept,
            failed=self._failed,
            entries=entries,
            children=children,
        )

    def _entry_record(self, entry: Granted, counter: list[int]) -> LedgerEntry:
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

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: Any) -> Node:
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


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Sort key by which "tree 2" comes before "tree 10"."""
    parts = re.split(r"(\d+)", label)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
