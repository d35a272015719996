"""Clipped losses of records by a score, whose noisy minimum is released: slopes within a clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of p (1 - p), and so of a loss in its score.
LARGEST_CURVATURE = Fraction(1, 4)
#: Records whose rows are held together.
_BLOCK = 1024


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClippedLosses:
    """Losses of all records by their score; secret.

    A record's score is ``start`` plus what its columns are worth, and its loss has the slope
    c k((p - t) / c) in it, where p = 1 / (1 + exp(-score)), t is the target, c the clip, and
    k(u) = u - (4 / 27) u^3 up to 1.5, which is 1 from there on.

    Attributes
    ----------
    codes : ndarray of unsigned int, shape (n, D)
    targets : ndarray of float64, shape (n,)
        From 0 to 1.
    offsets : ndarray of int64, shape (D,)
        Flat position of code 0 of each feature.
    columns : ndarray of int64, shape (total codes, 2)
        In which columns a code lies; in the block of its feature. The constant's is the last.
    values : ndarray of float64, shape (total codes, 2)
        What it is there; sizes of a code add up to at most 1.
    start : float
        Released.
    clip : float
        A power of two.

    Notes
    -----
    **Slopes** lie within the clip, since k rises from -1 to 1: its derivative is
    1 - (4 / 9) u^2 >= 0, which is continuous. They grow by at most p (1 - p) <= 1 / 4 with the
    score, and never fall.
    """

    codes: NDArray[Any]
    targets: NDArray[np.float64]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    start: float
    clip: float

    def has_blocks(self, widths: Sequence[int]) -> bool:
        """True if columns and values, which are public, are as a record's sensitivity has them.

        Codes of each feature lie in its block, and their sizes add up to at most 1, exactly: of two
        sizes the larger is taken from 1, which loses nothing from a half on.
        """
        n_codes = np.diff([*self.offsets.tolist(), len(self.columns)])
        shapes = {self.columns.shape, self.values.shape, (int(n_codes.sum()), 2)}
        n_features = len(widths) - 1
        if not (len(shapes) == 1 and self.codes.shape == (self.targets.size, n_features)):
            return False
        if self.offsets.size != n_features or (n_codes < 0).any():
            return False
        ends = np.cumsum((0, *widths))
        first, end = np.repeat(ends[:-2], n_codes), np.repeat(ends[1:-1], n_codes)
        inside = (first[:, None] <= self.columns) & (self.columns < end[:, None])
        small, large = np.sort(np.abs(self.values), axis=1).T
        return bool(inside.all() and (small <= 1.0 - large).all())

    @property
    def _design(self) -> tuple[NDArray[Any], NDArray[np.int64], Any, Any]:
        return self.codes, self.offsets, self.columns, self.values

    def scores(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Worth of all columns together, without the start, shape (n,)."""
        from dpforest.mechanisms.kernels.objective import add_scores

        scores = np.zeros(self.targets.size)
        add_scores(*self._design, weights, scores)
        return scores

    def slopes(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Slopes and curvatures at scores without the start, shape (n,) each."""
        from dpforest.mechanisms.kernels.objective import slopes_and_curvatures

        slopes, curvatures = np.empty_like(scores), np.empty_like(scores)
        slopes_and_curvatures(scores + self.start, self.targets, self.clip, slopes, curvatures)
        return slopes, curvatures

    def rough_gradient(self, scores: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
        """Sum of slopes in all columns at scores without the start, in doubles, shape (d,)."""
        from dpforest.mechanisms.kernels.objective import add_slopes

        sums = np.zeros(n_columns)
        add_slopes(*self._design, self.slopes(scores)[0], sums)
        return sums

    def gram(self, curvatures: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
        """Sum of curvature times x x', shape (d, d); in doubles.

        Rows are multiplied a block at a time, which is quicker than adding up the few columns that
        each record has; records at their clip have no curvature and are left out.
        """
        from dpforest.mechanisms.kernels.objective import fill_rows

        used, gram = np.flatnonzero(curvatures), np.zeros((n_columns, n_columns))
        rows = np.empty((min(_BLOCK, used.size), n_columns))
        # A block at least, of nobody: what is called is compiled and kept, whatever records are.
        for first in range(0, max(used.size, 1), _BLOCK):
            block = used[first : first + _BLOCK]
            there = rows[: block.size]
            fill_rows(self.codes[block], *self._design[1:], np.sqrt(curvatures[block]), there)
            gram += there.T @ there
        return gram

    def add_gradient(
        self,
        weights: NDArray[np.float64],
        hi: NDArray[np.float64],
        lo: NDArray[np.float64],
        rests: NDArray[np.float64] | None = None,
    ) -> None:
        """Add slopes in all columns to sums of two doubles.

        Parameters
        ----------
        weights : ndarray of float64, shape (d,)
        hi, lo : ndarray of float64, shape (d,)
        rests : ndarray of float64, shape (d,), optional
            Second doubles of the weights.
        """
        from dpforest.mechanisms.kernels.objective import add_gradient

        rests = np.zeros_like(weights) if rests is None else rests
        add_gradient(*self._design, self.targets, self.start, self.clip, weights, rests, hi, lo)

    def gradient_error(self, weights: NDArray[np.float64]) -> float:
        """Most that the length of `add_gradient`, added to zeros, is off.

        Notes
        -----
        **Claim**: whatever the order of records. **Proof**: a sum or product of numbers of two
        doubles errs by at most 2^-103 of what comes out (``kernels.double_double``). Let W be the
        largest of all weights, the start and 1. Products of a score are D W together, as sizes of
        a block add up to at most 1, and each of its 2 D + 1 sums is at most (D + 2) W; so a score
        is off by at most ((2 D + 1) (D + 2) + D) W 2^-103, which is less than (2 D + 2)^2 W 2^-100.
        A slope grows by at most a quarter of that, and p is off by at most 2^-80; dividing by
        the clip and multiplying with it loses nothing, and the slope is k of it, which grows by at
        most 1: with its own roundings, and those of its product with a value, less than 2^-78. A
        column has at most 2 n sums, each of at most n: 2 n^2 2^-103. What underflows is below
        2^-1000 each time. All d columns are off by at most sqrt(d) times as much as one.
        **Tests**: tests/mechanisms/test_objective.py (against decimals of 80 digits).
        """
        n, n_terms = float(self.targets.size), 2.0 * self.codes.shape[1] + 2.0
        largest = float(np.abs(weights).max(initial=max(1.0, abs(self.start))))
        of_record = 2.0**-78 + n_terms**2 * largest * 2.0**-100
        return weights.size**0.5 * (n * of_record + n**2 * 2.0**-100)
