"""What trees release: laws of splits, kinds of leaves, and that both are paid for."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpforest import BudgetAccountant
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
)
from dpforest.accounting.releases import PlanError, Release, Round, once
from dpforest.bridge.bridge import Bridge
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.exceptions import GrantError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.growth import GrowthInMemory, LeafLook, SharedRoot
from dpforest.trees.multinomial.learner import released_leaves, released_splits
from dpforest.trees.multinomial.plan import TreeEvents, forest_plan
from dpforest.trees.multinomial.queries import Side
from dpforest.trees.multinomial.segments import Splits

N_CODES, ORDERED = (4, 3), (True, False)
CODES = [[0, 0], [0, 1], [1, 1], [2, 1], [3, 2], [3, 2], [2, 0]]
LABELS = [0, 0, 0, 1, 1, 1, 1]
#: (feature, code) of every candidate: cuts of the ordered one, values of the other.
CANDIDATES = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
HUGE = Fraction(10**5)


def table():
    matrix = EncodedMatrix(
        np.array(CODES, dtype=np.uint8), np.array(N_CODES, dtype=np.int64), np.array(ORDERED)
    )
    return Table.of(EncodedTable(matrix, np.array(LABELS, dtype=np.int32), 2))


def plan_of(feature, value, criterion, joint=False):
    leaf = GeometricNoise(Fraction(1), Fraction(1))
    return forest_plan(1, TreeEvents((feature,), (value,), leaf), CRITERIA[criterion], joint=joint)


def selection(kind, epsilon, criterion):
    return kind(Fraction(epsilon), CRITERIA[criterion].score_range)


def splits_of(plan, draws, seed=0):
    """How often each candidate is released as the root's split."""
    step, root, counts = plan.rounds[0].steps[0], SharedRoot(), Counter()
    with BudgetAccountant(10**12).open_scope("draws") as scope:
        rounds = (Round("trees", (step,), draws),)
        bridge = Bridge(rounds, scope, MemoryRecords(table()), SeededSource(seed))
        for _ in range(draws):
            growth = GrowthInMemory(Side(), root)
            counted = bridge.ask(growth.level(), *step.roles)
            drawn = released_splits(plan.shape, bridge, growth, counted, step.roles)
            split = Splits.drawn(np.array(ORDERED), *drawn)
            feature, high = int(split.feature[0]), int(split.high[0])
            assert split.low[0] == (0 if ORDERED[feature] else high)
            counts[feature, high] += 1
    assert set(counts) <= set(CANDIDATES)
    return np.array([counts[candidate] for candidate in CANDIDATES])


def gini_count(twins, candidate):
    """Sum over both children of sum of squared counts by size, exactly."""
    feature, code = candidate
    children = [[0, 0], [0, 0]]
    for row, label in zip(CODES, LABELS, strict=True):
        goes_left = twins.goes_left(row, feature, 0 if ORDERED[feature] else code, code)
        children[0 if goes_left else 1][label] += 1
    return sum(Fraction(a * a + b * b, a + b) for a, b in children if a + b)


def two_stage_law(twins, b1, b2):
    """Feature by its best candidate, then candidate, each by exp(b q / range)."""
    scores = {candidate: float(gini_count(twins, candidate)) for candidate in CANDIDATES}
    span = float(CRITERIA["gini_count"].score_range)
    best = [max(q for (f, _), q in scores.items() if f == feature) for feature in (0, 1)]
    features = softmax(b1 / span * np.array(best))
    law = []
    for feature in (0, 1):
        own = np.array([q for (f, _), q in scores.items() if f == feature])
        law.extend(features[feature] * softmax(b2 / span * own))
    return np.array(law)


def joint_law(twins, b):
    span = float(CRITERIA["gini_count"].score_range)
    return softmax(b / span * np.array([float(gini_count(twins, c)) for c in CANDIDATES]))


def softmax(x):
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def fits(counts, law):
    """Chi-square with an error rate of 1e-9."""
    return stats.chisquare(counts, law * counts.sum(), sum_check=False).pvalue > 1e-9


def test_two_stages_follow_both_exponential_mechanisms(twins):
    b1, b2 = 6, 4
    plan = plan_of(
        selection(ExponentialSelection, b1, "gini_count"),
        selection(ExponentialSelection, b2, "gini_count"),
        "gini_count",
    )
    counts = splits_of(plan, 12_000)
    assert fits(counts, two_stage_law(twins, b1, b2))
    for off in (0.7, 1.3):
        assert not fits(counts, two_stage_law(twins, off * b1, b2))
        assert not fits(counts, two_stage_law(twins, b1, off * b2))


def test_a_joint_draw_follows_one_exponential_mechanism(twins):
    event = selection(ExponentialSelection, 5, "gini_count")
    counts = splits_of(plan_of(event, None, "gini_count", joint=True), 8000)
    assert fits(counts, joint_law(twins, 5))
    assert not fits(counts, joint_law(twins, 0.7 * 5))
    assert not fits(counts, joint_law(twins, 1.3 * 5))


@pytest.mark.parametrize("joint", [False, True])
def test_without_a_grant_candidates_are_uniform(joint):
    counts = splits_of(plan_of(None, None, "gini_count", joint), 3000)
    law = np.full(6, 1 / 6)  # three candidates in each of two features
    assert fits(counts, law)


@pytest.mark.parametrize("kind", [ExponentialSelection, PermuteAndFlipSelection])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_a_huge_budget_takes_the_best_split(kind, joint, criterion):
    event = selection(kind, HUGE, criterion)
    counts = splits_of(plan_of(event, event, criterion, joint), 20)
    assert counts.tolist() == [0, 20, 0, 0, 0, 0]  # between codes 1 and 2: no error at all


def test_one_stage_may_be_free(twins):
    event = selection(ExponentialSelection, HUGE, "gini_count")
    values = splits_of(plan_of(None, event, "gini_count"), 200)
    assert values[[1, 5]].min() > 50 and values.sum() == values[[1, 5]].sum()
    features = splits_of(plan_of(event, None, "gini_count"), 300)
    assert features[:3].min() > 50 and features[3:].sum() == 0


# -- leaves ----------------------------------------------------------------------------------

COUNTS = np.array([[9, 0, 1], [0, 0, 0], [2, 30, 2], [5, 5, 50]], dtype=np.int64)
LEAVES = {
    "label": ExponentialSelection(HUGE, Fraction(2)),
    "count_label": ExponentialSelection(HUGE, Fraction(1)),
    "count_label_permute_and_flip": PermuteAndFlipSelection(HUGE, Fraction(1)),
    "geometric": GeometricNoise(HUGE, Fraction(1)),
    "gaussian": DiscreteGaussianNoise(Fraction(1, 10**6), Fraction(1)),
}


def leaf_plan(leaves):
    events = TreeEvents((None,) * 2, (None,) * 2, LEAVES[leaves])
    return forest_plan(1, events, CRITERIA["gini_count"], leaves=leaves)


def counted(plan, event, cells=4):
    """The leaves' counts, paid for by an event."""
    accountant = BudgetAccountant(10**9, delta=Fraction(1, 10**6))
    role = plan.shape.leaf_role
    rounds = (once("trees", Release(role, event, cells)),)
    records = MemoryRecords(table())
    bridge = Bridge(rounds, accountant.open_scope("leaves"), records, SeededSource(3))
    return bridge.ask(LeafLook(lambda _: COUNTS), role)


@pytest.mark.parametrize("leaves", sorted(LEAVES))
def test_leaves_release_labels_or_counts(leaves):
    plan = leaf_plan(leaves)
    sealed = counted(plan, LEAVES[leaves])
    labels, counts = released_leaves(plan.shape, sealed)
    with pytest.raises(PlanError, match="was released"):
        released_leaves(plan.shape, sealed)
    if leaves in ("geometric", "gaussian"):
        assert labels is None and counts.dtype == np.int64
        assert np.array_equal(counts, COUNTS) and counts is not COUNTS
        return
    assert counts is None and labels.dtype == np.int32
    assert labels[[0, 2, 3]].tolist() == [0, 1, 2] and 0 <= labels[1] < 3


@pytest.mark.parametrize("leaves", sorted(LEAVES))
def test_leaves_need_a_grant_for_all_of_them(leaves):
    plan = leaf_plan(leaves)
    with pytest.raises(GrantError, match="does not cover 4"):
        released_leaves(plan.shape, counted(plan, LEAVES[leaves], cells=3))


SMALLER = {
    "label": ExponentialSelection(HUGE, Fraction(1)),
    "count_label": ExponentialSelection(HUGE, Fraction(1, 2)),
    "count_label_permute_and_flip": PermuteAndFlipSelection(HUGE, Fraction(1, 2)),
    "geometric": GeometricNoise(HUGE, Fraction(1, 2)),
    "gaussian": DiscreteGaussianNoise(Fraction(1, 10**6), Fraction(1, 2)),
}


@pytest.mark.parametrize("leaves", sorted(LEAVES))
def test_leaves_need_an_event_for_what_a_record_moves(leaves):
    plan = leaf_plan(leaves)
    other = LEAVES["label" if leaves in ("geometric", "gaussian") else "geometric"]
    for event in (SMALLER[leaves], other):
        with pytest.raises(PlanError, match="is for less than one record moves"):
            released_leaves(plan.shape, counted(plan, event))
