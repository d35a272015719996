"""Rules beside a forest: what is asked for, what a record moves, what is stored."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetAccountant
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import LearnerBudget
from dpforest.exceptions import ModelFormatError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.combined import CombinedLearner, CombinedModel, CombinedSettings
from dpforest.trees.combined.kernels.blends import add_blend_scores
from dpforest.trees.combined.learner import released_prior
from dpforest.trees.combined.queries import STEPS, BlendTotals
from dpforest.trees.rules import RulesLearner, RulesSettings
from dpforest.trees.training import train_on

LEARNER = CombinedLearner(CombinedSettings(rules=RulesLearner(RulesSettings(n_sums=8, n_cuts=7))))


def pure(epsilon):
    return LearnerBudget(Fraction(epsilon), Fraction(0))


def fitted(facts, table, seed=0, epsilon=8, learner=LEARNER):
    plan = learner.plan(facts, pure(epsilon))
    accountant, done = BudgetAccountant(epsilon), []
    with accountant.open_scope("fit", reserve=plan.loss) as scope:
        source, records = SeededSource(seed), MemoryRecords(table)
        model = train_on(learner, plan, scope, source, records, facts, lambda: done.append(1))
        spent = scope.loss
    return model, plan, spent, accountant


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rows", [None, 3.0, 400.0, 5000.0])
def test_a_plan_costs_exactly_epsilon_and_so_does_training(n_classes, rows, facts_of, table_of):
    facts = facts_of([12, -4, 9], n_classes, approximate_rows=rows)
    model, plan, spent, accountant = fitted(facts, table_of(facts, 150))
    assert spent == plan.loss and plan.loss.epsilon == 8 and accountant.spent.epsilon == 8.0
    assert sum(part.loss.epsilon for part in plan.parts) == 8
    assert [entry.role for entry in accountant.ledger] == [part.name for part in plan.parts]
    assert LEARNER.plan(facts, LearnerBudget(Fraction(8), Fraction(1, 10**6))) == plan
    assert model.log_odds(table_of(facts, 30, seed=3).codes).shape == (30, n_classes)


def test_whatever_the_records_are_the_same_is_asked_for(facts_of, table_of):
    facts = facts_of([12, -4, 9], 3, approximate_rows=3000)
    one_class = table_of(facts, 60, labels=np.full(60, 2))
    ledgers = set()
    for seed, table in enumerate([table_of(facts, 0), table_of(facts, 90), one_class]):
        model, _, _, accountant = fitted(facts, table, seed)
        ledgers.add(str([entry.model_dump() for entry in accountant.ledger]))
        assert np.isfinite(model.log_odds(table_of(facts, 20, seed=5).codes)).all()
    assert len(ledgers) == 1


def without(table, place):
    codes, labels = np.delete(table.codes, place, axis=0), np.delete(table.labels, place)
    return Table(codes, labels, table.n_codes, table.offsets, table.ordered, table.n_classes)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_record_moves_every_pair_by_a_step_between_none_and_all(n_classes, facts_of, table_of):
    facts = facts_of([12, -4, 9], n_classes, approximate_rows=3000)
    table = table_of(facts, 200)
    model, plan, *_ = fitted(facts, table)
    totals = BlendTotals(model, np.array(plan.shape.settings.pairs), plan.shape.log_bound)
    whole = totals.count(Chunk(table))
    for place in (0, 1, 57, 198, 199):
        moved = whole - totals.count(Chunk(without(table, place)))
        assert (moved >= 0).all() and (moved <= STEPS).all()
        assert moved.sum() <= totals.sensitivity.l1
        assert (moved**2).sum() <= totals.sensitivity.l2_squared
        # Exactly the part of that record alone: no other's part depends on it.
        alone = Table(
            table.codes[[place]], table.labels[[place]], table.n_codes, table.offsets,
            table.ordered, n_classes,
        )  # fmt: skip
        assert np.array_equal(moved, totals.count(Chunk(alone)))


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e308])
def test_wild_scores_keep_the_range(wild):
    first = np.array([[wild, 0.0], [0.0, wild]])
    totals = np.zeros(2, dtype=np.int64)
    weights = np.array([[1.0, 0.0], [1.0, 1.0]])
    add_blend_scores(
        first, np.zeros((2, 2)), np.array([0, 0], dtype=np.uint8), np.log([0.5, 0.5]),
        weights, 2.0, STEPS, totals,
    )  # fmt: skip
    assert (totals >= 0).all() and (totals <= 2 * STEPS).all()


def test_totals_are_the_log_probabilities():
    generator = np.random.default_rng(1)
    first, second = generator.normal(size=(2, 40, 3))
    labels = generator.integers(0, 3, 40).astype(np.uint8)
    log_prior, bound = np.log([0.2, 0.3, 0.5]), 3.0
    weights = np.array([[0.3, 1.0], [0.0, 0.5]])
    totals = np.zeros(2, dtype=np.int64)
    add_blend_scores(first, second, labels, log_prior, weights, bound, STEPS, totals)
    for total, (a, b) in zip(totals, weights, strict=True):
        scores = a * first + b * second + (1 - a - b) * log_prior
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        parts = (np.maximum(logs[np.arange(40), labels], -bound) + bound) / bound
        assert math.isclose(total / STEPS, parts.sum(), abs_tol=41 / STEPS)


def test_what_is_worth_more_weighs_more(facts_of, table_of):
    facts = facts_of([12, -4, 9], 2, approximate_rows=5000)
    table = table_of(facts, 4000)
    model, plan, *_ = fitted(facts, table, epsilon=20)
    # With the forest's scores turned round, the choice has to fall on the rules.
    forest = replace(model.forest, values=-model.forest.values)
    turned = replace(model, forest=forest)
    totals = BlendTotals(turned, np.array(plan.shape.settings.pairs), plan.shape.log_bound)
    a, b = plan.shape.settings.pairs[int(totals.count(Chunk(table)).argmax())]
    assert a > 0 and b == 0
    assert sum(model.weights) > 0


def test_a_drowned_prior_is_even():
    little, much = (
        GeometricNoise(epsilon, Fraction(1)) for epsilon in (Fraction(1, 10**4), Fraction(10))
    )
    shares = released_prior(np.array([-50, 300, 0]), little)
    assert shares.max() < 0.36 and math.isclose(shares.sum(), 1)
    assert released_prior(np.array([300, 700]), much) == pytest.approx([0.3, 0.7], abs=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_stored_and_read_back(n_classes, facts_of, table_of):
    facts = facts_of([12, -4, 9], n_classes, approximate_rows=5000)
    model, *_ = fitted(facts, table_of(facts, 100))
    data = json.loads(json.dumps(model.to_data(), allow_nan=False))
    again = CombinedModel.from_data(data, facts)
    codes = table_of(facts, 50, seed=8).codes
    assert np.array_equal(again.log_odds(codes), model.log_odds(codes))
    assert again.feature_importances().sum() == pytest.approx(1)
    assert again.partial_scores(0, facts).shape == (12, n_classes)
    for key, value in (("weights", [1.0]), ("weights", [-1, 1]), ("log_prior", [0.0]), ("kind", 1)):
        with pytest.raises(ModelFormatError):
            CombinedModel.from_data({**data, key: value}, facts)
