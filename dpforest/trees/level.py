"""One level of a growing tree on public cells: boxes, raw counts and scores of its nodes.

Raw counts live here and nowhere else. Boxes are public: they follow from released splits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.criteria import Criterion
from dpforest.trees.kernels.histogram import child_histograms, level_histogram
from dpforest.trees.kernels.routing import initial_boxes, update_boxes
from dpforest.trees.kernels.scoring import score_level
from dpforest.trees.records import Segments, Splits, TrainingTable

#: Raw counts and scores of a level are held for at most this many bytes at a time.
MEMORY_LIMIT = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Boxes:
    """What the ancestors' splits left of each feature in each node; public.

    Attributes
    ----------
    low, high : ndarray of int32, shape (n_nodes, D)
    alive : ndarray of bool, shape (n_nodes, total_codes)
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    alive: NDArray[np.bool_]

    @classmethod
    def empty(cls, n_nodes: int, n_features: int, total: int) -> Boxes:
        """Boxes yet to be filled."""
        return cls(
            np.empty((n_nodes, n_features), dtype=np.int32),
            np.empty((n_nodes, n_features), dtype=np.int32),
            np.empty((n_nodes, total), dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True)
class LevelCells:
    """Public boxes and, once counted, secret counts of the nodes of one level.

    Attributes
    ----------
    table : TrainingTable
    boxes : Boxes
    segments : Segments or None
        Records of each node; None before counting.
    counts : ndarray of int32, shape (n_nodes, total_codes, n_classes), or None
        Raw counts; None before counting, or where a level is too large to hold at once.
    parents : ndarray of int32, or None
        Raw counts of the level above, from which one child of each pair is derived.
    """

    table: TrainingTable
    boxes: Boxes
    segments: Segments | None = None
    counts: NDArray[np.int32] | None = None
    parents: NDArray[np.int32] | None = None

    @classmethod
    def of_root(cls, table: TrainingTable) -> LevelCells:
        """The root: the whole domain, nothing counted."""
        boxes = Boxes.empty(1, table.n_codes.size, int(table.offsets[-1]))
        initial_boxes(table.n_codes, table.offsets, boxes.low, boxes.high, boxes.alive)
        return cls(table, boxes)

    @property
    def n_nodes(self) -> int:
        """Nodes of this level."""
        return int(self.boxes.low.shape[0])

    @property
    def total(self) -> int:
        """Cells of all features together."""
        return int(self.table.offsets[-1])

    def count(self, segments: Segments) -> LevelCells:
        """Raw counts of every node, unless they are there already or do not fit in memory."""
        if self.counts is not None:
            return replace(self, segments=segments)
        if self._bytes_of(self.n_nodes) > MEMORY_LIMIT:
            return replace(self, segments=segments, parents=None)
        counts = np.empty((self.n_nodes, self.total, self.table.n_classes), dtype=np.int32)
        table, order, starts = self.table, segments.order, segments.starts
        if self.parents is None:
            self._count_into(counts, segments, 0)
        else:
            child_histograms(
                table.codes, table.labels, order, starts, table.offsets, table.n_classes,
                self.parents, counts,
            )  # fmt: skip
        return replace(self, segments=segments, counts=counts, parents=None)

    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of nodes whose counts and scores fit in memory together."""
        if self.counts is not None:
            return [(0, self.n_nodes)]
        size = max(1, int(MEMORY_LIMIT // self._bytes_of(1)))
        return [(a, min(a + size, self.n_nodes)) for a in range(0, self.n_nodes, size)]

    def scores(self, first: int, last: int, criterion: Criterion) -> NDArray[np.float64]:
        """Raw scores of every candidate of nodes ``first … last - 1``; -inf where the box has none."""
        out = np.empty((last - first, self.total), dtype=np.float64)
        table, boxes = self.table, self.boxes
        score_level(
            self._counts_of(first, last), table.offsets, table.ordered,
            boxes.low[first:last], boxes.high[first:last], boxes.alive[first:last],
            criterion.code, out,
        )  # fmt: skip
        return out

    def children(self, splits: Splits) -> LevelCells:
        """The next level, not yet counted."""
        table, old = self.table, self.boxes
        new = Boxes.empty(2 * self.n_nodes, table.n_codes.size, self.total)
        update_boxes(
            old.low, old.high, old.alive, table.offsets, table.ordered,
            splits.feature, splits.low, splits.high, new.low, new.high, new.alive,
        )  # fmt: skip
        return LevelCells(table, new, parents=self.counts)

    def _counts_of(self, first: int, last: int) -> NDArray[np.int32]:
        if self.counts is not None:
            return self.counts[first:last]
        counts = np.empty((last - first, self.total, self.table.n_classes), dtype=np.int32)
        assert self.segments is not None
        self._count_into(counts, self.segments, first)
        return counts

    def _count_into(self, counts: NDArray[np.int32], segments: Segments, first: int) -> None:
        table = self.table
        starts = segments.starts[first : first + counts.shape[0] + 1]
        level_histogram(
            table.codes, table.labels, segments.order, starts, table.offsets, table.n_classes, counts
        )

    def _bytes_of(self, n_nodes: int) -> int:
        # int32 counts of each class, and a double for the score.
        return n_nodes * self.total * (4 * self.table.n_classes + 8)
