"""Training an additive model: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge.bridge import Bridge
from dpforest.checks import check_share
from dpforest.trees.additive.model import AdditiveModel
from dpforest.trees.additive.plan import build_plan
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.curves.choice import planned_curves
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.scored.confidence import scale_of_scores
from dpforest.trees.scored.score_steps import in_score_steps


@dataclass(frozen=True, slots=True)
class AdditiveForest:
    """A curve for each feature, whose values are added up.

    Parameters
    ----------
    in_turn : InTurnSettings
        Of curves that features take turns for. The defaults are meant for all tables.
    at_once : AtOnceSettings or None
        Of curves of all features at once, in pure epsilon; without them all are in turn.
    confidence_share : Fraction
        Of the whole: for a look at how sure scores may be, where that says something, of more than
        two classes.

    Raises
    ------
    ParameterError
    """

    in_turn: InTurnSettings = field(default_factory=InTurnSettings)
    at_once: AtOnceSettings | None = field(default_factory=AtOnceSettings)
    confidence_share: Fraction = Fraction(2, 100)
    name: ClassVar[str] = "additive"

    def __post_init__(self) -> None:
        """Check what plans take for granted."""
        check_share(self.confidence_share, "confidence_share")

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[PlannedCurves]:
        """Make a plan that costs at most the budget, from public facts alone."""
        curves = planned_curves(facts, budget, self.in_turn, self.at_once)
        return build_plan(facts, budget, curves, self.confidence_share)

    def train(self, shape: PlannedCurves, bridge: Bridge, facts: TableFacts) -> AdditiveModel:
        """Ask for what was planned, and make a model of it.

        Notes
        -----
        **Claim**: what is returned costs what the bridge's list costs, under add/remove of one
        record. **Proof**: every value comes over the bridge; scores and losses of records are
        functions of released values and the record itself, so what one record tells changes no
        other's. Sensitivities: ``trees.curves``, ``mechanisms.objective``. **Tests**:
        tests/trees/additive, tests/trees/curves.
        """
        curves = shape.learnt(bridge, facts)
        times = scale_of_scores(bridge, curves.history, facts)
        return AdditiveModel(
            facts.n_classes, facts.offsets, times * curves.base,
            in_score_steps(times * curves.code_values), curves.sizes,
        )  # fmt: skip
