"""Ranges of what a fit is likely to gain over the best constant, from public figures alone.

The gain is accuracy less the share of the most frequent class, or R² of a regression. The figures
below were found on a suite of tables, so that a range holds in about 85 % of their fits. On other
tables it held in 94 %. docs/forecast_results.md has both, and
benchmarks/forecast.py makes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.accounting.releases import LearnerBudget
from dpforest.estimators.claims import ClaimedGain
from dpforest.estimators.fit_plan import HOPELESS_SIGNAL, FitPlan
from dpforest.trees.base import MEDIAN_ROLE, PRIOR_ROLE
from dpforest.trees.curves.at_once.sizes import Role as AtOnceRole

Range = tuple[float, float]
#: Coefficients of both ends of a range: a constant, then one a figure.
Ends = tuple[tuple[float, ...], tuple[float, ...]]

#: Tenfold steps of R beyond which nobody can tell from R how much more is learnt.
MOST_LEVEL = 3.0
#: Of a plan that releases a constant alone, which gains nothing over the best one.
CLASSES_CONSTANT: Ends = ((-0.295,), (0.0,))
MEANS_CONSTANT: Ends = ((-0.229,), (0.0,))
#: Before a fit, by `PublicFigures.level`; of classes in parts of 1 - 1 / K.
CLASSES_PLANNED: Ends = ((-0.035, 0.015), (0.614, 0.091))
MEANS_PLANNED: Ends = ((-0.52, 0.201), (0.061, 0.302))
#: After it, of classes by what the model tells and whether it is a refitted forest, which tells
#: too little; of means by `by_spread`.
CLASSES_TOLD: Ends = ((-0.099, 0.918, 0.093), (0.12, 1.145, 0.101))
MEANS_TOLD: Ends = ((-0.142, -0.079, 0.72, -0.93), (-0.065, 3.173, -0.7, -0.487))
#: What classifiers tell where features say nothing of the labels, at most but for one fit in
#: twenty: by `by_classes`. No lower end is above what is claimed beyond that.
NOISE_TOLD = (0.095, 0.112, 0.077)
#: The same of curves at once, beside that: for the root of their columns over the records. Found on
#: made-up tables of coins (docs/tried.md).
NOISE_TOLD_AT_ONCE = 0.28
#: Largest R² that is the lower end of a range after a fit: predictions that lie far apart may
#: follow noise, or a few targets that are far larger than most.
MOST_PROMISED = 0.3
#: The same of curves at once and of forests that begin with them, whose predictions lie as far
#: apart where features say nothing of the target (docs/forecast_results.md).
MOST_PROMISED_AT_ONCE = 0.0


@dataclass(frozen=True, slots=True)
class PublicFigures:
    """Figures that a range goes by before a fit: the same ones for any records.

    Attributes
    ----------
    n_classes : int
        2 of a regression.
    is_regression : bool
    n_features : int
    rows : float
        Declared or bought number of records.
    signal : float
        R of the budget in pure epsilon, with those records.
    learns : bool
        Whether more than a constant is released.
    trusted : bool
        Whether released counts do not say that there were far fewer records.
    at_once : bool
        Whether all that is learnt is curves at once.
    crowding : float
        Root of the columns of these over the records.
    begins_at_once : bool
        Whether what is learnt begins with curves at once.
    """

    n_classes: int
    is_regression: bool
    n_features: int
    rows: float
    signal: float
    learns: bool
    trusted: bool = True
    at_once: bool = False
    crowding: float = 0.0
    begins_at_once: bool = False

    def of_records(self, rows: float) -> PublicFigures:
        """The same of a fit that saw far fewer records, as its releases say."""
        rows = min(max(rows, 1.0), self.rows)
        signal = self.signal * rows / self.rows
        learns = self.learns and signal >= HOPELESS_SIGNAL
        return replace(self, rows=rows, signal=signal, learns=learns, trusted=False)

    @property
    def level(self) -> float:
        """Tenfold steps of R; of a regression of R / sqrt(D), by which each curve is known."""
        features = self.n_features if self.is_regression else 1
        return min(math.log10(max(self.signal / features**0.5, 1.0)), MOST_LEVEL)

    @property
    def most(self) -> float:
        """The most that there is to gain."""
        return 1.0 if self.is_regression else 1.0 - 1.0 / self.n_classes


def public_figures(plan: FitPlan) -> PublicFigures | None:
    """The figures of a plan; None where no number of records is known yet."""
    facts, rows = plan.facts, plan.facts.approximate_rows
    if rows is None:
        return None
    signal = LearnerBudget(plan.budget.epsilon, Fraction(0)).signal(rows)
    learns = (plan.signal or 0.0) >= HOPELESS_SIGNAL and releases_more(plan)
    return PublicFigures(
        facts.n_classes, facts.is_regression, facts.n_features, float(rows), signal, learns,
        at_once=is_at_once(plan), crowding=_crowding(plan, float(rows)),
        begins_at_once=begins_at_once(plan),
    )  # fmt: skip


def is_at_once(plan: FitPlan) -> bool:
    """True if a plan learns curves at once, and no trees."""
    return plan.strategy == "additive" and begins_at_once(plan)


def begins_at_once(plan: FitPlan) -> bool:
    """True if a plan learns curves at once, whether trees go on from them or not."""
    parts = [] if plan.plan is None else plan.plan.parts
    return any(part.name == AtOnceRole.CURVES for part in parts)


def _crowding(plan: FitPlan, rows: float) -> float:
    """Root of the columns of curves at once over the records; 0 of what else there is."""
    if plan.plan is None or not is_at_once(plan):
        return 0.0
    columns: int = plan.plan.shape.columns(plan.facts).n_columns
    return (columns / max(rows, 1.0)) ** 0.5


def releases_more(plan: FitPlan) -> bool:
    """True if a plan releases more than what holds for all records alike.

    Some release nothing else: where the budget is small, the middle of a regression's target.
    """
    names = [] if plan.plan is None else [part.name for part in plan.plan.parts]
    return names not in ([PRIOR_ROLE], [MEDIAN_ROLE])


def planned_range(figures: PublicFigures) -> Range:
    """Range of the gain before a fit."""
    means = figures.is_regression
    if not figures.learns:
        return _range(MEANS_CONSTANT if means else CLASSES_CONSTANT, (), figures)
    if means:
        low, high = _range(MEANS_PLANNED, (figures.level,), figures)
    else:
        low, high = _range(CLASSES_PLANNED, (figures.level,), figures, figures.most)
    # No public figure says that the features tell anything of labels or targets.
    return min(low, 0.0), high


def range_after_fit(figures: PublicFigures, strategy: str, claimed: ClaimedGain | None) -> Range:
    """Range after a fit, by what the released model tells; the planned one where it tells nothing.

    Parameters
    ----------
    figures : PublicFigures
    strategy : str
    claimed : ClaimedGain or None
        See :func:`dpforest.estimators.claimed_gain.claimed_gain`. No range ends above the most that
        there is to gain by it, no lower end of classes is above what is claimed beyond
        `noise_told`, and none of a regression's is above `MOST_PROMISED`, or
        `MOST_PROMISED_AT_ONCE`.
    """
    if claimed is None or not figures.learns or not figures.trusted:
        return planned_range(figures)
    if figures.is_regression:
        low, high = _range(MEANS_TOLD, by_spread(figures, claimed), figures)
        most = MOST_PROMISED_AT_ONCE if figures.begins_at_once else MOST_PROMISED
        return min(low, most), high
    low, high = _range(CLASSES_TOLD, (claimed.gain, float(strategy == "refitted")), figures)
    noise = noise_told(figures.n_classes, strategy) + NOISE_TOLD_AT_ONCE * figures.crowding
    beyond = claimed.gain - noise
    most = round(claimed.most, 2)
    return round(min(low, most, beyond), 2) + 0.0, min(high, most)


def noise_told(n_classes: int, strategy: str) -> float:
    """Gain that a classifier may tell although its features say nothing of the labels."""
    return _sum_of(NOISE_TOLD, by_classes(n_classes, strategy))


def by_classes(n_classes: int, strategy: str) -> tuple[float, ...]:
    """Figures by which it goes: whether it is one rule, and of refitted forests 1 - 2 / K.

    The more classes, the more often one stands out by noise in many trees.
    """
    refitted = (1.0 - 2.0 / n_classes) * (strategy == "refitted")
    return 1.0, float(strategy == "rules"), refitted


def by_spread(figures: PublicFigures, claimed: ClaimedGain) -> tuple[float, float, float]:
    """Figures by which a regression's range goes after a fit.

    Where predictions hardly differ nothing is promised, however many records there are. Curves at
    once are learnt from so few that they follow noise further than others do.
    """
    at_once = float(figures.at_once)
    return claimed.gain**0.5, claimed.gain * figures.level, at_once * claimed.gain


def _range(ends: Ends, by: tuple[float, ...], figures: PublicFigures, part: float = 1.0) -> Range:
    """Both ends to two digits, within what is possible."""
    low, high = (part * _sum_of(end, (1.0, *by)) for end in ends)
    low, high = (min(max(one, -1.0), figures.most) for one in sorted((low, high)))
    return round(low, 2) + 0.0, round(high, 2) + 0.0


def _sum_of(coefficients: tuple[float, ...], by: tuple[float, ...]) -> float:
    return sum(one * figure for one, figure in zip(coefficients, by, strict=True))
