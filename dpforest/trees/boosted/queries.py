"""Sums of clipped or weighted residuals over bins and nodes of a growing tree.

A record's residuals and curvatures follow from what was released before and its own codes and
label, so one record changes no other's. They are rounded toward zero to a public lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import compile_for
from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.answering import AnsweringQuery
from dpforest.trees.boosted.kernels.histograms import (
    add_leaf_steps,
    leaf_sums,
    list_bins,
    n_words,
    node_histograms,
    node_sums,
    number_leaves,
)
from dpforest.trees.multinomial.kernels.leaves import route_records
from dpforest.trees.multinomial.segments import Heap, Segments, Splits
from dpforest.trees.random.bins import Bins
from dpforest.trees.scored.gradients import GradientLattice
from dpforest.trees.scored.kernels.bin_counts import count_bins
from dpforest.trees.scored.queries import Move

_BINS, _NODES, _LEAVES = "listed bins", "nodes", "leaves"
#: Bytes of the leaves that are kept of a chunk's records, with their trees' splits, at most.
_MOST_KEPT = 2**28


class Additions(Protocol):
    """Whole numbers that records add to the sums of a tree."""

    @property
    def lattice(self) -> GradientLattice:
        """Sizes of what a record may add."""

    @property
    def history(self) -> tuple[Move, ...]:
        """Released steps that they follow from."""

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """Addition of each record of a chunk, shape (n, 2 C); secret, and kept."""


def grouped(chunk: Chunk, number: int, heap: Heap, level: int) -> Segments:
    """Records of a chunk by the nodes of a level of one tree; secret, and kept.

    ``number`` is the tree's place in the history, which no other tree of a fit has.
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


def leaves_of(chunk: Chunk, number: int, heap: Heap, keep: bool) -> NDArray[np.uint16]:
    """Leaf of each record of a chunk in a finished tree; secret, and kept where there is room.

    ``number`` is as for `grouped`: records that lie grouped by these leaves need no other way.
    """
    kept: dict[bytes, NDArray[np.uint16]] = chunk.kept.setdefault(_LEAVES, {})
    key, depth = b"".join(part.tobytes() for part in heap), heap[0].size.bit_length()
    leaves = kept.get(key)
    if leaves is None:
        known, level, segments = chunk.kept.get(_NODES, (-1, 0, None))
        leaves = np.empty(chunk.table.n_records, dtype=np.uint16)
        rows = np.arange(leaves.size, dtype=np.int32)
        routed = chunk.table.codes, rows, *heap, depth, leaves
        compile_for(route_records, *routed)  # also where no records were too many to be kept
        if known == number and level == depth:
            number_leaves(segments.order, segments.starts, leaves)
        else:
            route_records(*routed)
        if keep:
            kept[key] = leaves
    room = _MOST_KEPT if chunk.room is None else min(chunk.room, _MOST_KEPT)
    while len(kept) * (len(key) + leaves.nbytes) > room:
        kept.popitem()
    return leaves


@dataclass(frozen=True, slots=True, eq=False)
class BoostedMove:
    """Every leaf of a tree adds something.

    Attributes
    ----------
    number : int
        Its place in the history, unique in a fit.
    heap : Heap
    steps : ndarray of float64, shape (n_leaves, C)
    asked_again : bool
        Whether the tree is corrected later.
    """

    number: int
    heap: Heap
    steps: NDArray[np.float64]
    asked_again: bool = False

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add the leaves' steps."""
        leaves = leaves_of(chunk, self.number, self.heap, self.asked_again)
        add_leaf_steps(leaves, self.steps, scores)


@dataclass(frozen=True, slots=True, eq=False)
class LevelSums(AnsweringQuery):
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

    def recount(self, chunk: Chunk, place: int | None) -> NDArray[np.int64]:
        """The same with zeros over bins, which take no time: no split is drawn anew."""
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


def unit_row(lattice: GradientLattice) -> NDArray[np.int64]:
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
class LeafSums(AnsweringQuery):
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
        """Largest change by one record: its row (`GradientLattice.row`), in the leaf where it lies.

        **Relation**: add or remove one record. **Tests**: tests/trees/boosted/test_boosted_sums.py.
        """
        return self.gradients.lattice.row

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk, shape (m, 2 C + 1)."""
        rows, lattice = self.gradients.rows(chunk), self.gradients.lattice
        sums = np.empty((self.counted.size, 2 * lattice.n_columns + 1), dtype=np.int64)
        if self.counted.size == 1 << self.level:
            leaf_sums(leaves_of(chunk, len(self.history), self.heap, True), rows, sums)
        else:
            nodes = grouped(chunk, len(self.history), self.heap, self.level)
            node_sums(nodes.order, nodes.starts, self.counted, rows, sums)
        sums *= unit_row(lattice)
        return sums
