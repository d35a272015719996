"""The charge of a fit: set aside before a record is read, granted, and kept where the fit fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.caps import open_capped
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.diffprivlib_adapter import ceiling_of
from dpforest.accounting.fits import FitListing, count_seed, register_fit
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.scopes import Scope
from dpforest.accounting.verify import claimed_loss, sole_certificate
from dpforest.domain.domain import Domain
from dpforest.estimators.door import Door
from dpforest.estimators.fit_plan import FitPlan, FitRequest
from dpforest.exceptions import InvalidRecordError
from dpforest.ledger.ceilings import NO_RESERVATION, LedgerCeiling, Reservation
from dpforest.mechanisms.entropy import SeededSource
from dpforest.relations import relations_of

if TYPE_CHECKING:
    from dpforest.ledger.pricing import FitPrice

#: What an error says where a fit was charged and the model of an earlier one is still there.
_KEEPS_EARLIER = (
    "This fit stays charged. The object keeps the model of an earlier one, whose report is about "
    "that one alone."
)


class FitCharge:
    """Charge of one fit, from its accountant to what stays spent where it fails.

    Parameters
    ----------
    estimator : PrivateEstimator
    door : Door
    plan : FitPlan
    listing : FitListing, optional
        Of a fit that is made again, which is not listed again.
    """

    #: Grants what the fit asks for, once :meth:`open_accountant` was called.
    accountant: BudgetAccountant
    #: Charged elsewhere, in a diffprivlib ceiling.
    external: tuple[Any, ...] = ()
    #: In a ledger, where the fit is charged to one.
    reservation: Reservation = NO_RESERVATION
    #: Whether an earlier fit of the object or a clone drew from the same seed.
    seed_reused: bool = False

    def __init__(
        self, estimator: Any, door: Door, plan: FitPlan, listing: FitListing | None
    ) -> None:
        self._estimator, self._door, self._plan = estimator, door, plan
        self.listing = listing

    def open_accountant(self) -> None:
        """Take the shared accountant, or make an own one; a diffprivlib ceiling is charged now."""
        ceiling, budget = self._door.ceiling, self._door.wanted.budget
        if isinstance(ceiling, BudgetAccountant):
            self.accountant = ceiling
            return
        self.accountant = BudgetAccountant(budget.unit_epsilon, budget.delta)
        if ceiling is not None and not isinstance(ceiling, LedgerCeiling):
            relation = relations_of(budget.records_per_unit)[1]
            charge = ceiling_of(ceiling).charge(self._plan.loss, budget.delta, relation)
            self.external = (charge,)

    def reserved(self) -> Reservation:
        """Reservation in a ledger, where the fit is charged to one; elsewhere it does nothing."""
        self.reservation = NO_RESERVATION
        if isinstance(self._door.ceiling, LedgerCeiling):
            self.reservation = self._door.ceiling.reservation(self._price())
        return self.reservation

    def _price(self) -> FitPrice:
        door = self._door
        return fit_price(self._estimator, self._plan, door.wanted, door.settings, door.domain)

    def open_scope(self) -> Scope:
        """The fit's scope, with the whole plan set aside, all or nothing.

        A plan that waits for a released value sets aside the most that it may come to. If a bought
        number decides between two currencies, the fit is kept under one of two caps instead. A
        certified list is set aside as its sum, or as its certificate if the accountant never grants
        anything else.
        """
        accountant, plan = self.accountant, self._plan
        # The accountant numbers what it holds already; a count of the process would make equal
        # fits report differently.
        label = f"fit: {self._estimator._ours().__name__}"
        size = self._door.wanted.budget.records_per_unit
        if plan.caps:
            return open_capped(accountant, label, plan.caps, size)
        if not plan.adaptive:
            added = plan.additive
            alone = None if added == plan.loss else plan.loss
            return accountant.open_scope(label, added, max_records_per_unit=size, alone=alone)
        return accountant.open_scope(label, plan.loss, True, max_records_per_unit=size)

    @contextmanager
    def kept_on_failure(self, scope: Scope) -> Iterator[None]:
        """Read records: where that fails for one of them the fit is charged, as if it had trained.

        Whoever sees it fail learns something of that record. A model of an earlier fit, which was
        paid for, stays. ``invalid="raise"`` is for the curator's desk, and costs nothing here.
        """
        scope.hold()
        try:
            yield
        except InvalidRecordError:
            scope.let_go()
            raise
        except BaseException:
            scope.fail()
            # What ended the fit goes on, and not a warning that somebody made an error.
            with suppress(Warning):
                self.list_fit()
            raise
        scope.let_go()

    def list_fit(self) -> None:
        """List the fit in the process-wide ledger, with where it was charged, and its seed."""
        if self.listing is not None:
            return
        door = self._door
        lineage, name = self._estimator._own_lineage(), self._estimator._ours().__name__
        self.listing = register_fit(
            lineage, name, self._plan.loss, charged_to=door.charged_to, search=door.search
        )
        if isinstance(door.source, SeededSource):
            self.seed_reused = count_seed(lineage, name, door.source.digest) > 1

    def stays_charged(self, scope: Scope) -> bool:
        """True if an error that ends the training now leaves the fit charged.

        A ledger and a diffprivlib accountant are charged before a record is read.
        """
        elsewhere = self.reservation is not NO_RESERVATION or bool(self.external)
        return elsewhere or _was_granted(scope.record())

    @contextmanager
    def unfitted_on_failure(self) -> Iterator[list[Scope]]:
        """Leave nothing of a fit that failed or was interrupted but what it cost.

        What it released is handed over at its end, all at once.
        """
        opened: list[Scope] = []
        self._estimator.__dict__.pop("_failure", None)
        try:
            yield opened
        except BaseException as error:
            granted = _failure_of(opened[0].record()) if opened else ""
            self._estimator._failure = self.reservation.failure or granted
            if self._estimator._failure and self._estimator.__sklearn_is_fitted__():
                error.add_note(_KEEPS_EARLIER)
            raise

    def claimed(self, scope: Scope) -> tuple[PrivacyLoss, Certificate | None]:
        """Loss of a finished fit by itself, and the certificate that speaks for all of it.

        If spending depended on released values, the caps are the bound, not the amount that came
        out; the scope refused every request beyond them.
        """
        plan = self._plan
        if plan.adaptive:
            return plan.loss, None
        if plan.certificate is None:
            return scope.loss, None
        record = scope.record()
        return claimed_loss(record, self._door.wanted.budget.delta), sole_certificate(record)


def fit_price(
    estimator: Any,
    plan: FitPlan,
    wanted: FitRequest,
    settings: dict[str, Any],
    domain: Domain,
) -> FitPrice:
    """Price of a planned fit, for a ledger."""
    # Here, since most fits need none, and an import takes its time.
    from dpforest.ledger.pricing import price_of

    fit = {"estimator": estimator._ours().__name__, "settings": settings}
    return price_of(plan, wanted.budget, fit, domain)


def _was_granted(record: ScopeRecord) -> bool:
    """True if anything was granted in a scope, or in one of those in it."""
    return any(scope.entries for scope in record.walk())


def _failure_of(record: ScopeRecord) -> str:
    """Words for a report about a fit that an error ended; empty if it was charged nothing.

    The error may have come between the last release and the model.
    """
    granted = _was_granted(record)
    if not record.failed and not granted:
        return ""
    when = "after something was granted" if granted else "while its records were read"
    charged = record.charged
    name = "rho" if charged.epsilon == "inf" else "epsilon"
    amount = f"{name} = {_short(getattr(charged, name))}"
    # If released values decided the requests, the amount that came out is no bound; the caps are.
    bound = " (the amount that came out; its caps are the bound)" if record.caps and granted else ""
    return (
        f"the last fit failed {when}. What it was charged stays spent: "
        f"{amount}, delta = {_short(charged.delta)}{bound}; the accountant's composition has it "
        "exactly. "
        "No model was released. Fit again to get a report."
    )


def _short(exact: str) -> str:
    return f"{float(Fraction(exact)):.6g}"
