"""Plans with as little noise as their certificate allows.

A plan whose parameters are all fixed beforehand need not add up in rho: the list of its releases
is composed as a whole (``accounting.certificates``), and the noise is taken down until that just
fits (epsilon, delta). What the plan is (sizes, shares) still follows from rho.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar

from dpforest.accounting.certificates import Certificate, Repeat, certify, delta_bound, grouped
from dpforest.accounting.loss_curves import gaussian_shift
from dpforest.accounting.rationals import float_down
from dpforest.accounting.releases import LearnerBudget

#: Variances are tried in steps of this fraction, between these multiples of a first guess.
_STEPS = 2**13
_LEAST, _MOST = _STEPS * 7 // 8, _STEPS * 3 // 2
#: Left of delta, so that a certificate holds whatever machine works it out again.
_MARGIN = 1 - Fraction(1, 10**5)
#: Tries along a line before halves are taken.
_LINES = 8


class FixedPlan(Protocol):
    """A plan whose releases are all fixed before the first."""

    @property
    def repeats(self) -> tuple[Repeat, ...]:
        """Its releases in order."""

    def with_variances(self, factor: Fraction) -> Self:
        """The same plan with the variances of all Gaussian noise times a factor."""

    def with_certificate(self, certificate: Certificate) -> Self:
        """The same plan under a certificate of its releases."""


P = TypeVar("P", bound=FixedPlan)


def within_budget(budget: LearnerBudget, plan_of_total: Callable[[Fraction], P]) -> P:
    """The plan of a whole budget: of its epsilon where that is pure, else of its rho.

    Parameters
    ----------
    budget : LearnerBudget
    plan_of_total : callable
        Makes a plan that adds up to at most a total, in the budget's currency.

    Returns
    -------
    FixedPlan
        In rho with less noise under a certificate, as `tightened` says.
    """
    if budget.is_pure:
        return plan_of_total(budget.epsilon)
    return tightened(plan_of_total, budget)


def tightened(build: Callable[[Fraction], P], budget: LearnerBudget) -> P:
    """The plan of a budget in rho, or one with less noise under a certificate.

    Parameters
    ----------
    build : callable
        Makes a plan that adds up to at most a rho.
    budget : LearnerBudget
        With a delta.

    Returns
    -------
    FixedPlan
        With a certificate of (epsilon, delta) where that takes less noise.
    """
    plain = build(budget.rho)
    if not budget.certified:
        return plain
    size = budget.records_per_unit
    shift = gaussian_shift(float_down(budget.unit_epsilon), float_down(budget.delta))
    guess = build(max(Fraction(shift) ** 2 / (2 * size**2), budget.rho))
    low, high = _LEAST, _MOST
    over_high, over_low = _over(guess, high, budget), _over(guess, low, budget)
    if over_high > 0.0:
        return plain
    if over_low <= 0.0:
        high = low + 1
    tries = 0
    while high - low > 1:
        # The logarithm of delta is nearly straight, so a line tells the place within a few steps.
        share = over_low / (over_low - over_high) if tries < _LINES else 0.5
        tries += 1
        middle = min(max(low + math.ceil(share * (high - low)), low + 1), high - 1)
        over = _over(guess, middle, budget)
        if over <= 0.0:
            high, over_high = middle, over
        else:
            low, over_low = middle, over
    tight = guess.with_variances(Fraction(high, _STEPS))
    certificate = certify(tight.repeats, budget.unit_epsilon, budget.delta, size)
    # Where noise is so small that the lattice shows, adding up in rho may be the better of the two.
    less_noise = certificate.rho > budget.rho * size**2
    return tight.with_certificate(certificate) if less_noise else plain


def _over(plan: FixedPlan, steps: int, budget: LearnerBudget) -> float:
    """ln of delta over what is allowed, above nothing exactly where it is more."""
    repeats = grouped(plan.with_variances(Fraction(steps, _STEPS)).repeats, budget.records_per_unit)
    delta, allowed = delta_bound(repeats, budget.unit_epsilon, budget.delta), budget.delta * _MARGIN
    over = math.log(max(delta, 1e-300) / max(float_down(allowed), 1e-300))
    return min(over, 0.0) if delta <= allowed else max(over, 1e-15)


def in_epsilon_and_delta(plan: Any, budget: LearnerBudget) -> Any:
    """A plan that costs (epsilon, delta), not just rho, to follow a release that adds in epsilon.

    Parameters
    ----------
    plan : Plan
        Of ``budget``. One that adds up in rho gets a certificate that says what rho converts to.
    budget : LearnerBudget
    """
    if plan.loss.epsilon < math.inf:
        return plan
    size = budget.records_per_unit
    return plan.with_certificate(certify(plan.repeats, budget.unit_epsilon, budget.delta, size))
