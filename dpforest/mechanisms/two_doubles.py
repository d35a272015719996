"""Weights of two doubles a number, for minima that doubles do not come near enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.noisy_objective import (
    ROUNDED,
    NoisyObjective,
    length_of,
    nearest_double,
)
from dpforest.mechanisms.weight_numbers import Place, bounds

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class TwoDoubles:
    """Numbers of two doubles: some 106 bits.

    Parameters
    ----------
    objective : NoisyObjective
    """

    objective: NoisyObjective

    def of(self, weights: Sequence[Fraction]) -> Pair:
        """Weights that are nearest; those beyond doubles are none."""
        firsts = [nearest_double(weight) for weight in weights]
        rests = [
            float(weight - Fraction(first)) if math.isfinite(first) else 0.0
            for weight, first in zip(weights, firsts, strict=True)
        ]
        return np.array(firsts), np.array(rests)

    def exactly(self, weights: Pair) -> list[Fraction]:
        """Weights as they are."""
        pairs = zip(*(part.tolist() for part in weights), strict=True)
        return [Fraction(hi) + Fraction(lo) for hi, lo in pairs]

    def place(self, weights: Pair) -> Place[Pair]:
        """The gradient at weights, with bounds on its length."""
        hi, lo = self.objective.gradient(*weights)
        scores = self.objective.losses.scores(weights[0])
        length, error = length_of(hi + lo), self.objective.gradient_error(weights[0])
        if not math.isfinite(length + error):
            return Place(weights, (hi, lo), scores, Fraction(0), math.inf)
        between = bounds(Fraction(length), Fraction(ROUNDED), Fraction(error))
        return Place(weights, (hi, lo), scores, *between)

    def scaled(self, place: Place[Pair]) -> NDArray[np.float64]:
        """The gradient in doubles, divided by two to ``place.power``."""
        return np.ldexp(place.gradient[0], -place.power)

    def moved(self, place: Place[Pair], step: NDArray[np.float64], halvings: int) -> Pair:
        """Weights moved by a step for the scaled gradient, halved so often."""
        more = np.ldexp(step, place.power - halvings)
        return _sum(place.weights, (more, np.zeros_like(more)))

    def lowered(self, place: Place[Pair]) -> Pair:
        """Weights less the gradient, divided by two to ``objective.steepness_bits``."""
        bits = self.objective.steepness_bits
        hi, lo = (np.ldexp(-part, -bits) for part in place.gradient)
        return _sum(place.weights, (hi, lo))


def _sum(weights: Pair, more: Pair) -> Pair:
    from dpforest.mechanisms.kernels.objective import add_to

    hi, lo = weights[0].copy(), weights[1].copy()
    add_to(hi, lo, *more)
    return hi, lo


def compile_search() -> None:
    """Compile what the search calls, whether or not it comes to that: see `compile_for`."""
    from dpforest.kernels.compiling import compile_for
    from dpforest.mechanisms.kernels.objective import add_to

    compile_for(add_to, *[np.empty(0)] * 4)
