"""View of one feature alone by a released forest: scores averaged over all others.

A record that comes to a split of another feature goes both ways, by the released sizes of the
children (Friedman 2001, section 8.2, "weighted tree traversal"), so no record is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.kernels.partial import add_partial_scores
from dpforest.trees.splits import SentLeft

#: Codes whose made-up records are scored at once, and scores of these, at most.
_AT_ONCE, _MOST_SCORES = 64, 2**23
#: Nodes times codes that trees are told apart by at once, at most; of a tree all.
_MOST_SENT = 2**22


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
        From trees and nodes of them to the codes of ``feature`` that these send left.
    masses : ndarray of float64, shape (n_trees, n_leaves)
        Released sizes or shares; nothing negative.
    values : ndarray of float64, shape (n_trees, n_leaves, C)

    Returns
    -------
    ndarray of float64, shape (n_codes, C)
    """
    total = np.zeros((n_codes, values.shape[2]))
    at_once = max(1, _MOST_SENT // (features.shape[1] * n_codes))
    for first in range(0, features.shape[0], at_once):
        own = slice(first, first + at_once)
        trees, nodes = np.nonzero(features[own] == feature)
        starts = np.searchsorted(trees, np.arange(features[own].shape[0] + 1))
        sent = sent_left(trees + first, nodes)
        parts = np.ascontiguousarray(masses[own]), np.ascontiguousarray(values[own])
        add_partial_scores(nodes, starts, sent, *parts, total)
    return total


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
    n_scores: int = 1,
) -> NDArray[np.float64]:
    """Mean scores at every code of one feature over made-up records, the same ones each time.

    For models whose splits look at several features at once. The other features' codes are spread
    evenly and independently over the domain: a public design, not the table. Scores of a feature
    that no split looks at are the same at every code, and worked out once. ``n_scores`` of a record
    say how many are scored at once.
    """
    records = _made_up(tuple(n_codes.tolist()), n_records)
    n_points = int(n_codes[feature]) if looked_at else 1
    at_once = max(1, min(_AT_ONCE, _MOST_SCORES // (n_records * n_scores)))
    means = [
        _mean_scores(score, feature, records, np.arange(first, min(first + at_once, n_points)))
        for first in range(0, n_points, at_once)
    ]
    found = np.concatenate(means)
    return found if looked_at else np.repeat(found, int(n_codes[feature]), axis=0)


@lru_cache(maxsize=1)
def _made_up(n_codes: tuple[int, ...], n_records: int) -> NDArray[Any]:
    """Made-up records over a domain, the same ones each time; not to be written to."""
    generator = np.random.default_rng(0)  # a fixed public design; nothing secret is drawn
    codes = np.stack([generator.integers(0, n, n_records) for n in n_codes], axis=1)
    records = codes.astype(np.uint8 if max(n_codes) <= 256 else np.uint16)
    records.flags.writeable = False
    return records


def _mean_scores(
    score: Callable[[NDArray[Any]], NDArray[np.float64]],
    feature: int,
    records: NDArray[Any],
    codes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Mean scores of some records at each of some codes of a feature."""
    every = np.tile(records, (codes.size, 1))
    every[:, feature] = np.repeat(codes, records.shape[0])
    scores = score(every)
    means: NDArray[np.float64] = scores.reshape(codes.size, records.shape[0], -1).mean(axis=1)
    return means


def partial_code_values(
    feature: int, offsets: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean of what codes add to scores at every code of one feature, shape (n_codes, C).

    The other features count with the plain mean of their codes' values.

    Parameters
    ----------
    feature : int
    offsets : ndarray of int64, shape (D + 1,)
    values : ndarray of float64, shape (total codes, C)
    """
    means = np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)[:, None]
    others = np.delete(means, feature, axis=0).sum(axis=0)
    own: NDArray[np.float64] = values[offsets[feature] : offsets[feature + 1]]
    return own + others
