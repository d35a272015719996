"""Importances of features from released splits, values and sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread_by_feature(
    n_features: int,
    feature: NDArray[np.int32],
    sizes: NDArray[np.float64],
    values: NDArray[np.float64],
    least: float = 1e-9,
) -> NDArray[np.float64]:
    """Spread of scores that the splits of each feature make, shape (n_features,).

    A split counts by how far apart its children's mean values are and by the released sizes of
    both.

    Parameters
    ----------
    n_features : int
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
        In heap order; -1 where there is no split.
    sizes : ndarray of float64, shape (n_trees, n_leaves)
        Nothing negative.
    values : ndarray of float64, shape (n_trees, n_leaves, C)
    least : float
        Size that an empty node is taken to have.
    """
    spread, weighted = np.zeros(n_features), values * sizes[:, :, None]
    n_trees, n_leaves, n_columns = values.shape
    for level in reversed(range(n_leaves.bit_length() - 1)):
        n_nodes = 1 << level
        pairs = sizes.reshape(n_trees, n_nodes, 2, -1).sum(axis=3)
        totals = weighted.reshape(n_trees, n_nodes, 2, -1, n_columns).sum(axis=3)
        means = totals / np.maximum(pairs, least)[..., None]
        squares = ((means[:, :, 0] - means[:, :, 1]) ** 2).sum(axis=2)
        weight = pairs.prod(axis=2) / np.maximum(pairs.sum(axis=2), least)
        own = feature[:, n_nodes - 1 : 2 * n_nodes - 1]
        used = own >= 0
        np.add.at(spread, own[used], (squares * weight)[used])
    return spread


def spread_of_codes(
    offsets: NDArray[np.int64], values: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Spread of scores that values of codes make, shape (D,): their variance over the codes.

    Parameters
    ----------
    offsets : ndarray of int64, shape (D + 1,)
    values : ndarray of float64, shape (total codes, C)
    sizes : ndarray of float64, shape (n_trees, n_leaves)
        Released ones, of trees beside the codes: a tree has all records.
    """
    rows = float(sizes.sum(axis=1).mean())
    parts = np.split(values, offsets[1:-1])
    return rows * np.array([part.var(axis=0).sum() for part in parts])


def in_shares(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of the whole; nothing where the whole is nothing."""
    total = spread.sum()
    return spread / total if total > 0 else spread
