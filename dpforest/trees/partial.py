"""View of one feature alone by a released forest: scores averaged over all others.

A record that comes to a split of another feature goes both ways, by the released sizes of the
children (Friedman 2001, section 8.2, "weighted tree traversal"), so no record is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Parts of an ordered feature that are explained, at most.
MOST_SHOWN = 256
#: Which codes of the feature a tree's nodes send left: from (tree, nodes) to bool (nodes, codes).
SentLeft = Callable[[int, NDArray[np.intp]], NDArray[np.bool_]]


def partial_scores(
    feature: int,
    n_codes: int,
    features: NDArray[np.int32],
    sent_left: SentLeft,
    masses: NDArray[np.float64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum over trees of the mean leaf value at every code of one feature.

    Parameters
    ----------
    feature, n_codes : int
    features : ndarray of int32, shape (n_trees, 2**depth - 1)
        In heap order.
    sent_left : callable
        Which codes of ``feature`` the given nodes of a tree send left.
    masses : ndarray of float64, shape (n_trees, n_leaves)
        Released sizes or shares; nothing negative.
    values : ndarray of float64, shape (n_trees, n_leaves, C)

    Returns
    -------
    ndarray of float64, shape (n_codes, C)
    """
    looks = (features == feature).any(axis=1)
    total = np.tile(_mean_of_others(masses[~looks], values[~looks]), (n_codes, 1))
    for tree in np.flatnonzero(looks).tolist():
        shares = _leaf_shares(feature, n_codes, features[tree], tree, sent_left, masses[tree])
        total += shares @ values[tree]
    return total


def _mean_of_others(
    masses: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum over trees that do not look at a feature, the same at all its codes, shape (C,)."""
    n_trees, n_leaves = masses.shape
    shares, n_nodes = np.ones((n_trees, 1)), 1
    while n_nodes < n_leaves:
        size = n_leaves // (2 * n_nodes)
        left = _left_parts(masses.reshape(n_trees, n_nodes, 2, size).sum(axis=3))
        n_nodes *= 2
        both = np.stack([shares * left, shares * (1.0 - left)], axis=2)
        shares = both.reshape(n_trees, n_nodes)
    total: NDArray[np.float64] = np.einsum("tl,tlc->c", shares, values)
    return total


def _left_parts(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Part of each pair of sizes that lies on the left; half of nothing."""
    sums = pairs.sum(axis=-1)
    left: NDArray[np.float64] = np.where(
        sums > 0, pairs[..., 0] / np.where(sums > 0, sums, 1.0), 0.5
    )
    return left


def _leaf_shares(
    feature: int,
    n_codes: int,
    features: NDArray[np.int32],
    tree: int,
    sent_left: SentLeft,
    masses: NDArray[np.float64],
) -> NDArray[np.float64]:
    """In which leaves a record with each code lies, as far as the code tells, (n_codes, L)."""
    shares = np.ones((n_codes, 1))
    n_nodes = 1
    while n_nodes < masses.size:
        nodes = np.arange(n_nodes - 1, 2 * n_nodes - 1)
        left = _left_parts(masses.reshape(n_nodes, 2, -1).sum(axis=2))
        lefts = np.repeat(left[None, :], n_codes, axis=0)
        own = np.flatnonzero(features[nodes] == feature)
        if own.size:
            lefts[:, own] = sent_left(tree, nodes[own]).T
        shares = np.stack([shares * lefts, shares * (1.0 - lefts)], axis=2).reshape(n_codes, -1)
        n_nodes *= 2
    return shares


def mask_sends_left(mask: NDArray[np.uint64], n_codes: int) -> SentLeft:
    """For trees whose nodes hold a mask of the codes that go left, shape (T, nodes, W)."""
    codes = np.arange(n_codes)
    words, bits = codes // 64, (codes % 64).astype(np.uint64)

    def sent_left(tree: int, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        found = mask[tree][nodes][:, words]
        return ((found >> bits) & np.uint64(1)).astype(np.bool_)

    return sent_left


def shown_codes(n_codes: int, has_missing_code: bool) -> NDArray[np.int64]:
    """Codes at which a feature is explained: all; of a lattice the middles of 256 equal parts."""
    first, last = shown_parts(n_codes - has_missing_code)
    middle: NDArray[np.int64] = (first + last) // 2
    return np.append(middle, n_codes - 1) if has_missing_code else middle


def shown_parts(n_points: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last code of each part of an ordered feature that is explained as one."""
    n_parts = min(n_points, MOST_SHOWN)
    ends = np.arange(n_parts + 1, dtype=np.int64) * n_points // n_parts
    return ends[:-1], ends[1:] - 1


def range_sends_left(
    low: NDArray[np.int64], high: NDArray[np.int64], codes: NDArray[np.int64]
) -> SentLeft:
    """For trees whose nodes hold the range of codes that go left, shapes (T, nodes)."""

    def sent_left(tree: int, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        first, last = low[tree][nodes][:, None], high[tree][nodes][:, None]
        return (first <= codes) & (codes <= last)

    return sent_left


def with_both_classes(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column for each class, from the log-odds of class 1 where there are two."""
    if scores.shape[1] > 1:
        return scores
    return np.column_stack([np.zeros(scores.shape[0]), scores[:, 0]])


def sampled_scores(
    score: Callable[[NDArray[Any]], NDArray[np.float64]],
    feature: int,
    n_codes: NDArray[np.int64],
    n_records: int = 256,
    looked_at: bool = True,
) -> NDArray[np.float64]:
    """Mean scores at every code of one feature over made-up records, the same ones each time.

    For models whose splits look at several features at once. The other features' codes are spread
    evenly and independently over the domain: a public design, not the table. Scores of a feature
    that no split looks at are the same at every code, and worked out once.
    """
    generator = np.random.default_rng(0)  # a fixed public design; nothing secret is drawn
    dtype = np.uint8 if n_codes.max() <= 256 else np.uint16
    records = np.stack([generator.integers(0, n, n_records) for n in n_codes], axis=1)
    records = records.astype(dtype)
    means, n_points = [], int(n_codes[feature])
    for code in range(n_points if looked_at else 1):
        records[:, feature] = code
        means.append(score(records).mean(axis=0))
    return np.array(means) if looked_at else np.repeat(means, n_points, axis=0)
