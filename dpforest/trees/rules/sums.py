"""Random signed sums of a few features, and sums near to one that was released.

All of it follows from public facts, released directions and public random words; no record is
read. A sum that was drawn for what it tells apart is a better place to look from than nowhere:
most that add a feature to it, or turn one, tell nearly as much, and some tell more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import TableFacts
from dpforest.trees.rules.directions import Direction, PublicDraws

#: A feature's largest part in a sum.
SUM_SCALE = 1000
#: Cuts of a sum of categories alone, at most, where a list among them tells an order.
_CUTS_OF_LISTS = 7
#: Features of a random sum, at most, and of one near to another.
_LARGEST_SUM, _LARGEST_NEAR_SUM = 5, 9
#: Of ten sums near to another: those that have its features and other cuts, those without one of
#: them, those with one turned. The rest have a feature or two more.
_AS_IT_IS, _WITHOUT_ONE, _ONE_TURNED = 1, 2, 1
#: Steps by which the cuts of a near sum are moved at random, of the distance between two.
_MOVES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Addition of each code of a feature to a sum, and the least and the most of it."""

    table: NDArray[np.int64]
    low: int
    high: int

    @classmethod
    def of_table(cls, table: NDArray[np.int64]) -> Part:
        """Whole steps."""
        return cls(table, int(table.min()), int(table.max()))

    @classmethod
    def of_sets(cls, sides: list[int]) -> Part:
        """Codes on side 1, which add as much as a part may."""
        table = np.array(sides, dtype=np.int64) * SUM_SCALE
        return cls(table, SUM_SCALE * min(sides), SUM_SCALE * max(sides))

    def turned(self, sign: int) -> Part:
        """The same, or what it takes away."""
        return self if sign > 0 else Part(-self.table, -self.high, -self.low)


@dataclass(frozen=True, slots=True)
class SumMaker:
    """Sums over one table's features.

    Attributes
    ----------
    facts : TableFacts
    usable : sequence of int
        Features of more than one declared code.
    n_cuts : int
        Largest number of cuts of a sum.
    draws : PublicDraws
    ranked : dict
        Parts by value or place that were made: the same in every sum, but for their sign.
    """

    facts: TableFacts
    usable: Sequence[int]
    n_cuts: int
    draws: PublicDraws
    ranked: dict[tuple[int, int], Part] = field(default_factory=dict)

    def anywhere(self) -> Direction:
        """A sum of a few features, each with a random sign."""
        most = min(_LARGEST_SUM, len(self.usable))
        size = 2 + self.draws.below(most - 1)
        parts = {f: self._part(f) for f in self.draws.some(self.usable, size)}
        return _joined(parts, partial(self._cuts, self._most_cuts(parts)))

    def near(self, known: Sequence[Direction]) -> Direction:
        """One of the known directions with a feature or two more, one less or one turned."""
        parts = self._parts_of(known[self.draws.below(len(known))])
        self._change(parts)
        cuts = partial(self._moved_cuts, self._most_cuts(parts))
        return _joined(dict(sorted(parts.items())), cuts)

    def _change(self, parts: dict[int, Part]) -> None:
        """One step from a sum to another; what cannot be done is the next that can."""
        step, features = self.draws.below(10), list(parts)
        if step < _AS_IT_IS:
            return
        if step < _AS_IT_IS + _WITHOUT_ONE and len(features) > 2:
            del parts[features[self.draws.below(len(features))]]
        elif step < _AS_IT_IS + _WITHOUT_ONE + _ONE_TURNED and len(features) > 1:
            turned = features[self.draws.below(len(features))]
            parts[turned] = parts[turned].turned(-1)
        else:
            others = [f for f in self.usable if f not in parts]
            room = min(1 + self.draws.below(2), len(others), _LARGEST_NEAR_SUM - len(features))
            parts.update({f: self._part(f) for f in self.draws.some(others, room)})

    def _parts_of(self, known: Direction) -> dict[int, Part]:
        """Parts by feature; a single feature's table may have steps of its own."""
        if len(known.features) > 1:
            tables = zip(known.features, known.tables, strict=True)
            return {feature: Part.of_table(table) for feature, table in tables}
        (feature,), (table,) = known.features, known.tables
        if self.facts.ordered[feature]:
            return {feature: self._part(feature)}
        # One value against the rest, places in a list or, where it was a sum already, a whole part.
        scale = SUM_SCALE / max(int(np.ptp(table)), 1)
        return {feature: Part.of_table(np.rint(table * scale).astype(np.int64))}

    def _most_cuts(self, parts: Mapping[int, Part]) -> int:
        """Cuts of a sum, at most: few of categories in their order, whose sums have few values."""
        facts = self.facts
        of_lists = any(map(facts.listed_codes, parts)) and not facts.ordered[[*parts]].any()
        return min(self.n_cuts, _CUTS_OF_LISTS) if of_lists else self.n_cuts

    @staticmethod
    def _cuts(n_cuts: int, low: int, width: int) -> NDArray[np.int64]:
        """Cuts at equal distances."""
        places = np.arange(1, n_cuts + 1, dtype=np.int64)
        cuts = low + places * width // (n_cuts + 1) - 1
        # Else they are at least one apart.
        return np.unique(cuts) if width <= n_cuts else cuts

    def _moved_cuts(self, n_cuts: int, low: int, width: int) -> NDArray[np.int64]:
        """The same, all moved by up to half a distance, so that a sum met again has others."""
        if width <= n_cuts:
            return np.arange(low, max(low + width - 1, low + 1))
        places = _MOVES * np.arange(1, n_cuts + 1, dtype=np.int64)
        places += self.draws.below(_MOVES) - _MOVES // 2
        cuts = low + places * width // (_MOVES * (n_cuts + 1)) - 1
        return np.unique(np.clip(cuts, low, low + width - 2))

    def _part(self, feature: int) -> Part:
        """Plus or minus a feature's scaled value or its place, or a random set of categories."""
        facts, draws = self.facts, self.draws
        sign = 1 - 2 * draws.below(2)
        by_rank = draws.below(2)
        scaled = facts.scaled[feature]
        if scaled is None and not (by_rank and facts.listed_codes(feature)):
            return self._set(feature).turned(sign)
        if (feature, by_rank) not in self.ranked:
            share = _shares_by_rank(facts, feature) if scaled is None or by_rank else scaled
            table = np.rint(share * SUM_SCALE).astype(np.int64)
            self.ranked[feature, by_rank] = Part.of_table(table)
        return self.ranked[feature, by_rank].turned(sign)

    def _set(self, feature: int) -> Part:
        """A random set of categories."""
        coins = self.draws.coins(int(self.facts.n_codes[feature]))
        if (unknown := self.facts.unknown_code(feature)) >= 0:
            coins[unknown] = coins[0]  # what no declared value has is no side of its own
        return Part.of_sets(coins)


def _joined(parts: Mapping[int, Part], cuts: Callable[[int, int], NDArray[np.int64]]) -> Direction:
    """A direction of parts by feature, with cuts by the least of it and its width."""
    low, high = sum(p.low for p in parts.values()), sum(p.high for p in parts.values())
    tables = tuple(part.table for part in parts.values())
    return Direction(tuple(parts), tables, cuts(low, high - low + 1))


def _shares_by_rank(facts: TableFacts, feature: int) -> NDArray[np.float64]:
    """Codes as equal steps from 0 to 1: of a log scale where the feature has a wide range.

    What is missing, or not declared, is in the middle.
    """
    n_codes = int(facts.n_codes[feature])
    beside = int(facts.has_missing_code[feature]) + (facts.unknown_code(feature) >= 0)
    last = n_codes - 1 - beside
    share = np.arange(n_codes) / max(last, 1)
    share[last + 1 :] = 0.5
    return share
