"""Boosted forests that begin with curves of single features: one list, history and model."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import GeometricNoise, PermuteAndFlipSelection
from dpforest.accounting.releases import LearnerBudget, PlanError
from dpforest.domain.targets import TARGET_STEPS
from dpforest.exceptions import ModelFormatError, ParameterError
from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees import strategies
from dpforest.trees.boosted import learner as module
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.model import BoostedModel
from dpforest.trees.boosted.plan import OWNER, Role
from dpforest.trees.boosted.queries import LeafSums
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize, PureSettings
from dpforest.trees.curves.in_turn import plan as in_turn_plan
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.scored.gradients import GRADIENT_STEPS
from dpforest.trees.scored.score_steps import SCORE_STEPS
from dpforest.trees.shapley import enumerated_values, shapley_values

DELTA, PURE = Fraction(1, 10**6), Fraction(0)
CODES = [40, -5, 7]
#: Two classes begin with curves from four features on.
FOUR = [*CODES, 3]
SETTINGS = BoostedSettings(
    fixed_size=BoostedSize(3, 4), curves=InTurnSettings(cycles=3, max_bins=9)
)
SMALL = BoostedForest(
    SETTINGS,
    PureSettings(fixed_size=BoostedSize(3, 2), curves=InTurnSettings(pure_cycles=3, max_bins=9)),
)
#: Cycles and features of `SMALL`.
CYCLES, D = 3, len(CODES)
#: A tree of depth 3: splits, then sums of nodes and splits at two levels, then its leaves.
OF_A_TREE = [Role.SPLITS, *[Role.NODES, Role.SPLITS] * 2, Role.LEAVES]


@pytest.fixture
def run(trained_by, means, targets):
    """A small forest of 300 records, of which so many are declared."""

    def make(delta=DELTA, learner=SMALL, rows=5000.0, n=300, in_memory=True, n_threads=1):
        facts = replace(means(rows), in_memory=in_memory)
        budget = LearnerBudget(Fraction(2), delta)
        return trained_by(learner, facts, targets(facts, n), budget, n_threads=n_threads)

    return make


@pytest.fixture
def run_classes(trained_by, facts_of, table_of):
    """The same of two classes, in pure epsilon."""

    def make(rows=5000.0, n=300, in_memory=True, n_threads=1):
        facts = replace(facts_of(FOUR, 2, rows), in_memory=in_memory)
        budget = LearnerBudget(Fraction(2), PURE)
        return trained_by(SMALL, facts, table_of(facts, n), budget, n_threads=n_threads)

    return make


def releases_of(plan):
    """Every release of a plan, in the order of training."""
    return [release for one in plan.rounds for release in one.releases * one.times]


# -- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "in_memory"), [(DELTA, True), (PURE, False), (PURE, True)])
def test_curves_come_first_and_all_is_asked_for_as_it_is_listed(run, delta, in_memory):
    made = run(delta, rows=30_000.0, in_memory=in_memory)
    at_once = in_memory and not delta
    in_turn = [Role.CURVE_COUNTS] + [Role.CURVE_SUMS] * (CYCLES * D)
    curves = [Role.PRIOR, *([Role.CURVES_AT_ONCE] if at_once else in_turn)]
    listed = releases_of(made.plan)
    rounds = OF_A_TREE * (4 if delta else 2)
    assert [one.role for one in listed] == [*curves, Role.QUANTILES, *rounds]
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in made.books.ledger]
    assert asked == [(one.role, one.event.mechanism, one.cells) for one in listed]
    assert made.books.loss == made.plan.loss and made.n_done == made.plan.n_steps
    assert {one.owner for one in made.plan.rounds} == {OWNER}, "it is one learner's list"
    assert made.plan.shape.curves.at_once == at_once
    assert made.plan.shape.curves.phrase() in made.plan.describe()["start"]
    if not delta and not in_memory:
        assert {type(one.event) for one in listed} == {GeometricNoise, PermuteAndFlipSelection}


@pytest.mark.parametrize("delta", [DELTA, PURE])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
def test_a_plan_uses_its_budget_and_never_more(means, delta, epsilon, rows):
    facts, budget, learner = means(rows), LearnerBudget(Fraction(epsilon), delta), BoostedForest()
    plan = learner.plan(facts, budget)
    assert plan == learner.plan(facts, budget), "of public facts"
    if delta:
        assert budget.rho * Fraction(999, 1000) < plan.loss.rho <= budget.rho
    else:
        assert plan.loss.epsilon == budget.epsilon and plan.loss.delta == 0
    settings = learner.settings if delta else learner.pure_settings
    begins = settings.starts_with_curves(budget.signal(rows or 0.0), facts)
    assert begins == (plan.shape.curves is not None)


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(3, 4)])
def test_curves_cost_their_share(means, share):
    budget = LearnerBudget(Fraction(2), DELTA)
    plan = BoostedForest(replace(SETTINGS, curve_share=share)).plan(means(5000.0), budget)
    of_curves = {Role.PRIOR, Role.CURVE_COUNTS, Role.CURVE_SUMS}
    own = sum(part.loss.rho for part in plan.parts if part.name in of_curves)
    assert {part.name for part in plan.parts} > of_curves
    assert float(own / plan.loss.rho) == pytest.approx(float(share), rel=1e-3)


#: R / D from which two classes begin with curves.
LEAST = PureSettings().curve_signal_of_classes


@pytest.mark.parametrize(("delta", "n_classes", "level", "change", "begins"), [
    (PURE, 2, 1.01, {}, True), (PURE, 2, 0.99, {}, False), (DELTA, 2, 1e3, {}, False),
    (PURE, 2, 1.01, {"in_memory": False}, False), (PURE, 4, 1.01, {}, False),
    (PURE, 2, 1.01, {"ordered": np.zeros(4, bool), "n_codes": np.full(4, 251)}, False),
    (PURE, 2, 1.01, {"ordered": np.zeros(4, bool), "n_codes": np.full(4, 250)}, True),
    (PURE, 2, 1.01, {"n_codes": np.array([10**6, 5, 10**6, 10**6])}, True),
])  # fmt: skip
def test_two_classes_begin_with_curves_at_once_or_with_none(
    facts_of, delta, n_classes, level, change, begins
):
    """In pure epsilon and in memory, where each curve is known and a minimum is quickly found."""
    budget = LearnerBudget(Fraction(10), delta)
    rows = level * LEAST * 4 / LearnerBudget(Fraction(10), PURE).signal(1.0)
    plan = BoostedForest().plan(replace(facts_of(FOUR, n_classes, rows), **change), budget)
    assert (plan.shape.curves is not None) == begins
    roles = {release.role for release in releases_of(plan)}
    assert (Role.CURVES_AT_ONCE in roles) == begins and Role.CURVE_SUMS not in roles
    if begins:
        own = sum(p.loss.epsilon for p in plan.parts if p.name in {Role.PRIOR, Role.CURVES_AT_ONCE})
        assert own == 10 * PureSettings().share_at_once and plan.shape.n_rounds == 4
        assert "curves" in plan.describe()["start"]


def test_two_classes_of_three_features_begin_with_none(facts_of):
    """Trees tell of so few as well, and have all of the budget; `auto` goes by the same number."""
    assert PureSettings().curve_features == strategies.FEW_FEATURES == D + 1
    plan = BoostedForest().plan(facts_of(CODES, 2, 1e7), LearnerBudget(Fraction(10), PURE))
    assert plan.shape.curves is None and plan.shape.n_rounds == 6


def test_two_classes_begin_with_none_where_no_minimum_can_be_bought(facts_of):
    """Records are so many that R / D is large, and epsilon so small that doubles find none."""
    budget = LearnerBudget(Fraction(1, 10**9), PURE)
    facts = facts_of(FOUR, 2, 1e14)
    assert PureSettings().starts_with_curves(budget.signal(1e14), facts)
    plan = BoostedForest().plan(facts, budget)
    assert plan.shape.curves is None and plan.loss.epsilon == budget.epsilon


def test_curves_of_classes_are_of_the_forest_and_asked_for_as_they_are_listed(run_classes):
    made = run_classes(rows=30_000.0)
    listed = releases_of(made.plan)
    rounds = OF_A_TREE * 2
    begin = [Role.PRIOR, Role.CURVES_AT_ONCE, Role.QUANTILES]
    assert [one.role for one in listed] == [*begin, *rounds]
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in made.books.ledger]
    assert asked == [(one.role, one.event.mechanism, one.cells) for one in listed]
    assert made.books.loss.epsilon == 2 and made.model.code_values is not None


@pytest.mark.parametrize("stated", ["counts_sensitivity", "residual_sensitivity"])
def test_a_plan_that_understates_its_curves_is_refused(run, monkeypatch, stated):
    said = getattr(in_turn_plan, stated)

    def understated(*sizes):
        own, less = said(*sizes), Fraction(1, 2)
        return Sensitivity(own.l1 - less, own.l2_squared - less)

    monkeypatch.setattr(in_turn_plan, stated, understated)
    with pytest.raises(PlanError, match="is for less than one record moves"):
        run(n=50)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1)])
@pytest.mark.parametrize("name", ["curve_share", "share_at_once"])
def test_curves_leave_something(name, share):
    with pytest.raises(ParameterError, match=name):
        replace(SETTINGS, **{name: share})


def test_curvatures_and_sizes_of_a_target_shrink_with_its_residuals(means):
    """All three share the noise: beside a small residual a whole curvature would drown it."""
    plan = SMALL.plan(means(5000.0), LearnerBudget(Fraction(2), DELTA))
    lattice, clip = plan.shape.lattice, SETTINGS.clip_of_means
    assert lattice.most == int(clip * GRADIENT_STEPS)
    assert lattice.curvature == int(clip * SETTINGS.curvature * GRADIENT_STEPS)
    assert lattice.mass == int(clip * SETTINGS.mass_of_means * GRADIENT_STEPS)
    events = {release.role: release.event for release in releases_of(plan)}
    assert events[Role.LEAVES].l2_sensitivity_squared == lattice.row.l2_squared


# -- what is made of it --------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [DELTA, PURE, None])
def test_scores_of_training_are_those_of_the_model(
    run, run_classes, monkeypatch, means, facts_of, targets, delta
):
    kept, corrected = [], module.corrected

    def watched(shape, bridge, history, grown):
        kept.append(corrected(shape, bridge, history, grown))
        return kept[-1]

    monkeypatch.setattr(module, "corrected", watched)
    made = run_classes() if delta is None else run(delta)
    model = made.model
    table = targets(facts_of(FOUR, 2, 5000.0) if delta is None else means(5000.0), 300)
    assert model.code_values is not None and np.abs(model.code_values).max() > 0
    history, odds = kept[0][1], model.log_odds(table.codes)
    scores = history.scores(Chunk(table))[:, 0]
    # Stored values of codes are rounded to whole steps.
    most = table.n_codes.size * 0.5 / SCORE_STEPS + 1e-9
    assert np.allclose(scores, odds[:, 1] - odds[:, 0], rtol=0, atol=most)


@pytest.mark.parametrize("delta", [DELTA, PURE, None])
def test_a_model_is_stored_and_read_back_and_explains_itself(
    run, run_classes, means, facts_of, targets, delta
):
    facts = means(5000.0) if delta is not None else facts_of(FOUR, 2, 5000.0)
    model = (run_classes() if delta is None else run(delta)).model
    codes = targets(facts, 300).codes
    again = BoostedModel.from_data(json.loads(json.dumps(model.to_data())), facts)
    assert np.array_equal(again.log_odds(codes), model.log_odds(codes))
    assert np.array_equal(again.feature_importances(), model.feature_importances())
    assert model.feature_importances().sum() == pytest.approx(1.0)
    few = slice(0, 6)
    own = shapley_values(model, codes[few], codes[10:14])
    assert np.allclose(own, enumerated_values(model, codes[few], codes[10:14]), atol=1e-9)


def test_curves_count_for_importances_and_partial_scores(run, means):
    """Steps that say nothing leave the curves: what they say of a feature is their own values."""
    facts, model = means(5000.0), run().model
    alone = replace(model, steps=np.zeros_like(model.steps))
    parts = np.split(model.code_values[:, 0], facts.offsets[1:-1])
    spread = np.array([part.var() for part in parts])
    assert np.allclose(alone.feature_importances(), spread / spread.sum())
    for feature, size in enumerate(facts.n_codes):
        shown = alone.partial_scores(feature, facts)
        assert shown.shape == (size, 2)
        others = sum(part.mean() for place, part in enumerate(parts) if place != feature)
        assert np.allclose(shown[:, 1] - shown[:, 0], parts[feature] + others + model.base[0])


@pytest.mark.parametrize("damage", [
    lambda values: values[:-1], lambda values: [[0.5]] * len(values), lambda values: None,
    lambda values: [[2**41]] * len(values), lambda values: "values",
])  # fmt: skip
def test_damaged_values_of_codes_are_refused(run, means, damage):
    data = run().model.to_data()
    data["code_values"] = damage(data["code_values"])
    with pytest.raises(ModelFormatError):
        BoostedModel.from_data(data, means(5000.0))


def test_a_model_without_curves_is_stored_as_it_ever_was(facts_of, table_of, trained_by):
    facts = facts_of(CODES, 2, 5000.0)
    made = trained_by(SMALL, facts, table_of(facts, 100), LearnerBudget(Fraction(2), DELTA))
    assert made.model.code_values is None and "code_values" not in made.model.to_data()


def test_a_chunk_that_was_elsewhere_for_some_trees_counts_as_a_new_one(run, monkeypatch):
    once = InTurnSettings(cycles=1, max_bins=9)
    learner = BoostedForest(replace(SETTINGS, fixed_size=BoostedSize(3, D + 3), curves=once))
    left, differ, count = [], [], LeafSums.count

    def both(query, chunk):
        left.append(Chunk(chunk.table))  # the first one is left behind after the first tree
        found = count(query, chunk)
        if len(left) == 1 or len(left) > D + 1:
            differ.append(not np.array_equal(found, count(query, left[0])))
        return found

    monkeypatch.setattr(LeafSums, "count", both)
    run(learner=learner)
    assert len(differ) == 3 and not any(differ)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_make_the_same_forest(run, monkeypatch, n_threads):
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 50)
    assert run(n=400, n_threads=n_threads).model.to_data() == run(n=400).model.to_data()


@pytest.mark.parametrize("n", [0, 1])
def test_tables_of_hardly_a_record_make_a_model(run, means, targets, n):
    made = run(n=n)
    assert made.books.loss.rho == made.plan.loss.rho
    assert np.isfinite(made.model.log_odds(targets(means(5000.0), 50).codes)).all()


def test_it_learns_curves_and_what_features_do_together(means, targets, trained_by):
    facts = means(20_000.0)
    table, unseen = targets(facts, 20_000), targets(facts, 4000, seed=9)
    settings = replace(SETTINGS, fixed_size=BoostedSize(4, 12), curves=InTurnSettings(cycles=8))
    truth = unseen.targets / TARGET_STEPS

    def error(model):
        odds = model.log_odds(unseen.codes)
        return np.mean((1 / (1 + np.exp(odds[:, 0] - odds[:, 1])) - truth) ** 2)

    budget = LearnerBudget(Fraction(20), DELTA)
    model = trained_by(BoostedForest(settings), facts, table, budget).model
    alone = error(replace(model, steps=np.zeros_like(model.steps)))
    assert alone < 0.2 * truth.var(), "curves say most"
    assert error(model) < 0.8 * alone, "and trees what is left"


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_make_the_same_forest_of_classes(run_classes, monkeypatch, n_threads):
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 50)
    assert (
        run_classes(n=400, n_threads=n_threads).model.to_data()
        == run_classes(n=400).model.to_data()
    )


def test_classes_are_told_by_curves_and_then_by_trees(facts_of, table_of, trained_by):
    """Labels that go by the first code, and by two others together where it is large."""
    facts = facts_of([16, 8, 8, 4], 2, 20_000.0)

    def made(n, seed):
        generator = np.random.default_rng(seed)
        codes = np.column_stack([generator.integers(0, k, n) for k in (16, 8, 8, 4)])
        score = 0.4 * (codes[:, 0] - 7.5) + 2 * np.sign((codes[:, 1] - 3.5) * (codes[:, 2] - 3.5))
        labels = generator.random(n) < 1 / (1 + np.exp(-score))
        return replace(
            table_of(facts, n), codes=codes.astype(np.uint8), labels=labels.astype(np.uint8)
        )

    def loss(model):
        odds = model.log_odds(unseen.codes)
        return np.logaddexp(0, (1 - 2.0 * unseen.labels) * (odds[:, 1] - odds[:, 0])).mean()

    table, unseen = made(20_000, 1), made(4000, 2)
    model = trained_by(BoostedForest(), facts, table, LearnerBudget(Fraction(20), PURE)).model
    alone = loss(replace(model, steps=np.zeros_like(model.steps)))
    assert alone < 0.63, "curves tell what one feature says"
    assert loss(model) < 0.8 * alone, "and trees what two say together"


def test_trees_of_a_target_grow_faster_with_the_signal():
    """Labels that are less noisy than coins bear deeper trees."""
    ours = BoostedSettings()
    depths = [[ours.depth(r, 20, 2, means) for r in (2e3, 2e4, 2e5)] for means in (False, True)]
    assert np.all(np.diff(depths, axis=1) > 0)
    assert depths[1][2] - depths[1][0] > depths[0][2] - depths[0][0]
