"""The plan of a one-shot forest: three requests at most, made from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.certificates import Block, Certificate
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    GeometricNoise,
)
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.scopes import Scope
from dpforest.trees.base import (
    MIDDLE_ROLE,
    PRIOR_ROLE,
    LearnerBudget,
    PlanPart,
    TableFacts,
    counted,
    prior_text,
)
from dpforest.trees.one_shot.settings import N_SCORE_BINS, OneShotSettings, Size
from dpforest.trees.random.bins import ordered_codes, quantiles_are_affordable
from dpforest.trees.tightening import priced_noise, scaled_noise, tightened

_ROOT_SCALE = 2**40
_ONE = Fraction(1)

#: Noise on counts, in either currency.
CountNoise = GeometricNoise | DiscreteGaussianNoise


class Role:
    """What the requests are for, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = "quantiles"
    LEAVES = "leaf tables"
    CALIBRATION = "calibration"
    MIDDLE = MIDDLE_ROLE


@dataclass(frozen=True, slots=True)
class OneShotPlan:
    """A one-shot forest as a list of requests.

    Attributes
    ----------
    n_classes : int
    of_means : bool
        Whether targets are summed rather than classes counted.
    size : Size
    prior : CountNoise or None
        One class histogram, where no calibration is bought; the mean of a regression's targets.
    quantiles : CountNoise or None
        Histograms of all ordered features; None where they are not affordable.
    leaves : CountNoise or None
        Class counts of all leaves of all trees, stacked; None where the prior is all.
    calibration : CountNoise, ExponentialSelection or None
        One histogram of the score for two classes, a selected pair for more; None where the
        budget teaches nothing.
    signal_per_row : float
        R of one row: what turns a released size into a released R.
    log_bound : float
        Largest loss in log probability that the selection looks at.
    settings : OneShotSettings
        How released values become scores.
    certificate : Certificate or None
        Of the whole list, where it does not add up in epsilon or rho.
    middle : ExponentialSelection or None
        Draws a median of a regression's targets; then nothing else is released.
    """

    n_classes: int
    of_means: bool
    size: Size
    prior: CountNoise | None
    quantiles: CountNoise | None
    leaves: CountNoise | None
    calibration: CountNoise | ExponentialSelection | None
    signal_per_row: float
    log_bound: float
    settings: OneShotSettings
    certificate: Certificate | None = None
    middle: ExponentialSelection | None = None

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole, certified or composed by the accountant's own scopes."""
        if self.certificate is not None:
            return self.certificate.loss
        scratch = BudgetAccountant._unlimited()
        with scratch.open_scope("plan") as scope:
            charge(self, scope)
            return scope.loss

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every release in the order of training."""
        return tuple(Block((event,)) for _, event in self.events)

    def with_variances(self, factor: Fraction) -> OneShotPlan:
        """The same plan with the variances of all Gaussian noise times a factor."""
        names = ("prior", "quantiles", "leaves", "calibration")
        noises = {name: getattr(self, name) for name in names}
        scaled: dict[str, Any] = {
            name: scaled_noise(event, factor)
            for name, event in noises.items()
            if isinstance(event, DiscreteGaussianNoise)
        }
        return replace(self, **scaled)

    def with_certificate(self, certificate: Certificate) -> OneShotPlan:
        """The same plan under a certificate of its releases."""
        return replace(self, certificate=certificate)

    @property
    def parts(self) -> tuple[PlanPart, ...]:
        """What is released, in order."""
        n_trees, counts = self.size.n_trees, counted(self.of_means)
        texts = {
            Role.PRIOR: prior_text(self.of_means),
            Role.MIDDLE: "about the median of the target",
            Role.QUANTILES: "one noisy histogram of each ordered feature",
            Role.LEAVES: f"noisy {counts} in {2**self.size.depth} leaves of {n_trees} trees",
            Role.CALIBRATION: f"noisy {counts} in a few bins of the score"
            if self.n_classes == 2
            else "one of a few scales of score and prior",
        }
        return tuple(PlanPart(role, texts[role], event.loss) for role, event in self.events)

    @property
    def events(self) -> tuple[tuple[str, Event], ...]:
        """Roles and events, in order."""
        listed = (
            (Role.PRIOR, self.prior),
            (Role.MIDDLE, self.middle),
            (Role.QUANTILES, self.quantiles),
            (Role.LEAVES, self.leaves),
            (Role.CALIBRATION, self.calibration),
        )
        return tuple((role, event) for role, event in listed if event is not None)

    @property
    def n_steps(self) -> int:
        """How often training says that a part is done."""
        return len(self.parts)

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        size = self.size
        features = " or ".join(map(str, size.features_per_tree))
        bins = "merged public cells" if self.quantiles is None else "private quantiles"
        calibration = "none" if self.calibration is None else self.calibration.mechanism
        first = self.events[0][1]
        currency = "rho" if isinstance(first, DiscreteGaussianNoise) else "epsilon"
        composed = f"addition in {currency}"
        if self.certificate is not None:
            composed = str(self.certificate.method)
        if self.leaves is None:
            return {
                "trees": "none: the budget is too small for more than the mean"
                if self.middle is None
                else "none: the budget is too small for the mean, so a median is drawn",
                "budget shares add up in": currency,
                "composed by": composed,
            }
        return {
            "trees": f"{size.n_trees} of depth {size.depth}",
            "structure": f"public: each tree cuts {features} features evenly, in turn",
            "thresholds": f"{bins}, at most {self.settings.max_bins} bins a feature",
            "leaves": f"{counted(self.of_means)} of all trees in one release: "
            f"{self.leaves.mechanism}",
            "calibration": calibration,
            "budget shares add up in": currency,
            "composed by": composed,
        }


def build_plan(facts: TableFacts, budget: LearnerBudget, settings: OneShotSettings) -> OneShotPlan:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` the smallest size is taken, without quantiles and
        calibration.
    budget : LearnerBudget
        Pure epsilon pays for geometric noise, (epsilon, delta) for discrete Gaussian noise.
    settings : OneShotSettings
    """
    if not budget.delta:
        return _plan_of_total(facts, budget, settings, budget.epsilon)
    return tightened(lambda rho: _plan_of_total(facts, budget, settings, rho), budget)


def _plan_of_total(
    facts: TableFacts, budget: LearnerBudget, settings: OneShotSettings, total: Fraction
) -> OneShotPlan:
    """The plan whose shares are those of a total; its size follows from the budget."""
    rows = facts.approximate_rows
    signal = 0.0 if rows is None else budget.signal(rows)
    size = settings.size(facts.n_features, facts.n_classes, signal, bool(budget.delta))
    if facts.unit > 1 and settings.mean_share(signal) == 1:
        return _mean_alone(facts, budget, settings, total, size)
    left = total
    prior = quantiles = None
    if quantiles_are_affordable(facts, budget, settings.quantile_share):
        share = total * settings.quantile_share
        quantiles = _noise(ordered_codes(facts).sensitivity.l1, share, budget)
        left -= share
    calibration, share = _calibration(facts, budget, settings, signal, total)
    left -= share
    if calibration is None or facts.unit > 1:
        share = total * _prior_share(facts, settings, signal)
        prior = _class_noise(1, share, budget, facts.unit)
        left -= share
    return OneShotPlan(
        n_classes=facts.n_classes,
        of_means=facts.unit > 1,
        size=size,
        prior=prior,
        quantiles=quantiles,
        leaves=_class_noise(size.n_trees, left, budget, facts.unit),
        calibration=calibration,
        signal_per_row=budget.signal(1.0),
        log_bound=math.log(facts.n_classes) + settings.bound_over_even(signal),
        settings=settings,
    )


def _mean_alone(
    facts: TableFacts,
    budget: LearnerBudget,
    settings: OneShotSettings,
    total: Fraction,
    size: Size,
) -> OneShotPlan:
    """Everything for the mean of a regression's targets, or for their median."""
    rows, middle = facts.approximate_rows, None
    if not budget.delta and rows is not None and settings.draws_middle(budget.signal(rows)):
        middle = ExponentialSelection(total, _ONE)
    return OneShotPlan(
        n_classes=facts.n_classes,
        of_means=facts.unit > 1,
        size=size,
        prior=None if middle is not None else _class_noise(1, total, budget, facts.unit),
        middle=middle,
        quantiles=None,
        leaves=None,
        calibration=None,
        signal_per_row=budget.signal(1.0),
        log_bound=0.0,
        settings=settings,
    )


def _prior_share(facts: TableFacts, settings: OneShotSettings, signal: float) -> Fraction:
    return settings.prior_share if facts.unit == 1 else settings.mean_share(signal)


def _calibration(
    facts: TableFacts,
    budget: LearnerBudget,
    settings: OneShotSettings,
    signal: float,
    total: Fraction,
) -> tuple[CountNoise | ExponentialSelection | None, Fraction]:
    """Calibration, and what is taken from the total for it."""
    if signal < _needed_signal(facts, settings):
        return None, Fraction(0)
    if facts.n_classes == 2:
        share = total * settings.histogram_share
        return _class_noise(1, share, budget, facts.unit), share
    share = total * settings.selection_share
    epsilon = sqrt_in_steps(8 * share, _ROOT_SCALE) if budget.delta else share
    return ExponentialSelection(epsilon, _ONE), share


def _needed_signal(facts: TableFacts, settings: OneShotSettings) -> float:
    if facts.unit > 1:
        return settings.target_histogram_signal
    return settings.histogram_signal if facts.n_classes == 2 else settings.selection_signal


def charge(plan: OneShotPlan, scope: Scope) -> None:
    """Make every request of a plan without running anything; the grants are thrown away."""
    for role, event in plan.events:
        scope.request(event, role=role, cells=cells_of(plan, role))


def cells_of(plan: OneShotPlan, role: str) -> int:
    """Rows of a release: leaves of all trees, bins of the score."""
    if role == Role.LEAVES:
        return plan.size.n_trees * 2**plan.size.depth
    return N_SCORE_BINS if role == Role.CALIBRATION and plan.n_classes == 2 else 1


def _class_noise(n_tables: int, share: Fraction, budget: LearnerBudget, unit: int) -> CountNoise:
    """Noise on stacked class counts, to each of which a record adds ``unit`` parts in all.

    Its parts a and b of a table have a + b = unit and a^2 + b^2 <= unit^2.
    """
    return _noise(Fraction(n_tables * (unit**2 if budget.delta else unit)), share, budget)


def _noise(sensitivity: Fraction, share: Fraction, budget: LearnerBudget) -> CountNoise:
    """Noise that costs at most ``share``; a variance is rounded up."""
    if not budget.delta:
        return GeometricNoise(share, sensitivity)
    return priced_noise(sensitivity, share)
