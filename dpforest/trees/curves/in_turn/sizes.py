"""Sizes of curves in turn, and what is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from dpforest.trees.base import PRIOR_ROLE
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.scored.gradients import GradientLattice


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    COUNTS = "records by bins"
    SUMS = "residual sums of a feature"


@dataclass(frozen=True, slots=True)
class InTurnSizes:
    """Sizes of curves, and how released values become them.

    Attributes
    ----------
    max_bins : int
        That ordered features are cut into, at most.
    n_bins : int
        Of the feature that has most.
    n_cycles : int
    lattice : GradientLattice
    settings : InTurnSettings
    """

    max_bins: int
    n_bins: int
    n_cycles: int
    lattice: GradientLattice
    settings: InTurnSettings
