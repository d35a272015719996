"""The public directions that one stage offers: single features, and sums of a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.base import TableFacts
from dpforest.trees.rules.directions import Direction, Directions, PublicDraws
from dpforest.trees.rules.sums import SumMaker

#: Makes a direction once it is chosen: one value against the rest has as long a table as a feature
#: has codes, and all values of 65,000 together would be 34 GB.
_Made = Callable[[], Direction]


def draw_directions(
    facts: TableFacts,
    n_sums: int,
    n_cuts: int,
    limit: int,
    sum_share: float,
    source: RandomSource,
    known: Sequence[Direction] = (),
    near_share: float = 0.0,
) -> Directions:
    """Draw the public directions of one family.

    Every feature has the same share among the single ones: an ordered one as one direction,
    a categorical one as one declared value against the rest, for each value, and as cuts of its
    list where that tells an order. Sums share the rest equally. Where there are more single
    directions than ``limit``, a public random choice of them is offered.

    Parameters
    ----------
    facts : TableFacts
    n_sums : int
        Number of sums; none where there is one feature.
    n_cuts : int
        Largest number of cuts of a direction, below 256.
    limit : int
        Largest number of single directions.
    sum_share : float
        Share of the base weight that sums have.
    source : RandomSource
        Public words, for these directions alone.
    known : sequence of Direction
        Released ones of earlier stages.
    near_share : float
        Of the sums, those that are near to known ones, where there are some.
    """
    draws = PublicDraws(source)
    usable = [f for f in range(facts.n_features) if facts.declared_codes(f).size > 1]
    offered = [(make, s) for f in usable for make, s in _single(facts, f, n_cuts)]
    if len(offered) > limit:
        offered = draws.some(offered, limit)
    singles = [make() for make, _ in offered]
    sums = _sums(SumMaker(facts, usable, n_cuts, draws), n_sums, known, near_share)
    shares = np.array([share for _, share in offered])
    if sums:
        shares = np.concatenate(
            [shares * (1 - sum_share) / shares.sum(), np.full(len(sums), sum_share / len(sums))]
        )
    return Directions((*singles, *sums), shares)


def _sums(
    maker: SumMaker, n_sums: int, known: Sequence[Direction], near_share: float
) -> list[Direction]:
    """Sums from anywhere, then those near to known directions; none where there is one feature."""
    if len(maker.usable) < 2:
        return []
    n_near = int(near_share * n_sums) if known else 0
    sums = [maker.anywhere() for _ in range(n_sums - n_near)]
    return sums + [maker.near(known) for _ in range(n_near)]


def _single(facts: TableFacts, feature: int, n_cuts: int) -> list[tuple[_Made, float]]:
    """Makers of one feature's directions, each with its share of what the feature has."""
    n_codes = int(facts.n_codes[feature])
    if facts.ordered[feature]:
        return [(partial(_of_order, feature, n_codes, n_cuts), 1.0)]
    # A feature of two values is one direction; each other value against the rest.
    declared = facts.declared_codes(feature)
    values = declared[: 1 if declared.size == 2 else declared.size].tolist()
    inner = inner_cuts(facts, feature)
    share = 1.0 / (len(values) + inner)
    single: list[tuple[_Made, float]] = [
        (partial(_against, feature, n_codes, value), share) for value in values
    ]
    if inner:
        single.append((partial(_of_list, facts, feature, n_cuts), inner * share))
    return single


def inner_cuts(facts: TableFacts, feature: int) -> int:
    """Cuts of a list that tells an order, with two categories or more on either side."""
    return max(facts.listed_codes(feature) - 3, 0)


def _of_order(feature: int, n_codes: int, n_cuts: int) -> Direction:
    """Codes in their order, cut at equal distances."""
    codes = _codes(n_codes)
    thresholds = codes[:-1]
    if thresholds.size > n_cuts:
        thresholds = codes[1 : n_cuts + 1] * n_codes // (n_cuts + 1) - 1
    return Direction((feature,), (codes,), thresholds)


def _of_list(facts: TableFacts, feature: int, n_cuts: int) -> Direction:
    """Categories in the order of their list, all others in its middle."""
    table, n = _codes(int(facts.n_codes[feature])), facts.listed_codes(feature)
    table[n:] = n // 2
    inner = inner_cuts(facts, feature)
    thresholds = _codes(inner)
    if inner > n_cuts:
        thresholds = (_codes(n_cuts) + 1) * (inner + 1) // (n_cuts + 1) - 1
    return Direction((feature,), (table,), thresholds + 1)


def _against(feature: int, n_codes: int, value: int) -> Direction:
    """One value against the rest."""
    table = (_codes(n_codes) != value).astype(np.int64)
    return Direction((feature,), (table,), np.zeros(1, dtype=np.int64))


def _codes(n_codes: int) -> NDArray[np.int64]:
    return np.arange(n_codes, dtype=np.int64)
