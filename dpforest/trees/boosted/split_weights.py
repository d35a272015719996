"""Weights of splits, learnt from released sums: where draws look first.

Of a thousand candidates that say nothing the best one has luck that few splits of worth surpass.
So a draw prefers splits like those that set records apart before. What they did is known from sums
that were released, so the preference is public, and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

#: Part of the weight that goes by what was learnt; the rest is there for all that was not.
_LEARNT = 0.5
#: Bins to either side that a cut speaks for, too.
_NEAR = np.arange(-2, 3)
#: Deviations of noise up to which more says more.
_MOST = 4.0
#: Scores of fewer than 2**31 records and what is added to them are exact in doubles together.
_FURTHEST = 2.0**50
#: Steps so small that nothing is left of a preference, or of a score.
_SMALLEST = 2.0**-60
#: Noise that hides nothing.
_LEAST_NOISE = 2.0**-500


def sibling_distances(
    sums: NDArray[np.int64], sizes: NDArray[np.float64], noise: float
) -> NDArray[np.float64]:
    """Distance of each two siblings, in deviations of the noise beyond one; from 0 to 4.

    Parameters
    ----------
    sums : ndarray of int64, shape (2 n, C)
        Released sums of the children of n nodes, in pairs.
    sizes : ndarray of float64, shape (2 n,)
        Released numbers of their records.
    noise : float
        Standard deviation of the noise on one sum.

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    sizes = np.maximum(sizes, 1.0)[:, None]
    left, right, here, there = sums[0::2], sums[1::2], sizes[0::2], sizes[1::2]
    between = (left * there - right * here) / (here + there)
    if sums.shape[1] > 1:
        between = between - between.mean(axis=1, keepdims=True)
    deviation = max(noise, _LEAST_NOISE) * np.hypot(here, there) / (here + there)
    squares = ((between / deviation) ** 2).sum(axis=1) / max(sums.shape[1] - 1, 1)
    return np.clip(np.sqrt(squares) - 1.0, 0.0, _MOST)


@dataclass(frozen=True, slots=True, eq=False)
class Preference:
    """Public weights w of candidates, for draws of one price.

    Scores are lowered so that the exponent of a draw changes by ln w: the exponential mechanism
    multiplies odds by w, and permute-and-flip, which prefers the best by more, by about as much.
    Below an epsilon of about 1e-8 exact numbers do not reach so far, and less is preferred.

    Attributes
    ----------
    weights : ndarray of float64, shape (total bins,)
    epsilon : float
        Exponents grow by as much where a score grows by its range.
    """

    weights: NDArray[np.float64]
    epsilon: float

    def in_steps(self, unit: Fraction, score_range: Fraction) -> NDArray[np.float64]:
        """Whole numbers of steps to be added to scores, shape (total bins,); none above 0.

        Parameters
        ----------
        unit, score_range : Fraction
            Of the scores: worth of one step, and largest less smallest change by one record.
        """
        step = max(self.epsilon * float(unit / score_range), _SMALLEST)
        found = np.log(self.weights / self.weights.max())
        return np.maximum(np.rint(found / step), -_FURTHEST) + 0.0


class SplitWeights:
    """Weights of all splits: a part the same for all, the rest by what was released.

    A quarter is spread evenly over the candidates and a quarter over features, half and half while
    nothing was learnt. What a split told counts half for its feature and half for the cuts near it,
    or its category.

    Parameters
    ----------
    starts : ndarray of int64, shape (D + 1,)
        Flat position of the first bin of each feature, and their number.
    ordered : ndarray of bool, shape (D,)
    """

    def __init__(self, starts: NDArray[np.int64], ordered: NDArray[np.bool_]) -> None:
        self._starts, self._sizes = starts[:-1], np.diff(starts)
        self._feature = np.repeat(np.arange(ordered.size), self._sizes)
        self._sums = np.zeros(self._feature.size)
        places = np.arange(self._sums.size)[:, None] + _NEAR
        self._places = np.clip(places, 0, self._sums.size - 1)
        own = self._feature[self._places] == self._feature[:, None]
        cuts = ordered[self._feature][:, None] | (_NEAR == 0)
        self._near = own & cuts & (places == self._places)

    def learn(self, cells: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
        """Add distances of siblings to the splits that made them.

        Parameters
        ----------
        cells : ndarray of int64, shape (n,)
            Flat places of splits that were drawn; -1 where there was no candidate.
        distances : ndarray of float64, shape (n,)
            From `sibling_distances`.
        """
        np.add.at(self._sums, cells[cells >= 0], distances[cells >= 0])

    def weights(self) -> NDArray[np.float64]:
        """Weights of all candidates, 1 in all."""
        sizes = self._sizes[self._feature]
        known = (1.0 / self._sums.size + 1.0 / (self._sizes.size * sizes)) / 2.0
        whole = self._sums.sum()
        if not whole:
            return known
        of_features = np.add.reduceat(self._sums, self._starts)[self._feature] / sizes
        parts = self._sums / self._near.sum(axis=1)
        of_near = np.where(self._near, parts[self._places], 0.0).sum(axis=1)
        return (1.0 - _LEARNT) * known + _LEARNT * (of_features + of_near) / (2.0 * whole)

    def preference(self, epsilon: float) -> Preference:
        """Preference of the next draw, whose price this is."""
        return Preference(self.weights(), epsilon)
