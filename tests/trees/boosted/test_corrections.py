"""Corrections of grown trees: of what is left by all of them, for the noise that was paid for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords
from dpforest.trees.boosted import corrections, queries
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.plan import Role
from dpforest.trees.boosted.queries import BoostedMove, LeafSums
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize, PureSettings
from dpforest.trees.boosted.steps import levels_of_leaves
from dpforest.trees.scored.gradients import GradientLattice, Gradients
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.training import train_on

DELTA = Fraction(1, 10**6)
SIZE = BoostedSize(3, 4)
SETTINGS = BoostedSettings(fixed_size=SIZE)
PURE = PureSettings(fixed_size=SIZE, correction_share=Fraction(30, 100))
CURRENCIES = [pytest.param(DELTA, id="delta"), pytest.param(Fraction(0), id="pure")]
NOISE = {
    DELTA: "discrete Gaussian noise",
    Fraction(0): "two-sided geometric noise that adds up to nothing",
}


def fitted(facts, table, settings=SETTINGS, epsilon=2, delta=DELTA, seed=1):
    """A model with the ledger of its training, and the plan."""
    epsilon, learner = Fraction(epsilon), BoostedForest(settings, settings)
    plan = learner.plan(facts, LearnerBudget(epsilon, delta))
    accountant = BudgetAccountant(epsilon, delta)
    with accountant.open_scope("fit", reserve=plan.loss) as scope:
        source, records = SeededSource(seed), MemoryRecords(table)
        model = train_on(learner, plan, scope, source, records, facts, lambda: None)
    return model, accountant.ledger, plan


@pytest.mark.parametrize("delta", CURRENCIES)
def test_each_tree_of_the_rounds_is_asked_twice_more_in_their_order(facts_of, table_of, delta):
    facts, asked = facts_of([-3, 20, 9], 4), []
    settings = SETTINGS if delta else PURE
    with pytest.MonkeyPatch.context() as patched:
        made = corrections.LeafSums
        patched.setattr(corrections, "LeafSums", lambda *parts: asked.append(parts) or made(*parts))
        model, ledger, plan = fitted(facts, table_of(facts, 300), settings, delta=delta)
    first, mechanism = (0 if delta else 1), NOISE[delta]
    assert plan.shape.first == first and len(asked) == 2 * SIZE.n_rounds
    for number, (gradients, heap, level, leaves) in enumerate(asked):
        tree = first + number % SIZE.n_rounds
        assert all(
            map(np.array_equal, heap, (model.feature[tree], model.low[tree], model.high[tree]))
        )
        assert len(gradients.history) == first + SIZE.n_rounds + number
        assert level == SIZE.depth and np.array_equal(leaves, np.arange(8))
    entries = [entry for entry in ledger if entry.role == Role.CORRECTIONS]
    assert len(entries) == 8 and {entry.cells for entry in entries} == {8}
    assert [entry.role for entry in ledger][-8:] == [Role.CORRECTIONS] * 8
    assert {entry.mechanism for entry in entries} == {mechanism}


@pytest.mark.parametrize("delta", CURRENCIES)
def test_the_model_is_the_base_and_all_moves(facts_of, table_of, monkeypatch, delta):
    facts, moves = facts_of([-3, 20, 9], 4), []
    table = table_of(facts, 300)
    then = ScoreHistory.then
    monkeypatch.setattr(ScoreHistory, "then", lambda own, m: moves.append(m) or then(own, m))
    model, *_ = fitted(facts, table, SETTINGS if delta else PURE, delta=delta)
    assert len(moves) == (delta == 0) + 3 * SIZE.n_rounds
    assert [move.number for move in moves] == list(range(len(moves)))
    scores = np.tile(model.base, (300, 1))
    for move in moves:
        move.move(Chunk(table), scores)
    assert np.allclose(scores, model.log_odds(table.codes), rtol=0, atol=1e-9)


def test_two_classes_and_targets_are_not_corrected(facts_of):
    for facts in (facts_of([40, -5], 2, 1e6), replace(facts_of([40, -5], 2, 1e6), unit=100)):
        plan = BoostedForest().plan(facts, LearnerBudget(Fraction(1), DELTA))
        assert plan.shape.n_corrections == 0
        assert "corrections" not in plan.describe()["rounds"]
    more = BoostedForest().plan(facts_of([40, -5], 3, 1e6), LearnerBudget(Fraction(1), DELTA))
    assert more.shape.n_corrections == 2 * more.shape.n_rounds
    assert more.describe()["rounds"].endswith(f"{more.shape.n_corrections} corrections of leaves")


def test_without_noise_corrections_explain_more(facts_of, table_of):
    facts = facts_of([-3, 20, 9], 4, 20_000.0)
    table, unseen = table_of(facts, 20_000), table_of(facts, 5000, seed=9)
    losses = []
    for share in (Fraction(0), Fraction(30, 100)):
        settings = replace(SETTINGS, correction_share=share)
        odds = fitted(facts, table, settings, epsilon=50)[0].log_odds(unseen.codes)
        odds -= np.logaddexp.reduce(odds, axis=1, keepdims=True)
        losses.append(-odds[np.arange(5000), unseen.labels].mean())
    # Of 20 seeds the least that they gain is .008.
    assert losses[1] < losses[0] - 0.004


@pytest.mark.parametrize("missing", range(5))
def test_a_record_moves_one_leaf_by_what_is_paid_for(facts_of, table_of, missing):
    facts = facts_of([-3, 20, 9], 4)
    model, _, plan = fitted(facts, table := table_of(facts, 60))
    heap = model.feature[1], model.low[1], model.high[1]
    history = ScoreHistory(model.base).then(BoostedMove(0, heap, model.steps[1]))
    lattice: GradientLattice = plan.shape.lattice
    query = LeafSums(Gradients(history, lattice), heap, SIZE.depth, np.arange(8))
    kept = np.delete(np.arange(60), missing)
    fewer = replace(table, codes=np.ascontiguousarray(table.codes[kept]), labels=table.labels[kept])
    moved = query.count(Chunk(table)) - query.count(Chunk(fewer))
    assert (np.abs(moved).sum(axis=1) > 0).sum() == 1
    assert query.sensitivity == lattice.row
    assert np.abs(moved).sum() <= lattice.row.l1 and (moved**2).sum() <= lattice.row.l2_squared


def test_levels_of_leaves_are_their_sums_and_variances_add_up():
    leaves = np.arange(24, dtype=np.int64).reshape(8, 3)
    levels = levels_of_leaves(leaves, 5.0)
    assert [sums.shape[0] for sums, _ in levels] == [2, 4, 8]
    assert [variance for _, variance in levels] == [20.0, 10.0, 5.0]
    for sums, _ in levels:
        assert np.array_equal(sums.sum(axis=0), leaves.sum(axis=0))
    assert np.array_equal(levels[1][0][3], leaves[6] + leaves[7])
    assert [sums.shape[0] for sums, _ in levels_of_leaves(leaves[:2], 1.0)] == [2]


@pytest.mark.parametrize("most", [queries._MOST_KEPT, 3 * (2 * 300 + 7 * 20), 0])
def test_what_a_chunk_keeps_changes_no_correction(facts_of, table_of, most, monkeypatch):
    monkeypatch.setattr(queries, "_MOST_KEPT", most)  # leaves of all trees, of three, and of none
    facts, differ = facts_of([-3, 20, 9], 4), []
    table, count = table_of(facts, 300), LeafSums.count

    def both(query, chunk):
        found = count(query, chunk)
        differ.append(not np.array_equal(found, count(query, Chunk(table))))
        return found

    monkeypatch.setattr(LeafSums, "count", both)
    fitted(facts, table)
    assert len(differ) >= 2 * SIZE.n_rounds and not any(differ)


def test_a_chunk_with_less_room_than_before_lets_go_of_leaves(facts_of, table_of):
    facts = facts_of([-3, 20, 9], 4)
    model, _, _ = fitted(facts, table := table_of(facts, 300))
    heaps = [(model.feature[k], model.low[k], model.high[k]) for k in range(4)]
    chunk, size = Chunk(table), 2 * 300 + sum(part.nbytes for part in heaps[0])
    for room, kept in ((None, 4), (3 * size, 3), (3 * size - 1, 2), (10 * size, 4), (0, 0)):
        chunk.room = room
        for number, heap in enumerate(heaps):
            found = queries.leaves_of(chunk, number, heap, keep=True)
            assert np.array_equal(found, queries.leaves_of(Chunk(table), number, heap, keep=False))
        assert len(chunk.kept["leaves"]) == kept


@pytest.mark.parametrize("delta", CURRENCIES)
def test_no_corrections_leave_nothing_of_the_budget_unspent(facts_of, delta):
    facts, budget = facts_of([40, -5], 4, 1e6), LearnerBudget(Fraction(1), delta)
    settings = replace(SETTINGS if delta else PURE, correction_times=0)
    none = BoostedForest(settings, settings).plan(facts, budget)
    share = replace(settings, correction_share=Fraction(0))
    assert none.shape.n_corrections == 0
    assert none.loss.rho == BoostedForest(share, share).plan(facts, budget).loss.rho
