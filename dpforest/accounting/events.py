"""Descriptions of releases: what the accountant prices is what the mechanism runs.

An event holds the parameters of one mechanism. The accountant reads its ``loss``; the
mechanism, given the grant that carries it, reads its parameters. So what was paid for and
what runs cannot drift apart. All parameters are exact rationals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import exact_text
from dpforest.exceptions import ParameterError, ParameterTypeError


@dataclass(frozen=True, slots=True)
class Event:
    """One release under add/remove; subclasses name a mechanism and its parameters.

    Raises
    ------
    ParameterTypeError
        For a parameter that is no exact rational (read numbers with ``to_rational`` first).
    ParameterError
        For a negative parameter, or a sensitivity that is not positive.
    """

    mechanism: ClassVar[str] = ""
    #: Parameters that must be positive; the others may be nothing, or ``math.inf``.
    positive: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type != "str":
                _check_amount(field.name, getattr(self, field.name), field.name in self.positive)

    @property
    def loss(self) -> PrivacyLoss:
        """What the release costs."""
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters by name, exactly, as text for the ledger."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value if isinstance(value, str) else exact_text(value)
            for name, value in values.items()
        }


def _check_amount(name: str, value: Any, positive: bool) -> None:
    if isinstance(value, bool) or not (isinstance(value, (Fraction, int)) or value == math.inf):
        raise ParameterTypeError(
            name, value, "must be a Fraction", "Read it with to_rational first"
        )
    if value < 0 or (positive and not 0 < value < math.inf):
        rule = "must be positive and finite" if positive else "must not be negative"
        raise ParameterError(name, value, rule, "Give a larger number")


@dataclass(frozen=True, slots=True)
class ExponentialSelection(Event):
    """Exponential mechanism: o with probability proportional to exp(epsilon q(o) / score_range).

    ``score_range`` is the largest minus the smallest change of the scores over neighbours.
    The draw is epsilon-DP and epsilon-bounded-range (Dong, Durfee, Rogers 2020).
    """

    epsilon: Amount
    score_range: Fraction
    mechanism: ClassVar[str] = "exponential mechanism"
    positive: ClassVar[tuple[str, ...]] = ("score_range",)

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.bounded_range(self.epsilon)


@dataclass(frozen=True, slots=True)
class PermuteAndFlipSelection(Event):
    """Permute-and-flip with acceptance exp(epsilon (q(o) - max q) / score_range).

    Pure epsilon-DP only (McKenna and Sheldon 2020): not bounded-range, so rho is
    epsilon squared over 2.
    """

    epsilon: Amount
    score_range: Fraction
    mechanism: ClassVar[str] = "permute-and-flip"
    positive: ClassVar[tuple[str, ...]] = ("score_range",)

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.pure(self.epsilon)


@dataclass(frozen=True, slots=True)
class GeometricNoise(Event):
    """Two-sided geometric noise on every count.

    P(k) is proportional to exp(-|k| epsilon / l1_sensitivity); epsilon-DP (Ghosh, Roughgarden,
    Sundararajan 2009).
    """

    epsilon: Amount
    l1_sensitivity: Fraction
    mechanism: ClassVar[str] = "two-sided geometric noise"
    positive: ClassVar[tuple[str, ...]] = ("l1_sensitivity",)

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.pure(self.epsilon)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianNoise(Event):
    """Discrete Gaussian noise on every count; rho = l2_sensitivity_squared / (2 sigma_squared).

    Canonne, Kamath, Steinke 2020, Theorem 14. Without noise (``sigma_squared`` nothing) the
    cost is infinite.
    """

    sigma_squared: Fraction
    l2_sensitivity_squared: Fraction
    mechanism: ClassVar[str] = "discrete Gaussian noise"
    positive: ClassVar[tuple[str, ...]] = ("l2_sensitivity_squared",)

    @property
    def loss(self) -> PrivacyLoss:
        if not self.sigma_squared:
            return PrivacyLoss.concentrated(math.inf)
        return PrivacyLoss.concentrated(
            Fraction(self.l2_sensitivity_squared) / (2 * self.sigma_squared)
        )


@dataclass(frozen=True, slots=True)
class ExternalSpend(Event):
    """A release made outside dpforest that is charged to the same accountant.

    Under add/remove, as everything here: a figure for replace-one holds for add/remove only
    if its source says so.
    """

    epsilon: Amount
    delta: Fraction
    description: str
    mechanism: ClassVar[str] = "external"

    @property
    def loss(self) -> PrivacyLoss:
        if self.delta:
            return PrivacyLoss(self.epsilon, math.inf, Fraction(self.delta))
        return PrivacyLoss.pure(self.epsilon)
