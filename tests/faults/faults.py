"""Planted faults: the library's parts put together wrongly, each with datasets that show it.

Every fault claims what an honest composition of the same parts would cost. Nothing here is part of
the package; `benchmarks/audit.py` loads it by path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpforest import Domain, NumericFeature
from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
)
from dpforest.audit import Batched, DatasetPair, Subject, worst_case
from dpforest.audit.catalogue import SMALL_DOMAIN, class_counts, label_by_count, one_split_plan
from dpforest.audit.one_split import OneSplitTrees, leaf_counts
from dpforest.domain.encoder import DomainEncoder
from dpforest.mechanisms import (
    SystemSource,
    add_discrete_gaussian_noise,
    add_geometric_noise,
    select_exponential,
)
from dpforest.records.table import Table
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.segments import Splits

ONE = Fraction(1)
SOURCE = SystemSource()


@dataclass(frozen=True)
class Fault:
    """A planted fault, the pair that shows it, what it claims, and runs that suffice to find it."""

    name: str
    subject: Subject
    pair: DatasetPair
    epsilon: float
    runs: int
    delta: float = 0.0


def grant_for(event, cells):
    """A grant from an accountant that does not mind: faults lie about what they need."""
    return BudgetAccountant._unlimited(delta=Fraction(1, 2)).request(
        event, role="fault", cells=cells
    )


def integers(**sizes: int) -> Domain:
    """A domain of whole numbers 0 … size - 1 and two classes."""
    features = [
        NumericFeature(name=name, lower=0, upper=size - 1, integer=True)
        for name, size in sizes.items()
    ]
    return Domain(features=features, classes=[0, 1])


def table(*records: tuple[tuple[float, ...], int, int]):
    """Records as (values, label, how many times) -> (X, y)."""
    X = [values for values, _, times in records for _ in range(times)]
    y = [label for _, label, times in records for _ in range(times)]
    width = len(records[0][0])
    return np.array(X, dtype=float).reshape(-1, width), np.array(y, dtype=int)


# -- candidates ----------------------------------------------------------------------------------


class MaskedCandidates(OneSplitTrees):
    """Leaves out candidates by what the records are: the set of outputs depends on them."""

    def allowed(self, counts):
        """Which cells may be cuts, shape (runs, total codes), from counts (runs, total)."""
        raise NotImplementedError

    def split(self, table, members, scope):
        runs = members.shape[0]
        level = self.level(table, members)
        (event,) = (one.event for one in self.plan.rounds[0].steps[0].releases)
        criterion = self.plan.shape.criterion
        grant = scope.request(event, role="fault", cells=runs)
        offer = level.scored(criterion).offer_jointly()
        scores = offer.scores.reshape(runs, -1).copy()
        scores[~self.allowed(level.counts.sum(axis=2))] = -np.inf
        chosen = select_exponential(
            scores.ravel(), offer.starts, offer.ends, criterion.unit, grant, self.source
        )
        return cuts(table, chosen)


def cuts(table: Table, chosen) -> Splits:
    """Cells as cuts of ordered features; -1 is no split."""
    found = chosen >= 0
    cells = np.where(found, chosen, 0)
    features = np.searchsorted(table.offsets, cells, side="right") - 1
    high = np.where(found, cells - table.offsets[features], -1)
    return Splits(np.where(found, features, -1).astype(np.int32), np.zeros_like(high), high)


class ThresholdsFromData(MaskedCandidates):
    """Cuts at observed values alone."""

    def allowed(self, counts):
        return counts > 0


class EmptyChildrenDropped(MaskedCandidates):
    """Cuts with an empty side left out."""

    def allowed(self, counts):
        runs = counts.shape[0]
        by_feature = counts.reshape(runs, self.domain.n_features, -1)
        left = by_feature.cumsum(axis=2)
        both = (left > 0) & (left < by_feature.sum(axis=2, keepdims=True))
        return both.reshape(runs, -1)


class BoundsFromData(OneSplitTrees):
    """The range of each feature is that of its values; thresholds are released in its units."""

    def sample(self, dataset, runs, pair):
        X, y = dataset
        features = [
            NumericFeature(name=name, lower=float(low), upper=float(high) + 1e-9)
            for name, low, high in zip("ab", X.min(axis=0), X.max(axis=0), strict=True)
        ]
        drafted = Domain(features=features, classes=[0, 1])
        trees = OneSplitTrees(drafted, self.plan, self.name, self.source)
        released = trees.sample(dataset, runs, pair).astype(float)
        grids = DomainEncoder(drafted).cells
        edges = [[grid.threshold(code) for code in range(grid.n_codes - 1)] for grid in grids]
        released[:, 2] = np.array(edges)[released[:, 0].astype(int), released[:, 2].astype(int)]
        return released


# -- stopping ------------------------------------------------------------------------------------


class LeafSizeStop(OneSplitTrees):
    """Does not split where a leaf would hold fewer than ``stop`` records."""

    stop = 5

    def grow(self, table, runs, scope):
        released = super().grow(table, runs, scope)
        everyone = np.ones((runs, table.n_records), dtype=bool)
        splits = Splits(released[:, 0].astype(np.int32), released[:, 1], released[:, 2])
        sizes = leaf_counts(table, everyone, splits).sum(axis=1).reshape(runs, 2)
        released[(sizes < self.stop).any(axis=1)] = -1
        return released


class AsPublished(MaskedCandidates):
    """The multinomial forest as published: one tree of one split.

    Structure and estimation points are random halves of fixed size; candidates are midpoints of
    neighbouring values among the structure points; a node stops when fewer than five estimation
    points would reach a child. Budget by Theorem 2.
    """

    stop = 5

    def sides(self, n_records, runs):
        order = np.argsort(SOURCE.words(runs * n_records).reshape(runs, n_records), axis=1)
        structure = order < n_records // 2
        return structure, ~structure

    def allowed(self, counts):
        observed = counts > 0
        by_feature = observed.reshape(counts.shape[0], self.domain.n_features, -1)
        greater = by_feature[:, :, ::-1].cumsum(axis=2)[:, :, ::-1] - by_feature
        return (by_feature & (greater > 0)).reshape(observed.shape)

    def grow(self, table, runs, scope):
        structure, estimation = self.sides(table.n_records, runs)
        splits = self.split(table, structure, scope)
        leaves = self.leaves(table, estimation, splits, scope)
        released = np.column_stack(
            [splits.feature, self.midpoints(table, structure, splits), leaves]
        )
        sizes = leaf_counts(table, estimation, splits).sum(axis=1).reshape(runs, 2)
        released[(sizes < self.stop).any(axis=1)] = -1
        return released

    @staticmethod
    def midpoints(table, structure, splits):
        """Twice the threshold between the cut and the next value of a structure point."""
        values = table.codes.astype(int)[:, splits.feature].T
        beyond = np.where(structure & (values > splits.high[:, None]), values, 10**6)
        return np.where(splits.feature < 0, -1, splits.high + beyond.min(axis=1))


# -- leaves --------------------------------------------------------------------------------------


def label_redrawn(labels, runs, times=20):
    """One draw paid, a new draw at each of twenty predictions: how often the label was 1."""
    grant = grant_for(ExponentialSelection(ONE, ONE), runs * times)
    drawn = label_by_count(class_counts(labels, runs * times), grant, SOURCE)
    return drawn.reshape(runs, times).sum(axis=1)


def majority_label(labels, runs):
    """The mechanism is reached in one branch alone: elsewhere the plain majority."""
    counts = class_counts(labels, runs)
    grant = grant_for(ExponentialSelection(ONE, ONE), runs)
    drawn = label_by_count(counts, grant, SOURCE)
    return np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), drawn)


def sensitivity_halved(labels, runs):
    """Noise for a count that moves by one half: a for epsilon 2, claimed as 1."""
    grant = grant_for(GeometricNoise(2 * ONE, ONE), runs)
    return add_geometric_noise(class_counts(labels, runs), grant, SOURCE)


def deviation_of_a_third(labels, runs):
    """Discrete Gaussian noise of standard deviation 1 where 3 was claimed."""
    grant = grant_for(DiscreteGaussianNoise(ONE, ONE), runs)
    return add_discrete_gaussian_noise(class_counts(labels, runs), grant, SOURCE)


def unit_not_paid(labels, runs):
    """Three records of a unit are promised one epsilon; the noise is that of one record."""
    grant = grant_for(GeometricNoise(ONE, ONE), runs)
    return add_geometric_noise(class_counts(labels, runs), grant, SOURCE)


def noise_reused(labels, runs):
    """Two trees count the ones in a leaf, the second where there are none; one noise for both."""
    grant = grant_for(GeometricNoise(ONE, ONE), runs)
    noise = add_geometric_noise(np.zeros((runs, 1), dtype=int), grant, SOURCE)
    ones = int(np.sum(np.asarray(labels) == 1))
    return np.column_stack([ones + noise, noise])


def overlapping_parallel(labels, runs):
    """Two histograms of the same records, priced as parallel cells."""
    counts = class_counts(labels, runs)
    grants = [grant_for(GeometricNoise(ONE, ONE), runs) for _ in range(2)]
    return np.column_stack([add_geometric_noise(counts, grant, SOURCE) for grant in grants])


def shared_sides(labels, runs, trees=4, rate=0.05):
    """Four trees count the same sampled records; each is priced as if it had its own sample."""
    ones = int(np.sum(np.asarray(labels) == 1))
    drawn = SOURCE.words(runs * ones).reshape(runs, ones) < np.uint64(int(rate * 2**64))
    counts = np.repeat(drawn.sum(axis=1)[:, None], trees, axis=1)
    return add_geometric_noise(counts, grant_for(GeometricNoise(2 * ONE, ONE), runs), SOURCE)


def blocks_by_position(labels, runs, trees=5):
    """Records go to five trees by their place in the table, priced as records of their own."""
    labels = np.asarray(labels)
    tree = np.arange(labels.size) // max(1, labels.size // trees)
    counts = np.bincount(tree[labels == 1].clip(max=trees - 1), minlength=trees)
    grant = grant_for(GeometricNoise(ONE, ONE), runs)
    return add_geometric_noise(np.tile(counts, (runs, 1)), grant, SOURCE)


class BudgetSpentPerTree(OneSplitTrees):
    """Five trees, each with the budget of the forest."""

    def grow(self, table, runs, scope):
        return np.hstack(
            [super(BudgetSpentPerTree, self).grow(table, runs, scope) for _ in range(5)]
        )


# -- the list ------------------------------------------------------------------------------------


def missing_factor_two(criterion: str, domain: Domain, name: str) -> OneSplitTrees:
    """A selection by exp(epsilon q) where the range is 2, claimed as epsilon."""
    rule = CRITERIA[criterion]
    honest = one_split_plan(criterion, joint=True, selection_epsilon=2 * ONE)

    class OnlyTheSplit(OneSplitTrees):
        def grow(self, table, runs, scope):
            return super().grow(table, runs, scope)[:, :3]

    assert rule.score_range >= 2
    return OnlyTheSplit(domain, honest, name)


def trees(kind: type[OneSplitTrees], name: str, criterion: str = "gini_count", **plan):
    """One-split trees of a kind on the small domain."""
    return kind(SMALL_DOMAIN, one_split_plan(criterion, joint=True, **plan), name)


def named(function: Callable, name: str) -> Batched:
    return Batched(function, name)


def published_pair() -> DatasetPair:
    """Twenty records at either end of both features, and one between."""
    ends = (((0, 0), 0, 20), ((3, 3), 1, 20))
    return DatasetPair(
        table(*ends), table(*ends, ((1, 1), 1, 1)), name="20 records at 0, 20 at 3, one at 1"
    )


def planted_faults() -> tuple[Fault, ...]:
    """At least one fault for every line of the privacy design's section on audits."""
    small = SMALL_DOMAIN
    lone, one = (
        DatasetPair([0] * 3, [0] * 3 + [1], name="a class seen once"),
        DatasetPair([0], [0, 1], name="one record of a class"),
    )
    sixteen, four = integers(a=16), integers(a=4, b=4)
    swap = table(((1,), 0, 2), ((0,), 0, 2), ((1,), 1, 1))
    swapped = table(((1,), 0, 2), ((0,), 0, 2), ((1,), 1, 1), ((15,), 1, 1))
    purity = (((3, 0), 0, 8), ((0, 2), 1, 8), ((2, 1), 0, 8))
    wide = table(((0, 0), 0, 6), ((1, 1), 1, 6))
    wider = table(((0, 0), 0, 6), ((1, 1), 1, 6), ((3, 3), 1, 1))
    block = [1] * 2 + [0] * 2 + [1] * 2 + [0] * 2 + [1] * 2
    return (
        Fault("thresholds taken from the data", trees(ThresholdsFromData, "thresholds"),
              worst_case(small, "a record that creates a new candidate"), 2, 2000),
        Fault("leaf-size stop", trees(LeafSizeStop, "leaf-size stop"),
              worst_case(small, "a node at the stopping size"), 2, 2000),
        Fault("label redrawn at each call", named(label_redrawn, "label redrawn"), lone, 1, 4000),
        Fault("missing factor 2, normalised score",
              missing_factor_two("gini_decrease", sixteen, "factor 2, normalised"),
              DatasetPair(swap, swapped, name="the best cut becomes the worst"), 1, 16_000),
        Fault("missing factor 2, Gini by counts",
              missing_factor_two("gini_count", four, "factor 2, Gini"),
              DatasetPair(table(*purity), table(*purity, ((0, 0), 1, 1)), name="purity spoilt"),
              1, 10_000),
        Fault("candidates with an empty child dropped", trees(EmptyChildrenDropped, "empty child"),
              worst_case(small, "a lone record in an empty leaf"), 2, 2000),
        Fault("sides shared by trees, mixed once a tree", named(shared_sides, "shared sides"), one,
              4 * math.log1p(0.05 * (math.e**2 - 1)), 32_000),
        Fault("count sensitivity halved", named(sensitivity_halved, "half sensitivity"), lone, 1,
              2000),
        Fault("Gaussian deviation of a third", named(deviation_of_a_third, "Gaussian third"), lone,
              1, 20_000, 0.02),
        Fault("a unit's records paid for as one", named(unit_not_paid, "unit not paid"),
              DatasetPair([0] * 3, [0] * 3 + [1] * 3, name="a unit of three", records_per_unit=3),
              1, 2000),
        Fault("noise drawn once for two trees", named(noise_reused, "noise reused"), lone, 2, 2000),
        Fault("parallel scope over the same records", named(overlapping_parallel, "overlap"), lone,
              1, 3000),
        Fault("bounds read from the data", trees(BoundsFromData, "bounds"),
              DatasetPair(wide, wider, name="a record beyond all others"), 2, 2000),
        Fault("budget of one tree spent by each of five",
              trees(BudgetSpentPerTree, "budget times five", selection_epsilon=ONE * 0),
              worst_case(small, "the only record"), 1, 12_000),
        Fault("majority without a draw", named(majority_label, "majority"),
              DatasetPair([0, 1], [0, 1, 1], name="a tie in a leaf"), 1, 2000),
        Fault("records to trees by position", named(blocks_by_position, "blocks by position"),
              DatasetPair(block, block[1:], name="the first record of the table"), 1, 3000),
        Fault("the multinomial forest as published",
              AsPublished(small, one_split_plan("gini_decrease", leaves="label", joint=True),
                          "as published"), published_pair(), 1, 4000),
    )  # fmt: skip
