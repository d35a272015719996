"""Composition: what a change of one scope does to it and to all around it.

Every scope keeps three losses: ``inner``, what its entries and children add up to by its own
rule; ``composed``, the price of that for one record of its parent (they differ under sampling
only); and ``charged``, what its parent counts, which a reserve can raise above ``composed``.
A request changes ``inner`` of one scope and walks to the root: nothing is written before every
reserve on the way and the accountant's cap have agreed, so a refusal changes nothing. What is
written then is written at once, see ``ComposingScope._commit``, so an interrupt changes all or
nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import starmap
from operator import call
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from dpforest.accounting.ledger import Budget
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import check_length
from dpforest.accounting.reserves import checked_reserve
from dpforest.accounting.scope_tree import ScopeNode, State
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError

S = TypeVar("S", bound="ComposingScope")


@dataclass(frozen=True, slots=True)
class Change:
    """State that a scope would take."""

    scope: ComposingScope
    inner: PrivacyLoss
    composed: PrivacyLoss
    charged: PrivacyLoss
    reserve: PrivacyLoss | None


class ComposingScope(ScopeNode):
    """A scope that composes what is in it by a rule of its own, until it is closed."""

    #: Whether ``inner`` is the plain sum of what entries and children are charged.
    _adds_up: ClassVar[bool] = False
    _parent: ComposingScope | None

    # -- closing ------------------------------------------------------------------------

    def close(self, *, keep_reserve: bool = False) -> None:
        """Take no more requests, and release the reserve that was not spent.

        With ``keep_reserve=True`` all of it stays spent; so it does where what is around would
        come to an amount of more digits than books hold without it.
        """
        with self._books.lock:
            self._end(keep_reserve, State.OPEN)

    def _end(self, keep_reserve: bool, failed: State) -> None:
        """Close it, or only mark one that is closed as failed."""
        state = self._state | failed
        if State.CLOSED in state:
            self._state = state
            return
        state |= State.CLOSED
        kept = state if self._reserve is None else state | State.KEPT
        state = kept if keep_reserve else state
        changes = self._changes_of(self._reserve, state)
        try:
            self._check_lengths(changes)
        except ParameterError:  # after records were read nothing may fail for a sum
            state, changes = kept, self._changes_of(self._reserve, kept)
        self._commit(changes, (setattr, self, "_state", state))

    def hold(self) -> None:
        """Set aside what an error of reading records is to cost; a reserve is that already."""

    def let_go(self) -> None:
        """Give back what was set aside by ``hold``: records are read."""

    def fail(self) -> None:
        """Close it because of an error that records may have brought about: its reserve is spent.

        For errors of reading, after which an exception leaves it although nothing was granted.
        """
        with self._books.lock:
            self._end(True, State.FAILED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Where a run failed may depend on records, so how much it had spent by then is no
        # bound that was fixed beforehand. If nothing was granted nothing can have leaked, but by
        # an error of reading: see ``fail``.
        with self._books.lock:
            failed = error is not None and (self._composed != NO_LOSS or self._has_granted())
            self._end(failed, State.FAILED if failed else State.OPEN)

    # -- composing ----------------------------------------------------------------------

    def _inner_with(
        self, child: ScopeNode, charged: PrivacyLoss, adaptive: bool = False
    ) -> PrivacyLoss:
        """``inner`` if this child came to count as ``charged``; writes nothing.

        ``adaptive`` where something is about to be opened inside that spends adaptively.
        """
        raise NotImplementedError

    def _price(self, inner: PrivacyLoss, adaptive: bool = False) -> PrivacyLoss:
        """Cost of ``inner`` for one record of the parent; ``adaptive`` as in ``_inner_with``."""
        return inner

    def _charge(
        self, composed: PrivacyLoss, reserve: PrivacyLoss | None, state: State
    ) -> PrivacyLoss:
        """Loss that the parent counts, given what was spent and what is held in reserve."""
        if reserve is None:
            return composed
        if state is State.OPEN or State.KEPT in state:
            return reserve.maximum(composed)
        # Where nothing was granted, nothing was chosen by what was released.
        if self._adaptive and composed != NO_LOSS:
            return PrivacyLoss(composed.epsilon, reserve.rho, reserve.delta)
        return composed

    def _changes(
        self, inner: PrivacyLoss, added: PrivacyLoss | None = None, adaptive: bool = False
    ) -> list[Change]:
        """Work out what a new ``inner`` does to this scope and all around it.

        ``added``, if given, is what ``inner`` was increased by. As long as scopes only add up, what
        is around grows by the same: one sum of rationals in place of a difference and a sum.
        """
        return self._carried(self._change(inner, adaptive), added, adaptive)

    def _changes_of(self, reserve: PrivacyLoss | None, state: State) -> list[Change]:
        """Work out what another reserve or state of this scope does to it and all around it."""
        inner, composed = self._inner, self._price(self._inner)
        charged = self._charge(composed, reserve, state)
        return self._carried(Change(self, inner, composed, charged, reserve))

    def _change(self, inner: PrivacyLoss, adaptive: bool) -> Change:
        composed, reserve = self._price(inner, adaptive), self._reserve
        charged = self._charge(composed, reserve, self._state)
        return Change(self, inner, composed, charged, reserve)

    @staticmethod
    def _carried(
        change: Change, added: PrivacyLoss | None = None, adaptive: bool = False
    ) -> list[Change]:
        """A change of a scope, and what it does to all around."""
        changes = [change]
        while True:
            scope, charged = change.scope, change.charged
            parent = scope._parent
            if parent is None or charged == scope._charged:
                return changes
            if added is not None and charged is change.inner and parent._adds_up:
                inner = parent._inner + added
            else:
                added = None
                inner = parent._inner_with(scope, charged, adaptive)
            change = parent._change(inner, adaptive)
            changes.append(change)

    def _check(self, changes: list[Change], requested: PrivacyLoss) -> None:
        """Refuse changes that break a reserve or the accountant's cap, or cannot be written."""
        self._check_lengths(changes)
        for change in changes:
            change.scope._check_own(change, requested)
        last = changes[-1]
        if last.scope._parent is None and last.charged != last.scope._charged:
            self._books.admit(last.scope._charged, last.charged, requested)

    def _check_own(self, change: Change, requested: PrivacyLoss) -> None:
        """Refuse a change of this scope that breaks what it promised itself."""
        reserve = change.reserve
        covered = reserve is change.charged  # the maximum of the two is the reserve itself
        if reserve is not None and not covered and not reserve.covers(change.composed):
            left = Budget.left(reserve.left_after(self._composed))
            raise BudgetExceeded(requested, left, where=f"reserve of {self._name()!r}")

    def _check_lengths(self, changes: list[Change]) -> None:
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
    def _commit(changes: list[Change], *writes: tuple[Any, ...]) -> None:
        """Write changes, and what else belongs to them as calls, all of it or nothing.

        One call runs them all, with no line of Python in between, which is where an interrupt
        comes: ``deque`` goes through them in C. Setting an attribute that is there takes no
        memory. What may take some goes first, and there is one of these at most.
        """
        made: list[tuple[Any, ...]] = [*writes]
        for change in changes:
            scope = change.scope
            made.append((setattr, scope, "_inner", change.inner))
            made.append((setattr, scope, "_composed", change.composed))
            made.append((setattr, scope, "_charged", change.charged))
        deque(starmap(call, made), 0)

    # -- taking children in -------------------------------------------------------------

    def _adopt(self, child: S, alone: bool = False) -> S:
        """Take a new child in, with its reserve, or refuse and change nothing.

        With ``alone`` it is the scope beside which nothing is granted from then on.
        """
        label = child._label
        if not isinstance(label, str) or not label:
            raise ParameterTypeError("label", label, "must be a non-empty str", "Name the scope")
        if child._reserve is not None:
            child._reserve = checked_reserve(child._reserve, "reserve")
        with self._books.lock:
            self._check_open()
            self._check_free(label)
            books, first = self._books, self._books.held_first
            if child._adaptive and not self._root()._has_granted():
                first = [*first, child]
            changes = child._changes(child._inner, adaptive=child._is_adaptive())
            self._check(changes, changes[0].charged)
            self._commit(
                changes,
                (self._children.__setitem__, label, child),
                (setattr, books, "held_first", first),
                (setattr, books, "alone", child if alone else books.alone),
            )
        return child

    def _check_free(self, label: str) -> None:
        if label in self._children:
            raise ScopeError(
                f"scope {self._name()!r} has a child {label!r} already. Give every scope a "
                "name of its own, so that the ledger can tell them apart."
            )

    def _check_open(self) -> None:
        self._books.check_process()
        for scope in self._around():
            if scope._state is not State.OPEN:
                raise ScopeError(
                    f"scope {scope._name()!r} is closed and takes no more requests. Open a new one."
                )
