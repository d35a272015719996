"""Growing several trees level by level together: one pass over the records a level.

For records that do not lie in memory, where a pass is what costs. Each tree makes the same
requests and takes the same words as on its own, and integers add up to the same counts, so the
trees are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.row_words import RowWords
from dpforest.records.base import Block, Records
from dpforest.records.table import TrainingTable
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.growth import LevelDone, finished, grow_by_asking
from dpforest.trees.multinomial.heaps import PrivateTree
from dpforest.trees.multinomial.kernels.leaves import route_records, routed_leaf_counts
from dpforest.trees.multinomial.kernels.routed import count_left
from dpforest.trees.multinomial.segments import Splits
from dpforest.trees.multinomial.tree_plan import TreePlan


@dataclass(frozen=True, slots=True)
class Side:
    """Which records serve a tree for its structure, each by its own secret word.

    Attributes
    ----------
    rows : RowWords or None
        None where all records serve for structure and leaves.
    structure : Fraction
        Probability of the structure.
    """

    rows: RowWords | None
    structure: Fraction

    def members(self, block: Block, structure: bool) -> NDArray[np.int32]:
        """Records of a block that serve for the structure, or for the leaves."""
        n = block.table.n_records
        if self.rows is None:
            return np.arange(n, dtype=np.int32)
        below = np.uint64(min(int(self.structure * 2**64), 2**64 - 1))
        chosen = (self.rows.words(block.first, n) < below) == structure
        return np.flatnonzero(chosen).astype(np.int32)


#: Released splits of a tree's finished levels in heap order.
Heap = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Class counts of every cell of the left nodes of a level, for several trees.

    Shape (n_trees, n_left, total codes, K): the root, or every other node. A right one is what
    its parent has more, so it need not be counted, and its counts need not travel.
    """

    heaps: tuple[Heap, ...]
    sides: tuple[Side, ...]
    level: int

    def count(self, block: Block) -> NDArray[np.int64]:
        """Counts of a block."""
        table = block.table
        n_left = max(1, (1 << self.level) // 2)
        shape = len(self.heaps), n_left, int(table.offsets[-1]), table.n_classes
        counts = np.zeros(shape, dtype=np.int64)
        for heap, side, out in zip(self.heaps, self.sides, counts, strict=True):
            rows = side.members(block, True)
            nodes = nodes_of(table, rows, heap, self.level)
            count_left(table.codes, table.labels, rows, nodes, table.offsets, table.n_classes, out)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounts:
    """Class counts of the leaves of several trees, shape (n_trees, n_leaves, K)."""

    heaps: tuple[Heap, ...]
    sides: tuple[Side, ...]
    depth: int

    def count(self, block: Block) -> NDArray[np.int64]:
        """Counts of a block."""
        table = block.table
        shape = len(self.heaps), 1 << self.depth, table.n_classes
        counts = np.zeros(shape, dtype=np.int64)
        for heap, side, out in zip(self.heaps, self.sides, counts, strict=True):
            rows = side.members(block, False)
            leaves = nodes_of(table, rows, heap, self.depth)
            routed_leaf_counts(leaves, rows, table.labels, table.n_classes, out)
        return counts


def nodes_of(
    table: TrainingTable, rows: NDArray[np.int32], heap: Heap, level: int
) -> NDArray[np.int32]:
    """Node of each listed record in a level."""
    nodes = np.zeros(rows.size, dtype=np.int32)
    if level:
        route_records(table.codes, rows, *heap, level, nodes)
    return nodes


def grow_together(
    plan: TreePlan,
    scopes: list[Scope],
    sources: list[RandomSource],
    records: Records,
    level_done: LevelDone = lambda: None,
) -> list[PrivateTree]:
    """Grow trees of one plan, each in its scope and with its words.

    Parameters
    ----------
    plan : TreePlan
    scopes : list of Scope
    sources : list of RandomSource
    records : Records
        On public cells.
    level_done : callable, optional
        Called after each level of each tree and after its leaves.
    """
    sides = tuple(draw_side(plan, source) for source in sources)
    pairs = zip(scopes, sources, strict=True)
    growing = [grow_by_asking(plan, scope, source, level_done) for scope, source in pairs]
    levels = [next(tree) for tree in growing]
    boxes = [LevelCells.of_root(records.schema) for _ in growing]
    for level in range(plan.depth):
        raw = left_counts(records, _heaps(levels), sides, level)
        for number, tree in enumerate(growing):
            counts = both_children(raw[number], boxes[number].parents)
            counted = replace(boxes[number], counts=counts, parents=None)
            levels[number] = tree.send(counted)
            boxes[number] = counted.children(levels[number][-1])
    raw = records.total(LeafCounts(_heaps(levels), sides, plan.depth))
    return [finished(tree, counts) for tree, counts in zip(growing, raw, strict=True)]


def left_counts(
    records: Records, heaps: tuple[Heap, ...], sides: tuple[Side, ...], level: int
) -> NDArray[np.int64]:
    """Counts of the left nodes of a level; trees on the same records share those of the root."""
    if level or sides[0].rows is not None:
        return records.total(LevelCounts(heaps, sides, level))
    root = records.total(LevelCounts(heaps[:1], sides[:1], level))
    return np.broadcast_to(root, (len(heaps), *root.shape[1:]))


def both_children(left: NDArray[np.int64], parents: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Counts of a level from those of its left nodes and of the level above."""
    if parents is None:
        return left.astype(np.int32)
    counts = np.empty((2 * left.shape[0], *left.shape[1:]), dtype=np.int32)
    counts[0::2] = left
    np.subtract(parents, left, out=counts[1::2], casting="same_kind")
    return counts


def draw_side(plan: TreePlan, source: RandomSource) -> Side:
    """Draw a tree's key, where it has sides: the words that `draw_sides` would take."""
    if plan.partition is None:
        return Side(None, Fraction(1))
    return Side(source.rows(), plan.partition)


def _heaps(levels: list[list[Splits]]) -> tuple[Heap, ...]:
    return tuple(Splits.heap(tree) if tree else _NOTHING for tree in levels)


_NOTHING: Heap = (
    np.empty(0, dtype=np.int32),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
)
