"""Class counts of a tree's nodes: what records add to them, and what is released of them.

In pure epsilon a first tree is grown on counts, where there are more than two classes: a record
adds one count to a node, and much more to the sums of residuals and curvatures.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.rows import Rows
from dpforest.trees.answering import AnsweringScore
from dpforest.trees.boosted.kernels.scores import score_splits
from dpforest.trees.boosted.parts import FACTOR_STEPS, Siblings
from dpforest.trees.boosted.queries import LeafSums, LevelSums
from dpforest.trees.boosted.split_weights import Preference
from dpforest.trees.multinomial.cells import Boxes
from dpforest.trees.scored.gradients import GRADIENT_STEPS, GradientLattice
from dpforest.trees.scored.queries import Move

#: One record in one count.
ONE_COUNT = Sensitivity(Fraction(1), Fraction(1))
_ROWS = "memberships"


@dataclass(frozen=True, slots=True)
class MembershipLattice(GradientLattice):
    """Sizes of one class of each record, which do not add up to nothing as residuals do."""

    @property
    def residuals(self) -> Sensitivity:
        """One column of several has ``most``, the others nothing."""
        return Sensitivity(Fraction(self.most), Fraction(self.most**2))


@dataclass(frozen=True, slots=True)
class Memberships:
    """Class of each record, as `GRADIENT_STEPS` in one of the columns.

    Attributes
    ----------
    n_classes : int
    """

    n_classes: int
    history: ClassVar[tuple[Move, ...]] = ()

    @property
    def lattice(self) -> GradientLattice:
        """Sizes of what a record may add: `GRADIENT_STEPS` in one column, nothing in the others."""
        one = GRADIENT_STEPS
        return MembershipLattice(self.n_classes, one, one**2, curvature=0, mass=1)

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """Addition of each record of a chunk, shape (n, 2 K), the last K nothing; secret, kept."""
        rows = chunk.kept.get(_ROWS)
        if rows is None:
            table = chunk.table
            rows = np.zeros((table.n_records, 2 * self.n_classes), dtype=np.int32)
            rows[np.arange(table.n_records), table.labels] = GRADIENT_STEPS
            chunk.kept[_ROWS] = rows
        found: NDArray[np.int32] = rows
        return found


@dataclass(frozen=True, slots=True, eq=False)
class NodeCounts:
    """Records of each class in all nodes of a level, or leaves, shape (n_nodes, K).

    Attributes
    ----------
    query : LevelSums or LeafSums
        The one that was asked, of `Memberships`.
    siblings : Siblings
        Of the tree.
    """

    query: LevelSums | LeafSums
    siblings: Siblings

    @property
    def sensitivity(self) -> Sensitivity:
        """One record adds 1 to one count of the one node where it lies.

        **Relation**: add or remove one record. **Proof**: a node that was not counted has what its
        parent has more, so these are the counts of each node's records, exactly; `GRADIENT_STEPS` a
        record, which are taken out. **Tests**: tests/trees/boosted/test_boosted_counts.py.
        """
        return ONE_COUNT

    def counts(self, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of all nodes; secret."""
        n_classes = self.query.gradients.lattice.n_columns
        sums = self.siblings.totals(self.query, counted)[:, :n_classes]
        return np.ascontiguousarray(sums // GRADIENT_STEPS)


def share_factors(shares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers that the scores of each node are multiplied by, so that all have one range.

    Parameters
    ----------
    shares : ndarray of int64, shape (n_nodes, K)
    """
    return FACTOR_STEPS * GRADIENT_STEPS // np.maximum(GRADIENT_STEPS - shares.min(axis=1), 1)


@dataclass(frozen=True, slots=True, eq=False)
class CountScore(AnsweringScore):
    """Score of all splits of every node: how far apart they send the classes.

    With C the released class shares of a node, x the class counts of a child less C times its
    records: half the L1 of x, of both children.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 2. **Proof**: what is added to the scores
    follows from released values. The record lies in one node, and of every candidate in one child,
    whose x moves by e - C, e a 1 in its class y. C is not negative and adds up to 1, so half the L1
    of that is 1 - C_y, at most a = 1 - min C; each score moves by something in [-a, a]. A node's
    scores are multiplied by the whole number `share_factors`, at most FACTOR_STEPS / a, and one
    step is worth 1 / FACTOR_STEPS as much. All in whole steps: e and C add up to
    GRADIENT_STEPS, so x adds up to nothing, and half its L1 is whole. **Tests**:
    tests/trees/boosted/test_boosted_counts.py.

    Attributes
    ----------
    query : LevelSums
        The one that was asked, of `Memberships`.
    shares : ndarray of int64, shape (n_nodes, K)
        Whole steps, not negative, `GRADIENT_STEPS` in all.
    boxes : Boxes
    siblings : Siblings
        Of the tree.
    preference : Preference
        As in `SplitScore`.
    """

    query: LevelSums
    shares: NDArray[np.int64]
    boxes: Boxes
    siblings: Siblings
    preference: Preference
    unit: ClassVar[Fraction] = Fraction(1, GRADIENT_STEPS * FACTOR_STEPS)
    score_range: ClassVar[Fraction] = Fraction(2)

    def keep(self, counted: NDArray[np.int64]) -> None:
        """Sums over nodes, of which those of the next level are made."""
        self.siblings.totals(self.query, counted)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """A row a node, a candidate a bin; secret."""
        boxes, sums = self.boxes, self.siblings.bins(self.query, counted)
        scores = np.empty(sums.shape[:2], dtype=np.float64)
        score_splits(
            sums, self.shares.shape[1], self.shares, share_factors(self.shares),
            boxes.offsets, boxes.ordered, boxes.low, boxes.high, boxes.alive, scores,
        )  # fmt: skip
        scores += self.preference.in_steps(self.unit, self.score_range)
        return Rows.of_table(scores)
