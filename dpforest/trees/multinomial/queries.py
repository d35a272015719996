"""Queries of a multinomial forest: class counts, and scores of what may be drawn.

Everything here sees records or counts of them and releases nothing: a query says what is summed
and how far one record moves it, a score says what a choice goes by and its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.rows import Rows
from dpforest.records.sides import Side as Side
from dpforest.records.table import Table
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.kernels.leaves import route_records, routed_leaf_counts
from dpforest.trees.multinomial.kernels.routed import count_left
from dpforest.trees.multinomial.segments import Heap

#: A record adds one to one class of one leaf.
ONE_COUNT = Sensitivity(Fraction(1), Fraction(1))
#: Counts of a level, or of leaves.
Counts = TypeVar("Counts", "LevelCounts", "LeafCounts")


# -- counts, pass by pass ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Class counts of every cell of the left nodes of a level, for several trees.

    Shape (n_trees, n_left, total codes, K): the root, or every other node. A right one is what
    its parent has more, so it need not be counted, and its counts need not travel.

    Attributes
    ----------
    heaps : tuple of Heap
    sides : tuple of Side
    level : int
    n_features : int
    of_all : bool
        Count all nodes, where nothing is known of their parents.
    """

    heaps: tuple[Heap, ...]
    sides: tuple[Side, ...]
    level: int
    n_features: int
    of_all: bool = False

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of a tree's counts by one record.

        **Relation**: add or remove one record. **Sensitivity**: the number of features, in l1 and
        in the square of l2. **Proof**: a record lies in one node of the level at most, where it
        adds one to one cell of each feature. What is released are choices by scores of these
        counts, whose ranges the criteria prove. **Tests**: tests/trees/multinomial/test_queries.py.
        """
        return Sensitivity(Fraction(self.n_features), Fraction(self.n_features))

    def together(self, others: Sequence[LevelCounts]) -> LevelCounts:
        """The same for more trees; trees on the same records share the counts of the root."""
        if not self.level and self.sides[0].rows is None:
            return self
        return _of_all_trees((self, *others))

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Counts of a chunk."""
        table = chunk.table
        n_counted = (1 << self.level) if self.of_all else max(1, (1 << self.level) // 2)
        shape = len(self.heaps), n_counted, int(table.offsets[-1]), table.n_classes
        counts = np.zeros(shape, dtype=np.int64)
        for heap, side, out in zip(self.heaps, self.sides, counts, strict=True):
            rows = side.members(chunk, True)
            nodes = nodes_of(table, rows, heap, self.level)
            if self.of_all:
                nodes <<= 1  # each as the left child of itself
            count_left(table.codes, table.labels, rows, nodes, table.offsets, table.n_classes, out)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounts:
    """Class counts of the leaves of several trees, shape (n_trees, n_leaves, K)."""

    heaps: tuple[Heap, ...]
    sides: tuple[Side, ...]
    depth: int

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of a tree's counts by one record.

        **Relation**: add or remove one record. **Sensitivity**: 1 in both norms. **Proof**: a
        tree's released splits send a record to one leaf, where it adds one to its own class; its
        side follows from its own word alone. **Tests**: tests/trees/multinomial/test_queries.py.
        """
        return ONE_COUNT

    def together(self, others: Sequence[LeafCounts]) -> LeafCounts:
        """The same for more trees."""
        return _of_all_trees((self, *others))

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Counts of a chunk."""
        table = chunk.table
        shape = len(self.heaps), 1 << self.depth, table.n_classes
        counts = np.zeros(shape, dtype=np.int64)
        for heap, side, out in zip(self.heaps, self.sides, counts, strict=True):
            rows = side.members(chunk, False)
            leaves = nodes_of(table, rows, heap, self.depth)
            routed_leaf_counts(leaves, rows, table.labels, table.n_classes, out)
        return counts


def _of_all_trees(queries: tuple[Counts, ...]) -> Counts:
    """The first of some queries, asked of the trees of all."""
    heaps = tuple(heap for query in queries for heap in query.heaps)
    sides = tuple(side for query in queries for side in query.sides)
    return replace(queries[0], heaps=heaps, sides=sides)


def nodes_of(table: Table, rows: NDArray[np.int32], heap: Heap, level: int) -> NDArray[np.int32]:
    """Node of each listed record in a level."""
    nodes = np.zeros(rows.size, dtype=np.int32)
    if level:
        route_records(table.codes, rows, *heap, level, nodes)
    return nodes


# -- scores of splits ----------------------------------------------------------------------------


class ScoredLevel(Protocol):
    """Scores of a counted level under one criterion; secret."""

    def best(self) -> NDArray[np.float64]:
        """Score of each feature in each node, the largest that it offers, shape (n_nodes, D).

        In lattice steps, normalised over the node's features where the criterion says so; -inf
        for a feature without candidates.
        """

    def offer(self, features: NDArray[np.int64]) -> Rows:
        """Candidates of the feature that each node drew; none where that is -1. Call once."""


class CountedLevel(Protocol):
    """Nodes of one level with what was counted of their records; secret."""

    def scored(self, criterion: Criterion) -> ScoredLevel:
        """Its scores, each made when asked for."""


class SplitScore(Protocol):
    """A score of splits, of whatever was counted."""

    @property
    def unit(self) -> Fraction:
        """Worth of one lattice step."""

    @property
    def score_range(self) -> Fraction:
        """Largest minus smallest change by one record."""

    def rows(self, counted: Any) -> Rows:
        """Scored candidates, a row a node; secret."""


@dataclass(frozen=True, slots=True)
class _ByCriterion:
    """A score of splits; its unit and its range are the criterion's.

    **Relation**, **range**, **proof** and **tests**: `dpforest.trees.multinomial.criteria`.
    """

    criterion: Criterion

    @property
    def unit(self) -> Fraction:
        """Worth of one lattice step."""
        return self.criterion.unit

    @property
    def score_range(self) -> Fraction:
        """Largest minus smallest change by one record."""
        return self.criterion.score_range


@dataclass(frozen=True, slots=True)
class BestOfFeatures(_ByCriterion):
    """Features of each node, each by its best candidate: the range of maxima is the candidates'."""

    def rows(self, counted: CountedLevel) -> Rows:
        """A row a node, a candidate a feature."""
        return Rows.of_table(counted.scored(self.criterion).best())


@dataclass(frozen=True, slots=True)
class ValuesOf(_ByCriterion):
    """Candidates of the feature that each node drew.

    Attributes
    ----------
    features : ndarray of int64, shape (n_nodes,)
        Released; -1 offers nothing.
    """

    features: NDArray[np.int64]

    def rows(self, counted: CountedLevel) -> Rows:
        """A row a node, a candidate a code or a run of codes."""
        return counted.scored(self.criterion).offer(self.features)


@dataclass(frozen=True, slots=True)
class Jointly(_ByCriterion):
    """Candidates of all features of each node; of public cells, since nobody may ask else."""

    def rows(self, counted: LevelCells) -> Rows:
        """A row a node, a candidate a cell."""
        return counted.scored(self.criterion).offer_jointly()


# -- scores of labels ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelByFrequency:
    """Classes of each leaf by their share of its records, rounded down to steps of 2**-20.

    The label selection with B3 of the Multinomial Random Forest (2020).

    **Relation**: add or remove one record. **Range**: 2, as in the paper. **Proof**: a share,
    rounded down to the public lattice, or zero in an empty leaf, lies in [0, 1], so each moves
    within [-1, 1]. (The range that is reached is 1, so the draw is in fact epsilon / 2-DP.)
    **Tests**: tests/trees/multinomial/test_labels.py.
    """

    unit: ClassVar[Fraction] = Fraction(1, 2**20)
    score_range: ClassVar[Fraction] = Fraction(2)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """A row a leaf, a candidate a class; counts of shape (n_leaves, K), below 2**43."""
        sizes = np.maximum(counted.sum(axis=1, keepdims=True), 1)
        return Rows.of_table(counted * self.unit.denominator // sizes)


@dataclass(frozen=True, slots=True)
class LabelByCount:
    """Classes of each leaf by their number of records; sharpens as leaves fill.

    **Relation**: add or remove one record. **Range**: 1. **Proof**: a record moves one class's
    count in one leaf by one and no other's. **Tests**: tests/trees/multinomial/test_labels.py.
    """

    unit: ClassVar[Fraction] = Fraction(1)
    score_range: ClassVar[Fraction] = Fraction(1)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """A row a leaf, a candidate a class; counts of shape (n_leaves, K), below 2**53."""
        return Rows.of_table(counted)
