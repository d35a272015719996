"""Weights in decimals of as many digits as it takes, for the few minima that need them.

Slow, and for no more than noise that nobody will ever see, or tables that are no tables; but these
end as all others do.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.noisy_objective import NoisyObjective
from dpforest.mechanisms.weight_numbers import Place, bounds

#: From this many times its digits on a score is as good as endless: e^-3 is less than 1/10.
_ENDLESS = 3
#: Largest score that doubles are told of.
_MOST_SCORE = Decimal(1000)
_KNEE = Decimal("1.5")


@dataclass(frozen=True, slots=True, eq=False)
class Decimals:
    """Numbers of so many decimal digits, of any size.

    Parameters
    ----------
    objective : NoisyObjective
    digits : int

    Notes
    -----
    Every operation, exp and the square root too, errs by less than u = 10^(1 - digits) of what
    comes out (`decimal`); what goes in is taken as it stands.
    """

    objective: NoisyObjective
    digits: int
    #: Of each code its columns, and what it is there.
    parts: list[list[tuple[int, Decimal]]] = field(init=False)

    def __post_init__(self) -> None:
        """Read the public columns."""
        losses = self.objective.losses
        pairs = zip(losses.columns.tolist(), losses.values.tolist(), strict=True)
        parts = [
            [(column, Decimal(value)) for column, value in zip(*pair, strict=True) if value]
            for pair in pairs
        ]
        object.__setattr__(self, "parts", parts)

    @property
    def context(self) -> decimal.Context:
        """Of all arithmetic; nothing of it is ever raised."""
        return decimal.Context(
            prec=self.digits, rounding=decimal.ROUND_HALF_EVEN, traps=[],
            Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX,
        )  # fmt: skip

    def of(self, weights: Sequence[Fraction]) -> list[Decimal]:
        """Weights that are nearest."""
        with decimal.localcontext(self.context):
            return [Decimal(w.numerator) / Decimal(w.denominator) for w in weights]

    def exactly(self, weights: list[Decimal]) -> list[Fraction]:
        """Weights as they are."""
        return [Fraction(weight) for weight in weights]

    def place(self, weights: list[Decimal]) -> Place[list[Decimal]]:
        """The gradient at weights, with bounds on its length."""
        with decimal.localcontext(self.context):
            others = list(self._others(weights))
            most = max(abs(Fraction(noise)) + abs(Fraction(ridge)) for noise, ridge in others)
            gradient = [noise + ridge for noise, ridge in others]
            scores = self._add_slopes(weights, gradient)
            length = Fraction(sum((g * g for g in gradient), Decimal(0)).sqrt())
        unit = Fraction(1, 10 ** (self.digits - 1))
        between = bounds(length, (len(weights) + 3) * unit, self._error(weights, most) * unit)
        return Place(weights, gradient, scores, *between)

    def scaled(self, place: Place[list[Decimal]]) -> NDArray[np.float64]:
        """The gradient in doubles, divided by two to ``place.power``."""
        with decimal.localcontext(self.context):
            scale = Decimal(2) ** -place.power
            return np.array([float(g * scale) for g in place.gradient])

    def moved(
        self, place: Place[list[Decimal]], step: NDArray[np.float64], halvings: int
    ) -> list[Decimal]:
        """Weights moved by a step for the scaled gradient, halved so often."""
        with decimal.localcontext(self.context):
            scale = Decimal(2) ** (place.power - halvings)
            pairs = zip(place.weights, step.tolist(), strict=True)
            return [weight + Decimal(by) * scale for weight, by in pairs]

    def lowered(self, place: Place[list[Decimal]]) -> list[Decimal]:
        """Weights less the gradient, divided by two to ``objective.steepness_bits``."""
        with decimal.localcontext(self.context):
            scale = Decimal(2) ** -self.objective.steepness_bits
            pairs = zip(place.weights, place.gradient, strict=True)
            return [weight - g * scale for weight, g in pairs]

    def _others(self, weights: list[Decimal]) -> Iterator[tuple[Decimal, Decimal]]:
        """Noise, and ridge times weight, of each column."""
        step, ridges = Decimal(self.objective.noise_step), self.objective.ridge.tolist()
        for z, ridge, weight in zip(self.objective.draw, ridges, weights, strict=True):
            yield Decimal(z) * step, Decimal(ridge) * weight

    def _add_slopes(self, weights: list[Decimal], gradient: list[Decimal]) -> NDArray[np.float64]:
        """Add slopes of all records in all columns; return their scores without the start."""
        losses = self.objective.losses
        start, clip = Decimal(losses.start), Decimal(losses.clip)
        scores = np.empty(losses.targets.size)
        for i, target in enumerate(losses.targets.tolist()):
            flat = (losses.offsets + losses.codes[i]).tolist()
            parts = [part for place in flat for part in self.parts[place]]
            worth = weights[-1] + sum(weights[column] * value for column, value in parts)
            slope = self._slope(start + worth, Decimal(target), clip)
            for column, value in parts:
                gradient[column] += slope * value
            gradient[-1] += slope
            scores[i] = float(max(min(worth, _MOST_SCORE), -_MOST_SCORE))
        return scores

    def _slope(self, score: Decimal, target: Decimal, clip: Decimal) -> Decimal:
        """Slope of a loss at a score, off by less than 14 units and what the score is."""
        if abs(score) > _ENDLESS * self.digits:
            p = Decimal(int(score > 0))
        else:
            p = 1 / (1 + (-score).exp())
        u = max(min((p - target) / clip, _KNEE), -_KNEE)
        return clip * (u - 4 * u * u * u / 27)

    def _error(self, weights: list[Decimal], most: Fraction) -> Fraction:
        """Most that the gradient's length is off, in units of u; twice what is proved.

        Notes
        -----
        **Proof**, in units: with W the largest of weights, start and 1, a score has at most
        2 D products and 2 D + 2 sums, none above (D + 2) W: (4 D + 2) (D + 2) W. A slope grows by
        at most a quarter of that. Beside it p is off by 4, its quotient by the clip by 5 over the
        clip and 1.5, k of that, which grows by at most 1, by 3 more, and times the clip one
        more: less than 14 in all, at a clip up to 1; for a larger one all is as small as p. Each
        column has at most 2 n + 4 sums and products of noise, ridge and slopes, none above
        B + n, B the largest of noise and ridge. Columns together are off by less than d times one.
        """
        n, n_features = self.objective.losses.codes.shape
        largest = max(
            1, abs(Fraction(self.objective.losses.start)), *map(abs, map(Fraction, weights))
        )
        of_record = (4 * n_features + 2) * (n_features + 2) * largest + 15
        return 2 * len(weights) * (n * of_record + (2 * n + 4) * (most + n))
