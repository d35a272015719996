"""Limits and bounds against closed forms, and their error rate against simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest

from dpforest.audit.bounds import (
    SHARES,
    certified_epsilon,
    largest_certifiable,
    largest_epsilon,
    lower_limit,
    upper_limit,
)


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (3, 10), (10, 10), (517, 1000)])
@pytest.mark.parametrize("alpha", [0.05, 1e-7])
def test_limits_are_those_of_clopper_and_pearson(hits, runs, alpha):
    both = binomtest(hits, runs).proportion_ci(confidence_level=1 - 2 * alpha, method="exact")
    assert lower_limit(hits, runs, alpha) == pytest.approx(both.low, abs=1e-12)
    assert upper_limit(hits, runs, alpha) == pytest.approx(both.high, rel=1e-7)


def test_no_hit_in_n_runs_has_a_limit_in_closed_form():
    assert upper_limit(0, 1000, 1e-9) == pytest.approx(1 - 1e-9 ** (1 / 1000), rel=1e-12)


@pytest.mark.parametrize(
    ("runs", "epsilon"), [(100, 3.28), (200, 3.98), (1000, 5.60), (10_000, 7.90)]
)
def test_what_so_many_runs_can_certify(runs, epsilon):
    # The known table: no error seen, 97.5 % on each side.
    assert certified_epsilon(runs, 0, runs, runs, 0.0, 0.05) == pytest.approx(epsilon, abs=0.01)
    assert largest_certifiable(runs, 0.0, 0.05) >= epsilon - 0.01


def test_a_delta_is_taken_off_the_likelier_side():
    without, with_delta = (certified_epsilon(600, 100, 1000, 1000, d, 0.01) for d in (0.0, 0.1))
    p, q = lower_limit(600, 1000, 0.005), upper_limit(100, 1000, 0.005)
    assert without == pytest.approx(np.log(p / q))
    assert with_delta == pytest.approx(np.log((p - 0.1) / q))
    assert certified_epsilon(600, 100, 1000, 1000, 0.9, 0.01) == 0.0


def test_bounds_are_never_negative_and_grow_with_the_evidence():
    bounds = certified_epsilon(np.arange(0, 1001, 100), 100, 1000, 1000, 0.0, 0.01)
    assert (bounds >= 0).all()
    assert (np.diff(bounds) >= 0).all()


def test_the_upper_end_is_infinite_where_the_other_side_was_never_seen():
    assert largest_epsilon(50, 0, 100, 0.0, 0.05) == float("inf")
    assert largest_epsilon(0, 50, 100, 0.0, 0.05) == 0.0
    assert largest_epsilon(50, 50, 1000, 0.0, 0.05) > 0.0


@pytest.mark.parametrize("share", SHARES)
def test_the_bound_is_too_large_no_more_often_than_stated(share):
    # 20,000 experiments with the event's true log ratio ln 3 at a stated error of 5 %: more than
    # 1,150 errors have probability below 1e-6 under a rate of 5 %.
    rng = np.random.default_rng(5)
    more, less = rng.binomial(200, 0.6, 20_000), rng.binomial(200, 0.2, 20_000)
    bounds = certified_epsilon(more, less, 200, 200, 0.0, 0.05, share)
    assert np.sum(bounds > np.log(3)) <= 1150
