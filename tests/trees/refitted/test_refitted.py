"""The refitted forest: its plan is its cost, training keeps to it, and it learns."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import (
    GeometricNoise,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.targets import TARGET_STEPS
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords
from dpforest.trees.random.bins import FEW_CODES
from dpforest.trees.refitted import RefittedForest, RefittedModel
from dpforest.trees.refitted.plan import Role, build_plan
from dpforest.trees.refitted.queries import STEPS, LeafSums, LeafSumsOfAll
from dpforest.trees.refitted.settings import (
    MAX_DEPTH,
    PureRefittedSettings,
    RefittedSettings,
    RefittedSize,
)
from dpforest.trees.refitted.steps import shrunk_steps
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.training import train_on

DELTA = Fraction(1, 10**6)
SMALL = RefittedForest(
    RefittedSettings(fixed_size=RefittedSize(3, 4, 10)),
    PureRefittedSettings(fixed_size=RefittedSize(3, 4, 3)),
)
SHAPES = [
    pytest.param([40, -5, 7, -2], 2, id="binary"),
    pytest.param([-3, 20, 9], 4, id="4 classes"),
]


def releases_of(plan):
    """Every release of a plan, in the order of training."""
    return [release for one in plan.rounds for release in one.releases * one.times]


def starts(plan):
    return Role.GRAM in {release.role for release in releases_of(plan)}


def run(learner, facts, table, epsilon=Fraction(2), seed=1, delta=DELTA):
    plan = learner.plan(facts, LearnerBudget(epsilon, delta))
    accountant = BudgetAccountant(epsilon, delta)
    done = []
    with accountant.open_scope("fit", reserve=plan.loss) as scope:
        model = train_on(
            learner, plan, scope, SeededSource(seed), MemoryRecords(table), facts,
            lambda: done.append(1),
        )  # fmt: skip
        assert scope.loss == plan.loss
    return model, plan, accountant, len(done)


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("rows", [None, 400.0, 30_000.0])
def test_training_spends_exactly_what_the_plan_says(facts_of, table_of, n_codes, n_classes, rows):
    facts = facts_of(n_codes, n_classes, rows)
    model, plan, accountant, done = run(SMALL, facts, table_of(facts, 400))
    assert accountant.loss.rho == plan.loss.rho == sum(part.loss.rho for part in plan.parts)
    quantiles = Role.QUANTILES in {release.role for release in releases_of(plan)}
    gradients = SMALL.settings.n_gradients * starts(plan)
    looks = Role.CONFIDENCE in {release.role for release in releases_of(plan)}
    assert looks == (rows is not None)
    # A pass a round, one for the corrections of all ten trees, and the last look.
    assert done == plan.n_steps == 1 + quantiles + starts(plan) + gradients + 10 + 1 + looks
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in accountant.ledger]
    planned = [(r.role, r.event.mechanism, r.cells) for r in releases_of(plan)]
    assert asked == planned
    assert starts(plan) == (rows == 30_000.0)
    # Of one feature with more than 16 codes.
    assert quantiles == (rows is not None and max(n_codes) > FEW_CODES)
    assert model.steps.shape[:2] == (10, 8)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
def test_a_plan_uses_its_budget_and_never_more(facts_of, epsilon, rows):
    for n_classes in (2, 7):
        budget = LearnerBudget(Fraction(epsilon), DELTA)
        plan = RefittedForest().plan(facts_of([40, -5, 7, -2], n_classes, rows), budget)
        assert budget.rho * Fraction(999, 1000) < plan.loss.rho <= budget.rho


def test_the_plan_is_made_of_public_facts(facts_of):
    facts = facts_of([40, -5], 2, 5000.0)
    budget = LearnerBudget(Fraction(1), DELTA)
    assert RefittedForest().plan(facts, budget) == RefittedForest().plan(facts, budget)
    words = RefittedForest().plan(facts, budget).describe()
    assert all(isinstance(text, str) for text in words.values())


def test_larger_signals_buy_larger_forests(facts_of):
    budget = LearnerBudget(Fraction(1), DELTA)
    plans = [RefittedForest().plan(facts_of([40, -5], 2, n), budget) for n in (1e3, 1.9e4, 1e6)]
    sizes = [plan.shape.n_rounds * 2**plan.shape.depth for plan in plans]
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("rows", [None, 30_000.0])
def test_a_pure_fit_asks_for_exactly_its_plan(facts_of, table_of, n_codes, n_classes, rows):
    facts, epsilon = facts_of(n_codes, n_classes, rows), Fraction(2)
    model, plan, accountant, done = run(
        SMALL, facts, table_of(facts, 300), epsilon, delta=Fraction(0)
    )
    assert accountant.loss.epsilon == plan.loss.epsilon == epsilon and accountant.loss.delta == 0
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in accountant.ledger]
    assert asked == [(r.role, r.event.mechanism, r.cells) for r in releases_of(plan)]
    own = {ZeroSumGeometricNoise} if n_classes > 2 else set()
    kinds = {type(release.event) for release in releases_of(plan)}
    assert kinds == {GeometricNoise, PermuteAndFlipSelection} | own
    rounds = [Role.SELECTION, Role.SUMS] * 3
    assert [role for role, *_ in asked] == [
        Role.PRIOR, *[Role.QUANTILES] * (rows is not None), *rounds,
        *[Role.CONFIDENCE] * (rows is not None),
    ]  # fmt: skip
    assert done == plan.n_steps and model.steps.shape[:2] == (3, 8)
    events = {release.role: release.event for release in releases_of(plan)}
    assert events[Role.SUMS].l1_sensitivity == plan.shape.lattice.row.l1
    assert events[Role.SELECTION].score_range == plan.shape.lattice.score_range


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
def test_a_pure_plan_costs_its_epsilon(facts_of, epsilon, rows, unit):
    pure = LearnerBudget(Fraction(epsilon), Fraction(0))
    for n_classes in (2,) if unit > 1 else (2, 7):
        facts = replace(facts_of([40, -5, 7, -2], n_classes, rows), unit=unit)
        plan = RefittedForest().plan(facts, pure)
        assert plan.loss.epsilon == pure.epsilon and plan.loss.delta == 0
        assert Role.GRAM not in {release.role for release in releases_of(plan)}


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_a_pure_fit_learns_what_is_there(facts_of, table_of, n_codes, n_classes):
    facts = facts_of(n_codes, n_classes, 20_000.0)
    train, unseen = table_of(facts, 20_000), table_of(facts, 5000, seed=9)
    model, *_ = run(RefittedForest(), facts, train, Fraction(20), delta=Fraction(0))
    hits = (model.log_odds(unseen.codes).argmax(axis=1) == unseen.labels).mean()
    share = np.bincount(unseen.labels).max() / 5000
    assert hits > share + 0.5 * (0.95 - share)


@pytest.mark.parametrize("depth", [0, MAX_DEPTH + 1])
def test_leaves_that_sums_cannot_number_are_refused(depth):
    with pytest.raises(ParameterError, match=f"depth={depth}: must be .* at most {MAX_DEPTH}"):
        RefittedSize(depth, 4, 10)
    assert np.iinfo(np.uint16).max + 1 == 2**MAX_DEPTH


@pytest.mark.parametrize("times", [-1, 0.5, True])
def test_corrections_that_are_no_number_of_times_are_refused(times):
    with pytest.raises(ParameterError, match="correction_times"):
        RefittedSettings(correction_times=times)
    assert RefittedSettings(correction_times=0).correction_times == 0


def test_corrections_answer_to_all_steps_before_them(facts_of, table_of, monkeypatch):
    facts, asked = facts_of([40, -5, 7, -2], 2), []
    table, count = table_of(facts, 300), LeafSums.count

    def counted(query, chunk):
        asked.append((query, found := count(query, chunk)))
        return found

    monkeypatch.setattr(LeafSums, "count", counted)
    learner = replace(SMALL, settings=replace(SMALL.settings, trees_together=4, correction_times=2))
    run(learner, facts, table)
    groups = [4, 4, 2] * 2
    assert [len(query.history) for query, _ in asked] == [*range(10), 10, 14, 18, 20, 24, 28]
    assert [query.trees.n_trees for query, _ in asked[10:]] == groups
    assert all(isinstance(query, LeafSumsOfAll) for query, _ in asked[10:])
    corrected = [q.trees.take([at]) for q, _ in asked[10:] for at in range(q.trees.n_trees)]
    for (grown, _), *trees in zip(asked[:10], corrected[:10], corrected[10:], strict=True):
        offered = [grown.trees.take([at]).feature.tolist() for at in range(4)]
        assert all(tree.feature.tolist() in offered for tree in trees)
    for query, found in asked[10:]:
        assert np.array_equal(found, count(query, Chunk(table)))


def test_trees_that_are_corrected_together_move_by_what_is_left_in_their_own_leaves(
    facts_of, table_of, monkeypatch
):
    facts, asked, moves = facts_of([40, -5, 7, -2], 2), [], []
    count, then = LeafSumsOfAll.count, ScoreHistory.then
    monkeypatch.setattr(
        LeafSumsOfAll, "count", lambda q, chunk: asked.append(count(q, chunk)) or asked[-1]
    )
    monkeypatch.setattr(ScoreHistory, "then", lambda h, move: moves.append(move) or then(h, move))
    epsilon = Fraction(10**5)
    _, plan, *_ = run(SMALL, facts, table_of(facts, 300), epsilon)
    events = {release.role: release.event for release in releases_of(plan)}
    noise, lattice = events[Role.CORRECTIONS].variance ** 0.5, plan.shape.lattice
    for own, move in zip(np.split(asked[0], 10), moves[10:], strict=True):
        # With next to no noise the released sums are those of the records.
        steps = shrunk_steps(
            own[:, :1] / STEPS, own[:, 1] / lattice.size, noise / STEPS, noise / lattice.size,
            0.25, SMALL.settings.spread, SMALL.settings.step_clip,
        )  # fmt: skip
        held = own[:, 1] > 0
        wanted = SMALL.settings.step * steps[held]
        assert np.allclose(move.steps[held], wanted, rtol=0.05, atol=0.005)
        assert np.abs(move.steps).max() > 0.02


@pytest.mark.parametrize("n_together", [0, 2.5])
def test_so_few_trees_together_are_refused(n_together):
    with pytest.raises(ParameterError, match="trees_together"):
        RefittedSettings(trees_together=n_together)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("n_together", [1, 4, 10, 100])
def test_trees_that_are_corrected_together_have_the_noise_and_price_of_single_ones(
    facts_of, n_together, pure
):
    facts = facts_of([40, -5, 7, -2], 3, 3000.0)
    budget = LearnerBudget(Fraction(1), Fraction(0 if pure else "1e-6"))
    settings = replace(SMALL.settings, trees_together=n_together, correction_times=1)
    plan = build_plan(facts, budget, settings)
    (sums,) = {r.event.variance for r in releases_of(plan) if r.role == Role.SUMS}
    corrections = [r for r in releases_of(plan) if r.role == Role.CORRECTIONS]
    # Shares of rho are rounded in the last digits.
    assert [r.event.variance for r in corrections] == [pytest.approx(sums, 1e-9)] * len(corrections)
    trees = [r.cells // 2**plan.shape.depth for r in corrections]
    assert sum(trees) == plan.shape.n_corrections and max(trees) == min(n_together, 10)


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("n_records", [0, 1, 200])
def test_tables_without_records_or_with_one_class_make_a_model(
    facts_of, table_of, n_codes, n_classes, n_records
):
    facts = facts_of(n_codes, n_classes, 30_000.0)
    table = table_of(facts, n_records, labels=np.ones(n_records))
    model, plan, accountant, _ = run(SMALL, facts, table)
    assert accountant.loss.rho == plan.loss.rho
    assert np.isfinite(model.log_odds(table_of(facts, 50).codes)).all()


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("start", [True, False])
def test_it_learns_with_a_generous_budget(facts_of, table_of, n_codes, n_classes, start):
    settings = RefittedSettings(fixed_size=RefittedSize(4, 8, 60))
    settings = replace(settings, start_signal=1.0 if start else 1e18)
    facts = facts_of(n_codes, n_classes, 20_000.0)
    model, plan, _, _ = run(RefittedForest(settings), facts, table_of(facts, 20_000), Fraction(8))
    assert starts(plan) == start
    test = table_of(facts, 4000, seed=99)
    predicted = model.log_odds(test.codes).argmax(axis=1)
    lean = test.codes[:, 0] / facts.n_codes[0]
    assert (predicted == test.labels).mean() > 0.8
    assert (predicted == 1)[lean < 0.1].mean() > 0.95
    importances = model.feature_importances()
    assert np.isclose(importances.sum(), 1)
    assert min(importances[0], importances[-1]) > max(importances[1:-1])


#: Scores are as long as they come.
NO_LOOK = {"confidence_share": Fraction(0)}


def unstretched(forest):
    return RefittedForest(
        replace(forest.settings, stretch=1.0, stretch_of_many=1.0, target_stretch=1.0, **NO_LOOK)
    )


@pytest.mark.parametrize(("n_classes", "n_rounds", "stretch"), [(2, 10, 1.2), (2, 240, 1.1)])
def test_released_steps_are_stretched_and_nothing_else(
    facts_of, table_of, n_classes, n_rounds, stretch
):
    facts = facts_of([40, -5, 7], n_classes, 3000.0)
    size = RefittedSize(2, 2, n_rounds)
    learner = RefittedForest(RefittedSettings(fixed_size=size, **NO_LOOK))
    table = table_of(facts, 200)
    (one, plan, *_), (two, same, *_) = (
        run(f, facts, table) for f in (learner, unstretched(learner))
    )
    assert plan.loss == same.loss
    assert np.allclose(one.steps, stretch * two.steps, rtol=1e-14, atol=0)
    assert np.array_equal(one.base, two.base) and np.array_equal(one.sizes, two.sizes)
    assert np.array_equal(one.trees.feature, two.trees.feature)


@pytest.mark.parametrize(("n_classes", "scale"), [(2, 0.9), (3, 1.0)])
def test_scores_of_two_classes_are_scaled_as_a_whole(facts_of, table_of, n_classes, scale):
    facts = facts_of([40, -5, 7], n_classes, 30_000.0)
    table, settings = table_of(facts, 200), unstretched(SMALL).settings
    (one, plan, *_), (two, *_) = (
        run(RefittedForest(own), facts, table) for own in (settings, replace(settings, scale=1.0))
    )
    assert starts(plan)
    for name in ("base", "code_values", "steps"):
        ours, theirs = getattr(one, name), getattr(two, name)
        assert np.allclose(ours, scale * theirs, rtol=1e-14, atol=0), name
    assert np.array_equal(one.sizes, two.sizes)


def test_each_kind_of_forest_has_its_stretch():
    stretched = RefittedSettings().stretched
    assert stretched(120, 2, False) == 1.1 and stretched(120, 3, False) == 1.2
    assert stretched(60, 2, False) == 1.2 and stretched(60, 2, True) == 1.1


def test_scores_of_training_are_those_of_the_model(facts_of, table_of, monkeypatch):
    facts = facts_of([40, -5, 7, -2], 4, 30_000.0)
    table = table_of(facts, 500)
    kept = []
    from dpforest.trees.refitted import learner

    class Watched(learner._Rounds):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            kept.append(self)

    monkeypatch.setattr(learner, "_Rounds", Watched)
    model, plan, _, _ = run(unstretched(SMALL), facts, table)
    assert starts(plan)
    scores = kept[0].history.scores(Chunk(table))
    assert np.allclose(scores, model.log_odds(table.codes), rtol=0, atol=1e-9)


@pytest.mark.parametrize("rows", [None, 30_000.0])
def test_storage_gives_the_same_scores(facts_of, table_of, rows):
    facts = facts_of([40, -300, 7], 3, rows)
    table = table_of(facts, 300)
    model, *_ = run(SMALL, facts, table)
    again = RefittedModel.from_data(json.loads(json.dumps(model.to_data())), facts)
    assert np.array_equal(again.log_odds(table.codes), model.log_odds(table.codes))
    assert np.array_equal(again.feature_importances(), model.feature_importances())


def test_the_same_words_give_the_same_model(facts_of, table_of):
    facts = facts_of([40, -5, 7], 2, 30_000.0)
    one, two = (run(SMALL, facts, table_of(facts, 300), seed=5)[0] for _ in range(2))
    assert one.to_data() == two.to_data()


def test_the_order_of_records_plays_no_part(facts_of, table_of):
    facts = facts_of([40, -5, 7], 3, 30_000.0)
    table = table_of(facts, 300)
    turned = replace(table, codes=table.codes[::-1].copy(), labels=table.labels[::-1].copy())
    one, two = (run(SMALL, facts, t, seed=5)[0] for t in (table, turned))
    assert one.to_data() == two.to_data()


def slow_steps(sums, sizes, noise, size_noise, curvature, spread, clip):
    """One leaf at a time, from the root down its path."""
    out = []
    for leaf in range(len(sizes)):
        step, width = 0.0, len(sizes)
        while width:
            first = leaf // width * width
            total, size = sum(sums[first : first + width]), sum(sizes[first : first + width])
            bend = curvature * max(size, size_noise * width**0.5)
            weight = bend**2 * spread**2 / (bend**2 * spread**2 + noise**2 * width)
            step += weight * (total / bend - step)
            width //= 2
        out.append(max(-clip, min(clip, step)))
    return out


def test_steps_are_shrunk_along_the_path_of_each_leaf():
    generator = np.random.default_rng(0)
    sums, sizes = generator.normal(size=(8, 1), scale=30), generator.normal(60, 50, size=8)
    arguments = 5.0, 25.0, 0.25, 0.6, 1.5
    ours = shrunk_steps(sums, sizes, *arguments)[:, 0]
    assert np.allclose(ours, slow_steps(sums[:, 0].tolist(), sizes.tolist(), *arguments))


def test_noise_alone_makes_small_steps():
    generator = np.random.default_rng(1)
    steps = shrunk_steps(
        generator.normal(size=(16, 1), scale=50), generator.normal(size=16, scale=250),
        50.0, 250.0, 0.25, 0.6, 3.0,
    )  # fmt: skip
    assert np.abs(steps).max() < 1.5


def test_a_round_draws_trees_on_few_features(facts_of, table_of):
    facts = facts_of([9] * 12, 2, 30_000.0)
    model, *_ = run(SMALL, facts, table_of(facts, 300))
    most = max(SMALL.settings.features_per_tree)
    assert all(len(set(tree.tolist()) - {0}) <= most for tree in model.trees.feature)
