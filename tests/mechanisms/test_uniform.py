"""Uniform draws over public candidates."""

from __future__ import annotations

import numpy as np

from dpforest.mechanisms.entropy import FixedWords, SeededSource
from dpforest.mechanisms.uniform import select_uniform


def test_uniform_draw_covers_the_available_candidates_evenly() -> None:
    available = np.array([True, False, True, True, False])
    rows = 30_000
    starts = np.zeros(rows, dtype=np.int64)
    chosen = select_uniform(available, starts, starts + 5, SeededSource(3))
    counts = np.bincount(chosen, minlength=5)
    assert counts[1] == counts[4] == 0
    # Each count is Binomial(30000, 1/3), standard deviation 81.6: seven of them, alpha < 1e-10.
    assert np.all(np.abs(counts[[0, 2, 3]] - 10_000) < 7 * 81.65)


def test_row_without_candidates_says_so() -> None:
    nothing = np.zeros(4, dtype=bool)
    chosen = select_uniform(nothing, np.array([0]), np.array([4]), FixedWords([1]))
    assert chosen.tolist() == [-1]


def test_word_on_a_boundary_is_decided_by_further_words() -> None:
    both = np.ones(2, dtype=bool)
    start, end = np.array([0]), np.array([2])
    # 64 bits leave an interval that touches one half; a further word leaves it on one side.
    assert select_uniform(both, start, end, FixedWords([2**63 - 1, 5])).tolist() == [0]
    assert select_uniform(both, start, end, FixedWords([2**63, 5])).tolist() == [1]
