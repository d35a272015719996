"""The plan of a refitted forest: a fixed list of requests, made from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.certificates import Block, Certificate
from dpforest.accounting.events import DiscreteGaussianNoise, Event, ExponentialSelection
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.scopes import Scope
from dpforest.exceptions import ParameterError
from dpforest.trees.base import PRIOR_ROLE, LearnerBudget, PlanPart, TableFacts, prior_text
from dpforest.trees.random.bins import ordered_codes, quantiles_are_affordable
from dpforest.trees.refitted.design import LinearDesign, n_columns
from dpforest.trees.refitted.lattice import (
    SCORE_RANGE,
    sums_sensitivity_squared,
)
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.tightening import priced_noise, scaled_noise, tightened

_ROOT_SCALE = 2**40
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class StartPlan:
    """The linear start: one noisy Gram matrix, then noisy gradients."""

    gram: DiscreteGaussianNoise
    gradient: DiscreteGaussianNoise
    n_gradients: int


@dataclass(frozen=True, slots=True)
class RefittedPlan:
    """A refitted forest as a list of requests.

    Attributes
    ----------
    n_classes, depth, n_candidates, n_rounds : int
    of_means : bool
        Whether targets are summed rather than classes counted.
    prior : DiscreteGaussianNoise
        One class histogram, or the sums of a regression's targets.
    quantiles : DiscreteGaussianNoise or None
        Histograms of all ordered features; None where they are not affordable.
    start : StartPlan or None
    selection : ExponentialSelection or None
        Of one round; None where there is nothing to choose.
    sums : DiscreteGaussianNoise
        Of one round, in steps of the lattice.
    settings : RefittedSettings
        How released values become steps.
    certificate : Certificate or None
        Of the whole list, where it does not add up in rho.
    """

    n_classes: int
    of_means: bool
    depth: int
    n_candidates: int
    n_rounds: int
    prior: DiscreteGaussianNoise
    quantiles: DiscreteGaussianNoise | None
    start: StartPlan | None
    selection: ExponentialSelection | None
    sums: DiscreteGaussianNoise
    settings: RefittedSettings
    certificate: Certificate | None = None

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole, certified or composed by the accountant's own scopes."""
        if self.certificate is not None:
            return self.certificate.loss
        return _loss_of(lambda scope: charge(self, scope))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every release in the order of training."""
        start = self.start
        once = [self.prior, self.quantiles, None if start is None else start.gram]
        blocks = [Block((event,)) for event in once if event is not None]
        if start is not None:
            blocks.append(Block((start.gradient,), start.n_gradients))
        each = (self.sums,) if self.selection is None else (self.selection, self.sums)
        return (*blocks, Block(each, self.n_rounds))

    def with_variances(self, factor: Fraction) -> RefittedPlan:
        """The same plan with the variances of all Gaussian noise times a factor."""
        quantiles, start = self.quantiles, self.start
        if start is not None:
            gram, gradient = (scaled_noise(e, factor) for e in (start.gram, start.gradient))
            start = StartPlan(gram, gradient, start.n_gradients)
        return replace(
            self,
            prior=scaled_noise(self.prior, factor),
            quantiles=None if quantiles is None else scaled_noise(quantiles, factor),
            start=start,
            sums=scaled_noise(self.sums, factor),
        )

    def with_certificate(self, certificate: Certificate) -> RefittedPlan:
        """The same plan under a certificate of its releases."""
        return replace(self, certificate=certificate)

    @property
    def parts(self) -> tuple[PlanPart, ...]:
        """What is released, in order."""
        parts = [_part(Role.PRIOR, prior_text(self.of_means), self.prior, 1)]
        if self.quantiles is not None:
            text = "one noisy histogram of each ordered feature"
            parts.append(_part("quantiles", text, self.quantiles, 1))
        if self.start is not None:
            steps = self.start.n_gradients
            parts.append(_part("linear start: Gram matrix", "noisy x x'", self.start.gram, 1))
            text = f"{steps} noisy gradients"
            parts.append(_part("linear start: gradients", text, self.start.gradient, steps))
        if self.selection is not None:
            text = f"one of {self.n_candidates} random trees, {self.n_rounds} times"
            parts.append(_part("structure", text, self.selection, self.n_rounds))
        text = f"noisy residual sums and sizes of {2**self.depth} leaves, {self.n_rounds} times"
        parts.append(_part("leaves", text, self.sums, self.n_rounds))
        return tuple(parts)

    @property
    def n_steps(self) -> int:
        """How often training says that a part is done."""
        return (self.start is not None) + self.n_rounds

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        start = "log-odds of the noisy prior"
        if self.start is not None:
            start += f", then a linear model by {self.start.n_gradients} noisy gradients"
        bins = "merged public cells" if self.quantiles is None else "private quantiles"
        return {
            "rounds": f"{self.n_rounds} trees of depth {self.depth}",
            "structure": f"one of {self.n_candidates} public random trees a round",
            "thresholds": f"{bins}, at most {self.settings.max_bins} bins a feature",
            "start": start,
            "leaves": "residuals rounded toward zero to a lattice, summed, discrete Gaussian noise",
            "budget shares add up in": "rho",
            "composed by": "addition in rho"
            if self.certificate is None
            else str(self.certificate.method),
        }


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: RefittedSettings
) -> RefittedPlan:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` the smallest size is taken, without quantiles and start.
    budget : LearnerBudget
    settings : RefittedSettings

    Raises
    ------
    ParameterError
        When delta is 0.
    """
    if not budget.delta:
        raise ParameterError(
            "delta",
            0,
            "must be positive for a refitted forest",
            'Give a delta, or use strategy="auto"',
        )
    return tightened(lambda rho: _plan_of_rho(facts, budget, settings, rho), budget)


def _plan_of_rho(
    facts: TableFacts, budget: LearnerBudget, settings: RefittedSettings, rho: Fraction
) -> RefittedPlan:
    """The plan whose shares are those of a rho; its size follows from the budget."""
    rows = facts.approximate_rows or 0.0
    signal = budget.signal(rows)
    size = settings.size(signal, rows, facts.n_classes)
    left = rho * (1 - settings.prior_share)
    quantiles = start = selection = None
    if quantiles_are_affordable(facts, budget, settings.quantile_share):
        quantiles = priced_noise(
            ordered_codes(facts).sensitivity.l2_squared, rho * settings.quantile_share
        )
        left -= rho * settings.quantile_share
    if settings.starts_linearly(signal, n_columns(facts), facts.n_classes):
        start = _start(facts, rho * settings.start_share, settings)
        left -= rho * settings.start_share
    if size.n_candidates > 1:
        share = left * settings.selection_share
        epsilon = sqrt_in_steps(8 * share / size.n_rounds, _ROOT_SCALE)
        selection = ExponentialSelection(epsilon, SCORE_RANGE)
        left -= share
    return RefittedPlan(
        n_classes=facts.n_classes,
        of_means=facts.unit > 1,
        depth=size.depth,
        n_candidates=size.n_candidates,
        n_rounds=size.n_rounds,
        prior=priced_noise(_ONE * facts.unit**2, rho * settings.prior_share),
        quantiles=quantiles,
        start=start,
        selection=selection,
        sums=priced_noise(sums_sensitivity_squared(facts.n_classes), left / size.n_rounds),
        settings=settings,
    )


def charge(plan: RefittedPlan, scope: Scope) -> None:
    """Make every request of a plan without running anything; the grants are thrown away."""
    scope.request(plan.prior, role=Role.PRIOR)
    if plan.quantiles is not None:
        scope.request(plan.quantiles, role=Role.QUANTILES)
    if plan.start is not None:
        scope.request(plan.start.gram, role=Role.GRAM)
        for _ in range(plan.start.n_gradients):
            scope.request(plan.start.gradient, role=Role.GRADIENT)
    for _ in range(plan.n_rounds):
        if plan.selection is not None:
            scope.request(plan.selection, role=Role.SELECTION)
        scope.request(plan.sums, role=Role.SUMS, cells=2**plan.depth)


class Role:
    """What the requests are for, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = "quantiles"
    GRAM = "linear start: Gram matrix"
    GRADIENT = "linear start: gradient"
    SELECTION = "tree selection"
    SUMS = "leaf sums"


def _start(facts: TableFacts, rho: Fraction, settings: RefittedSettings) -> StartPlan:
    design = LinearDesign.of(facts)
    n = settings.n_gradients
    gram, gradients = rho * settings.gram_share, rho * (1 - settings.gram_share)
    return StartPlan(
        priced_noise(design.gram_sensitivity_squared, gram),
        priced_noise(design.gradient_sensitivity_squared(facts.n_classes), gradients / n),
        n,
    )


def _part(name: str, releases: str, event: Event, times: int) -> PlanPart:
    return PlanPart(name, releases, event.loss * times)


def _loss_of(requests: Callable[[Scope], None]) -> PrivacyLoss:
    scratch = BudgetAccountant._unlimited()
    with scratch.open_scope("plan") as scope:
        requests(scope)
        return scope.loss
