"""The kinds of scope in which budget is asked for, and how each one composes.

Sequential, parallel over cells, parallel over records, Poisson-sampled. The rules and their
proofs are in docs/accounting.md; held by tests/accounting/test_laws.py. How a change travels
through the tree, reserves and closing are in ``nodes``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpforest.accounting import grants
from dpforest.accounting.books import Books
from dpforest.accounting.events import Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import ScopeKind
from dpforest.accounting.losses import NO_LOSS, ZERO, Amount, PrivacyLoss
from dpforest.accounting.nodes import Granted, Node
from dpforest.accounting.rationals import mixture_epsilon, to_rational
from dpforest.exceptions import ParameterError, ParameterTypeError, ScopeError
from dpforest.observation import observe_grants


@dataclass(frozen=True, slots=True)
class Request:
    """One of several requests that are made together; see ``Scope.request``.

    Attributes
    ----------
    event : Event
    role : str
    cells : int
    level : int or None
    """

    event: Event
    role: str
    cells: int = 1
    level: int | None = None


class Scope(Node):
    """A scope of any kind: opened by an accountant or by another scope, closed by leaving it."""

    def sequential(
        self,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
        caps: tuple[PrivacyLoss, ...] = (),
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
        caps : tuple of PrivacyLoss
            Alternatives fixed beforehand, such as a pure epsilon and a rho, where a released
            value decides which is used. Every request keeps what is charged under one of them.
            They are not set aside: reserve the part that is planned from the released value in
            a scope inside. All that is released in the scope is then covered by the union of
            the alternatives, by the accountant's own proof.

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
        if adaptive and reserve is None:
            raise ParameterError(
                "adaptive", adaptive, "needs a reserve", "Give the cap as reserve=PrivacyLoss(...)"
            )
        scope = SequentialScope(self._books, self, label, reserve, adaptive, caps)
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
        probabilities = _read_sides(sides)
        return self._adopt(ParallelRecordsScope(self._books, self, label, probabilities))

    def poisson(self, label: str, rate: Fraction | int | float | str) -> PoissonScope:
        """Open a scope that each record enters on its own, secretly, with probability ``rate``."""
        return self._adopt(PoissonScope(self._books, self, label, _probability("rate", rate)))

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
        # Read once: what is priced, what is recorded and what is granted are the same objects.
        asked = [_read_request(request) for request in requests]
        with self._books.lock:
            entries = [
                Granted(event, self._books.price_of(event), role, cells, level)
                for event, role, cells, level in asked
            ]
            self._check_open()
            for ahead, entry in enumerate(entries):
                self._check_next(entry.event, ahead)
            inner, added = self._added_up(entries)
            changes = self._changes(inner, added)
            self._check(changes, entries[0].loss if len(entries) == 1 else added)
            # First what is spent, then the entries, then grants: a crash in between leaves the
            # budget spent, and at no time less of it than the ledger says.
            self._commit(changes)
            self._entries += entries
        granted = [grants.issue(e.event, e.role, e.cells, self._path, e.level) for e in entries]
        observe_grants(granted, owner)
        return granted

    def _added_up(self, entries: Sequence[Granted]) -> tuple[PrivacyLoss, PrivacyLoss]:
        """What is spent here with these entries, and what they add to it."""
        total = self._books.sum_of
        inner, added = self._inner, NO_LOSS
        for entry in entries:
            counted = self._counted(entry.loss)
            inner = total(inner, counted)
            added = counted if added is NO_LOSS else total(added, counted)
        return inner, added

    def _check_next(self, event: Event, ahead: int) -> None:
        """Refuse what is not on the scope's list ``ahead`` of its entries, where it has one."""

    def _counted(self, loss: PrivacyLoss, child: Node | None = None) -> PrivacyLoss:
        """What a request's loss, or what a child is charged, counts as here."""
        return loss

    def _inner_with(self, child: Node, charged: PrivacyLoss) -> PrivacyLoss:
        inner, old = self._inner, self._counted(child._charged, child)
        charged = self._counted(charged, child)
        return PrivacyLoss(
            self._replaced("epsilon", inner.epsilon, old.epsilon, charged.epsilon, child),
            self._replaced("rho", inner.rho, old.rho, charged.rho, child),
            inner.delta - old.delta + charged.delta,
        )

    def _replaced(self, name: str, total: Any, old: Any, new: Any, child: Node) -> Amount:
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

    def _inner_with(self, child: Node, charged: PrivacyLoss) -> PrivacyLoss:
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

    def _inner_with(self, child: Node, charged: PrivacyLoss) -> PrivacyLoss:
        losses = [charged if side is child else side._charged for side in self._sides.values()]
        return mixed(self._weights, losses, self._spends_adaptively())

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

    def _price(self, inner: PrivacyLoss) -> PrivacyLoss:
        return mixed((self._rate,), [inner], self._spends_adaptively())

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


def _read_request(request: Any) -> tuple[Event, str, int, int | None]:
    """Event, role, cells and level of a request, each read once and of its own type."""
    if not isinstance(request, Request):
        raise ParameterTypeError(
            "requests", request, "must be of Request only", "Write Request(event, role)"
        )
    event, role = request.event, request.role
    if not isinstance(event, Event):
        raise ParameterTypeError(
            "event", event, "must be an Event", "Describe the release with one of the events"
        )
    if not isinstance(role, str) or not role:
        raise ParameterTypeError("role", role, "must be a non-empty str", "Say what it is for")
    cells = _whole(request.cells)
    if cells is None or cells < 1:
        raise ParameterError(
            "cells", request.cells, "must be a positive integer",
            "Count the nodes or leaves it runs on",
        )  # fmt: skip
    level = request.level
    if level is None:
        return event, role, cells, None
    # The books could not be written with another one, and would be lost with the grant at large.
    if (level := _whole(level)) is None:
        raise ParameterTypeError(
            "level", request.level, "must be an integer or None", "Give the level of the tree"
        )
    return event, role, cells, level


def _whole(number: Any) -> int | None:
    """A number as an int, or None where it is no whole one."""
    if type(number) is int:
        return number
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        return None
    return operator.index(number)


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
