"""Events of a plan that cost at most a share of its budget, in either currency."""

from __future__ import annotations

from fractions import Fraction

from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import priced_noise
from dpforest.records.base import Sensitivity

#: Noise on counts, in either currency.
CountNoise = GeometricNoise | ZeroSumGeometricNoise | DiscreteGaussianNoise
#: Columns up to which noise adds up to nothing as they do: of 32 it has .95 of the variance, and a
#: row of it is kept with a chance of a tenth, so of more it would take long for next to nothing.
_MOST_COLUMNS = 32
#: Steps of a selection's epsilon, which is the root of its share of rho, rounded down.
_ROOT_SCALE = 2**40


def count_noise(sensitivity: Sensitivity, share: Fraction, pure: bool) -> CountNoise:
    """Noise that costs at most a share: of epsilon where it is pure, else of rho.

    A variance is rounded up. Pure noise adds up to nothing where what it goes on does, of up to 32
    columns; Gaussian noise would have no less variance for it than when its mean is taken off.
    """
    if pure and _adds_up(sensitivity):
        return ZeroSumGeometricNoise(share, sensitivity.l1, Fraction(sensitivity.zero_sum))
    if pure:
        return GeometricNoise(share, sensitivity.l1)
    return priced_noise(sensitivity.l2_squared, share)


def noise_name(sensitivity: Sensitivity, pure: bool) -> str:
    """Word for the noise of `count_noise`, for a plan in words."""
    if not pure:
        return "discrete Gaussian"
    return "zero-sum geometric" if _adds_up(sensitivity) else "geometric"


def _adds_up(sensitivity: Sensitivity) -> bool:
    """True if noise on such sums is to add up to nothing."""
    return 0 < sensitivity.zero_sum <= _MOST_COLUMNS


def selection_event(
    share: Fraction, score_range: Fraction, pure: bool
) -> PermuteAndFlipSelection | ExponentialSelection:
    """Draw that costs at most a share, by the mechanism that is best for its currency.

    Permute-and-flip errs less at the same epsilon, and costs four times the rho.
    """
    if pure:
        return PermuteAndFlipSelection(share, score_range)
    return exponential_selection(share, score_range, pure)


def exponential_selection(
    share: Fraction, score_range: Fraction, pure: bool
) -> ExponentialSelection:
    """Draw by the exponential mechanism that costs at most a share of epsilon or of rho."""
    epsilon = share if pure else sqrt_in_steps(8 * share, _ROOT_SCALE)
    return ExponentialSelection(epsilon, score_range)
