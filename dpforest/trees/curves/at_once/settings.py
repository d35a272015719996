"""Choices of curves at once: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from dpforest.checks import check_each, check_integer, check_number, check_part, check_size
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.mechanisms.objective import is_power_of_two

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class AtOnceSettings:
    """Shares of the budget, clips, and how finely curves may bend.

    Attributes
    ----------
    prior_share, most_prior_share : Fraction
        Of the whole: for the class shares or the mean of a target, and at most for the latter.
    mean_signal : float
        R that the mean of a target gets, where it can: far from it records are of little use.
    determinant_share : Fraction
        Of what is left, for the determinant, which makes ridges small; of classes.
    determinant_shares_of_means : tuple of (float, Fraction)
        R / D from which it is so much of a target.
    clip : Fraction
        Largest slope of a record's loss, of classes; a power of two.
    clips_of_means : tuple of (float, Fraction)
        R / D from which it is so much of a target. A small clip lets in little noise, and draws to
        a median rather than to a mean.
    knots, knots_of_means : tuple of (float, int)
        R / D from which the curve of an ordered feature has so many knots, the same way apart in
        codes; straight lines between them. Two knots make one straight line. Labels tell less of a
        curve than targets do.
    few_features : int
        Of a target, features beyond which the level of knots is less by the cube of their number:
        the noise of all curves adds up at a record, and is largest where a knot has few records.

    Raises
    ------
    ParameterError
        Where a clip is no power of two from 2^-10 to 1, a share is not between 0 and 1, or knots do
        not begin at 0, rise, and number at least two.
    """

    prior_share: Fraction = Fraction(5, 100)
    most_prior_share: Fraction = Fraction(30, 100)
    mean_signal: float = 30.0
    determinant_share: Fraction = Fraction(15, 100)
    determinant_shares_of_means: tuple[tuple[float, Fraction], ...] = (
        (0.0, Fraction(20, 100)), (40.0, Fraction(30, 100)),
    )  # fmt: skip
    clip: Fraction = Fraction(1, 2)
    clips_of_means: tuple[tuple[float, Fraction], ...] = (
        (0.0, Fraction(1, 8)), (90.0, Fraction(1, 4)),
    )  # fmt: skip
    knots: tuple[tuple[float, int], ...] = (
        (0.0, 2), (30.0, 4), (60.0, 5), (100.0, 7), (250.0, 9),
    )  # fmt: skip
    knots_of_means: tuple[tuple[float, int], ...] = (
        (0.0, 2), (12.0, 4), (25.0, 5), (60.0, 7), (200.0, 9),
    )  # fmt: skip
    few_features: int = 30

    def __post_init__(self) -> None:
        """Check what plans and mechanisms take for granted."""
        for name in ("prior_share", "most_prior_share"):
            check_part(getattr(self, name), name)
        check_size(self.mean_signal, "mean_signal")
        _check_clip(self.clip, "clip")
        _check_determinant(self.determinant_share, "determinant_share")
        _check_steps(
            self.determinant_shares_of_means, "determinant_shares_of_means", _check_determinant
        )
        _check_steps(self.clips_of_means, "clips_of_means", _check_clip)
        for name in ("knots", "knots_of_means"):
            _check_steps(getattr(self, name), name, _check_knots)
        check_integer(self.few_features, "few_features", 1)

    def prior(self, signal: float, of_means: bool) -> Fraction:
        """Share for the class shares, or for a mean."""
        if not of_means or not signal:
            return self.prior_share
        wanted = Fraction(self.mean_signal / signal).limit_denominator(1000)
        return max(self.prior_share, min(wanted, self.most_prior_share))

    def clip_at(self, level: float, of_means: bool) -> Fraction:
        """Largest slope of a record's loss, at R / D."""
        return _at(self.clips_of_means, level) if of_means else self.clip

    def n_knots(self, level: float, n_features: int, of_means: bool) -> int:
        """Knots of an ordered feature's curve, at most, at R / D for D features."""
        if not of_means:
            return _at(self.knots, level)
        return _at(self.knots_of_means, level / max(1.0, n_features / self.few_features) ** 3)

    def determinant(self, level: float, of_means: bool) -> Fraction:
        """Share for the determinant, of what is left, at R / D."""
        return _at(self.determinant_shares_of_means, level) if of_means else self.determinant_share


def _check_clip(clip: Any, name: str) -> None:
    check_number(clip, name, 2.0**-10, 1)
    if not is_power_of_two(clip):
        raise ParameterError(name, clip, "must be a power of two from 2^-10 to 1", "Round it")


def _check_determinant(share: Any, name: str) -> None:
    check_part(share, name, below=Fraction(1, 2))


def _check_knots(number: Any, name: str) -> None:
    check_integer(number, name, 2)


def _check_steps(pairs: Any, name: str, check: Callable[[Any, str], object]) -> None:
    """Refuse what are no pairs of a level, from 0 upward, and a value that passes a check."""

    def check_pair(pair: Any, name: str) -> None:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ParameterTypeError(name, pair, "must be a pair", "Give a level and a value")
        check_number(pair[0], name, 0, math.inf)
        check(pair[1], name)

    check_each(pairs, name, check_pair)
    levels = [level for level, _ in pairs]
    if levels[0] != 0 or levels != sorted(set(levels)):
        rule = "must be pairs whose first numbers rise from 0"
        raise ParameterError(name, pairs, rule, "Put them in order")


def _at(pairs: tuple[tuple[float, Value], ...], level: float) -> Value:
    """The value of the last pair that begins at a level or below."""
    return [value for start, value in pairs if start <= level][-1]
