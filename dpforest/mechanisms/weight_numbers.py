"""Numbers that weights may be, by all that a search for a minimum asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.noisy_objective import NoisyObjective

W = TypeVar("W")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Place(Generic[W]):
    """Weights, and the gradient there; secret.

    Attributes
    ----------
    weights, gradient : W
        In numbers of some kind.
    scores : ndarray of float64, shape (n,)
        Of records, without the start, about.
    least, most : Fraction
        Between which the real gradient's length lies, whatever was rounded; infinity where
        something overflowed.
    """

    weights: W
    gradient: W
    scores: NDArray[np.float64]
    least: Fraction
    most: Fraction | float

    @property
    def power(self) -> int:
        """Two to the power of it is above the gradient's length, which is finite."""
        most = Fraction(self.most)
        return most.numerator.bit_length() - most.denominator.bit_length() + 1


def bounds(length: Fraction, rounded: Fraction, error: Fraction) -> tuple[Fraction, Fraction]:
    """Between what a length lies that was rounded by a share, of what is off by an error."""
    return length * (1 - rounded) - error, length * (1 + rounded) + error


class Numbers(Protocol[W]):
    """Arithmetic of some kind, on the objective that is to be minimised."""

    @property
    def objective(self) -> NoisyObjective: ...

    def of(self, weights: Sequence[Fraction]) -> W:
        """Weights that are nearest."""

    def exactly(self, weights: W) -> list[Fraction]:
        """Weights as they are."""

    def place(self, weights: W) -> Place[W]:
        """The gradient at weights, with bounds on its length."""

    def scaled(self, place: Place[W]) -> NDArray[np.float64]:
        """The gradient in doubles, divided by two to ``place.power``."""

    def moved(self, place: Place[W], step: NDArray[np.float64], halvings: int) -> W:
        """Weights moved by a step for the scaled gradient, halved so often."""

    def lowered(self, place: Place[W]) -> W:
        """Weights less the gradient, divided by two to ``objective.steepness_bits``."""
