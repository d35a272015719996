"""Labels drawn for leaves: laws, sensitivities, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection, PermuteAndFlipSelection
from dpforest.accounting.releases import PlanError, Release, once
from dpforest.bridge.bridge import Bridge
from dpforest.exceptions import GrantError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial.growth import LeafLook
from dpforest.trees.multinomial.queries import LabelByCount, LabelByFrequency

N = 40_000
SCORES = [LabelByFrequency(), LabelByCount()]


def sealed(counts, event, cells=None):
    """Counts of leaves, paid for by an event."""
    nobody = Table(
        np.zeros((0, 1), np.uint8), np.zeros(0, np.uint8), np.array([2]), np.array([0, 2]),
        np.array([True]), 2,
    )  # fmt: skip
    rounds = (once("trees", Release("label", event, cells or len(counts))),)
    scope = BudgetAccountant._unlimited().open_scope("leaves")
    bridge = Bridge(rounds, scope, MemoryRecords(nobody), SeededSource(3))
    return bridge.ask(LeafLook(lambda _: np.asarray(counts, dtype=np.int64)), "label")


def exponential_law(scores, c):
    weights = np.exp(c * (scores - scores.max()))
    return weights / weights.sum()


def drawn(score, counts, event):
    labels = sealed(np.tile(counts, (N, 1)), event).chosen("label", score)
    assert labels.shape == (N,)
    return np.bincount(labels, minlength=len(counts))


def test_label_by_frequency_is_the_papers_law(fits):
    counts, b3 = np.array([7, 2, 1]), 4
    labels = drawn(LabelByFrequency(), counts, ExponentialSelection(Fraction(b3), Fraction(2)))
    frequencies = counts / counts.sum()
    assert fits(labels, exponential_law(frequencies, b3 / 2))
    assert not fits(labels, exponential_law(frequencies, b3 / 2 * 1.3))
    assert not fits(labels, exponential_law(frequencies, b3 / 2 / 1.3))


def test_label_by_count_has_the_whole_epsilon_in_its_exponent(fits):
    counts = np.array([7, 6, 3])
    labels = drawn(LabelByCount(), counts, ExponentialSelection(Fraction(1, 2), Fraction(1)))
    assert fits(labels, exponential_law(counts, 0.5))
    assert not fits(labels, exponential_law(counts, 0.5 * 1.3))
    assert not fits(labels, exponential_law(counts, 0.5 / 1.3))


def test_label_by_count_with_permute_and_flip(fits):
    event = PermuteAndFlipSelection(Fraction(1, 2), Fraction(1))
    labels = drawn(LabelByCount(), np.array([7, 5]), event)
    for scale, agrees in ((1, True), (1.3, False), (1 / 1.3, False)):
        other = np.exp(-0.5 * scale * 2) / 2
        assert fits(labels, [1 - other, other]) == agrees


@pytest.mark.parametrize("score", SCORES)
def test_empty_leaf_draws_uniformly(score, fits):
    event = ExponentialSelection(Fraction(50), Fraction(2))
    labels = drawn(score, np.zeros(4, dtype=np.int64), event)
    assert fits(labels, [0.25] * 4)


@pytest.mark.parametrize(("score", "reached"), [(LabelByFrequency(), 2**20), (LabelByCount(), 1)])
def test_scores_move_by_at_most_their_range_when_a_record_is_added(score, reached):
    # All leaves of up to 6 records and 3 classes, with and without one record more.
    leaves = np.array([c for c in itertools.product(range(7), repeat=3) if sum(c) <= 6])
    before = score.rows(leaves).scores.reshape(-1, 3)
    largest = 0
    for label in range(3):
        after = score.rows(leaves + np.eye(3, dtype=np.int64)[label]).scores.reshape(-1, 3)
        moved = after - before
        assert np.abs(moved).max() * score.unit <= 1
        largest = max(largest, np.ptp(moved, axis=1).max())
    # By frequency half of what is paid for: see the docstring.
    assert largest == reached and largest * score.unit <= score.score_range


@pytest.mark.parametrize("score", SCORES)
def test_no_leaves_draw_no_labels(score):
    event = ExponentialSelection(Fraction(1), Fraction(2))
    assert sealed(np.zeros((0, 2)), event, 1).chosen("label", score).shape == (0,)


@pytest.mark.parametrize(
    ("score", "less"),
    [(LabelByFrequency(), Fraction(1)), (LabelByCount(), Fraction(1, 2))],
)
def test_a_smaller_range_is_refused(score, less):
    for kind in (ExponentialSelection, PermuteAndFlipSelection):
        with pytest.raises(PlanError, match="is for less than one record moves"):
            sealed(np.array([[1, 2]]), kind(Fraction(1), less)).chosen("label", score)


@pytest.mark.parametrize("score", SCORES)
def test_labels_are_not_drawn_without_a_fitting_grant(score):
    paid = sealed(np.array([[1, 2], [3, 4]]), ExponentialSelection(Fraction(1), Fraction(2)), 1)
    with pytest.raises(GrantError, match="grant for 1 cells .* does not cover 2"):
        paid.chosen("label", score)
    with pytest.raises(PlanError, match="was released"):
        paid.chosen("label", score)
