"""Scores made of noisy leaf tables: class log-odds of every leaf. All of it post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Floor of a class's variance p(1-p) when noise is weighed against what a leaf can teach.
VARIANCE_FLOOR = 0.003
#: Smallest share of its parent's probability that a node leaves a class.
LEAST_SHARE = 0.02
#: From here on numpy adds in another order, and quicker.
_MANY_CLASSES = 8

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LeafScores:
    """Log-probabilities of leaves over the prior's, and how far they may be trusted.

    Attributes
    ----------
    scores : ndarray of float64, shape (T, L, K)
        log p_leaf - log prior.
    masses : ndarray of float64, shape (T, L)
        Shares of each tree's records, sum 1 a tree.
    prior : ndarray of float64, shape (K,)
        Released class shares.
    size : float
        Released number of records, at least 1.
    scale : float
        1 / (1 + (T - 1) w), w the mean weight of the leaves' own counts: what is known well
        is said by every tree, what drowns in noise by none.
    """

    scores: Floats
    masses: Floats
    prior: Floats
    size: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    probabilities: Floats  # (T, nodes, K)
    masses: Floats  # (T, nodes)
    weights: Floats  # (T, nodes)
    n_live: Floats  # (T, nodes)


def score_leaves(
    tables: NDArray[Any],
    live: NDArray[np.bool_],
    noise_variance: float,
    strength: float,
    prior: NDArray[Any] | None = None,
    prior_variance: float = 0.0,
    target_spread: float | None = None,
) -> LeafScores:
    """Shrink every node toward its parent by its noise, from the root downward.

    A node with mass m moves from its parent's p toward its own share of class c by
    w = m / (m + A + A v / (m q)), with v the noise of its sums and q = p(1-p): the posterior mean
    under a prior worth A records. Leaves that no record can reach carry noise only and are left
    out of all sums. The root is the mean of all trees' totals.

    Parameters
    ----------
    tables : ndarray of int64 or float64, shape (T, L, K)
        Noisy counts, L a power of two.
    live : ndarray of bool, shape (T, L)
    noise_variance : float
        Of the noise on one count.
    strength : float
        A.
    prior : ndarray of int64 or float64, shape (K,), optional
        Noisy class counts of their own.
    prior_variance : float
        Of the noise on one of these.
    target_spread : float, optional
        For targets: q is so much smaller where it is held against noise. And their mean is a
        plain one, since a squared error does not ask that it lean to even shares where the counts
        drown, as log loss does.
    """
    n_trees = tables.shape[0]
    counts = np.where(live[:, :, None], tables, 0).astype(np.float64)
    level, shares = _root(
        counts, live, noise_variance, prior, prior_variance, target_spread is None
    )
    size = float(level.masses[0, 0])
    levels = zip(_sums_by_level(counts), _sums_by_level(live.astype(np.float64)), strict=True)
    for sums, n_live in reversed(list(levels)):
        level = _next_level(sums, n_live, level, noise_variance, strength, target_spread or 1.0)
    masses = np.where(live, level.masses, 0.0)
    masses /= masses.sum(axis=1, keepdims=True)
    logs = np.log(level.probabilities)
    logs -= np.log(shares)
    own_weight = float((masses * level.weights).sum(axis=1).mean())
    scores = logs * live[:, :, None]
    return LeafScores(scores, masses, shares, size, 1.0 / (1.0 + (n_trees - 1) * own_weight))


def _sums_by_level(leaves: Floats) -> list[Floats]:
    """Sums over the leaves below every node, of all levels but the root's, leaves first."""
    levels = []
    while leaves.shape[1] > 1:
        levels.append(leaves)
        leaves = leaves[:, ::2] + leaves[:, 1::2]
    return levels


def _over_classes(values: Floats) -> Floats:
    """Sums over the last axis; one class after the other is quicker where there are few."""
    if values.shape[-1] >= _MANY_CLASSES:
        return values.sum(axis=-1)
    total: Floats = values[..., 0].copy()
    for k in range(1, values.shape[-1]):
        total += values[..., k]
    return total


def _root(
    counts: Floats,
    live: NDArray[np.bool_],
    noise_variance: float,
    prior: NDArray[Any] | None,
    prior_variance: float,
    even: bool,
) -> tuple[_Level, Floats]:
    """Class shares and size from all trees' totals, each weighed by its noise."""
    n_trees, _, n_classes = counts.shape
    n_live = live.sum(axis=1).astype(np.float64)
    share = (1.0 / n_live) / (1.0 / n_live).sum()
    total = share @ counts.sum(axis=1)
    variance = float(noise_variance * (share**2 * n_live).sum())
    if prior is not None:
        weight = variance / (variance + prior_variance + 1e-12)
        total = weight * prior + (1.0 - weight) * total
        variance = weight**2 * prior_variance + (1.0 - weight) ** 2 * variance
    shares = prior_shares(total, variance, even)
    size = max(float(total.sum()), 1.0)
    root = _Level(
        np.broadcast_to(shares, (n_trees, 1, n_classes)),
        np.full((n_trees, 1), size),
        np.zeros((n_trees, 1)),
        n_live[:, None],
    )
    return root, shares


def prior_shares(counts: Floats, variance: float, even: bool) -> Floats:
    """Class shares from noisy counts: even shares where they drown, or what is above the noise."""
    if even:
        positive = np.maximum(counts, 0.0) + 2.0 * variance**0.5 + 1.0
    else:
        positive = np.maximum(counts, max(variance**0.5, 1e-3))
    return positive / positive.sum()


def _next_level(
    sums: Floats,
    n_live: Floats,
    above: _Level,
    noise_variance: float,
    strength: float,
    target_spread: float,
) -> _Level:
    parent = np.repeat(above.probabilities, 2, axis=1)
    room = np.repeat(above.masses, 2, axis=1)
    size = _over_classes(sums)
    noise = noise_variance * n_live
    floor = np.sqrt(noise * sums.shape[2]) + 1e-9
    mass = np.maximum(size, floor)
    # Where the noise exceeds what the parent holds, the counts say nothing.
    trust = np.minimum(room / floor, 1.0) ** 2
    spread = np.maximum(parent * (1.0 - parent), VARIANCE_FLOOR)
    against = strength * (1.0 + (noise / mass)[:, :, None] / (spread * target_spread))
    weight = trust[:, :, None] * mass[:, :, None] / (mass[:, :, None] + against)
    # A node that nothing can split has one child, which is itself.
    split = (n_live > 0) & (n_live < np.repeat(above.n_live, 2, axis=1))
    weight = np.where(split[:, :, None], weight, 0.0)
    moved = parent + weight * (sums / mass[:, :, None] - parent * (size / mass)[:, :, None])
    moved = np.maximum(moved, parent * LEAST_SHARE)
    own = _over_classes(weight * spread) / _over_classes(spread)
    kept = np.where(split, own, np.repeat(above.weights, 2, axis=1))
    masses = np.where(split, np.minimum(mass, np.maximum(room, 1.0)), room)
    return _Level(moved / _over_classes(moved)[:, :, None], masses, kept, n_live)
