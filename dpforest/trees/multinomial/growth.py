"""A tree as it grows: public boxes, and the secret counts that its next question is about.

Two kinds play this part. `GrowthInMemory` looks at a table and keeps each node's records together;
`GrowthInPasses` asks for sums over records that lie elsewhere, so many trees share a pass. Both
make the same scores of the same integers, so the trees are the same. What they hand out as a
question, the bridge answers with a sealed count; what they take are released choices.

Counts of a level are made in a look or arrive in a score, both called by the bridge: so nothing
here is counted before it was paid for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Sensitivity
from dpforest.records.rows import Rows
from dpforest.records.table import Table
from dpforest.trees.multinomial.cells import MEMORY_LIMIT, LevelCells
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.kernels.leaves import leaf_counts, route_records, routed_leaf_counts
from dpforest.trees.multinomial.lattice import LevelLattice
from dpforest.trees.multinomial.memory import NewCounts, new_counts
from dpforest.trees.multinomial.queries import (
    ONE_COUNT,
    BestOfFeatures,
    CountedLevel,
    Jointly,
    LeafCounts,
    LevelCounts,
    ScoredLevel,
    Side,
    SplitScore,
    ValuesOf,
)
from dpforest.trees.multinomial.segments import Heap, Segments, Splits


class Level(CountedLevel, Protocol):
    """Nodes of one level: public boxes and, once counted, their records.

    `LevelCells` are of public cells, counted one by one; `LevelLattice` of points of a fine
    lattice, scored in intervals.
    """

    @property
    def table(self) -> Table:
        """The records."""

    @property
    def n_nodes(self) -> int:
        """Nodes of this level."""

    def n_candidates(self) -> NDArray[np.int64]:
        """Number of candidates that each box leaves of each feature, shape (n_nodes, D); public."""

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places of the boxes; -1 without feature; public."""

    def count(self, segments: Segments, room: NewCounts = new_counts) -> Self:
        """The level with its records."""

    def scored(self, criterion: Criterion) -> ScoredLevel:
        """Its scores, once counted."""

    def children(self, splits: Splits) -> Self:
        """The next level, not yet counted."""


#: From a table and records of it to the counted root that holds these.
CountRoot = Callable[[Table, Segments], Level]


def count_root(table: Table, segments: Segments) -> Level:
    """A root that holds the given records, counted as the table's kind of codes is."""
    if table.lattice is not None:
        return LevelLattice.of_root(table).count(segments)
    return LevelCells.of_root(table).count(segments)


class SharedRoot:
    """Counts of the root over all records: made once, for the tree that paid first, for all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._root: Level | None = None

    def __call__(self, table: Table, segments: Segments) -> Level:
        """The counted root that holds every record."""
        with self._lock:
            if self._root is None:
                self._root = count_root(table, segments)
            return self._root


class Growth:
    """A growing tree's released splits and public boxes; base of both kinds."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._splits: list[Splits] = []
        self._nodes: Level | None = None

    @property
    def nodes(self) -> Level:
        """Nodes of the level that was asked for last; their boxes are public."""
        assert self._nodes is not None
        return self._nodes

    @property
    def heap(self) -> Heap:
        """Released splits so far, in heap order."""
        return Splits.heap(self._splits)

    def n_candidates(self) -> NDArray[np.int64]:
        """Number of candidates that each box leaves of each feature, shape (n_nodes, D); public."""
        return self.nodes.n_candidates()

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places of the boxes; -1 without feature; public."""
        return self.nodes.nth_candidates(features, places)

    def cells(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Features and codes of drawn cells, -1 where none was; public."""
        offsets = self.nodes.table.offsets
        found = places >= 0
        cells = np.where(found, places, 0)
        features = np.searchsorted(offsets, cells, side="right") - 1
        codes = np.where(found, cells - offsets[features], -1)
        return np.where(found, features, -1), codes

    def split(self, features: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Split the nodes at released or public choices."""
        self._splits.append(Splits.drawn(self.nodes.table.ordered, features, codes))

    # -- scores, for the bridge -----------------------------------------------------------------

    def best(self, criterion: Criterion) -> SplitScore:
        """Score of the features of each node."""
        return BestOfFeatures(criterion)

    def values(self, criterion: Criterion, features: NDArray[np.int64]) -> SplitScore:
        """Score of the candidates of the feature that each node drew."""
        return ValuesOf(criterion, features)

    def jointly(self, criterion: Criterion) -> SplitScore:
        """Score of the candidates of all features of each node."""
        return Jointly(criterion)


class GrowthInMemory(Growth):
    """A tree that grows over one table.

    Parameters
    ----------
    side : Side
    root : callable
        Counts the root; trees on the same records share it.
    room : callable
        Gives the arrays that the counts of the other levels are written to.
    """

    def __init__(
        self, side: Side, root: CountRoot = count_root, room: NewCounts = new_counts
    ) -> None:
        super().__init__(side)
        self._root, self._room = root, room
        self._segments = Segments.of_root(np.empty(0, dtype=np.int32))
        self._estimation: NDArray[np.int32] | None = None

    def level(self) -> LevelLook:
        """The next level, to be counted when it is looked at."""
        return LevelLook(self._counted, (self._side,))

    def leaves(self) -> LeafLook:
        """The leaves, to be counted when they are looked at."""
        return LeafLook(self._leaf_counts, (self._side,))

    def _counted(self, table: Table) -> Level:
        if self._nodes is None:
            structure, self._estimation = self._side.both(table.n_records)
            self._segments = Segments.of_root(structure)
            self._nodes = self._root(table, self._segments)
        else:
            self._segments = self._segments.split(table.codes, self._splits[-1])
            below = self._nodes.children(self._splits[-1])
            self._nodes = below.count(self._segments, self._room)
        return self._nodes

    def _leaf_counts(self, table: Table) -> NDArray[np.int64]:
        """Exact class counts of the leaves: of the estimation points where there are sides."""
        counts = np.zeros((1 << len(self._splits), table.n_classes), dtype=np.int64)
        if self._estimation is None:
            last = self._segments.split(table.codes, self._splits[-1])
            leaf_counts(table.labels, last.order, last.starts, table.n_classes, counts)
            return counts
        leaves = np.empty(self._estimation.size, dtype=np.int32)
        depth = len(self._splits)
        route_records(table.codes, self._estimation, *self.heap, depth, leaves)
        routed_leaf_counts(leaves, self._estimation, table.labels, table.n_classes, counts)
        return counts


@dataclass(frozen=True, slots=True)
class LevelLook:
    """A look at a table that counts a level of a tree."""

    counted: Callable[[Table], Level]
    sides: tuple[Side, ...] = ()

    def look(self, table: Table) -> Level:
        """The counted level; secret."""
        return self.counted(table)


@dataclass(frozen=True, slots=True)
class LeafLook:
    """A look at a table that counts the leaves of a tree, shape (n_leaves, K)."""

    counted: Callable[[Table], NDArray[np.int64]]
    sides: tuple[Side, ...] = ()

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of the counts by one record: as `LeafCounts` proves."""
        return ONE_COUNT

    def look(self, table: Table) -> NDArray[np.int64]:
        """Class counts of the leaves; secret."""
        return self.counted(table)


class GrowthInPasses(Growth):
    """A tree that grows level by level with others, a pass over the records a level.

    Parameters
    ----------
    side : Side
    schema : Table
        Columns without records, on public cells.
    """

    def __init__(self, side: Side, schema: Table) -> None:
        super().__init__(side)
        self._schema = schema

    def level(self) -> LevelCounts:
        """The next level, to be counted with those of other trees."""
        if not self._splits:
            self._nodes = LevelCells.of_root(self._schema)
        else:
            self._nodes = self._cells.children(self._splits[-1])
        level, n_features = len(self._splits), self._schema.n_codes.size
        # Counts of the level above arrive in scores alone, so not where nothing was paid for.
        of_all = level > 0 and self._nodes.parents is None
        return LevelCounts((self.heap,), (self._side,), level, n_features, of_all)

    def leaves(self) -> LeafCounts:
        """The leaves, to be counted with those of other trees."""
        return LeafCounts((self.heap,), (self._side,), len(self._splits))

    @property
    def _cells(self) -> LevelCells:
        assert isinstance(self._nodes, LevelCells)
        return self._nodes

    def best(self, criterion: Criterion) -> SplitScore:
        """Score of the features of each node."""
        return _OfLeft(BestOfFeatures(criterion), self._with_right)

    def values(self, criterion: Criterion, features: NDArray[np.int64]) -> SplitScore:
        """Score of the candidates of the feature that each node drew."""
        return _OfLeft(ValuesOf(criterion, features), self._with_right)

    def jointly(self, criterion: Criterion) -> SplitScore:
        """Score of the candidates of all features of each node."""
        return _OfLeft(Jointly(criterion), self._with_right)

    def _with_right(self, left: NDArray[np.int64]) -> LevelCells:
        """The level with counts of all nodes, from those of its left ones."""
        cells = self._cells
        if cells.counts is None:
            counts = both_children(left, cells.parents)
            self._nodes = cells = replace(cells, counts=counts, parents=None)
        return cells


@dataclass(frozen=True, slots=True)
class _OfLeft:
    """A score of levels, from counts of left nodes: right ones are what their parents have more.

    Its range is the score's: it is the same function of the same records.
    """

    score: SplitScore
    counted: Callable[[NDArray[np.int64]], LevelCells]

    @property
    def unit(self) -> Fraction:
        """The score's."""
        return self.score.unit

    @property
    def score_range(self) -> Fraction:
        """The score's."""
        return self.score.score_range

    def rows(self, left: NDArray[np.int64]) -> Rows:
        """Scored candidates, a row a node."""
        return self.score.rows(self.counted(left))


def both_children(left: NDArray[np.int64], parents: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Counts of a level from those of its left nodes and of the level above."""
    if parents is None:
        return left.astype(np.int32)
    counts = np.empty((2 * left.shape[0], *left.shape[1:]), dtype=np.int32)
    counts[0::2] = left
    np.subtract(parents, left, out=counts[1::2], casting="same_kind")
    return counts


def trees_at_once(depth: int, schema: Table) -> int:
    """Number of trees of so many levels of splits that grow in one pass a level; public.

    Counts of their widest level fit in memory together.
    """
    cells = 2 ** max(depth - 1, 0) * int(schema.offsets[-1])
    # Sums and a chunk's part of half the nodes in eight bytes, the level's own and its parents' in
    # four, and a score a cell.
    return max(1, MEMORY_LIMIT // (cells * (14 * schema.n_classes + 8)))
