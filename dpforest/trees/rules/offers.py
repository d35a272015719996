"""The public directions that one stage offers: single features, and sums of a few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.base import TableFacts
from dpforest.trees.rules.directions import Direction, Directions, PublicDraws
from dpforest.trees.rules.sums import SumMaker


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
    a categorical one as one declared value against the rest, for each value. Sums share the
    rest equally. Where there are more single directions than ``limit``, a public random choice
    of them is offered.

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
    singles = [(d, s) for f in usable for d, s in _single(facts, f, n_cuts)]
    if len(singles) > limit:
        singles = draws.some(singles, limit)
    sums = _sums(SumMaker(facts, usable, n_cuts, draws), n_sums, known, near_share)
    shares = np.array([share for _, share in singles])
    if sums:
        shares = np.concatenate(
            [shares * (1 - sum_share) / shares.sum(), np.full(len(sums), sum_share / len(sums))]
        )
    return Directions((*(d for d, _ in singles), *sums), shares)


def _sums(
    maker: SumMaker, n_sums: int, known: Sequence[Direction], near_share: float
) -> list[Direction]:
    """Sums from anywhere, then those near to known directions; none where there is one feature."""
    if len(maker.usable) < 2:
        return []
    n_near = int(near_share * n_sums) if known else 0
    sums = [maker.anywhere() for _ in range(n_sums - n_near)]
    return sums + [maker.near(known) for _ in range(n_near)]


def _single(facts: TableFacts, feature: int, n_cuts: int) -> list[tuple[Direction, float]]:
    n_codes = int(facts.n_codes[feature])
    codes = np.arange(n_codes, dtype=np.int64)
    if not facts.ordered[feature]:
        # A feature of two values is one direction; each other value against the rest.
        declared = facts.declared_codes(feature)
        values = declared[: 1 if declared.size == 2 else declared.size]
        against = [(codes != value).astype(np.int64) for value in values]
        zero = np.zeros(1, dtype=np.int64)
        return [(Direction((feature,), (t,), zero), 1.0 / len(against)) for t in against]
    thresholds = codes[:-1]
    if thresholds.size > n_cuts:
        thresholds = codes[1 : n_cuts + 1] * n_codes // (n_cuts + 1) - 1
    return [(Direction((feature,), (codes,), thresholds), 1.0)]
