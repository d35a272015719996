"""Questions of selected rules: the records of each leaf, to draw trees by, and counts of leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.streamed import Envelope
from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.table import Table
from dpforest.trees.rules.directions import Directions
from dpforest.trees.rules.family import BinnedRecords, FamilyWeights, TreeFamily
from dpforest.trees.rules.model import RuleModel

#: What a record moves in class counts of the leaves of one tree.
LEAF_COUNTS_SENSITIVITY = Sensitivity(Fraction(1), Fraction(1))


@dataclass(frozen=True, slots=True, eq=False)
class LeafCells:
    """A look at the records of each leaf of a released tree, as bins of public directions.

    Attributes
    ----------
    tree : RuleModel
        Its cuts alone are looked at.
    directions : Directions
    """

    tree: RuleModel
    directions: Directions

    def look(self, table: Table) -> LeafRecords:
        """The records by leaf, to be read when a family is made of them; secret."""
        return LeafRecords(self, table)


class LeafRecords:
    """Records of each leaf of a tree, read when somebody asks for them; secret."""

    def __init__(self, cells: LeafCells, table: Table) -> None:
        self._cells, self._table = cells, table
        self._all: BinnedRecords | None = None
        self._leaves: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def of(self, leaf: int) -> BinnedRecords:
        """Records of a leaf."""
        return self._read().where(self._leaves == leaf)

    def _read(self) -> BinnedRecords:
        """All records as bins, and the leaf that each lies in; made once."""
        if self._all is None:
            cells, codes = self._cells, self._table.codes
            self._leaves = cells.tree.leaves(codes)
            bins, labels = cells.directions.bins(codes), self._table.labels.astype(np.int64)
            self._all = BinnedRecords(bins, labels, np.ones(cells.tree.n_classes, dtype=np.int64))
        return self._all


@dataclass(frozen=True, slots=True, eq=False)
class TreesOfHeightTwo:
    """All trees of height at most two, in each leaf, by how many of its records they have right.

    Attributes
    ----------
    weights : FamilyWeights
    leaves : tuple of int
        In which a tree is drawn; public.
    class_weights : tuple of tuple of int, one a leaf, of length K
        Steps that a record of each class is worth in a leaf, at least 1; public or released.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 1, which is as many steps of a leaf's scores
    as its heaviest class weighs.
    **Proof**: the record lies in one leaf, and a tree there has it right or not, so every score of
    that leaf moves by 0 or by the weight of the record's class there, and no score of another
    leaf moves. Cuts, bins, weights and leaves follow from public facts and released values.
    **Tests**: tests/trees/rules/test_family.py, tests/trees/rules/test_queries.py.
    """

    weights: FamilyWeights
    leaves: tuple[int, ...]
    class_weights: tuple[tuple[int, ...], ...]
    score_range: ClassVar[Fraction] = Fraction(1)

    @property
    def unit(self) -> tuple[Fraction, ...]:
        """Value of one step of the scores of each leaf: the heaviest record is worth 1."""
        return tuple(Fraction(1, max(weights)) for weights in self.class_weights)

    def makers(self, counted: LeafRecords) -> list[Callable[[Envelope], TreeFamily]]:
        """A family a leaf, each of which reads its records when it is made; secret."""
        return [
            TreeFamily.of(partial(_weighed, counted, leaf, weights), self.weights)
            for leaf, weights in zip(self.leaves, self.class_weights, strict=True)
        ]


def _weighed(counted: LeafRecords, leaf: int, class_weights: tuple[int, ...]) -> BinnedRecords:
    """Records of a leaf, each as often as its class weighs there."""
    return counted.of(leaf).weighed(class_weights)


@dataclass(frozen=True, slots=True, eq=False)
class RuleLeafCounts:
    """Class counts of the leaves of a released tree, shape (n_leaves, n_classes).

    Attributes
    ----------
    tree : RuleModel
        Its cuts alone are looked at.
    """

    tree: RuleModel

    @property
    def sensitivity(self) -> Sensitivity:
        """1 in L1 and in L2.

        **Relation**: add or remove one record. **Proof**: it lies in one leaf, by released cuts
        and its own codes, and adds 1 to one count there. **Tests**:
        tests/trees/rules/test_queries.py.
        """
        return LEAF_COUNTS_SENSITIVITY

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Class counts of a chunk."""
        counts = np.zeros((self.tree.labels.size, self.tree.n_classes), dtype=np.int64)
        np.add.at(counts, (self.tree.leaves(chunk.table.codes), chunk.table.labels), 1)
        return counts
