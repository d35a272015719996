"""Memory for the raw counts of levels, used again by the trees that grow in the same thread."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Gives an array of int32 of a shape, with anything in it.
NewCounts = Callable[[tuple[int, ...]], NDArray[np.int32]]


def new_counts(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """An array of its own for each level."""
    return np.empty(shape, dtype=np.int32)


class LevelMemory:
    """Two arrays for each thread: one for levels of even number, one for those of odd number.

    Some megabytes a level that are given back and asked for again with each tree cost as much as
    the counting: the system clears every page. A level's counts are written over when the level
    after next is counted; nothing looks at them by then. The pairs live as long as one fit.
    """

    def __init__(self) -> None:
        self._own = threading.local()

    def __call__(self, shape: tuple[int, ...]) -> NDArray[np.int32]:
        """Room for a level of ``shape[0]`` nodes, a power of two."""
        size, level = math.prod(shape), shape[0].bit_length() - 1
        pair: list[NDArray[np.int32]] = self._own.__dict__.setdefault("pair", _two_empty())
        if pair[level % 2].size < size:
            pair[level % 2] = np.empty(size, dtype=np.int32)
        return pair[level % 2][:size].reshape(shape)


def _two_empty() -> list[NDArray[np.int32]]:
    return [np.empty(0, dtype=np.int32) for _ in range(2)]
