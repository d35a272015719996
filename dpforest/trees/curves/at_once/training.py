"""Training curves at once: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.bridge.bridge import Bridge
from dpforest.mechanisms.objective import Calibration
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.queries import CodedRecords, CurveLosses
from dpforest.trees.curves.at_once.sizes import AtOnceSizes, Role
from dpforest.trees.curves.base import LearntCurves
from dpforest.trees.prior import released_class_counts
from dpforest.trees.scored.queries import CodeMove, ScoreHistory
from dpforest.trees.scored.score_steps import in_score_steps

#: Largest worth of a code, in log-odds: a share of 1 in 10^8 is as good as none.
_MOST = 20.0


def learnt_at_once(shape: AtOnceSizes, bridge: Bridge, facts: TableFacts) -> LearntCurves:
    """Ask for the prior and for all curves."""
    prior = released_class_counts(bridge, facts.unit)
    event, columns = bridge.event(Role.CURVES), shape.columns(facts)
    assert isinstance(event, ObjectivePerturbation)
    calibration = Calibration.of(event, columns.widths)
    start = float(np.log(prior / (prior.sum() - prior))[1])
    losses = CurveLosses(CodedRecords(facts.unit), columns, start, shape.clip, calibration)
    divisors = _even_divisors(facts)
    base, values = _curves(losses, bridge, facts, 1.0 / divisors)
    rows = max(facts.approximate_rows or float(prior.sum()), 0.0)
    history = ScoreHistory(base).then(CodeMove(facts.offsets, values))
    return LearntCurves(base, values, rows / divisors, history)


def _curves(
    losses: CurveLosses, bridge: Bridge, facts: TableFacts, shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Base score, and what every code is worth, as they are released, by even shares of codes."""
    released = bridge.ask(losses.query, Role.CURVES).minimised(Role.CURVES, losses)
    weights = np.asarray(released * losses.calibration.step, dtype=np.float64)
    values = losses.columns.of_codes(weights)
    # What all codes of a feature share is the constant's: noise moves it from one to the other.
    # What nobody declared is worth as much as the others in the mean.
    means = np.add.reduceat(shares * values, facts.offsets[:-1])
    values = np.where(shares > 0, values - np.repeat(means, facts.n_codes), 0.0)
    base = np.array([losses.start + float(weights[-1] + means.sum())])
    return base, in_score_steps(np.clip(values, -_MOST, _MOST))[:, None]


def _even_divisors(facts: TableFacts) -> NDArray[np.float64]:
    """Declared codes of each code's feature, which have even parts, as nothing was counted.

    Infinite at a code that nobody declared: its part is nothing.
    """
    firsts, declared = facts.offsets[:-1], np.ones(int(facts.offsets[-1]))
    unknown = np.array(facts.unknown or [-1] * facts.n_features)
    declared[(firsts + unknown)[unknown >= 0]] = 0.0
    numbers = np.repeat(np.add.reduceat(declared, firsts), facts.n_codes)
    return np.where(declared > 0, numbers, np.inf)
