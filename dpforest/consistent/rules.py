"""A forest as four choices and a stop."""

from __future__ import annotations

from dataclasses import dataclass

from dpforest.consistent.answers import Label, Mean
from dpforest.consistent.candidates import Candidates
from dpforest.consistent.inclusion import RecordRule
from dpforest.consistent.kernels.layout import StopRule
from dpforest.consistent.splits import SplitChoice

_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Stop:
    """Conditions for a leaf, besides structure points that agree and no feature that splits them.

    Parameters
    ----------
    split_from : int
        Fewest estimation points of a node that is split.
    child_from : int, default=1
        Fewest estimation points of a child; the node of a split that would leave fewer stays a
        leaf. The split is not drawn again.
    max_depth : int or None
    """

    split_from: int
    child_from: int = 1
    max_depth: int | None = None

    def parameters(self) -> StopRule:
        """The rule as kernels take it."""
        depth = _NO_LIMIT if self.max_depth is None else self.max_depth
        return StopRule(self.split_from, self.child_from, depth)


@dataclass(frozen=True, slots=True)
class ForestRules:
    """All that defines a forest but its number of trees."""

    records: RecordRule
    candidates: Candidates
    splits: SplitChoice
    answers: Label | Mean
    stop: Stop
