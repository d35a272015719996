"""Training a one-shot forest: two or three releases, each requested before its data is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.grants import Grant
from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Block, ClassCounts, Records
from dpforest.trees.base import LearnerBudget, PartDone, TableFacts
from dpforest.trees.one_shot.calibration import (
    SPREAD,
    Calibration,
    LeafScoring,
    release_histogram_calibration,
    release_pair_calibration,
    target_spread,
    uncalibrated,
)
from dpforest.trees.one_shot.kernels.leaf_tables import add_leaf_tables, add_target_tables
from dpforest.trees.one_shot.leaf_scores import LeafScores, prior_shares, score_leaves
from dpforest.trees.one_shot.middle import release_middle
from dpforest.trees.one_shot.model import OneShotModel
from dpforest.trees.one_shot.noise import add_count_noise, noise_variance
from dpforest.trees.one_shot.plan import OneShotPlan, Role, build_plan, cells_of
from dpforest.trees.one_shot.settings import OneShotSettings
from dpforest.trees.one_shot.structures import draw_structures, live_leaves
from dpforest.trees.random.bins import public_bins, release_quantiles
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

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> OneShotPlan:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(
        self,
        plan: OneShotPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> OneShotModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release.

        Notes
        -----
        **Claim**: what is returned costs ``plan.loss`` under add/remove of one record.
        **Proof**: bins, leaf tables and calibration come from mechanisms under grants;
        structures are public; the rest is post-processing. Sensitivities: ``quantiles``,
        `release_tables`, ``calibration``, ``middle``. **Tests**: tests/trees/one_shot.
        """
        if plan.middle is not None:
            grant = scope.request(plan.middle, role=Role.MIDDLE)
            share = release_middle(records, grant, source.spawn("middle"))
            part_done()
            return mean_alone(facts, np.array([1.0 - share, share]))
        prior, prior_variance = None, 0.0
        if plan.prior is not None:
            grant = scope.request(plan.prior, role=Role.PRIOR)
            prior = release_prior(records, grant, source.spawn("class prior")) / facts.unit
            prior_variance = noise_variance(plan.prior, facts.unit)
            part_done()
        if plan.leaves is None:
            assert prior is not None
            return mean_alone(facts, prior_shares(prior, prior_variance, even=False))
        bins = public_bins(facts, plan.settings.max_bins)
        if plan.quantiles is not None:
            grant = scope.request(plan.quantiles, role=Role.QUANTILES)
            words = source.spawn("quantiles")
            bins = release_quantiles(records, facts, grant, words, plan.settings.max_bins)
            part_done()
        trees = draw_structures(plan.size, bins, facts, source.spawn("structure"))
        grant = scope.request(plan.leaves, role=Role.LEAVES, cells=cells_of(plan, Role.LEAVES))
        tables = release_tables(records, trees, grant, source.spawn("leaf tables"))
        live = live_leaves(trees)
        leaves = score_leaves(
            tables / facts.unit,
            live,
            noise_variance(plan.leaves, facts.unit),
            plan.settings.strength,
            prior,
            prior_variance,
            None if facts.unit == 1 else plan.settings.target_spread,
        )
        part_done()
        signal, spread = leaves.size * plan.signal_per_row, SPREAD
        if facts.unit > 1:
            signal = plan.settings.target_signal(signal, float(leaves.prior[1]))
            spread = target_spread(signal / plan.settings.full_signal)
        slope = plan.settings.slope(signal)
        calibration = uncalibrated(leaves, slope)
        if plan.calibration is not None:
            cells = cells_of(plan, Role.CALIBRATION)
            grant = scope.request(plan.calibration, role=Role.CALIBRATION, cells=cells)
            words = source.spawn("calibration")
            calibration = release_calibration(
                records, trees, leaves, slope, plan, facts.unit, grant, words, spread
            )
            part_done()
        return assemble(facts, trees, leaves, calibration)


@dataclass(frozen=True, slots=True, eq=False)
class LeafTables:
    """Class counts of all leaves of all trees, shape (T, L, K)."""

    trees: RandomTrees

    def count(self, block: Block) -> NDArray[np.int64]:
        """Class counts of a block."""
        trees, table = self.trees, block.table
        counts = np.zeros((trees.n_trees, trees.n_leaves, table.n_classes), dtype=np.int64)
        shape = trees.feature, trees.mask, trees.depth
        if table.targets is None:
            add_leaf_tables(table.codes, table.labels, *shape, counts)
        else:
            add_target_tables(table.codes, table.targets, table.unit, *shape, counts)
        return counts


def release_prior(records: Records, grant: Grant, source: RandomSource) -> NDArray[np.int64]:
    """Release class counts, shape (K,): a record adds 1 to one of them, or u in all."""
    return add_count_noise(records.total(ClassCounts()), grant, source)


def release_tables(
    records: Records, trees: RandomTrees, grant: Grant, source: RandomSource
) -> NDArray[np.int64]:
    """Release class counts of all leaves of all trees, shape (T, L, K), stacked.

    Notes
    -----
    **Claim**: the event's. **Relation**: add or remove one record. **Sensitivity**: a record
    lies in one leaf of each tree, so it adds 1 to one count of each of the T tables: L1 and L2
    squared are T. With targets it adds a and b to the two counts of a leaf, a + b = u, so L1 is
    T u and L2 squared at most T u^2. **Tests**: tests/trees/one_shot/test_learner.py.
    """
    raw_tables = records.total(LeafTables(trees))
    # A mechanism counts the rows of a table as its cells.
    rows = raw_tables.reshape(-1, raw_tables.shape[2])
    return add_count_noise(rows, grant, source).reshape(raw_tables.shape)


def release_calibration(
    records: Records,
    trees: RandomTrees,
    leaves: LeafScores,
    slope: float,
    plan: OneShotPlan,
    unit: int,
    grant: Grant,
    source: RandomSource,
    spread: tuple[float, float] = SPREAD,
) -> Calibration:
    """Second pass over the records: where their scores lie."""
    scoring = LeafScoring(trees, _leaf_values(leaves, leaves.scale))
    if plan.n_classes == 2:
        return release_histogram_calibration(
            leaves, records, scoring, slope, unit, grant, source, spread
        )
    return release_pair_calibration(leaves, records, scoring, plan.log_bound, grant, source)


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
