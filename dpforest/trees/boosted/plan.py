"""The plan of a boosted forest: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, Step
from dpforest.accounting.tightening import within_budget
from dpforest.records.base import Sensitivity
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.boosted.counts import ONE_COUNT, CountScore
from dpforest.trees.boosted.settings import (
    MAX_DEPTH,
    MEMORY_LIMIT,
    BoostedSettings,
    BoostedSize,
)
from dpforest.trees.curves.at_once.sizes import Role as AtOnceRole
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.curves.in_turn.sizes import Role as CurveRole
from dpforest.trees.curves.start import beginning, curves_to_begin_with, signal_after
from dpforest.trees.priced_events import count_noise, noise_name, selection_event
from dpforest.trees.random.bins import QUANTILES_ROLE, bins_in_words, bought_quantiles
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.confidence import (
    CONFIDENCE_ROLE,
    CONFIDENCE_WORDS,
    bought_confidence,
)
from dpforest.trees.scored.gradients import GradientLattice

OWNER = "boosted"
#: Steps of a level's share, so that sums of rationals stay short.
_WEIGHTS = 2**10


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = QUANTILES_ROLE
    CURVE_COUNTS = CurveRole.COUNTS
    CURVE_SUMS = CurveRole.SUMS
    CURVES_AT_ONCE = AtOnceRole.CURVES
    NODES = "node sums"
    SPLITS = "residual split selection"
    LEAVES = "residual leaf sums"
    CORRECTIONS = "leaf corrections"
    CONFIDENCE = CONFIDENCE_ROLE
    COUNTED_NODES = "node counts"
    COUNTED_SPLITS = "class split selection"
    COUNTED_LEAVES = "leaf counts"


@dataclass(frozen=True, slots=True)
class TreeRoles:
    """Requests of one kind of tree: sums of its nodes, their splits, sums of its leaves."""

    nodes: str
    splits: str
    leaves: str


BY_RESIDUALS = TreeRoles(Role.NODES, Role.SPLITS, Role.LEAVES)
BY_COUNTS = TreeRoles(Role.COUNTED_NODES, Role.COUNTED_SPLITS, Role.COUNTED_LEAVES)


@dataclass(frozen=True, slots=True)
class BoostedShape:
    """Sizes of a boosted forest, and how released values become steps.

    Attributes
    ----------
    n_classes, depth, n_rounds : int
    first : bool
        Whether a tree on class counts comes before the rounds.
    n_corrections : int
        Sums over the leaves of one tree after the other, once the last one is grown.
    lattice : GradientLattice
    curves : PlannedCurves or None
        Those that come first, where they do.
    settings : BoostedSettings
    """

    n_classes: int
    depth: int
    n_rounds: int
    first: bool
    n_corrections: int
    lattice: GradientLattice
    curves: PlannedCurves | None
    settings: BoostedSettings

    @property
    def starts_clipped(self) -> bool:
        """True of several classes, but where a first tree leads away from the prior."""
        return self.n_classes > 2 and not self.first


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: BoostedSettings
) -> Plan[BoostedShape]:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` the smallest size is taken, without quantiles.
    budget : LearnerBudget
        Pure epsilon pays for permute-and-flip and geometric noise, (epsilon, delta) for the
        exponential mechanism and discrete Gaussian noise.
    settings : BoostedSettings
        For that budget.
    """
    return within_budget(budget, lambda total: _plan_of_total(facts, budget, settings, total))


def _plan_of_total(
    facts: TableFacts, budget: LearnerBudget, settings: BoostedSettings, total: Fraction
) -> Plan[BoostedShape]:
    """The plan whose shares are those of a total; its size follows from the budget."""
    curves, pure = _curves(facts, budget, settings), budget.is_pure
    size = _size(facts, budget, settings, curves)
    shape = _shape(facts, size, settings, curves)
    rounds, left = beginning(curves, facts, budget, total, settings, OWNER)
    quantiles, taken = bought_quantiles(OWNER, facts, budget, total, settings.quantile_share)
    rounds, left = rounds + quantiles, left - taken
    asked = settings.confidence(facts.n_classes)
    last, taken = bought_confidence(OWNER, facts, budget, total, asked)
    left -= taken
    if shape.first:
        share = left * settings.first_share
        rounds.append(Round(OWNER, _steps(_counted(shape, pure), share)))
        left -= share
    to_corrections = left * settings.corrections(facts.n_classes)
    steps = _steps(_boosted(shape, pure), (left - to_corrections) / shape.n_rounds)
    rounds.append(Round(OWNER, steps, shape.n_rounds))
    if shape.n_corrections:
        rounds.append(_corrections(shape, pure, to_corrections))
    words = _words(shape, bool(quantiles), pure) | (CONFIDENCE_WORDS if last else {}) | _end(size)
    return Plan((*rounds, *last), shape, words)


def _curves(
    facts: TableFacts, budget: LearnerBudget, settings: BoostedSettings
) -> PlannedCurves | None:
    """Curves that come first, where each can be known; of classes at once alone."""
    signal = facts.signal(budget)
    if not settings.starts_with_curves(signal, facts):
        return None
    curves = curves_to_begin_with(facts, budget, settings)
    return curves if facts.is_regression or curves.at_once else None


def _size(
    facts: TableFacts,
    budget: LearnerBudget,
    settings: BoostedSettings,
    curves: PlannedCurves | None,
) -> BoostedSize:
    """Sizes by the public signal of what curves leave, as deep as memory allows."""
    most_bins = settings.max_bins + facts.has_missing_code
    n_cells = int(
        np.where(facts.ordered, np.minimum(facts.n_codes, most_bins), facts.n_codes).sum()
    )
    signal = signal_after(curves, budget, facts.approximate_rows or 0.0, settings)
    of_means, begun = facts.is_regression, curves is not None
    return settings.size(signal, facts.n_features, n_cells, facts.n_classes, of_means, begun)


def _shape(
    facts: TableFacts,
    size: BoostedSize,
    settings: BoostedSettings,
    curves: PlannedCurves | None,
) -> BoostedShape:
    """A size with what releases are made by."""
    n_columns = n_score_columns(facts.n_classes)
    of_means = facts.is_regression
    weighted = settings.weighs(facts.n_classes, of_means)
    scales = settings.scales(facts.n_classes, of_means)
    lattice = GradientLattice.of(n_columns, *scales, weighted, settings.norm_of_many)
    first = settings.first(facts.n_classes) > 0
    times = settings.correction_times if settings.corrections(facts.n_classes) else 0
    sizes = size.depth, size.n_rounds, first, times * size.n_rounds
    return BoostedShape(facts.n_classes, *sizes, lattice, curves, settings)


@dataclass(frozen=True, slots=True)
class _Tree:
    """Kind of tree: its roles and what one record moves, for what is asked at each level."""

    shape: BoostedShape
    pure: bool
    roles: TreeRoles
    score_range: Fraction
    sums: Sensitivity
    what: str
    times: str


def _boosted(shape: BoostedShape, pure: bool) -> _Tree:
    what, times = "residual sums, curvatures and sizes", f", {shape.n_rounds} times"
    score_range, row = shape.lattice.score_range, shape.lattice.row
    return _Tree(shape, pure, BY_RESIDUALS, score_range, row, what, times)


def _counted(shape: BoostedShape, pure: bool) -> _Tree:
    return _Tree(shape, pure, BY_COUNTS, CountScore.score_range, ONE_COUNT, "class counts", "")


def _corrections(shape: BoostedShape, pure: bool, total: Fraction) -> Round:
    """Sums over the leaves of grown trees, each as many times."""
    times = f", {shape.n_corrections} times"
    tree, role = replace(_boosted(shape, pure), times=times), Role.CORRECTIONS
    release = _sums(tree, role, shape.depth, total / shape.n_corrections)
    return Round(OWNER, (Step((release,)),), shape.n_corrections)


def _steps(tree: _Tree, total: Fraction) -> tuple[Step, ...]:
    """A tree: at each level sums of its nodes and their splits, then the sums of its leaves."""
    settings, depth = tree.shape.settings, tree.shape.depth
    to_splits = total * settings.selection_share
    to_nodes = total * settings.node_share if depth > 1 else Fraction(0)
    node_parts = [Fraction(0), *_downward(depth - 1, settings.node_downward)]
    steps = []
    for level, part in enumerate(_downward(depth, settings.downward)):
        own = [_splits(tree, level, to_splits * part)]
        if level:
            own.insert(0, _sums(tree, tree.roles.nodes, level, to_nodes * node_parts[level]))
        steps.append(Step(tuple(own)))
    left = total - to_splits - to_nodes
    steps.append(Step((_sums(tree, tree.roles.leaves, depth, left),)))
    return tuple(steps)


def _downward(depth: int, ratio: float) -> list[Fraction]:
    """Share of each level."""
    weights = [max(1, round(_WEIGHTS * ratio**level)) for level in range(depth)]
    return [Fraction(weight, sum(weights)) for weight in weights]


def _splits(tree: _Tree, level: int, share: Fraction) -> Release:
    event = selection_event(share, tree.score_range, tree.pure)
    n_trees = tree.shape.n_rounds if tree.times else 1
    text = f"splits of {n_trees} tree{'s' * (n_trees > 1)} with {tree.shape.depth} levels"
    return Release(tree.roles.splits, event, 2**level, level, text)


def _sums(tree: _Tree, role: str, level: int, share: Fraction) -> Release:
    event = count_noise(tree.sums, share, tree.pure)
    of_what = "nodes" if role == tree.roles.nodes else f"{2**level} leaves"
    return Release(role, event, 2**level, level, f"noisy {tree.what} of {of_what}{tree.times}")


def _words(shape: BoostedShape, buys: bool, pure: bool) -> dict[str, str]:
    """The plan in words, for the report."""
    bins = bins_in_words(buys)
    noise, currency = noise_name(shape.lattice.row, pure), "epsilon" if pure else "rho"
    kind = "weighted" if shape.lattice.weighted else "clipped"
    first = f"a tree of depth {shape.depth} drawn by class counts, then " if shape.first else ""
    then = f", then {shape.n_corrections} corrections of leaves" if shape.n_corrections else ""
    start = "log-odds of the noisy prior"
    if shape.starts_clipped:
        start = "scores at which clipped residuals of the noisy prior add up to nothing"
    if shape.curves is not None:
        start += f", then {shape.curves.phrase()}"
    return {
        "rounds": f"{first}{shape.n_rounds} trees of depth {shape.depth}{then}",
        "structure": "splits drawn by what is left to explain, rather where earlier ones told much",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "start": start,
        "leaves": f"{kind} residuals rounded toward zero to a lattice, {noise} noise",
        "budget shares add up in": currency,
        "composed by": f"addition in {currency}",
    }


def _end(size: BoostedSize) -> dict[str, str]:
    """Words about what ends the depth before the budget does, where something does."""
    if size.wanted_depth <= size.depth:
        return {}
    end = f"sums of a level would take more than {MEMORY_LIMIT / 2**30:g} GB of memory"
    if size.depth == MAX_DEPTH:
        end = f"{MAX_DEPTH} levels are the most that a tree has"
    return {"depth ends at": f"{size.depth}; the budget would carry {size.wanted_depth}, but {end}"}
