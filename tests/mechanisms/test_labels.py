"""Labels drawn for leaves: laws, sensitivities, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import ExponentialSelection, PermuteAndFlipSelection
from dpforest.exceptions import GrantError, ParameterError
from dpforest.mechanisms.entropy import SeededSource, SystemSource
from dpforest.mechanisms.labels import draw_label_by_count, draw_label_by_frequency

N = 40_000


def exponential_law(scores, c):
    weights = np.exp(c * (scores - scores.max()))
    return weights / weights.sum()


def drawn(draw, counts, event, grant, **options):
    table = np.tile(counts, (N, 1))
    labels = draw(table, grant(event, N), SeededSource(3), **options)
    assert labels.shape == (N,)
    return np.bincount(labels, minlength=len(counts))


def test_label_by_frequency_is_the_papers_law(grant, fits):
    counts, b3 = np.array([7, 2, 1]), 4
    labels = drawn(
        draw_label_by_frequency, counts, ExponentialSelection(Fraction(b3), Fraction(2)), grant
    )
    frequencies = counts / counts.sum()
    assert fits(labels, exponential_law(frequencies, b3 / 2))
    assert not fits(labels, exponential_law(frequencies, b3 / 2 * 1.3))
    assert not fits(labels, exponential_law(frequencies, b3 / 2 / 1.3))


def test_label_by_count_has_the_whole_epsilon_in_its_exponent(grant, fits):
    counts = np.array([7, 6, 3])
    labels = drawn(
        draw_label_by_count, counts, ExponentialSelection(Fraction(1, 2), Fraction(1)), grant
    )
    assert fits(labels, exponential_law(counts, 0.5))
    assert not fits(labels, exponential_law(counts, 0.5 * 1.3))
    assert not fits(labels, exponential_law(counts, 0.5 / 1.3))


def test_label_by_count_with_permute_and_flip(grant, fits):
    event = PermuteAndFlipSelection(Fraction(1, 2), Fraction(1))
    labels = drawn(draw_label_by_count, np.array([7, 5]), event, grant, permute_and_flip=True)
    for scale, agrees in ((1, True), (1.3, False), (1 / 1.3, False)):
        other = np.exp(-0.5 * scale * 2) / 2
        assert fits(labels, [1 - other, other]) == agrees


@pytest.mark.parametrize("draw", [draw_label_by_frequency, draw_label_by_count])
def test_empty_leaf_draws_uniformly(draw, grant, fits):
    event = ExponentialSelection(Fraction(50), Fraction(2))
    labels = drawn(draw, np.zeros(4, dtype=np.int64), event, grant)
    assert fits(labels, [0.25] * 4)


def test_frequencies_move_by_at_most_one_when_a_record_is_added(monkeypatch):
    # All leaves of up to 6 records and 3 classes, with and without one record more.
    seen = {}

    def record(scores, starts, ends, unit, grant, source):
        seen["scores"] = np.asarray(scores).reshape(-1, 3)
        return starts

    monkeypatch.setattr("dpforest.mechanisms.labels.select_exponential", record)
    leaves = np.array([c for c in itertools.product(range(7), repeat=3) if sum(c) <= 6])
    draw_label_by_frequency(leaves, None, SystemSource())
    before = seen["scores"]
    largest = 0
    for label in range(3):
        draw_label_by_frequency(leaves + np.eye(3, dtype=np.int64)[label], None, SystemSource())
        moved = seen["scores"] - before
        assert np.abs(moved).max() <= 2**20
        largest = max(largest, np.ptp(moved, axis=1).max())
    # Half of what is paid for: see the docstring.
    assert largest == 2**20


def test_no_leaves_draw_no_labels(grant):
    event = ExponentialSelection(Fraction(1), Fraction(2))
    assert draw_label_by_frequency(np.zeros((0, 2)), grant(event), SystemSource()).shape == (0,)


def test_grant_for_a_smaller_range_is_refused_and_stays_good(grant):
    permission = grant(ExponentialSelection(Fraction(1), Fraction(1)))
    counts = np.array([[1, 2]])
    with pytest.raises(GrantError, match="needs score_range >= 2, but the grant is for 1"):
        draw_label_by_frequency(counts, permission, SystemSource())
    half = grant(ExponentialSelection(Fraction(1), Fraction(1, 2)))
    with pytest.raises(GrantError, match="needs score_range >= 1, but the grant is for 1/2"):
        draw_label_by_count(counts, half, SystemSource())
    assert not permission.consumed


def test_labels_are_not_drawn_without_a_fitting_grant(grant):
    counts = np.array([[1, 2], [3, 4]])
    for draw in (draw_label_by_frequency, draw_label_by_count):
        with pytest.raises(GrantError, match="runs only with a Grant for ExponentialSelection"):
            draw(counts, None, SystemSource())
        with pytest.raises(GrantError, match="grant for 1 cells .* does not cover 2"):
            draw(counts, grant(ExponentialSelection(Fraction(1), Fraction(2))), SystemSource())
    selection = grant(ExponentialSelection(Fraction(1), Fraction(1)), 2)
    with pytest.raises(GrantError, match="does not cover PermuteAndFlipSelection"):
        draw_label_by_count(counts, selection, SystemSource(), permute_and_flip=True)


def test_counts_of_another_shape_are_refused(grant):
    permission = grant(ExponentialSelection(Fraction(1), Fraction(2)))
    with pytest.raises(ParameterError, match=r"must have shape \(n_leaves, n_classes\)"):
        draw_label_by_frequency(np.array([1, 2]), permission, SystemSource())
    assert not permission.consumed
