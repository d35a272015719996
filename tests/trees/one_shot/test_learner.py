"""The whole learner: cost, sensitivity, odd tables, what it learns, what it keeps."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget, Step
from dpforest.bridge import bridge
from dpforest.exceptions import GrantError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.base import TableFacts
from dpforest.trees.one_shot import OneShotForest, OneShotModel
from dpforest.trees.one_shot.plan import Role
from dpforest.trees.one_shot.settings import OneShotSettings, OneShotSize
from dpforest.trees.training import train_on

PURE = LearnerBudget(Fraction(1), Fraction(0))
CONCENTRATED = LearnerBudget(Fraction(1), Fraction(1, 10**6))
N_CODES = np.array([40, 4, 40, 3])
ORDERED = np.array([True, False, True, False])
N_CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
BUDGETS = pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])


def table_of(n: int, n_classes: int, seed: int = 1) -> Table:
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, k, n) for k in N_CODES]).astype(np.uint8)
    labels = (codes[:, 0] * n_classes // 40 + (codes[:, 1] == 2)) % n_classes
    noise = generator.random(n) < 0.1
    labels = np.where(noise, generator.integers(0, n_classes, n), labels).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum(N_CODES)]).astype(np.int64)
    return Table(codes, labels, N_CODES, offsets, ORDERED, n_classes)


def facts_of(n_classes: int, rows: float | None = 20_000.0) -> TableFacts:
    scaled = tuple(
        np.linspace(0.0, 1.0, n) if kind else None for n, kind in zip(N_CODES, ORDERED, strict=True)
    )
    return TableFacts(
        N_CODES, ORDERED, np.array([True, False, False, False]), scaled, n_classes, rows
    )


def fit(table, facts, budget, seed=1, settings=None):
    forest = OneShotForest(settings or OneShotSettings())
    plan = forest.plan(facts, budget)
    accountant = BudgetAccountant(budget.epsilon, budget.delta)
    with accountant.open_scope("fit", reserve=plan.loss) as scope:
        model = train_on(
            forest, plan, scope, SeededSource(seed), MemoryRecords(table), facts, lambda: None
        )
        spent = scope.loss
    return model, plan, spent


def log_loss(scores: np.ndarray, labels: np.ndarray) -> float:
    top = scores.max(axis=1)
    log_sum = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return float((log_sum - scores[np.arange(labels.size), labels]).mean())


@N_CLASSES
@BUDGETS
@pytest.mark.parametrize("rows", [None, 50.0, 20_000.0, 1e7])
def test_training_spends_the_plan_and_the_plan_keeps_to_the_budget(n_classes, budget, rows):
    facts = facts_of(n_classes, rows)
    _, plan, spent = fit(table_of(200, n_classes), facts, budget)
    assert spent == plan.loss
    assert sum((part.loss.rho for part in plan.parts), Fraction(0)) == plan.loss.rho
    if budget.delta:
        assert plan.loss.rho <= budget.rho < plan.loss.rho * Fraction(101, 100)
    else:
        assert plan.loss.epsilon == budget.epsilon
    assert all(isinstance(text, str) for text in plan.describe().values())


@N_CLASSES
@pytest.mark.parametrize("record", [0, 7, 199])
def test_a_record_adds_one_to_one_count_of_every_tree(monkeypatch, n_classes, record):
    seen = []

    # Paid for in pure epsilon: one kind of noise.
    def without_noise(raw_counts, grant, source):
        seen.append((grant.role, grant.event, raw_counts.copy()))
        return np.zeros_like(raw_counts)

    monkeypatch.setattr(bridge, "add_geometric_noise", without_noise)
    whole = table_of(200, n_classes)
    keep = np.arange(200) != record
    less = dataclasses.replace(whole, codes=whole.codes[keep], labels=whole.labels[keep])
    # No rows known: no quantiles, so both structures are the same, as they are given equal bins.
    facts = facts_of(n_classes, None)
    for table in (whole, less):
        fit(table, facts, PURE)
    half = len(seen) // 2
    assert {role for role, *_ in seen} == {Role.PRIOR, Role.LEAVES}
    for (role, event, first), (_, _, second) in zip(seen[:half], seen[half:], strict=True):
        difference = first - second
        assert difference.min() == 0 and difference.max() == 1
        assert difference.sum() == event.l1_sensitivity
        if role == Role.LEAVES:
            n_trees = int(event.l1_sensitivity)
            assert (difference.reshape(n_trees, -1).sum(axis=1) == 1).all()


@N_CLASSES
@BUDGETS
def test_any_table_is_learnt_without_a_word(n_classes, budget):
    facts = facts_of(n_classes)
    one_class = table_of(300, n_classes)
    one_class.labels[:] = 1
    for table in (table_of(0, n_classes), table_of(1, n_classes), one_class):
        model, _, _ = fit(table, facts, budget)
        scores = model.log_odds(table_of(50, n_classes).codes)
        assert scores.shape == (50, n_classes)
        assert np.isfinite(scores).all()
        assert np.isfinite(model.feature_importances()).all()


@N_CLASSES
@BUDGETS
def test_it_learns(n_classes, budget):
    model, _, _ = fit(table_of(20_000, n_classes), facts_of(n_classes), budget)
    test = table_of(4000, n_classes, seed=2)
    scores = model.log_odds(test.codes)
    assert (scores.argmax(axis=1) == test.labels).mean() > 0.8
    assert log_loss(scores, test.labels) < 0.65
    importances = model.feature_importances()
    assert abs(importances.sum() - 1.0) < 1e-9
    assert importances[:2].sum() > 0.75


@N_CLASSES
def test_where_nothing_can_be_learnt_the_released_prior_is_left(n_classes):
    test = table_of(4000, n_classes, seed=2)
    for rows, n in ((None, 100), (100.0, 100), (20_000.0, 100)):
        losses, of_prior = [], []
        for seed in range(20):
            table = table_of(n, n_classes, seed=seed + 10)
            budget = LearnerBudget(Fraction(1, 100), Fraction(0))
            model, _, _ = fit(table, facts_of(n_classes, rows), budget, seed)
            prior = OneShotModel(**{**fields(model), "values": np.zeros_like(model.values)})
            losses.append(log_loss(model.log_odds(test.codes), test.labels))
            of_prior.append(log_loss(prior.log_odds(test.codes), test.labels))
        standard_error = np.std(of_prior, ddof=1) / 20**0.5
        assert np.mean(losses) <= np.mean(of_prior) + standard_error


def fields(model: OneShotModel) -> dict:
    return {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}


@N_CLASSES
def test_the_model_survives_json(n_classes):
    model, _, _ = fit(table_of(500, n_classes), facts_of(n_classes), PURE)
    again = OneShotModel.from_data(json.loads(json.dumps(model.to_data())), facts_of(n_classes))
    codes = table_of(100, n_classes).codes
    assert (again.log_odds(codes) == model.log_odds(codes)).all()
    assert (again.feature_importances() == model.feature_importances()).all()


def test_the_same_words_give_the_same_model_and_others_another():
    table, facts = table_of(500, 2), facts_of(2)
    first, again, other = (fit(table, facts, PURE, seed)[0] for seed in (1, 1, 2))
    assert (first.values == again.values).all()
    assert (first.values != other.values).any()


def test_a_release_wants_a_grant_for_all_its_leaves():
    facts = facts_of(2)
    forest = OneShotForest(OneShotSettings(fixed_size=OneShotSize(3, 4, (2,))))
    plan = forest.plan(facts, PURE)

    def stingy(one):
        steps = (Step(tuple(dataclasses.replace(r, cells=1) for r in one.releases)),)
        return dataclasses.replace(one, steps=steps)

    plan = dataclasses.replace(plan, rounds=tuple(map(stingy, plan.rounds)))
    records = MemoryRecords(table_of(9, 2))
    with BudgetAccountant(1).open_scope("fit") as scope, pytest.raises(GrantError, match="cells"):
        train_on(forest, plan, scope, SeededSource(1), records, facts, lambda: None)


@pytest.mark.parametrize("n_classes", [3, 5, 12, 32])
@pytest.mark.parametrize("rows", [100.0, 400.0, 600.0])
def test_labels_that_noise_makes_are_not_sure(n_classes, rows):
    """Where no calibration is bought, scores of noise alone cost little log loss."""
    facts, losses = facts_of(n_classes, rows), []
    for seed in range(4):
        table = table_of(int(rows), n_classes, seed)
        generator = np.random.default_rng(seed)
        table.labels[:], others = generator.integers(0, n_classes, (2, int(rows)))
        model, plan, _ = fit(table, facts, PURE, seed)
        assert plan.describe()["calibration"] == "none"
        losses.append(log_loss(model.log_odds(table.codes), others))
    assert np.mean(losses) < np.log(n_classes) + 0.35


def test_what_nothing_looked_at_keeps_its_labels():
    """A factor of all scores, 1 of two classes and wherever the slope is small."""
    settings = OneShotSettings()
    for n_classes, slope, wanted in [
        (2, 2.0, 1.0), (3, 0.5, 1.0), (3, 1.6, 0.5), (10, 0.3, 1.0), (10, 1.6, 0.25), (3, 0.0, 1.0)
    ]:  # fmt: skip
        assert settings.tempering(slope, n_classes) == pytest.approx(wanted)
