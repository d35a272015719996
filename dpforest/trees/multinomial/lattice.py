"""One level of a growing tree on a fine public lattice: intervals of equal score.

The candidates of an ordered feature in a node with box ``lo … hi`` are the cuts ``lo … hi - 1``
("left if code <= cut"), up to 2**32 - 1 of them, those with an empty child included. Each is an
output of the exponential mechanism with a score of its own. Categorical features offer each value
that the box leaves, as on public cells: one point each.

*Claim, relation, sensitivity.* As for public cells: the outputs follow from the box alone, which is
public; adding or removing one record moves the scores by what
:mod:`dpforest.trees.multinomial.criteria` proves, since those proofs hold for every fixed set of
candidates, whatever their number. A feature's score is the largest over all its points.

*Intervals are no part of the mechanism.* Between consecutive codes of a node's records all cuts
make the same children, so the same score bit for bit. Drawing an interval with weight (number of
points) * exp(c q) and then one of its points uniformly is drawing each point with its own
exp(c q): merging points of equal score changes nothing in the distribution. A normalised
criterion's minimum and maximum are the same over intervals as over points. Where the intervals lie,
and how many there are, is a function of the records: it stays in here and in the mechanism.

*A fine lattice favours ordered features in no way*: the feature is drawn first, by its best point.

Held by ``tests/trees/multinomial/test_lattice_level.py``, against a twin that scores every point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import compile_for
from dpforest.records.rows import Rows
from dpforest.records.table import LatticeColumns, Table
from dpforest.trees.multinomial.cells import Boxes, LevelCells
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.kernels.lattice import (
    best_interval_scores,
    keep_words,
    offer_intervals,
    offer_values,
    split_words,
)
from dpforest.trees.multinomial.kernels.scoring import joint_scores
from dpforest.trees.multinomial.memory import NewCounts, new_counts
from dpforest.trees.multinomial.segments import Segments, Splits


@dataclass(frozen=True, slots=True, repr=False)
class LevelLattice:
    """Public boxes and, once counted, sorted records of the nodes of one level.

    Attributes
    ----------
    table : Table
        With ``lattice``.
    boxes : Boxes
        Of the ordered features alone.
    values : LevelCells or None
        The same level with the categorical features alone.
    segments : Segments or None
        Records of each node; None before counting.
    words : ndarray of uint64, shape (n_ordered, m), or None
        Records of each node in the order of each ordered feature; before counting, those of the
        parents.
    """

    table: Table
    boxes: Boxes
    values: LevelCells | None
    segments: Segments | None = None
    words: NDArray[np.uint64] | None = None

    @classmethod
    def of_root(cls, table: Table) -> LevelLattice:
        """The root: the whole domain, nothing counted."""
        columns = columns_of(table)
        # No cells: ordered features have none here.
        offsets = np.zeros(columns.ordered.size + 1, dtype=np.int64)
        ordered = np.ones(columns.ordered.size, dtype=np.bool_)
        boxes = Boxes.of_root(table.n_codes[columns.ordered], offsets, ordered, np.int64)
        values = None if columns.values is None else LevelCells.of_root(columns.values)
        return cls(table, boxes, values)

    @property
    def n_nodes(self) -> int:
        """Nodes of this level."""
        return self.boxes.n_nodes

    def n_candidates(self) -> NDArray[np.int64]:
        """Number of candidates that each box leaves of each feature, shape (n_nodes, D); public."""
        return self._beside(
            self.boxes.n_candidates(),
            None if self.values is None else self.values.n_candidates(),
        )

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places of the boxes; -1 without feature; public."""
        cuts, values = self._by_kind(features)
        codes = self.boxes.nth_candidates(cuts, places)
        if self.values is None:
            return codes
        # Each side gives -1 where the other has the code.
        return np.maximum(codes, self.values.nth_candidates(values, places))

    def count(self, segments: Segments, room: NewCounts = new_counts) -> LevelLattice:
        """Records of every node in the order of each feature, and counts of categorical values."""
        values = None if self.values is None else self.values.count(segments, room)
        words = self._root_words(segments) if self.words is None else self._split_words(segments)
        return replace(self, values=values, segments=segments, words=words)

    def children(self, splits: Splits) -> LevelLattice:
        """The next level, not yet counted."""
        cuts, values = (
            replace(splits, feature=local.astype(np.int32))
            for local in self._by_kind(splits.feature)
        )
        next_values = None if self.values is None else self.values.children(values)
        return LevelLattice(self.table, self.boxes.children(cuts), next_values, words=self.words)

    def scored(self, criterion: Criterion) -> ScoredLattice:
        """Scores of the level, made when asked for."""
        return ScoredLattice(self, criterion)

    def _root_words(self, segments: Segments) -> NDArray[np.uint64]:
        words = columns_of(self.table).words
        kept = np.zeros(words.shape[1], dtype=np.uint8)
        compile_for(keep_words, words, kept, words)  # whether or not sides leave a record out
        if segments.order.size == words.shape[1]:
            return words
        kept[segments.order] = 1
        out = np.empty((words.shape[0], segments.order.size), dtype=np.uint64)
        keep_words(words, kept, out)
        return out

    def _split_words(self, segments: Segments) -> NDArray[np.uint64]:
        assert self.words is not None
        out = np.empty_like(self.words)
        split_words(self.words, segments.order, segments.starts, self.table.n_records, out)
        return out

    def _by_kind(self, features: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of features among the ordered and among the categorical ones; -1 elsewhere."""
        columns = columns_of(self.table)
        return columns.among(columns.ordered, features), columns.among(
            columns.categorical, features
        )

    def _beside(self, cuts: NDArray, values: NDArray | None) -> NDArray:
        """Columns of ordered and of categorical features, in the table's order."""
        columns = columns_of(self.table)
        out = np.empty((self.n_nodes, self.table.n_codes.size), dtype=cuts.dtype)
        out[:, columns.ordered] = cuts
        if values is not None:
            out[:, columns.categorical] = values
        return out


class ScoredLattice:
    """Scores of a counted level under one criterion; secret.

    Parameters
    ----------
    level : LevelLattice
    criterion : Criterion
    """

    def __init__(self, level: LevelLattice, criterion: Criterion) -> None:
        self._level = level
        self._criterion = criterion
        self._values = None if level.values is None else level.values.scored(criterion)

    def best(self) -> NDArray[np.float64]:
        """Score of each feature in each node, the largest over its points, shape (n_nodes, D)."""
        level, criterion = self._level, self._criterion
        cuts = np.empty(level.boxes.low.shape, dtype=np.float64)
        if level.boxes.ordered.size:
            best_interval_scores(*self._sorted_records(), criterion.code, cuts)
        values = None if self._values is None else self._values.best_unnormalised()
        best = level._beside(cuts, values)
        # One selection over the row: its features are normalised like any joint candidates.
        joint_scores(best, criterion.normalised)
        return best

    def offer(self, features: NDArray[np.int64]) -> Rows:
        """Intervals, or values, of the feature that each node drew; none where that is -1."""
        level, criterion = self._level, self._criterion
        assert level.segments is not None
        cuts, value_features = level._by_kind(features)
        values = None if self._values is None else self._values.offer(value_features)
        sizes = np.where(cuts >= 0, np.diff(level.segments.starts) + 1, 0)
        if values is not None:
            sizes += values.ends - values.starts
        starts = np.cumsum(sizes) - sizes
        offer = _Unfilled.of(starts, int(sizes.sum()))
        if level.boxes.ordered.size:
            offer_intervals(
                *self._sorted_records(), cuts, criterion.code, criterion.normalised, *offer
            )
        if values is not None:
            offer_values(values.scores, values.starts, values.ends, *offer)
        return Rows(offer.scores, starts, offer.ends, offer.firsts, offer.lengths)

    def _sorted_records(self) -> tuple[NDArray, NDArray, NDArray, int, NDArray, NDArray]:
        """First arguments of kernels."""
        level = self._level
        assert level.segments is not None and level.words is not None
        table, boxes = level.table, level.boxes
        return (
            level.words, level.segments.starts, table.labels, table.n_classes, boxes.low, boxes.high
        )  # fmt: skip


class _Unfilled(NamedTuple):
    """Rows that are to be filled; in the order in which kernels take them."""

    starts: NDArray[np.int64]
    scores: NDArray[np.float64]
    firsts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, starts: NDArray[np.int64], size: int) -> _Unfilled:
        """Empty rows."""
        return cls(
            starts,
            np.empty(size, dtype=np.float64),
            np.empty(size, dtype=np.int64),
            np.empty(size, dtype=np.int64),
            starts.copy(),
        )


def columns_of(table: Table) -> LatticeColumns:
    """The lattice columns of a table that has them."""
    if table.lattice is None:
        raise AssertionError("a table on public cells has no lattice")
    return table.lattice
