"""Interventional Shapley values of released models, exactly.

The game of a record x and a background record b: a coalition's worth is the score of the record
that has x's codes of the coalition's features and b's of all others (Lundberg et al. 2020). Values
are means over the background. Of a leaf only those features count whose bounds tell x from b: with
a of them that x alone meets and b of them that b alone meets, each of the former gets
(a - 1)! b! / (a + b)! of the leaf's value, each of the latter minus a! (b - 1)! / (a + b)!.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import ReleasedModel
from dpforest.trees.partial import with_both_classes
from dpforest.trees.splits import Trees

Floats = NDArray[np.float64]
#: Features of a model of rules: its coalitions are all looked at.
MOST_ENUMERATED = 10


def shapley_values(model: ReleasedModel, codes: NDArray[Any], background: NDArray[Any]) -> Floats:
    """Shapley values of ``model.scores``, shape (n, D, n_classes).

    Parameters
    ----------
    model : ReleasedModel
    codes : ndarray, shape (n, D)
    background : ndarray, shape (m, D)
    """
    if not codes.shape[0]:
        return np.zeros((0, codes.shape[1], model.n_classes))
    parts = model.score_parts()
    if parts is None:
        return enumerated_values(model, codes, background)
    found = np.zeros((*codes.shape, 1))
    if parts.trees is not None and parts.leaf_values is not None:
        found = _of_trees(parts.trees, parts.leaf_values, codes, background)
    if parts.offsets is not None and parts.code_values is not None:
        found = found + _of_codes(parts.code_values, parts.offsets, codes, background)
    return np.stack([with_both_classes(record) for record in found])


def enumerated_values(
    model: ReleasedModel, codes: NDArray[Any], background: NDArray[Any]
) -> Floats:
    """The same of any model, by its scores of all coalitions; 2**D times as many records."""
    n_features, n = codes.shape[1], codes.shape[0]
    worth: dict[tuple[bool, ...], Floats] = {}
    for taken in product((False, True), repeat=n_features):
        mixed = np.where(np.array(taken), codes[:, None, :], background[None, :, :])
        flat = np.ascontiguousarray(mixed.reshape(-1, n_features).astype(codes.dtype))
        worth[taken] = model.scores(flat).reshape(n, background.shape[0], -1).mean(axis=1)
    found = np.zeros((n, n_features, model.n_classes))
    for taken, own in worth.items():
        size = sum(taken)
        for feature in range(n_features):
            if not taken[feature]:
                joined = (*taken[:feature], True, *taken[feature + 1 :])
                weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
                found[:, feature] += weight * (worth[joined] - own)
    return found


def _of_codes(
    values: Floats, offsets: NDArray[np.int64], codes: NDArray[Any], background: NDArray[Any]
) -> Floats:
    """Of a sum of curves: each curve's value less its mean over the background."""
    at = offsets[:-1]
    return values[codes.astype(np.int64) + at] - values[background.astype(np.int64) + at].mean(0)


def _of_trees(
    trees: Trees, values: Floats, codes: NDArray[Any], background: NDArray[Any]
) -> Floats:
    """Of trees of either kind, shape (n, D, C)."""
    found = np.zeros((*codes.shape, values.shape[2]))
    for tree in range(trees.feature.shape[0]):
        own = trees.goes_left(tree, codes)
        others = trees.goes_left(tree, background)
        for leaf, path in _paths(trees.feature[tree]):
            if values[tree, leaf].any() and path:
                _add_leaf(found, values[tree, leaf], path, own, others)
    return found


def _paths(feature: NDArray[np.int32]) -> Iterator[tuple[int, dict[int, list[tuple[int, bool]]]]]:
    """Every leaf with the nodes above it by their feature, and the sides that lead to it."""
    n_leaves = feature.size + 1
    for leaf in range(n_leaves):
        node, path = leaf + n_leaves - 1, dict[int, list[tuple[int, bool]]]()
        while node:
            above = (node - 1) // 2
            path.setdefault(int(feature[above]), []).append((above, node == 2 * above + 1))
            node = above
        yield leaf, path


def _add_leaf(
    found: Floats,
    value: Floats,
    path: dict[int, list[tuple[int, bool]]],
    own: NDArray[np.bool_],
    others: NDArray[np.bool_],
) -> None:
    """Add what one leaf gives to each feature above it."""
    met = np.stack([_meets(own, steps) for steps in path.values()], axis=1)
    met_there = np.stack([_meets(others, steps) for steps in path.values()], axis=1)
    alone = met[:, None, :] & ~met_there[None, :, :]
    there_alone = ~met[:, None, :] & met_there[None, :, :]
    reached = (met[:, None, :] | met_there[None, :, :]).all(axis=2)
    n_own, n_there = alone.sum(axis=2), there_alone.sum(axis=2)
    gains, losses = _weights(len(path))
    gain = np.where(reached, gains[n_own, n_there], 0.0)
    loss = np.where(reached, losses[n_own, n_there], 0.0)
    for place, feature in enumerate(path):
        if feature >= 0:
            share = (gain * alone[:, :, place] - loss * there_alone[:, :, place]).mean(axis=1)
            found[:, feature] += share[:, None] * value


def _meets(sides: NDArray[np.bool_], steps: list[tuple[int, bool]]) -> NDArray[np.bool_]:
    """True where records meet the bounds of one feature on the way to a leaf."""
    met = np.ones(sides.shape[0], dtype=np.bool_)
    for node, left in steps:
        met &= sides[:, node] == left
    return met


def _weights(most: int) -> tuple[Floats, Floats]:
    """(a - 1)! b! / (a + b)! and a! (b - 1)! / (a + b)!, each of shape (most + 1, most + 1)."""
    gains, losses = np.zeros((2, most + 1, most + 1))
    for a, b in product(range(most + 1), repeat=2):
        if a:
            gains[a, b] = factorial(a - 1) * factorial(b) / factorial(a + b)
        if b:
            losses[a, b] = factorial(a) * factorial(b - 1) / factorial(a + b)
    return gains, losses
