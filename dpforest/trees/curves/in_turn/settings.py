"""Choices of curves in turn: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.checks import (
    check_count,
    check_each,
    check_norm,
    check_number,
    check_part,
    check_size,
)
from dpforest.trees.scored.clips import clip_of_targets

#: Questions that a training with a delta asks, about.
MOST_STEPS = 1000
#: Settings that are shares of the budget.
SHARES = "prior_share", "count_share", "pure_count_share"
#: Settings that are shares of the largest residual that there may be.
CLIPS = "clip", "clip_of_much", "clip_of_means", "most_clip_of_means"
#: Settings that are whole numbers, and those that are numbers above 0.
COUNTS = "cycles", "pure_cycles", "max_bins", "few_cycles", "few_pure_cycles", "few_bins"
SIZES = (
    "scale", "scale_of_means", "length", "least", "most", "clip_strength", "mean_signal",
    "bend_signal", "pure_bend_signal", "much_strength",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class InTurnSettings:
    """Shares of the budget, cycles, and scales that curves are expected to have.

    Attributes
    ----------
    prior_share, count_share, pure_count_share : Fraction
        Of the whole: for the class shares or the mean, and for records by bins, with a delta and in
        pure epsilon.
    mean_signal : float
        R that the mean of a target gets, at least; at most half of the budget.
    clip, clip_of_much : Fraction
        Largest residual of two classes, and half of the L1 of more; the second where curves have a
        strength of ``much_strength`` or more. Records that nothing is known of have residuals of a
        half, so a clip of a half lets in the less noise and leaves them whole.
    norm_of_many : Fraction or None
        Largest L2 of the residuals of more than two classes, in clips: the root of 2 is reached
        where a record has all of its clip with one class, as few have, and Gaussian noise is for
        the largest. So a smaller one shortens few residuals, and saves noise. None leaves it at
        that, as it always is in pure epsilon.
    much_strength : float
    clip_of_means, most_clip_of_means : Fraction
        Largest residual of a target, as a share of its range, where curves have a strength
        of ``clip_strength`` or less, and anywhere. A small clip lets in little noise, and most
        residuals of targets are small; a larger one draws to the mean rather than to the median.
    clip_strength : float
    cycles, pure_cycles : int
        How often each feature is asked for, where features are few; with a delta, and in pure
        epsilon.
    max_bins : int
    few_cycles, few_pure_cycles, few_bins : int
        The same, at most, where curves are hardly known: then little noise in few bins is worth
        more than bends, and than asking again.
    bend_signal, pure_bend_signal : float
        R / sqrt(D), and in pure epsilon R / D, from which they are known.
    scale, scale_of_means : float
        Standard deviation of a curve, in log-odds, before anything is known: one of these times
        ``factors``, which one the released sums themselves say.
    factors : tuple of float
    length : float
        Of its bends, where a feature's bins span 2.
    line : float
        Share of its variance that is a straight line.
    least : float
        Of an even share of the records that a bin is taken to hold at least.
    most : float
        Largest value of a curve, in log-odds.

    Raises
    ------
    ParameterError
        Where a number has no meaning.
    """

    prior_share: Fraction = Fraction(2, 100)
    count_share: Fraction = Fraction(5, 100)
    pure_count_share: Fraction = Fraction(10, 100)
    mean_signal: float = 100.0
    clip: Fraction = Fraction(1, 2)
    clip_of_much: Fraction = Fraction(7, 10)
    norm_of_many: Fraction | None = Fraction(11, 10)
    much_strength: float = 150.0
    clip_of_means: Fraction = Fraction(6, 100)
    most_clip_of_means: Fraction = Fraction(20, 100)
    clip_strength: float = 30.0
    cycles: int = 16
    pure_cycles: int = 3
    max_bins: int = 32
    few_cycles: int = 4
    few_pure_cycles: int = 1
    few_bins: int = 8
    bend_signal: float = 50.0
    pure_bend_signal: float = 80.0
    scale: float = 1.0
    scale_of_means: float = 0.3
    factors: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0, 2.0)
    length: float = 0.5
    line: float = 0.3
    least: float = 0.1
    most: float = 8.0

    def __post_init__(self) -> None:
        """Check what kernels, plans and sums take for granted."""
        for name in SHARES:
            check_part(getattr(self, name), name, below=Fraction(1, 4))
        for name in CLIPS:
            check_part(getattr(self, name), name, most=1)
        check_norm(self.norm_of_many, "norm_of_many")
        for name in COUNTS:
            check_count(getattr(self, name), name)
        for name in SIZES:
            check_number(getattr(self, name), name, 0, 1e6, closed=False)
        check_each(self.factors, "factors", check_size)
        check_number(self.line, "line", 0, 1)

    def strength(self, signal: float, n_features: int, pure: bool) -> float:
        """R by which each feature's curve is known once all cycles are done.

        The noise on its sums grows with the root of the number of sums, in pure epsilon with the
        number itself; their mean over cycles has the root of these less.
        """
        if pure:
            return signal / (n_features * self.n_cycles(signal, n_features, pure) ** 0.5)
        return signal / n_features**0.5

    def clips(self, strength: float, of_means: bool) -> Fraction:
        """Largest residual."""
        if not of_means:
            return self.clip if strength < self.much_strength else self.clip_of_much
        ends = self.clip_of_means, self.most_clip_of_means
        return clip_of_targets(strength, self.clip_strength, *ends)

    def knows_bends(self, signal: float, n_features: int, pure: bool) -> bool:
        """True if the budget carries more than the rough run of each feature's curve."""
        if pure:
            return signal / n_features >= self.pure_bend_signal
        return signal / n_features**0.5 >= self.bend_signal

    def n_bins(self, signal: float, n_features: int, pure: bool) -> int:
        """Bins of a feature, at most."""
        known = self.knows_bends(signal, n_features, pure)
        return self.max_bins if known else min(self.few_bins, self.max_bins)

    def n_cycles(self, signal: float, n_features: int, pure: bool) -> int:
        """Times that each feature is asked for."""
        known = self.knows_bends(signal, n_features, pure)
        if pure:
            return self.pure_cycles if known else min(self.few_pure_cycles, self.pure_cycles)
        cycles = self.cycles if known else min(self.few_cycles, self.cycles)
        return max(min(cycles, MOST_STEPS // n_features), min(2, cycles))

    def prior(self, signal: float, of_means: bool, pure: bool) -> Fraction:
        """Share of the first release: enough for a mean, which all else is added to."""
        if not of_means:
            return self.prior_share
        part = min(self.mean_signal / max(signal, 1.0), 1.0)
        wanted = Fraction(part if pure else part**2).limit_denominator(1000)
        return min(max(wanted, self.prior_share), Fraction(1, 2))
