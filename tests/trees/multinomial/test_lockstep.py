"""Trees grown together are those grown alone: same requests, same words, same counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import TrainingTable
from dpforest.trees.multinomial.criteria import resolve_criterion
from dpforest.trees.multinomial.growth import count_root, grow_tree
from dpforest.trees.multinomial.lockstep import grow_together
from dpforest.trees.multinomial.tree_plan import TreePlan


def table_of(n: int) -> TrainingTable:
    generator = np.random.default_rng(2)
    n_codes = np.array([5, 3, 9])
    codes = np.column_stack([generator.integers(0, m, n) for m in n_codes]).astype(np.uint8)
    labels = (codes[:, 0] + generator.integers(0, 3, n) > 3).astype(np.int32)
    matrix = EncodedMatrix(codes, n_codes, np.array([True, False, True]))
    return TrainingTable.of(EncodedTable(matrix, labels, 2))


def plan_of(partition: Fraction | None, joint: bool) -> TreePlan:
    criterion = resolve_criterion("gini_count")
    select = ExponentialSelection(Fraction(2), criterion.score_range)
    return TreePlan(
        depth=3,
        feature_events=(select,) * 3,
        value_events=(None if joint else select,) * 3,
        leaf_event=GeometricNoise(Fraction(1), Fraction(1)),
        leaves="geometric",
        criterion=criterion,
        joint=joint,
        partition=partition,
    )


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("partition", [None, Fraction(1, 2), Fraction(1, 5)])
def test_trees_grown_together_are_those_grown_alone(partition, joint, n_threads):
    table, plan = table_of(300), plan_of(partition, joint)
    alone, ledgers = [], []
    accountant = BudgetAccountant._unlimited()
    for seed in range(4):
        with accountant.open_scope(f"tree {seed}") as scope:
            alone.append(
                grow_tree(table, plan, scope, SeededSource(seed), lambda s: count_root(table, s))
            )
    ledgers.append(accountant.ledger)
    accountant = BudgetAccountant._unlimited()
    records, done = MemoryRecords(table, n_threads), []
    scopes = [accountant.open_scope(f"tree {seed}") for seed in range(4)]
    for scope in scopes:
        scope.__enter__()
    together = grow_together(
        plan, scopes, [SeededSource(s) for s in range(4)], records, lambda: done.append(1)
    )
    ledgers.append(accountant.ledger)
    for one, other in zip(alone, together, strict=True):
        for name in ("feature", "low", "high", "counts"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    assert [(e.path, e.role, e.cells) for e in ledgers[0]] == [
        (e.path, e.role, e.cells) for e in ledgers[1]
    ]
    assert len(done) == 4 * (plan.depth + 1)
