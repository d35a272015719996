"""The plan of a one-shot forest: one list of releases, made from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
)
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, once
from dpforest.accounting.tightening import within_budget
from dpforest.records.base import ClassCounts
from dpforest.records.rows import Totals
from dpforest.trees.base import (
    MEDIAN_ROLE,
    PRIOR_ROLE,
    TableFacts,
    counted,
    prior_text,
)
from dpforest.trees.one_shot.queries import MedianRank, tables_sensitivity
from dpforest.trees.one_shot.settings import N_SCORE_BINS, OneShotSettings, OneShotSize
from dpforest.trees.priced_events import CountNoise, count_noise, exponential_selection
from dpforest.trees.random.bins import (
    QUANTILES_ROLE,
    bins_in_words,
    ordered_counts,
    quantiles_are_affordable,
)

OWNER = "one_shot"


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    QUANTILES = QUANTILES_ROLE
    LEAVES = "leaf tables"
    CALIBRATION = "calibration"
    MEDIAN = MEDIAN_ROLE


@dataclass(frozen=True, slots=True)
class OneShotShape:
    """Sizes of a one-shot forest, and how released values become scores.

    Attributes
    ----------
    n_classes : int
    size : OneShotSize
    signal_per_row : float
        R of one row: what turns a released size into a released R.
    log_bound : float
        Largest loss in log probability that the selection looks at.
    settings : OneShotSettings
    """

    n_classes: int
    size: OneShotSize
    signal_per_row: float
    log_bound: float
    settings: OneShotSettings


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: OneShotSettings
) -> Plan[OneShotShape]:
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
    return within_budget(budget, lambda total: _plan_of_total(facts, budget, settings, total))


def _plan_of_total(
    facts: TableFacts, budget: LearnerBudget, settings: OneShotSettings, total: Fraction
) -> Plan[OneShotShape]:
    """The plan whose shares are those of a total; its size follows from the budget."""
    rows = facts.approximate_rows
    signal = 0.0 if rows is None else budget.signal(rows)
    size = settings.size(facts.n_features, facts.n_classes, signal, bool(budget.delta))
    if facts.unit > 1 and settings.mean_share(signal) == 1:
        shape = OneShotShape(facts.n_classes, size, budget.signal(1.0), 0.0, settings)
        return _planned(facts, shape, _mean_alone(facts, budget, settings, total))
    events: dict[str, Event] = {}
    left = total
    if quantiles_are_affordable(facts, budget, settings.quantile_share):
        share = total * settings.quantile_share
        pure = not budget.delta
        events[Role.QUANTILES] = count_noise(ordered_counts(facts, pure).sensitivity, share, pure)
        left -= share
    calibration, share = _calibration(facts, budget, settings, signal, total)
    left -= share
    if calibration is None or facts.unit > 1:
        share = total * _prior_share(facts, settings, signal)
        events = {
            Role.PRIOR: count_noise(ClassCounts(facts.unit).sensitivity, share, not budget.delta)
        } | events
        left -= share
    leaves = tables_sensitivity(size.n_trees, facts.unit)
    events[Role.LEAVES] = count_noise(leaves, left, not budget.delta)
    if calibration is not None:
        events[Role.CALIBRATION] = calibration
    bound = math.log(facts.n_classes) + settings.bound_over_even(signal)
    shape = OneShotShape(facts.n_classes, size, budget.signal(1.0), bound, settings)
    return _planned(facts, shape, events)


def _mean_alone(
    facts: TableFacts, budget: LearnerBudget, settings: OneShotSettings, total: Fraction
) -> dict[str, Event]:
    """Everything for the mean of a regression's targets, or for their median."""
    rows = facts.approximate_rows
    if not budget.delta and rows is not None and settings.draws_median(budget.signal(rows)):
        return {Role.MEDIAN: ExponentialSelection(total, MedianRank.score_range)}
    return {Role.PRIOR: count_noise(ClassCounts(facts.unit).sensitivity, total, not budget.delta)}


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
        return count_noise(tables_sensitivity(1, facts.unit), share, not budget.delta), share
    share = total * settings.selection_share
    return exponential_selection(share, Totals.score_range, not budget.delta), share


def _needed_signal(facts: TableFacts, settings: OneShotSettings) -> float:
    if facts.unit > 1:
        return settings.target_histogram_signal
    return settings.histogram_signal if facts.n_classes == 2 else settings.selection_signal


def _planned(
    facts: TableFacts, shape: OneShotShape, events: dict[str, Event]
) -> Plan[OneShotShape]:
    """The list of events by role, in order, with what people read of it."""
    says, leaves = _says(facts, shape), shape.size.n_trees * 2**shape.size.depth
    bins = N_SCORE_BINS if shape.n_classes == 2 else 1
    cells = {Role.LEAVES: leaves, Role.CALIBRATION: bins}

    def round_of(role: str, event: Event) -> Round:
        return once(OWNER, Release(role, event, cells.get(role, 1), says=says[role]))

    rounds = tuple(round_of(role, event) for role, event in events.items())
    return Plan(rounds, shape, _words(facts, shape, events))


def _says(facts: TableFacts, shape: OneShotShape) -> dict[str, str]:
    """Words for what is released, by role."""
    counts, size = counted(facts.unit > 1), shape.size
    return {
        Role.PRIOR: prior_text(facts.unit > 1),
        Role.MEDIAN: "about the median of the target",
        Role.QUANTILES: "noisy histograms of ordered features",
        Role.LEAVES: f"noisy {counts} in {2**size.depth} leaves of {size.n_trees} trees",
        Role.CALIBRATION: f"noisy {counts} in a few bins of the score"
        if shape.n_classes == 2
        else "one of a few scales of score and prior",
    }


def _words(facts: TableFacts, shape: OneShotShape, events: dict[str, Event]) -> dict[str, str]:
    """The plan in words, for the report."""
    gaussian = isinstance(next(iter(events.values())), DiscreteGaussianNoise)
    currency = "rho" if gaussian else "epsilon"
    paid = {"budget shares add up in": currency, "composed by": f"addition in {currency}"}
    if Role.LEAVES not in events:
        drawn = Role.MEDIAN in events
        what = "the mean, so a median is drawn" if drawn else "more than the mean"
        return {"trees": f"none: the budget is too small for {what}"} | paid
    size, calibration = shape.size, events.get(Role.CALIBRATION)
    features = " or ".join(map(str, size.features_per_tree))
    bins = bins_in_words(Role.QUANTILES in events)
    return {
        "trees": f"{size.n_trees} of depth {size.depth}",
        "structure": f"public: each tree cuts {features} features evenly, in turn",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "leaves": f"{counted(facts.unit > 1)} of all trees in one release: "
        f"{events[Role.LEAVES].mechanism}",
        "calibration": "none" if calibration is None else calibration.mechanism,
    } | paid
