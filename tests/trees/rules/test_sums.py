"""Sums near to released directions: what they are made of, and that they help later stages."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.list_order import ListOrder
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.trees.rules import RulesLearner, RulesSettings, learner
from dpforest.trees.rules.directions import PublicDraws
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.rules.sums import SUM_SCALE, SumMaker
from dpforest.trees.training import train_on

N_CODES = [300, -5, 40, -2, 64, 3, -3, 20, 9, 17, 30]


def maker(facts, seed=0, n_cuts=15):
    usable = [f for f in range(facts.n_features) if facts.declared_codes(f).size > 1]
    return SumMaker(facts, usable, n_cuts, PublicDraws(SeededSource(seed)))


def parts(direction):
    return dict(zip(direction.features, [t.tolist() for t in direction.tables], strict=True))


def check_changed(sum_, known):
    """At most two features more, one less or one turned; all others are as they were."""
    before, after = parts(known), parts(sum_)
    more, less = after.keys() - before.keys(), before.keys() - after.keys()
    turned = [f for f in before.keys() & after.keys() if before[f] != after[f]]
    assert all(after[f] == [-step for step in before[f]] for f in turned)
    assert (len(more), len(less), len(turned)) in {(0, 0, 0), (1, 0, 0), (2, 0, 0)} | {
        (0, 1, 0), (0, 0, 1),
    }  # fmt: skip
    return len(more), len(less), len(turned)


def listed_facts(facts_of, sizes, **changes):
    """Facts of lists that tell an order, with what is missing last unless changed."""
    facts = facts_of([-size for size in sizes], 2, listed=[ListOrder.TOLD] * len(sizes))
    return replace(facts, **{"has_missing_code": np.ones(len(sizes), bool), **changes})


def test_half_of_the_parts_of_a_list_are_places_in_it(facts_of):
    # Of five categories; the others are not declared, and missing.
    makes = maker(listed_facts(facts_of, [7, 2], unknown=(5, -1)))
    places = [0, 250, 500, 750, 1000, 500, 500]
    drawn = [makes._part(0).table.tolist() for _ in range(2000)]
    for sign in (1, -1):
        count = drawn.count([sign * place for place in places])
        assert abs(count - 500) < 6.2 * (500 * 3 / 4) ** 0.5  # one in 1e9
    others = [table for table in drawn if [abs(step) for step in table] != places]
    assert all({abs(step) for step in table} <= {0, SUM_SCALE} for table in others)


def test_a_list_that_tells_no_order_has_sets_alone(facts_of):
    makes = maker(facts_of([-6, -3], 2, listed=[ListOrder.PERHAPS, ListOrder.NOTHING]))
    drawn = [makes._part(0) for _ in range(100)]
    assert all(set(abs(part.table).tolist()) <= {0, SUM_SCALE} for part in drawn)


@pytest.mark.parametrize("unknown", [-1, 6])
@pytest.mark.parametrize(("n_cuts", "cuts"), [(15, [1, 2, 3]), (3, [1, 2, 3]), (2, [1, 2])])
def test_lists_are_cut_where_no_value_stands_alone(facts_of, unknown, n_cuts, cuts):
    size = 7 + (unknown >= 0)  # six categories, perhaps what is not declared, and missing
    facts = listed_facts(facts_of, [size], unknown=(unknown,))
    offered = draw_directions(facts, 0, n_cuts, 100, 0.3, SeededSource(1))
    *alone, whole = offered.members
    assert len(alone) == 7 and all(one.thresholds.tolist() == [0] for one in alone)
    assert whole.tables[0].tolist() == [0, 1, 2, 3, 4, 5, *[3] * (size - 6)]
    assert whole.thresholds.tolist() == cuts
    assert np.allclose(offered.shares, [0.1] * 7 + [0.3])  # each cut of the list as each value


def test_lists_of_three_have_no_other_cuts(facts_of):
    offered = draw_directions(listed_facts(facts_of, [4]), 0, 15, 100, 0.3, SeededSource(1))
    assert len(offered.members) == 4 and all(one.thresholds.size == 1 for one in offered.members)


def test_a_list_that_was_cut_begins_sums_by_its_places(facts_of):
    facts = listed_facts(facts_of, [6, 2])
    whole = draw_directions(facts, 0, 15, 100, 0.3, SeededSource(1)).members[6]
    found = [maker(facts, seed).near([whole]) for seed in range(20)]
    tables = {tuple(near.tables[0].tolist()) for near in found}
    assert tables == {(0, 250, 500, 750, 1000, 500)}


def test_sums_of_lists_alone_have_few_cuts(facts_of):
    facts = facts_of([-9, -9, 40], 2, listed=[ListOrder.TOLD, ListOrder.TOLD, ListOrder.NOTHING])
    makes = maker(facts)
    drawn = [makes.anywhere() for _ in range(50)]
    most = {2 in one.features: 0 for one in drawn}
    for one in drawn:
        most[2 in one.features] = max(most[2 in one.features], one.thresholds.size)
    assert most == {True: 15, False: 7}


def test_a_sum_near_another_is_a_step_from_it(facts_of):
    facts = facts_of(N_CODES, 2)
    makes = maker(facts)
    known = [makes.anywhere() for _ in range(20)]
    seen = set()
    for one in known:
        for _ in range(40):
            seen.add(check_changed(makes.near([one]), one))
    assert seen == {(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_near_sums_of_near_sums_have_nine_features_at_most(facts_of):
    makes = maker(facts_of(N_CODES, 2))
    known, most = makes.anywhere(), 0
    for _ in range(400):
        known = makes.near([known])
        most = max(most, len(known.features))
        assert list(known.features) == sorted(set(known.features))
    assert most == 9


def test_single_features_begin_sums(facts_of):
    facts = facts_of([300, -5], 2)
    singles = draw_directions(facts, 0, 15, 100, 0.3, SeededSource(1)).members
    makes = maker(facts)
    for one in singles:
        found = [makes.near([one]) for _ in range(30)]
        assert all(one.features[0] in near.features for near in found)
        assert any(len(near.features) == 2 for near in found)
        for near in found:
            table = near.tables[near.features.index(one.features[0])]
            assert 0.99 * SUM_SCALE < np.ptp(table) <= SUM_SCALE
            if not facts.ordered[one.features[0]]:  # the same value against the rest
                assert np.array_equal(table, one.tables[0] * SUM_SCALE)


def test_values_that_are_not_offered_take_no_room(facts_of):
    facts = facts_of([-3000, 64], 2)
    tracemalloc.start()
    try:
        offered = draw_directions(facts, 0, 15, 20, 0.3, SeededSource(1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(offered.members) == 20
    assert peak < 2**23, "all 3,000 tables of 3,000 codes are 72 MB"


def alone(makes, one):
    """The feature of a direction by itself once more, as a near sum with other cuts."""
    while True:
        near = makes.near([one])
        if near.features == one.features:
            return near


def test_steps_of_a_part_do_not_grow_from_stage_to_stage(facts_of):
    facts = facts_of([-3, -3, 12], 2)
    makes = maker(facts)
    for single in draw_directions(facts, 0, 15, 100, 0.3, SeededSource(1)).members:
        second = alone(makes, single)
        third = alone(makes, second)
        nears = [second, third, *(makes.near([third]) for _ in range(10))]
        spans = [int(np.ptp(table)) for near in nears for table in near.tables]
        assert all(span == 0 or 0.9 * SUM_SCALE <= span <= SUM_SCALE for span in spans)


@pytest.mark.parametrize("n_codes", [N_CODES, [-2, -2, -3], [2, 3], [64, 64]])
def test_cuts_of_near_sums_part_values_and_none_is_there_twice(n_codes, facts_of):
    makes = maker(facts_of(n_codes, 2))
    known = [makes.anywhere() for _ in range(30)]
    moved = set()
    for _ in range(300):
        near = makes.near(known)
        assert 0 < near.thresholds.size <= 15
        assert (np.diff(near.thresholds) > 0).all()
        if near.width > 1:  # where all coins of its categories fall alike it has one value
            assert near.lowest <= near.thresholds[0]
            assert near.thresholds[-1] < near.lowest + near.width - 1
        moved.add((near.features, tuple(near.thresholds)))
    assert len(moved) > 15


def test_where_nothing_is_known_sums_are_from_anywhere(facts_of):
    facts = facts_of(N_CODES, 2)
    plain = draw_directions(facts, 30, 15, 100, 0.3, SeededSource(2))
    asked = draw_directions(facts, 30, 15, 100, 0.3, SeededSource(2), (), 1.0)
    assert [parts(d) for d in plain.members] == [parts(d) for d in asked.members]


@pytest.mark.parametrize(("near_share", "n_near"), [(0.0, 0), (0.5, 15), (1.0, 30)])
def test_a_share_of_the_sums_is_near_to_known_ones(near_share, n_near, facts_of):
    facts = facts_of([40] * 200, 2)
    known = [maker(facts, 5).anywhere()]
    offered = draw_directions(facts, 30, 15, 300, 0.3, SeededSource(2), known, near_share)
    sums = offered.members[-30:]
    shared = [len(set(d.features) & set(known[0].features)) for d in sums]
    # Of two hundred features two sums from anywhere hardly share one.
    assert sum(n > 0 for n in shared[30 - n_near :]) == n_near
    assert sum(n > 0 for n in shared[: 30 - n_near]) <= 10
    assert offered.shares[-30:].sum() == pytest.approx(0.3)


def test_one_feature_has_no_sums(facts_of):
    facts = facts_of([12, 1, -1], 2)
    known = draw_directions(facts, 9, 15, 100, 0.3, SeededSource(2)).members
    offered = draw_directions(facts, 9, 15, 100, 0.3, SeededSource(2), known, 1.0)
    assert len(offered.members) == len(known) == 1


def test_later_stages_are_offered_what_is_near_to_earlier_ones(facts_of, table_of, monkeypatch):
    """Every stage is handed all cuts before it, as they were released, and nothing else."""
    facts = facts_of([40] * 30, 2, approximate_rows=9000 * 2**0.5)
    seen = []

    def drawn(*args):
        seen.append(args[-2:])
        return draw_directions(*args)

    monkeypatch.setattr(learner, "draw_directions", drawn)
    model = trained(facts, table_of(facts, 400), RulesSettings(n_sums=10, n_cuts=7))
    cut = [node.direction for node in model.nodes if node is not None]
    assert [share for _, share in seen] == [0.8] * 4
    before = [model.nodes[: 4**stage - 1] for stage in range(4)]
    n_known = [sum(node is not None for node in nodes) for nodes in before]
    assert [len(known) for known, _ in seen] == n_known and n_known[1] > 1
    for known, _ in seen:
        assert all(any(one is other for other in cut) for one in known)


def trained(facts, table, settings, seed=0):
    budget = LearnerBudget(Fraction(1), Fraction(0))
    rules = RulesLearner(settings)
    plan = rules.plan(facts, budget)
    with BudgetAccountant(1).open_scope("fit", reserve=plan.loss) as scope:
        records = MemoryRecords(table)
        return train_on(rules, plan, scope, SeededSource(seed), records, facts, lambda: None)


def test_many_small_effects_are_learnt_better_by_sums_near_to_good_ones(facts_of, table_of):
    """Twelve features that weigh alike: accuracy with near sums, less that without, of 12 seeds.

    The mean is to be above twice its standard error: by luck about once in 40 times.
    """
    facts = facts_of([16] * 12, 2, approximate_rows=3000 * 2**0.5)
    codes = table_of(facts, 4243).codes
    labels = (codes.astype(int).sum(axis=1) > 90).astype(np.uint8)
    table, held_out = table_of(facts, 4243, labels=labels), table_of(facts, 4000, seed=9).codes
    truth = held_out.astype(int).sum(axis=1) > 90
    gains = []
    for seed in range(12):
        right = [
            (
                trained(facts, table, settings, seed).log_odds(held_out).argmax(axis=1) == truth
            ).mean()
            for settings in (RulesSettings(n_sums=60, near_share=s) for s in (0.8, 0.0))
        ]
        gains.append(right[0] - right[1])
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / len(gains) ** 0.5
