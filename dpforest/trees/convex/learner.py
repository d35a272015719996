"""Training curves by one minimum: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge import Bridge
from dpforest.mechanisms.objective import Calibration
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.steps import in_score_steps
from dpforest.trees.convex.columns import CurveColumns
from dpforest.trees.convex.model import AdditiveModel
from dpforest.trees.convex.plan import ConvexShape, Role, build_plan
from dpforest.trees.convex.queries import CodedRecords, CurveLosses
from dpforest.trees.convex.settings import ConvexSettings
from dpforest.trees.prior import released_class_counts

#: Largest worth of a code, in log-odds: a share of 1 in 10^8 is as good as none.
_MOST = 20.0


@dataclass(frozen=True, slots=True)
class ConvexLearner:
    """Curves of all features at once: pure epsilon-DP whatever delta is.

    Parameters
    ----------
    settings : ConvexSettings
        The defaults are meant for all tables.
    """

    settings: ConvexSettings = field(default_factory=ConvexSettings)
    name: ClassVar[str] = "convex"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[ConvexShape]:
        """Make a plan that costs exactly epsilon, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(self, shape: ConvexShape, bridge: Bridge, facts: TableFacts) -> AdditiveModel:
        """Ask for what was planned, and make a model of it.

        Notes
        -----
        **Claim**: what is returned costs what the bridge's list costs, under add/remove of one
        record. **Proof**: every value comes over the bridge, and losses of records are functions
        of released values and the record itself: ``queries``, ``mechanisms.objective``. **Tests**:
        tests/trees/convex.
        """
        prior = released_class_counts(bridge, facts.unit)
        columns = CurveColumns.of(facts, shape.n_knots)
        made = [_curves(shape, bridge, facts, columns, prior, label) for label in shape.labels]
        base, values = zip(*made, strict=True)
        rows = facts.approximate_rows or float(prior.sum())
        return AdditiveModel(
            facts.n_classes, facts.offsets, np.array(base), np.column_stack(values),
            _even_sizes(facts, rows),
        )  # fmt: skip


def _curves(
    shape: ConvexShape,
    bridge: Bridge,
    facts: TableFacts,
    columns: CurveColumns,
    prior: NDArray[np.float64],
    label: int,
) -> tuple[float, NDArray[np.float64]]:
    """Base score of a class, and what every code is worth for it, as they are released."""
    event = bridge.event(Role.CURVES)
    assert isinstance(event, ObjectivePerturbation)
    calibration = Calibration.of(event, columns.widths)
    start = float(np.log(prior[label] / (prior.sum() - prior[label])))
    query = CodedRecords(facts.unit)
    losses = CurveLosses(query, columns, label, start, shape.clip, calibration)
    released = bridge.ask(query, Role.CURVES).minimised(Role.CURVES, losses)
    weights = np.clip(released * calibration.step, -_MOST, _MOST)
    return start + float(weights[-1]), in_score_steps(columns.of_codes(weights))


def _even_sizes(facts: TableFacts, rows: float) -> NDArray[np.float64]:
    """Records of each code, as nothing was counted: an even part of those that are declared."""
    firsts, declared = facts.offsets[:-1], np.ones(int(facts.offsets[-1]))
    unknown = np.array(facts.unknown or [-1] * facts.n_features)
    declared[(firsts + unknown)[unknown >= 0]] = 0.0
    return declared * np.repeat(max(rows, 0.0) / np.add.reduceat(declared, firsts), facts.n_codes)
