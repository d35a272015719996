"""From noisy sums over a feature's bins to its curve: post-processing, which costs nothing.

A curve is a Gaussian process beforehand: neighbouring bins of an ordered feature go together, and
categories stand alone. What a bin's noisy sum says of it is weighed against that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.curves.in_turn.settings import InTurnSettings

#: Variance of a line from -1 to 1, where that of its ends is 1, as a factor.
_LINE = 3.0
#: Added to variances, so that no direction has none.
_JITTER = 1e-6
#: Of expectation and maximization.
_STEPS = 8
#: Released counts are cut to that, so more records cannot be seen, whatever is declared.
_MOST_ROWS = 2.0**62


def covariance(n_bins: int, n_values: int, settings: InTurnSettings) -> NDArray[np.float64]:
    """Covariance of a curve's values at its bins for a scale of 1, before anything is known.

    Parameters
    ----------
    n_bins : int
    n_values : int
        Bins in a row, the first; 0 of a categorical feature. The others stand alone.
    settings : InTurnSettings

    Returns
    -------
    ndarray of float64, shape (n_bins, n_bins)
    """
    found = np.eye(n_bins)
    place = (2.0 * np.arange(n_values) + 1.0) / max(n_values, 1) - 1.0
    distances = np.abs(place[:, None] - place[None, :])
    decays = np.exp(-distances / settings.length)
    lines = _LINE * np.outer(place, place)
    found[:n_values, :n_values] = (1.0 - settings.line) * decays + settings.line * lines
    return found + _JITTER * np.eye(n_bins)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posterior means of one curve from noisy values of H times it, whatever their noise.

    With the covariance r^2 C beforehand and a measurement m = H t + noise of variance v, the mean
    of t is r^2 C H (r^2 H C H + v)^-1 m. H C H is taken apart once. Where all bins stand alone it
    is diagonal, and nothing is made of the square of their number: there may be 65 000 categories.

    Attributes
    ----------
    curvature : ndarray of float64, shape (n_bins,)
        The diagonal H.
    roots : ndarray of float64, shape (n_bins,)
    vectors : ndarray of float64, shape (n_bins, n_bins), or None
        None where all bins stand alone.
    back : ndarray of float64, shape (n_bins, n_bins), or (n_bins,)
    """

    curvature: NDArray[np.float64]
    roots: NDArray[np.float64]
    vectors: NDArray[np.float64] | None
    back: NDArray[np.float64]

    @classmethod
    def of(cls, before: NDArray[np.float64], curvature: NDArray[np.float64]) -> Posterior:
        """Take apart what depends neither on the noise nor on the scale."""
        seen = curvature[:, None] * before * curvature[None, :]
        roots, vectors = np.linalg.eigh(seen)
        back = (before * curvature[None, :]) @ vectors
        return cls(curvature, np.maximum(roots, 0.0), vectors, back)

    @classmethod
    def of_alone(cls, curvature: NDArray[np.float64]) -> Posterior:
        """The same of bins that all stand alone, whose `covariance` is diagonal."""
        back = (1.0 + _JITTER) * curvature
        return cls(curvature, back * curvature, None, back)

    def _turned(self, measured: NDArray[np.float64]) -> NDArray[np.float64]:
        """Measurement along the vectors."""
        return measured if self.vectors is None else self.vectors.T @ measured

    def evidence(
        self, measured: NDArray[np.float64], variance: float, scales: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Log likelihood of what was measured for each scale, up to a constant."""
        spread = scales[:, None] ** 2 * self.roots + variance
        found: NDArray[np.float64] = -0.5 * (
            np.log(spread) + self._turned(measured) ** 2 / spread
        ).sum(axis=1)
        return found

    def mean(
        self,
        measured: NDArray[np.float64],
        variance: float,
        scales: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Posterior mean of the curve over scales of these weights, shape (n_bins,)."""
        squares = scales[:, None] ** 2
        shrunk = weights @ (squares / (squares * self.roots + variance))
        wanted = shrunk * self._turned(measured)
        found: NDArray[np.float64] = (
            self.back * wanted if self.vectors is None else self.back @ wanted
        )
        return found


def shares_of(evidence: NDArray[np.float64], feature: int) -> NDArray[np.float64]:
    """Probabilities of one feature's scales, from log likelihoods of the scales of all.

    How often each scale occurs among features is not known beforehand: it is what makes all
    evidence likely, as a few steps of expectation and maximization find it, with one feature more
    of each scale.

    Parameters
    ----------
    evidence : ndarray of float64, shape (D, n_scales)
        Nothing, all 0, of a feature that was not asked for yet.
    feature : int
    """
    likely = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    often = np.full(evidence.shape[1], 1.0 / evidence.shape[1])
    for _ in range(_STEPS):
        found = likely * often
        found /= found.sum(axis=1, keepdims=True)
        often = (found.sum(axis=0) + 1.0) / (evidence.shape[0] + evidence.shape[1])
    own: NDArray[np.float64] = likely[feature] * often
    return own / own.sum()


def likely_counts(
    noisy: NDArray[np.float64], rows: float, variance: float, least: float
) -> NDArray[np.float64]:
    """Records by bins of one feature from their noisy counts, drawn toward even ones.

    Parameters
    ----------
    noisy : ndarray of float64, shape (n_bins,)
    rows : float
        About as many as there are, as declared or released: any number.
    variance : float
        Of the noise on one count.
    least : float
        Of an even share that each bin is given at least.
    """
    even = min(max(rows, 1.0), _MOST_ROWS) / noisy.size
    weight = even**2 / (even**2 + variance)
    return np.maximum(weight * noisy + (1.0 - weight) * even, least * even)
