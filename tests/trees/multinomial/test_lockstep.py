"""Trees grown together are those grown alone: same requests, same words, same counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetExceeded
from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.releases import Plan
from dpforest.bridge.bridge import Bridge
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial import growth
from dpforest.trees.multinomial.criteria import resolve_criterion
from dpforest.trees.multinomial.learner import grow_forest
from dpforest.trees.multinomial.plan import ForestShape, TreeEvents, forest_plan


def table_of(n: int) -> Table:
    generator = np.random.default_rng(2)
    n_codes = np.array([5, 3, 9])
    codes = np.column_stack([generator.integers(0, m, n) for m in n_codes]).astype(np.uint8)
    labels = (codes[:, 0] + generator.integers(0, 3, n) > 3).astype(np.int32)
    matrix = EncodedMatrix(codes, n_codes, np.array([True, False, True]))
    return Table.of(EncodedTable(matrix, labels, 2))


#: Events of three levels, by whether a feature and a value are paid for.
PAID = {
    "all": ((1, 1, 1), (1, 1, 1)),
    "values": ((0, 0, 0), (1, 1, 1)),
    "nothing": ((0, 0, 0), (0, 0, 0)),
    "every other level": ((1, 0, 1), (1, 0, 1)),
    "the last level": ((0, 0, 1), (0, 0, 0)),
}


def plan_of(partition: Fraction | None, joint: bool, paid: str = "all") -> Plan[ForestShape]:
    criterion = resolve_criterion("gini_count")
    select = ExponentialSelection(Fraction(2), criterion.score_range)
    features, values = (tuple(select if p else None for p in kind) for kind in PAID[paid])
    events = TreeEvents(features, values, GeometricNoise(Fraction(1), Fraction(1)))
    return forest_plan(4, events, criterion, joint=joint, partition=partition)


class Elsewhere(MemoryRecords):
    """Records that are counted chunk by chunk, as if they did not lie in memory."""

    @property
    def in_memory(self) -> bool:
        return False

    def look(self, view):
        raise AssertionError("they are nowhere as one table")


def grown(plan, records, seed=3):
    """Released trees, what was asked for, and how many steps were said to be done."""
    accountant, done = BudgetAccountant._unlimited(), []
    with accountant.open_scope("forest") as scope:
        bridge = Bridge(plan.rounds, scope, records, SeededSource(seed), lambda: done.append(1))
        forest = grow_forest(plan.shape, bridge)
        bridge.finish()
    return forest, [(e.path, e.role, e.cells, e.level) for e in accountant.ledger], len(done)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("partition", [None, Fraction(1, 2), Fraction(1, 5)])
@pytest.mark.parametrize("paid", PAID)
def test_trees_grown_together_are_those_grown_alone(paid, partition, joint, n_threads, monkeypatch):
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 64)
    table, plan = table_of(300), plan_of(partition, joint, paid)
    alone, asked, n_done = grown(plan, MemoryRecords(table, n_threads))
    together, asked_too, n_done_too = grown(plan, Elsewhere(table, n_threads))
    for name in ("feature", "low", "high", "counts"):
        assert np.array_equal(getattr(alone, name), getattr(together, name))
    assert sorted(asked) == sorted(asked_too)
    assert n_done == n_done_too == 4 * (plan.shape.depth + 1)


def test_a_refusal_comes_before_the_count_of_any_tree():
    class Uncounted(Elsewhere):
        def sealed_total(self, query):
            raise AssertionError("counted although one of the trees cannot pay")

    # Enough for the splits of three trees of four.
    plan, accountant = plan_of(None, False), BudgetAccountant(3 * 3 * 2 * 2)
    with accountant.open_scope("forest") as scope:
        bridge = Bridge(plan.rounds, scope, Uncounted(table_of(50)), SeededSource(1))
        with pytest.raises(BudgetExceeded):
            grow_forest(plan.shape, bridge)
    assert len(accountant.ledger) == 3 * 3 * 2


@pytest.mark.parametrize("at_once", [1, 3])
def test_trees_do_not_depend_on_how_many_grow_together(at_once, monkeypatch):
    table, plan = table_of(200), plan_of(Fraction(1, 3), False)
    whole = grown(plan, Elsewhere(table))[0]
    per_tree = growth.MEMORY_LIMIT // growth.trees_at_once(3, table)
    monkeypatch.setattr(growth, "MEMORY_LIMIT", at_once * per_tree + per_tree // 2)
    assert growth.trees_at_once(3, table) == at_once
    parts = grown(plan, Elsewhere(table))[0]
    for name in ("feature", "low", "high", "counts"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
