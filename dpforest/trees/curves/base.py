"""Parts that a plan and a training have of curves, whichever way they are learnt."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget, Round
from dpforest.bridge.bridge import Bridge
from dpforest.trees.base import TableFacts
from dpforest.trees.scored.queries import ScoreHistory


@dataclass(frozen=True, slots=True, eq=False)
class LearntCurves:
    """Curves as they were released.

    Attributes
    ----------
    base : ndarray of float64, shape (C,)
        Score that all records have, before their codes add something.
    code_values : ndarray of float64, shape (total codes, C)
        What every code is worth.
    sizes : ndarray of float64, shape (total codes,)
        Records of each code, about.
    history : ScoreHistory
        Scores of records by base and codes.
    """

    base: NDArray[np.float64]
    code_values: NDArray[np.float64]
    sizes: NDArray[np.float64]
    history: ScoreHistory


class PlannedCurves(Protocol):
    """Sizes of curves by public facts, and what asks for them and learns them.

    Attributes
    ----------
    at_once : bool
        Whether one release tells of the curves of all features.
    """

    at_once: ClassVar[bool]

    def rounds(
        self, facts: TableFacts, budget: LearnerBudget, total: Fraction, owner: str
    ) -> tuple[Round, ...]:
        """Ask for the prior and for curves, for a total of epsilon where it is pure, else of rho.

        Parameters
        ----------
        facts : TableFacts
        budget : LearnerBudget
            The whole one, of which the total is a part.
        total : Fraction
        owner : str
            Of the requests.
        """

    def learnt(self, bridge: Bridge, facts: TableFacts) -> LearntCurves:
        """Ask for what `rounds` lists, and make curves of the answers."""

    def words(self, facts: TableFacts, budget: LearnerBudget) -> dict[str, str]:
        """Words of a plan that has nothing but curves, for the report."""

    def phrase(self) -> str:
        """The curves in half a sentence, for the plan of a forest that begins with them."""
