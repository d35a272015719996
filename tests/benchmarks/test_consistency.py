"""Errors of the consistent forests fall toward the best possible, at sizes that are quick.

Pairs of fits, n = 1000 and n = 16,000, 16 trees, k = √n. Differences of the excess were measured
over eight pairs: their means are 0.015 to 0.022 (CompRF-C 0.009), their standard deviations at
most 0.006 (0.003). With 20 pairs and a threshold of half the least mean, a forest like these fails,
and one whose error does not fall passes, with probability below 1e-8 each (normal tails at 5.6
standard errors or more). Regressors fall by 0.034 to 0.049 with deviations of 0.007 to 0.009, which
leaves 8 standard errors on either side of 0.017. docs/consistency.md has the whole curves.
"""

from __future__ import annotations

import numpy as np
import pytest
from common import smooth
from papers.comprf import CompRFCClassifier

import dpforest

N_PAIRS, SMALL, LARGE, N_TREES = 20, 1_000, 16_000, 16
TEST = smooth.draw(4_000, seed=10**6)


def grown(name, **parameters):
    """A forest of the grower, of (seed, n)."""
    return lambda seed, n: getattr(dpforest, name)(
        N_TREES, leaf_size=int(np.sqrt(n)), random_state=seed, **parameters
    )


def compared(seed, n):
    """CompRF-C."""
    return CompRFCClassifier(
        n_estimators=N_TREES, max_samples_leaf=int(np.sqrt(n)), random_state=seed
    )


def mean_fall(make, fit_and_measure):
    """Mean over the pairs of how much the excess falls."""
    falls = []
    for seed in range(N_PAIRS):
        small, large = (
            fit_and_measure(make(seed, n), smooth.draw(n, seed)) for n in (SMALL, LARGE)
        )
        falls.append(small - large)
    return float(np.mean(falls))


def risk(forest, sample):
    return smooth.excess_risk(forest.fit(sample.X, sample.labels).predict(TEST.X), TEST)


def error(forest, sample):
    return smooth.excess_error(forest.fit(sample.X, sample.targets).predict(TEST.X), TEST)


@pytest.mark.parametrize("name", ["MRF", "MRF2019", "DMRF", "BRF", "Denil14"])
def test_classifier_nears_the_bayes_risk(name):
    assert mean_fall(grown(f"{name}Classifier"), risk) > 0.0075


def test_comparison_forest_nears_the_bayes_risk():
    assert mean_fall(compared, risk) > 0.0045


@pytest.mark.parametrize("name", ["BRF", "MRF2019", "DMRF"])
def test_regressor_nears_the_noise_variance(name):
    parameters = {} if name == "BRF" else {"criterion": "weighted_mse"}
    assert mean_fall(grown(f"{name}Regressor", **parameters), error) > 0.017


def test_forest_of_fixed_depth_does_not():
    # Measured: 0.002 with a deviation of 0.008, so 3 standard errors below; the seeds are fixed.
    assert mean_fall(grown("MRFClassifier", max_depth=1), risk) < 0.0075


def test_bayes_risk_is_that_of_a_fine_grid():
    x = (np.arange(2_000) + 0.5) / 2_000
    signal = np.add.outer(np.sin(2 * np.pi * x), np.sin(2 * np.pi * x))
    better = 0.5 + np.abs(signal) / 4
    assert 1 - better.mean() == pytest.approx(smooth.BAYES_RISK, abs=1e-6)


def test_excess_is_none_for_the_best_and_known_for_a_constant():
    sample = smooth.draw(200_000, seed=1)
    best = (sample.signal > 0).astype(int)
    assert smooth.excess_risk(best, sample) == 0
    # 200,000 draws of |2η − 1| · 1{wrong}, whose deviation is at most 0.5: 6.5 errors are 0.0073.
    always = smooth.excess_risk(np.ones_like(best), sample)
    assert always == pytest.approx(smooth.EXCESS_OF_A_CONSTANT, abs=0.0073)
    assert smooth.excess_error(sample.signal, sample) == 0
