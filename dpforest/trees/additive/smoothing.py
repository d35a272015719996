"""From noisy sums over a feature's bins to its curve: post-processing, which costs nothing.

A curve is a Gaussian process beforehand: neighbouring bins of an ordered feature go together, and
categories stand alone. What a bin's noisy sum says of it is weighed against that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.additive.settings import AdditiveSettings

#: Variance of a line from -1 to 1, where that of its ends is 1, as a factor.
_LINE = 3.0
#: Added to variances, so that no direction has none.
_JITTER = 1e-6


def covariance(
    n_bins: int, n_values: int, settings: AdditiveSettings, reach: float
) -> NDArray[np.float64]:
    """Covariance of a curve's values at its bins, before anything is known.

    Parameters
    ----------
    n_bins : int
    n_values : int
        Bins in a row, the first; 0 of a categorical feature. The others stand alone.
    settings : AdditiveSettings
    reach : float

    Returns
    -------
    ndarray of float64, shape (n_bins, n_bins)
    """
    found = np.eye(n_bins)
    place = (2.0 * np.arange(n_values) + 1.0) / max(n_values, 1) - 1.0
    apart = np.abs(place[:, None] - place[None, :])
    bends = np.exp(-apart / settings.length)
    lines = _LINE * np.outer(place, place)
    found[:n_values, :n_values] = (1.0 - settings.line) * bends + settings.line * lines
    return reach**2 * found + _JITTER * np.eye(n_bins)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posterior means of one curve from noisy values of H times it, whatever their noise.

    With the covariance C beforehand and a measurement m = H t + noise of variance v, the mean of t
    is C H (H C H + v)^-1 m. H C H is taken apart once.

    Attributes
    ----------
    curvature : ndarray of float64, shape (n_bins,)
        The diagonal H.
    roots : ndarray of float64, shape (n_bins,)
    vectors, back : ndarray of float64, shape (n_bins, n_bins)
    """

    curvature: NDArray[np.float64]
    roots: NDArray[np.float64]
    vectors: NDArray[np.float64]
    back: NDArray[np.float64]

    @classmethod
    def of(cls, before: NDArray[np.float64], curvature: NDArray[np.float64]) -> Posterior:
        """Take apart what does not depend on the noise."""
        seen = curvature[:, None] * before * curvature[None, :]
        roots, vectors = np.linalg.eigh(seen)
        back = (before * curvature[None, :]) @ vectors
        return cls(curvature, np.maximum(roots, 0.0), vectors, back)

    def mean(self, measured: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
        """Posterior mean of the curve, shape (n_bins,)."""
        found: NDArray[np.float64] = self.back @ (
            (self.vectors.T @ measured) / (self.roots + variance)
        )
        return found


def likely_counts(
    noisy: NDArray[np.float64], rows: float, variance: float, least: float
) -> NDArray[np.float64]:
    """Records by bins of one feature from their noisy counts, drawn toward even ones.

    Parameters
    ----------
    noisy : ndarray of float64, shape (n_bins,)
    rows : float
        About as many as there are.
    variance : float
        Of the noise on one count.
    least : float
        Of an even share that each bin is given at least.
    """
    even = max(rows, 1.0) / noisy.size
    weight = even**2 / (even**2 + variance)
    return np.maximum(weight * noisy + (1.0 - weight) * even, least * even)
