"""The plan of a one-shot forest: one list of releases, made from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.events import Event
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, once
from dpforest.accounting.tightening import within_budget
from dpforest.records.rows import Totals
from dpforest.trees.base import MEDIAN_ROLE, PRIOR_ROLE, TableFacts, counted
from dpforest.trees.one_shot.queries import MedianRank, tables_sensitivity
from dpforest.trees.one_shot.settings import N_SCORE_BINS, OneShotSettings, OneShotSize
from dpforest.trees.priced_events import count_noise, exponential_selection
from dpforest.trees.prior import prior_round
from dpforest.trees.random.bins import QUANTILES_ROLE, bins_in_words, bought_quantiles

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
    pure, signal = budget.is_pure, facts.signal(budget)
    size = settings.size(facts.n_features, facts.n_classes, signal, not pure)
    if facts.is_regression and settings.mean_share(signal) == 1:
        shape = OneShotShape(facts.n_classes, size, budget.signal(1.0), 0.0, settings)
        alone = (_mean_alone(facts, settings, signal, total, pure),)
        return Plan(alone, shape, _words(facts, shape, alone, pure))
    bound = math.log(facts.n_classes) + settings.bound_over_even(signal)
    shape = OneShotShape(facts.n_classes, size, budget.signal(1.0), bound, settings)
    rounds = _rounds(facts, budget, shape, signal, total)
    return Plan(rounds, shape, _words(facts, shape, rounds, pure))


def _mean_alone(
    facts: TableFacts, settings: OneShotSettings, signal: float, total: Fraction, pure: bool
) -> Round:
    """Everything for the mean of a regression's targets, or for their median."""
    if pure and facts.approximate_rows is not None and settings.draws_median(signal):
        event = exponential_selection(total, MedianRank.score_range, pure)
        return once(OWNER, Release(Role.MEDIAN, event, says="about the median of the target"))
    return prior_round(OWNER, facts.unit, total, pure)


def _rounds(
    facts: TableFacts, budget: LearnerBudget, shape: OneShotShape, signal: float, total: Fraction
) -> tuple[Round, ...]:
    """Requests in their order: leaves have what the other parts leave of the total."""
    pure, settings, rounds = budget.is_pure, shape.settings, list[Round]()
    calibration, share = _calibration(facts, settings, signal, total, pure)
    left = total - share
    if not calibration or facts.is_regression:
        share = total * _prior_share(facts, settings, signal)
        rounds.append(prior_round(OWNER, facts.unit, share, pure))
        left -= share
    quantiles, taken = bought_quantiles(OWNER, facts, budget, total, settings.quantile_share)
    leaves = _leaves(facts, shape.size, left - taken, pure)
    return (*rounds, *quantiles, leaves, *calibration)


def _prior_share(facts: TableFacts, settings: OneShotSettings, signal: float) -> Fraction:
    return settings.mean_share(signal) if facts.is_regression else settings.prior_share


def _leaves(facts: TableFacts, size: OneShotSize, share: Fraction, pure: bool) -> Round:
    """The tables of all trees, in one release."""
    event = count_noise(tables_sensitivity(size.n_trees, facts.unit), share, pure)
    n_leaves = 2**size.depth
    text = f"noisy {counted(facts.is_regression)} in {n_leaves} leaves of {size.n_trees} trees"
    return once(OWNER, Release(Role.LEAVES, event, size.n_trees * n_leaves, says=text))


def _calibration(
    facts: TableFacts, settings: OneShotSettings, signal: float, total: Fraction, pure: bool
) -> tuple[tuple[Round, ...], Fraction]:
    """The calibration, where one is bought, and what is taken from the total for it."""
    if signal < _needed_signal(facts, settings):
        return (), Fraction(0)
    event: Event
    if facts.n_classes == 2:
        share, n_cells = total * settings.histogram_share, N_SCORE_BINS
        event = count_noise(tables_sensitivity(1, facts.unit), share, pure)
        text = f"noisy {counted(facts.is_regression)} in a few bins of the score"
    else:
        share, n_cells = total * settings.selection_share, 1
        event = exponential_selection(share, Totals.score_range, pure)
        text = "one of a few scales of score and prior"
    return (once(OWNER, Release(Role.CALIBRATION, event, n_cells, says=text)),), share


def _needed_signal(facts: TableFacts, settings: OneShotSettings) -> float:
    if facts.is_regression:
        return settings.target_histogram_signal
    return settings.histogram_signal if facts.n_classes == 2 else settings.selection_signal


def _words(
    facts: TableFacts, shape: OneShotShape, rounds: tuple[Round, ...], pure: bool
) -> dict[str, str]:
    """The plan in words, for the report."""
    currency = "epsilon" if pure else "rho"
    paid = {"budget shares add up in": currency, "composed by": f"addition in {currency}"}
    by = {release.role: release.event.mechanism for one in rounds for release in one.releases}
    if Role.LEAVES not in by:
        what = "the mean, so a median is drawn" if Role.MEDIAN in by else "more than the mean"
        return {"trees": f"none: the budget is too small for {what}"} | paid
    size, bins = shape.size, bins_in_words(Role.QUANTILES in by)
    features = " or ".join(map(str, size.features_per_tree))
    tables = f"{counted(facts.is_regression)} of all trees in one release"
    return {
        "trees": f"{size.n_trees} of depth {size.depth}",
        "structure": f"public: each tree cuts {features} features evenly, in turn",
        "thresholds": f"{bins}, at most {shape.settings.max_bins} bins a feature",
        "leaves": f"{tables}: {by[Role.LEAVES]}",
        "calibration": by.get(Role.CALIBRATION, "none"),
    } | paid
