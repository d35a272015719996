"""Confidence of a forest: right answers less claimed ones, released once all steps are known.

A forest of residuals claims too much where labels are noisy, since residuals are clipped and
leaves follow noise, and too little where few, shrunk steps end before records are explained. Public
facts do not say which of the two holds. So two sums are released, and all scores are made longer or
shorter by what these say, which changes no order of classes.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.accounting.releases import LearnerBudget, Release, Round, once
from dpforest.bridge.bridge import Bridge
from dpforest.trees.base import TableFacts
from dpforest.trees.priced_events import count_noise
from dpforest.trees.scored.claims import (
    FALL_STEPS,
    SHORTER,
    STEPS,
    ConfidenceSums,
    confidence_sensitivity,
)
from dpforest.trees.scored.queries import ScoreHistory

#: Request, in the ledger's words.
CONFIDENCE_ROLE = "right answers less claimed ones"
#: The same for people, in a plan.
CONFIDENCE_WORDS = {"confidence": "scores longer or shorter by how often they are right"}
#: Standard deviation of the logarithm of the factor, before anything is released.
SPREAD = 0.25
#: Fall of the claims of a record for the logarithm of the factor: typical, and at least.
_FALL, _LEAST_FALL = 0.2, 0.08
#: Logarithms of the smallest and the largest factor.
_LOWEST, _HIGHEST = math.log(0.4), math.log(1.65)
#: Noise, as a part of `SPREAD`, above which the release would say too little.
_MOST_NOISE = 1.5


def confidence_is_affordable(facts: TableFacts, budget: LearnerBudget, share: Fraction) -> bool:
    """True if the release would say something: a rule from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows``, and for a regression, the answer is no.
    budget : LearnerBudget
        The whole of it.
    share : Fraction
        The part that would be spent; 0 where the answer is to be no.
    """
    if not share or facts.is_regression or facts.approximate_rows is None:
        return False
    whole = budget.total
    event = count_noise(confidence_sensitivity(), share * whole, budget.is_pure)
    deviation = event.variance**0.5 / STEPS
    return deviation <= _MOST_NOISE * SPREAD * _FALL * facts.approximate_rows


def confidence_round(owner: str, share: Fraction, pure: bool) -> Round:
    """Ask for both sums, for a share of pure epsilon or of rho."""
    event = count_noise(confidence_sensitivity(), share, pure)
    text = "noisy right answers less claimed ones, and the fall of claims when scores are shorter"
    return once(owner, Release(CONFIDENCE_ROLE, event, says=text))


def bought_confidence(
    owner: str, facts: TableFacts, budget: LearnerBudget, total: Fraction, share: Fraction
) -> tuple[list[Round], Fraction]:
    """The request for both sums, if they say something, and what it takes of a plan's total.

    Parameters
    ----------
    owner : str
    facts : TableFacts
    budget : LearnerBudget
        The whole of it.
    total : Fraction
        What the plan adds up to: epsilon where the budget is pure, else rho.
    share : Fraction
        The part of the total that is spent, where it is; 0 where it is not to be.
    """
    if not confidence_is_affordable(facts, budget, share):
        return [], Fraction(0)
    return [confidence_round(owner, total * share, budget.is_pure)], total * share


def scale_of_scores(bridge: Bridge, history: ScoreHistory, facts: TableFacts) -> float:
    """Factor of all scores by how often they are right; 1 where the plan does not ask for that."""
    if not bridge.has(CONFIDENCE_ROLE):
        return 1.0
    query = ConfidenceSums(history, 1.0, np.zeros_like(history.base))
    return asked_scale(bridge, query, facts)


def asked_scale(bridge: Bridge, query: ConfidenceSums, facts: TableFacts) -> float:
    """Ask for both sums, and say what all scores should be multiplied by."""
    rows = facts.approximate_rows or 1.0
    deviation = bridge.event(CONFIDENCE_ROLE).variance ** 0.5 / STEPS
    released = bridge.ask(query, CONFIDENCE_ROLE).noised(CONFIDENCE_ROLE)
    gap, fall = released[0] / STEPS, released[1] / FALL_STEPS
    return likely_scale(float(gap), float(fall), deviation, rows)


def likely_scale(gap: float, fall: float, deviation: float, rows: float) -> float:
    """Factor at which as much is likely right as is claimed.

    Claims fall by about ``fall / log(1 / SHORTER)`` for the logarithm of the factor. The logarithm
    is normal beforehand, with the deviation `SPREAD` about 0, so it is the less of what the sums
    say the more noise they have.

    Parameters
    ----------
    gap : float
        Right answers less claimed ones, noise included.
    fall : float
        Fall of claims where scores are `SHORTER`, noise included.
    deviation : float
        Of the noise on ``gap``.
    rows : float
        About as many records as there are.
    """
    slope = max(fall / math.log(1.0 / SHORTER), _LEAST_FALL * rows, 1.0)
    trust = SPREAD**2 / (SPREAD**2 + (deviation / slope) ** 2)
    return math.exp(min(max(trust * gap / slope, _LOWEST), _HIGHEST))
