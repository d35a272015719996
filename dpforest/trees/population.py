"""A made-up population that agrees with what was released: nobody's records, and free.

Its codes follow the released sizes of leaves, or of codes: a leaf is drawn by its size, then each
feature's code by its marginal within the leaf's bounds. The marginal is what the sizes of all
leaves say of it (Turnbull 1976, self-consistency). Labels follow the released model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.decisions import softmax
from dpforest.domain.targets import TARGET_STEPS
from dpforest.records.table import Table
from dpforest.trees.base import KnownSizes, ReleasedModel, TableFacts
from dpforest.trees.splits import SentLeft, Trees

#: Trees that are looked at, steps of self-consistency, and entries of a table of codes at most.
_MOST_TREES, _STEPS, _MOST_ENTRIES = 48, 15, 2**25


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Made-up records.

    Attributes
    ----------
    table : Table
    weight : float
        Records that each stands for.
    """

    table: Table
    weight: float


def made_up(
    model: ReleasedModel, facts: TableFacts, n_records: int = 1000, seed: int = 0
) -> Population:
    """Draw a population that agrees with a released model.

    Parameters
    ----------
    model : ReleasedModel
        Of curves or of trees with sizes.
    facts : TableFacts
    n_records, seed : int
    """
    generator = np.random.default_rng(seed)  # nothing secret is drawn
    known = model.known_sizes()
    assert known is not None, "a population is made of released sizes"
    drawn = _by_codes if known.trees is None else _by_trees
    codes = drawn(known, facts, n_records, generator)
    weight = _rows(known, facts) / n_records
    return Population(_table(model, facts, codes, generator), weight)


def _rows(known: KnownSizes, facts: TableFacts) -> float:
    """Number of records as declared or bought; released sizes, cut at nothing, add up to more."""
    if facts.approximate_rows is not None:
        return float(facts.approximate_rows)
    sizes = known.sizes
    if not known.in_records:
        return 0.0
    return float(sizes.sum() / (sizes.shape[0] if sizes.ndim > 1 else facts.n_features))


def _table(
    model: ReleasedModel, facts: TableFacts, codes: NDArray[np.int64], generator: Any
) -> Table:
    """The records with labels, or targets, that follow the model."""
    dtype = np.uint8 if facts.n_codes.max() <= 256 else np.uint16
    flat = np.ascontiguousarray(codes.astype(dtype))
    shares = softmax(model.log_odds(flat))
    label_dtype = np.uint8 if facts.n_classes <= 256 else np.uint16
    places = (generator.random(codes.shape[0])[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    labels = np.minimum(places, facts.n_classes - 1).astype(label_dtype)
    targets = None
    if facts.is_regression:
        targets = np.rint(shares[:, 1] * TARGET_STEPS).astype(np.int32)
        labels = np.zeros_like(labels)
    return Table(
        flat, labels, facts.n_codes, facts.offsets, facts.ordered, facts.n_classes,
        targets=targets, unknown=facts.unknown,
    )  # fmt: skip


def _by_codes(
    known: KnownSizes, facts: TableFacts, n_records: int, generator: Any
) -> NDArray[np.int64]:
    """Codes of each feature on its own, by their sizes."""
    parts = np.split(known.sizes, facts.offsets[1:-1])
    return np.stack([_drawn(np.tile(part, (n_records, 1)), generator) for part in parts], axis=1)


def _drawn(weights: NDArray[np.float64], generator: Any) -> NDArray[np.int64]:
    """A place in each row, by weights."""
    sums = weights.cumsum(axis=1)
    at = generator.random(weights.shape[0]) * sums[:, -1]
    found: NDArray[np.int64] = (at[:, None] >= sums).sum(axis=1)
    return np.minimum(found, weights.shape[1] - 1)


def _by_trees(
    known: KnownSizes, facts: TableFacts, n_records: int, generator: Any
) -> NDArray[np.int64]:
    """Codes within the bounds of leaves that are drawn by their sizes."""
    trees, sizes = known.trees, known.sizes
    assert trees is not None
    taken = np.linspace(0, sizes.shape[0] - 1, min(sizes.shape[0], _MOST_TREES)).astype(int)
    features = trees.feature[taken]
    totals = sizes[taken].sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, sizes[taken] / np.where(totals > 0, totals, 1.0), 0.0)
    shares[totals[:, 0] <= 0] = 1.0 / sizes.shape[1]
    tree = generator.integers(taken.size, size=n_records)
    leaf = _drawn(shares[tree], generator)
    codes = np.empty((n_records, facts.n_features), dtype=np.int64)
    for feature in range(facts.n_features):
        allowed = _allowed(trees, taken, features, feature, facts)
        marginal = _marginal(allowed, shares, int(facts.n_codes[feature]))
        within = np.tile(marginal, (n_records, 1))
        if allowed is not None:
            within = within * allowed[tree, leaf]
            nothing = within.sum(axis=1) <= 0
            within[nothing] = marginal
        codes[:, feature] = _drawn(within, generator)
    return codes


def _allowed(
    trees: Trees, taken: NDArray[Any], features: NDArray[np.int32], feature: int, facts: TableFacts
) -> NDArray[np.bool_] | None:
    """Codes of a feature that lead to each leaf, (T, L, codes); None where there are too many."""
    n_codes, n_leaves = int(facts.n_codes[feature]), features.shape[1] + 1
    if not (features == feature).any() or features.shape[0] * n_leaves * n_codes > _MOST_ENTRIES:
        return None
    goes = trees.sent_left(np.arange(n_codes))
    return np.stack(
        [
            _allowed_in(features[i], int(tree), feature, n_codes, goes)
            for i, tree in enumerate(taken)
        ]
    )


def _allowed_in(
    features: NDArray[np.int32], tree: int, feature: int, n_codes: int, goes: SentLeft
) -> NDArray[np.bool_]:
    """Of one tree, (L, codes)."""
    allowed, n_nodes = np.ones((1, n_codes), dtype=np.bool_), 1
    while n_nodes <= features.size:
        nodes = np.arange(n_nodes - 1, 2 * n_nodes - 1)
        own = np.flatnonzero(features[nodes] == feature)
        left, right = allowed.copy(), allowed.copy()
        if own.size:
            sent = goes(tree, nodes[own])
            left[own] &= sent
            right[own] &= ~sent
        allowed = np.stack([left, right], axis=1).reshape(2 * n_nodes, n_codes)
        n_nodes *= 2
    return allowed


def _marginal(
    allowed: NDArray[np.bool_] | None, shares: NDArray[np.float64], n_codes: int
) -> NDArray[np.float64]:
    """Shares of a feature's codes that agree best with the sizes of leaves."""
    found = np.full(n_codes, 1.0 / n_codes)
    if allowed is None:
        return found
    tells = ~allowed.all(axis=(1, 2))
    table = allowed[tells].reshape(-1, n_codes).astype(np.float64)
    weights = shares[tells].ravel()
    for _ in range(_STEPS):
        inside = table @ found
        per_leaf = np.where(inside > 0, weights / np.where(inside > 0, inside, 1.0), 0.0)
        found = found * (per_leaf @ table)
        found /= max(float(found.sum()), 1e-300)
    return found
