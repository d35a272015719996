"""Values made of released leaves: all of it post-processing, which costs nothing.

Inputs are released arrays and public parameters. Nothing here sees a record, so by the
post-processing property (Dwork and Roth 2014, Prop. 2.1) none of it changes a guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.multinomial.heaps import ReleasedTrees

#: Pseudo-count of a node's parent in the shrinkage.
PRIOR_STRENGTH = 10.0
#: Floor of the binomial variance p(1-p) used to weigh noise against sampling error.
VARIANCE_FLOOR = 0.02
#: Floor of a class probability before its logarithm is taken.
PROBABILITY_FLOOR = 1e-4


@dataclass(frozen=True, slots=True)
class LeafValues:
    """Values that prediction adds up over trees.

    Attributes
    ----------
    values : ndarray of float64, shape (n_trees, n_leaves, n_classes)
    base : ndarray of float64, shape (n_classes,)
        Added once.
    log_scale : bool
        Whether the sum is a vector of log-odds (softmax) or of probabilities (normalised).
    """

    values: NDArray[np.float64]
    base: NDArray[np.float64]
    log_scale: bool


def leaf_values(forest: ReleasedTrees) -> LeafValues:
    """Values for prediction: votes of drawn labels, or shrunk log-odds of noisy counts."""
    if forest.labels is not None:
        return vote_values(forest.labels, forest.n_classes)
    return log_odds_values(forest)


def vote_values(labels: NDArray[np.int32], n_classes: int) -> LeafValues:
    """Each leaf adds one vote for its drawn class; the sum over trees is the share of votes."""
    votes = np.eye(n_classes)[labels] / labels.shape[0]
    return LeafValues(votes, np.zeros(n_classes), log_scale=False)


def log_odds_values(forest: ReleasedTrees) -> LeafValues:
    """Shrunk class log-probabilities of every leaf, centred tree by tree, and the prior's.

    The sum over T trees is scaled by 1 / (1 + (T - 1) w), w the mean weight that the shrinkage
    gave to the leaves' own counts. Leaves that are known well (w near 1) repeat each other, so
    they are averaged; leaves drowned in noise (w near 0) were shrunk T times each, so they add up.
    """
    shrunk = shrink_counts(_counts(forest), forest.noise_variance)
    log_p = np.log(np.maximum(shrunk.probabilities, PROBABILITY_FLOOR))
    masses = shrunk.masses / shrunk.masses.sum(axis=1, keepdims=True)
    own_weight = float(np.mean(np.sum(masses * shrunk.weights, axis=1)))
    centred = log_p - np.einsum("tl,tlk->tk", masses, log_p)[:, None, :]
    scale = 1.0 / (1.0 + (forest.n_trees - 1) * own_weight)
    prior = np.log(np.maximum(released_prior(forest), PROBABILITY_FLOOR))
    return LeafValues(centred * scale, prior, log_scale=True)


def released_prior(forest: ReleasedTrees) -> NDArray[np.float64]:
    """Class shares from the sum of all noisy counts, shape (n_classes,)."""
    total = _counts(forest).sum(axis=(0, 1), dtype=np.float64)
    n_summed = forest.feature.shape[0] * (forest.feature.shape[1] + 1)
    floor = max(1.0, float(np.sqrt(forest.noise_variance * n_summed)))
    positive = np.maximum(total, floor)
    return positive / positive.sum()


@dataclass(frozen=True, slots=True)
class ShrunkLeaves:
    """Leaves of one tree, or of several, after shrinkage.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (…, n_leaves, n_classes)
    masses : ndarray of float64, shape (…, n_leaves)
        Estimated sizes, positive.
    weights : ndarray of float64, shape (…, n_leaves)
        Weight of a leaf's own counts against its parent, in [0, 1).
    """

    probabilities: NDArray[np.float64]
    masses: NDArray[np.float64]
    weights: NDArray[np.float64]


def shrink_counts(counts: NDArray[np.int64], noise_variance: float) -> ShrunkLeaves:
    """Class probabilities of a tree's leaves, each node shrunk toward its parent by its noise.

    Noisy tables are summed upward; then from the root downward a node moves from its parent's
    probabilities toward its own by w = n_eff / (n_eff + 10), with n_eff = m / (1 + s^2 / (m q)):
    m is the noisy size kept above its noise, s^2 the noise variance of the node's sums, q the
    parent's largest p(1-p). Noise prunes by itself, so a depth that is too large does little harm.

    Parameters
    ----------
    counts : ndarray of int64, shape (…, n_leaves, n_classes)
        Noisy counts, ``n_leaves`` a power of two; trees do not touch each other.
    noise_variance : float
        Variance of the noise on one count.

    Returns
    -------
    ShrunkLeaves
    """
    *trees, n_leaves, n_classes = counts.shape
    n_trees = math.prod(trees)
    # Nodes of a level of all trees in one table, tree by tree.
    level = ShrunkLeaves(
        np.full((n_trees, n_classes), 1.0 / n_classes), np.ones(n_trees), np.zeros(n_trees)
    )
    n_nodes = 1
    while n_nodes <= n_leaves:
        # Doubles: sums of counts that drown in noise may leave the range of int64.
        table = counts.reshape(n_trees * n_nodes, -1, n_classes).sum(axis=1, dtype=np.float64)
        variance = noise_variance * (n_leaves // n_nodes)
        parents = np.repeat(level.probabilities, 1 if n_nodes == 1 else 2, axis=0)
        level = _shrink_level(table, variance, parents)
        n_nodes *= 2
    shape = counts.shape[:-1]
    return ShrunkLeaves(
        level.probabilities.reshape(counts.shape),
        level.masses.reshape(shape),
        level.weights.reshape(shape),
    )


def _shrink_level(
    table: NDArray[np.float64], variance: float, parent: NDArray[np.float64]
) -> ShrunkLeaves:
    size = table.sum(axis=1)
    floor = max(np.sqrt(variance * table.shape[1]), 1e-9)
    mass = np.maximum(size, floor)
    spread = np.maximum((parent * (1.0 - parent)).max(axis=1), VARIANCE_FLOOR)
    effective = mass / (1.0 + variance / (mass * spread))
    weight = effective / (effective + PRIOR_STRENGTH)
    moved = parent + (weight / mass)[:, None] * (table - parent * size[:, None])
    moved = np.maximum(moved, 0.0)
    total = moved.sum(axis=1, keepdims=True)
    probabilities = np.where(total > 0, moved / np.where(total > 0, total, 1.0), parent)
    return ShrunkLeaves(probabilities, mass, weight)


def _counts(forest: ReleasedTrees) -> NDArray[np.int64]:
    if forest.counts is None:
        raise AssertionError("log-odds need released counts")
    return forest.counts
