"""The plan of a refitted forest: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from dpforest.accounting.releases import (
    LearnerBudget,
    Plan,
    Release,
    Round,
    Step,
    once,
)
from dpforest.accounting.tightening import within_budget
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.curves.at_once.sizes import Role as AtOnceRole
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.curves.in_turn.sizes import Role as CurveRole
from dpforest.trees.curves.start import beginning, curves_to_begin_with, signal_after
from dpforest.trees.priced_events import count_noise, noise_name, selection_event
from dpforest.trees.random.bins import QUANTILES_ROLE, bins_in_words, bought_quantiles
from dpforest.trees.refitted.design import n_columns
from dpforest.trees.refitted.queries import (
    ResidualLattice,
    gradient_sensitivity,
    gram_sensitivity,
    trees_sensitivity,
)
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.confidence import (
    CONFIDENCE_ROLE,
    CONFIDENCE_WORDS,
    bought_confidence,
)

OWNER = "refitted"


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = QUANTILES_ROLE
    CURVE_COUNTS = CurveRole.COUNTS
    CURVE_SUMS = CurveRole.SUMS
    CURVES_AT_ONCE = AtOnceRole.CURVES
    GRAM = "linear start: Gram matrix"
    GRADIENT = "linear start: gradient"
    SELECTION = "tree selection"
    SUMS = "leaf sums"
    CORRECTIONS = "leaf corrections"
    CONFIDENCE = CONFIDENCE_ROLE


@dataclass(frozen=True, slots=True)
class RefittedShape:
    """Sizes of a refitted forest, and how released values become steps.

    Attributes
    ----------
    n_classes, depth, n_candidates, n_rounds : int
    of_means : bool
    lattice : ResidualLattice
    curves : PlannedCurves or None
        Those that it begins with.
    settings : RefittedSettings
    """

    n_classes: int
    depth: int
    n_candidates: int
    n_rounds: int
    of_means: bool
    lattice: ResidualLattice
    curves: PlannedCurves | None
    settings: RefittedSettings

    @property
    def selects(self) -> bool:
        """True if there is something to choose among in a round."""
        return self.n_candidates > 1

    @property
    def n_corrections(self) -> int:
        """Trees whose leaves are summed once more after the last round, by one or more times."""
        return self.n_rounds * self.settings.correction_times

    @property
    def corrected_together(self) -> tuple[slice, ...]:
        """Places of the trees that one question corrects, the questions in their order."""
        n, size = self.n_rounds, self.settings.trees_together
        once_each = [slice(first, min(first + size, n)) for first in range(0, n, size)]
        return tuple(once_each) * self.settings.correction_times

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
        Pure epsilon pays for permute-and-flip and geometric noise, (epsilon, delta) for the
        exponential mechanism and discrete Gaussian noise.
    settings : RefittedSettings
        For that budget.
    """
    return within_budget(budget, lambda total: _plan_of_total(facts, budget, settings, total))


def _plan_of_total(
    facts: TableFacts, budget: LearnerBudget, settings: RefittedSettings, total: Fraction
) -> Plan[RefittedShape]:
    """The plan whose shares are those of a total; its size follows from the budget."""
    shape, pure = _shape(facts, budget, settings), budget.is_pure
    rounds, left = beginning(shape.curves, facts, budget, total, settings, OWNER)
    quantiles, taken = bought_quantiles(OWNER, facts, budget, total, settings.quantile_share)
    rounds, left = rounds + quantiles, left - taken
    signal = facts.signal(budget)
    if shape.curves is None and settings.starts_linearly(signal, n_columns(facts), facts.n_classes):
        share = total * settings.start_share
        rounds += _start(shape, facts, share, pure)
        left -= share
    last, taken = bought_confidence(OWNER, facts, budget, total, settings.confidence_share)
    rounds += [*_rounds(shape, left - taken, pure), *last]
    roles = {r.role for o in rounds for r in o.releases}
    return Plan(tuple(rounds), shape, _words(shape, roles, pure))


def _shape(facts: TableFacts, budget: LearnerBudget, settings: RefittedSettings) -> RefittedShape:
    """Sizes by the public signal, of what is left of it where curves come first."""
    rows, of_means = facts.approximate_rows or 0.0, facts.is_regression
    signal, curves = budget.signal(rows), None
    lattice = ResidualLattice.of(
        n_score_columns(facts.n_classes),
        settings.clips(signal, facts.n_classes, of_means),
        settings.norm_of_many,
    )
    if settings.starts_with_curves(signal, facts.n_features, of_means):
        curves = curves_to_begin_with(facts, budget, settings)
        signal = signal_after(curves, budget, rows, settings)
    size = settings.size(signal, rows, facts.n_classes, of_means)
    sizes = size.depth, size.n_candidates, size.n_rounds
    return RefittedShape(facts.n_classes, *sizes, of_means, lattice, curves, settings)


def _start(shape: RefittedShape, facts: TableFacts, share: Fraction, pure: bool) -> list[Round]:
    """One noisy Gram matrix, then noisy gradients."""
    settings, n = shape.settings, shape.settings.n_gradients
    gram = count_noise(gram_sensitivity(facts.n_features), share * settings.gram_share, pure)
    moved = gradient_sensitivity(facts.n_features, shape.lattice)
    gradient = count_noise(moved, share * (1 - settings.gram_share) / n, pure)
    steps = Release(Role.GRADIENT, gradient, says=f"{n} noisy gradients")
    return [
        once(OWNER, Release(Role.GRAM, gram, says="noisy x x'")),
        Round(OWNER, (Step((steps,)),), n),
    ]


def _rounds(shape: RefittedShape, left: Fraction, pure: bool) -> list[Round]:
    """A draw among candidates, where there are some, and the sums of its leaves; corrections."""
    releases, n, again = list[Release](), shape.n_rounds, shape.n_corrections
    if shape.selects:
        share = left * shape.settings.selection_of(shape.of_means)
        text = f"one of {shape.n_candidates} random trees, {n} times"
        event = selection_event(share / n, shape.lattice.score_range, pure)
        releases.append(Release(Role.SELECTION, event, says=text))
        left -= share
    leaves = 2**shape.depth
    # All sums have the same noise, so steps of both kinds are shrunk alike.
    of_a_tree = left / (n + again)
    sums = count_noise(shape.lattice.row, of_a_tree, pure)
    text = f"noisy residual sums and sizes of {leaves} leaves, {n} times"
    releases.append(Release(Role.SUMS, sums, leaves, says=text))
    found = [Round(OWNER, (Step(tuple(releases)),), n)]
    sizes = [places.stop - places.start for places in shape.corrected_together]
    for size, alike in groupby(sizes):
        found.append(_corrections(shape, size, len(list(alike)), of_a_tree, pure))
    return found


def _corrections(
    shape: RefittedShape, n_trees: int, times: int, share: Fraction, pure: bool
) -> Round:
    """Sums of the leaves of several trees together, with the noise that one tree's would have."""
    event = count_noise(trees_sensitivity(shape.lattice.row, n_trees), n_trees * share, pure)
    text = f"noisy residual sums and sizes of the leaves of {n_trees} trees, once more"
    n_cells = n_trees * 2**shape.depth
    release = Release(Role.CORRECTIONS, event, n_cells, says=f"{text}, {times} times")
    return Round(OWNER, (Step((release,)),), times)


def _again(shape: RefittedShape) -> str:
    """Words about corrections, where there are some."""
    if not shape.n_corrections:
        return ""
    size = min(shape.settings.trees_together, shape.n_rounds)
    text = f", then {shape.n_corrections} corrections of leaves"
    return text if size == 1 else f"{text}, {size} trees at a time"


def _words(shape: RefittedShape, roles: set[str], pure: bool) -> dict[str, str]:
    """The plan in words, for the report."""
    noise, currency = noise_name(shape.lattice.row, pure), "epsilon" if pure else "rho"
    start = "scores at which clipped residuals of the noisy prior add up to nothing"
    if shape.of_means:
        start = "log-odds of the noisy prior"
    if shape.curves is not None:
        start += f", then {shape.curves.phrase()}"
    if Role.GRAM in roles:
        start += f", then a linear model by {shape.settings.n_gradients} noisy gradients"
    bins = bins_in_words(Role.QUANTILES in roles)
    return {
        "rounds": f"{shape.n_rounds} trees of depth {shape.depth}{_again(shape)}",
        "structure": f"one of {shape.n_candidates} public random trees a round",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "start": start,
        "leaves": f"clipped residuals rounded toward zero to a lattice, {noise} noise",
        **(CONFIDENCE_WORDS if Role.CONFIDENCE in roles else {}),
        "budget shares add up in": currency,
        "composed by": f"addition in {currency}",
    }
