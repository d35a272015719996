"""Curves in turn: their plan is their cost, training keeps to it, and they find a known law."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    GeometricNoise,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.releases import LearnerBudget, PlanError
from dpforest.bridge.bridge import Bridge, Sealed
from dpforest.domain.schema import MAX_CATEGORIES
from dpforest.domain.targets import TARGET_STEPS
from dpforest.exceptions import ParameterError
from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.table import Table
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.curves.in_turn import plan as plan_module
from dpforest.trees.curves.in_turn.queries import ResidualSums
from dpforest.trees.curves.in_turn.settings import COUNTS, MOST_STEPS, InTurnSettings
from dpforest.trees.curves.in_turn.sizes import Role
from dpforest.trees.curves.in_turn.smoothing import Posterior, covariance
from dpforest.trees.scored.confidence import CONFIDENCE_ROLE
from dpforest.trees.scored.gradients import GRADIENT_STEPS
from dpforest.trees.scored.score_steps import SCORE_STEPS

DELTA = Fraction(1, 10**6)
IN_TURN = AdditiveForest(at_once=None)
SHAPES = [
    pytest.param([40, -5, 7, -2], 2, id="binary"),
    pytest.param([-3, 20, 9], 4, id="4 classes"),
]
CURRENCIES = [pytest.param(DELTA, id="rho"), pytest.param(Fraction(0), id="pure")]


def releases_of(plan):
    """Every release of a plan, in the order of training."""
    return [release for one in plan.rounds for release in one.releases * one.times]


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", CURRENCIES)
@pytest.mark.parametrize("n_features", [1, 4, 25])
def test_bins_and_cycles_are_few_until_curves_are_known(facts_of, n_features, delta):
    """Up to a public signal for each feature, which is a root of their number with a delta."""
    settings, budget = InTurnSettings(), LearnerBudget(Fraction(1), delta)
    known = 50.0 * n_features**0.5 if delta else 80.0 * n_features
    for signal, most, cycles in [
        (0.99 * known, 8, 4 if delta else 1), (1.01 * known, 32, 16 if delta else 3)
    ]:  # fmt: skip
        rows = signal / budget.signal(1.0)
        plan = IN_TURN.plan(facts_of([40] * n_features, 2, rows), budget)
        assert (plan.shape.max_bins, plan.shape.n_cycles) == (most, cycles)
        assert plan.n_steps == 2 + cycles * n_features
        assert f"at most {most} bins" in " ".join(plan.describe().values())
        assert settings.n_bins(signal, n_features, not delta) == most
    smaller = InTurnSettings(cycles=2, pure_cycles=1, max_bins=5)
    assert smaller.n_bins(0.0, n_features, not delta) == 5
    assert smaller.n_cycles(0.0, n_features, not delta) == (2 if delta else 1)


@pytest.mark.parametrize("delta", CURRENCIES)
def test_few_bins_and_cycles_say_more_where_little_is_known(facts_of, train, delta):
    """Curves go with the true lines, which all bins and cycles hardly show at such a budget."""
    rows, n_features, epsilon = 600, 5, "1/4"
    facts = facts_of([40] * n_features, 2, float(rows))
    many = InTurnSettings(few_cycles=16, few_pure_cycles=3, few_bins=32)
    signal = LearnerBudget(Fraction(epsilon), delta).signal(rows)
    assert not many.knows_bends(signal, n_features, not delta)
    truth, found = np.arange(40) / 20.0 - 1.0, []
    for settings in (InTurnSettings(), many):
        alike = []
        for seed in range(12):
            drawn = np.random.default_rng(seed)
            codes = drawn.integers(0, 40, (rows, n_features)).astype(np.uint8)
            chances = 1.0 / (1.0 + np.exp(-truth[codes].sum(axis=1)))
            labels = (drawn.random(rows) < chances).astype(np.uint8)
            table = Table(codes, labels, facts.n_codes, facts.offsets, facts.ordered, 2)
            model = train(
                facts, table, AdditiveForest(settings, at_once=None), epsilon, delta, seed
            ).model
            by_code = model.code_values.ravel()
            alike.append(np.corrcoef(by_code, np.tile(truth, n_features))[0, 1])
        found.append(np.mean(alike))
    assert found[0] > 0.25
    assert found[0] > found[1] + 0.08


# -- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", CURRENCIES)
@pytest.mark.parametrize("rows", [None, 30_000.0])
@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_training_asks_for_exactly_what_was_planned(
    facts_of, table_of, train, n_codes, n_classes, rows, delta
):
    facts = facts_of(n_codes, n_classes, rows)
    done = train(facts, table_of(facts, 200), delta=delta)
    assert done.books.loss == done.plan.loss
    asked = [(e.role, e.mechanism, e.cells, e.level) for e in done.books.ledger]
    listed = [(r.role, r.event.mechanism, r.cells, r.level) for r in releases_of(done.plan)]
    assert asked == listed
    # One pass each: the prior, all counts, the sums of one feature after the other; the last look.
    cycles = 3 if delta else 2
    looks = asked[-1][0] == CONFIDENCE_ROLE
    assert looks == (rows is not None and n_classes > 2)
    assert done.n_done == done.plan.n_steps == 2 + cycles * len(n_codes) + looks
    assert [role for role, *_ in asked[:2]] == [Role.PRIOR, Role.COUNTS]
    kinds = {DiscreteGaussianNoise} if delta else {GeometricNoise}
    if not delta and n_classes > 2:
        kinds.add(ZeroSumGeometricNoise)
    assert {type(release.event) for release in releases_of(done.plan)} == kinds


@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
def test_a_plan_uses_its_budget_and_never_more(facts_of, epsilon, rows, unit):
    for n_classes in (2,) if unit > 1 else (2, 7):
        facts = replace(facts_of([40, -5, 7, -2], n_classes, rows), unit=unit)
        budget = LearnerBudget(Fraction(epsilon), DELTA)
        plan = IN_TURN.plan(facts, budget)
        assert budget.rho * Fraction(999, 1000) < plan.loss.rho <= budget.rho
        pure = LearnerBudget(Fraction(epsilon), Fraction(0))
        plan = IN_TURN.plan(facts, pure)
        assert plan.loss.epsilon == pure.epsilon and plan.loss.delta == 0


def test_the_plan_is_made_of_public_facts(facts_of):
    facts = facts_of([40, -5], 2, 5000.0)
    for delta in (DELTA, Fraction(0)):
        budget = LearnerBudget(Fraction(1), delta)
        plan = IN_TURN.plan(facts, budget)
        assert plan == IN_TURN.plan(facts, budget)
        assert all(isinstance(text, str) for text in plan.describe().values())


@pytest.mark.parametrize("delta", CURRENCIES)
def test_a_wide_table_keeps_a_short_list(facts_of, delta):
    budget = LearnerBudget(Fraction(1), delta)
    narrow, wide = (IN_TURN.plan(facts_of([5] * n, 2, 1e4), budget) for n in (3, 2 * MOST_STEPS))
    assert len(wide.rounds) == len(narrow.rounds) < 10
    cycles = wide.shape.n_cycles
    assert 1 <= cycles <= narrow.shape.n_cycles
    assert wide.n_steps == 2 + cycles * 2 * MOST_STEPS
    assert not delta or cycles <= 2


@pytest.mark.parametrize("delta", CURRENCIES)
@pytest.mark.parametrize("stated", ["counts_sensitivity", "residual_sensitivity"])
@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_a_plan_that_understates_sums_is_refused(
    facts_of, table_of, train, monkeypatch, n_codes, n_classes, stated, delta
):
    facts, said = facts_of(n_codes, n_classes), getattr(plan_module, stated)

    def understated(*sizes: int) -> Sensitivity:
        own, less = said(*sizes), Fraction(1, 2)
        return Sensitivity(own.l1 - less, own.l2_squared - less)

    monkeypatch.setattr(plan_module, stated, understated)
    with pytest.raises(PlanError, match="is for less than one record moves"):
        train(facts, table_of(facts, 50), delta=delta)


@pytest.mark.parametrize("name", [
    field.name for field in fields(InTurnSettings)
])  # fmt: skip
def test_settings_without_a_meaning_are_refused(name):
    for value in (-1, float("nan"), 10**9 if name not in COUNTS else 0):
        with pytest.raises(ParameterError, match=name):
            InTurnSettings(**{name: value})


@pytest.mark.parametrize("delta", CURRENCIES)
def test_as_many_categories_as_a_domain_may_have_are_learnt(facts_of, table_of, train, delta):
    """No matrix of their number squared: that would be tens of gigabytes, after paying."""
    facts = facts_of([5, -MAX_CATEGORIES], 3, 1e4)
    model = train(facts, table_of(facts, 300), delta=delta).model
    assert model.code_values.shape == (5 + MAX_CATEGORIES, 3)


# -- what it learns ------------------------------------------------------------------------------

GENEROUS = AdditiveForest(
    InTurnSettings(clip=Fraction(1), norm_of_many=None, cycles=12, pure_cycles=12, max_bins=32),
    at_once=None,
)
N = 40_000
CODES = [13, -4, 9]


def curves_of(facts, n_columns: int) -> list[np.ndarray]:
    """A known law: a wave, categories that stand apart, and nothing."""
    place = np.arange(13)
    wave = 1.5 * np.sin(place / 2.0)
    wave[-1] = -2.0  # a missing value
    apart = np.array([-1.0, 0.5, 1.0, 0.0])
    parts = [wave, apart, np.zeros(9)]
    return [np.outer(part, np.linspace(1.0, -1.0, n_columns)) for part in parts]


def drawn(facts, table, curves, n_classes: int, seed: int = 5):
    """Labels by the law, and each record's probabilities."""
    scores = sum(curve[table.codes[:, f]] for f, curve in enumerate(curves))
    scores = scores if n_classes > 2 else np.column_stack([np.zeros(len(scores)), scores])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    u = np.random.default_rng(seed).random((len(p), 1))
    labels = (u > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return replace(table, labels=labels.astype(np.uint8)), p


def softmax(scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("delta", CURRENCIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_known_law_is_found(facts_of, table_of, train, n_classes, delta):
    facts = facts_of(CODES, n_classes, float(N))
    curves = curves_of(facts, 1 if n_classes == 2 else n_classes)
    table, p = drawn(facts, table_of(facts, N), curves, n_classes)
    model = train(facts, table, GENEROUS, epsilon=200, delta=delta).model
    found = softmax(model.log_odds(table.codes))
    assert np.abs(found - p).mean() < 0.02
    assert np.corrcoef(found[:, 1], p[:, 1])[0, 1] > 0.99
    importances = model.feature_importances()
    assert importances[0] > importances[1] > 20 * importances[2]
    for feature in (0, 1):
        own = model.partial_scores(feature, facts)
        seen = own[:, -1] - own[:, 0]
        told = curves[feature][:, -1] - (curves[feature][:, 0] if n_classes > 2 else 0)
        assert np.ptp((seen - seen.mean()) - (told - told.mean())) < 1.0, feature


@pytest.mark.parametrize("delta", CURRENCIES)
def test_a_known_mean_is_found(facts_of, table_of, train, delta):
    facts = replace(facts_of(CODES, 2, float(N)), unit=TARGET_STEPS)
    table, p = drawn(facts, table_of(facts, N), curves_of(facts, 1), 2)
    noisy = p[:, 1] + np.random.default_rng(2).uniform(-0.05, 0.05, N)
    targets = np.clip(np.rint(noisy * TARGET_STEPS), 0, TARGET_STEPS).astype(np.int32)
    table = replace(table, targets=targets, labels=np.zeros(N, dtype=np.uint8))
    learner = replace(GENEROUS, in_turn=replace(GENEROUS.in_turn, clip_of_means=Fraction(1)))
    model = train(facts, table, learner, epsilon=200, delta=delta).model
    assert np.abs(softmax(model.log_odds(table.codes)) - p).mean() < 0.02


@pytest.mark.parametrize("delta", CURRENCIES)
def test_a_table_without_structure_stays_at_its_prior(facts_of, table_of, train, delta):
    facts = facts_of([40, -5], 2, 20_000.0)
    labels = np.random.default_rng(2).random(20_000) < 0.7
    model = train(facts, table_of(facts, 20_000, labels=labels), IN_TURN, delta=delta).model
    shares = softmax(model.log_odds(table_of(facts, 500).codes))[:, 1]
    assert abs(shares.mean() - 0.7) < 0.05 and shares.std() < 0.1


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("n_records", [0, 1, 200])
def test_tables_without_records_or_with_one_class_make_a_model(
    facts_of, table_of, train, n_codes, n_classes, n_records
):
    facts = facts_of(n_codes, n_classes, 30_000.0)
    for delta in (DELTA, 0):
        table = table_of(facts, n_records, labels=np.ones(n_records))
        model = train(facts, table, delta=delta).model
        assert np.isfinite(model.log_odds(table_of(facts, 50).codes)).all()
        assert (model.sizes > 0).all()


# -- what it makes of what was released ----------------------------------------------------------


@pytest.mark.parametrize("delta", CURRENCIES)
def test_curves_are_told_of_the_noise_that_they_have(facts_of, table_of, train, monkeypatch, delta):
    # Of no records all that is measured is noise.
    facts, told, mean = facts_of([60] * 8, 2, 1.0), [], Posterior.mean

    def watched(posterior, measured, variance, *shares):
        told.append((measured, variance))
        return mean(posterior, measured, variance, *shares)

    monkeypatch.setattr(Posterior, "mean", watched)
    sizes = {"cycles": 4, "pure_cycles": 4, "max_bins": 64}
    few = {"few_cycles": 4, "few_pure_cycles": 4, "few_bins": 64}
    learner = AdditiveForest(InTurnSettings(**sizes, **few), at_once=None)
    train(facts, table_of(facts, 0), learner, epsilon=1, delta=delta)
    for cycle in range(4):
        parts = [measured**2 / variance for measured, variance in told[8 * cycle : 8 * cycle + 8]]
        ratio = np.concatenate(parts)
        # 480 squares of one variance; a geometric one's fourth moment is six squares.
        assert abs(ratio.mean() - 1.0) < 5 * (5 / ratio.size) ** 0.5, cycle


@pytest.mark.parametrize("delta", CURRENCIES)
@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_residuals_are_of_the_very_scores_that_the_model_has(
    facts_of, table_of, train, monkeypatch, n_codes, n_classes, delta
):
    facts, asked, ask = facts_of(n_codes, n_classes, 3000.0), [], Bridge.ask

    def watched(bridge: Bridge, question: Any, *roles: str) -> Any:
        asked.append(question)
        return ask(bridge, question, *roles)

    monkeypatch.setattr(Bridge, "ask", watched)
    table = table_of(facts, 300)
    sizes = {"cycles": 3, "pure_cycles": 2, "max_bins": 9, "few_pure_cycles": 2, "few_bins": 9}
    learner = AdditiveForest(InTurnSettings(**sizes), None, confidence_share=Fraction(0))
    model = train(facts, table, learner, epsilon=8, delta=delta).model
    queries = [question for question in asked if isinstance(question, ResidualSums)]
    D = facts.n_features
    assert [query.feature for query in queries] == [*range(D)] * (len(queries) // D)
    # The last question comes before the last feature's last step.
    history, offsets = queries[-1].gradients.scored, facts.offsets
    assert len(history.moves) == len(queries) - 1
    steps = np.zeros_like(model.code_values)
    for move in history.moves:
        steps[offsets[move.feature] : offsets[move.feature + 1]] += move.values
    assert np.array_equal(history.base, model.base)
    assert np.array_equal(steps[: offsets[-2]], model.code_values[: offsets[-2]])
    assert np.abs(steps[offsets[-2] :]).any() and steps[: offsets[-2]].any()
    before = replace(model, code_values=steps).log_odds(table.codes)
    scores = history.scores(Chunk(table))
    assert scores == pytest.approx(before[:, -scores.shape[1] :], abs=1e-12)
    assert np.array_equal(model.code_values * SCORE_STEPS, np.rint(model.code_values * SCORE_STEPS))


@pytest.mark.parametrize("place", [0, -1])
def test_missing_values_and_categories_stand_alone(facts_of, table_of, train, monkeypatch, place):
    # Released is that one bin of each feature has much left to explain, and all others nothing.
    facts, noised = facts_of([13, -4], 2, 6000.0), Sealed.noised

    def made_up(sealed: Any, role: str, part: Any = None) -> Any:
        found = noised(sealed, role, part)
        if role == Role.COUNTS:
            return np.full_like(found, 500)
        if role == Role.SUMS:
            found = np.zeros_like(found)
            found[place] = 200 * GRADIENT_STEPS
        return found

    monkeypatch.setattr(Sealed, "noised", made_up)
    values = train(facts, table_of(facts, 100)).model.code_values[:, 0]
    ordered, categories = values[:13], values[13:]
    assert categories[place] > 0.1 and np.count_nonzero(categories) == 1
    if place == 0:
        # Neighbours go along, all the less the farther they are.
        assert ordered[0] > ordered[2] > 0 and ordered[-1] == 0
    else:
        assert ordered[-1] > 0.1 and np.count_nonzero(ordered) == 1


def test_no_missing_value_is_in_the_row_of_values(facts_of, table_of, train, monkeypatch):
    facts, asked = facts_of([13, -4, 9], 2, 3000.0), []
    assert facts.has_missing_code.any() and facts.ordered.any() and not facts.ordered.all()

    def watched(n_bins: int, n_values: int, settings: InTurnSettings) -> np.ndarray:
        asked.append((n_bins, n_values))
        return covariance(n_bins, n_values, settings)

    monkeypatch.setattr("dpforest.trees.curves.in_turn.training.covariance", watched)
    train(facts, table_of(facts, 50), GENEROUS)
    values = facts.n_codes - facts.has_missing_code
    expected = list(zip(facts.n_codes.tolist(), values.tolist(), strict=True))
    # Categories all stand alone: no covariance is made of them.
    assert asked == [one for one, is_row in zip(expected, facts.ordered, strict=True) if is_row]


@pytest.mark.parametrize("delta", CURRENCIES)
@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_threads_make_the_same_curves(
    facts_of, table_of, train, monkeypatch, n_codes, n_classes, delta
):
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 50)
    facts = facts_of(n_codes, n_classes, 3000.0)
    table = table_of(facts, 400)
    one, three = (train(facts, table, n_threads=n, delta=delta).model.to_data() for n in (1, 3))
    assert one == three
