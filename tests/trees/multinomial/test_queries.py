"""How far one record moves what a multinomial forest asks of records."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk
from dpforest.records.table import Table
from dpforest.trees.multinomial.growth import GrowthInMemory
from dpforest.trees.multinomial.queries import LeafCounts, LevelCounts, Side
from dpforest.trees.multinomial.segments import Segments, Splits

N_CODES, ORDERED = (5, 3, 9), (True, False, True)


def table_of(codes, labels):
    matrix = EncodedMatrix(np.ascontiguousarray(codes), np.array(N_CODES), np.array(ORDERED))
    return Table.of(EncodedTable(matrix, labels, 2))


def neighbours(twins, seed):
    """A table, and the same with one record more at its end."""
    codes, labels = twins.random_table(seed, 40, N_CODES, 2)
    codes = codes.astype(np.uint8)
    return table_of(codes[:-1], labels[:-1]), table_of(codes, labels)


def heap_of(table, depth, seed):
    """Splits of so many levels, some of them of no feature."""
    generator, levels = np.random.default_rng(seed), []
    for level in range(depth):
        features = generator.integers(-1, len(N_CODES), 1 << level)
        codes = generator.integers(0, 3, 1 << level)
        levels.append(Splits.drawn(table.ordered, features, codes))
    return Splits.heap(levels)


def moved(question, tables):
    less, more = (question.count(Chunk(table)).astype(object) for table in tables)
    return (more - less).ravel()


def sides(partition, n_trees, seed):
    if not partition:
        return (Side(),) * n_trees
    source = SeededSource(seed)
    return tuple(Side(source.rows(), Fraction(1, 2)) for _ in range(n_trees))


@pytest.mark.parametrize("of_all", [False, True])
@pytest.mark.parametrize("partition", [False, True])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_record_moves_one_cell_of_each_feature_of_a_level(level, partition, of_all, twins):
    reached = 0
    for seed in range(40):
        tables = neighbours(twins, seed)
        heap = heap_of(tables[0], level, seed)
        question = LevelCounts((heap,), sides(partition, 1, seed), level, len(N_CODES), of_all)
        change = moved(question, tables)
        assert sum(abs(change)) <= question.sensitivity.l1 == 3
        assert sum(change**2) <= question.sensitivity.l2_squared == 3
        reached = max(reached, sum(abs(change)))
    assert reached == 3


@pytest.mark.parametrize("partition", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_a_record_moves_one_leaf_of_each_tree(depth, partition, twins):
    reached = 0
    for seed in range(40):
        tables = neighbours(twins, seed)
        heaps = tuple(heap_of(tables[0], depth, seed + n) for n in range(2))
        question = LeafCounts(heaps, sides(partition, 2, seed), depth)
        for tree in moved(question, tables).reshape(2, -1):
            assert sum(abs(tree)) <= question.sensitivity.l1 == 1
            assert sum(tree**2) <= question.sensitivity.l2_squared == 1
            reached = max(reached, sum(abs(tree)))
    assert reached == 1


def test_a_look_at_leaves_counts_what_the_query_counts(twins):
    for seed in range(4):
        table = neighbours(twins, seed)[1]
        growth = GrowthInMemory(Side())
        for _ in range(3):
            growth.level().look(table)
            n = growth.nodes.n_nodes
            growth.split(np.full(n, seed % 3), np.arange(n) % 3)
        question = LeafCounts((growth.heap,), (Side(),), 3)
        assert growth.leaves().sensitivity == question.sensitivity
        assert np.array_equal(growth.leaves().look(table), question.count(Chunk(table))[0])


@pytest.mark.parametrize("level", [0, 1, 2])
def test_counts_of_all_nodes_have_those_of_the_left_ones(level, twins):
    table = neighbours(twins, 7)[1]
    heap = heap_of(table, level, 5)
    whole, left = (
        LevelCounts((heap,), (Side(),), level, len(N_CODES), of_all).count(Chunk(table))[0]
        for of_all in (True, False)
    )
    assert np.array_equal(whole[::2], left) and whole.shape[0] == 1 << level
    segments = Segments.of_root(np.arange(table.n_records, dtype=np.int32))
    assert whole.sum() == segments.order.size * len(N_CODES)
