"""The plan of a refitted forest: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.events import DiscreteGaussianNoise, ExponentialSelection
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import (
    LearnerBudget,
    Plan,
    Release,
    Round,
    Step,
    once,
    priced_noise,
)
from dpforest.accounting.tightening import tightened
from dpforest.exceptions import ParameterError
from dpforest.records.base import Sensitivity
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.prior import prior_round
from dpforest.trees.random.bins import QUANTILES_ROLE, quantiles_are_affordable, quantiles_round
from dpforest.trees.refitted.design import n_columns
from dpforest.trees.refitted.queries import (
    LeanOfTrees,
    gradient_sensitivity,
    gram_sensitivity,
    sums_sensitivity,
)
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.refitted.steps import n_score_columns

OWNER = "refitted"
_ROOT_SCALE = 2**40


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = QUANTILES_ROLE
    GRAM = "linear start: Gram matrix"
    GRADIENT = "linear start: gradient"
    SELECTION = "tree selection"
    SUMS = "leaf sums"
    CORRECTIONS = "leaf corrections"


@dataclass(frozen=True, slots=True)
class RefittedShape:
    """Sizes of a refitted forest, and how released values become steps.

    Attributes
    ----------
    n_classes, depth, n_candidates, n_rounds : int
    settings : RefittedSettings
    """

    n_classes: int
    depth: int
    n_candidates: int
    n_rounds: int
    settings: RefittedSettings

    @property
    def selects(self) -> bool:
        """True if there is something to choose among in a round."""
        return self.n_candidates > 1

    @property
    def n_corrections(self) -> int:
        """Sums over the leaves of one picked tree after the other, after the last round."""
        return self.n_rounds * self.settings.correction_times

    @property
    def round_roles(self) -> tuple[str, ...]:
        """Roles that a round asks for."""
        return (Role.SELECTION, Role.SUMS) if self.selects else (Role.SUMS,)


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: RefittedSettings
) -> Plan[RefittedShape]:
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
) -> Plan[RefittedShape]:
    """The plan whose shares are those of a rho; its size follows from the budget."""
    rows = facts.approximate_rows or 0.0
    signal = budget.signal(rows)
    size = settings.size(signal, rows, facts.n_classes)
    shape = RefittedShape(facts.n_classes, size.depth, size.n_candidates, size.n_rounds, settings)
    share = rho * settings.prior_share
    rounds, left = [prior_round(OWNER, facts.unit, share)], rho - share
    if quantiles_are_affordable(facts, budget, settings.quantile_share):
        share = rho * settings.quantile_share
        rounds.append(quantiles_round(OWNER, facts, share))
        left -= share
    if settings.starts_linearly(signal, n_columns(facts), facts.n_classes):
        share = rho * settings.start_share
        rounds += _start(facts, share, settings)
        left -= share
    rounds += _rounds(shape, left)
    return Plan(tuple(rounds), shape, _words(shape, {r.role for o in rounds for r in o.releases}))


def _start(facts: TableFacts, share: Fraction, settings: RefittedSettings) -> list[Round]:
    """One noisy Gram matrix, then noisy gradients."""
    n, n_scores = settings.n_gradients, n_score_columns(facts.n_classes)
    gram = _noise(gram_sensitivity(facts.n_features), share * settings.gram_share)
    gradient = _noise(
        gradient_sensitivity(facts.n_features, n_scores), share * (1 - settings.gram_share) / n
    )
    steps = Release(Role.GRADIENT, gradient, says=f"{n} noisy gradients")
    return [
        once(OWNER, Release(Role.GRAM, gram, says="noisy x x'")),
        Round(OWNER, (Step((steps,)),), n),
    ]


def _rounds(shape: RefittedShape, left: Fraction) -> list[Round]:
    """A draw among candidates, where there are some, and the sums of its leaves; corrections."""
    releases, n, again = list[Release](), shape.n_rounds, shape.n_corrections
    if shape.selects:
        share = left * shape.settings.selection_share
        epsilon = sqrt_in_steps(8 * share / n, _ROOT_SCALE)
        event = ExponentialSelection(epsilon, LeanOfTrees.score_range)
        text = f"one of {shape.n_candidates} random trees, {n} times"
        releases.append(Release(Role.SELECTION, event, says=text))
        left -= share
    leaves = 2**shape.depth
    # All sums have the same noise, so steps of both kinds are shrunk alike.
    sums = _noise(sums_sensitivity(n_score_columns(shape.n_classes)), left / (n + again))
    text = f"noisy residual sums and sizes of {leaves} leaves, "
    releases.append(Release(Role.SUMS, sums, leaves, says=f"{text}{n} times"))
    correction = Release(Role.CORRECTIONS, sums, leaves, says=f"{text}once more, {again} times")
    found = Round(OWNER, (Step(tuple(releases)),), n), Round(OWNER, (Step((correction,)),), again)
    return list(found[: 1 + (again > 0)])


def _noise(sensitivity: Sensitivity, rho: Fraction) -> DiscreteGaussianNoise:
    return priced_noise(sensitivity.l2_squared, rho)


def _again(shape: RefittedShape) -> str:
    """Words about corrections, where there are some."""
    return f", then {shape.n_corrections} corrections of leaves" if shape.n_corrections else ""


def _words(shape: RefittedShape, roles: set[str]) -> dict[str, str]:
    """The plan in words, for the report."""
    start = "log-odds of the noisy prior"
    if Role.GRAM in roles:
        start += f", then a linear model by {shape.settings.n_gradients} noisy gradients"
    bins = "private quantiles" if Role.QUANTILES in roles else "merged public cells"
    return {
        "rounds": f"{shape.n_rounds} trees of depth {shape.depth}{_again(shape)}",
        "structure": f"one of {shape.n_candidates} public random trees a round",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "start": start,
        "leaves": "residuals rounded toward zero to a lattice, summed, discrete Gaussian noise",
        "budget shares add up in": "rho",
        "composed by": "addition in rho",
    }
