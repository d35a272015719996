"""Scores of records: made step by step, made anew, and in chunks, they are the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords, reveal
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.trees import draw_random_trees
from dpforest.trees.refitted.queries import (
    SIZE_STEPS,
    CodeMove,
    LeafSums,
    ScoreHistory,
    TreeMove,
)


def trees_of(facts, n_trees, seed):
    return draw_random_trees(n_trees, 3, public_bins(facts, 16), facts, SeededSource(seed))


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
        kept_sums.append(LeafSums(history, tree).count(kept))
        again = LeafSums(history, tree).count(Chunk(table))
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
    sums = LeafSums(history, trees).count(one)
    assert np.array_equal(reveal(records.sealed_total(LeafSums(history, trees))), sums)
    assert np.array_equal(
        reveal(records.sealed_total(LeafSums(history, trees.take([2])))), sums[2:3]
    )
    assert sums[:, :, -1].sum(axis=1).tolist() == [301 * SIZE_STEPS] * 4
