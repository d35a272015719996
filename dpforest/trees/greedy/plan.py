"""The plan of a greedy tree: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpforest.accounting.events import Event, ExponentialSelection, PermuteAndFlipSelection
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, Step
from dpforest.accounting.tightening import tightened
from dpforest.records.base import Sensitivity
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.boosted.queries import STEPS
from dpforest.trees.greedy.queries import CountScore
from dpforest.trees.greedy.settings import GreedySettings
from dpforest.trees.prior import count_noise, prior_round
from dpforest.trees.random.bins import QUANTILES_ROLE, quantiles_are_affordable, quantiles_round

OWNER = "tree"
_ROOT_SCALE = 2**40
#: Steps of a level's share.
_WEIGHTS = 2**10


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = QUANTILES_ROLE
    NODES = "node counts"
    SPLITS = "class split selection"
    LEAVES = "leaf counts"


@dataclass(frozen=True, slots=True)
class GreedyShape:
    """Depth of a greedy tree, and how released counts become shares.

    Attributes
    ----------
    n_classes, depth : int
    unit : int
        What a record counts for in the sums that are released.
    settings : GreedySettings
    """

    n_classes: int
    depth: int
    unit: int
    settings: GreedySettings


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: GreedySettings
) -> Plan[GreedyShape]:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` the smallest size is taken, without quantiles.
    budget : LearnerBudget
        Pure epsilon pays for permute-and-flip and geometric noise, (epsilon, delta) for the
        exponential mechanism and discrete Gaussian noise.
    settings : GreedySettings
    """
    if not budget.delta:
        return _plan_of_total(facts, budget, settings, budget.epsilon)
    return tightened(lambda rho: _plan_of_total(facts, budget, settings, rho), budget)


def _plan_of_total(
    facts: TableFacts, budget: LearnerBudget, settings: GreedySettings, total: Fraction
) -> Plan[GreedyShape]:
    """The plan whose shares are those of a total; its depth follows from the budget."""
    shape, pure = _shape(facts, budget, settings), not budget.delta
    share = total * settings.prior_share
    rounds, left = [prior_round(OWNER, facts.unit, share, pure)], total - share
    buys = quantiles_are_affordable(facts, budget, settings.quantile_share)
    if buys:
        share = total * settings.quantile_share
        rounds.append(quantiles_round(OWNER, facts, share, pure))
        left -= share
    rounds.append(_tree(shape, left, pure))
    return Plan(tuple(rounds), shape, _words(shape, buys, pure))


def _shape(facts: TableFacts, budget: LearnerBudget, settings: GreedySettings) -> GreedyShape:
    """Depth by the public signal, as deep as memory allows."""
    most_bins = settings.max_bins + facts.has_missing_code
    n_cells = int(
        np.where(facts.ordered, np.minimum(facts.n_codes, most_bins), facts.n_codes).sum()
    )
    signal = budget.signal(facts.approximate_rows or 0.0)
    depth = settings.depth(signal, n_cells, facts.n_classes)
    return GreedyShape(facts.n_classes, depth, 1 if facts.unit == 1 else STEPS, settings)


def _tree(shape: GreedyShape, total: Fraction, pure: bool) -> Round:
    """At each level counts of its nodes and their splits, then counts of the leaves."""
    settings, depth = shape.settings, shape.depth
    to_splits = total * settings.selection_share
    to_nodes = total * settings.node_share if depth > 1 else Fraction(0)
    steps = []
    for level, part in enumerate(_downward(depth, settings.downward)):
        own = [_splits(level, to_splits * part, pure)]
        if level:
            own.insert(0, _counts(shape, Role.NODES, level, to_nodes / (depth - 1), pure))
        steps.append(Step(tuple(own)))
    steps.append(Step((_counts(shape, Role.LEAVES, depth, total - to_splits - to_nodes, pure),)))
    return Round(OWNER, tuple(steps))


def _downward(depth: int, ratio: float) -> list[Fraction]:
    """Share of each level, in whole steps, so that sums stay short."""
    weights = [round(_WEIGHTS * ratio**level) for level in range(depth)]
    return [Fraction(weight, sum(weights)) for weight in weights]


def _splits(level: int, share: Fraction, pure: bool) -> Release:
    event: Event
    if pure:
        event = PermuteAndFlipSelection(share, CountScore.score_range)
    else:
        event = ExponentialSelection(sqrt_in_steps(8 * share, _ROOT_SCALE), CountScore.score_range)
    return Release(Role.SPLITS, event, 2**level, level, "splits of a tree's nodes")


def _counts(shape: GreedyShape, role: str, level: int, share: Fraction, pure: bool) -> Release:
    unit = Fraction(shape.unit)
    event = count_noise(Sensitivity(unit, unit**2), share, pure)
    of_what = f"{2**level} leaves" if role == Role.LEAVES else "the nodes of every level"
    what = "class counts" if shape.unit == 1 else "sums of targets and of records"
    return Release(role, event, 2**level, level, f"noisy {what} of {of_what}")


def _words(shape: GreedyShape, buys: bool, pure: bool) -> dict[str, str]:
    """The plan in words, for the report."""
    bins, currency = "private quantiles" if buys else "merged public cells", "epsilon"
    if not pure:
        currency = "rho"
    return {
        "tree": f"one of depth {shape.depth}",
        "structure": "splits drawn by how far apart they send the classes",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "leaves": "noisy counts, combined from all levels and mixed with the parents' shares",
        "budget shares add up in": currency,
        "composed by": f"addition in {currency}",
    }
