"""Scopes: where budget is asked for, and how what is asked for composes as a tree.

Sequential, parallel over cells, parallel over records, Poisson-sampled. The rules and their
proofs are in docs/accounting.md; held by tests/accounting/test_laws.py.

Every scope keeps three losses: ``inner``, what its entries and children add up to by its own
rule; ``composed``, the price of that for one record of its parent (they differ under sampling
only); and ``charged``, what its parent counts, which a reserve can raise above ``composed``.
A request changes ``inner`` of one scope and walks to the root: nothing is written before every
reserve on the way and the accountant's cap have agreed, so a refusal changes nothing. What is
written then is written at once, see ``Scope._commit``, so an interrupt changes all or nothing.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from fractions import Fraction
from itertools import starmap
from operator import call
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from dpforest.accounting import grants
from dpforest.accounting.books import Books
from dpforest.accounting.certificate_record import CertificateRecord
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.events import Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import Budget, LedgerEntry, LossRecord, ScopeKind, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, Amount, PrivacyLoss
from dpforest.accounting.rationals import check_length, exact_loss, exact_text, mixture_epsilon
from dpforest.accounting.requests import Granted, PricedRequests, read_probability, read_sides
from dpforest.accounting.requests import Request as Request
from dpforest.exceptions import (
    BudgetExceeded,
    ParameterError,
    ParameterTypeError,
    ScopeError,
)
from dpforest.observation import observe_grants

S = TypeVar("S", bound="Scope")


class State(Flag):
    """End of a scope; one that takes requests has none of these."""

    OPEN = 0
    CLOSED = auto()
    #: Its reserve stays spent.
    KEPT = auto()
    #: An error ended it after something was granted, or while records were read.
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """State that a scope would take."""

    scope: Scope
    inner: PrivacyLoss
    composed: PrivacyLoss
    charged: PrivacyLoss
    reserve: PrivacyLoss | None


class Scope:
    """A scope of any kind: opened by an accountant or by another scope, closed by leaving it.

    A context manager: leaving it closes it, and a closed scope takes no more requests. All
    methods may be called from any thread of the process.
    """

    kind: ClassVar[ScopeKind]
    #: Whether ``inner`` is the plain sum of what entries and children are charged.
    _adds_up: ClassVar[bool] = False

    def __init__(
        self,
        books: Books,
        parent: Scope | None,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
    ) -> None:
        self._books = books
        self._parent = parent
        self._label = label
        self._reserve = reserve
        self._adaptive = adaptive
        self._entries: list[Granted] = []
        self._children: dict[str, Scope] = {}
        self._inner = self._composed = self._charged = NO_LOSS
        self._state = State.OPEN

    # -- reading ------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Name among its siblings."""
        return self._label

    @property
    def path(self) -> tuple[str, ...]:
        """Labels from the outermost scope to this one."""
        return () if self._parent is None else (*self._parent.path, self._label)

    @property
    def reserve(self) -> PrivacyLoss | None:
        """Loss that was set aside when it was opened."""
        return self._reserve

    @property
    def certificate(self) -> Certificate | None:
        """Of a list that it grants, where that is composed as a whole; see ``lists``."""
        return None

    @property
    def max_records_per_unit(self) -> int:
        """Most records of a privacy unit, where its loss counts in units; see ``units``."""
        return 1

    @property
    def loss(self) -> PrivacyLoss:
        """Loss that everything granted in it composes to, exactly, without unspent reserve."""
        return self._composed

    @property
    def charged(self) -> PrivacyLoss:
        """Loss that its parent counts: ``loss``, or more where a reserve is held."""
        return self._charged

    @property
    def is_open(self) -> bool:
        """True if it and all scopes around it still take requests."""
        return all(scope._state is State.OPEN for scope in self._around())

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
        self, child: Scope, charged: PrivacyLoss, adaptive: bool = False
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

    # -- shared steps -------------------------------------------------------------------

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

    def _around(self) -> Iterator[Scope]:
        """It and all scopes around it, the root last."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope._parent

    def _root(self) -> Scope:
        return self if self._parent is None else self._parent._root()

    def _has_granted(self) -> bool:
        """True if anything was granted in it or in a scope inside."""
        return bool(self._entries) or any(c._has_granted() for c in self._children.values())

    def _is_held_alone(self) -> bool:
        """True if it, or a scope around it, is the one beside which nothing is granted."""
        alone = self._books.alone
        return any(place is alone and place._charged != NO_LOSS for place in self._around())

    def _is_adaptive(self) -> bool:
        """True if what is spent in it depends on released values."""
        return self._adaptive

    def _spends_adaptively(self) -> bool:
        """True if it lies in an adaptive scope or holds one.

        No rho may then rest on a pure epsilon as if that had been fixed beforehand.
        """
        return any(scope._is_adaptive() for scope in self._around()) or self._holds_adaptive()

    def _holds_adaptive(self) -> bool:
        children = self._children.values()
        return any(child._is_adaptive() or child._holds_adaptive() for child in children)

    def _name(self) -> str:
        return " / ".join(self.path) or "accountant"

    def _probabilities(self) -> dict[str, Fraction]:
        return {}

    def _record(self, counter: list[int]) -> ScopeRecord:
        path, certificate = self.path, self.certificate
        entries = tuple(_entry_record(entry, path, counter) for entry in self._entries)
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
            certificate=None if certificate is None else CertificateRecord.of(certificate),
            records_per_unit=self.max_records_per_unit,
            closed=State.CLOSED in self._state,
            reserve_kept=State.KEPT in self._state,
            failed=State.FAILED in self._state,
            entries=entries,
            children=children,
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

    # -- opening and asking ----

    def sequential(
        self,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
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
        ParameterError
            If what is charged would come to an amount of more digits than books hold (4,000);
            nothing is opened.
        ScopeError
            If this scope is closed or has a child of that name.
        """
        check_adaptive(adaptive, reserve)
        scope = SequentialScope(self._books, self, label, reserve, adaptive)
        return self._adopt(scope)

    def parallel_cells(self, label: str) -> ParallelCellsScope:
        """Open a scope whose children run on disjoint cells of a public partition."""
        return self._adopt(ParallelCellsScope(self._books, self, label))

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
        probabilities = read_sides(sides)
        return self._adopt(ParallelRecordsScope(self._books, self, label, probabilities))

    def poisson(self, label: str, rate: Fraction | int | float | str) -> PoissonScope:
        """Open a scope that each record enters on its own, secretly, with probability ``rate``."""
        return self._adopt(PoissonScope(self._books, self, label, read_probability("rate", rate)))

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
        ParameterError
            If what is spent would come to an amount of more digits than books hold (4,000).
            Nothing is spent.
        ScopeError
            If the scope is closed, is certified for another release, or only composes its
            children: sequential and sampled scopes and sides grant, others do not.
        """
        return self.request_all([Request(event, role, cells, level)])[0]

    def request_all(self, requests: Iterable[Request], owner: str = "") -> list[Grant]:
        """Ask for several releases at once; see ``SequentialScope.request_all``."""
        raise ScopeError(
            f"scope {self._name()!r} is {self.kind}: it composes its children and takes no "
            "requests of its own. Open a child and request there."
        )


class SequentialScope(Scope):
    """Everything in it meets the same records: epsilon, rho and delta add up."""

    kind: ClassVar[ScopeKind] = "sequential"
    _adds_up: ClassVar[bool] = True

    def request_all(self, requests: Iterable[Request], owner: str = "") -> list[Grant]:
        """Record what several releases cost, one entry each, then return their permissions.

        The same entries and grants as one request after the other, all or nothing: either every
        one of them is recorded before the first grant is made, or none is. What is around the
        scope is told of their sum once, which is quicker.

        Parameters
        ----------
        requests : iterable of Request
            Gone through once, before anything else. In the order in which they enter the ledger.
        owner : str
            Who asks, for whoever looks on.

        Returns
        -------
        list of Grant

        Raises
        ------
        BudgetExceeded
            If a reserve around it or the accountant's total does not allow all of them.
        ScopeError
            If the scope is closed, or is certified for other releases.
        """
        given = tuple(requests)
        with self._books.lock:
            asked = self._books.asked_of(given)
            entries = asked.entries
            self._check_open()
            inner, added = self._added_up(asked)
            changes = self._changes(inner, added)
            self._check(changes, entries[0].loss if len(entries) == 1 else added)
            # What is spent and the entries at once, then grants: a crash in between leaves the
            # budget spent.
            self._commit(changes, (self._entries.extend, entries))
        path = self.path
        granted = [grants.issue(e.event, e.role, e.cells, path, e.level) for e in entries]
        observe_grants(granted, owner)
        return granted

    def _added_up(self, asked: PricedRequests) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Spending here with these entries, and what they add to it."""
        added = asked.loss
        if not self._adds_up:
            added = sum((self._counted(entry.loss) for entry in asked.entries), NO_LOSS)
        return self._books.sum_of(self._inner, added), added

    def _counted(self, loss: PrivacyLoss, child: Scope | None = None) -> PrivacyLoss:
        """Loss that a request, or what a child is charged, counts as here."""
        return loss

    def _inner_with(
        self, child: Scope, charged: PrivacyLoss, adaptive: bool = False
    ) -> PrivacyLoss:
        inner, old = self._inner, self._counted(child._charged, child)
        charged = self._counted(charged, child)
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
        children = (c for c in self._children.values() if c is not child)
        siblings = [self._counted(c._charged, c) for c in children]
        own = [self._counted(entry.loss) for entry in self._entries]
        return sum((getattr(loss, name) for loss in (*siblings, *own)), new)


class ParallelCellsScope(Scope):
    """Children run on disjoint cells of a public partition: the maximum counts."""

    kind: ClassVar[ScopeKind] = "parallel cells"

    def _inner_with(
        self, child: Scope, charged: PrivacyLoss, adaptive: bool = False
    ) -> PrivacyLoss:
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
        books: Books,
        parent: Scope,
        label: str,
        probabilities: dict[str, Fraction],
    ) -> None:
        super().__init__(books, parent, label)
        self._weights = tuple(probabilities.values())
        self._sides = {name: SequentialScope(books, self, name) for name in probabilities}
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

    def _inner_with(
        self, child: Scope, charged: PrivacyLoss, adaptive: bool = False
    ) -> PrivacyLoss:
        losses = [charged if side is child else side._charged for side in self._sides.values()]
        return mixed(self._weights, losses, adaptive or self._spends_adaptively())

    def _probabilities(self) -> dict[str, Fraction]:
        return dict(zip(self._sides, self._weights, strict=True))


class PoissonScope(SequentialScope):
    """Each record enters on its own with one rate; spendings inside add up, then are mixed.

    One draw, one mixture: everything inside shares one draw of records. A tree with a draw of
    its own opens a scope of its own.
    """

    kind: ClassVar[ScopeKind] = "poisson"

    def __init__(self, books: Books, parent: Scope, label: str, rate: Fraction) -> None:
        super().__init__(books, parent, label)
        self._rate = rate

    def _price(self, inner: PrivacyLoss, adaptive: bool = False) -> PrivacyLoss:
        return mixed((self._rate,), [inner], adaptive or self._spends_adaptively())

    def _probabilities(self) -> dict[str, Fraction]:
        return {"rate": self._rate}


def mixed(weights: tuple[Fraction, ...], losses: list[PrivacyLoss], adaptive: bool) -> PrivacyLoss:
    """Loss of a record that meets side j with probability ``weights[j]``, else none."""
    worst = NO_LOSS
    for loss in losses:
        worst = worst.maximum(loss)
    if worst == NO_LOSS:
        return NO_LOSS
    epsilon = mixture_epsilon(weights, [loss.epsilon for loss in losses])
    rho = worst.rho
    if not adaptive and not worst.delta:
        rho = min(rho, epsilon * epsilon / 2)
    # With one side a failure needs the record to enter it. With several the larger delta may
    # sit on the likelier posterior side, so only the maximum is sure.
    delta = weights[0] * worst.delta if len(weights) == 1 else worst.delta
    return PrivacyLoss(epsilon, rho, delta)


def check_adaptive(adaptive: bool, reserve: PrivacyLoss | None) -> None:
    """Refuse to spend adaptively without a cap that was fixed beforehand."""
    if adaptive and reserve is None:
        raise ParameterError(
            "adaptive", adaptive, "needs a reserve", "Give the cap as reserve=PrivacyLoss(...)"
        )


def checked_reserve(reserve: Any, parameter: str) -> PrivacyLoss:
    """A loss that may be set aside: exact, since all that is charged later is added to it."""
    if not isinstance(reserve, PrivacyLoss):
        raise ParameterTypeError(
            parameter, reserve, "must be a PrivacyLoss", "Use PrivacyLoss.pure(...)"
        )
    repair = "Give rationals, such as PrivacyLoss.pure(Fraction(1, 10)), and no floats"
    return exact_loss(reserve, parameter, repair)


def _entry_record(entry: Granted, path: tuple[str, ...], counter: list[int]) -> LedgerEntry:
    index = counter[0]
    counter[0] += 1
    return LedgerEntry(
        index=index,
        path=path,
        role=entry.role,
        mechanism=entry.event.mechanism,
        parameters=entry.event.parameters,
        cells=entry.cells,
        level=entry.level,
        epsilon=exact_text(entry.loss.epsilon),
        rho=exact_text(entry.loss.rho),
        delta=exact_text(entry.loss.delta),
    )


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Sort key by which "tree 2" comes before "tree 10"."""
    parts = re.split(r"(\d+)", label)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
