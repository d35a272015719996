"""The boosted forest: its plan is its cost, training keeps to it, and it learns."""

from __future__ import annotations

import json
import re
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
from dpforest.accounting.releases import LearnerBudget, PlanError
from dpforest.bridge.bridge import Sealed
from dpforest.exceptions import ModelFormatError, ParameterError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords, Sensitivity
from dpforest.trees.boosted import plan as boosted_plan
from dpforest.trees.boosted.growth import CountedGrowth, Growth
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.model import BoostedModel
from dpforest.trees.boosted.plan import Role
from dpforest.trees.boosted.settings import (
    MAX_DEPTH,
    SIZES,
    BoostedSettings,
    BoostedSize,
    PureSettings,
)
from dpforest.trees.boosted.steps import Scales, combined_levels, newton_steps
from dpforest.trees.prior import base_scores, released_class_counts, start_scores
from dpforest.trees.scored.gradients import GRADIENT_STEPS
from dpforest.trees.scored.score_steps import SCORE_STEPS, in_score_steps
from dpforest.trees.training import train_on

DELTA = Fraction(1, 10**6)
SMALL = BoostedForest(
    BoostedSettings(fixed_size=BoostedSize(3, 5)), PureSettings(fixed_size=BoostedSize(3, 2))
)
#: Scores are as long as they come.
NO_LOOK = {"confidence_share": Fraction(0)}
SHAPES = [
    pytest.param([40, -5, 7, -2], 2, id="binary"),
    pytest.param([-3, 20, 9], 4, id="4 classes"),
]


def releases_of(plan):
    """Every release of a plan, in the order of training."""
    return [release for one in plan.rounds for release in one.releases * one.times]


def run(learner, facts, table, epsilon=Fraction(2), seed=1, n_threads=1, delta=DELTA):
    plan = learner.plan(facts, LearnerBudget(epsilon, delta))
    accountant = BudgetAccountant(epsilon, delta)
    done = []
    with accountant.open_scope("fit", reserve=plan.loss) as scope:
        records = MemoryRecords(table, n_threads)
        model = train_on(
            learner, plan, scope, SeededSource(seed), records, facts, lambda: done.append(1)
        )
        assert scope.loss == plan.loss
    return model, plan, accountant, len(done)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize(
    ("n_codes", "epsilon", "end"),
    [
        ([-(10**6)], 10**4, "but sums of a level would take more than 1 GB of memory"),
        ([40, -5], 10**8, "but 16 levels are the most that a tree has"),
        ([40, -5], 1, None),
    ],
)
def test_a_plan_says_where_something_else_than_the_budget_ends_the_depth(
    facts_of, delta, n_codes, epsilon, end
):
    plan = BoostedForest().plan(facts_of(n_codes, 7, 1e5), LearnerBudget(Fraction(epsilon), delta))
    words, depth = plan.describe(), plan.shape.depth
    if end is None:
        assert "depth ends at" not in words
    else:
        found = re.fullmatch(r"(\d+); the budget would carry (\d+), (.*)", words["depth ends at"])
        assert int(found[1]) == depth < int(found[2]) and found[3] == end


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("rows", [None, 30_000.0])
def test_training_asks_for_exactly_what_was_planned(facts_of, table_of, n_codes, n_classes, rows):
    facts = facts_of(n_codes, n_classes, rows)
    model, plan, accountant, done = run(SMALL, facts, table_of(facts, 400))
    assert accountant.loss.rho == plan.loss.rho == sum(part.loss.rho for part in plan.parts)
    quantiles = Role.QUANTILES in {release.role for release in releases_of(plan)}
    assert quantiles == (rows is not None)
    # A pass a level, one for the leaves, one for each correction of leaves, and the last look.
    corrections = 2 * 5 if n_classes > 2 else 0
    looks = Role.CONFIDENCE in {release.role for release in releases_of(plan)}
    assert looks == (rows is not None and n_classes > 2)
    assert done == plan.n_steps == 1 + quantiles + 5 * (3 + 1) + corrections + looks
    asked = [(e.role, e.mechanism, e.cells, e.level) for e in accountant.ledger]
    assert asked == [(r.role, r.event.mechanism, r.cells, r.level) for r in releases_of(plan)]
    assert model.steps.shape[:2] == (5, 8)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
def test_a_plan_uses_its_budget_and_never_more(facts_of, epsilon, rows):
    for n_classes in (2, 7):
        budget = LearnerBudget(Fraction(epsilon), DELTA)
        plan = BoostedForest().plan(facts_of([40, -5, 7, -2], n_classes, rows), budget)
        assert budget.rho * Fraction(999, 1000) < plan.loss.rho <= budget.rho
        pure = LearnerBudget(Fraction(epsilon), Fraction(0))
        plan = BoostedForest().plan(facts_of([40, -5, 7, -2], n_classes, rows), pure)
        assert plan.loss.epsilon == pure.epsilon and plan.loss.delta == 0


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("depth", "ratio"), [(1, 1.5), (2, 1.5), (6, 1.0), (6, 1.5), (6, 3.0)])
def test_lower_levels_get_more_of_what_node_sums_may_cost(facts_of, delta, n_classes, depth, ratio):
    kind = BoostedSettings if delta else PureSettings
    settings = kind(fixed_size=BoostedSize(depth, 4), node_downward=ratio)
    budget = LearnerBudget(Fraction(2), delta)
    plan = BoostedForest(settings, settings).plan(facts_of([40, -5, 7], n_classes, 1e4), budget)
    trees = [one for one in plan.rounds if {r.role for r in one.releases} & {
        Role.NODES, Role.COUNTED_NODES, Role.LEAVES, Role.COUNTED_LEAVES
    }]  # fmt: skip
    assert len(trees) == (2 if n_classes > 2 and not delta else 1)
    for tree in trees:
        paid, all_of_it = {}, Fraction(0)
        for release in tree.releases:
            loss = release.event.loss
            own = loss.rho if delta else loss.epsilon
            all_of_it += own
            if release.role in (Role.NODES, Role.COUNTED_NODES):
                paid[release.level] = own
        assert list(paid) == list(range(1, depth))
        for level in range(1, depth - 1):
            # Shares are whole steps, and noise is rounded up.
            assert float(paid[level + 1] / paid[level]) == pytest.approx(ratio, rel=2e-3)
        wanted = all_of_it * settings.node_share
        assert sum(paid.values()) == pytest.approx(wanted if depth > 1 else 0, rel=1e-3)
        assert delta or sum(paid.values()) <= wanted


def test_shares_of_levels_add_up_to_all_of_it():
    for ratio in (1.0, 1.5, 3.0):
        assert boosted_plan._downward(0, ratio) == []
        for depth in range(1, MAX_DEPTH + 1):
            assert sum(boosted_plan._downward(depth, ratio)) == 1


@pytest.mark.parametrize(("n_classes", "delta"), [(2, DELTA), (4, DELTA), (4, Fraction(0))])
def test_several_classes_begin_where_clipped_residuals_add_up_to_nothing(
    facts_of, table_of, monkeypatch, n_classes, delta
):
    facts, kept = facts_of([40, -5, 7], n_classes, 3000.0), []

    def known(*arguments):
        kept.append(released_class_counts(*arguments))
        return kept[-1]

    monkeypatch.setattr("dpforest.trees.boosted.learner.released_class_counts", known)
    learner = BoostedForest(*(replace(s, **NO_LOOK) for s in (SMALL.settings, SMALL.pure_settings)))
    model, plan, *_ = run(learner, facts, table_of(facts, 400), delta=delta)
    lattice = plan.shape.lattice
    if n_classes > 2 and delta:
        sizes = lattice.most / GRADIENT_STEPS, lattice.square**0.5 / GRADIENT_STEPS
        assert np.array_equal(model.base, start_scores(kept[0], *sizes))
        assert not np.allclose(model.base, base_scores(kept[0]))
    else:  # of two a clip moves little; a first tree on class counts leads away from the prior
        assert np.array_equal(model.base, base_scores(kept[0]))


def test_the_plan_is_made_of_public_facts(facts_of):
    facts = facts_of([40, -5], 2, 5000.0)
    budget = LearnerBudget(Fraction(1), DELTA)
    assert BoostedForest().plan(facts, budget) == BoostedForest().plan(facts, budget)
    words = BoostedForest().plan(facts, budget).describe()
    assert all(isinstance(text, str) for text in words.values())


def test_larger_signals_buy_larger_forests(facts_of):
    budget = LearnerBudget(Fraction(1), DELTA)
    plans = [BoostedForest().plan(facts_of([40, -5], 2, n), budget) for n in (1e3, 1e5, 1e7)]
    sizes = [plan.shape.n_rounds * 2**plan.shape.depth for plan in plans]
    assert sizes == sorted(set(sizes))


def test_trees_are_as_deep_as_the_sums_of_a_level_fit_in_memory():
    settings = BoostedSettings()
    depths = [settings.size(1e12, 4, n_cells, 7).depth for n_cells in (100, 10**4, 10**6)]
    assert depths == sorted(depths, reverse=True) and depths[0] == MAX_DEPTH and depths[2] < 8


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
@pytest.mark.parametrize("rows", [None, 30_000.0])
def test_a_pure_fit_asks_for_exactly_its_plan(facts_of, table_of, n_codes, n_classes, rows):
    facts, epsilon = replace(facts_of(n_codes, n_classes, rows), in_memory=False), Fraction(2)
    model, plan, accountant, _ = run(SMALL, facts, table_of(facts, 300), epsilon, delta=Fraction(0))
    assert accountant.loss.epsilon == plan.loss.epsilon == epsilon and accountant.loss.delta == 0
    asked = [(e.role, e.mechanism, e.cells, e.level) for e in accountant.ledger]
    assert asked == [(r.role, r.event.mechanism, r.cells, r.level) for r in releases_of(plan)]
    first = n_classes > 2
    assert model.n_trees == first + 2
    assert any(entry.role == Role.COUNTED_LEAVES for entry in accountant.ledger) == first
    kinds = {type(release.event) for release in releases_of(plan)}
    own = {ZeroSumGeometricNoise} if first else set()
    assert kinds == {GeometricNoise, PermuteAndFlipSelection} | own


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_a_pure_fit_learns_what_is_there(facts_of, table_of, n_codes, n_classes):
    facts = facts_of(n_codes, n_classes, 20_000.0)
    pure, (train, unseen) = Fraction(0), (table_of(facts, 20_000), table_of(facts, 5000, seed=9))
    model, *_ = run(BoostedForest(), facts, train, Fraction(20), delta=pure)
    hits = (model.log_odds(unseen.codes).argmax(axis=1) == unseen.labels).mean()
    share = np.bincount(unseen.labels).max() / 5000
    assert hits > share + 0.5 * (0.95 - share)


def test_sizes_of_a_pure_epsilon_grow_with_the_signal():
    settings = PureSettings()
    for n_classes in (2, 3, 8):
        depths = [settings.depth(10.0**power, 10, n_classes) for power in range(8)]
        assert depths == sorted(depths) and depths[0] < depths[-1]
    assert settings.first(2) == 0 < settings.first(3)


@pytest.mark.parametrize("kind", [BoostedSettings, PureSettings])
@pytest.mark.parametrize("changes", [
    *({name: value} for name in ("clip", "clip_of_many", "curvature", "curvature_of_many", "mass")
      for value in (Fraction(0), Fraction(-1), Fraction(3, 2), Fraction(2**45))),
    {"prior_share": Fraction(0)}, {"quantile_share": Fraction(1)}, {"node_share": Fraction(-1, 9)},
    {"selection_share": Fraction(9, 10), "node_share": Fraction(1, 10)},
    {"first_share": Fraction(1)}, {"first_share": Fraction(-1, 9)},
    {"correction_share": Fraction(1)}, {"correction_share": Fraction(-1, 9)},
    {"confidence_share": Fraction(1)}, {"confidence_share": Fraction(-1, 9)},
    {"confidence_share": "all"}, {"quantile_share": Fraction(1, 2), "confidence_share": 0.5},
    {"correction_times": -1}, {"correction_times": 0.5}, {"correction_times": True},
    *({name: value} for name in SIZES for value in (0, -1.0, 1001, float("nan"), "much", True)),
    {"weighted": 1}, {"weighted": None}, {"weighted": "yes"},
])  # fmt: skip
def test_settings_that_sums_or_prices_could_not_bear_are_refused(kind, changes):
    with pytest.raises(ParameterError, match=next(reversed(changes))):
        kind(**changes)
    assert kind(clip=Fraction(1), curvature=Fraction(1), mass=Fraction(1)).clip == 1


def test_a_forest_without_rounds_is_none():
    with pytest.raises(ParameterError, match="n_rounds=0: must be at least 1"):
        BoostedSize(3, 0)


@pytest.mark.parametrize("depth", [0, MAX_DEPTH + 1])
def test_depths_that_are_none_are_refused(depth):
    with pytest.raises(ParameterError, match=f"depth={depth}: must be .* at most {MAX_DEPTH}"):
        BoostedSize(depth, 4)


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


@pytest.mark.parametrize("depth", [1, 6])
def test_features_that_leave_no_candidate_send_all_left(facts_of, table_of, depth):
    facts = facts_of([-1, -2], 2, 30_000.0)
    learner = BoostedForest(BoostedSettings(fixed_size=BoostedSize(depth, 3)))
    model, _, _, _ = run(learner, facts, table_of(facts, 100))
    assert (model.feature == -1).any() == (depth > 1)
    assert np.isfinite(model.log_odds(table_of(facts, 50).codes)).all()


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_it_learns_with_a_generous_budget(facts_of, table_of, n_codes, n_classes):
    learner = BoostedForest(BoostedSettings(fixed_size=BoostedSize(5, 20)))
    facts = facts_of(n_codes, n_classes, 20_000.0)
    model, _, _, _ = run(learner, facts, table_of(facts, 20_000), Fraction(20))
    unseen = table_of(facts, 5000, seed=9)
    hits = (model.log_odds(unseen.codes).argmax(axis=1) == unseen.labels).mean()
    share = np.bincount(unseen.labels).max() / 5000
    assert hits > share + 0.5 * (0.95 - share)


def test_a_table_without_structure_stays_at_its_prior(facts_of, table_of):
    facts = facts_of([40, -5], 2, 20_000.0)
    labels = np.random.default_rng(2).random(20_000) < 0.7
    model, _, _, _ = run(BoostedForest(), facts, table_of(facts, 20_000, labels=labels))
    odds = model.log_odds(table_of(facts, 500).codes)
    shares = 1 / (1 + np.exp(odds[:, 0] - odds[:, 1]))
    assert abs(shares.mean() - 0.7) < 0.05 and shares.std() < 0.15


@pytest.mark.parametrize(("role", "delta"), [
    (Role.NODES, DELTA), (Role.LEAVES, DELTA), (Role.NODES, 0), (Role.LEAVES, 0),
    (Role.COUNTED_NODES, 0), (Role.COUNTED_LEAVES, 0), (Role.CORRECTIONS, DELTA),
])  # fmt: skip
@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_a_plan_that_understates_sums_is_refused(
    facts_of, table_of, monkeypatch, n_codes, n_classes, role, delta
):
    if n_classes == 2 and role in (Role.COUNTED_NODES, Role.COUNTED_LEAVES, Role.CORRECTIONS):
        pytest.skip("of two classes no tree is grown on counts, and none is corrected")
    facts, priced = facts_of(n_codes, n_classes), boosted_plan._sums

    def understated(tree, which, level, share):
        less, row = which == role, tree.sums
        stated = Sensitivity(row.l1 - Fraction(less, 2), row.l2_squared - Fraction(less, 2))
        return priced(replace(tree, sums=stated), which, level, share)

    monkeypatch.setattr(boosted_plan, "_sums", understated)
    with pytest.raises(PlanError, match=f"the event of '{role}' is for less than one record moves"):
        run(SMALL, facts, table_of(facts, 50), delta=delta)


class MadeUp:
    """A score of what is offered, whoever was counted."""

    def __init__(self, score, number):
        self._score, self._number = score, number

    def __getattr__(self, name):
        return getattr(self._score, name)

    def rows(self, counted):
        rows = self._score.rows(counted)
        order = np.random.default_rng(self._number).permutation(rows.scores.size)
        return replace(rows, scores=np.where(rows.scores > -np.inf, order * 2.0**30, -np.inf))


@pytest.mark.parametrize(("kind", "delta", "n_codes", "n_classes", "n_levels", "deepest"), [
    pytest.param(Growth, DELTA, [40, -5, 7, -2], 2, 15, (4, 1), id="binary"),
    pytest.param(Growth, DELTA, [-3, 20, 9], 4, 15, (4, 4), id="4 classes"),
    pytest.param(CountedGrowth, 0, [-3, 20, 9], 4, 3, (4, 4), id="class counts"),
])  # fmt: skip
def test_centres_and_weights_follow_from_what_was_released(
    facts_of, table_of, monkeypatch, kind, delta, n_codes, n_classes, n_levels, deepest
):
    facts, noised, score = facts_of(n_codes, n_classes), Sealed.noised, kind.score
    seen: list[list[np.ndarray]] = []
    weights: list[list[np.ndarray]] = []

    def made_up(sealed, role, part=None):
        shape = noised(sealed, role, part).shape
        return np.random.default_rng(len(seen[-1])).integers(1, 10**5, shape)

    def watched(growth, query, centres, epsilon):
        seen[-1].append(centres)
        weights[-1].append(growth._weights.weights())
        return MadeUp(score(growth, query, centres, epsilon), len(seen[-1]))

    monkeypatch.setattr(Sealed, "noised", made_up)
    monkeypatch.setattr(kind, "score", watched)
    for n_records in (100, 300):
        seen.append([])
        weights.append([])
        # So much that noise hides no record, wherever one would show.
        budget = Fraction(1000), 1, 1, Fraction(delta)
        run(SMALL, facts, table_of(facts, n_records, seed=n_records), *budget)
    assert len(np.unique(weights[0], axis=0)) == n_levels and all(map(np.array_equal, *weights))
    assert len(seen[0]) == n_levels and any(centres.any() for centres in seen[0])
    assert seen[0][2].shape == deepest
    assert all(map(np.array_equal, *seen))


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_a_preference_is_of_the_price_of_its_draw(
    facts_of, table_of, monkeypatch, n_codes, n_classes, delta
):
    facts, priced = facts_of(n_codes, n_classes, 3000.0), []

    def watched(growth, query, centres, epsilon, score=Growth.score):
        priced.append(epsilon)
        return score(growth, query, centres, epsilon)

    monkeypatch.setattr(Growth, "score", watched)
    _, _, accountant, _ = run(SMALL, facts, table_of(facts, 200), delta=delta)
    draws = [e for e in accountant.ledger if e.role in (Role.SPLITS, Role.COUNTED_SPLITS)]
    assert priced == [float(Fraction(draw.parameters["epsilon"])) for draw in draws]
    assert len(priced) > 3 and (delta or len(set(priced)) > 1)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_records_are_weighted_of_two_classes_with_a_delta_alone(facts_of, n_classes, delta):
    plan = BoostedForest().plan(facts_of([40, -5], n_classes, 1e4), LearnerBudget(2, delta))
    weighted = n_classes == 2 and delta > 0
    assert plan.shape.lattice.weighted == weighted
    assert ("weighted residuals" in plan.describe()["leaves"]) == weighted


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_threads_make_the_same_forest(facts_of, table_of, monkeypatch, n_codes, n_classes):
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 50)
    facts = facts_of(n_codes, n_classes, 30_000.0)
    table = table_of(facts, 400)
    one, three = (run(SMALL, facts, table, n_threads=n)[0].to_data() for n in (1, 3))
    assert one == three


@pytest.mark.parametrize(("n_codes", "n_classes"), SHAPES)
def test_a_model_is_stored_and_read_back(facts_of, table_of, n_codes, n_classes):
    facts = facts_of(n_codes, n_classes, 3000.0)
    model, _, _, _ = run(SMALL, facts, table_of(facts, 400))
    data = json.loads(json.dumps(model.to_data(), allow_nan=False))
    again = BoostedModel.from_data(data, facts)
    codes = table_of(facts, 100).codes
    assert np.array_equal(model.log_odds(codes), again.log_odds(codes))
    assert np.array_equal(model.feature_importances(), again.feature_importances())
    assert model.feature_importances().sum() == pytest.approx(1.0)
    for feature, size in enumerate(facts.n_codes):
        assert model.partial_scores(feature, facts).shape == (size, n_classes)


DAMAGE = {
    "a feature that is none": lambda data: data["feature"][0].__setitem__(0, 99),
    "a code that is none": lambda data: data["high"][0].__setitem__(0, 10**6),
    "an upside-down range": lambda data: data["low"][0].__setitem__(0, 39),
    "a missing node": lambda data: [part.pop() for part in data["feature"]],
    "steps of another shape": lambda data: data["steps"].pop(),
    "a step that is no whole number": lambda data: data["steps"][0][0].__setitem__(0, 0.5),
    "a negative size": lambda data: data["sizes"][0].__setitem__(0, -1.0),
    "other classes": lambda data: data.__setitem__("n_classes", 3),
    "another kind": lambda data: data.__setitem__("kind", "refitted"),
    "no base": lambda data: data.pop("base"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_models_are_refused(facts_of, table_of, damage):
    facts = facts_of([40, -5, 7], 2, 3000.0)
    data = run(SMALL, facts, table_of(facts, 300))[0].to_data()
    data["high"][0][0], data["low"][0][0], data["feature"][0][0] = 7, 0, 0
    damage(data)
    with pytest.raises(ModelFormatError):
        BoostedModel.from_data(data, facts)


# -- steps ---------------------------------------------------------------------------------------


def test_levels_are_combined_by_their_noise():
    generator = np.random.default_rng(1)
    leaves = generator.normal(size=(8, 3), scale=100)
    exact = [leaves.reshape(n, -1, 3).sum(axis=1) for n in (2, 4, 8)]
    noise, errors, said = [4.0, 9.0, 1.0], [], []
    for _ in range(4000):
        seen = [e + generator.normal(size=e.shape, scale=v**0.5) for e, v in
                zip(exact, noise, strict=True)]  # fmt: skip
        found = combined_levels(seen, noise)
        errors.append([((s - e) ** 2).mean() for (s, _), e in zip(found, exact, strict=True)])
        said = [v for _, v in found]
    assert said == pytest.approx([1 / (1 / 4 + 1 / (2 * said[1])), 1 / (1 / 9 + 1 / 2), 1.0])
    assert np.mean(errors, axis=0) == pytest.approx(said, rel=0.05)


def test_without_noise_a_step_is_newton_s():
    sums = np.array([[30.0, 10.0, 5.0], [-8.0, 4.0, 5.0]])
    steps = newton_steps([(sums, 1e-12)], Scales(10.0, 2.0, 1.0), 0.6, 50.0)
    assert steps[:, 0] == pytest.approx([3 / 5, -0.8 / 2])
    assert np.abs(newton_steps([(sums, 1e-12)], Scales(10.0, 2.0, 1.0), 0.6, 0.1)).max() == 0.1


def test_drowned_steps_stay_near_nothing():
    sums = np.array([[30.0, 10.0, 5.0], [-8.0, 4.0, 5.0]])
    steps = newton_steps([(sums, 1e12)], Scales(10.0, 2.0, 1.0), 0.6, 3.0)
    assert np.abs(steps).max() < 1e-4


def test_steps_are_multiples_whose_sums_are_exact():
    steps = in_score_steps(np.random.default_rng(1).normal(size=1000))
    assert np.array_equal(steps * SCORE_STEPS, np.rint(steps * SCORE_STEPS))
    assert steps.sum() == steps[::-1].sum()


def test_no_step_is_minus_nothing():
    # Stored models hold whole numbers, so a plain file of one read back would differ by a sign.
    assert not np.signbit(in_score_steps(np.array([-1e-9, -0.0, 0.0, 1e-9]))).any()
