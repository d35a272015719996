"""What released values have made of every record's scores, and sums over what is left to explain.

A record's scores follow from what was released and its own codes, so they need not be kept: a
block that has lost them makes them again, bit for bit, by the same additions in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Block
from dpforest.trees.random.kernels.slots import code_sizes, slot_tables
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.refitted.kernels.linear import add_code_values, gradient_sums, gram_sums
from dpforest.trees.refitted.kernels.residuals import lattice_residuals, target_residuals
from dpforest.trees.refitted.kernels.rounds import (
    add_steps,
    chosen_leaves,
    leaf_sums,
)
from dpforest.trees.refitted.lattice import STEPS

_SCORES, _RESIDUALS, _LAYOUT = "scores", "residuals", "layout"


class Move(Protocol):
    """One released step of all records."""

    def move(self, block: Block, scores: NDArray[np.float64]) -> None:
        """Add the step to the scores of a block, shape (n, C)."""


@dataclass(frozen=True, slots=True, eq=False)
class CodeMove:
    """Every code adds something.

    Attributes
    ----------
    offsets : ndarray of int64, shape (D + 1,)
    values : ndarray of float64, shape (total codes, C)
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.float64]

    def move(self, block: Block, scores: NDArray[np.float64]) -> None:
        """Add what the codes are worth."""
        add_code_values(block.table.codes, self.offsets, self.values, scores)


@dataclass(frozen=True, slots=True, eq=False)
class TreeMove:
    """Every leaf of a tree adds something.

    Attributes
    ----------
    tree : RandomTrees
        One.
    steps : ndarray of float64, shape (n_leaves, C)
    """

    tree: RandomTrees
    steps: NDArray[np.float64]

    def move(self, block: Block, scores: NDArray[np.float64]) -> None:
        """Add the leaves' steps."""
        leaves = np.empty(block.table.n_records, dtype=np.int32)
        tree = self.tree
        codes, columns, sizes = layout_of(block)
        shape = tree.feature, tree.mask, tree.depth
        chosen_leaves(codes, columns, *shape, slot_tables(*shape, sizes, leaves.size), leaves)
        add_steps(leaves, self.steps, scores)


def layout_of(block: Block) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Codes (n, D), the same a feature a row, and a number above each feature's codes; secret.

    Made once: what every round reads should lie as it is read.
    """
    layout = block.kept.get(_LAYOUT)
    if layout is None:
        codes = np.ascontiguousarray(block.table.codes)
        layout = block.kept[_LAYOUT] = codes, np.ascontiguousarray(codes.T), code_sizes(codes)
    found: tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]] = layout
    return found


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistory:
    """Released values from which every record's scores follow.

    Attributes
    ----------
    base : ndarray of float64, shape (C,)
    moves : tuple of Move
    """

    base: NDArray[np.float64]
    moves: tuple[Move, ...] = ()

    def then(self, move: Move) -> ScoreHistory:
        """The history with one more step."""
        return replace(self, moves=(*self.moves, move))

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of a block's records, shape (n, C); secret, and kept for the next step."""
        n_done, scores = block.kept.get(_SCORES, (0, None))
        if scores is None or n_done > len(self.moves):
            n_done, scores = 0, np.tile(self.base, (block.table.n_records, 1))
        for number in range(n_done, len(self.moves)):
            self.moves[number].move(block, scores)
        block.kept[_SCORES] = len(self.moves), scores
        return scores

    def residuals(self, block: Block) -> NDArray[np.int32]:
        """What the scores leave unexplained, on the lattice, shape (n, C); secret."""
        n_done, residuals = block.kept.get(_RESIDUALS, (-1, None))
        if n_done == len(self.moves):
            found: NDArray[np.int32] = residuals
            return found
        scores = self.scores(block)
        if residuals is None:
            residuals = np.empty(scores.shape, dtype=np.int32)
        table = block.table
        if table.targets is None:
            lattice_residuals(scores, table.labels, STEPS, residuals)
        else:
            target_residuals(scores, table.targets, table.unit, STEPS, residuals)
        block.kept[_RESIDUALS] = len(self.moves), residuals
        return residuals


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """Residuals and, last, records summed over leaves of trees, shape (m, n_leaves, C + 1).

    The records are counted for all candidates, though only the picked one's are released: that
    takes next to nothing, and a second pass for them would take a round twice.
    """

    history: ScoreHistory
    trees: RandomTrees

    @property
    def parts(self) -> tuple[Move, ...]:
        """What it shares with countings before it."""
        return self.history.moves

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        residuals, trees = self.history.residuals(block), self.trees
        sums = np.empty((trees.n_trees, trees.n_leaves, residuals.shape[1] + 1), dtype=np.int64)
        codes, columns, sizes = layout_of(block)
        shape = trees.feature, trees.mask, trees.depth
        tables = slot_tables(*shape, sizes, residuals.shape[0])
        leaf_sums(codes, columns, residuals, *shape, tables, sums)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class DesignedColumns:
    """What every code is in the columns of a linear model; see ``design``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (D + 1,)
    column, values : ndarray of int64, shape (total codes,)
    n_columns, constant : int
    """

    offsets: NDArray[np.int64]
    column: NDArray[np.int64]
    values: NDArray[np.int64]
    n_columns: int
    constant: int


@dataclass(frozen=True, slots=True, eq=False)
class GramSums:
    """Sum of x x' over records, the upper triangle with the diagonal, shape (p, p)."""

    columns: DesignedColumns

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        sums = np.empty((self.columns.n_columns, self.columns.n_columns), dtype=np.int64)
        c = self.columns
        gram_sums(block.table.codes, c.offsets, c.column, c.values, c.constant, sums)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class GradientSums:
    """Sum of x r' over records, shape (p, C)."""

    history: ScoreHistory
    columns: DesignedColumns

    @property
    def parts(self) -> tuple[Move, ...]:
        """What it shares with countings before it."""
        return self.history.moves

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        residuals = self.history.residuals(block)
        sums = np.empty((self.columns.n_columns, residuals.shape[1]), dtype=np.int64)
        c, codes = self.columns, block.table.codes
        gradient_sums(codes, c.offsets, c.column, c.values, c.constant, residuals, sums)
        return sums
