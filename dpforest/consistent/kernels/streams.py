"""Random numbers of a node: a counter hashed with the node's key (SplitMix64).

A node's key is a hash of its parent's and its side, so what a node draws depends on the tree's key
and its place in the tree alone: not on threads, nor on the order in which nodes are grown.
Steele, Lea, Flood (2014), Fast splittable pseudorandom number generators. No privacy rests on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.compiling import part

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@part()
def mix(word):
    """A bijection of 64-bit words that spreads every bit."""
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@part()
def child_key(key, side):
    """Key of a child from its parent's; ``side`` is 0 for left, 1 for right."""
    return mix(mix(key + _STEP) + np.uint64(side + 1) * _FIRST)


@part()
def uniform(stream: NDArray) -> float:
    """The next uniform of [0, 1) in steps of 2**-53; ``stream`` is uint64 of shape (1,)."""
    stream[0] += _STEP
    return np.float64(mix(stream[0]) >> _11) * _UNIT


@part()
def below(stream, n):
    """A uniform integer of 0 … n - 1, for n far below 2**53."""
    return min(np.int64(uniform(stream) * n), n - 1)


@part()
def poisson(stream: NDArray, mean: float) -> int:
    """A Poisson number, by products of uniforms; for means up to a few hundred."""
    limit = np.exp(-mean)
    count = 0
    product = uniform(stream)
    while product > limit:
        product *= uniform(stream)
        count += 1
    return count


@part()
def shuffle_first(stream: NDArray, items: NDArray, first: int, last: int) -> None:
    """Bring a uniform choice of the items from ``first`` on to places ``first … last - 1``."""
    for i in range(first, last):
        j = i + below(stream, items.shape[0] - i)
        items[i], items[j] = items[j], items[i]
