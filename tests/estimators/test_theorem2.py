"""Theorem 2 end to end: a fit asks level by level and arrives at exactly epsilon."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dpforest import BudgetAccountant, MultinomialForestClassifier
from dpforest.accounting.allocation import ExplicitAllocation, Theorem2Allocation
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.lists import ESTIMATION, STRUCTURE
from dpforest.trees.multinomial.plan import LEAF_RULES, build_plan


def cases(n: int) -> list[tuple[str, int, int, str]]:
    generator = random.Random(20)
    rates = ("1", "1/3", "2.5", "0.01")
    return [
        (
            f"{generator.randint(1, 9999)}e-{generator.randint(0, 6)}",
            generator.randint(1, 7),
            generator.randint(1, 4),
            generator.choice(rates),
        )
        for _ in range(n)
    ]


@pytest.mark.parametrize(("epsilon", "n_trees", "depth", "rate"), cases(25))
def test_a_fit_spends_exactly_epsilon(epsilon, n_trees, depth, rate, domain, table):
    accountant = BudgetAccountant(epsilon)
    share = Theorem2Allocation(feature_share=Fraction(n_trees, n_trees + depth))
    forest = MultinomialForestClassifier.as_published(
        epsilon=float(epsilon), domain=domain, n_estimators=n_trees, max_depth=depth,
        partition_rate=rate, accountant=accountant, allocation=share,
    ).fit(*table(20))  # fmt: skip
    assert forest.spent_.exact.epsilon == Fraction(epsilon)
    assert forest.spent_.epsilon == float(epsilon)
    assert accountant.remaining.exact.epsilon == 0


def test_requests_of_every_tree(domain, table):
    epsilon, n_trees, depth = Fraction(3, 7), 3, 4
    forest = MultinomialForestClassifier.as_published(
        epsilon=epsilon, domain=domain, n_estimators=n_trees, max_depth=depth
    ).fit(*table(20))
    (fit,) = forest.accountant_.composition().children
    (trees,) = fit.children
    assert len(trees.children) == n_trees
    for tree in trees.children:
        assert len(tree.ledger) == 2 * depth + 1
        assert tree.composed.loss.epsilon == epsilon / n_trees
        assert tree.entries == ()
        (both,) = tree.children
        assert both.kind == "parallel records"
        assert {Fraction(p) for p in both.probabilities.values()} == {Fraction(1, 2)}
        sides = {side.label: side for side in both.children}
        structure, estimation = sides[STRUCTURE], sides[ESTIMATION]
        assert len(sides) == 2
        for side in both.children:
            assert side.composed.loss.epsilon == epsilon / n_trees
        levels = [(entry.role, entry.level, entry.cells) for entry in structure.entries]
        assert levels == [
            (role, level, 2**level)
            for level in range(depth)
            for role in ("feature selection", "value selection")
        ]
        for entry in structure.entries:
            assert entry.loss.epsilon == epsilon / n_trees / depth / 2
            assert Fraction(entry.parameters["score_range"]) == 2
        (leaf,) = estimation.entries
        assert (leaf.role, leaf.cells) == ("leaf label", 2**depth)
        assert leaf.loss.epsilon == epsilon / n_trees


def test_count_mode_adds_splits_and_leaves(make_forest, table):
    forest = make_forest(epsilon="1/3", n_estimators=3, max_depth=3).fit(*table(20))
    assert forest.spent_.exact.epsilon == Fraction(1, 3)
    (fit,) = forest.accountant_.composition().children
    for tree in fit.children[0].children:
        assert tree.children == () and len(tree.entries) == 7
        assert sum(entry.loss.epsilon for entry in tree.entries) == Fraction(1, 9)


@pytest.mark.parametrize(
    ("parameters", "requests"),
    [
        ({"choice": "joint"}, 4),
        ({"choice": "joint", "selection": "permute_and_flip"}, 4),
        ({"leaves": "count_label"}, 7),
        ({"allocation": "per_level"}, 7),
        ({"partition_rate": 2}, 7),
    ],
)
def test_every_plan_costs_what_it_reserved(parameters, requests, make_forest, table):
    accountant = BudgetAccountant(1)
    forest = make_forest(accountant=accountant, max_depth=3, **parameters).fit(*table(20))
    (fit,) = accountant.composition().children
    assert fit.composed.loss == fit.reserve.loss
    assert forest.spent_.exact == fit.composed.loss
    assert forest.spent_.exact.epsilon == 1
    assert [len(tree.ledger) for tree in fit.children[0].children] == [requests] * 2


def test_explicit_budgets_are_what_they_add_up_to(make_forest, table):
    shares = ExplicitAllocation("0.01", "0.02", "0.1")
    forest = make_forest(allocation=shares, n_estimators=2, max_depth=3).fit(*table(20))
    assert forest.spent_.exact.epsilon == 2 * (3 * Fraction(3, 100) + Fraction(1, 10))
    sides = make_forest(allocation=shares, n_estimators=2, max_depth=3, partition_rate=1)
    spent = sides.fit(*table(20)).spent_.exact.epsilon
    # Sides drawn by halves: more than the smaller side, less than the larger one.
    assert 2 * Fraction(9, 100) < spent < 2 * Fraction(1, 10)


def test_a_delta_buys_more_than_pure_epsilon(make_forest, table):
    accountant = BudgetAccountant(1, delta=1e-6)
    forest = make_forest(delta=1e-6, accountant=accountant, n_estimators=5).fit(*table(20))
    assert forest.spent_.exact.rho <= accountant.total.exact.rho
    assert 0.99 < forest.spent_.epsilon <= 1 and forest.spent_.delta == 1e-6
    # Under zero-concentrated accounting the draws may be larger than epsilon divided among them.
    pure = make_forest(n_estimators=5).fit(*table(20))
    first = forest.accountant_.ledger[0].loss.epsilon
    assert first > pure.accountant_.ledger[0].loss.epsilon


@pytest.mark.parametrize("leaves", sorted(LEAF_RULES))
@pytest.mark.parametrize("selection", ["exponential", "permute_and_flip"])
def test_every_kind_of_draw_uses_its_share_of_rho_and_no_more(leaves, selection):
    delta = Fraction(1, 10**6)
    forest = MultinomialForestClassifier(epsilon=1, leaves=leaves, selection=selection)
    wanted = forest.set_params(delta=delta)._wanted()
    plan = build_plan(wanted.learner.settings, wanted.budget)
    cap = rho_of_epsilon(Fraction(1), delta)
    assert Fraction(999, 1000) * cap < plan.loss.rho <= cap
