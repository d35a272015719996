"""Posterior means of curves against the textbook, and what they come to at both ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.additive.settings import AdditiveSettings
from dpforest.trees.additive.smoothing import Posterior, covariance, likely_counts

SETTINGS = AdditiveSettings(length=0.5, line=0.3)
#: Of a curve, before anything is known.
REACH = 1.5


def posterior_of(n_bins: int, n_values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A covariance, and a curvature of records that lie where they may."""
    before = covariance(n_bins, n_values, SETTINGS, REACH)
    return before, np.random.default_rng(seed).exponential(50.0, n_bins) + 1.0


@given(st.integers(1, 20), st.booleans(), st.floats(1e-3, 1e6), st.integers(0, 1000))
def test_means_are_those_of_the_textbook(n_values, missing, variance, seed):
    before, curvature = posterior_of(n_values + missing, n_values, seed)
    measured = np.random.default_rng(seed + 1).normal(size=curvature.size, scale=100.0)
    H = np.diag(curvature)
    seen = H @ before @ H + variance * np.eye(curvature.size)
    expected = before @ H @ np.linalg.solve(seen, measured)
    found = Posterior.of(before, curvature).mean(measured, variance)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.abs(expected).max())


def test_a_mean_is_the_likeliest_curve():
    before, curvature = posterior_of(9, 8)
    measured, variance = np.random.default_rng(3).normal(size=9, scale=40.0), 30.0
    best = Posterior.of(before, curvature).mean(measured, variance)

    def cost(curve: np.ndarray) -> float:
        apart = measured - curvature * curve
        return float(apart @ apart / variance + curve @ np.linalg.solve(before, curve))

    generator = np.random.default_rng(4)
    for scale in (1e-4, 1e-2, 1.0):
        others = [best + scale * generator.normal(size=9) for _ in range(50)]
        assert min(map(cost, others)) > cost(best)


def test_without_noise_the_mean_is_what_was_measured():
    before, curvature = posterior_of(9, 8)
    curve = np.linspace(-1, 1, 9) ** 3
    found = Posterior.of(before, curvature).mean(curvature * curve, 1e-9)
    assert found == pytest.approx(curve, abs=1e-6)


def test_drowned_curves_come_to_nothing():
    before, curvature = posterior_of(9, 8)
    posterior = Posterior.of(before, curvature)
    sizes = [np.abs(posterior.mean(curvature, 10.0**power)).max() for power in range(0, 15, 2)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 1e-6


@pytest.mark.parametrize("n_values", [1, 2, 7])
def test_a_missing_value_stands_alone(n_values):
    before, curvature = posterior_of(n_values + 1, n_values)
    assert not before[-1, :-1].any() and not before[:-1, -1].any() and before[-1, -1] > 0
    posterior, measured = Posterior.of(before, curvature), np.ones(n_values + 1)
    plain = posterior.mean(measured, 10.0)
    measured[-1] = 1e6
    other = posterior.mean(measured, 10.0)
    assert other[:-1] == pytest.approx(plain[:-1], abs=1e-6) and other[-1] > 100 * plain[-1]


def test_categories_stand_alone():
    before = covariance(5, 0, SETTINGS, REACH)
    assert np.array_equal(before, np.diag(np.diag(before)))
    assert np.diag(before) == pytest.approx(np.full(5, REACH**2), rel=1e-3)


def test_neighbours_go_together_and_no_direction_is_impossible():
    for n_values in (1, 2, 5, 32):
        before = covariance(n_values + 1, n_values, SETTINGS, REACH)
        assert np.array_equal(before, before.T)
        assert np.linalg.eigvalsh(before).min() > 0
    first = covariance(9, 8, SETTINGS, REACH)[0, :8] / REACH**2
    assert (np.diff(first) < 0).all()
    # One value has no neighbour, and no line.
    assert covariance(1, 1, SETTINGS, REACH)[0, 0] <= REACH**2 * 1.001


def test_likely_counts_lie_between_what_was_said_and_even_ones():
    noisy = np.array([500.0, 300.0, 200.0, 0.0, -40.0])
    exact = likely_counts(noisy, 1000.0, 1e-9, 0.1)
    assert exact == pytest.approx([500.0, 300.0, 200.0, 20.0, 20.0])
    drowned = likely_counts(noisy, 1000.0, 1e12, 0.1)
    assert drowned == pytest.approx(np.full(5, 200.0), rel=1e-3)
    between = likely_counts(noisy, 1000.0, 200.0**2, 0.1)
    assert between[:3] == pytest.approx((noisy[:3] + 200.0) / 2)


@pytest.mark.parametrize("rows", [0.0, -5.0, 1.0])
def test_no_rows_still_make_sizes_above_nothing(rows):
    found = likely_counts(np.array([-30.0, 5.0]), rows, 100.0, 0.1)
    assert np.isfinite(found).all() and (found > 0).all()
