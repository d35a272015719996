"""One level of a growing tree on public cells: boxes, raw counts and scores of its nodes.

Raw counts of cells live here and nowhere else. Boxes are public: they follow from released splits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpforest.records.kernels.histogram import child_histograms, level_histogram
from dpforest.records.rows import Rows
from dpforest.records.table import Table
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.kernels.routing import (
    count_candidates,
    initial_boxes,
    nth_candidates,
    update_boxes,
)
from dpforest.trees.multinomial.kernels.scoring import joint_scores, score_level
from dpforest.trees.multinomial.kernels.stages import best_scores, chosen_scores
from dpforest.trees.multinomial.memory import NewCounts, new_counts
from dpforest.trees.multinomial.segments import Segments, Splits

#: Raw counts and scores of a level are held for at most this many bytes at a time.
MEMORY_LIMIT = 512 * 2**20

#: Raw counts, offsets, which features are ordered; lowest, highest and living codes of the boxes.
_Counted = tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Part of each feature that the ancestors' splits left in each node; public.

    Attributes
    ----------
    low, high : ndarray of int32 (int64 on a lattice), shape (n_nodes, D)
        Smallest and largest code of each ordered feature.
    alive : ndarray of bool, shape (n_nodes, total_codes)
        Which codes of each categorical feature are left, of those that declared values have:
        what no declared value can have goes with the rest, and is never a candidate.
    offsets : ndarray of int64, shape (D + 1,)
    ordered : ndarray of bool, shape (D,)
    """

    low: NDArray[np.signedinteger]
    high: NDArray[np.signedinteger]
    alive: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    ordered: NDArray[np.bool_]

    @classmethod
    def of_root(
        cls,
        n_codes: NDArray[np.int64],
        offsets: NDArray[np.int64],
        ordered: NDArray[np.bool_],
        dtype: type[np.signedinteger] = np.int32,
        declared: NDArray[np.bool_] | None = None,
    ) -> Boxes:
        """The whole domain; a cell that is not ``declared`` is never a candidate, nor below."""
        boxes = cls._empty(1, offsets, ordered, np.dtype(dtype))
        initial_boxes(n_codes, boxes.low, boxes.high, boxes.alive)
        if declared is not None:
            boxes.alive[0] &= declared
        return boxes

    @classmethod
    def _empty(
        cls, n_nodes: int, offsets: NDArray[np.int64], ordered: NDArray[np.bool_], dtype: np.dtype
    ) -> Boxes:
        low = np.empty((n_nodes, ordered.size), dtype=dtype)
        alive = np.empty((n_nodes, int(offsets[-1])), dtype=np.bool_)
        return cls(low, np.empty_like(low), alive, offsets, ordered)

    @property
    def n_nodes(self) -> int:
        """Number of boxes."""
        return int(self.low.shape[0])

    def children(self, splits: Splits) -> Boxes:
        """Boxes of the two children of each."""
        new = self._empty(2 * self.n_nodes, self.offsets, self.ordered, self.low.dtype)
        update_boxes(
            self.low, self.high, self.alive, self.offsets, self.ordered,
            splits.feature, splits.low, splits.high, new.low, new.high, new.alive,
        )  # fmt: skip
        return new

    def n_candidates(self) -> NDArray[np.int64]:
        """Number of candidates that each box leaves of each feature, shape (n_nodes, D)."""
        out = np.empty(self.low.shape, dtype=np.int64)
        count_candidates(self.low, self.high, self.alive, self.offsets, self.ordered, out)
        return out

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places, shape (n_nodes,); -1 without feature."""
        out = np.empty(features.size, dtype=np.int64)
        nth_candidates(self.low, self.alive, self.offsets, self.ordered, features, places, out)
        return out


@dataclass(frozen=True, slots=True, repr=False)
class LevelCells:
    """Public boxes and, once counted, secret counts of the nodes of one level.

    Attributes
    ----------
    table : Table
    boxes : Boxes
    segments : Segments or None
        Records of each node; None before counting.
    counts : ndarray of int32, shape (n_nodes, total_codes, n_classes), or None
        Raw counts; None before counting, or where a level is too large to hold at once.
    parents : ndarray of int32, or None
        Raw counts of the level above, from which one child of each pair is derived.
    """

    table: Table
    boxes: Boxes
    segments: Segments | None = None
    counts: NDArray[np.int32] | None = None
    parents: NDArray[np.int32] | None = None

    @classmethod
    def of_root(cls, table: Table) -> LevelCells:
        """The root: the whole domain, nothing counted."""
        columns = table.n_codes, table.offsets, table.ordered
        return cls(table, Boxes.of_root(*columns, declared=table.declared))

    @property
    def n_nodes(self) -> int:
        """Nodes of this level."""
        return self.boxes.n_nodes

    @property
    def total(self) -> int:
        """Cells of all features together."""
        return int(self.table.offsets[-1])

    def count(self, segments: Segments, room: NewCounts = new_counts) -> LevelCells:
        """Raw counts of every node, unless they are there already or do not fit in memory."""
        if self.counts is not None:
            return replace(self, segments=segments)
        if self._bytes_of(self.n_nodes) > MEMORY_LIMIT:
            return replace(self, segments=segments, parents=None)
        counts = room((self.n_nodes, self.total, self.table.n_classes))
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

    def counted(self, first: int, last: int) -> _Counted:
        """Arguments of scoring kernels for nodes ``first … last - 1``: raw counts, public boxes."""
        table, boxes = self.table, self.boxes
        span = slice(first, last)
        counts = self._counts_of(first, last)
        low, high, alive = boxes.low[span], boxes.high[span], boxes.alive[span]
        return counts, table.offsets, table.ordered, low, high, alive

    def children(self, splits: Splits) -> LevelCells:
        """The next level, not yet counted."""
        return LevelCells(self.table, self.boxes.children(splits), parents=self.counts)

    def n_candidates(self) -> NDArray[np.int64]:
        """Number of candidates that each box leaves of each feature, shape (n_nodes, D); public."""
        return self.boxes.n_candidates()

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places of the boxes; -1 without feature; public."""
        return self.boxes.nth_candidates(features, places)

    def scored(self, criterion: Criterion) -> ScoredCells:
        """Scores of the level, made when asked for."""
        return ScoredCells(self, criterion)

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
            table.codes, table.labels, segments.order, starts, table.offsets, table.n_classes,
            counts,
        )  # fmt: skip

    def _bytes_of(self, n_nodes: int) -> int:
        # int32 counts of each class, and a double for the score.
        return n_nodes * self.total * (4 * self.table.n_classes + 8)


class ScoredCells:
    """Scores of a counted level, each made when asked for.

    Parameters
    ----------
    level : LevelCells
    criterion : Criterion
    """

    def __init__(self, level: LevelCells, criterion: Criterion) -> None:
        self._level = level
        self._criterion = criterion

    def best(self) -> NDArray[np.float64]:
        """Score of each feature in each node, the largest that it offers, shape (n_nodes, D)."""
        return self._best(self._criterion.normalised)

    def best_unnormalised(self) -> NDArray[np.float64]:
        """The same before the criterion's normalisation, to be put beside other features."""
        return self._best(False)

    def _best(self, normalised: bool) -> NDArray[np.float64]:
        level, code = self._level, self._criterion.code
        best = np.empty((level.n_nodes, level.table.n_codes.size), dtype=np.float64)
        for first, last in level.chunks():
            best_scores(*level.counted(first, last), code, normalised, best[first:last])
        return best

    def offer(self, features: NDArray[np.int64]) -> Rows:
        """Candidates of the feature that each node drew, in a row each; none where that is -1."""
        level, criterion = self._level, self._criterion
        sizes = np.where(features >= 0, level.table.n_codes[features], 0)
        ends = np.cumsum(sizes)
        starts = ends - sizes
        offered = np.empty(int(ends[-1]), dtype=np.float64)
        for first, last in level.chunks():
            chosen_scores(
                *level.counted(first, last), criterion.code, criterion.normalised,
                features[first:last], starts[first:last], offered,
            )  # fmt: skip
        return Rows(offered, starts, ends)

    def offer_jointly(self) -> Rows:
        """Candidates of all features of each node in one row, in the order of the cells."""
        level = self._level
        offered = np.empty((level.n_nodes, level.total), dtype=np.float64)
        for first, last in level.chunks():
            score_level(*level.counted(first, last), self._criterion.code, offered[first:last])
        joint_scores(offered, self._criterion.normalised)
        starts = np.arange(level.n_nodes, dtype=np.int64) * level.total
        return Rows(offered.ravel(), starts, starts + level.total)
