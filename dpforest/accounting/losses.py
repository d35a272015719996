"""Losses, the costs of releases: pure epsilon and zero-concentrated rho side by side, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.figures import figure_up

#: A rational number, or ``math.inf`` where a bound does not exist.
Amount = Fraction | float

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """Privacy loss of one release, or of several together, under add/remove of one record.

    Attributes
    ----------
    epsilon : Fraction or math.inf
        Pure differential privacy holds at this epsilon; ``inf`` for Gaussian noise.
    rho : Fraction or math.inf
        Zero-concentrated differential privacy holds at this rho; ``inf`` where unknown.
    delta : Fraction
        Probability mass outside either bound: numerical slack, or an external (epsilon, delta)
        spend.
    """

    epsilon: Amount = ZERO
    rho: Amount = ZERO
    delta: Fraction = ZERO

    @classmethod
    def pure(cls, epsilon: Amount) -> PrivacyLoss:
        """Loss of any epsilon-DP release.

        rho is at most epsilon squared over 2 (Bun and Steinke 2016, Prop. 1.4).
        """
        return cls(epsilon, epsilon * epsilon / 2)

    @classmethod
    def bounded_range(cls, epsilon: Amount) -> PrivacyLoss:
        """Loss of an exponential mechanism.

        rho is at most epsilon squared over 8 (Cesar and Rogers 2021).
        """
        return cls(epsilon, epsilon * epsilon / 8)

    @classmethod
    def concentrated(cls, rho: Amount) -> PrivacyLoss:
        """Loss of Gaussian-like noise, for which no finite pure epsilon exists."""
        return cls(math.inf if rho else ZERO, rho)

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """Sequential composition: every component adds."""
        # Few losses have a delta, and adding rationals is what a request's time goes into.
        delta = self.delta + other.delta if other.delta else self.delta
        return PrivacyLoss(self.epsilon + other.epsilon, self.rho + other.rho, delta)

    def __mul__(self, times: int) -> PrivacyLoss:
        """Sequential composition of ``times`` equal releases."""
        return PrivacyLoss(_scale(self.epsilon, times), _scale(self.rho, times), self.delta * times)

    __rmul__ = __mul__

    def maximum(self, other: PrivacyLoss) -> PrivacyLoss:
        """Parallel composition over disjoint records: the larger of each component.

        This very loss where it covers the other, so ``is`` tells that it does.
        """
        if self.covers(other):
            return self
        return PrivacyLoss(
            max(self.epsilon, other.epsilon),
            max(self.rho, other.rho),
            max(self.delta, other.delta),
        )

    def covers(self, other: PrivacyLoss) -> bool:
        """True if no component of ``other`` exceeds this loss."""
        return (
            other.epsilon <= self.epsilon
            and other.rho <= self.rho
            and (not other.delta or other.delta <= self.delta)
        )

    def left_after(self, spent: PrivacyLoss) -> PrivacyLoss:
        """Rest of this loss, component by component, never below nothing."""
        return PrivacyLoss(
            _left(self.epsilon, spent.epsilon),
            _left(self.rho, spent.rho),
            max(self.delta - spent.delta, ZERO),
        )

    def __str__(self) -> str:
        amounts = {"epsilon": self.epsilon, "rho": self.rho}
        # An amount that does not exist says nothing beside one that does.
        known = {name: amount for name, amount in amounts.items() if amount != math.inf}
        text = ", ".join(f"{name}={figure_up(a)}" for name, a in (known or amounts).items())
        return f"({text}, delta={figure_up(self.delta)})" if self.delta else f"({text})"


NO_LOSS = PrivacyLoss()


def _scale(amount: Amount, times: int) -> Amount:
    # inf * 0 is NaN, and nothing repeated no times costs nothing.
    return amount * times if times else ZERO


def _left(cap: Amount, spent: Amount) -> Amount:
    # inf - inf is NaN; an unlimited cap stays unlimited.
    if cap == math.inf:
        return math.inf
    return ZERO if spent >= cap else cap - spent
