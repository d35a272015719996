"""Sizes of curves at once, and what is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.curves.at_once.columns import CurveColumns


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    CURVES = "minimum of a noisy objective"


@dataclass(frozen=True, slots=True)
class AtOnceSizes:
    """Sizes of the curves.

    Attributes
    ----------
    n_knots : int
        Of an ordered feature's curve, at most.
    clip : Fraction
    prior_share, determinant_share : Fraction
        Of the whole, and of what is left.
    """

    n_knots: int
    clip: Fraction
    prior_share: Fraction
    determinant_share: Fraction

    def columns(self, facts: TableFacts) -> CurveColumns:
        """Columns of the minimum."""
        return CurveColumns.of(facts, self.n_knots)
