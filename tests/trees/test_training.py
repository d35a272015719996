"""Training on a plan: over a bridge, to the end of the list, and under the plan's own prices."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant, GeometricNoise
from dpforest.accounting.releases import Plan, PlanError, Release, Round, Step, loss_of, once
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.counts import RecordCount
from dpforest.records.table import Table
from dpforest.trees.training import ask_for_all, train_on

COUNT = GeometricNoise(F(1, 10), F(1))
PLAN = Plan(
    (once("new", Release("n", COUNT)), Round("new", (Step((Release("again", COUNT),)),), 3)), 3
)


class Counting:
    """Counts all records, ``left`` times less than was planned."""

    def __init__(self, left: int = 0) -> None:
        self.left = left

    def train(self, shape, bridge, facts):
        found = [bridge.ask(RecordCount(), "n").noised("n")]
        for _ in range(shape - self.left):
            found.append(bridge.ask(RecordCount(), "again").noised("again"))
        return np.concatenate(found)


def records_of():
    codes, labels = np.zeros((90, 1), dtype=np.uint8), np.zeros(90, dtype=np.int32)
    columns = np.array([1]), np.array([0, 1]), np.array([True])
    return MemoryRecords(Table(codes, labels, *columns, 2))


def trained(learner, scope, done):
    told, records = lambda: done.append(1), records_of()
    return train_on(learner, PLAN, scope, SeededSource(1), records, None, told)


def test_a_learner_asks_for_its_whole_list_and_says_so_step_by_step():
    with BudgetAccountant(1).open_scope("fit") as scope:
        done = []
        found = trained(Counting(), scope, done)
        assert found.shape == (4,) and np.unique(found).size > 1
        assert scope.loss == loss_of(PLAN.rounds) and len(done) == PLAN.n_steps == 4


@pytest.mark.parametrize("left", [1, -1])
def test_a_learner_that_asks_for_less_or_more_than_it_planned_is_at_fault(left):
    with pytest.raises(PlanError), BudgetAccountant(1).open_scope("fit") as scope:
        trained(Counting(left), scope, [])


def test_who_asks_in_its_place_asks_for_the_same_and_counts_nothing(monkeypatch):
    with BudgetAccountant(1).open_scope("fit") as learnt:
        trained(Counting(), learnt, done := [])
    records, asked = records_of(), []

    def counted(*words):
        raise AssertionError("records were counted")

    monkeypatch.setattr(MemoryRecords, "sealed_total", counted)
    with BudgetAccountant(1).open_scope("fit") as scope:
        ask_for_all(PLAN, scope, SeededSource(1), records, lambda: asked.append(1))
    assert scope.record() == learnt.record() and len(asked) == len(done)
