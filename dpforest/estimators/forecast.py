"""A plan in numbers and words, to be read before any data is touched."""

from __future__ import annotations

import math
from fractions import Fraction

from pydantic import ConfigDict

from dpforest.accounting.figures import figure_up
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import float_up
from dpforest.accounting.releases import PlanLine
from dpforest.accounting.units import group_loss
from dpforest.display import Grid, Page
from dpforest.estimators.fit_plan import HOPELESS_SIGNAL, FitPlan
from dpforest.own_names import OwnNames
from dpforest.trees.base import MEDIAN_ROLE, PRIOR_ROLE

#: Below this R even a good strategy learns little more than the strongest pattern.
SIMPLE_SIGNAL = 150.0
#: What a budget below and above that is enough for; a forest, where a strategy is not named.
_LITTLE = {"rules": "a simple rule can be learnt, little more"}
_ENOUGH = {
    "rules": "enough for selected rules",
    "additive": "enough for a curve of each feature",
}


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
        The whole budget.
    signal : float or None
        R: rows over the noise of one class histogram on the whole budget, in the currency that
        the strategy spends: rules always go by the pure epsilon.
    teachable : bool or None
        Whether the budget can be expected to teach more than the noisy class prior, or in a
        regression than the mean of the target.
    forecast : str
    parts : tuple of PlannedPart
        What would be released and what each part costs a privacy unit.
    details : dict of str
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

    def __str__(self) -> str:
        return f"{self._head()}\n{self._parts()}"

    def _repr_html_(self) -> str:
        return Page((self._head(), self._parts())).to_html()

    def _head(self) -> str:
        budget = f"epsilon={figure_up(self.epsilon)}"
        if self.delta:
            budget += f", delta={figure_up(self.delta)}"
        return f"strategy {self.strategy}, {budget}\nforecast: {self.forecast}"

    def _parts(self) -> Grid:
        rows = ((f"{part.share:.1%}", part.name, part.releases) for part in self.parts)
        return Grid(("share", "part", "releases"), tuple(rows))


def summarise(plan: FitPlan, epsilon: Fraction, delta: Fraction) -> PlanSummary:
    """Put a plan into numbers and words."""
    parts, size = plan.parts, plan.budget.records_per_unit
    by_rho = any(part.loss.epsilon == math.inf for part in parts)
    return PlanSummary(
        strategy=plan.strategy,
        epsilon=float_up(epsilon),
        delta=float_up(delta),
        signal=plan.signal,
        teachable=None if plan.signal is None else teaches(plan, plan.signal),
        forecast=forecast(plan, plan.signal),
        parts=tuple(_planned(part, plan.loss, by_rho, size) for part in parts),
        details=plan.describe(),
    )


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


def teaches(plan: FitPlan, signal: float) -> bool:
    """Say if more can be expected than what holds for all records alike.

    Some plans release nothing else: where the budget is small, the mean of a regression's target.
    """
    names = [] if plan.plan is None else [part.name for part in plan.plan.parts]
    return signal >= HOPELESS_SIGNAL and names not in ([PRIOR_ROLE], [MEDIAN_ROLE])


def forecast(plan: FitPlan, signal: float | None) -> str:
    """Describe in a sentence what the budget can be expected to teach.

    Parameters
    ----------
    plan : FitPlan
    signal : float or None
        R, of the plan or less where the number of records is in doubt.
    """
    if signal is None:
        waits = plan.count is not None
        unknown = "unknown until the noisy number of records is bought" if waits else "unknown"
        return f"{unknown}; declare approximate_rows"
    if not teaches(plan, signal):
        least = "the mean of the target" if plan.facts.unit > 1 else "the shares of the classes"
        text = (
            f"the budget is too small for this many records to teach more than {least}; "
            "raise epsilon or gather more records"
        )
    elif signal < SIMPLE_SIGNAL:
        text = _LITTLE.get(plan.strategy, "the strongest pattern can be learnt, little more")
    else:
        text = _ENOUGH.get(plan.strategy, "enough for a forest")
    return f"R = {in_words(signal)}: {text}"


def in_words(figure: float) -> str:
    """Three digits, as people write them: 2.36, 70.7, 3,180."""
    return f"{float(f'{figure:.3g}'):,.10g}"
