"""Choices of the boosted forest: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from dpforest.checks import (
    check_count,
    check_integer,
    check_kind,
    check_limit,
    check_norm,
    check_number,
    check_part,
    check_share,
)
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.columns import are_quick
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.in_turn.settings import InTurnSettings

#: Depth of the deepest tree.
MAX_DEPTH = 16
#: Bytes that the sums of one level may take.
MEMORY_LIMIT = 2**30
#: Settings that are numbers above 0.
SIZES = (
    "downward", "node_downward", "step", "spread", "weighted_spread", "step_clip",
    "correction_step",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoostedSize:
    """Depth of the trees, and rounds.

    Attributes
    ----------
    depth, n_rounds : int
    wanted_depth : int
        What the budget and the table carry; above ``depth`` where something else ends it.

    Raises
    ------
    ParameterError
        Where one is no whole number, trees are deeper than ``MAX_DEPTH``, or there is no round.
    """

    depth: int
    n_rounds: int
    wanted_depth: int = 0

    def __post_init__(self) -> None:
        """Check what memory takes for granted."""
        check_integer(self.depth, "depth", 1, MAX_DEPTH)
        check_count(self.n_rounds, "n_rounds")
        check_integer(self.wanted_depth, "wanted_depth", 0)


@dataclass(frozen=True, slots=True)
class BoostedSettings:
    """Shares of rho, sizes by a public rule, and the rule of a step.

    Attributes
    ----------
    prior_share, quantile_share : Fraction
        Of the whole; the second only where quantiles are bought.
    selection_share, node_share : Fraction
        Of what is left for the rounds; the rest is for leaves.
    first_share : Fraction
        Of what is left for the rounds: for a first tree on class counts, of more than two classes.
    correction_share : Fraction
        Of what is left after a first tree: for corrections of leaves after the last round, of more
        than two classes. Splits are what costs most, and so every tree serves several times.
    confidence_share : Fraction
        Of the whole: for a look at how sure scores may be, where that says something, of more than
        two classes.
    downward : float
        What a level spends on its splits, as a multiple of the level above. 1 with a delta: a list
        of equal selections is one that can be composed as a whole, which is worth more than
        spending on the levels where it would serve most.
    node_downward : float
        The same for the sums of its nodes: where they are large, much noise does them no harm.
    max_bins : int
    weighted : bool
        Whether records of two classes are weighted, so that each has a residual of up to 1, in
        place of clipped. Such residuals say more of records that may well be of either class, and
        are 0 in the mean where probabilities are right.
    clip, clip_of_many : Fraction
        Largest residual of up to three classes, unless they are weighted; half of their L1 where
        there are three, and of more classes.
    norm_of_many : Fraction or None
        Largest L2 of the residuals of more than two classes, in clips: the root of 2 is reached
        where a record has all of its clip with one class, as few have, and Gaussian noise is for
        the largest. So a smaller one shortens few residuals, and saves noise. None, as in pure
        epsilon, leaves it at that.
    clip_of_means : Fraction
        Largest residual of a target, as a share of its range: most are small.
    curvature, curvature_of_many, mass : Fraction
        What a curvature and a record count for beside a residual of 1; in a regression the first
        beside its largest residual, and ``mass_of_means`` too, since all three share the noise.
        Of records that are weighted, ``weighted_curvature`` and ``weighted_mass``.
    mass_of_means, weighted_curvature, weighted_mass : Fraction
    curve_share, share_at_once : Fraction
        Of the whole: for curves of single features that come first, of a regression and in pure
        epsilon of two classes; made feature by feature, and at once.
    curve_signal : float
        Smallest R / sqrt(D) for those of a regression, by which each curve is known.
    curves : InTurnSettings
        How they are made, feature by feature.
    curves_at_once : AtOnceSettings
        How they are made in pure epsilon where all records are at hand.
    fixed_size : BoostedSize or None
        In place of the rule.
    step : float
        Share of a Newton step that is taken, times the root of the number of rounds.
    spread, weighted_spread : float
        How far a node's Newton step is taken to differ from its parent's; where records are
        weighted.
    step_clip : float
        Largest log-odds of a whole Newton step.
    correction_step : float
        Share of a Newton step that a correction takes.
    correction_times : int
        Corrections of each tree; where it is 0 nothing is set aside for them.

    Raises
    ------
    ParameterError
        Where a setting is of another type, ``correction_times`` or a limit of R is below 0,
        ``max_bins`` is below 1, a share is none, shares leave nothing, a multiple, a spread or a
        step is not above 0 or not finite, or a clip, a curvature or a mass is not above 0 and at
        most 1: so scores of fewer than 2**31 records are exact in doubles, and sums in 64 bits.
    """

    prior_share: Fraction = Fraction(1, 100)
    quantile_share: Fraction = Fraction(2, 100)
    selection_share: Fraction = Fraction(55, 100)
    node_share: Fraction = Fraction(17, 100)
    first_share: Fraction = Fraction(0)
    correction_share: Fraction = Fraction(30, 100)
    confidence_share: Fraction = Fraction(2, 100)
    downward: float = 1.0
    node_downward: float = 1.5
    max_bins: int = 48
    weighted: bool = True
    clip: Fraction = Fraction(7, 10)
    clip_of_many: Fraction = Fraction(1, 2)
    norm_of_many: Fraction | None = Fraction(12, 10)
    clip_of_means: Fraction = Fraction(2, 10)
    curvature: Fraction = Fraction(1)
    curvature_of_many: Fraction = Fraction(1, 2)
    mass: Fraction = Fraction(1, 10)
    mass_of_means: Fraction = Fraction(2, 10)
    weighted_curvature: Fraction = Fraction(1, 2)
    weighted_mass: Fraction = Fraction(15, 100)
    curve_share: Fraction = Fraction(25, 100)
    share_at_once: Fraction = Fraction(25, 100)
    curve_signal: float = 7.0
    curves: InTurnSettings = field(default_factory=lambda: InTurnSettings(cycles=8))
    curves_at_once: AtOnceSettings = field(default_factory=AtOnceSettings)
    fixed_size: BoostedSize | None = None
    step: float = 1.5
    spread: float = 1.0
    weighted_spread: float = 0.7
    step_clip: float = 3.0
    correction_step: float = 0.3
    correction_times: int = 2

    def __post_init__(self) -> None:
        """Check what sums, scores and prices take for granted."""
        parts = "clip", "clip_of_many", "clip_of_means", "curvature", "curvature_of_many", "mass"
        for name in (*parts, "mass_of_means", "weighted_curvature", "weighted_mass"):
            check_part(getattr(self, name), name, most=1)
        check_norm(self.norm_of_many, "norm_of_many")
        for name in ("first_share", "correction_share", "confidence_share"):
            check_share(getattr(self, name), name)
        for name in ("prior_share", "quantile_share"):
            check_part(getattr(self, name), name)
        first = self.prior_share + self.quantile_share + self.confidence_share
        check_part(first, "prior_share + quantile_share + confidence_share")
        for name in ("curve_share", "share_at_once"):
            check_part(getattr(self, name), name)
            check_part(getattr(self, name) + self.quantile_share, f"{name} + quantile_share")
        check_part(self.selection_share, "selection_share")
        check_part(self.node_share, "node_share")
        check_part(self.selection_share + self.node_share, "selection_share + node_share")
        for name in SIZES:
            check_number(getattr(self, name), name, 0, 1000, closed=False)
        check_limit(self.curve_signal, "curve_signal")
        check_count(self.max_bins, "max_bins")
        check_integer(self.correction_times, "correction_times", 0)
        check_kind(self.weighted, "weighted", bool)
        check_kind(self.curves, "curves", InTurnSettings)
        check_kind(self.curves_at_once, "curves_at_once", AtOnceSettings)
        check_kind(self.fixed_size, "fixed_size", BoostedSize, optional=True)

    def size(
        self,
        signal: float,
        n_features: int,
        n_cells: int,
        n_classes: int,
        of_means: bool = False,
        begun: bool = False,
    ) -> BoostedSize:
        """Size by the public signal R, as deep as the sums of a level fit in memory.

        Chosen by hand; docs/tried.md names the tables, so figures on these flatter it.

        Parameters
        ----------
        signal : float
        n_features : int
        n_cells : int
            Bins of all features, at most.
        n_classes : int
        of_means : bool
            Whether it is a regression.
        begun : bool
            Whether curves came first; the signal is that of what they leave.
        """
        if self.fixed_size is not None:
            return self.fixed_size
        wanted = self.depth(signal, n_features, n_classes, of_means)
        most = int(math.log2(MEMORY_LIMIT / (8 * n_cells * (n_classes + 4)))) + 1
        depth = max(1, min(wanted, most, MAX_DEPTH))
        rounds = self.rounds(signal, n_classes, begun and not of_means)
        return BoostedSize(depth, rounds, wanted)

    def depth(self, signal: float, n_features: int, n_classes: int, of_means: bool = False) -> int:
        """Depth by the public signal R, wherever memory allows it.

        Two classes often differ by many weak effects, which small trees add up; the fewer features
        there are, the more must be in what several of them say together. Of a target curves have
        said what each says alone, and labels are less noisy than coins: depth grows faster.
        """
        bits = math.log2(max(signal, 1.0))
        few = math.log2(20 / min(n_features, 28))
        if of_means:
            return max(2, round(1.25 * bits - 10.1 + few))
        if n_classes == 2:
            return max(2, round(0.7 * bits - 4.1 + few))
        return max(4, round(1.25 * bits - 9.7))

    def rounds(self, signal: float, n_classes: int, after_curves: bool = False) -> int:
        """Rounds by the public signal R, and whether curves of classes came first."""
        if n_classes == 2:
            return max(16, round(24 * (signal / 1e4) ** 0.15))
        return max(24, round(24 * (signal / 1e5) ** 0.3))

    def first(self, n_classes: int) -> Fraction:
        """Share of a first tree on class counts."""
        return self.first_share if n_classes > 2 else Fraction(0)

    def corrections(self, n_classes: int) -> Fraction:
        """Share of corrections of leaves."""
        corrects = n_classes > 2 and self.correction_times
        return self.correction_share if corrects else Fraction(0)

    def confidence(self, n_classes: int) -> Fraction:
        """Share of the look at how sure scores may be; those of two classes are sure enough."""
        return self.confidence_share if n_classes > 2 else Fraction(0)

    def starts_with_curves(self, signal: float, facts: TableFacts) -> bool:
        """True if a regression's budget carries a curve for each feature."""
        return facts.is_regression and signal >= self.curve_signal * facts.n_features**0.5

    def weighs(self, n_classes: int, of_means: bool) -> bool:
        """True if records are weighted."""
        return self.weighted and n_classes == 2 and not of_means

    def spread_of(self, weighted: bool) -> float:
        """Difference that a node's step is taken to have from its parent's."""
        return self.weighted_spread if weighted else self.spread

    def scales(self, n_classes: int, of_means: bool) -> tuple[Fraction, Fraction, Fraction]:
        """Largest residual, and what a curvature and a record count for."""
        if of_means:
            clip = self.clip_of_means
            return clip, clip * self.curvature, clip * self.mass_of_means
        if self.weighs(n_classes, of_means):
            return Fraction(1), self.weighted_curvature, self.weighted_mass
        clip = self.clip_of_many if n_classes > 3 else self.clip
        return clip, self.curvature_of_many if n_classes > 2 else self.curvature, self.mass


@dataclass(frozen=True, slots=True)
class PureSettings(BoostedSettings):
    """Choices in pure epsilon, where every tree costs its share of it: few trees, the first deep.

    The attributes are those of `BoostedSettings`, with shares of epsilon, but for this.

    Attributes
    ----------
    curve_signal, curve_signal_of_classes : float
        Smallest R / D for the curves of a regression, and of two classes.
    curve_features : int
        Smallest number of features of two classes for them: trees tell of fewer as well.
    """

    prior_share: Fraction = Fraction(2, 100)
    quantile_share: Fraction = Fraction(4, 100)
    selection_share: Fraction = Fraction(60, 100)
    weighted: bool = False
    norm_of_many: Fraction | None = None
    first_share: Fraction = Fraction(50, 100)
    correction_share: Fraction = Fraction(0)
    downward: float = 1.5
    max_bins: int = 32
    step: float = 1.2
    spread: float = 0.6
    curve_signal: float = 12.0
    curve_signal_of_classes: float = 1000.0
    curve_features: int = 4

    def __post_init__(self) -> None:
        """Check when curves come first, besides."""
        BoostedSettings.__post_init__(self)
        check_limit(self.curve_signal_of_classes, "curve_signal_of_classes")
        check_count(self.curve_features, "curve_features")

    def depth(self, signal: float, n_features: int, n_classes: int, of_means: bool = False) -> int:
        """Depth by the public signal R, wherever memory allows it.

        Of two classes, as with a delta, the deeper the fewer features there are.
        """
        bits = math.log2(max(signal, 1.0))
        if n_classes == 2:
            return max(2, round(bits - 9.5 + math.log2(10 / min(max(n_features, 4), 28))))
        return max(3, round(bits - 7.8))

    def rounds(self, signal: float, n_classes: int, after_curves: bool = False) -> int:
        """Trees, beside the first one on counts; after curves of classes there is less to say."""
        if n_classes > 2:
            return 2
        return 4 if after_curves else 6

    def starts_with_curves(self, signal: float, facts: TableFacts) -> bool:
        """True if the budget carries a curve for each feature: noise adds up in R.

        Of two classes they come at once or not at all.
        """
        if facts.is_regression:
            return signal >= self.curve_signal * facts.n_features
        if facts.n_classes > 2 or facts.n_features < self.curve_features:
            return False
        known = signal >= self.curve_signal_of_classes * facts.n_features
        return known and facts.in_memory and are_quick(facts)
