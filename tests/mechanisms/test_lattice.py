"""The continuous exponential mechanism on a public lattice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import ExponentialSelection
from dpforest.exceptions import GrantError
from dpforest.mechanisms.entropy import FixedWords, SeededSource, SystemSource
from dpforest.mechanisms.kernels import lattice as kernels
from dpforest.mechanisms.lattice import draw_below, select_interval_point

ONE = Fraction(1)
EVENT = ExponentialSelection(Fraction(1, 2), ONE)
TOP_WORD = 2**64 - 1


def points_of(scores, lengths, n, grant):
    """Lattice points drawn n times from one box, and the score of every point."""
    width = len(scores)
    starts = np.arange(n) * width
    interval, offset = select_interval_point(
        np.tile(scores, n), np.tile(lengths, n), starts, starts + width, ONE,
        grant(EVENT, n), SeededSource(1),
    )  # fmt: skip
    lengths = np.asarray(lengths)
    assert np.all(offset < lengths[interval])
    return (np.cumsum(lengths) - lengths)[interval] + offset, np.repeat(scores, lengths)


def law(scores, c):
    weights = np.exp(c * (scores - scores.max()))
    return weights / weights.sum()


def test_points_follow_the_law_over_the_box_and_not_one_30_percent_off(grant, fits):
    points, scores = points_of([0.0, 9.0, -2.0, 3.0], [3, 0, 5, 2], 40_000, grant)
    counts = np.bincount(points, minlength=10)
    assert fits(counts, law(scores, 0.5))
    assert not fits(counts, law(scores, 0.5 * 1.3))
    assert not fits(counts, law(scores, 0.5 / 1.3))


def test_where_the_data_cut_equal_scores_changes_nothing(grant, fits):
    points, scores = points_of([1.0, 1.0, 1.0, 4.0], [1, 2, 4, 3], 40_000, grant)
    whole, _ = points_of([1.0, 4.0], [7, 3], 40_000, grant)
    assert fits(np.bincount(points, minlength=10), law(scores, 0.5))
    assert fits(np.bincount(whole, minlength=10), law(scores, 0.5))


def test_wide_boxes_reach_every_part_of_an_interval(grant, fits):
    n, length = 20_000, 2**32
    starts = np.arange(n)
    _, offset = select_interval_point(
        np.zeros(n), np.full(n, length), starts, starts + 1, ONE, grant(EVENT, n), SeededSource(1)
    )
    assert fits(np.bincount(offset * 64 // length, minlength=64), np.full(64, 1 / 64))
    assert fits(np.bincount(offset % 64, minlength=64), np.full(64, 1 / 64))


def test_rows_without_points_take_their_words_all_the_same(grant):
    source = FixedWords([5, 6, 7, 8])
    interval, offset = select_interval_point(
        [0.0, 0.0, 0.0], [0, 0, 4], [0, 2], [2, 3], ONE, grant(EVENT, 2), source
    )
    assert interval.tolist() == [-1, 0]
    assert offset.tolist() == [0, 8 % 4]
    assert source.used == 4


def test_biased_words_are_rejected_and_drawn_anew():
    # 2^64 = 1 mod 3, so the last word belongs to no full round of three.
    bounds = np.array([3, 3, 8, 1])
    source = FixedWords([TOP_WORD, TOP_WORD - 1, TOP_WORD, TOP_WORD, TOP_WORD, 4])
    assert draw_below(bounds, source).tolist() == [1, 2, 7, 0]
    assert source.used == 6


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 2**32, 2**53 - 1, 2**62 + 1])
def test_kernel_compiled_and_not_equals_integers(bound):
    words = np.append(SeededSource(2).words(50), np.array([0, TOP_WORD], dtype=np.uint64))
    bounds = np.full(words.size, bound)
    compiled, plain = np.empty_like(bounds), np.empty_like(bounds)
    kernels.uniform_below_rows(bounds, words, compiled)
    kernels.uniform_below_rows.py_func(bounds, words, plain)
    limit = 2**64 - 2**64 % bound
    expected = [w % bound if w < limit else kernels.REJECTED for w in words.tolist()]
    assert compiled.tolist() == plain.tolist() == expected


def test_points_are_not_drawn_without_a_grant():
    with pytest.raises(GrantError, match="runs only with a Grant for ExponentialSelection"):
        select_interval_point([0.0], [1], [0], [1], ONE, None, SystemSource())
