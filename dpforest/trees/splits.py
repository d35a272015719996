"""Trees by how their nodes hold what goes left: a range of codes, or a mask of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Codes of the feature that nodes send left: from their trees, or one tree, and their places in
#: these to bool (nodes, codes).
SentLeft = Callable[[NDArray[np.intp] | int, NDArray[np.intp]], NDArray[np.bool_]]


class HeapTrees:
    """Complete trees of one depth, nodes in heap order.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
    """

    __slots__ = ()

    feature: NDArray[np.int32]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.feature.shape[0])


class RangeTrees(HeapTrees):
    """Trees whose nodes send a range of codes left.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
        In heap order; -1 sends all left.
    low, high : ndarray of int64, shape (n_trees, 2**depth - 1)
        A record goes left if ``low <= code <= high``.
    """

    __slots__ = ()

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @property
    def depth(self) -> int:
        """Number of levels of splits in every tree."""
        return int(self.feature.shape[1] + 1).bit_length() - 1

    def sent_left(self, codes: NDArray[np.int64]) -> SentLeft:
        """Those of some codes of a feature that nodes send left."""
        return range_sends_left(self.low, self.high, codes)

    def goes_left(self, tree: int, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """True where a record would go left at each node of a tree, shape (n, nodes)."""
        feature = self.feature[tree]
        known = _codes_of_nodes(feature, codes)
        inside = (self.low[tree] <= known) & (known <= self.high[tree])
        return np.asarray(inside | (feature < 0), dtype=np.bool_)


class MaskTrees(HeapTrees):
    """Trees whose nodes hold a mask of the codes that they send left.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
    mask : ndarray of uint64, shape (n_trees, 2**depth - 1, W)
        A code c goes left if bit ``c % 64`` of word ``c // 64`` is set.
    """

    __slots__ = ()

    mask: NDArray[np.uint64]

    def sent_left(self, codes: NDArray[np.int64]) -> SentLeft:
        """Those of some codes of a feature that nodes send left."""
        return mask_sends_left(self.mask, codes)

    def goes_left(self, tree: int, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """True where a record would go left at each node of a tree, shape (n, nodes)."""
        feature = self.feature[tree]
        known = _codes_of_nodes(feature, codes)
        words = self.mask[tree][np.arange(feature.size), known >> 6]
        return np.asarray(words >> (known & 63).astype(np.uint64) & np.uint64(1), dtype=np.bool_)


#: Trees of either kind.
Trees: TypeAlias = RangeTrees | MaskTrees


def _codes_of_nodes(feature: NDArray[np.int32], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Code of each record that each node looks at, shape (n, nodes)."""
    known: NDArray[np.int64] = codes[:, np.maximum(feature, 0)].astype(np.int64)
    return known


def mask_sends_left(mask: NDArray[np.uint64], codes: NDArray[np.int64]) -> SentLeft:
    """For trees whose nodes hold a mask of the codes that go left, shape (T, nodes, W)."""
    words, bits = codes // 64, (codes % 64).astype(np.uint64)

    def sent_left(trees: NDArray[np.intp] | int, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        found = mask[trees, nodes][:, words]
        return ((found >> bits) & np.uint64(1)).astype(np.bool_)

    return sent_left


def range_sends_left(
    low: NDArray[np.int64], high: NDArray[np.int64], codes: NDArray[np.int64]
) -> SentLeft:
    """For trees whose nodes hold the range of codes that go left, shapes (T, nodes)."""

    def sent_left(trees: NDArray[np.intp] | int, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        first, last = low[trees, nodes][:, None], high[trees, nodes][:, None]
        return (first <= codes) & (codes <= last)

    return sent_left
