"""The attacker's odds that follow from (epsilon, delta), against laws that reach them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpforest.report.odds import (
    belief_after,
    best_guess,
    corner,
    corners,
    largest_true_positive_rate,
)

GUARANTEES = [(0.0, 0.0), (0.1, 0.0), (1.0, 0.0), (1.0, 1e-3), (3.0, 0.1), (0.0, 0.3), (30.0, 1e-6)]


def worst_law(epsilon, delta):
    """Laws with and without the record that reach (epsilon, delta): of four outputs."""
    kept, share = 1 - delta, math.exp(epsilon) / (1 + math.exp(epsilon))
    return (
        np.array([delta, kept * share, kept * (1 - share), 0.0]),
        np.array([0.0, kept * (1 - share), kept * share, delta]),
    )


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
def test_the_bound_is_reached_and_never_passed(epsilon, delta):
    inside, outside = worst_law(epsilon, delta)
    rates = [(0.0, 0.0)]
    for n in range(1, 5):  # the most powerful tests accuse by likelihood ratio
        rates.append((outside[:n].sum(), inside[:n].sum()))
    for false, true in rates:
        bound = largest_true_positive_rate(epsilon, delta, false)
        assert true <= bound + 1e-12
        if true > 0:
            assert true == pytest.approx(bound, abs=1e-12)
    grid = np.linspace(0, 1, 101)
    drawn = np.interp(grid, *zip(*corners(epsilon, delta), strict=True))
    bounds = [largest_true_positive_rate(epsilon, delta, rate) for rate in grid]
    assert drawn == pytest.approx(bounds, abs=1e-9)
    assert best_guess(epsilon, delta) == pytest.approx(
        np.maximum(inside, outside).sum() / 2, abs=1e-12
    )
    assert corner(epsilon, delta) == pytest.approx(1 - best_guess(epsilon, delta))


def test_extremes():
    assert largest_true_positive_rate(math.inf, 0, 0) == 1
    assert largest_true_positive_rate(1000, 0, 0) == 0  # it accuses on nothing that may err
    assert largest_true_positive_rate(1000, 0, 0.5) == 1
    assert best_guess(0, 0) == 0.5 and best_guess(math.inf, 0) == 1
    assert belief_after(0.01, 1e4, 0) == (0, 1)


@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_beliefs_move_by_the_factor(prior):
    least, largest = belief_after(prior, 1, 0)
    inside, outside = worst_law(1, 0)
    after = prior * inside[1:3] / (prior * inside[1:3] + (1 - prior) * outside[1:3])
    assert (least, largest) == pytest.approx((after.min(), after.max()))
    assert belief_after(prior, 0, 0) == pytest.approx((prior, prior))


def exceptional(inside, outside, prior, epsilon, delta):
    """Probability, with the record, of outputs after which the belief passes the bound."""
    largest = belief_after(prior, epsilon, delta)[1]
    beliefs = prior * inside / np.maximum(prior * inside + (1 - prior) * outside, 1e-300)
    return inside[beliefs > largest + 1e-12].sum()


@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_with_a_delta_exceptions_are_rare(delta):
    generator, held = np.random.default_rng(0), 0
    for _ in range(2000):
        outside = generator.dirichlet(np.full(6, 0.4))
        epsilon = generator.uniform(0, 2)
        moved = outside * np.exp(generator.uniform(-1, 1.5, 6) * epsilon * 2)
        inside = moved / moved.sum()
        excess = max(
            np.maximum(inside - math.exp(epsilon) * outside, 0).sum(),
            np.maximum(outside - math.exp(epsilon) * inside, 0).sum(),
        )
        if excess <= delta:
            held += 1
            assert exceptional(inside, outside, 0.3, epsilon, delta) <= 2 * delta + 1e-12
    assert held > 20
    # And the exception is needed: a law of (epsilon, delta) that gives a record away outright.
    inside, outside = worst_law(0.5, delta)
    assert exceptional(inside, outside, 0.3, 0.5, delta) == pytest.approx(delta)
