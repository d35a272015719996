"""Third choice: how a split is chosen among the candidates.

All forests draw from softmax distributions over impurity decreases that are min-max normalised to
0 … 1 (equal decreases are all 0). They differ in the strengths that multiply the decreases:
strength 0 is a uniform choice, an infinite one takes the best, ties at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from dpforest.consistent.kernels.layout import SplitRule


class SplitChoice(Protocol):
    """Chooses one candidate of a node."""

    def parameters(self) -> SplitRule:
        """The rule as kernels take it."""


@dataclass(frozen=True, slots=True)
class TwoStage:
    """A feature by its best candidate, then one of its candidates.

    Parameters
    ----------
    feature, value : float
        What multiplies the normalised decreases in either draw.
    search_points : int
        If positive, only candidates within what so many random structure points of the node span
        are searched.
    """

    feature: float
    value: float
    search_points: int = 0

    def parameters(self) -> SplitRule:
        """See :class:`SplitChoice`."""
        return SplitRule(
            joint=False,
            first=0.0,
            first_feature=0.0,
            first_value=0.0,
            other_feature=float(self.feature),
            other_value=float(self.value),
            search_points=self.search_points,
        )


#: The largest decrease, ties at random: first among features, then among their values.
BEST = TwoStage(math.inf, math.inf)
#: A random candidate feature, then a random one of its values.
RANDOM = TwoStage(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Joint:
    """One draw over all candidates of all candidate features."""

    strength: float

    def parameters(self) -> SplitRule:
        """See :class:`SplitChoice`."""
        return SplitRule(
            joint=True,
            first=0.0,
            first_feature=0.0,
            first_value=0.0,
            other_feature=0.0,
            other_value=float(self.strength),
            search_points=0,
        )


@dataclass(frozen=True, slots=True)
class Mixture:
    """With a probability one two-stage choice, else another; one Bernoulli a node."""

    probability: float
    first: TwoStage
    other: TwoStage

    def parameters(self) -> SplitRule:
        """See :class:`SplitChoice`."""
        return self.other.parameters()._replace(
            first=float(self.probability),
            first_feature=float(self.first.feature),
            first_value=float(self.first.value),
        )
