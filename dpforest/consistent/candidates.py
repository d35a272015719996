"""Second choice: which features a node may split.

A feature offers something to a node if the node's structure points have two values of it. Features
that offer nothing are no candidates; the papers do not say what happens if all that were drawn are
such. Here others are drawn in their place until one offers something, so a node is a leaf only if
no feature can split it; with ``redraw=False`` the node is a leaf.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

from dpforest.consistent.kernels.layout import CandidateRule
from dpforest.exceptions import ParameterError


class Candidates(Protocol):
    """Chooses candidate features of a node."""

    def parameters(self, n_features: int) -> CandidateRule:
        """The rule as kernels take it."""


@dataclass(frozen=True, slots=True)
class AllFeatures:
    """Every feature is a candidate in every node."""

    def parameters(self, n_features: int) -> CandidateRule:
        """See :class:`Candidates`."""
        return CandidateRule(single=0.0, size=0, poisson=0.0, redraw=True)


@dataclass(frozen=True, slots=True)
class RandomFeatures:
    """So many random features; with probability ``single`` only one.

    Parameters
    ----------
    max_features : {"sqrt", "log2"}, int, float or None
        As in scikit-learn's forests.
    single : float
    redraw : bool
        Whether others are drawn where none of those drawn can split the node.
    """

    max_features: Any = "sqrt"
    single: float = 0.0
    redraw: bool = True

    def parameters(self, n_features: int) -> CandidateRule:
        """See :class:`Candidates`."""
        size = resolve_max_features(self.max_features, n_features)
        return CandidateRule(float(self.single), size, 0.0, bool(self.redraw))


@dataclass(frozen=True, slots=True)
class PoissonFeatures:
    """``min(1 + Poisson(mean), D)`` random features."""

    mean: float = 10.0
    redraw: bool = True

    def parameters(self, n_features: int) -> CandidateRule:
        """See :class:`Candidates`."""
        return CandidateRule(0.0, 1, float(self.mean), bool(self.redraw))


def resolve_max_features(value: Any, n_features: int) -> int:
    """Number of features from scikit-learn's notation; the papers round down."""
    if value is None:
        return n_features
    if value == "sqrt":
        return max(1, math.isqrt(n_features))
    if value == "log2":
        return max(1, int(math.log2(n_features)))
    is_share = isinstance(value, float) and 0.0 < value <= 1.0
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) > 0:
        return min(int(value), n_features)
    if not is_share:
        rule = "must be 'sqrt', 'log2', None, a positive int or a share in (0, 1]"
        raise ParameterError("max_features", value, rule, "Use 'sqrt'")
    return max(1, int(value * n_features))
