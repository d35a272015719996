"""What every private estimator does around its training: facts, then budget, then records."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.detached import DetachedAccountant, charged_to
from dpforest.accounting.diffprivlib_adapter import (
    DiffprivlibCeiling,
    ceiling_of,
    is_diffprivlib_accountant,
)
from dpforest.accounting.fits import FitListing
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text
from dpforest.accounting.scopes import Scope
from dpforest.accounting.units import check_records_per_unit
from dpforest.accounting.verify import claimed_loss, sole_certificate
from dpforest.checks import check_n_jobs
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.table import Described, read_labels
from dpforest.estimators.copies import SharedBudget
from dpforest.estimators.failures import failure_of, refuse_failed
from dpforest.estimators.names import NamedColumns
from dpforest.estimators.pipelines import surroundings
from dpforest.estimators.run import FitRun
from dpforest.estimators.settings import check_delta, check_epsilon, storable
from dpforest.exceptions import ParameterError, ParameterTypeError, PrivacyLeakWarning
from dpforest.mechanisms.entropy import (
    describe_source,
    is_seeded,
    make_source,
)
from dpforest.observation import releases_observed
from dpforest.records.base import MemoryRecords, Records
from dpforest.records.streams.base import Source
from dpforest.records.table import TrainingTable
from dpforest.relations import relations_of
from dpforest.report.digests import model_fingerprint
from dpforest.report.guarantee import Guarantee, spent_budget
from dpforest.report.making import library_versions, make_report
from dpforest.report.record import Ceiling, RunFacts
from dpforest.report.report import PrivacyReport

#: Attributes of a fit beside those that end in an underscore.
_FITTED = frozenset({"_scope", "_facts", "_failure"})


class PrivateEstimator(NamedColumns, SharedBudget):
    """Base of estimators that train under an accountant.

    A subclass gives ``_build_plan`` (what will be asked for, from public facts alone) and
    ``_train`` (make the requests and release). Order of a fit: parameters, domain, width and
    dtypes; plan; reserve; records; requests. So a refusal comes before records are read.
    """

    # scikit-learn's tools then know that epsilon has no default.
    _required_parameters = ["epsilon"]

    # What a drafted domain reads the target as.
    _task: Literal["classification", "regression"]

    epsilon: Any
    delta: Any
    domain: Any
    max_records_per_unit: Any
    accountant: Any
    invalid: Any
    random_state: Any
    n_jobs: Any

    guarantee_: Guarantee
    _scope: Scope | ScopeRecord
    _facts: RunFacts

    @abstractmethod
    def _check_parameters(self, epsilon: Fraction, delta: Fraction) -> Any:
        """Check the remaining parameters; what it returns is handed to ``_build_plan``."""

    @abstractmethod
    def _build_plan(self, run: FitRun, checked: Any) -> Any:
        """Make the plan from public facts; has an exact ``loss`` and may be ``adaptive``."""

    @abstractmethod
    def _train(self, run: FitRun, plan: Any, scope: Scope, records: Records) -> None:
        """Make the plan's requests in ``scope`` and set the released attributes."""

    @abstractmethod
    def _encoder(self, domain: Domain) -> DomainEncoder:
        """Make the encoder of a table."""

    def _fit(self, X: Any, y: Any) -> None:
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        self._records_per_unit()
        checked = self._check_parameters(epsilon, delta)
        run = self._start(epsilon, delta, X, y)
        plan = self._build_plan(run, checked)
        accountant, run.external = self._open_accountant(run, plan.loss)
        # The accountant numbers what it holds already; a count of the process would make equal
        # fits report differently.
        with self._unfitted_on_failure() as opened:
            with self._open_scope(accountant, plan, run.records_per_unit) as scope:
                opened.append(scope)
                records = self._read(run, X, y)
                listing = self._register(plan.loss, run.charged_to)
                run.seed_reused = self._reuses_seed(run.source)
                self._forget_fit()
                self._train(run, plan, scope, records)
            claim = _claimed(plan, scope, run.delta)
            self._finish(run, X, plan, accountant, scope, claim, listing)

    def _open_scope(self, accountant: BudgetAccountant, plan: Any, size: int) -> Scope:
        """The fit's scope, with the whole plan set aside, all or nothing.

        A plan that waits for a released value sets its one cap aside; where there are two routes
        (a pure epsilon or a rho) both must fit now, and every request keeps under one of them.
        A certified list is set aside as what it adds up to; or as what its certificate says, where
        it is all that the accountant ever grants.
        """
        label = f"fit: {type(self).__name__}"
        if not plan.adaptive:
            added = plan.additive
            alone = None if added == plan.loss else plan.loss
            return accountant.open_scope(label, added, max_records_per_unit=size, alone=alone)
        if len(plan.routes) == 1:
            return accountant.open_scope(label, plan.routes[0], True, max_records_per_unit=size)
        return accountant.open_scope(label, caps=plan.routes, max_records_per_unit=size)

    def _records_per_unit(self) -> int:
        """How many records a unit may own; everything is spent and claimed in units."""
        return check_records_per_unit(self.max_records_per_unit)

    def _read(self, run: FitRun, X: Any, y: Any) -> Records:
        """Records as codes: the only place where a fit reads values."""
        if isinstance(X, Source):
            return X.records(run.encoder, check_n_jobs(self.n_jobs))
        table = TrainingTable.of(run.encoder.encode(X, y))
        return MemoryRecords(table, check_n_jobs(self.n_jobs))

    def _check_records(self, encoder: DomainEncoder, X: Any, y: Any) -> None:
        """Refuse records by their width, types and kind, before any value is read."""
        if not isinstance(X, Source):
            encoder.check(X, y)
            return
        if y is not None:
            raise ParameterError("y", Described("labels"), "a stream holds its own", "Leave y out")
        self._check_streamable()
        X.check(encoder.domain.feature_names)

    def _check_streamable(self) -> None:
        """Refuse what cannot be learnt pass by pass."""

    def _start(self, epsilon: Fraction, delta: Fraction, X: Any, y: Any) -> FitRun:
        """Whatever else can be refused without a look at any value."""
        source = make_source(self.random_state)
        # Read once: what is charged is what the report speaks of, whatever is set meanwhile.
        accountant = self.accountant
        _check_accountant(accountant)
        domain, leaks = self._resolve_domain(X, y)
        around = surroundings()
        leaks += self._leaks_around(around.unpaid)
        encoder = self._encoder(domain)
        self._check_records(encoder, X, y)
        # As they are now: what is set while a fit runs, or after it, was not fitted.
        reported = self._reported_parameters()
        return FitRun(
            epsilon,
            delta,
            domain,
            encoder,
            source,
            {name: storable(value) for name, value in reported.items()},
            {name: repr(value) for name, value in reported.items()},
            charged_to(accountant),
            leaks,
            isinstance(X, Source),
            around=around.cautions,
            accountant=accountant,
        )

    def _leaks_around(self, unpaid: tuple[str, ...]) -> list[str]:
        """What estimators before and around this fit learn from the records, as a leak."""
        if not unpaid:
            return []
        leak = f"what stands before or around it learns unpaid: {'; '.join(unpaid)}"
        warnings.warn(
            f"{leak}. The guarantee is void. Use steps that need no fitting, or fit them on public "
            "data and freeze them (FrozenEstimator); see dpforest.check_pipeline.",
            PrivacyLeakWarning,
            stacklevel=5,
        )
        return [leak]

    def _resolve_domain(self, X: Any, y: Any) -> tuple[Domain, list[str]]:
        """The declared domain; without one it is read off the data, which voids the guarantee."""
        if self.domain is None:
            domain, leak = self._read_domain(X, y)
        elif isinstance(self.domain, Domain):
            # That a bound is still the draft's is a fact about a record: nothing below may know.
            domain = self.domain.without_marks()
            if domain.is_declared:
                return domain, []
            lacking = ", ".join(f"{name}: {what}" for name, what in domain.lacking)
            leak = f"the domain was drafted from data and not confirmed ({lacking})"
        else:
            raise ParameterTypeError(
                "domain", type(self.domain).__name__, "must be a dpforest.Domain or None",
                self._domain_repair(),
            )  # fmt: skip
        warnings.warn(
            f"{leak}. The guarantee is void. Declare the public facts: see Domain, Domain.draft, "
            "Domain.confirmed.",
            PrivacyLeakWarning,
            stacklevel=5,
        )
        return domain, [leak]

    def _read_domain(self, X: Any, y: Any) -> tuple[Domain, str]:
        """A domain read off a table, and what that leaks."""
        if isinstance(X, Source):
            raise ParameterError(
                "domain", None, "a stream needs declared public facts", self._domain_repair()
            )  # fmt: skip
        if y is None:
            read_labels(y, type(self).__name__)  # refuses in scikit-learn's words
        read = "bounds, categories and classes" if self._classifies else "bounds and categories"
        domain = Domain.draft(X, y, task=self._task).without_marks()
        return domain, f"no domain was declared, so {read} were read from the data"

    @property
    def _classifies(self) -> bool:
        return self._task == "classification"

    def _domain_repair(self) -> str:
        what = "classes=..." if self._classifies else "target=(lower, upper)"
        return f"Build one with Domain(features=..., {what}) or Domain.from_json(path)"

    def _open_accountant(
        self, run: FitRun, loss: PrivacyLoss
    ) -> tuple[BudgetAccountant, list[Any]]:
        """The shared accountant, or an own one; a diffprivlib ceiling is charged now."""
        if isinstance(run.accountant, BudgetAccountant):
            return run.accountant, []
        own = BudgetAccountant(run.epsilon, run.delta)
        if run.accountant is None:
            return own, []
        relation = relations_of(run.records_per_unit)[1]
        return own, [ceiling_of(run.accountant).charge(loss, run.delta, relation)]

    def _finish(
        self,
        run: FitRun,
        X: Any,
        plan: Any,
        accountant: BudgetAccountant,
        scope: Scope,
        claim: tuple[PrivacyLoss, Certificate | None],
        listing: FitListing,
    ) -> None:
        facts = self._facts_of(run, plan, listing)
        guarantee = facts.judge(*claim)
        self._set_features_in(run.domain, X)
        # All at once: what was released is never seen beside the guarantee of another fit.
        self.__dict__.update(
            domain_=run.domain,
            _encoder_=run.encoder,
            accountant_=accountant,
            spent_=spent_budget(claim[0], guarantee),
            # Written out when somebody asks: a closed scope does not change any more.
            _scope=scope,
            _facts=facts,
            guarantee_=guarantee,
        )

    def _facts_of(self, run: FitRun, plan: Any, listing: FitListing) -> RunFacts:
        """What guarantee and report are made of, as it is when the fit ends."""
        return RunFacts(
            estimator=type(self).__name__,
            settings=run.settings,
            parameters=run.parameters,
            charged_to=run.charged_to,
            delta=exact_text(run.delta),
            leaks=tuple(run.leaks),
            seeded=is_seeded(run.source),
            seed_reused=run.seed_reused,
            observed=releases_observed() != run.observed_before,
            randomness=describe_source(run.source),
            plan=(run.settled or plan).describe(),
            external=tuple(run.external),
            listing=listing,
            versions=library_versions(),
            streamed=run.streamed,
            around=run.around,
            ceiling=_ceiling(run),
        )

    @contextmanager
    def _unfitted_on_failure(self) -> Iterator[list[Scope]]:
        """Leave nothing of a fit that failed or was interrupted but what it cost."""
        opened: list[Scope] = []
        self.__dict__.pop("_failure", None)
        try:
            yield opened
        except BaseException:
            if not hasattr(self, "guarantee_"):
                self._forget_fit()
            self._failure = failure_of(opened[0].record()) if opened else ""
            raise

    def _forget_fit(self) -> None:
        """Become unfitted before anything is released, so that a fit that fails leaves nothing.

        Whatever an earlier fit released is still what its own guarantee says, but nobody could
        tell it from what a failed fit left behind.
        """
        for name in [name for name in vars(self) if name.endswith("_") or name in _FITTED]:
            self.__dict__.pop(name, None)

    def _reported_parameters(self) -> dict[str, Any]:
        """Parameters for the report: the seed itself, the domain and the accountant stay out."""
        hidden = ("domain", "accountant", "random_state")
        return {k: v for k, v in self.get_params(deep=False).items() if k not in hidden}

    def privacy_report(self) -> PrivacyReport:
        """What was spent, on what, and what it guarantees.

        Returns
        -------
        PrivacyReport
            With ``to_html``, ``to_json`` and ``to_markdown``.

        Raises
        ------
        NotFittedError
            Without a fit. Where the last one failed after something was granted it says so, and
            what stays spent.
        """
        refuse_failed(self)
        check_is_fitted(self)
        return make_report(
            self._facts, self.domain_, self.guarantee_, self._composition(), self.fingerprint_
        )

    @property
    def fingerprint_(self) -> str:
        """Digest of what was released, by which a report says which model it speaks of."""
        check_is_fitted(self)
        return model_fingerprint(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")


def _claimed(plan: Any, scope: Scope, delta: Fraction) -> tuple[PrivacyLoss, Certificate | None]:
    """What a finished fit spent, taken by itself, and the certificate that speaks for all of it.

    Where spending depended on released values the caps are the bound, not what was realised; the
    scope refused whatever would have passed them.
    """
    if plan.adaptive:
        return plan.loss, None
    if getattr(plan, "certificate", None) is None:
        return scope.loss, None
    record = scope.record()
    return claimed_loss(record, delta), sole_certificate(record)


def _check_accountant(accountant: Any) -> None:
    if isinstance(accountant, DetachedAccountant):
        accountant.refuse()
    ours = (type(None), BudgetAccountant, DiffprivlibCeiling)
    if not isinstance(accountant, ours) and not is_diffprivlib_accountant(accountant):
        raise ParameterTypeError(
            "accountant", type(accountant).__name__,
            "must be a BudgetAccountant, a diffprivlib.BudgetAccountant or None",
            "Open one with BudgetAccountant(epsilon=..., delta=...)",
        )  # fmt: skip


def _ceiling(run: FitRun) -> Ceiling | None:
    """What the accountant that others share promises in all; None where nobody does."""
    if not isinstance(run.accountant, BudgetAccountant):
        return None
    total = run.accountant.total.exact
    return Ceiling(epsilon=exact_text(total.epsilon), delta=exact_text(total.delta))
