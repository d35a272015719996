"""The rules learner: plans cost what training spends, and releases do not follow the records."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.exceptions import ModelFormatError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.streamed import draw_one_below
from dpforest.records.base import MemoryRecords
from dpforest.trees.rules import RuleModel, RulesLearner, RulesSettings, learner
from dpforest.trees.rules.directions import Directions, PublicDraws
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.rules.plan import cells_role, family_size, stage_role
from dpforest.trees.rules.probabilities import (
    LABEL_LEAD,
    SHARPENING,
    class_weights,
    confidence,
    counted_probabilities,
    shrink,
    uncounted_probabilities,
)
from dpforest.trees.rules.settings import MANY_CLASSES, SEVERAL_CLASSES
from dpforest.trees.training import train_on

SMALL = RulesSettings(n_sums=10, n_cuts=7)
LEARNER = RulesLearner(SMALL)
#: R of the kinds of plan: class shares, one tree, one tree counted, two to four stages counted.
SIGNALS = [1, 20, 150, 600, 2400, 9000]
#: Roles of four stages, with the counts before each but the first.
STAGES = [stage_role(0), *(role(k) for k in (1, 2, 3) for role in (cells_role, stage_role))]


def budget(epsilon, delta=0):
    return LearnerBudget(Fraction(epsilon), Fraction(delta))


def facts_with(facts_of, signal, n_codes=(12, -4, 9), n_classes=2):
    return facts_of(n_codes, n_classes, approximate_rows=signal * 2**0.5)


def train(facts, table, plan, seed=0, epsilon=1, learner=LEARNER):
    accountant = BudgetAccountant(epsilon)
    done = []
    with accountant.open_scope("fit", reserve=plan.loss) as scope:
        records, source = MemoryRecords(table), SeededSource(seed)
        model = train_on(learner, plan, scope, source, records, facts, lambda: done.append(1))
        spent = scope.loss
    assert len(done) == len(plan.parts)
    return model, spent, accountant


@pytest.mark.parametrize("signal", SIGNALS)
def test_plan_costs_what_training_spends_and_that_is_epsilon(signal, facts_of, table_of):
    facts = facts_with(facts_of, signal)
    plan = LEARNER.plan(facts, budget(1))
    model, spent, accountant = train(facts, table_of(facts, 200), plan)
    assert spent == plan.loss
    assert plan.loss.epsilon == 1
    assert accountant.spent.epsilon == 1.0
    assert sum(part.loss.epsilon for part in plan.parts) == 1
    roles = [entry.role for entry in accountant.ledger]
    assert roles == [part.name for part in plan.parts]


@pytest.mark.parametrize(
    ("signal", "parts", "depth"),
    [
        (4.9, ["prior"], 0),
        (5.1, ["rules, stage 1"], 2),
        (76, ["rules, stage 1", "leaf counts"], 2),
        (249, ["rules, stage 1", "leaf counts"], 2),
        (251, ["prior", "rules, stage 1", "leaf counts"], 2),
        (301, ["prior", "rules, stage 1", "rules, stage 2", "leaf counts"], 4),
        (999, ["prior", "rules, stage 1", "rules, stage 2", "leaf counts"], 4),
        (1001, ["prior", *STAGES[:5], "leaf counts"], 6),
        (2001, ["prior", *STAGES[:5], "leaf counts"], 6),
        (5999, ["prior", *STAGES[:5], "leaf counts"], 6),
        (6001, ["prior", *STAGES, "leaf counts"], 8),
    ],
)
def test_the_plan_follows_from_the_signal(signal, parts, depth, facts_of, table_of):
    facts = facts_with(facts_of, signal)
    plan = LEARNER.plan(facts, budget(1))
    assert [part.name for part in plan.parts] == parts
    model, *_ = train(facts, table_of(facts, 50), plan)
    assert len(model.nodes) == 2**depth - 1


@pytest.mark.parametrize("signal", [4.9, 301, 2001, 8001])
def test_draws_and_counts_are_paid_for_what_a_record_moves(signal, facts_of):
    # 1 of every tree's score, by tests/trees/rules/test_family.py, and 1 of one leaf's counts.
    plan = LEARNER.plan(facts_with(facts_of, signal), budget(1))
    releases = {release.role: release for one in plan.rounds for release in one.releases}
    stages = [releases[stage_role(k)] for k in range(plan.shape.n_stages)]
    assert all(stage.event.score_range == 1 for stage in stages)
    assert [stage.cells for stage in stages] == [4**k for k in range(len(stages))]
    counts = releases.keys() - {stage.role for stage in stages}
    assert all(releases[role].event.l1_sensitivity == 1 for role in counts)
    bought = [role for role in STAGES[1::2] if role in counts]
    assert [releases[role].cells for role in bought] == [4 ** (k + 1) for k in range(len(bought))]


@pytest.mark.parametrize("signal", SIGNALS)
def test_each_stage_has_twice_the_budget_of_the_one_before(signal, facts_of):
    facts = facts_with(facts_of, signal, n_classes=3)
    for growth in (2, 1):
        rules = RulesLearner(replace(SMALL, stage_growth=Fraction(growth)))
        plan = rules.plan(facts, budget(1))
        listed = {release.role: release.event for one in plan.rounds for release in one.releases}
        stages = [listed[stage_role(k)].epsilon for k in range(plan.shape.n_stages)]
        assert stages == [growth**k * first for first in stages[:1] for k in range(len(stages))]
        assert sum(event.epsilon for event in listed.values()) == 1
    assert SMALL.stage_growth == 2


@pytest.mark.parametrize(
    ("n_classes", "rows", "few"), [(2, 999, True), (2, 1000, False), (3, 400, False)]
)
def test_few_records_of_two_classes_are_followed_less_closely(n_classes, rows, few, facts_of):
    settings = LEARNER.plan(facts_of([12, -4], n_classes, rows), budget(9)).shape.settings
    found = settings.near_share, settings.stage_growth, settings.steepness_at(2)
    assert found == ((0, 1, 20) if few else (0.8, 2, 40))


@pytest.mark.parametrize(
    ("rows", "limits"), [(1000, (300, 1000, 6000)), (999, (300, 2000, 12_000))]
)
def test_stages_by_r_and_classes_and_of_few_records_of_two_later_ones(rows, limits, facts_of):
    of_many, of_very_many = (8000, 30_000), (3000, 12_000, 60_000)
    for n_classes, own in (
        (2, limits), (3, (300, 1000)), (4, (300, 1000, *of_many)),
        (SEVERAL_CLASSES - 1, (300, 1000, *of_many)), (SEVERAL_CLASSES, (150, 700, *of_many)),
        (MANY_CLASSES, (150, 700, *of_many)), (MANY_CLASSES + 1, (150, 700, *of_very_many)),
    ):  # fmt: skip
        facts = facts_of([12, -4, 9], n_classes, approximate_rows=rows)
        for n_stages, limit in enumerate(own, start=1):
            for signal, expected in ((limit - 1, n_stages), (limit + 1, n_stages + 1)):
                epsilon = Fraction(signal * 2**0.5 / rows)
                plan = LEARNER.plan(facts, budget(epsilon))
                assert plan.shape.n_stages == expected
                before = any("before stage" in part.name for part in plan.parts)
                assert before == (n_classes == 2 and signal > 1000)
        assert LEARNER.plan(facts, budget(900)).shape.n_stages == len(own) + 1


@pytest.mark.parametrize(("signal", "n_sums"), [(4999, 200), (5000, 150), (1e9, 150)])
def test_fewer_sums_are_offered_where_the_budget_is_large(signal, n_sums, facts_of):
    assert family_size(facts_with(facts_of, 100), RulesSettings(), signal, 1).n_sums == n_sums
    fewer = RulesSettings(n_sums=10)
    assert family_size(facts_with(facts_of, 100), fewer, signal, 1).n_sums == 10


@pytest.mark.parametrize(
    ("n_features", "n_classes", "n_stages", "expected"),
    [
        # as many cuts as ever: few features, or binary ones
        (60, 2, 3, (200, 800, 15)), (-1500, 2, 3, (200, 800, 15)), (400, 2, 1, (200, 800, 15)),
        (400, 2, 3, (200, 800, 8)), (64, 10, 3, (200, 800, 11)), (64, 7, 3, (200, 800, 15)),
        (200, 5, 3, (200, 800, 11)),
        # no fewer than seven, then fewer directions
        (400, 10, 3, (64, 261, 7)), (5000, 10, 3, (64, 261, 7)),
    ],
)  # fmt: skip
def test_many_ordered_features_have_fewer_cuts(n_features, n_classes, n_stages, expected, facts_of):
    codes = [32] * n_features if n_features > 0 else [-2] * -n_features
    facts = facts_of(codes, n_classes, approximate_rows=2000)
    settings = RulesSettings(work=1e18)
    found = family_size(facts, settings, 2000, n_stages)
    assert (found.n_sums, found.n_singles, found.n_cuts) == expected
    more = RulesSettings(work=1e18, pair_work=1e18, pair_work_of_several=1e18)
    assert family_size(facts, more, 2000, n_stages).n_cuts == 15
    assert family_size(facts, settings, 2000, n_stages + 3).n_cuts <= found.n_cuts


@pytest.mark.parametrize(("n_classes", "n_stages"), [(256, 6), (257, 5), (1025, 4), (4096, 4)])
def test_so_many_classes_end_the_stages_for_memory(n_classes, n_stages, facts_of):
    facts = facts_of([12, -4, 9], n_classes, approximate_rows=10**6)
    assert LEARNER.plan(facts, budget(1)).shape.n_stages == n_stages


def test_of_more_classes_later_stages_and_of_very_many_all_are_offered_less(facts_of):
    """What takes time is pairs of cuts, times cells, times classes."""
    for n_classes, sizes in (
        (2, ((150, 15), (150, 15))), (MANY_CLASSES, ((150, 15), (75, 8))),
        (MANY_CLASSES + 1, ((60, 8), (30, 4))),
    ):  # fmt: skip
        facts = facts_of([12, -4, 9], n_classes, approximate_rows=1000)
        shape = RulesLearner().plan(facts, budget(90)).shape
        assert shape.n_stages >= 4
        found = [(size.n_sums, size.n_cuts) for size in map(shape.size_at, range(shape.n_stages))]
        assert found == [sizes[0]] * 3 + [sizes[1]] * (shape.n_stages - 3)
    small = RulesSettings(n_sums=10, n_cuts=3)
    size = family_size(facts_of([12], MANY_CLASSES + 1, approximate_rows=1000), small, 10, 1)
    assert (size.n_sums, size.n_cuts) == (10, 3)


def test_blocks_of_records_are_not_seen(facts_of, table_of, monkeypatch):
    facts = facts_with(facts_of, 600)
    table = table_of(facts, 300)
    model, *_ = train(facts, table, LEARNER.plan(facts, budget(1)))
    scores, leaves = model.log_odds(table.codes), model.leaves(table.codes)
    monkeypatch.setattr("dpforest.trees.rules.model._BLOCK", 7)
    assert np.allclose(model.log_odds(table.codes), scores, rtol=1e-12)
    assert np.array_equal(model.leaves(table.codes), leaves)


@pytest.mark.parametrize(("n_classes", "parts"), [(4096, 2), (4097, 1), (65_536, 1)])
def test_of_more_classes_than_sums_can_hold_class_shares_are_released(n_classes, parts, facts_of):
    facts = facts_with(facts_of, 149, n_classes=n_classes)
    plan = LEARNER.plan(facts, budget(1))
    assert len(plan.parts) == parts and plan.loss.epsilon == 1
    assert ("more than 4096 classes" in plan.describe()["rules"]) == (parts == 1)


def test_delta_buys_nothing_here(facts_of):
    facts = facts_with(facts_of, 600)
    assert LEARNER.plan(facts, budget(1, "1e-6")) == LEARNER.plan(facts, budget(1))


def test_without_a_row_count_one_tree_is_drawn(facts_of):
    plan = LEARNER.plan(facts_of([5, 5], 3), budget(1))
    assert [part.name for part in plan.parts] == ["rules, stage 1"]
    assert "R = 20" in plan.describe()["probabilities"]


@pytest.mark.parametrize("signal", SIGNALS)
def test_whatever_the_records_are_the_same_is_asked_for(signal, facts_of, table_of):
    facts = facts_with(facts_of, signal, n_classes=3)
    plan = LEARNER.plan(facts, budget(1))
    tables = [
        table_of(facts, 0),
        table_of(facts, 1),
        table_of(facts, 80),
        table_of(facts, 80, labels=np.full(80, 2)),
    ]
    shapes, ledgers = set(), set()
    for seed, table in enumerate(tables):
        model, _, accountant = train(facts, table, plan, seed)
        shapes.add((len(model.nodes), model.probabilities.shape))
        ledgers.add(str([entry.model_dump() for entry in accountant.ledger]))
        check_released(model, facts, table_of(facts, 40, seed=9).codes)
    assert len(shapes) == len(ledgers) == 1


def check_released(model, facts, codes):
    assert np.allclose(model.probabilities.sum(axis=1), 1)
    assert model.probabilities.min() > 0
    log_odds = model.log_odds(codes)
    assert log_odds.shape == (len(codes), facts.n_classes)
    assert np.allclose(np.exp(log_odds).sum(axis=1), 1)
    importances = model.feature_importances()
    assert importances.shape == (facts.n_features,)
    assert importances.sum() == pytest.approx(1) or not importances.any()


@pytest.mark.parametrize("n_codes", [[1], [2], [-2], [1, 1], [300], [-300, 2], [40] * 60])
@pytest.mark.parametrize("signal", [20, 600])
def test_odd_domains_train(n_codes, signal, facts_of, table_of):
    facts = facts_with(facts_of, signal, n_codes)
    plan = LEARNER.plan(facts, budget(1))
    table = table_of(facts, 60)
    model, *_ = train(facts, table, plan)
    check_released(model, facts, table.codes)


@pytest.mark.parametrize("signal", [20, 2400])
def test_scores_go_by_the_features_that_are_read_and_no_others(signal, facts_of, table_of):
    facts = facts_with(facts_of, signal, n_codes=(12, -4, 9, 7, -3, 5, 30, 2))
    table = table_of(facts, 400)
    codes, other = table.codes, table_of(facts, 400, seed=9).codes
    seen = set()
    for seed in range(6):
        model, *_ = train(facts, table, LEARNER.plan(facts, budget(1)), seed=seed)
        read = model.features_read()
        of_cuts = {place for node in model.nodes if node for place in node.direction.features}
        assert read == sorted(of_cuts) == [place for place in range(8) if model._looks_at(place)]
        changed = other.copy()
        changed[:, read] = codes[:, read]
        assert np.array_equal(model.log_odds(changed), model.log_odds(codes))
        for place in read:
            changed[:, place] = other[:, place]
        seen.add(not np.array_equal(model.log_odds(changed), model.log_odds(codes)))
    assert True in seen


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_clear_table_is_learnt(n_classes, facts_of, table_of):
    facts = facts_with(facts_of, 600, [64, 64, 3], n_classes)
    table = table_of(facts, 800)
    labels = (table.codes[:, 0].astype(int) * n_classes // 64).astype(np.uint8)
    table = table_of(facts, 800, labels=labels)
    model, *_ = train(facts, table, LEARNER.plan(facts, budget(1)))
    predicted = model.log_odds(table.codes).argmax(axis=1)
    assert (predicted == labels).mean() > 0.9
    assert model.feature_importances().argmax() == 0
    # Graded: records of one leaf differ by how far from the cut they lie.
    inside = model.log_odds(table.codes)[:, 0]
    assert np.unique(inside).size > 2 * len(model.probabilities)


def test_one_seed_gives_one_model_and_json_gives_it_back(facts_of, table_of):
    facts = facts_with(facts_of, 600)
    plan, table = LEARNER.plan(facts, budget(1)), table_of(facts, 150)
    first, second = (train(facts, table, plan, seed=4)[0] for _ in range(2))
    assert first.to_data() == second.to_data()
    again = RuleModel.from_data(json.loads(json.dumps(first.to_data())), facts)
    assert np.array_equal(again.log_odds(table.codes), first.log_odds(table.codes))
    assert np.array_equal(again.feature_importances(), first.feature_importances())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": "other"}, "not a dpforest-rules model of version 1"),
        ({"version": True}, "not a dpforest-rules model of version 1 or 2"),
        ({"version": 1.0}, "not a dpforest-rules model of version 1 or 2"),
        ({"version": 3}, "not a dpforest-rules model of version 1 or 2"),
        ({"steepness": 0}, "damaged"),
        ({"steepness": 1e9}, "damaged"),
        ({"steepness": "no"}, "damaged"),
        ({"labels": [0]}, "labels of leaves is damaged: its shape"),
        ({"nodes": [{"features": [0], "tables": [], "threshold": 1}]}, "damaged"),
        ({"probabilities": "no"}, "damaged"),
    ],
)
def test_damaged_data_is_refused(change, text, facts_of, table_of):
    facts = facts_with(facts_of, 20)
    model, *_ = train(facts, table_of(facts, 30), LEARNER.plan(facts, budget(1)))
    with pytest.raises(ModelFormatError, match=text):
        RuleModel.from_data({**model.to_data(), **change}, facts)


@pytest.mark.parametrize(("signal", "steepness"), [(20, 20.0), (150, 20.0), (600, 40.0)])
def test_soft_cuts_are_steeper_where_stages_are_several(signal, steepness, facts_of, table_of):
    facts = facts_with(facts_of, signal, n_classes=3)
    model, *_ = train(facts, table_of(facts, 150), LEARNER.plan(facts, budget(1)))
    assert model.steepness == model.to_data()["steepness"] == steepness
    codes = table_of(facts, 90, seed=3).codes
    graded = [replace(model, steepness=s)._graded(codes).max(axis=1).mean() for s in (20.0, 40.0)]
    assert graded[0] < graded[1] < 1.0
    assert model._graded(codes).max(axis=1).mean() == graded[steepness > 20.0]


def test_a_model_stored_by_version_1_is_what_it_was(facts_of, table_of):
    facts = facts_with(facts_of, 600, n_classes=3)
    model, *_ = train(facts, table_of(facts, 150), LEARNER.plan(facts, budget(1)))
    data = model.to_data()
    del data["steepness"]
    again = RuleModel.from_data({**data, "version": 1}, facts)
    codes = table_of(facts, 90, seed=3).codes
    expected = replace(model, steepness=20.0).log_odds(codes)
    assert np.array_equal(again.log_odds(codes), expected)
    assert not np.allclose(model.log_odds(codes), expected)


# -- directions ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_records", [0, 1, 512, 1300])
def test_directions_are_public_and_bins_follow_their_thresholds(facts_of, table_of, n_records):
    facts = facts_with(facts_of, 20, [300, -5, 40, -2])
    directions = draw_directions(facts, 30, 15, 100, 0.5, SeededSource(3))
    assert len(directions.members) == 1 + 5 + 1 + 1 + 30
    assert directions.shares.sum() == pytest.approx(1)
    assert directions.shares[-30:].sum() == pytest.approx(0.5)
    codes = table_of(facts, n_records).codes
    bins = directions.bins(codes)
    assert bins.shape == (n_records, len(directions.members)) and bins.flags.c_contiguous
    assert (bins < directions.n_bins).all()
    assert np.array_equal(bins, directions.bins(np.asfortranarray(codes)))
    for m, direction in enumerate(directions.members):
        assert direction.thresholds.size <= 15
        for k, threshold in enumerate(direction.thresholds):
            assert np.array_equal(bins[:, m] <= k, direction.values(codes) <= threshold)


@pytest.mark.parametrize("n_codes", [[-2, -2, -3], [300, -5, 40, -2]])
def test_no_direction_has_a_threshold_twice(facts_of, n_codes):
    # Where all coins of a sum's categories fall alike, it has one value.
    facts = facts_with(facts_of, 20, n_codes)
    members = draw_directions(facts, 60, 15, 100, 0.5, SeededSource(3)).members
    assert min(direction.width for direction in members) < (2 if n_codes[0] < 0 else 3)
    assert all((np.diff(direction.thresholds) > 0).all() for direction in members)


def test_without_directions_there_are_no_bins():
    assert Directions((), np.empty(0)).bins(np.zeros((7, 2), np.uint8)).shape == (7, 0)


def test_a_wide_domain_is_offered_in_part(facts_of):
    facts = facts_with(facts_of, 1e5, [40] * 500)
    size = family_size(facts, RulesSettings(), 20, 1)
    assert size.n_sums < 200
    directions = draw_directions(
        facts, size.n_sums, size.n_cuts, size.n_singles, 0.5, SeededSource(1)
    )
    assert len(directions.members) <= size.n_singles + size.n_sums
    features = {d.features for d in directions.members if len(d.features) == 1}
    assert len(features) == min(size.n_singles, 500)


# -- probabilities ---------------------------------------------------------------------------


def test_at_a_tiny_budget_the_answer_is_no_worse_than_the_noisy_prior(facts_of, table_of):
    """Mean log loss over 20 seeds, against the histogram that the same budget buys."""
    facts = facts_of([12, -4, 9], 2, approximate_rows=300)
    plan = LEARNER.plan(facts, budget("0.01"))
    held_out = table_of(facts, 500, seed=7)
    losses, priors = [], []
    for seed in range(20):
        model, *_ = train(facts, table_of(facts, 300), plan, seed, epsilon="0.01")
        log_odds = model.log_odds(held_out.codes)
        losses.append(-log_odds[np.arange(500), held_out.labels].mean())
        noise = np.random.default_rng(seed).laplace(scale=100, size=2)
        shares = np.maximum(np.bincount(table_of(facts, 300).labels, minlength=2) + noise, 100)
        priors.append(-np.log(shares / shares.sum())[held_out.labels].mean())
    error = np.std(losses, ddof=1) / 20**0.5
    assert np.mean(losses) <= np.mean(priors) + error


@pytest.mark.parametrize("signal", SIGNALS)
def test_masses_are_shares_and_none_lies_where_nothing_is(signal, facts_of, table_of):
    facts = facts_with(facts_of, signal)
    model, *_ = train(facts, table_of(facts, 300), LEARNER.plan(facts, budget(1)))
    masses = model.leaf_masses()
    assert masses.shape == model.labels.shape and masses.sum() == pytest.approx(1)
    assert masses.min() >= 0
    reached = np.unique(model.leaves(table_of(facts, 2000, seed=4).codes))
    assert (masses > 0).sum() <= max(reached.size, 1) + (masses.size > 1) * masses.size // 2
    assert (model.masses is not None) == (signal >= 75)
    total = model.feature_importances().sum()
    assert total == pytest.approx(1) or total == 0


def test_many_counts_are_followed_and_sharpened():
    counts = np.array([[80_000, 20_000], [10_000, 90_000]])
    table = counted_probabilities(
        np.array([0, 1]), counts, np.array([True, True]), 2.0, 1e5, np.ones((2, 2), np.int64)
    )
    odds = np.log(table[:, 0] / table[:, 1])
    assert np.allclose(odds, SHARPENING * np.log(counts[:, 0] / counts[:, 1]), atol=0.01)
    assert np.allclose(table.sum(axis=1), 1)


def test_class_shares_are_bought_of_two_classes_alone_and_cost_little(facts_of):
    for signal in (251, 1e3, 1e5):
        plan = LEARNER.plan(facts_with(facts_of, signal), budget(1))
        prior = plan.parts[0]
        assert prior.name == "prior"
        assert float(prior.loss.epsilon) == pytest.approx(0.05 * (250 / signal) ** 0.5, rel=1e-2)
        assert plan.loss.epsilon == 1
    more = LEARNER.plan(facts_with(facts_of, 1e3, n_classes=3), budget(1))
    assert more.parts[0].name == "rules, stage 1"


@pytest.mark.parametrize(
    ("counts", "variance", "weights"),
    [
        ([500, 500], 1.0, (1, 1)),
        ([760, 240], 1.0, (1, 1)),
        ([840, 160], 1.0, (1, 1)),
        ([860, 140], 1.0, (1, 5)),
        ([920, 80], 1.0, (1, 8)),
        ([80, 920], 1.0, (8, 1)),
        ([900, 100], 1e4, (1, 1)),
        ([1000, -30], 1e4, (1, 8)),
        ([-5, -8], 1.0, (1, 1)),
        ([10**6, 0], 1.0, (1, 16)),
    ],
)
def test_records_of_a_rare_class_weigh_more(counts, variance, weights):
    assert class_weights(np.array(counts), variance, RulesSettings(), 5.5) == weights


@pytest.fixture
def spied(monkeypatch):
    """What trees are asked for with, and what weights of classes are made of, call by call."""
    asked, released = [], []
    drawn, counted = learner.TreesOfHeightTwo, learner.class_weights
    monkeypatch.setattr(
        learner, "TreesOfHeightTwo", lambda *given: asked.append(given) or drawn(*given)
    )
    monkeypatch.setattr(
        learner, "class_weights",
        lambda counts, *rest: released.append((counts, rest)) or counted(counts, *rest),
    )  # fmt: skip
    return asked, released


def test_a_class_that_is_rare_in_a_leaf_weighs_more_there(facts_of, table_of, spied):
    """Counts of the leaves of stages before make the weights, each of its own leaf alone."""
    facts = facts_with(facts_of, 9000)
    asked, released = spied
    plan = LEARNER.plan(facts, budget(1))
    model, *_ = train(facts, table_of(facts, 9000), plan)
    assert [len(leaves) for _, leaves, _ in asked] == [len(own) for _, _, own in asked]
    assert asked[0][2] == ((1, 1),)  # classes of all records are even
    assert any(max(own) > 1 for _, _, weights in asked[1:] for own in weights)
    first, after = released[0], released[1:]
    assert first[1][-1] == SMALL.rare_odds_of_much
    assert all(rest[-1] == SMALL.rare_odds_of_cell for _, rest in after)
    # One call a leaf of each stage but the last, in their order.
    assert len(after) == 4 + 16 + 64
    # What they go by is noisy: the sum over all leaves is not that of the records.
    for stage in (after[:4], after[4:20], after[20:]):
        assert abs(sum(counts.sum() for counts, _ in stage) - 9000) > 1
    of_second = [class_weights(counts, *rest) for counts, rest in after[:4]]
    assert asked[1][2] == tuple(of_second[leaf] for leaf in asked[1][1])
    assert model.log_odds(np.zeros((1, facts.n_features), dtype=np.uint8)).shape == (1, 2)


@pytest.mark.parametrize(("signal", "weighs"), [(450, False), (1400, False), (1600, True)])
def test_a_class_of_a_fifth_weighs_more_where_much_can_be_learnt(
    facts_of, table_of, spied, signal, weighs
):
    facts = facts_with(facts_of, signal)
    n = int(facts.approximate_rows)
    asked, released = spied
    table = table_of(facts, n, labels=(np.arange(n) % 5 == 0).astype(np.int64))
    train(facts, table, LEARNER.plan(facts, budget(1)))
    assert (released[0][0] != np.bincount(table.labels)).all()  # they are noisy
    ((often, rare),) = asked[0][2]
    assert often == 1 and (rare > 1) == weighs
    assert SMALL.rare_odds_of_much < 4 < SMALL.rare_odds


def lopsided_table(facts, table_of, n):
    """Labels that follow the third feature; below it the first one says where 1 is less rare."""
    table = table_of(facts, n)
    often, rest = table.codes[:, 0] >= 8, table.codes[:, 2] < 5
    share = np.where(rest, np.where(often, 0.3, 0.05), 0.95)
    labels = (np.random.default_rng(0).random(n) < share).astype(np.int64)
    return table_of(facts, n, labels=labels), often


def test_leaves_of_lopsided_cells_are_told_apart(facts_of, table_of):
    """Where no leaf of a cell is ever for the rare class, records that are likelier to be are."""
    facts = facts_with(facts_of, 9000)
    table, often = lopsided_table(facts, table_of, 9000)
    ratios = []
    for chosen in (SMALL, replace(SMALL, rare_odds_of_cell=1e9)):
        of_these = RulesLearner(chosen)
        ranked = []
        for seed in range(3):
            plan = of_these.plan(facts, budget(1))
            model, *_ = train(facts, table, plan, learner=of_these, seed=seed)
            found = np.exp(model.log_odds(table.codes))[:, 1]
            within = table.codes[:, 2] < 5
            ranked.append(found[within & often].mean() / found[within & ~often].mean())
        ratios.append(np.mean(ranked))
    assert ratios[0] > 1.3 * ratios[1]


def rare_table(facts, table_of, n, share=0.08, seed=0):
    """Labels that follow the first feature, but nowhere are more likely 1 than 0."""
    table = table_of(facts, n, seed=seed)
    generator = np.random.default_rng(seed)
    often = table.codes[:, 0] >= 9
    labels = generator.random(n) < np.where(often, 3.4, 0.2) * share
    return table_of(facts, n, seed=seed, labels=labels.astype(np.int64)), often


def test_a_class_that_is_nowhere_the_likeliest_is_still_ranked(facts_of, table_of):
    facts = facts_with(facts_of, 3000)
    table, often = rare_table(facts, table_of, 4000)
    plan = LEARNER.plan(facts, budget(1))
    model, *_ = train(facts, table, plan)
    found = np.exp(model.log_odds(table.codes))[:, 1]
    assert found[often].mean() > 2 * found[~often].mean()
    # Shares are of records, not of weights.
    assert found.mean() == pytest.approx(table.labels.mean(), abs=0.03)
    never = {"rare_odds": 1e6, "rare_odds_of_much": 1e6, "rare_odds_of_cell": 1e6}
    alike = RulesLearner(replace(SMALL, **never))
    plain, *_ = train(facts, table, alike.plan(facts, budget(1)), learner=alike)
    of_records = [one.labels[one.leaves(table.codes)].mean() for one in (model, plain)]
    assert of_records[0] > 5 * of_records[1]


def test_counts_that_drown_leave_what_was_expected():
    start = np.array([0.7, 0.3])
    for variance, least, most in ((0.0, 0.0, 0.05), (1e3, 0.05, 0.6), (1e9, 0.69, 0.71)):
        assert least <= shrink(np.array([0.0, 300.0]), variance, start)[0] <= most


@pytest.mark.parametrize("n_classes", [2, 5])
def test_labels_without_counts_are_sharpened_too(n_classes):
    table = uncounted_probabilities(np.array([1, 0]), n_classes, 20.0)
    right = confidence(20.0, n_classes)
    plain = math.log(right / ((1 - right) / (n_classes - 1)))
    assert np.isclose(math.log(table[0, 1] / table[0, 0]), SHARPENING * plain)
    assert np.allclose(table.sum(axis=1), 1) and (table.argmax(axis=1) == [1, 0]).all()


def test_a_label_of_many_classes_is_trusted_later():
    above = [
        [(confidence(signal, k) - 1 / k) / (1 - 1 / k) for k in (3, 4, 6, 30)]
        for signal in (6.0, 25.0, 74.0)
    ]
    assert np.all(np.diff(above, axis=1) < 0) and np.all(np.diff(above, axis=0) > 0)
    assert np.allclose(np.array(above)[:, 0], [0.65 * r / (r + 12) for r in (6.0, 25.0, 74.0)])
    assert confidence(25.0, 2) == pytest.approx(0.5 + 0.5 * above[1][0])


def test_four_leaves_name_few_of_many_classes_whatever_is_known():
    above = [(confidence(1e9, k) - 1 / k) / (1 - 1 / k) for k in (2, 8, 16, 80)]
    assert np.allclose(above, [0.65, 0.65, 0.65 / 2, 0.65 / 10])


def test_a_thousand_classes_can_be_told_apart():
    counts = np.zeros((1, 1000), dtype=np.int64)
    counts[0, 3] = 10**6
    found = shrink(counts[0].astype(float), 2.0, np.full(1000, 1e-3))
    assert found[3] > 0.6 and found.min() > 0


def test_counts_do_not_overrule_a_label_of_many_classes():
    labels, reachable = np.array([0, 1, 2]), np.ones(3, dtype=bool)
    counts = np.array([[60, 300, 40], [100, 900, 50], [0, 0, 0]])
    weights = np.ones((3, 3), dtype=np.int64)
    table = counted_probabilities(labels, counts, reachable, 50.0, 300.0, weights)
    assert table.argmax(axis=1).tolist() == [0, 1, 2] and np.allclose(table.sum(axis=1), 1)
    assert table[0, 0] / table[0, 1] == pytest.approx(LABEL_LEAD**SHARPENING)
    assert table[1, 1] > 0.7
    # Of two classes they may.
    two = counted_probabilities(
        labels[:2], counts[:2, :2], reachable[:2], 50.0, 300.0, weights[:2, :2]
    )
    assert two.argmax(axis=1).tolist() == [1, 1]


def test_where_nothing_can_be_learnt_many_classes_are_not_claimed(facts_of, table_of):
    """Labels of twenty classes by the die: log loss near that of even shares."""
    facts = facts_with(facts_of, 25, n_classes=20)
    table = table_of(facts, 400)
    labels = np.random.default_rng(2).integers(0, 20, 400).astype(table.labels.dtype)
    plan, losses = LEARNER.plan(facts, budget(1)), []
    for seed in range(20):
        model, *_ = train(facts, replace(table, labels=labels), plan, seed=seed)
        shares = np.exp(model.log_odds(table_of(facts, 2000, seed=100 + seed).codes))
        losses.append(-np.log(shares / shares.sum(axis=1, keepdims=True)).mean())
    assert np.mean(losses) < math.log(20) + 0.15


@pytest.mark.parametrize("bound", [1, 2, 3, 200, 2**63 + 1, 2**64])
def test_public_draws_are_those_of_the_mechanism_word_by_word(bound):
    ours, theirs = PublicDraws(SeededSource(3)), SeededSource(3)
    for _ in range(3000):
        assert ours.below(bound) == (draw_one_below(bound, theirs) if bound < 2**64 else
                                     int(theirs.words(1)[0]))  # fmt: skip
    assert ours.coins(5) == [int(word) & 1 for word in theirs.words(5)]
