"""Memory for the raw counts of levels, used again by the trees that grow in the same thread."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Gives an array of a shape, with anything in it.
NewCounts = Callable[[tuple[int, ...]], NDArray[Any]]


def new_counts(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """An array of its own for each level."""
    return np.empty(shape, dtype=np.int32)


class LevelMemory:
    """Two arrays for each thread: one for levels of even number, one for those of odd number.

    Some megabytes a level that are given back and asked for again with each tree cost as much as
    the counting: the system clears every page. A level's counts are written over when the level
    after next is counted; nothing looks at them by then. The pairs live as long as one fit.

    Parameters
    ----------
    dtype : type
        Of the counts or sums.
    """

    __slots__ = ("__dtype", "__own")

    def __init__(self, dtype: type[np.signedinteger] = np.int32) -> None:
        self.__dtype, self.__own = dtype, threading.local()

    def __call__(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """Room for a level of ``shape[0]`` nodes, a power of two."""
        size, level = math.prod(shape), shape[0].bit_length() - 1
        if not hasattr(self.__own, "pair"):
            self.__own.pair = [np.empty(0, dtype=self.__dtype) for _ in range(2)]
        pair: list[NDArray[Any]] = self.__own.pair
        if pair[level % 2].size < size:
            pair[level % 2] = np.empty(size, dtype=self.__dtype)
        return pair[level % 2][:size].reshape(shape)
