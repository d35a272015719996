"""The noisy objective of one release: its gradient with a bound on its error, and Newton's step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.clipped_losses import LARGEST_CURVATURE, ClippedLosses

#: Of a length of doubles that were rounded each: `math.hypot` errs by less than a last digit.
ROUNDED = 2.0**-40
#: Numbers beyond two to the power of it are near the end of doubles.
_MOST_BITS = 900


class NoisyObjective:
    """Losses of records, a ridge, and a linear term of integer noise; secret.

    Parameters
    ----------
    losses : ClippedLosses
    ridge : ndarray of float64, shape (d,)
        Of each column; above 0.
    noise_step : float
        What a step of the noise is worth; a power of two.
    draw : sequence of int, of length d
        The noise, in steps; of any size.

    Notes
    -----
    Its second derivatives are continuous, since those of losses are, and lie between ``convexity``
    and two to the power of ``steepness_bits``: those of a loss are at most a quarter, and squares
    of a record's columns add up to at most 1 in each block, since sizes do.
    """

    def __init__(
        self,
        losses: ClippedLosses,
        ridge: NDArray[np.float64],
        noise_step: float,
        draw: Sequence[int],
    ) -> None:
        self.losses, self.ridge = losses, ridge
        self.noise_step, self.draw = noise_step, tuple(draw)
        firsts = [nearest_double(z) for z in draw]
        rests = [_rest(z, hi) for z, hi in zip(draw, firsts, strict=True)]
        self.noise = np.array(firsts) * noise_step
        self.noise_rest = np.array(rests) * noise_step

    @property
    def convexity(self) -> float:
        """Least second derivative in any direction, at most."""
        return float(self.ridge.min())

    @property
    def steepness_bits(self) -> int:
        """Two to the power of so many is at least any second derivative."""
        of_losses = float(LARGEST_CURVATURE) * self.losses.targets.size
        most = float(self.ridge.max()) + of_losses * (self.losses.codes.shape[1] + 1)
        return math.frexp(most)[1] + 1

    @property
    def without_losses(self) -> list[Fraction]:
        """Weights at which noise and ridge are least."""
        step, ridges = Fraction(self.noise_step), self.ridge.tolist()
        return [-z * step / Fraction(ridge) for z, ridge in zip(self.draw, ridges, strict=True)]

    def gradient(
        self, weights: NDArray[np.float64], rests: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradient at weights of two doubles a number, in two doubles a number."""
        from dpforest.mechanisms.kernels.objective import add_ridge

        hi, lo = self.noise.copy(), self.noise_rest.copy()
        add_ridge(self.ridge, weights, rests, hi, lo)
        self.losses.add_gradient(weights, hi, lo, rests)
        return hi, lo

    def rough_gradient(
        self, weights: NDArray[np.float64], scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradient where records have these scores, in doubles: how far it is off nobody knows."""
        of_losses = self.losses.rough_gradient(scores, weights.size)
        return self.noise + self.ridge * weights + of_losses

    def gradient_error(self, weights: NDArray[np.float64]) -> float:
        """Most that the gradient's length is off.

        Notes
        -----
        **Proof**: beside what losses are off by (`ClippedLosses.gradient_error`), each of the 2 n
        sums of slopes holds noise and ridge too, and so errs by 2^-103 of B besides, the largest
        of their sizes; noise, ridge and their sum err by less than 2^-102 of it. That is less than
        (n + 16) B 2^-100. Sizes below 2^-900 are not looked at.
        """
        sizes = np.abs(self.noise) + self.ridge * np.abs(weights)
        n_sums = self.losses.targets.size + 16.0
        of_others = weights.size**0.5 * float(sizes.max()) * n_sums * 2.0**-100
        return self.losses.gradient_error(weights) + of_others + 2.0**-900

    def newton_step(
        self, scores: NDArray[np.float64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Step of Newton's method in doubles, from where records have these scores.

        None where doubles cannot solve for it.
        """
        _, curvatures = self.losses.slopes(scores)
        hessian = self.losses.gram(curvatures, gradient.size)
        hessian[np.diag_indices_from(hessian)] += self.ridge
        try:
            step = np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        return step if np.isfinite(step).all() else None


def length_of(gradient: NDArray[np.float64]) -> float:
    """Length of a vector, to the last digit or two; nothing underflows in between."""
    return math.hypot(*gradient.tolist())


def nearest_double(exact: int | Fraction) -> float:
    """The nearest double; endless for numbers that doubles hardly reach."""
    if abs(exact) < 2**_MOST_BITS:
        return float(exact)
    return math.inf if exact > 0 else -math.inf


def _rest(z: int, nearest: float) -> float:
    return float(z - int(nearest)) if math.isfinite(nearest) else 0.0
