"""Descriptions of releases: what the accountant prices is what the mechanism runs.

An event holds the parameters of one mechanism. The accountant reads its ``loss``; the
mechanism, given the grant that carries it, reads its parameters. So what was paid for and
what runs cannot drift apart. All parameters are exact rationals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import (
    exact_loss,
    exact_text,
    kept_by_text,
    parse_amount,
    to_rational,
)
from dpforest.exceptions import ParameterError


@dataclass(frozen=True, slots=True)
class Event:
    """One release under add/remove; subclasses name a mechanism and its parameters.

    Numbers are read by ``to_rational``: an int, a Decimal or text exactly, a float as its shortest
    decimal; so every loss that follows from them is a rational.

    Raises
    ------
    ParameterTypeError
        For a parameter that is no number.
    ParameterError
        For NaN, a negative parameter, or a sensitivity that is not positive and finite.
    """

    mechanism: ClassVar[str] = ""
    #: Parameters that must be positive; the others may be nothing, or ``math.inf``.
    positive: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type != "str":
                value = getattr(self, field.name)
                amount = _read_amount(field.name, value, field.name in self.positive)
                object.__setattr__(self, field.name, amount)  # frozen for everybody else

    @property
    def loss(self) -> PrivacyLoss:
        """Cost of the release."""
        raise NotImplementedError

    @property
    def variance(self) -> float:
        """Variance of the noise on one count, in squares of what is summed; of noise alone."""
        raise AssertionError(f"{self.mechanism} adds no noise to counts")

    @property
    def zero_sum_variance(self) -> float:
        """The same of columns that add up to nothing: of noise whose mean over them is taken off.

        They are made to add up to nothing after the release, or, where the mechanism knows of it,
        by the noise itself.
        """
        return self.variance

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters by name, exactly, as text for the ledger."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value if isinstance(value, str) else exact_text(value)
            for name, value in values.items()
        }


def _read_amount(name: str, value: Any, positive: bool) -> Amount:
    """A parameter as a rational, or as the infinity that some parameters may be."""
    endless = isinstance(value, float) and value == math.inf
    amount: Amount = math.inf if endless else to_rational(value, name)
    if amount < 0 or (positive and not 0 < amount < math.inf):
        rule = "must be positive and finite" if positive else "must not be negative"
        raise ParameterError(name, value, rule, "Give a larger number")
    return amount


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

    P(k) is proportional to exp(-abs(k) epsilon / l1_sensitivity); epsilon-DP (Ghosh, Roughgarden,
    Sundararajan 2009).
    """

    epsilon: Amount
    l1_sensitivity: Fraction
    mechanism: ClassVar[str] = "two-sided geometric noise"
    positive: ClassVar[tuple[str, ...]] = ("l1_sensitivity",)

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.pure(self.epsilon)

    @property
    def variance(self) -> float:
        """2 r / (1 - r)^2 where P(k) is proportional to r^abs(k), and 1 - r = -expm1(-a)."""
        # Of more than 600 doubles would hold nothing, which no noise has.
        a = min(float(self.epsilon / self.l1_sensitivity), 600.0)
        return 2.0 * math.exp(-a) / math.expm1(-a) ** 2


@dataclass(frozen=True, slots=True)
class ZeroSumGeometricNoise(Event):
    """Two-sided geometric noise on rows whose leading columns add up to nothing, with every record.

    P(k) is proportional to exp(-abs(k) epsilon / l1_sensitivity) over all rows k of which the first
    ``columns`` numbers add up to nothing; epsilon-DP: the K-norm mechanism (Hardt and Talwar 2010)
    on the lattice of such rows.
    """

    epsilon: Amount
    l1_sensitivity: Fraction
    columns: Fraction
    mechanism: ClassVar[str] = "two-sided geometric noise that adds up to nothing"
    positive: ClassVar[tuple[str, ...]] = ("l1_sensitivity", "columns")

    def __post_init__(self) -> None:
        Event.__post_init__(self)  # a class with slots has no super() here
        if self.columns < 2 or self.columns.denominator != 1:
            raise ParameterError(
                "columns", self.columns, "must be a whole number of at least 2", "Count them"
            )

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.pure(self.epsilon)

    @property
    def variance(self) -> float:
        """Of the other columns, which have geometric noise."""
        return GeometricNoise(self.epsilon, self.l1_sensitivity).variance

    @property
    def zero_sum_variance(self) -> float:
        """Less than ``variance`` by the factor (2 n - 1) / (2 (n + 1)) for n columns.

        Of Laplace noise t, whose characteristic function is 1 / (1 + u^2), the second moment given
        that n of them add up to nothing is (n - 1) times the integral of (d/du 1 / (1 + u^2))^2 (1
        + u^2)^(2 - n), over that of (1 + u^2)^-n: (n - 1) (2 n - 1) / (n (n + 1)). Independent
        noise less its mean has 2 (n - 1) / n. Geometric noise of few steps has less.
        """
        n = float(self.columns)
        return self.variance * (2.0 * n - 1.0) / (2.0 * (n + 1.0))


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
        return PrivacyLoss.concentrated(self.l2_sensitivity_squared / (2 * self.sigma_squared))

    @property
    def variance(self) -> float:
        """At most ``sigma_squared``, and next to it where that is not small."""
        return float(self.sigma_squared)


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation(Event):
    """The minimum of a sum of losses, a ridge and one noisy linear term; epsilon-DP.

    Chaudhuri, Monteleoni and Sarwate 2011, with noise of the K-norm (Hardt and Talwar 2010; Awan
    and Slavkovic 2021) and an exact end. The mechanism makes noise, ridge and lattice of these
    parameters: ``mechanisms.objective``.

    Parameters
    ----------
    epsilon : number
    determinant : number
        The part of epsilon that pays for the determinant, and makes the ridge; less than epsilon.
    clip : number
        Largest slope of one record's loss in its score.
    curvature : number
        Largest second derivative of one record's loss in its score.
    blocks : number
        Columns come in so many blocks, the constant for itself; of each a record has values whose
        sizes add up to at most 1.
    """

    epsilon: Amount
    determinant: Fraction
    clip: Fraction
    curvature: Fraction
    blocks: Fraction
    mechanism: ClassVar[str] = "objective perturbation"
    positive: ClassVar[tuple[str, ...]] = ("determinant", "clip", "curvature", "blocks")

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.pure(self.epsilon)


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
            return PrivacyLoss(self.epsilon, math.inf, self.delta)
        return PrivacyLoss.pure(self.epsilon)


#: Events by the name of their mechanism.
EVENTS: dict[str, type[Event]] = {
    kind.mechanism: kind
    for kind in (
        DiscreteGaussianNoise,
        ExponentialSelection,
        ExternalSpend,
        GeometricNoise,
        ObjectivePerturbation,
        PermuteAndFlipSelection,
        ZeroSumGeometricNoise,
    )
}


def read_event(mechanism: str, parameters: dict[str, str]) -> Event | None:
    """Read an event back from its mechanism and its ``parameters``; None if there is no such one.

    Raises
    ------
    ValueError
        For values that no event has.
    """
    return _read_event(mechanism, *chain.from_iterable(parameters.items()))


@kept_by_text
def _read_event(mechanism: str, *texts: str) -> Event | None:
    """Read an event whose parameters' names and values come in turn."""
    kind, parameters = EVENTS.get(mechanism), dict(zip(texts[::2], texts[1::2], strict=True))
    if kind is None or sorted(field.name for field in fields(kind)) != sorted(parameters):
        return None
    values: dict[str, Any] = {
        name: text if name == "description" else parse_amount(text)
        for name, text in parameters.items()
    }
    return kind(**values)


def checked_loss(event: Event) -> PrivacyLoss:
    """The loss of an event, once it is one that can be added up."""
    # Events of other packages may come here too.
    return exact_loss(event.loss, "event", "Mend its loss")
