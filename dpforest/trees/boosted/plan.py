"""The plan of a boosted forest: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpforest.accounting.events import ExponentialSelection
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, Step, priced_noise
from dpforest.accounting.tightening import tightened
from dpforest.exceptions import ParameterError
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.boosted.queries import Lattice
from dpforest.trees.boosted.settings import BoostedSettings
from dpforest.trees.prior import prior_round
from dpforest.trees.random.bins import QUANTILES_ROLE, quantiles_are_affordable, quantiles_round
from dpforest.trees.refitted.steps import n_score_columns

OWNER = "boosted"
_ROOT_SCALE = 2**40


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = QUANTILES_ROLE
    NODES = "node sums"
    SPLITS = "residual split selection"
    LEAVES = "residual leaf sums"


@dataclass(frozen=True, slots=True)
class BoostedShape:
    """Sizes of a boosted forest, and how released values become steps.

    Attributes
    ----------
    n_classes, depth, n_rounds : int
    lattice : Lattice
    settings : BoostedSettings
    """

    n_classes: int
    depth: int
    n_rounds: int
    lattice: Lattice
    settings: BoostedSettings


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: BoostedSettings
) -> Plan[BoostedShape]:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` the smallest size is taken, without quantiles.
    budget : LearnerBudget
    settings : BoostedSettings

    Raises
    ------
    ParameterError
        When delta is 0.
    """
    if not budget.delta:
        rule = "must be positive for a boosted forest"
        raise ParameterError("delta", 0, rule, 'Give a delta, or use strategy="auto"')
    return tightened(lambda rho: _plan_of_rho(facts, budget, settings, rho), budget)


def _plan_of_rho(
    facts: TableFacts, budget: LearnerBudget, settings: BoostedSettings, rho: Fraction
) -> Plan[BoostedShape]:
    """The plan whose shares are those of a rho; its size follows from the budget."""
    shape = _shape(facts, budget, settings)
    share = rho * settings.prior_share
    rounds, left = [prior_round(OWNER, facts.unit, share)], rho - share
    buys = quantiles_are_affordable(facts, budget, settings.quantile_share)
    if buys:
        share = rho * settings.quantile_share
        rounds.append(quantiles_round(OWNER, facts, share))
        left -= share
    rounds.append(_each_round(shape, left / shape.n_rounds))
    return Plan(tuple(rounds), shape, _words(shape, buys))


def _shape(facts: TableFacts, budget: LearnerBudget, settings: BoostedSettings) -> BoostedShape:
    """Sizes by the public signal, as deep as memory allows."""
    most_bins = settings.max_bins + facts.has_missing_code
    n_cells = int(
        np.where(facts.ordered, np.minimum(facts.n_codes, most_bins), facts.n_codes).sum()
    )
    signal = budget.signal(facts.approximate_rows or 0.0)
    size = settings.size(signal, facts.n_features, n_cells, facts.n_classes)
    n_columns = n_score_columns(facts.n_classes)
    clip, bend = settings.scales(facts.n_classes)
    lattice = Lattice.of(n_columns, clip, bend, settings.mass)
    return BoostedShape(facts.n_classes, size.depth, size.n_rounds, lattice, settings)


def _each_round(shape: BoostedShape, rho: Fraction) -> Round:
    """A tree: at each level sums of its nodes and their splits, then the sums of its leaves."""
    settings, depth = shape.settings, shape.depth
    to_splits = rho * settings.selection_share
    to_nodes = rho * settings.node_share if depth > 1 else Fraction(0)
    steps = []
    for level in range(depth):
        own = [_splits(shape, level, to_splits / depth)]
        if level:
            own.insert(0, _sums(shape, Role.NODES, level, to_nodes / (depth - 1)))
        steps.append(Step(tuple(own)))
    left = rho - to_splits - to_nodes
    steps.append(Step((_sums(shape, Role.LEAVES, depth, left),)))
    return Round(OWNER, tuple(steps), shape.n_rounds)


def _splits(shape: BoostedShape, level: int, rho: Fraction) -> Release:
    epsilon = sqrt_in_steps(8 * rho, _ROOT_SCALE)
    event = ExponentialSelection(epsilon, shape.lattice.score_range)
    text = f"splits of {shape.n_rounds} trees with {shape.depth} levels"
    return Release(Role.SPLITS, event, 2**level, level, text)


def _sums(shape: BoostedShape, role: str, level: int, rho: Fraction) -> Release:
    event = priced_noise(shape.lattice.row.l2_squared, rho)
    of_what = f"{2**level} leaves" if role == Role.LEAVES else "nodes"
    text = f"noisy residual sums, curvatures and sizes of {of_what}, {shape.n_rounds} times"
    return Release(role, event, 2**level, level, text)


def _words(shape: BoostedShape, buys: bool) -> dict[str, str]:
    """The plan in words, for the report."""
    bins = "private quantiles" if buys else "merged public cells"
    return {
        "rounds": f"{shape.n_rounds} trees of depth {shape.depth}",
        "structure": "splits drawn by what is left to explain",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "start": "log-odds of the noisy prior",
        "leaves": "clipped residuals rounded toward zero to a lattice, discrete Gaussian noise",
        "budget shares add up in": "rho",
        "composed by": "addition in rho",
    }
