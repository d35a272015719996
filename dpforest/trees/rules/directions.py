"""Public directions: integer functions of a record's codes, each with public cuts."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.rules.kernels.bins import bins_of_sums, direction_bins

_Item = TypeVar("_Item")
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

    def some(self, items: Sequence[_Item], n: int) -> list[_Item]:
        """A random choice of n items, in their order."""
        order = list(range(len(items)))
        for k in range(n):
            j = k + self.below(len(order) - k)
            order[k], order[j] = order[j], order[k]
        return [items[k] for k in sorted(order[:n])]

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
class RuleNode:
    """An inner node: values of ``direction`` up to ``threshold`` go left."""

    direction: Direction
    threshold: int


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
