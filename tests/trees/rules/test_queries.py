"""What selected rules ask of the records: one lies in one leaf, and moves nothing anywhere else."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.streamed import Envelope
from dpforest.records.base import Chunk, MemoryRecords, rows_of, slices
from dpforest.trees.rules import RulesLearner, RulesSettings
from dpforest.trees.rules.family import FamilyWeights, TreeFamily
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.rules.queries import LeafCells, RuleLeafCounts, TreesOfHeightTwo
from dpforest.trees.training import train_on

LEARNER = RulesLearner(RulesSettings(n_sums=6, n_cuts=5))
N = 90


@pytest.fixture(scope="module")
def asked():
    """Makes public facts, a table and a released tree of 16 leaves; of three classes."""
    kept = {}

    def make(facts_of, table_of):
        if not kept:
            facts = facts_of([12, -4, 9], 3, approximate_rows=600)
            table, budget = table_of(facts, N), LearnerBudget(Fraction(1), Fraction(0))
            plan = LEARNER.plan(facts, budget)
            with BudgetAccountant(1).open_scope("fit") as scope:
                source, records = SeededSource(3), MemoryRecords(table)
                tree = train_on(LEARNER, plan, scope, source, records, facts, lambda: None)
            directions = draw_directions(facts, 6, 5, 24, 0.3, SeededSource(4))
            kept.update(facts=facts, table=table, tree=tree, directions=directions)
        return SimpleNamespace(**kept)

    return make


@pytest.fixture
def case(asked, facts_of, table_of):
    return asked(facts_of, table_of)


def test_a_record_adds_one_to_one_count_of_one_leaf(case):
    query = RuleLeafCounts(case.tree)
    moved = np.array([query.count(chunk) for chunk in slices(case.table, N)])
    assert moved.shape == (N, 16, 3) and moved.dtype == np.int64 and moved.min() == 0
    sums = moved.reshape(N, -1)
    assert (sums.sum(axis=1) == query.sensitivity.l1).all()
    assert ((sums**2).sum(axis=1) == query.sensitivity.l2_squared).all()
    assert np.array_equal(moved.sum(axis=0), query.count(Chunk(case.table)))
    places = case.tree.leaves(case.table.codes), case.table.labels
    assert all(one[leaf, label] == 1 for one, leaf, label in zip(moved, *places, strict=True))
    assert not query.count(Chunk(rows_of(case.table, 0, 0))).any()


def by_leaf(case, table):
    """Bins and labels of the records of each leaf."""
    records = LeafCells(case.tree, case.directions).look(table)
    return [records.of(leaf) for leaf in range(16)]


def test_a_record_lies_in_one_leaf_and_changes_no_other(case):
    leaves = case.tree.leaves(case.table.codes)
    assert np.unique(leaves).size > 2
    whole, less = by_leaf(case, case.table), by_leaf(case, rows_of(case.table, 0, N - 1))
    bins = case.directions.bins(case.table.codes)
    for leaf, (one, other) in enumerate(zip(whole, less, strict=True)):
        assert np.array_equal(one.bins, bins[leaves == leaf]) and one.n_classes == 3
        assert np.array_equal(one.labels, case.table.labels[leaves == leaf])
        own = leaf == leaves[-1]
        assert np.array_equal(one.bins[: len(one.bins) - own], other.bins)
        assert np.array_equal(one.labels[: len(one.labels) - own], other.labels)


def test_records_are_read_when_a_family_is_made_and_once(case, monkeypatch):
    read = []
    leaves = type(case.tree).leaves
    monkeypatch.setattr(
        type(case.tree), "leaves", lambda self, codes: read.append(1) or leaves(self, codes)
    )
    directions = case.directions
    weights = FamilyWeights.of(directions.n_bins, directions.shares, 3, 0.05)
    families = TreesOfHeightTwo(weights, (0, 5, 9), ((1, 1, 1),) * 3)
    makers = families.makers(LeafCells(case.tree, directions).look(case.table))
    assert not read
    made = [make(Envelope(0.5)) for make in makers]
    assert len(made) == 3 and all(isinstance(one, TreeFamily) for one in made) and len(read) == 1
    sizes = [one._sizes.tolist() for one in made]
    assert sizes == [by_leaf(case, case.table)[leaf].sizes().tolist() for leaf in (0, 5, 9)]


WEIGHTS = [(1, 1, 1), (1, 5, 2), (16, 1, 1)]


@pytest.mark.parametrize("class_weights", [*([one] * 3 for one in WEIGHTS), WEIGHTS])
def test_the_heaviest_record_of_a_leaf_is_worth_the_range(case, class_weights):
    weights = FamilyWeights.of(case.directions.n_bins, case.directions.shares, 3, 0.05)
    families = TreesOfHeightTwo(weights, (0, 5, 9), tuple(class_weights))
    for unit, own in zip(families.unit, class_weights, strict=True):
        assert unit * max(own) == families.score_range == 1
    records = LeafCells(case.tree, case.directions).look(case.table)
    makers = zip(families.leaves, families.makers(records), class_weights, strict=True)
    for leaf, make, own in makers:
        found = make(Envelope(0.5))
        wanted = records.of(leaf).sizes() * own
        assert found._sizes.tolist() == wanted.tolist()
        assert found._records.class_weights.tolist() == list(own)
