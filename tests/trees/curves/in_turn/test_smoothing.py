"""Posterior means of curves against the textbook, and what they come to at both ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.curves.in_turn.smoothing import Posterior, covariance, likely_counts, shares_of
from dpforest.trees.stored import LARGEST

SETTINGS = InTurnSettings(length=0.5, line=0.3)
#: Of a curve, before anything is known.
SCALE = 1.5
SCALES = np.array([SCALE / 10, SCALE])
SURE = np.array([0.0, 1.0])


def mean_of(posterior: Posterior, measured: np.ndarray, variance: float) -> np.ndarray:
    """The mean for one scale."""
    return posterior.mean(measured, variance, SCALES, SURE)


def posterior_of(n_bins: int, n_values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A covariance, and a curvature of records that lie where they may."""
    before = covariance(n_bins, n_values, SETTINGS)
    return before, np.random.default_rng(seed).exponential(50.0, n_bins) + 1.0


@given(st.integers(1, 20), st.booleans(), st.floats(1e-3, 1e6), st.integers(0, 1000))
def test_means_are_those_of_the_textbook(n_values, missing, variance, seed):
    before, curvature = posterior_of(n_values + missing, n_values, seed)
    measured = np.random.default_rng(seed + 1).normal(size=curvature.size, scale=100.0)
    H, posterior, weights = (
        np.diag(curvature),
        Posterior.of(before, curvature),
        np.array([0.3, 0.7]),
    )
    means, likely = [], []
    for scale in SCALES:
        seen = scale**2 * H @ before @ H + variance * np.eye(curvature.size)
        means.append(scale**2 * before @ H @ np.linalg.solve(seen, measured))
        sign, size = np.linalg.slogdet(seen)
        assert sign > 0
        likely.append(-0.5 * (size + measured @ np.linalg.solve(seen, measured)))
    expected = weights @ np.array(means)
    found = posterior.mean(measured, variance, SCALES, weights)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.abs(expected).max())
    evidence = posterior.evidence(measured, variance, SCALES)
    assert np.diff(evidence) == pytest.approx(np.diff(likely), rel=1e-4, abs=1e-4)


def test_a_mean_is_the_likeliest_curve():
    before, curvature = posterior_of(9, 8)
    measured, variance = np.random.default_rng(3).normal(size=9, scale=40.0), 30.0
    best = mean_of(Posterior.of(before, curvature), measured, variance)

    def cost(curve: np.ndarray) -> float:
        apart = measured - curvature * curve
        return float(apart @ apart / variance + curve @ np.linalg.solve(SCALE**2 * before, curve))

    generator = np.random.default_rng(4)
    for scale in (1e-4, 1e-2, 1.0):
        others = [best + scale * generator.normal(size=9) for _ in range(50)]
        assert min(map(cost, others)) > cost(best)


def test_without_noise_the_mean_is_what_was_measured():
    before, curvature = posterior_of(9, 8)
    curve = np.linspace(-1, 1, 9) ** 3
    found = mean_of(Posterior.of(before, curvature), curvature * curve, 1e-9)
    assert found == pytest.approx(curve, abs=1e-6)


def test_drowned_curves_come_to_nothing():
    before, curvature = posterior_of(9, 8)
    posterior = Posterior.of(before, curvature)
    sizes = [np.abs(mean_of(posterior, curvature, 10.0**p)).max() for p in range(0, 15, 2)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 1e-6


@pytest.mark.parametrize("n_values", [1, 2, 7])
def test_a_missing_value_stands_alone(n_values):
    before, curvature = posterior_of(n_values + 1, n_values)
    assert not before[-1, :-1].any() and not before[:-1, -1].any() and before[-1, -1] > 0
    posterior, measured = Posterior.of(before, curvature), np.ones(n_values + 1)
    plain = mean_of(posterior, measured, 10.0)
    measured[-1] = 1e6
    other = mean_of(posterior, measured, 10.0)
    assert other[:-1] == pytest.approx(plain[:-1], abs=1e-6) and other[-1] > 100 * plain[-1]


def test_categories_stand_alone():
    before = covariance(5, 0, SETTINGS)
    assert np.array_equal(before, np.diag(np.diag(before)))
    assert np.diag(before) == pytest.approx(np.ones(5), rel=1e-3)


def test_categories_are_weighed_as_a_diagonal_is():
    before, curvature = posterior_of(7, 0)
    plain, alone = Posterior.of(before, curvature), Posterior.of_alone(curvature)
    measured, weights = np.random.default_rng(3).normal(size=7, scale=60.0), np.array([0.4, 0.6])
    for variance in (1e-3, 900.0, 1e6):
        expected = plain.mean(measured, variance, SCALES, weights)
        assert alone.mean(measured, variance, SCALES, weights) == pytest.approx(expected)
        likely = plain.evidence(measured, variance, SCALES)
        assert alone.evidence(measured, variance, SCALES) == pytest.approx(likely)


def test_neighbours_go_together_and_no_direction_is_impossible():
    for n_values in (1, 2, 5, 32):
        before = covariance(n_values + 1, n_values, SETTINGS)
        assert np.array_equal(before, before.T)
        assert np.linalg.eigvalsh(before).min() > 0
    first = covariance(9, 8, SETTINGS)[0, :8]
    assert (np.diff(first) < 0).all()
    # One value has no neighbour, and no line.
    assert covariance(1, 1, SETTINGS)[0, 0] <= 1.001


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


@pytest.mark.parametrize("rows", [1e150, 1e200, 1e308])
def test_absurdly_many_declared_rows_make_sizes_that_can_be_stored_and_squared(rows):
    found = likely_counts(np.array([-30.0, 5.0]), rows, 100.0, 0.1)
    assert (found > 0).all() and (found**2 < LARGEST).all()


def test_scales_are_told_by_what_was_measured():
    """Of 40 curves those of a large scale are found, and the others are not taken for one."""
    before, curvature = posterior_of(9, 8)
    posterior, generator = Posterior.of(before, curvature), np.random.default_rng(6)
    scales, root, evidence = np.array([0.02, 0.2, 2.0]), np.linalg.cholesky(before), []
    for feature in range(40):
        curve = (2.0 if feature < 10 else 0.02) * root @ generator.normal(size=9)
        measured = curvature * curve + 5.0 * generator.normal(size=9)
        evidence.append(posterior.evidence(measured, 25.0, scales))
    shares = np.array([shares_of(np.array(evidence), feature) for feature in range(40)])
    assert shares.sum(axis=1) == pytest.approx(np.ones(40))
    assert shares[:10, 2].min() > 0.9 and shares[10:, 2].max() < 0.01


def test_scales_that_nothing_tells_apart_are_as_likely_as_each_other():
    assert shares_of(np.zeros((4, 5)), 2) == pytest.approx(np.full(5, 0.2))
    # What a feature does not say, the others do.
    evidence = np.zeros((30, 2))
    evidence[1:, 1] = 20.0
    assert shares_of(evidence, 0)[1] > 0.9
