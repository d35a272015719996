"""Sums of clipped or weighted residuals over bins and nodes of a growing tree.

A record's residuals and curvatures follow from what was released before and its own codes and
label, so one record changes no other's. They are rounded toward zero to a public lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.boosted.kernels.gradients import class_gradients, odds_gradients
from dpforest.trees.boosted.kernels.histograms import (
    add_node_steps,
    count_bins,
    list_bins,
    n_words,
    node_histograms,
    node_sums,
)
from dpforest.trees.multinomial.kernels.leaves import route_records
from dpforest.trees.multinomial.segments import Heap, Segments, Splits
from dpforest.trees.random.bins import Bins
from dpforest.trees.scored.queries import ClippedResiduals, Move, ScoreHistory

#: Steps of a residual of 1.
STEPS = 2**12

_BINS, _ROWS, _NODES = "listed bins", "gradients", "nodes"


@dataclass(frozen=True, slots=True)
class Lattice(ClippedResiduals):
    """Sizes of what a record may add, in whole steps: residuals, curvatures and its own mass.

    Attributes
    ----------
    bend : int
        A curvature of 1.
    mass : int
        A record.
    weighted : bool
        Whether records of two classes are weighted by 1 / max(p, 1 - p), and not clipped.
    """

    bend: int
    mass: int
    weighted: bool = False

    @classmethod
    def of(
        cls, n_columns: int, clip: Fraction, bend: Fraction, mass: Fraction, weighted: bool = False
    ) -> Lattice:
        """Round down what is given in residuals of 1."""
        most, bends, masses = (max(1, math.floor(x * STEPS)) for x in (clip, bend, mass))
        return cls(n_columns, most, bends, masses, weighted)

    @property
    def row(self) -> Sensitivity:
        """Largest sizes of one record's residuals, curvatures and own mass together.

        **Residuals**: `residual_sensitivity`; a weighted one is (y - p) / max(p, 1 - p) for y 0
        or 1, so at most 1 in size. **Curvatures** of one column: p (1 - p) <= 1/4 times ``bend``;
        weighted ones are min(p, 1 - p) <= 1/2. Of more: the sum over k of (p_k (1 - p_k))^2 is at
        most 4/27, where three shares are 1/3; that of p_k (1 - p_k) is below 1. They are rounded
        toward zero; 1 more makes up for the doubles that they are made in, whose relative error is
        below 2^-40.
        """
        one, residuals = self.n_columns == 1, self.residuals
        largest = Fraction(self.bend, 2 if self.weighted else 4)
        squares = largest**2 if one else Fraction(4 * self.bend**2, 27)
        bends = largest if one else Fraction(self.bend)
        l1 = residuals.l1 + math.ceil(bends) + 1 + self.mass
        l2 = residuals.l2_squared + math.ceil(squares) + 1 + self.mass**2
        return Sensitivity(l1, l2)

    @property
    def score_range(self) -> Fraction:
        """Range of ``parts.SplitScore``, in residuals of 1: four times the largest residual."""
        return Fraction(4 * self.most, STEPS)


class Additions(Protocol):
    """Whole numbers that records add to the sums of a tree."""

    @property
    def lattice(self) -> Lattice:
        """Sizes of what a record may add."""

    @property
    def history(self) -> tuple[Move, ...]:
        """Released steps that they follow from."""

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """Addition of each record of a chunk, shape (n, 2 C); secret, and kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Gradients:
    """Residuals and curvatures of records, from released scores.

    Attributes
    ----------
    scored : ScoreHistory
    lattice : Lattice
    """

    scored: ScoreHistory
    lattice: Lattice

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that the scores are made of."""
        return self.scored.moves

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """Residuals, then curvatures, of a chunk's records, shape (n, 2 C); secret, and kept."""
        known, rows = chunk.kept.get(_ROWS, (None, None))
        lattice, now = self.lattice, (len(self.scored.moves), self.lattice)
        if known == now:
            found: NDArray[np.int32] = rows
            return found
        scores, table = self.scored.scores(chunk), chunk.table
        if rows is None:
            rows = np.empty((scores.shape[0], 2 * scores.shape[1]), dtype=np.int32)
        if lattice.n_columns > 1:
            class_gradients(scores, table.labels, STEPS, lattice.most, lattice.bend, rows)
        else:
            y = table.labels if table.targets is None else table.targets
            sizes = STEPS, lattice.most, lattice.bend
            odds_gradients(scores, y, table.unit, *sizes, lattice.weighted, rows)
        chunk.kept[_ROWS] = now, rows
        return rows


def grouped(chunk: Chunk, number: int, heap: Heap, level: int) -> Segments:
    """Records of a chunk by the nodes of a level of one tree; secret, and kept.

    ``number`` is the tree's place in the history, which no other asking of a fit has: a corrected
    tree is asked at several places, and records are grouped anew at each.
    """
    known, own_level, segments = chunk.kept.get(_NODES, (-1, 0, None))
    if known != number or own_level > level:
        own_level, rows = 0, np.arange(chunk.table.n_records, dtype=np.int32)
        segments = Segments.of_root(rows)
    feature, low, high = heap
    for above in range(own_level, level):
        span = slice((1 << above) - 1, (2 << above) - 1)
        splits = Splits(feature[span], low[span], high[span])
        segments = segments.split(chunk.table.codes, splits)
    chunk.kept[_NODES] = number, level, segments
    found: Segments = segments
    return found


@dataclass(frozen=True, slots=True, eq=False)
class BoostedMove:
    """Every leaf of a tree adds something.

    Attributes
    ----------
    number : int
        Its place in the history, unique in a fit.
    heap : Heap
    steps : ndarray of float64, shape (n_leaves, C)
    """

    number: int
    heap: Heap
    steps: NDArray[np.float64]

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add the leaves' steps."""
        depth = self.steps.shape[0].bit_length() - 1
        known, level, segments = chunk.kept.get(_NODES, (-1, 0, None))
        if known == self.number and level == depth:
            add_node_steps(segments.order, segments.starts, self.steps, scores)
            return
        rows = np.arange(scores.shape[0], dtype=np.int32)
        leaves = np.empty(rows.size, dtype=np.int32)
        route_records(chunk.table.codes, rows, *self.heap, depth, leaves)
        scores += self.steps[leaves]


@dataclass(frozen=True, slots=True, eq=False)
class LevelSums:
    """Sums over the bins of some nodes of a level, and over these nodes, one after the other.

    Attributes
    ----------
    gradients : Gradients
    bins : Bins
    heap : Heap
        Released splits of the levels above.
    level : int
    counted : ndarray of int64, shape (m,)
        Nodes that are counted: the root, or one of each two siblings. The other one is what their
        parent has more.
    """

    gradients: Additions
    bins: Bins
    heap: Heap
    level: int
    counted: NDArray[np.int64]

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.gradients.history

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of all that is counted.

        **Relation**: add or remove one record. **Proof**: it lies in one node, and adds its row
        to the node and part of it to one bin of each feature. What is released of the bins are
        choices (``parts.SplitScore``), of the nodes their sums (``parts.NodeSums``). **Tests**:
        tests/trees/boosted/test_boosted_sums.py.
        """
        row, times = self.gradients.lattice.row, self.bins.starts.size
        return Sensitivity(times * row.l1, times * row.l2_squared)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk, flat: see `parted`."""
        nodes, rows, sums = self._of_nodes(chunk, np.empty)
        of_bins, totals = self.parted(sums)
        of_nodes = nodes.order, nodes.starts, self.counted
        first, listed, usual = self._listed(chunk)
        node_histograms(*of_nodes, first, listed, rows, self.bins.starts, usual, totals, of_bins)
        totals *= unit_row(self.gradients.lattice)
        return sums

    def count_nodes(self, chunk: Chunk) -> NDArray[np.int64]:
        """The same with zeros over bins, which take no time: where no split is drawn anew."""
        _, _, sums = self._of_nodes(chunk, np.zeros)
        totals = self.parted(sums)[1]
        totals *= unit_row(self.gradients.lattice)
        return sums

    def _of_nodes(
        self, chunk: Chunk, make: Callable[..., NDArray[np.int64]]
    ) -> tuple[Segments, NDArray[np.int32], NDArray[np.int64]]:
        """Records by nodes, their rows, and sums of which those over nodes are there; secret."""
        rows, n_columns = self.gradients.rows(chunk), self.gradients.lattice.n_columns
        nodes = grouped(chunk, len(self.history), self.heap, self.level)
        n_counted, width = self.counted.size, 2 * n_columns + 1
        size = math.prod(bins_shape(n_counted, self.bins, n_columns))
        sums = make(size + n_counted * width, dtype=np.int64)
        node_sums(nodes.order, nodes.starts, self.counted, rows, self.parted(sums)[1])
        return nodes, rows, sums

    def parted(self, sums: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sums over bins, shape (m, total bins, words), and over nodes, shape (m, 2 C + 1)."""
        n_columns = self.gradients.lattice.n_columns
        shape = bins_shape(self.counted.size, self.bins, n_columns)
        size = math.prod(shape)
        return sums[:size].reshape(shape), sums[size:].reshape(-1, 2 * n_columns + 1)

    def _listed(self, chunk: Chunk) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """Bins of each record but the usual ones; secret, and kept."""
        known = chunk.kept.get(_BINS)
        if known is None or known[0] is not self.bins:
            known = chunk.kept[_BINS] = self.bins, listed_bins(chunk, self.bins)
        found: tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]] = known[1]
        return found


def unit_row(lattice: Lattice) -> NDArray[np.int64]:
    """Worth of one in each column of a node's sums."""
    ones = np.ones(2 * lattice.n_columns, dtype=np.int64)
    return np.append(ones, lattice.mass)


def bins_shape(n_nodes: int, bins: Bins, n_columns: int) -> tuple[int, int, int]:
    """Shape of sums over bins."""
    return n_nodes, int(bins.starts[-1]), int(n_words(n_columns))


def listed_bins(
    chunk: Chunk, bins: Bins
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
    """Bins of each record but each feature's most frequent one, and these; secret."""
    table, starts = chunk.table, bins.starts
    counts = count_bins(table.codes, table.offsets, bins.of_code, starts)
    usual = np.array([a + counts[a:b].argmax() for a, b in pairwise(starts)], dtype=np.int64)
    first = np.empty(table.n_records + 1, dtype=np.int64)
    dtype = np.uint16 if starts[-1] <= 2**16 else np.uint32
    arguments = table.codes, table.offsets, bins.of_code, starts, usual, first
    list_bins(*arguments, np.empty(0, dtype))
    listed = np.empty(int(first[-1]), dtype)
    list_bins(*arguments, listed)
    return first, listed, usual


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """Sums of residuals, curvatures and records over the leaves that are counted."""

    gradients: Additions
    heap: Heap
    level: int
    counted: NDArray[np.int64]

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.gradients.history

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change by one record: its row (`Lattice.row`), in the leaf where it lies.

        **Relation**: add or remove one record. **Tests**: tests/trees/boosted/test_boosted_sums.py.
        """
        return self.gradients.lattice.row

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk, shape (m, 2 C + 1)."""
        rows, lattice = self.gradients.rows(chunk), self.gradients.lattice
        nodes = grouped(chunk, len(self.history), self.heap, self.level)
        sums = np.empty((self.counted.size, 2 * lattice.n_columns + 1), dtype=np.int64)
        node_sums(nodes.order, nodes.starts, self.counted, rows, sums)
        sums *= unit_row(lattice)
        return sums
