"""One fit: door, plan, charge, records, training, model, guarantee, in this order."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.fits import FitListing
from dpforest.accounting.rationals import exact_text
from dpforest.accounting.scopes import Scope
from dpforest.checks import check_n_jobs
from dpforest.domain.reading import CHECK_REPAIR, placed, reading_records
from dpforest.estimators.charge import FitCharge
from dpforest.estimators.counted import Counted, counted_records, warn_of_few
from dpforest.estimators.door import Door
from dpforest.estimators.forecast_range import PublicFigures, public_figures
from dpforest.estimators.outcome import FitOutcome
from dpforest.estimators.ready import load_for
from dpforest.estimators.training import Training
from dpforest.mechanisms.entropy import describe_source, is_seeded
from dpforest.observation import releases_observed
from dpforest.records.base import MemoryRecords, Records
from dpforest.records.streams.base import Source
from dpforest.records.table import Table
from dpforest.report.guarantee import spent_budget
from dpforest.report.record import Ceiling, RunFacts
from dpforest.report.versions import library_versions
from dpforest.trees.transcript import Transcript

#: Attributes of a fit beside those that end in an underscore.
_FITTED = frozenset({"_scope", "_facts", "_failure", "_transcript", "_renoised", "_figures"})


class Fit:
    """One fit of an estimator, which keeps only what was released and what it cost.

    Order: parameters, domain, width and dtypes; plan; reserve; records; requests. So a refusal
    comes before records are read, and records are read after the whole plan was set aside.

    Parameters
    ----------
    estimator : PrivateEstimator
    listing : FitListing, optional
        From a report whose fit is made again on no records; it is not listed again.
    counted : int, optional
        From that report too: the noisy number of records from which the rest was planned.
    """

    door: Door
    charge: FitCharge
    training: Training
    #: How it trains: a check of a report asks for all releases, and learns nothing.
    _trains: type[Training] = Training

    def __init__(
        self, estimator: Any, listing: FitListing | None = None, counted: int | None = None
    ) -> None:
        self.estimator = estimator
        self.listing, self.counted = listing, counted
        # Releases that observers had handled before.
        self._observed_before = releases_observed()

    def run(self, X: Any, y: Any) -> None:
        """Fit the estimator; if that fails, nothing of the fit remains but its cost."""
        door = self.door = Door(self.estimator, X, y, done=self.listing is not None)
        plan = door.plan()
        load_for(plan)
        charge = self.charge = FitCharge(self.estimator, door, plan, self.listing)
        charge.open_accountant()
        training = self.training = self._trains(door, plan, self.counted)
        with charge.unfitted_on_failure() as opened, charge.reserved() as reservation:
            with charge.open_scope() as scope:
                opened.append(scope)
                reservation.start()
                records = self._read(scope, X, y)
                charge.list_fit()
                forget(self.estimator)
                released = training.train(scope, records, charge.stays_charged)
            few = self._few(released.transcript)
            self._finish(scope, released, few)
        reservation.warn()
        # Last of all: a warning that is an error ends a fit that is paid for and whole.
        door.tell_of_positions(records)
        if few is not None:
            warn_of_few(few, door.domain.approximate_rows, 3, door.search)

    def _read(self, scope: Scope, X: Any, y: Any) -> Records:
        """Records as codes: the only place where a fit reads values."""
        n_threads = check_n_jobs(self.door.given.n_jobs)
        if self.door.streamed:  # nothing is read before the first sum is paid for
            return X.records(self.door.encoder, n_threads)
        with self.charge.kept_on_failure(scope), reading_records("the table", CHECK_REPAIR):
            if isinstance(X, Source):
                return X.records(self.door.encoder, n_threads)
            with placed("the table"):  # what the door let through, and is another one now
                return MemoryRecords(Table.of(self.door.encoder.encode(X, y)), n_threads)

    def _finish(self, scope: Scope, released: FitOutcome, few: Counted | None) -> None:
        """Hand over the model with its guarantee, and all that its report will need."""
        facts, door, charge = self._run_facts(), self.door, self.charge
        loss, certificate = charge.claimed(scope)
        guarantee = facts.judge(loss, certificate)
        charge.reservation.settle(guarantee.status)
        if (place := charge.reservation.place) is not None:
            facts = facts.model_copy(update={"ledger": place})
            charge.accountant._seal()  # a reserve in a ledger pays for this fit alone
        # All at once, so that nobody sees a released model beside the guarantee of another fit.
        self.estimator.__dict__.update(
            self.estimator._serve(released, door.domain),
            **door.features,
            domain_=door.domain,
            _encoder_=door.encoder,
            _transcript=released.transcript,
            _figures=self._figures(few),
            accountant_=charge.accountant,
            spent_=spent_budget(loss, guarantee),
            # Written out when somebody asks: a closed scope does not change any more.
            _scope=scope,
            _facts=facts,
            guarantee_=guarantee,
        )

    def _figures(self, few: Counted | None) -> PublicFigures | None:
        """Figures of the plan, or of the few records that releases speak of."""
        figures = public_figures(self.training.settled)
        if figures is None or few is None:
            return figures
        # A few that noise made out of none are not to promise anything.
        return figures.of_records(few.records - 2 * few.deviation)

    def _few(self, transcript: Transcript | None) -> Counted | None:
        """Records that releases speak of, where these are far fewer than were declared."""
        counted, declared = counted_records(transcript), self.door.domain.approximate_rows
        is_few = counted is not None and declared is not None and counted.is_few(declared)
        return counted if is_few else None

    def _run_facts(self) -> RunFacts:
        """Facts that guarantee and report are made of, as they are when the fit ends."""
        door, charge = self.door, self.charge
        assert charge.listing is not None
        return RunFacts(
            estimator=self.estimator._ours().__name__,
            settings=door.settings,
            parameters=door.parameters,
            charged_to=door.charged_to,
            delta=exact_text(door.wanted.budget.delta),
            leaks=tuple(door.leaks),
            seeded=is_seeded(door.source),
            seed_reused=charge.seed_reused,
            observed=releases_observed() != self._observed_before,
            randomness=describe_source(door.source),
            plan=self.training.settled.describe(),
            external=charge.external,
            listing=charge.listing,
            versions=library_versions(),
            streamed=door.streamed,
            around=door.around,
            ceiling=_ceiling(door.ceiling),
        )


def forget(estimator: Any) -> None:
    """Make an estimator unfitted before anything is released, so that a failed fit leaves nothing.

    What an earlier fit released keeps its own guarantee, but nobody could tell it from what a
    failed fit left behind.
    """
    for name in [name for name in vars(estimator) if name.endswith("_") or name in _FITTED]:
        estimator.__dict__.pop(name, None)


def _ceiling(accountant: Any) -> Ceiling | None:
    """Total that a shared accountant promises; None if nobody shares it."""
    if not isinstance(accountant, BudgetAccountant):
        return None
    total = accountant.total.exact
    return Ceiling(epsilon=exact_text(total.epsilon), delta=exact_text(total.delta))
