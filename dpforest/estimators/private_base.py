"""What the private forests for classes and for numbers share: plan, training, released model."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.certified import open_certified
from dpforest.accounting.detached import charged_to
from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.releases import Plan
from dpforest.accounting.scopes import Scope
from dpforest.checks import check_choice, check_n_jobs
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.explanation import Explanation, explain
from dpforest.estimators.plan_summary import PlanSummary, summarise
from dpforest.estimators.private_plan import PrivateForestPlan, check_rows, table_facts
from dpforest.estimators.private_training import make_plan, settle_plan, warn_if_hopeless
from dpforest.estimators.progress import PartProgress, PassProgress
from dpforest.estimators.released import ReleasedEstimator
from dpforest.estimators.run import FitRun
from dpforest.estimators.settings import check_delta, check_epsilon, check_verbose
from dpforest.exceptions import ModelFormatError, ParameterError, ParameterTypeError
from dpforest.mechanisms.entropy import RandomSource
from dpforest.plain.writing import Link, plain_model
from dpforest.records.base import Records
from dpforest.trees.base import LearnerPlan, ReleasedModel
from dpforest.trees.passes import n_passes
from dpforest.trees.strategies import LEARNERS, NOT_STREAMED
from dpforest.trees.training import train_on

_STRATEGIES = ("auto", *LEARNERS)


class PrivateForest(ReleasedEstimator):
    """Base of the private forests: parameters, plan, training.

    A subclass says what a released model means for its task (``_set_model``).
    """

    strategy_: str
    model_: ReleasedModel
    #: Whether ``fit`` takes nothing but what is read pass by pass.
    _by_passes = False

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any = 0,
        domain: Domain | None = None,
        strategy: str = "auto",
        max_records_per_unit: int = 1,
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
        self.max_records_per_unit = max_records_per_unit
        self.accountant = accountant
        self.invalid = invalid
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def plan(
        self,
        domain: Domain | None = None,
        approximate_rows: float | None = None,
        *,
        streamed: bool | None = None,
    ) -> PlanSummary:
        """What a fit would release, what each part costs, and what it can be expected to teach.

        Touches no data and spends nothing.

        Parameters
        ----------
        domain : Domain, optional
            Instead of the estimator's.
        approximate_rows : float, optional
            Instead of the domain's.
        streamed : bool, optional
            Whether records will be read pass by pass, which not every strategy can do: True for
            a stream. None asks the estimator: those on Dask always read so.
        """
        domain = domain if domain is not None else self.domain
        if not isinstance(domain, Domain):
            raise ParameterTypeError(
                "domain", None if domain is None else type(domain).__name__,
                "a plan needs the public facts",
                "Give a Domain, here or to the estimator",
            )  # fmt: skip
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        strategy = self._check_parameters(epsilon, delta)
        rows = domain.approximate_rows if approximate_rows is None else check_rows(approximate_rows)
        by_passes = self._by_passes if streamed is None else bool(streamed)
        if by_passes:
            self._check_streamable()
        facts = table_facts(self._encoder(domain), rows, not by_passes)
        place, size = charged_to(self.accountant), self._records_per_unit()
        plan = make_plan(strategy, facts, epsilon, delta, place, size)
        return summarise(plan, epsilon, delta)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the released model's effect that each feature carries; sum 1, or all 0."""
        check_is_fitted(self)
        return self.model_.feature_importances()

    def explain(self) -> Explanation:
        """What was learnt, feature by feature, from released values alone; costs nothing.

        Importances, and the mean prediction at every public cell of each feature. A record that
        meets a split of another feature goes both ways by the released sizes; rules are averaged
        over made-up records that are spread evenly over the domain. No record is touched.

        Returns
        -------
        Explanation
            With ``plot``.
        """
        check_is_fitted(self)
        facts = table_facts(self._encoder_, None)
        curves = {
            feature: self._curves(self.model_.partial_scores(feature, facts))
            for feature in range(facts.n_features)
        }
        return explain(self._encoder_, self.feature_importances_, curves)

    def to_plain(self, path: str | Path | None = None) -> str:
        """The released model as plain JSON, to be followed without dpforest or numpy.

        docs/plain_model.md has the format; :func:`dpforest.read_plain` and a reader in JavaScript
        follow it. It holds what predicts and nothing else: no guarantee, no ledger;
        :meth:`to_json` keeps those.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the text too.
        """
        check_is_fitted(self)
        return plain_model(self._encoder_, self.strategy_, self.model_, self._link(), path)

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

    def _check_streamable(self) -> None:
        if self.strategy in NOT_STREAMED:
            raise ParameterError(
                "strategy", self.strategy, "looks at all records at once, which a stream has not",
                'Use "auto", "one_shot", "refitted" or "multinomial"',
            )  # fmt: skip

    def _build_plan(self, run: FitRun, checked: str) -> PrivateForestPlan:
        facts = table_facts(run.encoder, run.domain.approximate_rows, not run.streamed)
        place, size = run.charged_to, run.records_per_unit
        plan = make_plan(checked, facts, run.epsilon, run.delta, place, size)
        warn_if_hopeless(plan, plan.signal, stacklevel=5)
        return plan

    def _train(self, run: FitRun, plan: PrivateForestPlan, scope: Scope, records: Records) -> None:
        # What is made of released numbers may underflow, and a setting of numpy's could end a fit.
        with records.threads(), np.errstate(all="ignore"):
            settled = settle_plan(plan, run, scope, records)
            run.settled = settled
            if settled.learner is None or settled.plan is None:
                raise AssertionError("a settled plan has a learner")
            records = self._prepare(settled, scope, records, run.source)
            with (
                _training_scope(settled, scope) as training,
                self._progress(run, settled.plan, records) as progress,
            ):
                model = train_on(
                    settled.learner, settled.plan, training, run.source, progress.over(records),
                    settled.facts, progress.part_done,
                )  # fmt: skip
        self._set_model(model, settled.strategy, run.domain)

    def _progress(
        self, run: FitRun, plan: LearnerPlan, records: Records
    ) -> PartProgress | PassProgress:
        """A bar over parts, or over passes where a pass is what takes time."""
        if run.streamed:
            return PassProgress(n_passes(plan, records.schema), self.verbose)
        return PartProgress(plan.n_steps, self.verbose)

    def _prepare(
        self, plan: PrivateForestPlan, scope: Scope, records: Records, source: RandomSource
    ) -> Records:
        """Records as the learner takes them; may buy what the plan has for that."""
        return records

    @abstractmethod
    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Predictions by what they are of, from class scores of shape (n, n_classes)."""

    @abstractmethod
    def _link(self) -> Link:
        """What scores of classes become, for the plain form."""

    @abstractmethod
    def _set_model(self, model: ReleasedModel, strategy: str, domain: Domain) -> None:
        """Take what was released."""

    def _released_to_data(self) -> Any:
        return {"strategy": self.strategy_, "model": self.model_.to_data()}

    def _released_from_data(self, data: Any, encoder: DomainEncoder) -> None:
        facts = table_facts(encoder, None)
        if data["strategy"] not in LEARNERS:
            raise ModelFormatError("the stored model is of no known strategy. Store it again.")
        model = LEARNERS[data["strategy"]].read(data["model"], facts)
        self._set_model(model, data["strategy"], encoder.domain)


def _training_scope(plan: PrivateForestPlan, scope: Scope) -> Scope:
    """Where the learner asks: its cost is set aside as a whole, and kept where training fails."""
    assert plan.plan is not None
    if isinstance(plan.plan, Plan):
        price = Price.of(plan.plan, plan.budget.records_per_unit)
        return open_list(scope, plan.strategy, plan.plan.rounds, price)
    if plan.certificate is not None:
        return open_certified(scope, plan.strategy, plan.certificate)
    return scope.sequential(plan.strategy, reserve=plan.plan.loss)
