"""The plan of an additive model: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, Step, once
from dpforest.accounting.tightening import tightened
from dpforest.trees.additive.queries import counts_sensitivity
from dpforest.trees.additive.settings import AdditiveSettings
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.boosted.queries import Lattice
from dpforest.trees.prior import count_noise, prior_round
from dpforest.trees.random.bins import public_bins
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.confidence import (
    CONFIDENCE_ROLE,
    CONFIDENCE_WORDS,
    confidence_is_affordable,
    confidence_round,
)
from dpforest.trees.scored.queries import residual_sensitivity

OWNER = "additive"
#: Curvatures and records are not summed with residuals here: they count for the least there is.
_NOTHING = Fraction(0)


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    COUNTS = "records by bins"
    SUMS = "residual sums of a feature"
    CONFIDENCE = CONFIDENCE_ROLE


@dataclass(frozen=True, slots=True)
class AdditiveShape:
    """Sizes of an additive model, and how released values become curves.

    Attributes
    ----------
    n_classes : int
    max_bins : int
        That ordered features are cut into, at most.
    n_bins : int
        Of the feature that has most.
    n_cycles : int
    lattice : Lattice
    settings : AdditiveSettings
    """

    n_classes: int
    max_bins: int
    n_bins: int
    n_cycles: int
    lattice: Lattice
    settings: AdditiveSettings


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: AdditiveSettings
) -> Plan[AdditiveShape]:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
    budget : LearnerBudget
        Pure epsilon pays for geometric, (epsilon, delta) for discrete Gaussian noise.
    settings : AdditiveSettings
    """
    shape = curve_shape(facts, budget, settings)
    if not budget.delta:
        return _plan_of_total(shape, facts, budget, budget.epsilon)
    return tightened(lambda rho: _plan_of_total(shape, facts, budget, rho), budget)


def curve_shape(
    facts: TableFacts, budget: LearnerBudget, settings: AdditiveSettings
) -> AdditiveShape:
    """Sizes by the public signal."""
    pure, of_means = not budget.delta, facts.unit > 1
    signal = budget.signal(facts.approximate_rows or 0.0)
    clip = settings.clips(settings.strength(signal, facts.n_features, pure), of_means)
    lattice = Lattice.of(n_score_columns(facts.n_classes), clip, _NOTHING, _NOTHING)
    max_bins = settings.n_bins(signal, facts.n_features, pure)
    n_bins = int(np.diff(public_bins(facts, max_bins).starts).max())
    n_cycles = settings.n_cycles(signal, facts.n_features, pure)
    return AdditiveShape(facts.n_classes, max_bins, n_bins, n_cycles, lattice, settings)


def _plan_of_total(
    shape: AdditiveShape, facts: TableFacts, budget: LearnerBudget, total: Fraction
) -> Plan[AdditiveShape]:
    """The plan whose shares are those of a total."""
    asked, pure, words = shape.settings.confidence_share, not budget.delta, _words(shape, budget)
    if shape.n_classes == 2 or not confidence_is_affordable(facts, budget, asked):
        return Plan(curve_rounds(shape, facts, budget, total, OWNER), shape, words)
    rounds = curve_rounds(shape, facts, budget, total * (1 - asked), OWNER)
    last = confidence_round(OWNER, total * asked, pure)
    return Plan((*rounds, last), shape, words | CONFIDENCE_WORDS)


def curve_rounds(
    shape: AdditiveShape, facts: TableFacts, budget: LearnerBudget, total: Fraction, owner: str
) -> tuple[Round, ...]:
    """Ask for the prior and for curves, for a total of epsilon where it is pure, else of rho."""
    pure, settings = not budget.delta, shape.settings
    signal = budget.signal(facts.approximate_rows or 0.0)
    prior = total * settings.prior(signal, facts.unit > 1, pure)
    counts = total * (settings.pure_count_share if pure else settings.count_share)
    return (
        prior_round(owner, facts.unit, prior, pure),
        once(owner, _counts(facts, counts, pure)),
        _sums(shape, facts, total - prior - counts, pure, owner),
    )


def _counts(facts: TableFacts, share: Fraction, pure: bool) -> Release:
    """One noisy histogram of each feature, over its bins."""
    event = count_noise(counts_sensitivity(facts.n_features), share, pure)
    return Release(Role.COUNTS, event, says="noisy counts of records in the bins of each feature")


def _sums(
    shape: AdditiveShape, facts: TableFacts, share: Fraction, pure: bool, owner: str
) -> Round:
    """Sums over the bins of each feature in turn, all with the same noise.

    They are asked for alike, for as many bins as any feature has, so that lists stay short.
    """
    moved = residual_sensitivity(shape.lattice.n_columns, shape.lattice.most)
    times = shape.n_cycles * facts.n_features
    event = count_noise(moved, share / times, pure)
    text = f"noisy residual sums over the bins of each feature, {shape.n_cycles} times"
    return Round(owner, (Step((Release(Role.SUMS, event, shape.n_bins, says=text),)),), times)


def _words(shape: AdditiveShape, budget: LearnerBudget) -> dict[str, str]:
    """The plan in words, for the report."""
    pure = not budget.delta
    noise, currency = ("geometric", "epsilon") if pure else ("discrete Gaussian", "rho")
    times = "once" if shape.n_cycles == 1 else f"{shape.n_cycles} times"
    return {
        "rounds": f"one curve a feature, corrected {times}",
        "structure": "no trees: a sum of curves of single features",
        "thresholds": f"merged public cells, at most {shape.max_bins} bins a feature",
        "start": "log-odds of the noisy prior",
        "leaves": f"clipped residuals rounded toward zero to a lattice, {noise} noise",
        "budget shares add up in": currency,
        "composed by": f"addition in {currency}",
    }
