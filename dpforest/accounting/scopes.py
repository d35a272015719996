"""Scopes: where budget is asked for, and the kinds of them.

Sequential, parallel over cells, parallel over records, Poisson-sampled. How they compose as a tree
is what ``composition`` says. The rules and their proofs are in docs/accounting.md; held by
tests/accounting/test_laws.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dpforest.accounting import grants
from dpforest.accounting.books import Books
from dpforest.accounting.composition import ComposingScope
from dpforest.accounting.events import Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import ScopeKind
from dpforest.accounting.losses import NO_LOSS, Amount, PrivacyLoss
from dpforest.accounting.mixtures import mixed
from dpforest.accounting.requests import PricedRequests, Request, read_probability, read_sides
from dpforest.accounting.reserves import check_adaptive
from dpforest.accounting.scope_tree import ScopeNode
from dpforest.exceptions import ScopeError
from dpforest.observation import observe_grants


class Scope(ComposingScope):
    """A scope of any kind: opened by an accountant or by another scope, closed by leaving it.

    A context manager: leaving it closes it, and a closed scope takes no more requests. All
    methods may be called from any thread of the process.
    """

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

    def _counted(self, loss: PrivacyLoss, child: ScopeNode | None = None) -> PrivacyLoss:
        """Loss that a request, or what a child is charged, counts as here."""
        return loss

    def _inner_with(
        self, child: ScopeNode, charged: PrivacyLoss, adaptive: bool = False
    ) -> PrivacyLoss:
        inner, old = self._inner, self._counted(child._charged, child)
        charged = self._counted(charged, child)
        return PrivacyLoss(
            self._replaced("epsilon", inner.epsilon, old.epsilon, charged.epsilon, child),
            self._replaced("rho", inner.rho, old.rho, charged.rho, child),
            inner.delta - old.delta + charged.delta,
        )

    def _replaced(self, name: str, total: Any, old: Any, new: Any, child: ScopeNode) -> Amount:
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
        self, child: ScopeNode, charged: PrivacyLoss, adaptive: bool = False
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
        self, child: ScopeNode, charged: PrivacyLoss, adaptive: bool = False
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
