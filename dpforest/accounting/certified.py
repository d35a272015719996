"""The certified scope: grants one list of releases in its order, and nothing else.

**Claim.** All that is released in the scope is (epsilon, delta)-DP, as its certificate says, also
where the run ends early for a reason that depends on released values: a part of the list is made
from all of it without looking at the records. So the whole is charged with the first grant.

**Charge.** A certificate speaks for its own list. Beside other spending the list counts as what its
releases add up to, which is its rho: ``Certificate.additive``. Its accountant then sees releases
that add up and nothing else, so what it proves of them it proves here: lists may be chosen by what
was released before, from list to list, and all of it stays (epsilon, delta)-DP as the ceiling says.
No delta is charged; the certificate's is a way of saying what the list alone comes to.

A list whose rho is above the ceiling may still be all that its accountant ever grants. It is then
charged its certificate's (epsilon, delta) and the accountant grants nothing more
(``BudgetAccountant.open_scope``). Whether it is so is decided while nothing has been spent, so it
does not depend on any record; and then all that is released is the list, which is
(epsilon, delta)-DP by its certificate. The same holds for a list that is opened outside of such a
scope, where nothing is charged but the reserves of the scopes around it. Nothing is granted beyond
those reserves then. Within a reserve that is larger than the list's (epsilon, delta) more may be
granted beside it, and adds up with it there: the list was fixed before anything was released.

The third place is an adaptive scope that was opened before anything was granted, whose reserve
holds the delta for good: there every run stays below an epsilon and a delta that add up, which is a
valid filter (Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6).

Held by tests/accounting/test_certified.py and test_shared_lists.py.
"""

from __future__ import annotations

from typing import NoReturn

from dpforest.accounting.books import Books
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.events import Event
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.scopes import Scope, SequentialScope
from dpforest.accounting.units import group_loss
from dpforest.exceptions import BudgetExceeded, ParameterError, ScopeError


def open_certified(scope: Scope, label: str, certificate: Certificate) -> CertifiedScope:
    """Open a scope that grants the certificate's list; its cost is set aside at once.

    That is what the list adds up to (``Certificate.additive``), or the certificate's own loss: in a
    scope that holds its accountant alone or holds the delta for good; and where the list does not
    fit otherwise and nothing is charged but the scopes around it. Nothing is then granted beyond
    what those had set aside.

    Parameters
    ----------
    scope : Scope
        Sequential, and all scopes around it.
    label : str
        Name, unlike those of its siblings.
    certificate : Certificate

    Raises
    ------
    ParameterError
        If the certificate does not hold, or is for units of another size than the scope's.
    BudgetExceeded
        If the cost does not fit; nothing is opened.
    ScopeError
        If a scope around it is not sequential.
    """
    if not certificate.holds:
        raise ParameterError(
            "certificate", f"({certificate.epsilon}, {certificate.delta})",
            "does not follow from its list of releases", "Make it with certify(...)",
        )  # fmt: skip
    with scope._books.lock:
        _check_place(scope)
        _check_units(scope, certificate)
        if _is_held(scope) or scope._is_held_alone():
            return _opened(scope, label, certificate, adds_up=False)
        try:
            return _opened(scope, label, certificate, adds_up=True)
        except BudgetExceeded:
            if not _is_alone(scope):
                raise
        only = _opened(scope, label, certificate, adds_up=False)
        scope._books.alone = only
        return only


def _opened(scope: Scope, label: str, certificate: Certificate, adds_up: bool) -> CertifiedScope:
    certified = CertifiedScope(scope._books, scope, label, certificate, adds_up)
    return scope._adopt(certified)


class CertifiedScope(SequentialScope):
    """Grants the releases of a certificate in their order.

    It is charged what they add up to, or (not ``adds_up``) the certificate's own loss.
    """

    def __init__(
        self,
        books: Books,
        parent: Scope,
        label: str,
        certificate: Certificate,
        adds_up: bool,
    ) -> None:
        reserve = certificate.additive if adds_up else certificate.loss
        super().__init__(books, parent, label, reserve=reserve)
        self._certificate = certificate
        self._in_rho = adds_up

    @property
    def certificate(self) -> Certificate:
        """What it may grant, and at what cost."""
        return self._certificate

    def close(self, *, keep_reserve: bool = False) -> None:
        """Take no more requests; see ``Scope.close``.

        Whether an unused list is given up may depend on what was released beside it meanwhile.
        Its delta would then not be fixed beforehand, so it stays spent.
        """
        with self._books.lock:
            given_up = not self._entries and self._root()._has_granted()
            kept = given_up and not self._in_rho and not _is_held(self)
            super().close(keep_reserve=keep_reserve or kept)

    def _price(self, inner: PrivacyLoss) -> PrivacyLoss:
        if inner == NO_LOSS:
            return NO_LOSS
        # A unit's, as the certificate is.
        added = group_loss(inner, self._certificate.records_per_unit)
        if self._in_rho:
            return added
        return PrivacyLoss(self._certificate.epsilon, added.rho, self._certificate.delta)

    def _check_next(self, event: Event, ahead: int) -> None:
        planned = self._certificate.event_at(len(self._entries) + ahead)
        # An event of another type may hold itself equal to anything.
        if event is planned or (type(event) is type(planned) and event == planned):
            return
        what = "nothing more" if planned is None else f"{planned.mechanism} {planned.parameters}"
        raise ScopeError(
            f"scope {self._name()!r} is certified for a list of releases, and next on it is "
            f"{what}, not {event.mechanism} {event.parameters}. Request what was planned, in order."
        )

    def _adopt(self, child: Scope) -> NoReturn:
        raise ScopeError(
            f"scope {self._name()!r} is certified for a list of releases and takes no scopes. "
            "Request in it."
        )


def _check_place(scope: Scope) -> None:
    """Refuse a place that a record may not meet all of."""
    if not all(
        isinstance(place, SequentialScope) and place.kind in ("sequential", "units")
        for place in scope._around()
    ):
        raise ScopeError(
            "a certified scope lies in sequential scopes only: its (epsilon, delta) is that of a "
            "record that meets all of it. Open it beside the parallel or sampled scope."
        )


def _is_alone(scope: Scope) -> bool:
    """Whether nothing is charged to the accountant but reserves of the scopes around."""
    around = list(scope._around())
    beside = (c for place in around for c in place._children.values() if c not in around)
    spent = [entry.loss for place in around for entry in place._entries]
    return all(loss == NO_LOSS for loss in (*spent, *(child._charged for child in beside)))


def _is_held(scope: Scope) -> bool:
    """Whether an adaptive scope that was opened first holds the delta for good."""
    return any(place in scope._books.held_first for place in scope._around())


def _check_units(scope: Scope, certificate: Certificate) -> None:
    """A certificate for units counts as it is, so it lies right in a scope of just such units."""
    if certificate.records_per_unit in (1, scope.max_records_per_unit):
        return
    raise ParameterError(
        "certificate", f"for units of {certificate.records_per_unit} records",
        "must be for one record, or for the units of the scope that it is opened in",
        "Open that scope with max_records_per_unit",
    )  # fmt: skip
