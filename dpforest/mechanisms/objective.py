"""Objective perturbation in pure epsilon: the minimum of a noisy objective, released exactly.

The privacy of a minimum is a theorem about real numbers, and computers have doubles. So noise is
drawn as integers, the minimum that doubles find is certified to lie close to the real one, and a
little integer noise on a lattice covers what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.grants import Grant, consume
from dpforest.accounting.rationals import float_down
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.clipped_losses import LARGEST_CURVATURE as LARGEST_CURVATURE
from dpforest.mechanisms.clipped_losses import ClippedLosses as ClippedLosses
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.k_norm import k_norm_noise
from dpforest.mechanisms.minimum import certified_minimum
from dpforest.mechanisms.noise import two_sided_geometric
from dpforest.mechanisms.noisy_objective import NoisyObjective
from dpforest.observation import observed

#: Of what the determinant leaves of epsilon, for the lattice; the rest is for the noise.
LATTICE_SHARE = Fraction(2, 100)
#: Of what the determinant may grow by, for the constant.
CONSTANT_SHARE = Fraction(1, 4)
#: Standard deviation that the lattice's noise is to have, at most.
LATTICE_NOISE = 0.002
#: Largest exponent of the noise, times the widest block: sharper noise is found by ever more
#: attempts, and is for more epsilon than anybody spends.
SHARPEST = 0.5
#: Smallest and largest determinant, curvature and clip, whose ridges and steps doubles hold.
#: Ridges of larger determinants are so small that doubles next to each other have gradients too
#: far apart: from 20 on more digits are needed for some tables, which takes long.
_LEAST_PART, _MOST_PART, _MOST_SIZE = Fraction(1, 2**60), 8, 2**60
#: Largest size of a start, for the same reason: scores near it have its last digits.
_MOST_START = 100.0
#: How often the gradient at which the minimum is found may be in what the noise is as a rule: a
#: 32nd of what doubles tell apart, since noise may lie further out.
_DIGITS = 2.0**48
_LIMIT, _MOST = 2**52, 2**61


@dataclass(frozen=True, slots=True)
class Calibration:
    """Parts that an event's epsilon is divided into, from public numbers alone.

    Attributes
    ----------
    widths : tuple of int
        Columns of each block; the constant is the last.
    ridge : tuple of float
        Of a column of a feature, and of the constant.
    noise_step : float
        What a step of the noise is worth; a power of two.
    noise_exponent : float
        P(z) of the noise is proportional to exp(-exponent |z|).
    step : float
        Of the lattice of weights; a power of two.
    step_exponent : float
        Of the noise on the lattice.
    """

    widths: tuple[int, ...]
    ridge: tuple[float, float]
    noise_step: float
    noise_exponent: float
    step: float
    step_exponent: float

    @property
    def n_columns(self) -> int:
        """Columns of all blocks."""
        return sum(self.widths)

    @property
    def ridges(self) -> NDArray[np.float64]:
        """Ridge of each column, shape (d,)."""
        of_column, of_constant = self.ridge
        return np.append(np.full(self.n_columns - 1, of_column), of_constant)

    @property
    def largest_gradient(self) -> float:
        """Length of the gradient, in doubles, at which weights are close enough to the minimum."""
        left = self.step * min(self.ridge) - self.n_columns**0.5 * self.noise_step / 2
        return left * (1.0 - 2.0**-40)

    @classmethod
    def of(cls, event: ObjectivePerturbation, widths: Sequence[int]) -> Calibration:
        """Divide epsilon: for noise, determinant and lattice.

        Raises
        ------
        ParameterError
            When what epsilon leaves for noise is so little that doubles could not find the minimum,
            the clip is no power of two, or the blocks are others than the event's.
        """
        _check(event, widths)
        epsilon, n = Fraction(event.epsilon), sum(widths)
        left = epsilon - event.determinant
        lattice = LATTICE_SHARE * left
        ridge = _ridge(event, float_down(event.determinant))
        step_exponent = float_down(lattice / (2 * n))
        step = _power_below(LATTICE_NOISE * min(step_exponent, 1.0) / 2**0.5)
        noise_step = min(_power_below(step * min(ridge) / (2 * n**0.5)), float(event.clip))
        steps = Fraction(noise_step)
        noise_exponent = float_down((left - lattice) * steps / (event.clip + steps * max(widths)))
        noise_exponent = min(noise_exponent, SHARPEST / max(widths))
        made = cls(tuple(widths), ridge, noise_step, noise_exponent, step, step_exponent)
        reach = (n + 1) * noise_step  # of the noise, times its exponent
        if not 0.0 < reach <= noise_exponent * made.largest_gradient * _DIGITS:
            rule = "must leave more for the noise: doubles could not find the minimum"
            raise ParameterError("epsilon", event.epsilon, rule, "Spend more budget")
        return made


def check_event(event: ObjectivePerturbation) -> None:
    """Refuse an event that no minimum is released for, whatever its columns are.

    Raises
    ------
    ParameterError
        When its determinant is not less than epsilon, its clip is no power of two, or one of them
        or the curvature is beyond what doubles hold.
    """
    if not event.determinant < event.epsilon < math.inf:
        rule = "must be finite, and more than its part for the determinant"
        raise ParameterError("epsilon", event.epsilon, rule, "Give the noise a part of it")
    if not is_power_of_two(event.clip):
        raise ParameterError("clip", event.clip, "must be a power of two", "Round it")
    largest = {"determinant": _MOST_PART, "curvature": _MOST_SIZE, "clip": _MOST_SIZE}
    for name, most in largest.items():
        if not _LEAST_PART <= getattr(event, name) <= most:
            rule = f"must be from {_LEAST_PART} to {most}"
            raise ParameterError(name, getattr(event, name), rule, "Give what doubles can hold")


def _check(event: ObjectivePerturbation, widths: Sequence[int]) -> None:
    if len(widths) != event.blocks or widths[-1] != 1 or min(widths) < 1:
        rule = f"must be as many as the event has, which is {event.blocks}, with a constant last"
        raise ParameterError("widths", tuple(widths), rule, "Give the event's blocks")
    check_event(event)


def _ridge(event: ObjectivePerturbation, determinant: float) -> tuple[float, float]:
    """Ridges of columns and of the constant: what they leave adds up to exp(determinant) - 1.

    Rounded up, with a margin for expm1.
    """
    left, constant = math.expm1(determinant) * (1.0 - 2.0**-40), float(CONSTANT_SHARE)
    curvature, more = float(event.curvature), 1.0 + 2.0**-40
    n_features = max(float(event.blocks - 1), 1.0)
    of_features = curvature * n_features / ((1.0 - constant) * left) * more
    return of_features, curvature / (constant * left) * more


def is_power_of_two(value: Fraction) -> bool:
    """True if a value, rounded down, is a power of two in doubles."""
    return math.frexp(float_down(value))[0] == 0.5


def _power_below(value: float) -> float:
    """The largest power of two that is at most a value; 0 where doubles have none."""
    return math.ldexp(1.0, math.frexp(value)[1] - 1) if value > 2.0**-1000 else 0.0


@observed(lambda losses, calibration, *_: calibration.widths)
def release_minimum(
    losses: ClippedLosses, calibration: Calibration, grant: Grant | None, source: RandomSource
) -> NDArray[np.int64]:
    """Release the weights at which losses, a ridge and one noisy linear term are least.

    Parameters
    ----------
    losses : ClippedLosses
    calibration : Calibration
        Of the event that was paid for.
    grant : Grant
        For an ``ObjectivePerturbation`` whose clip is that of the losses, with a curvature of at
        least 1 / 4.
    source : RandomSource

    Returns
    -------
    int64 array, shape (d,)
        Weights in steps of ``calibration.step``.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterError
        When the calibration is of another event, or the losses are others than it was priced for:
        by clip, curvature, or columns; or when their start, which is released, is so far out that
        doubles could not find the minimum.

    Notes
    -----
    **Claim**: ``event.epsilon``-DP. **Relation**: add or remove one record. **Sensitivity**: a
    record adds s x to the gradient, where s, its slope, lies within the clip c, and sizes in each
    block of x add up to at most 1, which is looked at; so no block moves by more than c in L1.

    **Proof**: write J(w) for the sum of losses plus w' L w / 2 + b' w, L diagonal. Its gradient is
    one to one and has continuous derivatives, H(w) + L, so for each w there is one b at which w is
    the minimum: b(w) = -(sum of slopes x + L w).

    1. *Noise*. Let b = h (z + u), z drawn by `k_norm_noise` with exponent a, and u uniform in
       [-1/2, 1/2)^d, h the noise step. Where the data have one record more, b(w) moves by at most
       c in each block, so its rounded steps by at most c / h + m, m the widest block. The density
       of b changes by at most exp(a (c / h + m)).
    2. *Determinant*. The density of the minimum is that of b(w) times det(H(w) + L). A record
       adds g x x' to H, 0 <= g <= 1 / 4, which multiplies it by 1 + g x' (H + L)^-1 x; that is at
       least 1 and at most 1 + x' L^-1 x / 4 <= 1 + ((blocks - 1) / ridge_1 + 1 / ridge_0) / 4,
       which the ridges make at most exp(determinant).
    3. *Digits*. Nobody draws u, and computers do not find the minimum. The weights v that were
       found have a gradient of length at most g at b = h z, so of at most g + h sqrt(d) / 2 at any
       b = h (z + u). J is convex by min(L), so v lies within that over min(L) of the minimum,
       which is at most one step of the lattice. Both cut at 2^52 steps and rounded down, each of d
       weights differs by at most one step from the minimum's. Noise with exponent e on each covers
       it: what is released has at any place at most exp(d e) times the probability that it would
       have from the real minimum, and at least exp(-d e) times. Both times, with one record more
       or less, that is exp(2 d e).

    4. *Its end*. That an error comes, or a warning, would tell of records and noise. Such weights
       are found for all records and all noise (`certified_minimum`), and what is refused is refused
       by the event, blocks, columns and start, which are public.

    Together a (c / h + m), the determinant's part and 2 d e are at most epsilon. What is not drawn,
    u, is averaged over in all three. **Source**: Chaudhuri, Monteleoni, Sarwate 2011 for the idea;
    Kifer, Smith, Thakurta 2012 for the determinant; Iyengar et al. 2019 for minima that are not
    exact.
    **Tests**: tests/mechanisms/test_objective.py (the gradient against fractions, the minimum
    against a slow twin, the density ratio by integration, planted faults).
    """
    _take(losses, calibration, grant)
    draw = k_norm_noise(calibration.widths, calibration.noise_exponent, source)
    places = lattice_places(certified_weights(losses, calibration, draw), calibration.step)
    more = two_sided_geometric(len(places), calibration.step_exponent, source)
    # The sum is clipped, not the noise: noise that ends somewhere would tell neighbours apart.
    total = (place + noise for place, noise in zip(places, more, strict=True))
    return np.array([max(-_MOST, min(_MOST, place)) for place in total], dtype=np.int64)


def _take(losses: ClippedLosses, calibration: Calibration, grant: Grant | None) -> None:
    """Use the grant up, once it is for these losses and this calibration."""
    event = getattr(grant, "event", None)
    if isinstance(event, ObjectivePerturbation):
        if calibration != Calibration.of(event, calibration.widths):
            rule = "must be that of the event that was paid for"
            raise ParameterError("calibration", calibration, rule, "Make it of the event")
        if event.clip != Fraction(losses.clip) or event.curvature < LARGEST_CURVATURE:
            rule = f"must have the event's clip, {event.clip}, and curvature"
            raise ParameterError("losses", losses.clip, rule, "Pay for these losses")
        if not losses.has_blocks(calibration.widths):
            rule = "must have columns in their blocks, and sizes that add up to at most 1 in each"
            raise ParameterError("losses", losses.columns.shape, rule, "Lay them out so")
        if not abs(losses.start) <= _MOST_START:
            rule = f"must be from {-_MOST_START:g} to {_MOST_START:g}"
            raise ParameterError("start", losses.start, rule, "Start nearer to a half")
    consume(grant, ObjectivePerturbation, cells=1)


def certified_weights(
    losses: ClippedLosses, calibration: Calibration, draw: Sequence[int]
) -> list[Fraction]:
    """Weights whose gradient is at most the calibration's largest one, exactly; secret.

    Parameters
    ----------
    losses : ClippedLosses
    calibration : Calibration
    draw : sequence of int, of length d
        The noise, in steps.
    """
    objective = NoisyObjective(losses, calibration.ridges, calibration.noise_step, draw)
    return certified_minimum(objective, calibration.largest_gradient)


def lattice_places(weights: Sequence[Fraction], step: float) -> list[int]:
    """Weights in steps of the lattice, rounded down, and cut at 2^52."""
    places = (math.floor(weight / Fraction(step)) for weight in weights)
    return [max(-_LIMIT, min(_LIMIT, place)) for place in places]
