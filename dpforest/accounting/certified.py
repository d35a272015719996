"""The certified scope: grants one list of releases in its order, and nothing else.

**Claim.** All that is released in the scope is (epsilon, delta)-DP, as its certificate says, also
where the run ends early for a reason that depends on released values: a part of the list is made
from all of it without looking at the records. So the whole is charged with the first grant.

**Delta.** What is charged is (epsilon, delta), beside the list's rho. ``BudgetAccountant`` takes
the deltas that were spent for fixed beforehand. So the scope is opened before anything else was
granted; or inside an adaptive scope that was opened so, whose reserve holds the delta for good:
there every run stays below an epsilon and a delta that add up, which is a valid filter (Rogers,
Roth, Ullman, Vadhan 2016, Theorem 3.6).

Held by tests/accounting/test_certified.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dpforest.accounting.certificate_record import CertificateRecord
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.events import Event
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.nodes import Node
from dpforest.accounting.scopes import Scope, SequentialScope
from dpforest.exceptions import ParameterError, ScopeError

if TYPE_CHECKING:
    from dpforest.accounting.accountant import BudgetAccountant


def open_certified(scope: Scope, label: str, certificate: Certificate) -> CertifiedScope:
    """Open a scope that grants the certificate's list; its cost is set aside at once.

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
        If something was granted before, other than in an adaptive scope around it that was
        opened first; or if a scope around it is not sequential.
    """
    if not certificate.holds:
        raise ParameterError(
            "certificate", f"({certificate.epsilon}, {certificate.delta})",
            "does not follow from its list of releases", "Make it with certify(...)",
        )  # fmt: skip
    with scope._accountant._lock:
        _check_place(scope)
        _check_units(scope, certificate)
        return scope._adopt(CertifiedScope(scope._accountant, scope, label, certificate))


class CertifiedScope(SequentialScope):
    """Grants the releases of a certificate in their order."""

    def __init__(
        self, accountant: BudgetAccountant, parent: Scope, label: str, certificate: Certificate
    ) -> None:
        super().__init__(accountant, parent, label, reserve=certificate.loss)
        self._certificate = certificate
        self._certified_units = certificate.records_per_unit

    @property
    def certificate(self) -> Certificate:
        """What it may grant, and at what cost."""
        return self._certificate

    def close(self, *, keep_reserve: bool = False) -> None:
        """Take no more requests; see ``Scope.close``.

        Whether an unused list is given up may depend on what was released beside it meanwhile.
        Its delta would then not be fixed beforehand, so it stays spent.
        """
        with self._accountant._lock:
            given_up = not self._entries and self._root()._has_granted() and not _is_held(self)
            super().close(keep_reserve=keep_reserve or given_up)

    def _price(self, inner: PrivacyLoss) -> PrivacyLoss:
        if inner == NO_LOSS:
            return NO_LOSS
        # A unit's, as the certificate is.
        rho = inner.rho * self._certified_units**2
        return PrivacyLoss(self._certificate.epsilon, rho, self._certificate.delta)

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

    def _adopt(self, child: Node) -> NoReturn:
        raise ScopeError(
            f"scope {self._name()!r} is certified for a list of releases and takes no scopes. "
            "Request in it."
        )

    def _record(self, counter: list[int]) -> ScopeRecord:
        written = CertificateRecord.of(self._certificate)
        return super()._record(counter).model_copy(update={"certificate": written})


def _check_place(scope: Scope) -> None:
    """Refuse a place where the certificate's delta would not be fixed beforehand."""
    around: list[Node] = []
    node: Node | None = scope
    while node is not None:
        around.append(node)
        node = node._parent
    if not all(
        isinstance(place, SequentialScope) and place.kind in ("sequential", "units")
        for place in around
    ):
        raise ScopeError(
            "a certified scope lies in sequential scopes only: its (epsilon, delta) is that of a "
            "record that meets all of it. Open it beside the parallel or sampled scope."
        )
    if not _is_held(scope) and around[-1]._has_granted():
        raise ScopeError(
            "a certified scope must be the first spending of its accountant, so that its delta is "
            "fixed beforehand. Plan in rho where an accountant is shared."
        )


def _is_held(scope: Scope) -> bool:
    """Whether an adaptive scope that was opened first holds the delta for good."""
    place: Node | None = scope
    while place is not None:
        if place._adaptive and place._was_first:
            return True
        place = place._parent
    return False


def _check_units(scope: Scope, certificate: Certificate) -> None:
    """A certificate for units counts as it is, so it lies right in a scope of just such units."""
    if certificate.records_per_unit in (1, scope._records_per_unit):
        return
    raise ParameterError(
        "certificate", f"for units of {certificate.records_per_unit} records",
        "must be for one record, or for the units of the scope that it is opened in",
        "Open that scope with max_records_per_unit",
    )  # fmt: skip
