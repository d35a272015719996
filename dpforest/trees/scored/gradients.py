"""Residuals and curvatures of records in whole steps, and what one record may add to their sums.

They follow from what was released before and a record's own codes and label, so one record
changes no other's. They are rounded toward zero to a public lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.scored.kernels.gradients import class_gradients, odds_gradients
from dpforest.trees.scored.queries import ClippedResiduals, Move, ScoreHistory, square_of

#: Steps of a residual of 1.
GRADIENT_STEPS = 2**12

_ROWS = "gradients"


@dataclass(frozen=True, slots=True)
class GradientLattice(ClippedResiduals):
    """Sizes of what a record may add, in whole steps: residuals, curvatures and its own mass.

    Attributes
    ----------
    curvature : int
        A curvature of 1.
    mass : int
        A record.
    weighted : bool
        Whether records of two classes are weighted by 1 / max(p, 1 - p), and not clipped.
    """

    curvature: int
    mass: int
    weighted: bool = False

    @classmethod
    def of(
        cls,
        n_columns: int,
        clip: Fraction,
        curvature: Fraction,
        mass: Fraction,
        weighted: bool = False,
        norm: Fraction | None = None,
    ) -> GradientLattice:
        """Round down what is given in residuals of 1; a norm is given in clips."""
        sizes = clip, curvature, mass
        most, curved, counted = (max(1, math.floor(size * GRADIENT_STEPS)) for size in sizes)
        square = square_of(most, norm)
        return cls(n_columns, most, square, curved, counted, weighted)

    @property
    def row(self) -> Sensitivity:
        """Largest sizes of one record's residuals, curvatures and own mass together.

        **Residuals**: `residual_sensitivity`; a weighted one is (y - p) / max(p, 1 - p) for y 0
        or 1, so at most 1 in size. **Curvatures** of one column: p (1 - p) <= 1/4, times
        ``curvature``; weighted ones are min(p, 1 - p) <= 1/2. Of more: the sum over k of
        (p_k (1 - p_k))^2 is at most 4/27, where three shares are 1/3; that of p_k (1 - p_k) is
        below 1. They are rounded toward zero; 1 more makes up for the doubles that they are made
        in, whose relative error is below 2^-40.
        """
        one, residuals = self.n_columns == 1, self.residuals
        largest = Fraction(self.curvature, 2 if self.weighted else 4)
        squares = largest**2 if one else Fraction(4 * self.curvature**2, 27)
        curvatures = largest if one else Fraction(self.curvature)
        l1 = residuals.l1 + math.ceil(curvatures) + 1 + self.mass
        l2 = residuals.l2_squared + math.ceil(squares) + 1 + self.mass**2
        return Sensitivity(l1, l2, residuals.zero_sum)

    @property
    def score_range(self) -> Fraction:
        """Range of ``parts.SplitScore``, in residuals of 1: four times the largest residual."""
        return Fraction(4 * self.most, GRADIENT_STEPS)


@dataclass(frozen=True, slots=True, eq=False)
class Gradients:
    """Residuals and curvatures of records, from released scores.

    Attributes
    ----------
    scored : ScoreHistory
    lattice : GradientLattice
    """

    scored: ScoreHistory
    lattice: GradientLattice

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that the scores are made of."""
        return self.scored.moves

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """Residuals, then curvatures, of a chunk's records, shape (n, 2 C); secret, and kept."""
        known, rows = chunk.kept.get(_ROWS, (None, None))
        lattice, now = self.lattice, (len(self.scored.moves), self.lattice)
        if known == now:
            found: NDArray[np.int32] = rows
            return found
        scores, table = self.scored.scores(chunk), chunk.table
        if rows is None:
            rows = np.empty((scores.shape[0], 2 * scores.shape[1]), dtype=np.int32)
        if lattice.n_columns > 1:
            sizes = GRADIENT_STEPS, lattice.most, lattice.square, lattice.curvature
            class_gradients(scores, table.labels, *sizes, rows)
        else:
            y = table.labels if table.targets is None else table.targets
            one = GRADIENT_STEPS, lattice.most, lattice.curvature
            odds_gradients(scores, y, table.unit, *one, lattice.weighted, rows)
        chunk.kept[_ROWS] = now, rows
        return rows
