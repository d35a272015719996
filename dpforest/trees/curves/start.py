"""Curves that a forest begins with: a part of its budget, and what is left for its trees."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpforest.accounting.releases import LearnerBudget, Round
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.curves.choice import planned_curves
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.prior import prior_round


class StartSettings(Protocol):
    """Settings of a forest that say how it begins."""

    @property
    def prior_share(self) -> Fraction:
        """Of the whole: for the prior where no curves come first."""

    @property
    def curve_share(self) -> Fraction:
        """Of the whole: for curves in turn, the prior included."""

    @property
    def share_at_once(self) -> Fraction:
        """Of the whole: for curves at once, the prior included."""

    @property
    def curves(self) -> InTurnSettings:
        """Settings of curves in turn."""

    @property
    def curves_at_once(self) -> AtOnceSettings:
        """Settings of curves at once."""


def curves_to_begin_with(
    facts: TableFacts, budget: LearnerBudget, settings: StartSettings
) -> PlannedCurves:
    """Curves by one of both ways, from public facts alone."""
    ways = settings.curves, settings.curves_at_once
    return planned_curves(facts, budget, *ways, settings.share_at_once)


def share_of(curves: PlannedCurves, settings: StartSettings) -> Fraction:
    """Share of the whole that curves have."""
    return settings.share_at_once if curves.at_once else settings.curve_share


def signal_after(
    curves: PlannedCurves | None, budget: LearnerBudget, rows: float, settings: StartSettings
) -> float:
    """R of what is left of a budget once it begins with curves, where it does."""
    signal = budget.signal(rows)
    if curves is None:
        return signal
    left = float(1 - share_of(curves, settings))
    return signal * (left**0.5 if budget.delta else left)


def beginning(
    curves: PlannedCurves | None,
    facts: TableFacts,
    budget: LearnerBudget,
    total: Fraction,
    settings: StartSettings,
    owner: str,
) -> tuple[list[Round], Fraction]:
    """The prior alone, or with curves; and what is left of the total.

    Parameters
    ----------
    curves : PlannedCurves or None
    facts : TableFacts
    budget : LearnerBudget
        The whole one, of which the total is a part.
    total : Fraction
        Epsilon where it is pure, else rho.
    settings : StartSettings
    owner : str
        Of the requests.
    """
    if curves is None:
        share = total * settings.prior_share
        return [prior_round(owner, facts.unit, share, budget.is_pure)], total - share
    share = total * share_of(curves, settings)
    return list(curves.rounds(facts, budget, share, owner)), total - share
