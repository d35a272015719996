"""Scores of records as released values have made them.

A record's scores follow from what was released and its own codes, so they need not be kept: a
chunk that has lost them makes them again, bit for bit, by the same additions in the same order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.random.kernels.slots import code_sizes
from dpforest.trees.scored.kernels.code_values import add_code_values

_SCORES, _LAYOUT = "scores", "layout"


class Move(Protocol):
    """One released step of all records."""

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add the step to the scores of a chunk, shape (n, C)."""


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

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add what the codes are worth."""
        add_code_values(chunk.table.codes, self.offsets, self.values, scores)


def layout_of(chunk: Chunk) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Codes (n, D), the same a feature a row, and a number above each feature's codes; secret.

    Made once: what every round reads should lie as it is read.
    """
    layout = chunk.kept.get(_LAYOUT)
    if layout is None:
        codes = np.ascontiguousarray(chunk.table.codes)
        layout = chunk.kept[_LAYOUT] = codes, np.ascontiguousarray(codes.T), code_sizes(codes)
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

    def scores(self, chunk: Chunk) -> NDArray[np.float64]:
        """Scores of a chunk's records, shape (n, C); secret, and kept for the next step."""
        n_done, scores = chunk.kept.get(_SCORES, (0, None))
        if scores is None or n_done > len(self.moves):
            n_done, scores = 0, np.tile(self.base, (chunk.table.n_records, 1))
        for number in range(n_done, len(self.moves)):
            self.moves[number].move(chunk, scores)
        chunk.kept[_SCORES] = len(self.moves), scores
        return scores


@dataclass(frozen=True, slots=True)
class ClippedResiduals:
    """Sizes of the residuals that one record may have, in whole steps.

    Attributes
    ----------
    n_columns : int
        C: 1 for two classes and for regression, else one a class.
    most : int
        Largest residual of one column; largest half of the L1 of several.
    square : int
        Largest sum of the squares of several columns; of one column nothing but ``most`` counts.
    """

    n_columns: int
    most: int
    square: int

    @property
    def residuals(self) -> Sensitivity:
        """Largest sizes of one record's residuals: `residual_sensitivity`."""
        return residual_sensitivity(self.n_columns, self.most, self.square)

    def norm(self, steps: int) -> float | None:
        """Largest L2 of several columns, in residuals of so many steps; None where none is cut."""
        is_cut = self.n_columns > 1 and self.square < 2 * self.most**2
        return float(self.square) ** 0.5 / steps if is_cut else None


def residual_sensitivity(n_columns: int, most: int, square: int) -> Sensitivity:
    """Largest sizes of one record's residuals, in steps and in steps squared.

    One column: ``|r| <= most``. More: residuals add up to nothing and half their L1 is at most
    ``most``, so the L1 is at most twice that; their squares add up to at most ``square``.
    """
    if n_columns == 1:
        return Sensitivity(Fraction(most), Fraction(most**2))
    return Sensitivity(Fraction(2 * most), Fraction(square), n_columns)


def square_of(most: int, norm: Fraction | None) -> int:
    """`ClippedResiduals.square` for residuals of several columns with an L2 of at most a norm.

    Without one it is ``2 most**2``: the others' sizes add up to at most ``most``, so their squares
    to at most ``most**2``, and the label's own is their sum.

    Parameters
    ----------
    most : int
        Largest half of the L1.
    norm : Fraction or None
        In units of that.
    """
    largest = 2 * most**2
    return largest if norm is None else max(1, min(largest, math.floor((norm * most) ** 2)))
