"""Choices of the one-shot forest: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.checks import (
    check_count,
    check_each,
    check_integer,
    check_kind,
    check_limit,
    check_number,
    check_part,
    check_size,
)
from dpforest.exceptions import ParameterError
from dpforest.trees.random.trees import MAX_DEPTH

#: Bins of the calibration's histogram.
N_SCORE_BINS = 16
#: Settings that are shares of the budget, beside that of quantiles.
SHARES = "histogram_share", "selection_share", "prior_share"
#: Settings that are numbers above 0.
SIZES = "mean_signal", "expected_slope", "full_signal", "most_slope", "slope_classes", "strength"


@dataclass(frozen=True, slots=True)
class OneShotSize:
    """Numbers of trees, of levels, and of features of its own that each tree has, in turn.

    Raises
    ------
    ParameterError
        Where one is no whole number above 0, or trees are deeper than ``MAX_DEPTH``.
    """

    n_trees: int
    depth: int
    features_per_tree: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check what trees are drawn by."""
        check_count(self.n_trees, "n_trees")
        check_integer(self.depth, "depth", 1, MAX_DEPTH)
        check_each(self.features_per_tree, "features_per_tree", check_count)


def size_by_rule(n_features: int, n_classes: int, signal: float, concentrated: bool) -> OneShotSize:
    """Size by the number of features D, K and R, all public.

    A pass uses every feature once. In pure epsilon-DP the noise grows with the number of trees,
    so one pass over pairs is the rule, over triples where there are many features, and more
    passes only where the signal carries them. Discrete Gaussian noise grows with its root.

    Parameters
    ----------
    n_features, n_classes : int
    signal : float
        R.
    concentrated : bool
        Whether the noise is Gaussian.
    """
    own = (2,) if n_features <= 16 else (2, 3) if n_features <= 30 else (3,)
    depth = 7 if n_features <= 16 else 9
    by_feature = signal / n_features
    passes = 2 if concentrated or by_feature >= 300.0 else 1
    if by_feature >= (1000.0 if concentrated else 3000.0):
        own, depth, passes = (3,), 9, 4
    elif n_features <= 16 and n_classes > 2 and by_feature < 37.5 * n_classes:
        # Too little for pairs: a leaf's counts are divided among the classes. A second tree on
        # the same single feature would say nothing new.
        own, depth, passes = (1,), 9, 1
    elif n_features <= 16 and by_feature < 150.0:
        depth = 5
    n_trees = math.ceil(passes * n_features * len(own) / sum(own))
    return OneShotSize(n_trees, depth, own)


@dataclass(frozen=True, slots=True)
class OneShotSettings:
    """Shares of the budget, sizes by a public rule, and the constants of what follows.

    Attributes
    ----------
    quantile_share : Fraction
        Of the whole, where quantiles are affordable.
    histogram_share, selection_share : Fraction
        Of the whole, for the calibration of two classes and of more.
    histogram_signal, selection_signal : float
        Smallest R for which a calibration is bought.
    prior_share : Fraction
        Of the whole, for a class histogram where no calibration is bought.
    mean_signal : float
        R that is spent on the mean of a regression's targets: there its noise is one part in so
        many of their range. The rest is for leaves.
    leaf_signal : float
        Smallest R for which leaves of a regression are counted; below it the mean is all.
    median_signals : tuple of two floats
        Between these R, in pure epsilon-DP, a median of a regression's targets is drawn in place
        of their mean: there the mean's noise is larger than what targets spread over. Below,
        neither says much, and a noisy mean keeps to the middle of the bounds.
    target_histogram_signal : float
        In place of ``histogram_signal`` for a regression.
    target_spread : float
        Variance that a regression's targets are taken to have, over that of coins with the same
        mean: noise weighs so much more.
    expected_slope : float
        Of the scaled score, before a calibration has looked at it.
    full_signal : float
        Released R from which that is expected; less below, down to nothing, the prior.
    most_slope, slope_classes : float
        Largest slope of more than two classes where no calibration looks at it, and the number of
        classes from which it falls: noise in the scores of all classes makes one of them stand
        out, more often the more there are.
    max_bins : int
    fixed_size : OneShotSize or None
        In place of `size_by_rule`.
    strength : float
        Pseudo-count of a node's parent in the shrinkage.

    Raises
    ------
    ParameterError
        Where a share is none, shares or the mean of a target leave nothing for leaves, or a number
        has no meaning.
    """

    quantile_share: Fraction = Fraction(10, 100)
    histogram_share: Fraction = Fraction(10, 100)
    selection_share: Fraction = Fraction(4, 100)
    histogram_signal: float = 150.0
    selection_signal: float = 500.0
    prior_share: Fraction = Fraction(10, 100)
    mean_signal: float = 100.0
    leaf_signal: float = 150.0
    median_signals: tuple[float, float] = (6.0, 30.0)
    target_histogram_signal: float = 400.0
    target_spread: float = 0.15
    expected_slope: float = 2.0
    full_signal: float = 600.0
    most_slope: float = 0.8
    slope_classes: float = 5.0
    max_bins: int = 32
    fixed_size: OneShotSize | None = None
    strength: float = 10.0

    def __post_init__(self) -> None:
        """Check what plans and scores take for granted."""
        check_part(self.quantile_share, "quantile_share")
        for name in SHARES:
            check_part(getattr(self, name), name)
            check_part(getattr(self, name) + self.quantile_share, f"{name} + quantile_share")
        for name in SIZES:
            check_size(getattr(self, name), name)
        for name in ("histogram_signal", "selection_signal", "target_histogram_signal"):
            check_limit(getattr(self, name), name)
        check_limit(self.leaf_signal, "leaf_signal", above_nothing=True)
        check_number(self.target_spread, "target_spread", 0, 1, closed=False)
        check_count(self.max_bins, "max_bins")
        check_kind(self.fixed_size, "fixed_size", OneShotSize, optional=True)
        check_each(self.median_signals, "median_signals", check_limit, least=2)
        if list(self.median_signals) != sorted(self.median_signals[:2]):
            rule = "must be two numbers, the smaller one first"
            raise ParameterError("median_signals", self.median_signals, rule, "Put them in order")
        self._check_means()

    def _check_means(self) -> None:
        """Refuse what a mean, quantiles and a histogram would leave nothing of for leaves."""
        words = "mean_signal / leaf_signal + quantile_share"
        check_part(self.mean_share(self.leaf_signal) + self.quantile_share, words)
        signal = max(self.leaf_signal, self.target_histogram_signal)
        left = self.mean_share(signal) + self.quantile_share + self.histogram_share
        words = "mean_signal / target_histogram_signal + quantile_share + histogram_share"
        check_part(left, words)

    def slope(self, released_signal: float) -> float:
        """Slope that is expected; a model of noise alone says the prior."""
        return self.expected_slope * min(max(released_signal, 0.0) / self.full_signal, 1.0)

    def tempering(self, slope: float, n_classes: int) -> float:
        """Factor of a slope and of the log prior that nothing looked at; labels stay as they are.

        Found on 46 tables of more than two classes, R from 60 to 450 (docs/tried.md).
        """
        if n_classes == 2:
            return 1.0
        most = self.most_slope * min(1.0, self.slope_classes / n_classes)
        return most / max(slope, most)

    def target_signal(self, released_signal: float, mean: float) -> float:
        """R as targets of a released mean in (0, 1) make it: their spread over that of even coins.

        Targets near a bound cannot be far apart.
        """
        return released_signal * 2.0 * math.sqrt(self.target_spread * mean * (1.0 - mean))

    def mean_share(self, signal: float) -> Fraction:
        """Share of the whole for the mean of a regression's targets, at this R; 1 where it is all.

        The spread of targets is a small part of their range, so a mean that is off by less than
        the spread of a class would be off by all that leaves could explain.
        """
        if signal < self.leaf_signal:
            return Fraction(1)
        share = Fraction(self.mean_signal / signal).limit_denominator(1000)
        return max(share, self.prior_share)

    def draws_median(self, signal: float) -> bool:
        """True if all of a pure budget goes for a median of a regression's targets."""
        return self.median_signals[0] <= signal < self.median_signals[1]

    def bound_over_even(self, signal: float) -> float:
        """Limit on how much worse than even shares a log probability may look to the selection.

        A small bound sharpens the draw and hides overconfidence; a large budget needs neither.
        """
        return min(max(signal / 1500.0, 4.0), 6.0)

    def size(
        self, n_features: int, n_classes: int, signal: float, concentrated: bool
    ) -> OneShotSize:
        """The fixed size, or the rule's."""
        if self.fixed_size is not None:
            return self.fixed_size
        return size_by_rule(n_features, n_classes, signal, concentrated)
