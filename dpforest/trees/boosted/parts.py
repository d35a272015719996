"""Parts of a level's sums that are released: those of its nodes, and splits by their scores.

Of two siblings one is counted; what the other one has is what their parent has more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import PlanError
from dpforest.records.base import Sensitivity
from dpforest.records.rows import Rows
from dpforest.trees.answering import AnsweringScore
from dpforest.trees.boosted.kernels.histograms import both_siblings
from dpforest.trees.boosted.kernels.scores import score_splits
from dpforest.trees.boosted.queries import Additions, LeafSums, LevelSums
from dpforest.trees.boosted.split_weights import Preference
from dpforest.trees.multinomial.cells import Boxes
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.scored.gradients import GRADIENT_STEPS

#: Scores are multiplied by a whole number a node, at most twice this.
FACTOR_STEPS = 2**8


class Siblings:
    """Sums over all nodes of a level of one tree, and over their bins.

    They are made of what was counted and of the level above, and kept for the level below. They are
    handed out for that very count alone, which only the bridge has.

    Parameters
    ----------
    gradients : Additions
        Of the tree.
    memory : LevelMemory
        For sums over bins; of this tree and those before it.
    """

    __slots__ = ("__bins", "__counted", "__gradients", "__memory", "__totals")

    def __init__(self, gradients: Additions, memory: LevelMemory) -> None:
        self.__gradients, self.__memory = gradients, memory
        self.__counted: NDArray[np.int64] | None = None
        nothing = np.empty((0, 0), dtype=np.int64)
        self.__totals, self.__bins = (-1, nothing), (-1, nothing)

    def totals(self, query: LevelSums | LeafSums, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums over all nodes of the level that was counted, shape (n_nodes, 2 C + 1); secret.

        Raises
        ------
        PlanError
            If the query is of another tree, or not of the level that is next.
        """
        level, above = self.__totals
        if level != query.level:
            self._check(query, level)
            own = query.parted(counted)[1] if isinstance(query, LevelSums) else counted
            if query.level:
                own = _of_both(above, own, query, np.empty((2 * own.shape[0], own.shape[1]), "i8"))
            self.__totals, self.__counted = (query.level, own), counted
        self._check_counted(counted)
        return self.__totals[1]

    def bins(self, query: LevelSums, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums over the bins of all nodes, shape (n_nodes, total bins, words); secret.

        Raises
        ------
        PlanError
            As `totals`.
        """
        self.totals(query, counted)
        level, above = self.__bins
        if level != query.level:
            self._check(query, level)
            own = query.parted(counted)[0]
            if query.level:
                shape = 2 * own.shape[0], *own.shape[1:]
                own = _of_both(above, own, query, self.__memory(shape))
            self.__bins = query.level, own
        return self.__bins[1]

    def _check_counted(self, counted: NDArray[np.int64]) -> None:
        """Refuse to hand out what is kept to somebody who has not what it was made of."""
        if counted is not self.__counted:
            raise PlanError("sums are handed out for the very count that they were made of")

    def _check(self, query: LevelSums | LeafSums, level: int) -> None:
        """Refuse what would be added to sums of other records, or of other residuals."""
        if query.gradients is not self.__gradients or query.level != level + 1:
            raise PlanError("sums are of one tree, and of one level after the other")


def _of_both(
    above: NDArray[np.int64],
    own: NDArray[np.int64],
    query: LevelSums | LeafSums,
    out: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Sums of both siblings into ``out``, from those of their parents and of one of the two."""
    flat = own.shape[0], -1
    both_siblings(
        above.reshape(flat), own.reshape(flat), query.counted, out.reshape(out.shape[0], -1)
    )
    return out


@dataclass(frozen=True, slots=True, eq=False)
class NodeSums:
    """Sums over all nodes of a level, or leaves: residuals, curvatures, records.

    Attributes
    ----------
    query : LevelSums or LeafSums
        The one that was asked.
    siblings : Siblings
        Of the tree.
    """

    query: LevelSums | LeafSums
    siblings: Siblings

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change by one record: its row (`GradientLattice.row`), in the node where it lies.

        **Relation**: add or remove one record. **Proof**: a node that was not counted has what its
        parent has more, so these are the sums over the records of each node, exactly. **Tests**:
        tests/trees/boosted/test_boosted_sums.py.
        """
        return self.query.gradients.lattice.row

    def counts(self, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums over all nodes; secret."""
        return self.siblings.totals(self.query, counted)


def node_factors(centres: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Whole numbers that the scores of each node are multiplied by, so that all have one range.

    Parameters
    ----------
    centres : ndarray of int64, shape (n_nodes, C)
    most : int
        `GradientLattice.most`.
    """
    sizes = np.abs(centres).sum(axis=1)
    if centres.shape[1] > 1:
        sizes //= 2
    return FACTOR_STEPS * 2 * most // (most + sizes)


@dataclass(frozen=True, slots=True, eq=False)
class SplitScore(AnsweringScore):
    """Score of all splits of every node: how far they send centred residuals apart.

    With C the released centre of a node, x the sum of r - C over a child's records: half the L1
    of x over classes, of both children. One column: ``|x|`` of both.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 4 c, c the largest residual. **Proof**: what
    is added to the scores follows from released values, and is the same with one record more. The
    record lies in one node, and of every candidate in one child, whose x moves by r - C. Half the
    L1 of that is at most a = c + half the L1 of C (one column: c + |C|), so each score moves by
    something in [-a, a]. All in whole steps: residuals are rounded toward zero, so that c holds,
    centres are whole and add up to nothing, as r does; so half the L1 is whole. A node's scores
    are multiplied by the whole number `node_factors`, at most FACTOR_STEPS 2 c / a, and one step is
    worth 1 / FACTOR_STEPS as much: a times that is at most 2 c. **Tests**:
    tests/trees/boosted/test_boosted_sums.py.

    Attributes
    ----------
    query : LevelSums
        The one that was asked.
    centres : ndarray of int64, shape (n_nodes, C)
    boxes : Boxes
    siblings : Siblings
        Of the tree.
    preference : Preference
        What is added to scores, from released values alone.
    """

    query: LevelSums
    centres: NDArray[np.int64]
    boxes: Boxes
    siblings: Siblings
    preference: Preference

    @property
    def unit(self) -> Fraction:
        """Worth of one step."""
        return Fraction(1, GRADIENT_STEPS * FACTOR_STEPS)

    @property
    def score_range(self) -> Fraction:
        """Largest minus smallest change by one record."""
        return self.query.gradients.lattice.score_range

    def keep(self, counted: NDArray[np.int64]) -> None:
        """Sums over nodes, of which those of the next level are made."""
        self.siblings.totals(self.query, counted)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """A row a node, a candidate a bin; secret."""
        boxes, lattice = self.boxes, self.query.gradients.lattice
        sums = self.siblings.bins(self.query, counted)
        scores = np.empty(sums.shape[:2], dtype=np.float64)
        score_splits(
            sums, lattice.n_columns, self.centres, node_factors(self.centres, lattice.most),
            boxes.offsets, boxes.ordered, boxes.low, boxes.high, boxes.alive, scores,
        )  # fmt: skip
        scores += self.preference.in_steps(self.unit, self.score_range)
        return Rows.of_table(scores)
