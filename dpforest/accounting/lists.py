"""A scope that holds a plan's list: set aside whole when it is opened, granted step by step.

The list was fixed before its first grant and is charged whole when the scope opens: so a grant
costs a comparison and an entry, and no sum.

What a list with a certificate is charged, and where it may lie, is what ``certified`` says and
proves of a certified scope. Held by tests/accounting/test_lists.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from dpforest.accounting import grants
from dpforest.accounting.books import Books
from dpforest.accounting.certificates import Certificate, Repeat, certify
from dpforest.accounting.certified import check_place, check_units, is_alone, is_held
from dpforest.accounting.composition import ComposingScope
from dpforest.accounting.events import checked_loss
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.releases import (
    LearnerBudget,
    Plan,
    Release,
    Round,
    Step,
    loss_of,
    repeats,
)
from dpforest.accounting.requests import Granted, Request
from dpforest.accounting.scope_tree import ScopeNode, State
from dpforest.accounting.scopes import Scope, SequentialScope
from dpforest.accounting.units import group_loss
from dpforest.exceptions import BudgetExceeded, ParameterError, ScopeError
from dpforest.observation import observe_grants

N = TypeVar("N", bound=ComposingScope)

#: Sides of a round with a partition, and the scope that holds both.
STRUCTURE, ESTIMATION, SIDES = "structure points", "estimation points", "structure and estimation"


@dataclass(frozen=True, slots=True)
class Price:
    """Cost of a list for a unit.

    Attributes
    ----------
    charge : PrivacyLoss
        Beside other spending: the sum of its releases.
    certificate : Certificate or None
        That the list alone is (epsilon, delta)-DP.
    alone : PrivacyLoss or None
        (epsilon, delta) where the list is all that its accountant ever grants.
    """

    charge: PrivacyLoss
    certificate: Certificate | None = None
    alone: PrivacyLoss | None = None

    @classmethod
    def of(cls, plan: Plan[Any], records_per_unit: int = 1) -> Price:
        """The price of a plan, by its certificate where it has one."""
        if plan.certificate is None:
            return cls(group_loss(loss_of(plan.rounds), records_per_unit))
        return cls(plan.certificate.additive, plan.certificate, plan.certificate.loss)


def price(rounds: tuple[Round, ...], budget: LearnerBudget) -> Price:
    """Cost of a list for a unit under a budget.

    A list that adds up to more rho than the budget has is (epsilon, delta)-DP by a certificate.

    Raises
    ------
    ParameterError
        If it is not.
    """
    loss, size = loss_of(rounds), budget.records_per_unit
    if not budget.certified or loss.rho <= budget.rho:
        return Price(group_loss(loss, size))
    certificate = certify(repeats(rounds), budget.unit_epsilon, budget.delta, size)
    return Price(certificate.additive, certificate, certificate.loss)


def open_list(scope: Scope, label: str, rounds: tuple[Round, ...], price: Price) -> ListScope:
    """Open a scope that grants a list; its cost is set aside at once.

    Parameters
    ----------
    scope : Scope
        Sequential, and all scopes around it, where the list has a certificate.
    label : str
        Name, unlike those of its siblings.
    rounds : tuple of Round
    price : Price
        Of the list.

    Raises
    ------
    ParameterError
        If the certificate does not hold, is for units of another size than the scope's, or is of
        another list.
    BudgetExceeded
        If the cost does not fit; nothing is opened.
    ScopeError
        If there is a certificate and a scope around is not sequential.
    """
    if price.certificate is None:
        return scope._adopt(ListScope(scope._books, scope, label, rounds))
    _check_certificate(price.certificate, rounds)
    with scope._books.lock:
        check_place(scope)
        check_units(scope, price.certificate)
        return _opened_certified(scope, label, rounds, price.certificate)


def _check_certificate(certificate: Certificate, rounds: tuple[Round, ...]) -> None:
    listed = repeats(rounds)
    same = certificate.repeats == listed and _kinds(certificate.repeats) == _kinds(listed)
    if certificate.holds and same:
        return
    raise ParameterError(
        "price", f"({certificate.epsilon}, {certificate.delta})",
        "does not follow from the list of releases", "Make it with price(...)",
    )  # fmt: skip


def _kinds(repeats: tuple[Repeat, ...]) -> list[type]:
    """Types of all events: one of another type may say of itself that it is the same."""
    return [type(event) for repeat in repeats for event in repeat.events]


def _opened_certified(
    scope: Scope, label: str, rounds: tuple[Round, ...], certificate: Certificate
) -> ListScope:
    """Charged what it adds up to, or its own (epsilon, delta); see ``certified``."""

    def opened(adds_up: bool, alone: bool = False) -> ListScope:
        made = ListScope(scope._books, scope, label, rounds, certificate, adds_up)
        return scope._adopt(made, alone)

    if is_held(scope) or scope._is_held_alone():
        return opened(adds_up=False)
    try:
        return opened(adds_up=True)
    except BudgetExceeded:
        if not is_alone(scope):
            raise
    return opened(adds_up=False, alone=True)


class ListScope(SequentialScope):
    """Grants the releases of a list in their order, and nothing else.

    Its cost is set aside whole at the opening. Rounds with a label are granted in scopes of their
    own inside, each as its requests come.
    """

    def __init__(
        self,
        books: Books,
        parent: Scope,
        label: str,
        rounds: tuple[Round, ...],
        certificate: Certificate | None = None,
        adds_up: bool = True,
    ) -> None:
        self._whole = loss_of(rounds, parent._spends_adaptively())
        reserve = self._whole
        if certificate is not None:
            reserve = certificate.additive if adds_up else certificate.loss
        super().__init__(books, parent, label, reserve=reserve)
        self._certificate, self._in_rho = certificate, adds_up
        self._listed = tuple(_listed(rounds))
        self._losses = _losses(self._listed)
        self._labels = {one.label for one in rounds if one.label}
        self._n_listed = sum(len(one.releases) * one.times for one in rounds)
        self._settled = 0

    @property
    def certificate(self) -> Certificate | None:
        """Certificate that the list alone is (epsilon, delta)-DP."""
        return self._certificate

    @property
    def loss(self) -> PrivacyLoss:
        """Loss that everything granted in it composes to, exactly, without unspent reserve."""
        with self._books.lock:
            self._settle()
            return self._composed

    def grant(self, *steps: Step, owner: str = "") -> tuple[dict[str, Grant], ...]:
        """Record the next steps of the list, then return their permissions: a step's by role.

        Parameters
        ----------
        steps : Step
        owner : str
            Who asks, for whoever looks on.

        Raises
        ------
        ScopeError
            If they are not what is next on the list, or the scope is closed. Nothing is granted.
        """
        releases = [release for step in steps for release in step.releases]
        if self._labels:  # what is granted inside is summed as it comes, so this is too
            with self._books.lock:
                self._check_listed(releases)
                return _granted_each(steps, owner, super().request_all)
        with self._books.lock:
            self._check_open()
            self._check_listed(releases)
            # Charged when the scope was opened; written down before any grant is made.
            first = len(self._entries)
            losses = self._losses[first : first + len(releases)]
            self._entries += [
                Granted(r.event, loss, r.role, r.cells, r.level)
                for r, loss in zip(releases, losses, strict=True)
            ]
        path = self.path
        made = [grants.issue(r.event, r.role, r.cells, path, r.level) for r in releases]
        if made:
            observe_grants(made, owner)
        return _by_step(steps, made)

    def request_all(self, requests: Iterable[Request], owner: str = "") -> NoReturn:
        """Refused: what is on the list is granted step by step."""
        raise ScopeError(
            f"scope {self._name()!r} holds a list of releases and grants nothing else. "
            "Open a scope beside it."
        )

    def _end(self, keep_reserve: bool, failed: State) -> None:
        """Close it; see ``Scope.close``.

        Where a list was left may depend on what it released, so what was begun stays spent whole.
        Whether an unused list is given up may depend on what was released beside it meanwhile.
        A delta would then not be fixed beforehand, so it stays spent.
        """
        self._settle()
        given_up = not self._entries and self._root()._has_granted()
        kept = given_up and not self._in_rho and not is_held(self)
        super()._end(keep_reserve or kept or self._was_left(), failed)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._books.lock:
            self._settle()
        super().__exit__(kind, error, trace)

    def _was_left(self) -> bool:
        """True if something was granted, and not all of the list."""
        return 0 < _n_granted(self) < self._n_listed

    def _settle(self) -> None:
        """Add up what was granted: the whole list, unless it was left early."""
        n_granted = len(self._entries)
        if self._labels or self._settled == n_granted:
            return
        inner = self._whole
        if n_granted < len(self._listed):
            inner = sum((entry.loss for entry in self._entries), NO_LOSS)
        composed = self._price(inner)
        # Last, and settled last of all: whatever interrupts the sum, it is made again.
        self._inner, self._composed = inner, composed
        self._settled = n_granted

    def _price(self, inner: PrivacyLoss, adaptive: bool = False) -> PrivacyLoss:
        if self._certificate is None or inner == NO_LOSS:
            return inner
        # A unit's, as the certificate is.
        added = group_loss(inner, self._certificate.records_per_unit)
        if self._in_rho:
            return added
        return PrivacyLoss(self._certificate.epsilon, added.rho, self._certificate.delta)

    def _check_listed(self, releases: Sequence[Release]) -> None:
        first = len(self._entries)
        for place, release in enumerate(releases, start=first):
            planned = self._listed[place] if place < len(self._listed) else None
            if planned is not None and _is_same(release, planned):
                continue
            next_one = "nothing more" if planned is None else repr(planned.role)
            raise ScopeError(
                f"scope {self._name()!r} holds a list of releases, and next on it is {next_one}, "
                f"not {release.role!r}. Ask for what was planned, in order."
            )

    def _adopt(self, child: N, alone: bool = False) -> N:
        if child._label.rpartition(" ")[0] not in self._labels:
            raise ScopeError(
                f"scope {self._name()!r} holds a list of releases and takes no scopes but those of "
                "its rounds. Open a scope beside it."
            )
        return super()._adopt(child, alone)

    def _record(self, counter: list[int]) -> ScopeRecord:
        self._settle()
        return super()._record(counter)


def _is_same(release: Release, planned: Release) -> bool:
    """True if a release is the planned one; an event of another type may say so of itself."""
    if release is planned:
        return True
    alike = type(release) is Release and type(release.event) is type(planned.event)
    return alike and release == planned


def grant_steps(scope: Scope, steps: Sequence[Step], owner: str) -> tuple[dict[str, Grant], ...]:
    """Ask any scope for steps, all or none: a step's grants by role."""
    if isinstance(scope, ListScope):
        return scope.grant(*steps, owner=owner)
    return _granted_each(steps, owner, scope.request_all)


def _granted_each(
    steps: Sequence[Step], owner: str, request_all: Any
) -> tuple[dict[str, Grant], ...]:
    requests = tuple(chain.from_iterable([step.requests for step in steps]))
    made = request_all(requests, owner) if requests else []
    return _by_step(steps, made)


def _by_step(steps: Sequence[Step], made: list[Grant]) -> tuple[dict[str, Grant], ...]:
    left = iter(made)
    return tuple({release.role: next(left) for release in step.releases} for step in steps)


def _n_granted(scope: ScopeNode) -> int:
    """Number of releases that were granted in a scope and in those inside."""
    inside = sum(_n_granted(child) for child in scope._children.values())
    return len(scope._entries) + inside


def _listed(rounds: tuple[Round, ...]) -> chain[Release]:
    """Releases of the scope's own, in order; what a copy asks for, it asks for in its own scope."""
    own = (one for one in rounds if not one.label)
    return chain.from_iterable(one.releases * one.times for one in own)


def _losses(releases: tuple[Release, ...]) -> tuple[PrivacyLoss, ...]:
    """Cost of each; a list asks for the same event many times over, which is priced once."""
    known: dict[int, PrivacyLoss] = {}
    for release in releases:
        if id(release.event) not in known:
            known[id(release.event)] = checked_loss(release.event)
    return tuple(known[id(release.event)] for release in releases)
