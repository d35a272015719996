"""Choices of curves at once: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpforest.checks import check_setting
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

    def __post_init__(self) -> None:
        """Check what plans and mechanisms take for granted."""
        for name in ("prior_share", "most_prior_share"):
            check_setting(name, getattr(self, name), 0 < getattr(self, name) < 1, "between 0 and 1")
        check_setting(
            "mean_signal", self.mean_signal, 0 < self.mean_signal < 1e6, "above 0, and finite"
        )
        check_setting("clip", self.clip, _is_power(self.clip), _POWER)
        share = self.determinant_share
        check_setting("determinant_share", share, _is_small(share), "between 0 and 1/2")
        for name, fine, rule in (
            ("determinant_shares_of_means", _is_small, "between 0 and 1/2"),
            ("clips_of_means", _is_power, _POWER),
            ("knots", lambda n: n >= 2, "at least 2"),
            ("knots_of_means", lambda n: n >= 2, "at least 2"),
        ):
            pairs = getattr(self, name)
            starts = [start for start, _ in pairs]
            rising = bool(starts) and starts[0] == 0.0 and starts == sorted(set(starts))
            words = f"pairs whose first numbers rise from 0, and whose second are {rule}"
            check_setting(name, pairs, rising and all(fine(value) for _, value in pairs), words)

    def prior(self, signal: float, of_means: bool) -> Fraction:
        """Share for the class shares, or for a mean."""
        if not of_means or not signal:
            return self.prior_share
        wanted = Fraction(self.mean_signal / signal).limit_denominator(1000)
        return max(self.prior_share, min(wanted, self.most_prior_share))

    def clip_at(self, level: float, of_means: bool) -> Fraction:
        """Largest slope of a record's loss, at R / D."""
        return _at(self.clips_of_means, level) if of_means else self.clip

    def n_knots(self, level: float, of_means: bool) -> int:
        """Knots of an ordered feature's curve, at most, at R / D."""
        return _at(self.knots_of_means if of_means else self.knots, level)

    def determinant(self, level: float, of_means: bool) -> Fraction:
        """Share for the determinant, of what is left, at R / D."""
        return _at(self.determinant_shares_of_means, level) if of_means else self.determinant_share


_POWER = "a power of two from 2^-10 to 1"


def _is_small(share: Fraction) -> bool:
    return 0 < share < Fraction(1, 2)


def _is_power(clip: Fraction) -> bool:
    return 2.0**-10 <= clip <= 1 and is_power_of_two(clip)


def _at(pairs: tuple[tuple[float, Value], ...], level: float) -> Value:
    """The value of the last pair that begins at a level or below."""
    return [value for start, value in pairs if start <= level][-1]
