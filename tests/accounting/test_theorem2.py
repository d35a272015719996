"""Theorem 2 of the MRF paper: the scopes arrive at exactly epsilon, as rationals."""

from __future__ import annotations

import random
from fractions import Fraction as F

import pytest

from dpforest.accounting import BudgetAccountant, ExponentialSelection, PrivacyLoss
from dpforest.accounting.allocation import Theorem2Allocation
from dpforest.exceptions import BudgetExceeded

TWO = F(2)


def grow(scope, tree: int, shares, probability: F) -> None:
    """Ask for what one tree of the paper asks for."""
    sides = {"structure": probability, "estimation": 1 - probability}
    with scope.parallel_records(f"tree {tree}", sides) as both:
        structure = both.side("structure")
        for level, (b1, b2) in enumerate(zip(shares.feature, shares.value, strict=True)):
            for role, share in (("feature selection", b1), ("value selection", b2)):
                event = ExponentialSelection(share, TWO)
                structure.request(event, role=role, cells=2**level, level=level)
        event = ExponentialSelection(shares.leaf, TWO)
        both.side("estimation").request(event, role="label", cells=2 ** len(shares.feature))


def random_plan(chance: random.Random) -> tuple[F, int, int, F, F]:
    # Sizes are drawn on a log scale, so that large ones occur and the sum stays small.
    return (
        F(chance.randint(1, 10**6), chance.randint(1, 10**6)),
        int(30 ** chance.random()) + (chance.random() < 0.01),
        int(12 ** chance.random()) + (chance.random() < 0.01),
        F(chance.randint(1, 9), 10),
        F(chance.randint(1, 9), 10),
    )


# Sums are exact, so what is wrong of a plan is wrong of nearly every one that is drawn.
@pytest.mark.parametrize("batch", range(3))
def test_a_hundred_random_forests_cost_exactly_epsilon(batch):
    chance = random.Random(1000 + batch)
    for _ in range(100):
        epsilon, n_trees, depth, feature_share, probability = random_plan(chance)
        allocation = Theorem2Allocation(feature_share)
        shares = allocation.shares(epsilon, n_trees, depth, partitioned=True, joint=False)
        accountant = BudgetAccountant(epsilon)
        for tree in range(n_trees):
            grow(accountant, tree, shares, probability)
        assert accountant.loss.epsilon == epsilon
        assert isinstance(accountant.loss.epsilon, F)
        assert accountant.remaining.exact.epsilon == 0
        with pytest.raises(BudgetExceeded):
            accountant.request(ExponentialSelection(F(1, 10**30), TWO), role="one more")


def test_the_whole_fits_into_a_reserve_of_its_own_plan():
    shares = Theorem2Allocation().shares(F(1), 5, 4, partitioned=True, joint=False)
    dry = BudgetAccountant._unlimited()
    for tree in range(5):
        grow(dry, tree, shares, F(1, 3))
    accountant = BudgetAccountant(1)
    with accountant.open_scope("fit", reserve=dry.loss) as fit:
        for tree in range(5):
            grow(fit, tree, shares, F(1, 3))
    assert accountant.loss == dry.loss == PrivacyLoss(F(1), dry.loss.rho)
