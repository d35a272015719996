"""PrivateForestClassifier: the forest to use, which picks its plan from public quantities."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.scopes import Scope
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.matrix import EncodedTable
from dpforest.domain.schema import Domain
from dpforest.exceptions import (
    ModelFormatError,
    ParameterError,
    ParameterTypeError,
    WeakSignalWarning,
)
from dpforest.forest.base import FitRun
from dpforest.forest.classifier import PrivateClassifier, class_array, class_order
from dpforest.forest.private_plan import (
    COUNT_ROLE,
    HOPELESS_SIGNAL,
    PlanSummary,
    PrivateForestPlan,
    check_rows,
    count_event,
    forecast,
    summarise,
    table_facts,
)
from dpforest.forest.progress import PartProgress
from dpforest.forest.settings import (
    check_choice,
    check_delta,
    check_epsilon,
    check_n_jobs,
    check_verbose,
)
from dpforest.learners.base import LearnerBudget, ReleasedModel, TableFacts
from dpforest.learners.registry import LEARNERS, pick_strategy
from dpforest.mechanisms.noise import add_geometric_noise
from dpforest.trees.counting import MemoryRecords, RecordCount, Records
from dpforest.trees.private_tree import geometric_variance
from dpforest.trees.records import TrainingTable

_STRATEGIES = ("auto", *LEARNERS)


class PrivateForestClassifier(PrivateClassifier):
    """Private classifier that is good without tuning.

    From epsilon, delta, the domain and a number of records that is declared or bought, it picks
    what to learn: selected decision rules where the budget is small for the table, a one-shot
    forest of public random trees with noisy leaves (pure epsilon), or a forest refitted to its
    residuals round by round (with a delta). The plan can be read before any data is touched:
    :meth:`plan`.

    Parameters
    ----------
    epsilon : float, int, str, Decimal or Fraction
        Total budget of one fit under add/remove of one record. No default.
    delta : float, default=0
        With a positive delta the guarantee is (epsilon, delta), which buys much more accuracy
        from a few thousand records on. Choose it well below one over the number of records.
    domain : Domain or None
        Public facts; None reads them off the data, which voids the guarantee. Its
        ``approximate_rows`` spares buying a noisy number of records.
    strategy : {"auto", "rules", "one_shot", "refitted", "multinomial"}, default="auto"
        ``auto`` picks by the public rule R (docs/private_forest.md).
    accountant : BudgetAccountant, diffprivlib.BudgetAccountant or None
        Ceiling that this fit is charged to.
    invalid : {"drop", "raise"}, default="drop"
        What happens to records that no rule of the domain covers.
    random_state : int, RandomState, Generator or None
        None draws from the operating system. Anything else marks the guarantee.
    n_jobs : int or None, default=None
        Threads, where the strategy uses them. The model does not depend on it.
    verbose : int, default=0
        1 shows a bar over the parts of the plan.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    strategy_ : str
        What was learnt.
    feature_importances_ : ndarray of float64, shape (n_features,)
        From released values.
    accountant_, spent_, guarantee_
        As in :class:`MultinomialForestClassifier`.

    Examples
    --------
    >>> from dpforest import Domain, PrivateForestClassifier
    >>> features = {"age": (0, 120), "smoker": ["no", "yes"]}
    >>> domain = Domain(features=features, classes=["ill", "well"], approximate_rows=4)
    >>> PrivateForestClassifier(epsilon=1.0, domain=domain).plan().teachable
    False
    """

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any = 0,
        domain: Domain | None = None,
        strategy: str = "auto",
        accountant: Any = None,
        invalid: str = "drop",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.strategy = strategy
        self.accountant = accountant
        self.invalid = invalid
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> PrivateForestClassifier:
        """Train under the budget; see :meth:`MultinomialForestClassifier.fit` for the errors.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        y : array-like of shape (n,)
        """
        self._fit(X, y)
        return self

    def plan(
        self, domain: Domain | None = None, approximate_rows: float | None = None
    ) -> PlanSummary:
        """What a fit would release, what each part costs, and what it can be expected to teach.

        Touches no data and spends nothing.

        Parameters
        ----------
        domain : Domain, optional
            Instead of the estimator's.
        approximate_rows : float, optional
            Instead of the domain's.
        """
        domain = domain if domain is not None else self.domain
        if not isinstance(domain, Domain):
            raise ParameterTypeError(
                "domain", type(domain).__name__, "a plan needs the public facts",
                "Give a Domain with classes",
            )  # fmt: skip
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        strategy = self._check_parameters(epsilon, delta)
        rows = domain.approximate_rows if approximate_rows is None else check_rows(approximate_rows)
        facts = table_facts(self._encoder(domain), rows)
        return summarise(make_plan(strategy, facts, epsilon, delta), epsilon, delta)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the released model's effect that each feature carries; sum 1, or all 0."""
        check_is_fitted(self)
        return self.model_.feature_importances()

    # -- what the base class asks for -----------------------------------------------------

    def _check_parameters(self, epsilon: Fraction, delta: Fraction) -> str:
        check_choice(self.invalid, "invalid", ("drop", "raise"))
        check_verbose(self.verbose)
        check_n_jobs(self.n_jobs)
        strategy = check_choice(self.strategy, "strategy", _STRATEGIES)
        if strategy == "refitted" and not delta:
            raise ParameterError(
                "strategy", strategy, "needs delta > 0", 'Give a delta, or use "one_shot"'
            )
        return strategy

    def _build_plan(self, run: FitRun, checked: str) -> PrivateForestPlan:
        facts = table_facts(run.encoder, run.domain.approximate_rows)
        plan = make_plan(checked, facts, run.epsilon, run.delta)
        warn_if_hopeless(plan.signal, stacklevel=5)
        return plan

    def _train(
        self, run: FitRun, plan: PrivateForestPlan, scope: Scope, table: EncodedTable
    ) -> None:
        records = MemoryRecords(TrainingTable.of(table), check_n_jobs(self.n_jobs))
        settled = settle_plan(plan, run, scope, records)
        run.settled = settled
        if settled.learner is None or settled.plan is None:
            raise AssertionError("a settled plan has a learner")
        # Set aside as a whole: a training that fails inside keeps all of it spent.
        with (
            scope.sequential(settled.strategy, reserve=settled.plan.loss) as training,
            PartProgress(len(settled.plan.parts), self.verbose) as progress,
            records.threads(),
        ):
            model = settled.learner.train(
                settled.plan, training, run.source, records, settled.facts, progress.part_done
            )
        self._set_model(model, settled.strategy, run.domain)

    def _set_model(self, model: ReleasedModel, strategy: str, domain: Domain) -> None:
        labels = class_array(domain)
        self._order = class_order(labels)
        self.classes_ = labels[self._order]
        self.model_ = model
        self.strategy_ = strategy

    def _probabilities(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        scores = self.model_.log_odds(codes)[:, self._order]
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def _released_to_data(self) -> Any:
        return {"strategy": self.strategy_, "model": self.model_.to_data()}

    def _released_from_data(self, data: Any, encoder: DomainEncoder) -> None:
        facts = table_facts(encoder, None)
        if data["strategy"] not in LEARNERS:
            raise ModelFormatError("the stored model is of no known strategy. Store it again.")
        model = LEARNERS[data["strategy"]].read(data["model"], facts)
        self._set_model(model, data["strategy"], encoder.domain)


def make_plan(
    strategy: str, facts: TableFacts, epsilon: Fraction, delta: Fraction
) -> PrivateForestPlan:
    """The plan of a fit; it waits for a noisy count where no number of rows is declared."""
    budget = LearnerBudget(epsilon, delta)
    if facts.approximate_rows is None:
        count = count_event(budget)
        caps = PrivacyLoss(epsilon, float("inf"), delta) if delta else PrivacyLoss.pure(epsilon)
        return PrivateForestPlan(strategy, None, None, count, caps, None, facts, budget)
    return planned(strategy, facts, budget)


def settle_plan(
    plan: PrivateForestPlan, run: FitRun, scope: Scope, records: Records
) -> PrivateForestPlan:
    """Buy the noisy number of records where the plan waits for one, and plan the rest from it."""
    if plan.count is None:
        return plan
    grant = scope.request(plan.count, role=COUNT_ROLE)
    noisy = add_geometric_noise(records.total(RecordCount()), grant, run.source.spawn(COUNT_ROLE))
    facts = replace(plan.facts, approximate_rows=cautious_rows(int(noisy[0]), plan.count))
    rest = remaining_budget(run.epsilon, run.delta, plan.count)
    settled = planned(plan.strategy, facts, rest, plan.count)
    warn_if_hopeless(settled.signal, stacklevel=6)
    return settled


def planned(
    strategy: str, facts: TableFacts, budget: LearnerBudget, count: GeometricNoise | None = None
) -> PrivateForestPlan:
    """The plan where a number of records is known: declared, or bought by ``count``."""
    chosen = pick_strategy(facts, budget) if strategy == "auto" else strategy
    # Rules are drawn at the pure epsilon, so with a delta too that is what they can learn from.
    own = LearnerBudget(budget.epsilon, Fraction(0)) if chosen == "rules" else budget
    signal = own.signal(facts.approximate_rows or 1.0)
    learner = LEARNERS[chosen].make()
    plan = learner.plan(facts, budget)
    loss = plan.loss if count is None else plan.loss + count.loss
    return PrivateForestPlan(chosen, learner, plan, count, loss, signal, facts, budget)


def cautious_rows(noisy: int, count: GeometricNoise) -> float:
    """A released number of records less the standard deviation of its noise, at least 1.

    Taking too many records for granted makes a small table worse than its class shares; taking
    too few costs a large one nothing.
    """
    return max(noisy - geometric_variance(Fraction(count.epsilon)) ** 0.5, 1.0)


def remaining_budget(epsilon: Fraction, delta: Fraction, count: GeometricNoise) -> LearnerBudget:
    """What is left for the learner after the noisy count, in either currency."""
    whole = LearnerBudget(epsilon, delta)
    left = whole.rho - Fraction(count.loss.rho) if delta else None
    return LearnerBudget(epsilon - Fraction(count.loss.epsilon), delta, left)


def warn_if_hopeless(signal: float | None, stacklevel: int) -> None:
    """Warn where the budget can hardly teach anything; from a declared or released number."""
    if signal is not None and signal < HOPELESS_SIGNAL:
        warnings.warn(forecast(signal), WeakSignalWarning, stacklevel=stacklevel)
