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
        base, values, rows = fitted_curves(shape, bridge, facts)
        sizes = _even_sizes(facts, rows)
        return AdditiveModel(facts.n_classes, facts.offsets, base, values, sizes)


def fitted_curves(
    shape: ConvexShape, bridge: Bridge, facts: TableFacts
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Ask for the prior and for all curves.

    Returns
    -------
    base : ndarray of float64, shape (C,)
    values : ndarray of float64, shape (total codes, C)
        What every code is worth.
    rows : float
        Records, as declared, bought or released.
    """
    prior = released_class_counts(bridge, facts.unit)
    event, columns = bridge.event(Role.CURVES), shape.columns(facts)
    assert isinstance(event, ObjectivePerturbation)
    calibration, query = Calibration.of(event, columns.widths), CodedRecords(facts.unit)
    starts = np.log(prior / (prior.sum() - prior))
    losses = (
        CurveLosses(query, columns, label, float(starts[label]), shape.clip, calibration)
        for label in shape.labels
    )
    made = [_curves(one, bridge, facts) for one in losses]
    base, values = zip(*made, strict=True)
    rows = facts.approximate_rows or float(prior.sum())
    return np.array(base), np.column_stack(values), rows


def _curves(
    losses: CurveLosses, bridge: Bridge, facts: TableFacts
) -> tuple[float, NDArray[np.float64]]:
    """Base score of a class, and what every code is worth for it, as they are released."""
    released = bridge.ask(losses.query, Role.CURVES).minimised(Role.CURVES, losses)
    weights = np.asarray(released * losses.calibration.step, dtype=np.float64)
    values = losses.columns.of_codes(weights)
    # What all codes of a feature share is the constant's: noise moves it from one to the other.
    means = np.add.reduceat(values, facts.offsets[:-1]) / facts.n_codes
    values = np.clip(values - np.repeat(means, facts.n_codes), -_MOST, _MOST)
    return losses.start + float(weights[-1] + means.sum()), in_score_steps(values)


def _even_sizes(facts: TableFacts, rows: float) -> NDArray[np.float64]:
    """Records of each code, as nothing was counted: an even part of those that are declared."""
    firsts, declared = facts.offsets[:-1], np.ones(int(facts.offsets[-1]))
    unknown = np.array(facts.unknown or [-1] * facts.n_features)
    declared[(firsts + unknown)[unknown >= 0]] = 0.0
    return declared * np.repeat(max(rows, 0.0) / np.add.reduceat(declared, firsts), facts.n_codes)
