"""Scores of records: made step by step, made anew, and in chunks, they are the same bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords, reveal
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.trees import draw_random_trees
from dpforest.trees.refitted.queries import LeafSums, ResidualLattice, Residuals, TreeMove
from dpforest.trees.scored.queries import CodeMove, ScoreHistory

HALF = Fraction(1, 2)


def trees_of(facts, n_trees, seed):
    return draw_random_trees(n_trees, 3, public_bins(facts, 16), facts, SeededSource(seed))


def sums_of(history, trees, clip=HALF):
    lattice = ResidualLattice.of(history.base.size, clip)
    return LeafSums(Residuals(history, lattice), trees)


def steps_of(seed, n_columns):
    return np.random.default_rng(seed).normal(size=(8, n_columns))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_lost_block_is_made_again_bit_for_bit(facts_of, table_of, n_classes):
    facts = facts_of([40, -5, 7], n_classes)
    table, n_columns = table_of(facts, 200), 1 if n_classes == 2 else n_classes
    values = np.random.default_rng(1).normal(size=(int(facts.offsets[-1]), n_columns))
    history = ScoreHistory(np.zeros(n_columns)).then(CodeMove(facts.offsets, values))
    kept, kept_sums = Chunk(table), []
    for seed in range(5):
        tree = trees_of(facts, 1, seed)
        kept_sums.append(sums_of(history, tree).count(kept))
        again = sums_of(history, tree).count(Chunk(table))
        assert np.array_equal(kept_sums[-1], again)
        history = history.then(TreeMove(tree, steps_of(seed, n_columns)))
    assert np.array_equal(history.scores(kept), history.scores(Chunk(table)))
    # A chunk that has gone further than is asked for starts anew.
    earlier = ScoreHistory(history.base, history.moves[:2])
    assert np.array_equal(earlier.scores(kept), earlier.scores(Chunk(table)))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_do_not_depend_on_chunks(facts_of, table_of, n_threads):
    facts = facts_of([40, -5, 7], 3)
    records = MemoryRecords(table_of(facts, 301), n_threads)
    trees = trees_of(facts, 4, 9)
    history = ScoreHistory(np.zeros(3)).then(TreeMove(trees.take([0]), steps_of(3, 3)))
    one = Chunk(records._table)
    sums = sums_of(history, trees).count(one)
    assert np.array_equal(reveal(records.sealed_total(sums_of(history, trees))), sums)
    assert np.array_equal(
        reveal(records.sealed_total(sums_of(history, trees.take([2])))), sums[2:3]
    )
    assert sums[:, :, -1].sum(axis=1).tolist() == [301 * ResidualLattice.of(3, HALF).size] * 4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_residuals_that_are_kept_are_those_of_their_clip(facts_of, table_of, n_classes):
    """A block whose residuals were cut for one question cuts them anew for another."""
    facts = facts_of([40, -5, 7], n_classes)
    kept, n_columns = Chunk(table_of(facts, 200)), 1 if n_classes == 2 else n_classes
    history, tree = ScoreHistory(np.linspace(-2.0, 2.0, n_columns)), trees_of(facts, 1, 3)
    for clip in (Fraction(1), Fraction(1, 10), Fraction(1)):
        query = sums_of(history, tree, clip)
        assert np.array_equal(query.count(kept), query.count(Chunk(kept.table)))
    later = history.then(TreeMove(tree, steps_of(1, n_columns)))
    assert np.array_equal(
        sums_of(later, tree).count(kept), sums_of(later, tree).count(Chunk(kept.table))
    )
