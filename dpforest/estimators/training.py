"""The training of a fit: every request of its plan, under its charge, by one learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.scopes import Scope
from dpforest.domain.reading import counting_records
from dpforest.estimators.compiling import tell_of_compiling
from dpforest.estimators.door import Door
from dpforest.estimators.fit_plan import FitPlan
from dpforest.estimators.outcome import FitOutcome
from dpforest.estimators.planning import settle_plan
from dpforest.estimators.progress import PartProgress, PassProgress
from dpforest.estimators.target_range import prepared
from dpforest.records.base import Records
from dpforest.trees.base import ReleasedModel
from dpforest.trees.passes import n_passes
from dpforest.trees.strategies import HOLD_COUNTS
from dpforest.trees.training import train_on
from dpforest.trees.transcript import Transcript


class Training:
    """Training of one fit.

    Parameters
    ----------
    door : Door
    plan : FitPlan
    counted : int, optional
        Noisy number of records from which the rest is planned, where another fit bought it.

    Attributes
    ----------
    settled : FitPlan
        The plan that released values led to, where the one before waited for them.
    """

    def __init__(self, door: Door, plan: FitPlan, counted: int | None = None) -> None:
        self._door, self._counted = door, counted
        self.settled = plan

    def train(
        self, scope: Scope, records: Records, stays_charged: Callable[[Scope], bool]
    ) -> FitOutcome:
        """Make every request of the plan in ``scope``, and release.

        Parameters
        ----------
        scope : Scope
        records : Records
        stays_charged : callable
            Says of the scope if an error that ends the training leaves the fit charged.
        """
        door = self._door
        charged = partial(stays_charged, scope)
        with counting_records(charged), records.threads():
            self.settled = settle_plan(
                self.settled, door.source, scope, records, door.search, self._counted
            )
            self._tell_of_compiling()
            records, steps = prepared(self.settled, scope, records, door.source)
            with self._progress(records) as progress:
                model, transcript = self._learn(scope, progress.over(records), progress)
        return FitOutcome(self.settled.strategy, model, steps, transcript)

    def _tell_of_compiling(self) -> None:
        """Say that it takes a while, where code is to be compiled."""
        tell_of_compiling(self.settled.strategy)

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
                settled.learner, settled.plan, training, self._door.source, records,
                settled.facts, progress.part_done, transcript,
            )  # fmt: skip
        return model, transcript

    def _progress(self, records: Records) -> PartProgress | PassProgress:
        """Progress bar over parts, or over passes of a stream."""
        plan, verbose = self.settled.plan, self._door.given.verbose
        assert plan is not None
        if self._door.streamed:
            return PassProgress(n_passes(plan, records.schema), verbose)
        return PartProgress(plan.n_steps, verbose)


def training_scope(plan: FitPlan, scope: Scope) -> Scope:
    """Scope in which the learner asks: its cost is set aside as a whole, also if training fails."""
    assert plan.plan is not None
    price = Price.of(plan.plan, plan.budget.records_per_unit)
    return open_list(scope, plan.strategy, plan.plan.rounds, price)
