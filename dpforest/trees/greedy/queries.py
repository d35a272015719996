"""What records add to the sums of a greedy tree, and what is released of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.rows import Rows
from dpforest.trees.boosted.kernels.scores import score_splits
from dpforest.trees.boosted.parts import FACTOR_STEPS, Siblings
from dpforest.trees.boosted.queries import STEPS, LeafSums, LevelSums
from dpforest.trees.boosted.queries import Lattice as Lattice
from dpforest.trees.multinomial.cells import Boxes
from dpforest.trees.refitted.queries import Move

_ROWS = "memberships"


@dataclass(frozen=True, slots=True)
class Memberships:
    """Each record's class, as `STEPS` in one column; a target's two parts, `STEPS` in all.

    Attributes
    ----------
    n_columns : int
        Classes; 2 for a regression.
    """

    n_columns: int
    history: ClassVar[tuple[Move, ...]] = ()

    @property
    def lattice(self) -> Lattice:
        """Sizes of what a record may add: whole steps that are not negative, `STEPS` in all."""
        return Lattice(self.n_columns, STEPS, 0, 1)

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """What each record of a chunk adds, shape (n, 2 K), the last K nothing; secret, kept."""
        rows = chunk.kept.get(_ROWS)
        if rows is None:
            table = chunk.table
            rows = np.zeros((table.n_records, 2 * self.n_columns), dtype=np.int32)
            if table.targets is None:
                rows[np.arange(table.n_records), table.labels] = STEPS
            else:
                # Targets lie between 0 and the unit, so both parts are whole and not negative.
                rows[:, 1] = table.targets.astype(np.int64) * STEPS // table.unit
                rows[:, 0] = STEPS - rows[:, 1]
            chunk.kept[_ROWS] = rows
        found: NDArray[np.int32] = rows
        return found


@dataclass(frozen=True, slots=True, eq=False)
class NodeCounts:
    """Records of each class in all nodes of a level, or leaves, shape (n_nodes, K).

    Attributes
    ----------
    query : LevelSums or LeafSums
        The one that was asked.
    siblings : Siblings
        Of the tree.
    n_columns : int
    unit : int
        What a record counts for: 1, or `STEPS` in two parts for a target.
    """

    query: LevelSums | LeafSums
    siblings: Siblings
    n_columns: int
    unit: int

    @property
    def sensitivity(self) -> Sensitivity:
        """One record adds ``unit`` in all to the counts of the one node where it lies.

        **Relation**: add or remove one record. **Proof**: as `ClassCounts`; a node that was not
        counted has what its parent has more, so these are the counts of each node's records,
        exactly. A class's counts are whole multiples of `STEPS`, which are taken out. **Tests**:
        tests/trees/greedy/test_greedy_counts.py.
        """
        return Sensitivity(Fraction(self.unit), Fraction(self.unit) ** 2)

    def counts(self, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of all nodes; secret."""
        sums = self.siblings.totals(self.query, counted)[:, : self.n_columns]
        return np.ascontiguousarray(sums // (STEPS // self.unit))


def share_factors(shares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers that the scores of each node are multiplied by, so that all have one range.

    Parameters
    ----------
    shares : ndarray of int64, shape (n_nodes, K)
    """
    return FACTOR_STEPS * STEPS // np.maximum(STEPS - shares.min(axis=1), 1)


@dataclass(frozen=True, slots=True, eq=False)
class CountScore:
    """Score of all splits of every node: how far apart they send the classes.

    With C the released class shares of a node, x the class counts of a child less C times its
    records: half the L1 of x, of both children.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 2. **Proof**: the record lies in one node,
    and of every candidate in one child, whose x moves by e - C, e the record's own shares. Both
    add up to 1 and are not negative, so half the L1 of e - C is the sum over classes of what e
    has more than C, at most a = 1 - min C (e is a mixture of single classes k, for which that is
    1 - C_k, and the L1 is convex). So each score moves by something in [-a, a]. A node's scores
    are multiplied by the whole number `share_factors`, at most FACTOR_STEPS / a, and one step is
    worth 1 / FACTOR_STEPS as much. All in whole steps; e and C add up to STEPS exactly. **Tests**:
    tests/trees/greedy/test_greedy_counts.py.

    Attributes
    ----------
    query : LevelSums
        The one that was asked.
    shares : ndarray of int64, shape (n_nodes, K)
        Whole steps, not negative, `STEPS` in all.
    boxes : Boxes
    siblings : Siblings
        Of the tree.
    """

    query: LevelSums
    shares: NDArray[np.int64]
    boxes: Boxes
    siblings: Siblings
    unit: ClassVar[Fraction] = Fraction(1, STEPS * FACTOR_STEPS)
    score_range: ClassVar[Fraction] = Fraction(2)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """A row a node, a candidate a bin; secret."""
        boxes, sums = self.boxes, self.siblings.bins(self.query, counted)
        scores = np.empty(sums.shape[:2], dtype=np.float64)
        score_splits(
            sums, self.shares.shape[1], self.shares, share_factors(self.shares),
            boxes.offsets, boxes.ordered, boxes.low, boxes.high, boxes.alive, scores,
        )  # fmt: skip
        return Rows.of_table(scores)
