"""One fit: facts, plan, reserve, records, training, model, guarantee, in this order."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.caps import open_capped
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.diffprivlib_adapter import (
    DiffprivlibCeiling,
    ceiling_of,
    is_diffprivlib_accountant,
)
from dpforest.accounting.fits import (
    DetachedAccountant,
    FitListing,
    charged_to,
    count_seed,
    register_fit,
)
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text
from dpforest.accounting.scopes import Scope
from dpforest.accounting.verify import claimed_loss, sole_certificate
from dpforest.checks import check_n_jobs
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.labels import read_labels
from dpforest.domain.opening import is_named
from dpforest.domain.reading import CHECK_REPAIR, counting_records, placed, reading_records
from dpforest.estimators.compiling import tell_of_compiling
from dpforest.estimators.counted import Counted, counted_records, warn_of_few
from dpforest.estimators.fit_plan import FitPlan, FitRequest
from dpforest.estimators.forecast_range import PublicFigures, public_figures
from dpforest.estimators.names import features_in, warn_of_label_type, warn_of_positions
from dpforest.estimators.outcome import FitOutcome
from dpforest.estimators.parameters import storable
from dpforest.estimators.pipelines import surroundings
from dpforest.estimators.planning import (
    plan_of,
    settle_plan,
    warn_if_hopeless,
    warn_of_large_delta,
    warn_of_large_epsilon,
)
from dpforest.estimators.progress import PartProgress, PassProgress
from dpforest.estimators.ready import load_for
from dpforest.estimators.scorers import refuse_scores_of_classes, refuse_unscorable
from dpforest.estimators.target_range import prepared
from dpforest.estimators.thresholds import refuse_idle_threshold
from dpforest.estimators.wasted import refuse_wasted
from dpforest.exceptions import (
    Described,
    InvalidRecordError,
    ParameterError,
    ParameterTypeError,
    PrivacyLeakWarning,
    kind_of,
)
from dpforest.ledger.ceilings import NO_RESERVATION, LedgerCeiling, Reservation
from dpforest.mechanisms.entropy import (
    RandomSource,
    SeededSource,
    describe_source,
    is_seeded,
    make_source,
)
from dpforest.observation import releases_observed
from dpforest.records.base import MemoryRecords, Records
from dpforest.records.streams.base import Source
from dpforest.records.streams.passes import RecordsInPasses
from dpforest.records.table import Table
from dpforest.relations import relations_of
from dpforest.report.guarantee import spent_budget
from dpforest.report.record import Ceiling, RunFacts
from dpforest.report.versions import library_versions
from dpforest.searches import running_search, warn_in_search
from dpforest.trees.base import ReleasedModel
from dpforest.trees.passes import n_passes
from dpforest.trees.strategies import HOLD_COUNTS
from dpforest.trees.training import train_on
from dpforest.trees.transcript import Transcript

if TYPE_CHECKING:
    from dpforest.ledger.pricing import FitPrice

#: Attributes of a fit beside those that end in an underscore.
_FITTED = frozenset({"_scope", "_facts", "_failure", "_transcript", "_renoised", "_figures"})


#: What an error says where a fit was charged and the model of an earlier one is still there.
_KEEPS_EARLIER = (
    "This fit stays charged. The object keeps the model of an earlier one, whose report is about "
    "that one alone."
)


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

    #: The estimator with the parameters that it had at the door, whatever is set meanwhile.
    given: Any
    wanted: FitRequest
    domain: Domain
    encoder: DomainEncoder
    source: RandomSource
    #: As it was given: None for a budget of the fit's own.
    ceiling: Any
    charged_to: str
    settings: dict[str, Any]
    parameters: dict[str, str]
    leaks: list[str]
    #: What estimators around the fit do that no guarantee speaks of.
    around: tuple[str, ...]
    #: Whether records are read pass by pass.
    streamed: bool
    #: Whether it was told at the door that columns of a stream are read by their places.
    told_of_positions: bool = False
    #: Attributes on columns and their names.
    features: dict[str, Any]
    plan: FitPlan
    #: The plan that released values led to, where the one before waited for them.
    settled: FitPlan
    external: tuple[Any, ...] = ()
    #: In a ledger, where the fit is charged to one.
    reservation: Reservation = NO_RESERVATION
    #: Whether an earlier fit of the object or a clone drew from the same seed.
    seed_reused: bool = False
    #: Token of the search that the fit is part of.
    search: str | None = None

    def __init__(
        self, estimator: Any, listing: FitListing | None = None, counted: int | None = None
    ) -> None:
        self.estimator = self.given = estimator
        self.listing, self.counted = listing, counted
        # Releases that observers had handled before.
        self._observed_before = releases_observed()

    def run(self, X: Any, y: Any) -> None:
        """Fit the estimator; if that fails, nothing of the fit remains but its cost."""
        self._enter(X, y)
        self._make_plan()
        load_for(self.plan)
        accountant = self._open_accountant()
        # The accountant numbers what it holds already; a count of the process would make equal
        # fits report differently.
        with self._unfitted_on_failure() as opened, self._reserved() as reservation:
            with self._open_scope(accountant) as scope:
                opened.append(scope)
                reservation.start()
                records = self._read(scope, X, y)
                self._list()
                forget(self.estimator)
                released = self._train(scope, records)
            few = self._few(released.transcript)
            self._finish(accountant, scope, released, few)
        reservation.warn()
        # Last of all: a warning that is an error ends a fit that is paid for and whole.
        self._tell_of_positions(records)
        if few is not None:
            warn_of_few(few, self.domain.approximate_rows, 3, self.search)

    # -- the door ----------------------------------------------------------------------------

    def _enter(self, X: Any, y: Any) -> None:
        """Refuse whatever can be refused without a look at any value."""
        self.search = running_search(self.estimator.__dict__.pop("_search", None))
        # In one step, so that plan, charge, guarantee and report are all of the same parameters.
        self.given = copy.copy(self.estimator)
        self.wanted = self.given._wanted(done=self.listing is not None)
        self._keep_parameters()
        self.source = make_source(self.given.random_state)
        self.ceiling = self.given.accountant
        _check_accountant(self.ceiling)
        if isinstance(self.ceiling, LedgerCeiling):
            self.ceiling.check(self.given.domain, self.wanted.budget)
        self.charged_to = charged_to(self.ceiling)
        self._resolve_domain(X, y)
        if self.given.domain is not None:
            refuse_wasted(self.domain, X)
            if self._classifies and self.domain.classes is not None:
                refuse_unscorable(self.domain.classes.labels)
                refuse_idle_threshold(self.domain.classes.labels)
            elif not self._classifies:
                refuse_scores_of_classes()
        around = surroundings(self.estimator)
        self._leak_around(around.unpaid)
        self.around = around.cautions
        self.encoder = self.given._encoder(self.domain)
        # Here, since an object of somebody else's is asked for names.
        self.features = features_in(self.domain, by_name=self._check_records(X, y))

    def _keep_parameters(self) -> None:
        """Keep the parameters for the report, as numbers and texts that nobody changes any more."""
        reported = self.given._reported_parameters()
        self.settings = {name: storable(value) for name, value in reported.items()}
        self.parameters = {name: repr(value) for name, value in reported.items()}

    def _check_records(self, X: Any, y: Any) -> bool:
        """Refuse records by their width, types and kind, before any value is read.

        Returns
        -------
        bool
            True if columns are known to be read by the domain's names.
        """
        self.streamed = isinstance(X, Source) and X.in_passes
        if not isinstance(X, Source):
            self.encoder.check(X, y)
            if self.encoder.reads_by_position(X):
                warn_of_positions(self.domain, self.search)
            warn_of_label_type(y, self.search)
            return is_named(X, self.domain.feature_names)
        if y is not None:
            raise ParameterError("y", Described("labels"), "a stream holds its own", "Leave y out")
        if self.streamed:
            self.wanted.check_streamable()
        read_by = X.check(self.domain.feature_names)
        X.reach()
        if read_by.places:
            warn_of_positions(self.domain, self.search)
        self.told_of_positions = read_by.places
        return read_by.names

    def _tell_of_positions(self, records: Records) -> None:
        """Warn where batches that were made in the fit had names of which none is declared."""
        passed_over = isinstance(records, RecordsInPasses) and records.read_by_places
        if passed_over and not self.told_of_positions:
            warn_of_positions(self.domain, self.search)

    def _resolve_domain(self, X: Any, y: Any) -> None:
        """The declared domain; without one it is read off the data, which voids the guarantee."""
        declared, self.leaks = self.given.domain, []
        if declared is None:
            leak = self._draft_domain(X, y)
        elif isinstance(declared, Domain):
            # That a bound is still the draft's is a fact about a record: nothing below may know.
            self.domain = declared.without_marks()
            if self.domain.is_declared:
                return
            lacking = ", ".join(f"{name}: {what}" for name, what in self.domain.lacking)
            leak = f"the domain was drafted from data and not confirmed ({lacking})"
        else:
            raise ParameterTypeError(
                "domain", kind_of(declared), "must be a dpforest.Domain or None",
                self._domain_repair(),
            )  # fmt: skip
        self.leaks.append(leak)
        self._warn_of_leak(
            leak, "Declare the public facts: see Domain, Domain.draft, Domain.confirmed."
        )

    def _warn_of_leak(self, leak: str, repair: str) -> None:
        text = f"{leak}. The guarantee is void. {repair}"
        warn_in_search(text, PrivacyLeakWarning, self.search, key=leak, stacklevel=6)

    def _draft_domain(self, X: Any, y: Any) -> str:
        """Read a domain off a table; returns what that leaks."""
        estimator = self.estimator
        if isinstance(X, Source):
            raise ParameterError(
                "domain", None, "a stream needs declared public facts", self._domain_repair()
            )
        if y is None:
            read_labels(y, type(estimator).__name__)  # refuses in scikit-learn's words
        self.domain = Domain.draft(X, y, task=estimator._task).without_marks()
        read = "bounds, categories and classes" if self._classifies else "bounds and categories"
        return f"no domain was declared, so {read} were read from the data"

    @property
    def _classifies(self) -> bool:
        return bool(self.estimator._task == "classification")

    def _domain_repair(self) -> str:
        what = "classes=..." if self._classifies else "target=(lower, upper)"
        return f"Build one with Domain(features=..., {what}) or Domain.from_json(path)"

    def _leak_around(self, unpaid: tuple[str, ...]) -> None:
        """Note as a leak what estimators before and around this fit learn from the records."""
        if not unpaid:
            return
        leak = f"a step before or around it learns without paying: {'; '.join(unpaid)}"
        self.leaks.append(leak)
        self._warn_of_leak(
            leak,
            "Use steps that need no fitting, or fit them on public data and freeze them "
            "(FrozenEstimator); see dpforest.check_pipeline.",
        )

    # -- plan and reserve --------------------------------------------------------------------

    def _make_plan(self) -> None:
        rows, in_memory = self.domain.approximate_rows, not self.streamed
        self.plan = plan_of(self.wanted, self.encoder, rows, self.charged_to, in_memory)
        self.settled = self.plan
        warn_if_hopeless(self.plan, self.plan.signal, 5, self.search)
        warn_of_large_epsilon(self.wanted.budget.unit_epsilon, 5, self.search)
        warn_of_large_delta(self.wanted.budget.delta, rows, 5, self.search)

    def _open_accountant(self) -> BudgetAccountant:
        """The shared accountant, or an own one; a diffprivlib ceiling is charged now."""
        if isinstance(self.ceiling, BudgetAccountant):
            return self.ceiling
        budget = self.wanted.budget
        own = BudgetAccountant(budget.unit_epsilon, budget.delta)
        if self.ceiling is not None and not isinstance(self.ceiling, LedgerCeiling):
            relation = relations_of(budget.records_per_unit)[1]
            charge = ceiling_of(self.ceiling).charge(self.plan.loss, budget.delta, relation)
            self.external = (charge,)
        return own

    def _open_scope(self, accountant: BudgetAccountant) -> Scope:
        """The fit's scope, with the whole plan set aside, all or nothing.

        A plan that waits for a released value sets aside the most that it may come to. If a bought
        number decides between two currencies, the fit is kept under one of two caps instead. A
        certified list is set aside as its sum, or as its certificate if the accountant never grants
        anything else.
        """
        label, plan = f"fit: {self.estimator._ours().__name__}", self.plan
        size = self.wanted.budget.records_per_unit
        if plan.caps:
            return open_capped(accountant, label, plan.caps, size)
        if not plan.adaptive:
            added = plan.additive
            alone = None if added == plan.loss else plan.loss
            return accountant.open_scope(label, added, max_records_per_unit=size, alone=alone)
        return accountant.open_scope(label, plan.loss, True, max_records_per_unit=size)

    def _reserved(self) -> Reservation:
        """Reservation in a ledger, where the fit is charged to one; elsewhere it does nothing."""
        self.reservation = NO_RESERVATION
        if isinstance(self.ceiling, LedgerCeiling):
            self.reservation = self.ceiling.reservation(self._price())
        return self.reservation

    def _price(self) -> FitPrice:
        return fit_price(self.estimator, self.plan, self.wanted, self.settings, self.domain)

    # -- records and training ----------------------------------------------------------------

    def _read(self, scope: Scope, X: Any, y: Any) -> Records:
        """Records as codes: the only place where a fit reads values."""
        n_threads = check_n_jobs(self.given.n_jobs)
        if self.streamed:  # nothing is read before the first sum is paid for
            return X.records(self.encoder, n_threads)
        with self._charged_on_failure(scope), reading_records("the table", CHECK_REPAIR):
            if isinstance(X, Source):
                return X.records(self.encoder, n_threads)
            with placed("the table"):  # what the door let through, and is another one now
                return MemoryRecords(Table.of(self.encoder.encode(X, y)), n_threads)

    @contextmanager
    def _charged_on_failure(self, scope: Scope) -> Iterator[None]:
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
                self._list()
            raise
        scope.let_go()

    def _list(self) -> None:
        """List the fit in the process-wide ledger, with where it was charged, and its seed."""
        if self.listing is not None:
            return
        lineage, name = self.estimator._own_lineage(), self.estimator._ours().__name__
        self.listing = register_fit(
            lineage, name, self.plan.loss, charged_to=self.charged_to, search=self.search
        )
        if isinstance(self.source, SeededSource):
            self.seed_reused = count_seed(lineage, name, self.source.digest) > 1

    def _train(self, scope: Scope, records: Records) -> FitOutcome:
        """Make every request of the plan in ``scope``, and release."""
        charged = partial(self._stays_charged, scope)
        with counting_records(charged), records.threads():
            self.settled = settle_plan(
                self.plan, self.source, scope, records, self.search, self.counted
            )
            self._tell_of_compiling()
            records, steps = prepared(self.settled, scope, records, self.source)
            with self._progress(records) as progress:
                model, transcript = self._learn(scope, progress.over(records), progress)
        return FitOutcome(self.settled.strategy, model, steps, transcript)

    def _tell_of_compiling(self) -> None:
        """Say that it takes a while, where code is to be compiled."""
        tell_of_compiling(self.settled.strategy)

    def _stays_charged(self, scope: Scope) -> bool:
        """True if an error that ends the training now leaves the fit charged.

        A ledger and a diffprivlib accountant are charged before a record is read.
        """
        elsewhere = self.reservation is not NO_RESERVATION or bool(self.external)
        return elsewhere or _was_granted(scope.record())

    def _learn(
        self, scope: Scope, records: Records, progress: PartProgress | PassProgress
    ) -> tuple[ReleasedModel, Transcript | None]:
        """Hand scope, words and records to the learner: the one place where a learner is run."""
        settled = self.settled
        if settled.learner is None or settled.plan is None:
            raise AssertionError("a settled plan has a learner")
        transcript = None
        if settled.strategy not in HOLD_COUNTS:
            transcript = Transcript(settled.learner, settled.plan.shape, settled.facts)
        with training_scope(settled, scope) as training:
            model = train_on(
                settled.learner, settled.plan, training, self.source, records,
                settled.facts, progress.part_done, transcript,
            )  # fmt: skip
        return model, transcript

    def _progress(self, records: Records) -> PartProgress | PassProgress:
        """Progress bar over parts, or over passes of a stream."""
        plan, verbose = self.settled.plan, self.given.verbose
        assert plan is not None
        if self.streamed:
            return PassProgress(n_passes(plan, records.schema), verbose)
        return PartProgress(plan.n_steps, verbose)

    # -- model and report --------------------------------------------------------------------

    def _finish(
        self,
        accountant: BudgetAccountant,
        scope: Scope,
        released: FitOutcome,
        few: Counted | None,
    ) -> None:
        facts = self._run_facts()
        loss, certificate = _claimed(self.plan, scope, self.wanted.budget.delta)
        guarantee = facts.judge(loss, certificate)
        self.reservation.settle(guarantee.status)
        if (place := self.reservation.place) is not None:
            facts = facts.model_copy(update={"ledger": place})
            accountant._seal()  # a reserve in a ledger pays for this fit alone
        # All at once, so that nobody sees a released model beside the guarantee of another fit.
        self.estimator.__dict__.update(
            self.estimator._serve(released, self.domain),
            **self.features,
            domain_=self.domain,
            _encoder_=self.encoder,
            _transcript=released.transcript,
            _figures=self._figures(few),
            accountant_=accountant,
            spent_=spent_budget(loss, guarantee),
            # Written out when somebody asks: a closed scope does not change any more.
            _scope=scope,
            _facts=facts,
            guarantee_=guarantee,
        )

    def _figures(self, few: Counted | None) -> PublicFigures | None:
        """Figures of the plan, or of the few records that releases speak of."""
        figures = public_figures(self.settled)
        if figures is None or few is None:
            return figures
        # A few that noise made out of none are not to promise anything.
        return figures.of_records(few.records - 2 * few.deviation)

    def _few(self, transcript: Transcript | None) -> Counted | None:
        """Records that releases speak of, where these are far fewer than were declared."""
        counted, declared = counted_records(transcript), self.domain.approximate_rows
        is_few = counted is not None and declared is not None and counted.is_few(declared)
        return counted if is_few else None

    def _run_facts(self) -> RunFacts:
        """Facts that guarantee and report are made of, as they are when the fit ends."""
        assert self.listing is not None
        return RunFacts(
            estimator=self.estimator._ours().__name__,
            settings=self.settings,
            parameters=self.parameters,
            charged_to=self.charged_to,
            delta=exact_text(self.wanted.budget.delta),
            leaks=tuple(self.leaks),
            seeded=is_seeded(self.source),
            seed_reused=self.seed_reused,
            observed=releases_observed() != self._observed_before,
            randomness=describe_source(self.source),
            plan=self.settled.describe(),
            external=self.external,
            listing=self.listing,
            versions=library_versions(),
            streamed=self.streamed,
            around=self.around,
            ceiling=_ceiling(self.ceiling),
        )

    @contextmanager
    def _unfitted_on_failure(self) -> Iterator[list[Scope]]:
        """Leave nothing of a fit that failed or was interrupted but what it cost.

        What it released is handed over at its end, all at once.
        """
        opened: list[Scope] = []
        self.estimator.__dict__.pop("_failure", None)
        try:
            yield opened
        except BaseException as error:
            granted = _failure_of(opened[0].record()) if opened else ""
            self.estimator._failure = self.reservation.failure or granted
            if self.estimator._failure and self.estimator.__sklearn_is_fitted__():
                error.add_note(_KEEPS_EARLIER)
            raise


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


def forget(estimator: Any) -> None:
    """Make an estimator unfitted before anything is released, so that a failed fit leaves nothing.

    What an earlier fit released keeps its own guarantee, but nobody could tell it from what a
    failed fit left behind.
    """
    for name in [name for name in vars(estimator) if name.endswith("_") or name in _FITTED]:
        estimator.__dict__.pop(name, None)


def training_scope(plan: FitPlan, scope: Scope) -> Scope:
    """Scope in which the learner asks: its cost is set aside as a whole, also if training fails."""
    assert plan.plan is not None
    price = Price.of(plan.plan, plan.budget.records_per_unit)
    return open_list(scope, plan.strategy, plan.plan.rounds, price)


def _claimed(
    plan: FitPlan, scope: Scope, delta: Fraction
) -> tuple[PrivacyLoss, Certificate | None]:
    """Loss of a finished fit by itself, and the certificate that speaks for all of it.

    If spending depended on released values, the caps are the bound, not the amount that came out;
    the scope refused every request beyond them.
    """
    if plan.adaptive:
        return plan.loss, None
    if plan.certificate is None:
        return scope.loss, None
    record = scope.record()
    return claimed_loss(record, delta), sole_certificate(record)


def _check_accountant(accountant: Any) -> None:
    if isinstance(accountant, DetachedAccountant):
        accountant.refuse()
    ours = (type(None), BudgetAccountant, LedgerCeiling, DiffprivlibCeiling)
    if not isinstance(accountant, ours) and not is_diffprivlib_accountant(accountant):
        raise ParameterTypeError(
            "accountant", kind_of(accountant),
            "must be a BudgetAccountant, a ledger's accountant, a diffprivlib.BudgetAccountant "
            "or None",
            "Open one with BudgetAccountant(epsilon=..., delta=...) or ledger.accountant(data_set)",
        )  # fmt: skip


def _ceiling(accountant: Any) -> Ceiling | None:
    """Total that a shared accountant promises; None if nobody shares it."""
    if not isinstance(accountant, BudgetAccountant):
        return None
    total = accountant.total.exact
    return Ceiling(epsilon=exact_text(total.epsilon), delta=exact_text(total.delta))


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
