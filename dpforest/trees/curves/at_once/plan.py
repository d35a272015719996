"""The plan of curves at once: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.releases import LearnerBudget, Release, Round, once
from dpforest.bridge.bridge import Bridge
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.objective import Calibration
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.queries import CurveLosses
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.at_once.sizes import AtOnceSizes, Role
from dpforest.trees.curves.at_once.training import learnt_at_once
from dpforest.trees.curves.base import LearntCurves
from dpforest.trees.prior import prior_round

#: Columns of one minimum, at most: each step solves for all at once, which takes their square of
#: memory and their cube of time.
MOST_COLUMNS = 4000
#: A ridge that is smaller than this makes holds nothing back: where there is little noise, curves
#: would follow single records.
_MOST_FOR_DETERMINANT = Fraction(3, 4)


@dataclass(frozen=True, slots=True)
class CurvesAtOnce(AtOnceSizes):
    """Curves of all features, of two classes or a regression, by one noisy minimum."""

    at_once: ClassVar[bool] = True

    @classmethod
    def of(cls, facts: TableFacts, budget: LearnerBudget, settings: AtOnceSettings) -> Self:
        """Sizes by the public signal of a pure budget, which the curves have for themselves.

        Parameters
        ----------
        facts : TableFacts
            Without ``approximate_rows`` curves are straight lines.
        budget : LearnerBudget
        settings : AtOnceSettings
        """
        signal, of_means = facts.signal(budget), facts.is_regression
        level = signal / facts.n_features
        return cls(
            settings.n_knots(level, facts.n_features, of_means), settings.clip_at(level, of_means),
            settings.prior(signal, of_means), settings.determinant(level, of_means),
        )  # fmt: skip

    def is_solvable(self, facts: TableFacts, total: Fraction) -> bool:
        """True if a total of epsilon buys a minimum that can be found.

        Asked for before anything is charged: the total may be what a bought number of records left.
        """
        if self.columns(facts).n_columns > MOST_COLUMNS:
            return False
        try:
            self._event(facts, total)
        except ParameterError:
            return False
        return True

    def rounds(
        self, facts: TableFacts, budget: LearnerBudget, total: Fraction, owner: str
    ) -> tuple[Round, ...]:
        """Ask for the prior and the minimum, as `PlannedCurves.rounds` says; the budget is pure.

        Raises
        ------
        ParameterError
            Where the total buys no minimum that doubles can find, which `is_solvable` tells of.
        """
        event, prior = self._event(facts, total), self.prior_share * total
        release = Release(Role.CURVES, event, says="the curves of all features at once")
        return prior_round(owner, facts.unit, prior, True), once(owner, release)

    def _event(self, facts: TableFacts, total: Fraction) -> ObjectivePerturbation:
        """The minimum that is left of a total once the prior is paid; refused as it would be."""
        curves = total - self.prior_share * total
        determinant = min(self.determinant_share * curves, _MOST_FOR_DETERMINANT)
        blocks = Fraction(facts.n_features + 1)
        event = ObjectivePerturbation(curves, determinant, self.clip, CurveLosses.curvature, blocks)
        Calibration.of(event, self.columns(facts).widths)
        return event

    def learnt(self, bridge: Bridge, facts: TableFacts) -> LearntCurves:
        """Ask for what `rounds` lists, and make curves of the answers."""
        return learnt_at_once(self, bridge, facts)

    def words(self, facts: TableFacts, budget: LearnerBudget) -> dict[str, str]:
        """Words of a plan that has nothing but curves, for the report."""
        lines = "a straight line" if self.n_knots == 2 else f"lines between {self.n_knots} knots"
        steps = "a step for each category"
        return {
            "rounds": "one minimum of a clipped log loss, a ridge and a noisy linear term",
            "structure": "no trees: a sum of curves of single features",
            "curves": f"{lines} over the public cells of an ordered feature, {steps}",
            "columns": str(self.columns(facts).n_columns),
            "noise": "drawn exactly by the largest L1 of a feature's columns (K-norm)",
            "budget shares add up in": "epsilon",
            "composed by": "addition in epsilon",
        }

    def phrase(self) -> str:
        """The curves in half a sentence, for the plan of a forest that begins with them."""
        return f"curves of all features at once, of at most {self.n_knots} knots"
