"""Public directions: single features, and random signed sums of a few, each with public cuts.

All of it follows from public facts and public random words; no record is read.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.base import TableFacts
from dpforest.trees.rules.kernels.bins import bins_of_sums, direction_bins

#: A feature's largest part in a sum.
SUM_SCALE = 1000
_LARGEST_SUM = 5
#: Public words that are asked for at once.
_WORDS = 2048


class PublicDraws:
    """Small draws from public words, many of which are asked for at once.

    The same numbers as `dpforest.mechanisms.streamed.draw_one_below` makes of the same words, one
    by one. The source is for these draws alone: words at the end of a block stay unused.

    Parameters
    ----------
    source : RandomSource
    """

    def __init__(self, source: RandomSource) -> None:
        self._source = source
        self._left: list[int] = []

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), exactly; ``bound`` is at most 2^64."""
        limit = 2**64 - 2**64 % bound
        while True:
            word = self._next()
            if word < limit:
                return word % bound

    def coins(self, n: int) -> list[int]:
        """Draw n of two, each from a word of its own."""
        return [self._next() & 1 for _ in range(n)]

    def _next(self) -> int:
        if not self._left:
            self._left = self._source.words(_WORDS)[::-1].tolist()
        return self._left.pop()


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A public integer function of a record's codes, with public thresholds.

    Attributes
    ----------
    features : tuple of int
    tables : tuple of ndarray of int64
        What each code of each feature adds to the value.
    thresholds : ndarray of int64
        Ascending; cut k sends values up to ``thresholds[k]`` left.
    """

    features: tuple[int, ...]
    tables: tuple[NDArray[np.int64], ...]
    thresholds: NDArray[np.int64]

    def values(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Values of coded records, shape (n,)."""
        total = np.zeros(codes.shape[0], dtype=np.int64)
        for feature, table in zip(self.features, self.tables, strict=True):
            total += table.take(codes[:, feature])
        return total

    @property
    def width(self) -> int:
        """Number of integers that the values lie in."""
        return sum(int(t.max()) - int(t.min()) for t in self.tables) + 1

    @property
    def lowest(self) -> int:
        """Least of these integers."""
        return sum(int(table.min()) for table in self.tables)

    def spans(self) -> NDArray[np.float64]:
        """Largest change of the value by each feature alone."""
        return np.array([float(t.max() - t.min()) for t in self.tables])


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Directions with the share of the base weight that each of them has."""

    members: tuple[Direction, ...]
    shares: NDArray[np.float64]

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each direction, one more than it has cuts."""
        return np.array([d.thresholds.size + 1 for d in self.members], dtype=np.int64)

    def bins(self, codes: NDArray[Any]) -> NDArray[np.uint8]:
        """Bins of coded records, shape (n, n_directions): cut k sends bins up to k left."""
        if not self.members:
            return np.empty((codes.shape[0], 0), dtype=np.uint8)
        tables = [table for one in self.members for table in one.tables]
        flat, starts = np.concatenate(tables), _starts(tables)
        of_direction = _starts([one.features for one in self.members])
        low, high = (
            np.add.reduceat(most.reduceat(flat, starts[:-1]), of_direction[:-1])
            for most in (np.minimum, np.maximum)
        )
        thresholds = [one.thresholds for one in self.members]
        every = bins_of_sums(low, high - low + 1, np.concatenate(thresholds), _starts(thresholds))
        features = np.array([f for one in self.members for f in one.features], dtype=np.int64)
        return direction_bins(
            np.ascontiguousarray(codes), features, flat.astype(np.uint32), starts, of_direction,
            low, *every,
        )  # fmt: skip


def _starts(parts: Sequence[Sized]) -> NDArray[np.int64]:
    """Places where some parts begin when they are joined, and where the last ends."""
    found: NDArray[np.int64] = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return found


def draw_directions(
    facts: TableFacts, n_sums: int, n_cuts: int, limit: int, sum_share: float, source: RandomSource
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
    """
    draws = PublicDraws(source)
    usable = [f for f in range(facts.n_features) if facts.declared_codes(f).size > 1]
    singles = [(d, s) for f in usable for d, s in _single(facts, f, n_cuts)]
    if len(singles) > limit:
        singles = _some(singles, limit, draws)
    ranked: _Ranked = {}
    times = n_sums * (len(usable) > 1)
    sums = [_sum(facts, usable, n_cuts, draws, ranked) for _ in range(times)]
    shares = np.array([share for _, share in singles])
    if sums:
        shares = np.concatenate(
            [shares * (1 - sum_share) / shares.sum(), np.full(len(sums), sum_share / len(sums))]
        )
    return Directions((*(d for d, _ in singles), *sums), shares)


def _some(items: list[Any], n: int, draws: PublicDraws) -> list[Any]:
    """A random choice of n items, in their order."""
    order = list(range(len(items)))
    for k in range(n):
        j = k + draws.below(len(order) - k)
        order[k], order[j] = order[j], order[k]
    return [items[k] for k in sorted(order[:n])]


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


def _sum(
    facts: TableFacts, usable: Sequence[int], n_cuts: int, draws: PublicDraws, ranked: _Ranked
) -> Direction:
    most = min(_LARGEST_SUM, len(usable))
    size = 2 + draws.below(most - 1)
    features = tuple(_some(list(usable), size, draws))
    parts = [_part(facts, feature, draws, ranked) for feature in features]
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    width = high - low + 1
    thresholds = low + np.arange(1, n_cuts + 1, dtype=np.int64) * width // (n_cuts + 1) - 1
    if width <= n_cuts:  # else they are at least one apart
        thresholds = np.unique(thresholds)
    return Direction(features, tuple(part.table for part in parts), thresholds)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Addition of each code of a feature to a sum, and the least and the most of it."""

    table: NDArray[np.int64]
    low: int
    high: int

    @classmethod
    def of(cls, share: NDArray[np.float64]) -> _Part:
        """Shares in steps."""
        table = np.rint(share * SUM_SCALE).astype(np.int64)
        return cls(table, int(table.min()), int(table.max()))

    @classmethod
    def of_sets(cls, sides: list[int]) -> _Part:
        """Codes on side 1, which add as much as a part may."""
        table = np.array(sides, dtype=np.int64) * SUM_SCALE
        return cls(table, SUM_SCALE * min(sides), SUM_SCALE * max(sides))

    def turned(self, sign: int) -> _Part:
        """The same, or what it takes away."""
        return self if sign > 0 else _Part(-self.table, -self.high, -self.low)


#: Parts of ordered features: the same in every sum, but for their sign.
_Ranked = dict[tuple[int, int], _Part]


def _part(facts: TableFacts, feature: int, draws: PublicDraws, ranked: _Ranked) -> _Part:
    """A feature's part in a sum: plus or minus its scaled value, or a random set of categories."""
    n_codes = int(facts.n_codes[feature])
    sign = 1 - 2 * draws.below(2)
    by_rank = draws.below(2)
    scaled = facts.scaled[feature]
    if scaled is None:
        coins = draws.coins(n_codes)
        if (unknown := facts.unknown_code(feature)) >= 0:
            coins[unknown] = coins[0]  # what no declared value has is no side of its own
        return _Part.of_sets(coins).turned(sign)
    if (feature, by_rank) not in ranked:
        share = _shares_by_rank(facts, feature) if by_rank else scaled
        ranked[feature, by_rank] = _Part.of(share)
    return ranked[feature, by_rank].turned(sign)


def _shares_by_rank(facts: TableFacts, feature: int) -> NDArray[np.float64]:
    """Codes as equal steps from 0 to 1: of a log scale where the feature has a wide range."""
    n_codes = int(facts.n_codes[feature])
    last = n_codes - 1 - int(facts.has_missing_code[feature])
    share = np.arange(n_codes) / max(last, 1)
    share[last + 1 :] = 0.5
    return share
