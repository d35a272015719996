"""Use of a noisy number of records: post-processing that neither boasts nor despairs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import GeometricNoise
from dpforest.estimators.bought_rows import FEWEST_ROWS, fewest_rows, likely_rows


def count(epsilon):
    return GeometricNoise(Fraction(epsilon), Fraction(1))


@pytest.mark.parametrize("epsilon", ["1e-12", "0.0005", "0.05", "1", "1000"])
def test_more_counted_is_never_fewer_and_at_least_one(epsilon):
    noisy = [-(2**62), -1000, -1, 0, 1, 20, 90, 150, 400, 3000, 50_000, 10**7, 2**62]
    rows = [likely_rows(n, count(epsilon)) for n in noisy]
    assert np.isfinite(rows).all() and min(rows) >= 1
    if float(epsilon) > 1e-6:
        assert (np.diff(rows) >= 0).all()


@pytest.mark.parametrize("n", [30, 100, 1500, 40_000])
def test_a_clear_number_is_taken_at_its_word(n):
    assert likely_rows(n, count(5)) == pytest.approx(n, rel=0.05)


def test_a_drowned_number_is_a_small_table_and_not_an_empty_one():
    for noisy in (-5000, -200, 0, 100):
        assert FEWEST_ROWS <= likely_rows(noisy, count("0.005")) < 200
    # 400 records seen through a noise of 280: not more than were counted, nor far fewer.
    assert 250 < likely_rows(400, count("0.005")) < 400


def test_a_table_of_twenty_thousand_is_found_through_the_noise():
    random = np.random.default_rng(5)
    noisy = np.rint(random.laplace(20_000, 1 / 0.005, size=50)).astype(int)
    rows = [likely_rows(int(n), count("0.005")) for n in noisy]
    assert np.abs(np.array(rows) - noisy).max() < 400


def test_the_fewest_rows_lie_a_deviation_below():
    assert fewest_rows(1000, count("0.005")) == pytest.approx(1000 - 2**0.5 * 200)
    assert fewest_rows(100, count("0.005")) == 1
