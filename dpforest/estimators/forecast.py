"""A plan in numbers and words, to be read before any data is touched."""

from __future__ import annotations

import math
from fractions import Fraction

from pydantic import ConfigDict, PrivateAttr

from dpforest.accounting.figures import figure_up
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import float_up
from dpforest.accounting.releases import PlanLine
from dpforest.accounting.units import group_loss
from dpforest.display import Grid, Page, page_of_docs
from dpforest.estimators.fit_plan import HOPELESS_SIGNAL, FitPlan
from dpforest.estimators.forecast_range import (
    Range,
    planned_range,
    public_figures,
    releases_more,
)
from dpforest.own_names import OwnNames

#: Of classes, from an R in pure epsilon on: percent of what a forest without privacy gains that a
#: quarter of the fits did not pass, and half of them; and how many percent gained nothing. Without
#: a delta, and with one. The table of docs/choosing_epsilon.md, which a test compares.
SHARES_GAINED = (
    (5, (0, 8, 47), (0, 6, 45)),
    (20, (27, 75, 17), (20, 68, 16)),
    (50, (47, 75, 10), (48, 74, 10)),
    (150, (61, 82, 4), (59, 82, 4)),
    (500, (65, 84, 3), (64, 85, 1)),
    (1500, (77, 90, 0), (78, 88, 0)),
    (5000, (69, 89, 0), (81, 92, 0)),
)
#: Percent of fits without a gain that are told of.
_MANY = 5
#: A plan whose range ends below this gain teaches no more than a constant.
LEAST_GAIN = 0.05


class PlannedPart(OwnNames):
    """One line of a plan summary."""

    model_config = ConfigDict(defer_build=True, frozen=True, ser_json_inf_nan="strings")

    name: str
    releases: str
    epsilon: float
    rho: float
    share: float


class PlanSummary(OwnNames):
    """A plan to be read before any data is touched; its text is a few lines for people.

    Attributes
    ----------
    strategy : str
    epsilon, delta : float
        The whole budget; no delta where it is known beforehand that none is spent, as by rules.
    signal : float or None
        R: rows over the noise of one class histogram on the whole budget, in the currency that
        the strategy spends: rules always go by the pure epsilon.
    teachable : bool or None
        Whether the budget can be expected to teach more than the noisy class prior, or in a
        regression than the middle of the target.
    forecast : str
    parts : tuple of PlannedPart
        What would be released and what each part costs a privacy unit.
    details : dict of str
    expected_gain : tuple of two floats, or None
        Range of what a fit likely gains over the best constant: accuracy less the share of the
        most frequent class, or R². It held in nine of ten fits and more on tables that were not
        used to find it (docs/forecast_results.md). None without a number of records.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, ser_json_inf_nan="strings")

    strategy: str
    epsilon: float
    delta: float
    signal: float | None
    teachable: bool | None
    forecast: str
    parts: tuple[PlannedPart, ...]
    details: dict[str, str]
    expected_gain: tuple[float, float] | None = None
    #: Words beside the budget; of no form that is stored.
    _aside: str = PrivateAttr("")

    def __str__(self) -> str:
        return f"{self._head()}\n{self._parts()}"

    def _repr_html_(self) -> str:
        return Page((self._head(), self._parts())).to_html()

    def _head(self) -> str:
        budget = f"epsilon={figure_up(self.epsilon)}"
        if self.delta:
            budget += f", delta={figure_up(self.delta)}"
        budget += self._aside
        return f"strategy {self.strategy}, {budget}\nforecast: {self.forecast}"

    def _parts(self) -> Grid:
        rows = ((f"{part.share:.1%}", part.name, part.releases) for part in self.parts)
        return Grid(("share", "part", "releases"), tuple(rows))


def summarise(plan: FitPlan, epsilon: Fraction, delta: Fraction) -> PlanSummary:
    """Put a plan into numbers and words."""
    parts, size = plan.parts, plan.budget.records_per_unit
    by_rho = any(part.loss.epsilon == math.inf for part in parts)
    spent = Fraction(0) if spends_no_delta(plan) else delta
    summary = PlanSummary(
        strategy=plan.strategy,
        epsilon=float_up(epsilon),
        delta=float_up(spent),
        signal=plan.signal,
        teachable=None if plan.signal is None else teaches(plan, plan.signal),
        forecast=forecast(plan, plan.signal),
        parts=tuple(_planned(part, plan.loss, by_rho, size) for part in parts),
        details=plan.describe(),
        expected_gain=expected_gain(plan),
    )
    if spent < delta:
        summary._aside = f" (of delta={figure_up(delta)} nothing is spent)"
    return summary


def spends_no_delta(plan: FitPlan) -> bool:
    """Say if all that will be released is known, and is pure: then the guarantee reads so too."""
    return plan.plan is not None and plan.loss.epsilon < math.inf and not plan.loss.delta


def _planned(part: PlanLine, total: PrivacyLoss, by_rho: bool, size: int) -> PlannedPart:
    loss = group_loss(part.loss, size)
    own, whole = (loss.rho, total.rho) if by_rho else (loss.epsilon, total.epsilon)
    return PlannedPart(
        name=part.name,
        releases=part.says,
        epsilon=float_up(loss.epsilon),
        rho=float_up(loss.rho),
        share=float(own / whole) if whole else 0.0,
    )


def expected_gain(plan: FitPlan) -> Range | None:
    """Range of the gain over the best constant; None where no number of records is known."""
    figures = public_figures(plan)
    return None if figures is None else planned_range(figures)


def teaches(plan: FitPlan, signal: float) -> bool:
    """Say if more can be expected than what holds for all records alike."""
    gain = expected_gain(plan)
    hopeless = signal < HOPELESS_SIGNAL or (gain is not None and gain[1] < LEAST_GAIN)
    return not hopeless and releases_more(plan)


def forecast(plan: FitPlan, signal: float | None) -> str:
    """Describe in a sentence what the budget can be expected to teach.

    Parameters
    ----------
    plan : FitPlan
    signal : float or None
        R, of the plan or less where the number of records is in doubt.
    """
    gain = expected_gain(plan)
    if signal is None or gain is None:
        waits = plan.count is not None
        unknown = "unknown until the noisy number of records is bought" if waits else "unknown"
        return f"{unknown}; declare approximate_rows (on the command line: --rows)"
    if teaches(plan, signal):
        said = _learns_in_words(plan, gain)
        return f"R = {in_words(signal)}: {said}"
    least = "the middle of the target" if plan.facts.is_regression else "the shares of the classes"
    text = (
        f"R = {in_words(signal)}: the budget is too small for this many records to teach more "
        f"than {least}; raise epsilon or gather more records"
    )
    if plan.count is None:
        return text
    return (
        f"{text}; or most records were dropped, since the domain does not declare their labels or "
        "values: see Domain.check (`dpforest domain check`) first"
    )


def _learns_in_words(plan: FitPlan, gain: Range) -> str:
    """Words on what a plan that teaches something leads to.

    Of classes the range is nearly the same for all plans, as tables differ far more than budgets
    do: what is told is how much of what there is to learn was learnt elsewhere.
    """
    figures = public_figures(plan)
    if figures is None or figures.is_regression:
        return gain_in_words(gain, plan.facts.is_regression)
    spends = bool(plan.budget.delta) and not spends_no_delta(plan)
    return shares_in_words(figures.signal, spends)


def shares_in_words(signal: float, with_delta: bool) -> str:
    """Words on how much of what a forest without privacy gains was gained on other tables.

    Parameters
    ----------
    signal : float
        R in pure epsilon.
    with_delta : bool
        Whether some of a delta is spent.
    """
    known = (row for row in reversed(SHARES_GAINED) if signal >= row[0])
    _, pure, other = next(known, SHARES_GAINED[0])
    low, half, nothing = other if with_delta else pure
    others = (
        f"{nothing} % gained nothing" if nothing >= _MANY else f"three quarters {low} % or more"
    )
    return (
        f"on other tables half of such fits gained {half} % or more of the accuracy that a forest "
        f"without privacy gains over always naming the most frequent class, and {others} "
        f"({page_of_docs('choosing_epsilon.md')}). How much there is to gain in yours no public "
        "figure says"
    )


def gain_in_words(gain: Range, is_regression: bool) -> str:
    """A range of the gain over the best constant, in words."""
    low, high = (f"{end:.2f}" for end in gain)
    if is_regression:
        return (
            f"R² is likely {low} to {high}, where always naming the mean has 0; it stays near 0 "
            "where the features say little of the target"
        )
    if gain[0] < 0:
        return (
            "accuracy less that of always naming the most frequent class is likely between "
            f"{low} and {high}"
        )
    return f"accuracy is likely {low} to {high} above that of always naming the most frequent class"


def in_words(figure: float) -> str:
    """Three digits, as people write them: 2.36, 70.7, 3,180."""
    return f"{float(f'{figure:.3g}'):,.10g}"
