"""Choices of the greedy tree: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.trees.boosted.settings import MAX_DEPTH, MEMORY_LIMIT


@dataclass(frozen=True, slots=True)
class GreedySettings:
    """Shares of the budget, depth by a public rule, and the smoothing of leaves.

    Attributes
    ----------
    prior_share, quantile_share : Fraction
        Of the whole; the second only where quantiles are bought.
    selection_share, node_share : Fraction
        Of what is left; the rest is for leaves.
    downward : float
        What a level spends on its splits, as a multiple of the level above.
    max_bins : int
    fixed_depth : int or None
        In place of the rule.
    own_records : float
        Records of its parent that a node's shares are mixed with.
    own_noise : float
        Weight of the noise in that mixture.
    """

    prior_share: Fraction = Fraction(2, 100)
    quantile_share: Fraction = Fraction(4, 100)
    selection_share: Fraction = Fraction(60, 100)
    node_share: Fraction = Fraction(22, 100)
    downward: float = 1.2
    max_bins: int = 48
    fixed_depth: int | None = None
    own_records: float = 2.0
    own_noise: float = 2.0

    def depth(self, signal: float, n_cells: int, n_classes: int) -> int:
        """Depth by the public signal R, as deep as the sums of a level fit in memory."""
        most = int(math.log2(MEMORY_LIMIT / (8 * n_cells * (n_classes + 4)))) + 1
        wanted = self.fixed_depth or max(3, round(math.log2(max(signal, 1.0)) - 6))
        return max(1, min(wanted, most, MAX_DEPTH))
