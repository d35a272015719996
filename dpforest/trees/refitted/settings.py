"""Choices of the refitted forest: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpforest.checks import (
    check_count,
    check_each,
    check_integer,
    check_kind,
    check_limit,
    check_norm,
    check_number,
    check_part,
    check_share,
)
from dpforest.exceptions import ParameterError
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.scored.clips import clip_of_targets

#: Below so many declared rows a fit is quick enough for more candidates, worth .1 of a point.
FEW_ROWS = 10_000
#: Leaves of a tree are numbered with 16 bits while residuals are summed.
MAX_DEPTH = 16
#: Settings that are whole numbers, and the least that each may be.
COUNTS = {
    "n_gradients": 1, "max_start_columns": 0, "max_bins": 1, "learnt_trees": 0,
    "correction_times": 0, "trees_together": 1,
}  # fmt: skip
#: Settings that are numbers above 0.
SIZES = (
    "step", "spread", "target_spread", "step_clip", "stretch", "stretch_of_many",
    "target_stretch", "scale",
)  # fmt: skip
#: Settings that are limits of R, or of declared records.
LIMITS = "start_signal", "learnt_rows", "clip_signal", "curve_signal"


@dataclass(frozen=True, slots=True)
class RefittedSize:
    """Depth of the trees, random trees to choose from in a round, and rounds.

    Raises
    ------
    ParameterError
        Where one is no whole number above 0, or trees are deeper than ``MAX_DEPTH``.
    """

    depth: int
    n_candidates: int
    n_rounds: int

    def __post_init__(self) -> None:
        """Check what kernels take for granted."""
        check_integer(self.depth, "depth", 1, MAX_DEPTH)
        check_count(self.n_candidates, "n_candidates")
        check_count(self.n_rounds, "n_rounds")


@dataclass(frozen=True, slots=True)
class RefittedSettings:
    """Shares of the budget, sizes by a public rule, and the rule of a step.

    Attributes
    ----------
    prior_share, quantile_share, start_share : Fraction
        Of the whole; the last two only where the part is run.
    selection_share : Fraction
        Of what is left for the rounds.
    gram_share : Fraction
        Of the linear start's.
    n_gradients : int
    start_signal : float
        Smallest R / (columns K / 2) for a linear start. Below, its share of the budget is worth
        more in trees (docs/tried.md).
    max_start_columns : int
        The Gram matrix has the square of that many entries.
    max_bins : int
    features_per_tree : tuple of int
        Features that a random tree may use, in turn over the candidates of a round. Trees on
        few features resolve those few, and one of many candidates has the right ones.
    learnt_share : float
        Of the weight by which a tree's features are drawn: the part that goes by what earlier
        trees found each feature to tell. The rest is the same for all.
    learnt_trees : int
        Trees before that, at least; and as many as have room for each feature once.
    learnt_rows : float
        Declared records from which it is done: of a few hundred, features seem to tell much that
        do not, and the many that tell a little are all worth a look.
    fixed_size : RefittedSize or None
        In place of the rule.
    step : float
        Share of a Newton step that is taken.
    clip, clip_of_much : Fraction
        Largest residual of two classes, and half of the L1 of more; the second of two classes from
        R = ``clip_signal`` on. What is added to sums is noise for the largest residual that there
        may be, and records that a forest has not told apart yet have one of a half: so a clip of
        a half leaves them whole and halves the noise. Where little noise is left, cutting costs
        more than it saves.
    norm_of_many : Fraction or None
        Largest L2 of the residuals of more than two classes, in clips: the root of 2 is reached
        where a record has all of its clip with one class, as few have, and Gaussian noise is for
        the largest. So a smaller one shortens few residuals, and saves noise. None, as in pure
        epsilon, leaves it at that.
    clip_signal : float
    clip_of_means, most_clip_of_means : Fraction
        Largest residual of a target, as a share of its range, up to
        R = ``clip_signal_of_means``, and anywhere; it grows with the root of R between.
    clip_signal_of_means : float
    curve_share, share_at_once : Fraction
        Of the whole: for the curves of single features that a regression begins with, made feature
        by feature, and at once.
    curve_signal : float
        Smallest R / sqrt(D) for them, by which each curve is known.
    curves : InTurnSettings
        How they are made, feature by feature.
    curves_at_once : AtOnceSettings
        How they are made in pure epsilon where all records are at hand.
    spread : float
        How far a node's Newton step is taken to differ from its parent's.
    target_spread : float
        The same for a regression, whose targets differ less than coins with their means.
    step_clip : float
        Largest log-odds of a whole Newton step.
    rare_share : float
        Of two classes: share p of the rarer one, at the scores that rounds begin with, below which
        steps count on the curvature p (1 - p) in place of 1/4. Leaves of so rare a class are told
        apart by far smaller sums: steps for 1/4 are too short, and take noise for what such
        leaves say.
    own_curvature_of_means : bool
        Whether a regression's steps count on that of its released mean between the bounds.
    scale : float
        What scores of two classes are multiplied by at the end, besides: clipped residuals do not
        hold them back where a record is far on the wrong side.
    stretch, stretch_of_many, target_stretch : float
        What the sum of all steps is multiplied by once the last is released: a limited number of
        small, shrunk steps ends before the records are explained. There is less to make up for
        from 120 rounds of two classes on, and in a regression.
    correction_times : int
        Corrections of each tree after the last round: it is picked and paid for, so a second
        answer of its leaves costs neither a pick among candidates nor the time of their sums.
    trees_together : int
        Trees that are corrected by one question: small steps hardly change what the next nine
        would be answered, and records are gone through once for all ten.
    confidence_share : Fraction
        Of the whole: for a look at how sure scores may be, where that says something; of classes
        alone.

    Raises
    ------
    ParameterError
        Where a setting is of another type, a number of ``COUNTS`` is below the least, a step, a
        spread or a factor is not above 0 or above 1000, a limit of R is negative, a clip or a share
        is not above 0, a clip is above 1, or shares leave nothing.
    """

    prior_share: Fraction = Fraction(2, 100)
    quantile_share: Fraction = Fraction(10, 100)
    start_share: Fraction = Fraction(15, 100)
    selection_share: Fraction = Fraction(20, 100)
    gram_share: Fraction = Fraction(30, 100)
    n_gradients: int = 6
    start_signal: float = 500.0
    max_start_columns: int = 512
    max_bins: int = 64
    features_per_tree: tuple[int, ...] = (3, 4, 4, 6)
    learnt_share: float = 0.5
    learnt_trees: int = 5
    learnt_rows: float = 2000.0
    fixed_size: RefittedSize | None = None
    step: float = 0.15
    spread: float = 0.8
    target_spread: float = 0.25
    step_clip: float = 3.0
    rare_share: float = 1 / 64
    own_curvature_of_means: bool = True
    clip: Fraction = Fraction(1, 2)
    clip_of_much: Fraction = Fraction(7, 10)
    norm_of_many: Fraction | None = Fraction(11, 10)
    clip_signal: float = 3000.0
    clip_of_means: Fraction = Fraction(1, 10)
    most_clip_of_means: Fraction = Fraction(1)
    clip_signal_of_means: float = 500.0
    curve_share: Fraction = Fraction(1, 2)
    share_at_once: Fraction = Fraction(4, 10)
    curve_signal: float = 7.0
    curves: InTurnSettings = field(default_factory=lambda: InTurnSettings(cycles=8))
    curves_at_once: AtOnceSettings = field(default_factory=AtOnceSettings)
    stretch: float = 1.2
    stretch_of_many: float = 1.1
    target_stretch: float = 1.1
    scale: float = 0.9
    correction_times: int = 1
    trees_together: int = 10
    confidence_share: Fraction = Fraction(2, 100)

    def __post_init__(self) -> None:
        """Check what the plan divides by, and what sums in 64 bits take for granted."""
        for name, least in COUNTS.items():
            check_integer(getattr(self, name), name, least)
        for name in SIZES:
            check_number(getattr(self, name), name, 0, 1000, closed=False)
        for name in LIMITS:
            check_limit(getattr(self, name), name)
        check_limit(self.clip_signal_of_means, "clip_signal_of_means", above_nothing=True)
        check_number(self.learnt_share, "learnt_share", 0, 1)
        check_number(self.rare_share, "rare_share", 0, 1)
        check_kind(self.own_curvature_of_means, "own_curvature_of_means", bool)
        check_each(self.features_per_tree, "features_per_tree", check_count)
        check_kind(self.fixed_size, "fixed_size", RefittedSize, optional=True)
        check_kind(self.curves, "curves", InTurnSettings)
        check_kind(self.curves_at_once, "curves_at_once", AtOnceSettings)
        self._check_shares()

    def _check_shares(self) -> None:
        for name in ("clip", "clip_of_much", "clip_of_means", "most_clip_of_means"):
            check_part(getattr(self, name), name, most=1)
        check_norm(self.norm_of_many, "norm_of_many")
        shares = "prior_share", "quantile_share", "start_share", "selection_share", "gram_share"
        for name in shares:
            check_part(getattr(self, name), name)
        check_share(self.confidence_share, "confidence_share")
        most = 1 - self.quantile_share - self.start_share - self.confidence_share
        if self.prior_share >= most:
            rule = f"must be below {most}, which quantiles, a start and a look at the scores leave"
            raise ParameterError("prior_share", self.prior_share, rule, "Give a smaller part")
        most = 1 - self.quantile_share
        for name in ("curve_share", "share_at_once"):
            check_part(getattr(self, name), name)
            if getattr(self, name) >= most:
                rule = f"must be above 0 and below {most}, which quantiles leave"
                raise ParameterError(name, getattr(self, name), rule, "Give a smaller part")

    def size(
        self, signal: float, rows: float, n_classes: int, of_means: bool = False
    ) -> RefittedSize:
        """Size by the public signal R sqrt(2 / K).

        Chosen by hand on nine tables: adult, car, chess_kr_vs_kp, connect_4, covertype, letter,
        magic, mushroom and nursery, so figures on these flatter it. With several classes
        residuals are fitted more slowly, so rounds grow earlier; more than 32 candidates are
        worth a tenth of a point of accuracy, and their time on small tables only.
        """
        if self.fixed_size is not None:
            return self.fixed_size
        level = signal * (2 / n_classes) ** 0.5
        n_candidates = 64 if rows < FEW_ROWS else 32
        if level < 900:
            return RefittedSize(4, n_candidates, 60)
        if n_classes == 2:
            return RefittedSize(6, n_candidates, 60 if level < 10_000 else 120)
        if level < 2500:
            return RefittedSize(5, n_candidates, 90)
        return RefittedSize(6 if level < 5000 else 8, n_candidates, 120)

    def clips(self, signal: float, n_classes: int, of_means: bool) -> Fraction:
        """Largest residual, or half of the L1 of several, by the public signal R."""
        if not of_means:
            return self.clip if n_classes > 2 or signal < self.clip_signal else self.clip_of_much
        ends = self.clip_of_means, self.most_clip_of_means
        return clip_of_targets(signal, self.clip_signal_of_means, *ends)

    def starts_with_curves(self, signal: float, n_features: int, of_means: bool) -> bool:
        """True if a regression's budget carries a curve for each feature."""
        return of_means and signal >= self.curve_signal * n_features**0.5

    def learnt_from(self, n_features: int, rows: float) -> float:
        """Trees after which features are drawn by what they told; endless where they never are."""
        if rows < self.learnt_rows:
            return math.inf
        in_a_tree = sum(self.features_per_tree) / len(self.features_per_tree)
        return max(self.learnt_trees, math.ceil(n_features / in_a_tree))

    def step_of(self, n_rounds: int, of_means: bool) -> float:
        """Share of a Newton step that is taken in each of so many rounds."""
        return self.step

    def counts_on_its_own(self, curvature: float, of_means: bool) -> bool:
        """True if steps of two classes, or of a target, count on that of the released beginning."""
        if of_means:
            return self.own_curvature_of_means
        return curvature < self.rare_share * (1.0 - self.rare_share)

    def selection_of(self, of_means: bool) -> Fraction:
        """Share of what is left for the rounds that draws among candidates."""
        return self.selection_share

    def scaled(self, n_classes: int, of_means: bool) -> float:
        """Factor of all scores."""
        return self.scale if n_classes == 2 and not of_means else 1.0

    def stretched(self, n_rounds: int, n_classes: int, of_means: bool) -> float:
        """Factor of the steps of so many rounds."""
        if of_means:
            return self.target_stretch
        return self.stretch_of_many if n_classes == 2 and n_rounds >= 120 else self.stretch

    def starts_linearly(self, signal: float, n_columns: int, n_classes: int) -> bool:
        """True if the budget carries a linear start."""
        if n_columns > self.max_start_columns:
            return False
        return signal >= self.start_signal * n_columns * n_classes / 2


@dataclass(frozen=True, slots=True)
class PureRefittedSettings(RefittedSettings):
    """Choices in pure epsilon, where every tree costs its share of it, so there are fewer.

    The attributes are those of `RefittedSettings`, with shares of epsilon, but for these.

    Attributes
    ----------
    step : float
        Over the root of the number of trees: share of a Newton step that is taken.
    curve_signal : float
        Smallest R / D for the curves of a regression.
    rounds_per_root : float
        Trees for each root of R sqrt(2 / K): noise in a tree grows with their number.
    least_rounds, most_rounds : int
        Bounds of that number.
    deep_signal : float
        R from which trees are deeper, where there are ``FEW_ROWS`` or more.
    target_size : RefittedSize
        Of a regression: after its curves a few trees say as much as more of them, and small ones
        do not follow their noise.
    target_deep_depth : int
        Depth of its trees from R = ``target_deep_signal`` on.
    target_deep_signal : float
        R of what is left of the budget after the curves.
    target_step, target_selection_share : float, Fraction
        Of a regression.
    own_curvature_of_means : bool
        Its few trees take long steps, which a smaller curvature would make wild ones.
    """

    quantile_share: Fraction = Fraction(4, 100)
    selection_share: Fraction = Fraction(30, 100)
    norm_of_many: Fraction | None = None
    step: float = 1.6
    own_curvature_of_means: bool = False
    curve_signal: float = 12.0
    correction_times: int = 0
    rounds_per_root: float = 0.2
    least_rounds: int = 8
    most_rounds: int = 60
    deep_signal: float = 1e5
    target_size: RefittedSize = RefittedSize(5, 64, 4)  # noqa: RUF009 - it is frozen
    target_deep_depth: int = 6
    target_deep_signal: float = 1e4
    target_step: float = 0.7
    target_selection_share: Fraction = Fraction(50, 100)

    def __post_init__(self) -> None:
        """Check what the plan divides by, besides."""
        RefittedSettings.__post_init__(self)
        check_integer(self.least_rounds, "least_rounds", 1)
        check_integer(self.most_rounds, "most_rounds", self.least_rounds)
        check_part(self.target_selection_share, "target_selection_share")
        check_kind(self.target_size, "target_size", RefittedSize)
        check_integer(self.target_deep_depth, "target_deep_depth", 1, MAX_DEPTH)
        for name in ("rounds_per_root", "target_step"):
            check_number(getattr(self, name), name, 0, 1000, closed=False)
        for name in ("deep_signal", "target_deep_signal"):
            check_limit(getattr(self, name), name)

    def size(
        self, signal: float, rows: float, n_classes: int, of_means: bool = False
    ) -> RefittedSize:
        """Rounds by the public signal R sqrt(2 / K); docs/tried.md has the runs."""
        if self.fixed_size is not None:
            return self.fixed_size
        if of_means:
            deep = replace(self.target_size, depth=self.target_deep_depth)
            return deep if signal >= self.target_deep_signal else self.target_size
        wanted = round(self.rounds_per_root * (signal * (2 / n_classes) ** 0.5) ** 0.5)
        n_rounds = min(max(wanted, self.least_rounds), self.most_rounds)
        if rows < FEW_ROWS:
            return RefittedSize(6, 64, n_rounds)
        return RefittedSize(8 if signal >= self.deep_signal else 6, 32, n_rounds)

    def step_of(self, n_rounds: int, of_means: bool) -> float:
        """Share of a Newton step: the sum of all grows with the root of their number."""
        return self.target_step if of_means else self.step / n_rounds**0.5

    def selection_of(self, of_means: bool) -> Fraction:
        """Share of what is left for the rounds that draws among candidates."""
        return self.target_selection_share if of_means else self.selection_share

    def starts_with_curves(self, signal: float, n_features: int, of_means: bool) -> bool:
        """True if a regression's budget carries a curve for each feature: noise adds up in R."""
        return of_means and signal >= self.curve_signal * n_features

    def starts_linearly(self, signal: float, n_columns: int, n_classes: int) -> bool:
        """Never: second moments of all pairs of columns move by too much in pure epsilon."""
        return False
