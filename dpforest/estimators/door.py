"""The door of a fit: it refuses and notes what can be told without a look at any value."""

from __future__ import annotations

import copy
from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.diffprivlib_adapter import DiffprivlibCeiling, is_diffprivlib_accountant
from dpforest.accounting.fits import DetachedAccountant, charged_to
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.labels import read_labels
from dpforest.domain.opening import is_named
from dpforest.estimators.fit_plan import FitPlan, FitRequest
from dpforest.estimators.names import features_in, warn_of_label_type, warn_of_positions
from dpforest.estimators.parameters import storable
from dpforest.estimators.pipelines import surroundings
from dpforest.estimators.planning import (
    plan_of,
    warn_if_hopeless,
    warn_of_large_delta,
    warn_of_large_epsilon,
)
from dpforest.estimators.scorers import refuse_scores_of_classes, refuse_unscorable
from dpforest.estimators.thresholds import refuse_idle_threshold
from dpforest.estimators.wasted import refuse_wasted
from dpforest.exceptions import (
    Described,
    ParameterError,
    ParameterTypeError,
    PrivacyLeakWarning,
    kind_of,
)
from dpforest.ledger.ceilings import LedgerCeiling
from dpforest.mechanisms.entropy import RandomSource, make_source
from dpforest.records.base import Records
from dpforest.records.streams.base import Source
from dpforest.records.streams.passes import RecordsInPasses
from dpforest.searches import running_search, warn_in_search


class Door:
    """Everything that a fit is asked to do, as it stands before any value is read.

    Order: parameters, domain, width and dtypes. Whatever can be refused is refused here, without a
    look at any value; but where no domain is declared it is read off the data.

    Parameters
    ----------
    estimator : PrivateEstimator
    X, y
        As they were given to ``fit``.
    done : bool
        Whether the fit is made again from a report.
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
    #: Token of the search that the fit is part of.
    search: str | None
    #: Attributes on columns and their names.
    features: dict[str, Any]

    def __init__(self, estimator: Any, X: Any, y: Any, done: bool) -> None:
        self.search = running_search(estimator.__dict__.pop("_search", None))
        # In one step, so that plan, charge, guarantee and report are all of the same parameters.
        self.given = copy.copy(estimator)
        self.wanted = self.given._wanted(done=done)
        self._keep_parameters()
        self.source = make_source(self.given.random_state)
        self.ceiling = self.given.accountant
        _check_accountant(self.ceiling)
        if isinstance(self.ceiling, LedgerCeiling):
            self.ceiling.check(self.given.domain, self.wanted.budget)
        self.charged_to = charged_to(self.ceiling)
        self._resolve_domain(X, y)
        if self.given.domain is not None:
            self._refuse_by_domain(X)
        around = surroundings(estimator)
        self._leak_around(around.unpaid)
        self.around = around.cautions
        self.encoder = self.given._encoder(self.domain)
        # Here, since an object of somebody else's is asked for names.
        self.features = features_in(self.domain, by_name=self._check_records(X, y))

    def plan(self) -> FitPlan:
        """Plan the fit, and warn of a budget that teaches or promises little."""
        rows, in_memory = self.domain.approximate_rows, not self.streamed
        plan = plan_of(self.wanted, self.encoder, rows, self.charged_to, in_memory)
        warn_if_hopeless(plan, plan.signal, 5, self.search)
        warn_of_large_epsilon(self.wanted.budget.unit_epsilon, 5, self.search)
        warn_of_large_delta(self.wanted.budget.delta, rows, 5, self.search)
        return plan

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

    def tell_of_positions(self, records: Records) -> None:
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
        if isinstance(X, Source):
            raise ParameterError(
                "domain", None, "a stream needs declared public facts", self._domain_repair()
            )
        if y is None:
            read_labels(y, type(self.given).__name__)  # refuses in scikit-learn's words
        self.domain = Domain.draft(X, y, task=self.given._task).without_marks()
        read = "bounds, categories and classes" if self._classifies else "bounds and categories"
        return f"no domain was declared, so {read} were read from the data"

    @property
    def _classifies(self) -> bool:
        return bool(self.given._task == "classification")

    def _domain_repair(self) -> str:
        what = "classes=..." if self._classifies else "target=(lower, upper)"
        return f"Build one with Domain(features=..., {what}) or Domain.from_json(path)"

    def _refuse_by_domain(self, X: Any) -> None:
        """Refuse what a declared domain says of before any value is read."""
        refuse_wasted(self.domain, X)
        if self._classifies and self.domain.classes is not None:
            refuse_unscorable(self.domain.classes.labels)
            refuse_idle_threshold(self.domain.classes.labels)
        elif not self._classifies:
            refuse_scores_of_classes()

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
