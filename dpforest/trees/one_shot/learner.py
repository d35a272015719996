"""Training a one-shot forest: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge.bridge import Bridge
from dpforest.records.counts import ClassCounts, TargetSpans
from dpforest.trees.base import TableFacts
from dpforest.trees.one_shot.calibration import (
    SPREAD,
    Calibration,
    histogram_calibration,
    pair_calibration,
    target_spread,
    uncalibrated,
)
from dpforest.trees.one_shot.leaf_scores import LeafScores, prior_shares, score_leaves
from dpforest.trees.one_shot.model import OneShotModel
from dpforest.trees.one_shot.plan import OneShotShape, Role, build_plan
from dpforest.trees.one_shot.queries import (
    N_MEDIAN_CELLS,
    LeafScoring,
    LeafTables,
    MedianRank,
)
from dpforest.trees.one_shot.settings import OneShotSettings
from dpforest.trees.one_shot.structures import draw_structures, live_leaves
from dpforest.trees.random.bins import asked_bins
from dpforest.trees.random.trees import RandomTrees, mask_words


@dataclass(frozen=True, slots=True)
class OneShotForest:
    """Public random trees whose leaves are all counted and released at once.

    Parameters
    ----------
    settings : OneShotSettings
        The defaults are meant for all tables.
    """

    settings: OneShotSettings = field(default_factory=OneShotSettings)
    name: ClassVar[str] = "one_shot"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[OneShotShape]:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(self, shape: OneShotShape, bridge: Bridge, facts: TableFacts) -> OneShotModel:
        """Ask for what was planned, and make a model of it.

        Notes
        -----
        **Claim**: what is returned costs what the bridge's list costs, under add/remove of one
        record. **Proof**: bins, leaf tables and calibration come over the bridge; structures are
        public; the rest is post-processing. Sensitivities: ``queries``, ``records.base``.
        **Tests**: tests/trees/one_shot.
        """
        if bridge.has(Role.MEDIAN):
            return mean_alone(facts, _median_shares(bridge))
        prior, variance = _released_prior(bridge, facts.unit)
        if not bridge.has(Role.LEAVES):
            assert prior is not None
            return mean_alone(facts, prior_shares(prior, variance, even=False))
        bins = asked_bins(bridge, facts, shape.settings.max_bins)
        trees = draw_structures(shape.size, bins, facts, bridge.public("structure"))
        leaves = _released_leaves(shape, bridge, facts, trees, prior, variance)
        return assemble(facts, trees, leaves, _calibrated(shape, bridge, facts, trees, leaves))


def _median_shares(bridge: Bridge) -> NDArray[np.float64]:
    """Shares of the bounds in about the median of the targets.

    Noise on a mean is in units of the targets' bounds, and targets often spread over a small part
    of those. A median is drawn by ranks, so what it is off by goes by the targets' own spread.
    """
    cells = bridge.ask(TargetSpans.equal(N_MEDIAN_CELLS), Role.MEDIAN)
    share = (int(cells.chosen(Role.MEDIAN, MedianRank())[0]) + 0.5) / N_MEDIAN_CELLS
    return np.array([1.0 - share, share])


def _released_prior(bridge: Bridge, unit: int) -> tuple[NDArray[np.float64] | None, float]:
    """Class counts, shape (K,), and the variance of their noise; None where none are bought."""
    if not bridge.has(Role.PRIOR):
        return None, 0.0
    counts = bridge.ask(ClassCounts(unit), Role.PRIOR).noised(Role.PRIOR)
    return counts / unit, bridge.event(Role.PRIOR).variance / unit**2


def _released_leaves(
    shape: OneShotShape,
    bridge: Bridge,
    facts: TableFacts,
    trees: RandomTrees,
    prior: NDArray[np.float64] | None,
    prior_variance: float,
) -> LeafScores:
    """Scores of all leaves of all trees, from their class counts."""
    unit, settings = facts.unit, shape.settings
    tables = bridge.ask(LeafTables(trees, unit), Role.LEAVES).noised(Role.LEAVES)
    return score_leaves(
        tables.reshape(trees.n_trees, trees.n_leaves, -1) / unit,
        live_leaves(trees),
        bridge.event(Role.LEAVES).variance / unit**2,
        settings.strength,
        prior,
        prior_variance,
        None if unit == 1 else settings.target_spread,
    )


def _calibrated(
    shape: OneShotShape, bridge: Bridge, facts: TableFacts, trees: RandomTrees, leaves: LeafScores
) -> Calibration:
    """Worth of the summed scores: as expected, or by a second look at the records."""
    signal, spread = leaves.size * shape.signal_per_row, SPREAD
    if facts.is_regression:
        signal = shape.settings.target_signal(signal, float(leaves.prior[1]))
        spread = target_spread(signal / shape.settings.full_signal)
    slope = shape.settings.slope(signal)
    if not bridge.has(Role.CALIBRATION):
        tempering = shape.settings.tempering(slope, shape.n_classes)
        return uncalibrated(leaves, slope, tempering)
    scoring = LeafScoring(trees, _leaf_values(leaves, leaves.scale))
    if shape.n_classes == 2:
        return histogram_calibration(bridge, leaves, scoring, slope, facts.unit, spread)
    return pair_calibration(bridge, leaves, scoring, shape.log_bound)


def assemble(
    facts: TableFacts, trees: RandomTrees, leaves: LeafScores, calibration: Calibration
) -> OneShotModel:
    """Put the calibrated scale into the leaves' values."""
    values = _leaf_values(leaves, calibration.slope * leaves.scale)
    base = calibration.base
    if facts.n_classes == 2:
        base = base[1:] - base[:1]
    return OneShotModel(facts.n_classes, facts.n_features, base, trees, values, leaves.masses)


def mean_alone(facts: TableFacts, shares: NDArray[np.float64]) -> OneShotModel:
    """A model of released shares only: one tree that no node splits."""
    mask = np.full((1, 1, mask_words(facts)), ~np.uint64(0))
    trees = RandomTrees(1, np.zeros((1, 1), dtype=np.int32), mask)
    base = np.log(shares[1:]) - np.log(shares[:1])
    masses = np.array([[1.0, 0.0]])
    return OneShotModel(2, facts.n_features, base, trees, np.zeros((1, 2, 1)), masses)


def _leaf_values(leaves: LeafScores, factor: float) -> NDArray[np.float64]:
    """Log-odds of class 1 for two classes, else a score a class, shape (T, L, C)."""
    scores = leaves.scores
    if scores.shape[2] == 2:
        scores = scores[:, :, 1:] - scores[:, :, :1]
    return np.ascontiguousarray(factor * scores)
