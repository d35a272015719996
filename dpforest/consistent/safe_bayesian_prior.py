"""Trees drawn from the prior of the Safe-Bayesian forest, before any record is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.safe_bayesian import draw_structures
from dpforest.mechanisms.entropy import RandomSource

_NODES_A_TREE = 64  # words drawn at first; a structure that needs more gets more


@dataclass(frozen=True, slots=True)
class PriorTrees:
    """Trees in depth-first order, one after the other.

    Attributes
    ----------
    feature : int32 array of shape (nodes,)
        Feature an inner node cuts; -1 in leaves.
    location : float64 array of shape (nodes,)
        Where, in [0, 1): a record goes to the first child if its transformed value is at most it.
    second : int64 array of shape (nodes,)
        Second child of an inner node, whose first child is the next node; -1 in leaves.
    roots : int64 array of shape (T + 1,)
        First node of each tree, and the number of nodes.
    """

    feature: NDArray[np.int32]
    location: NDArray[np.float64]
    second: NDArray[np.int64]
    roots: NDArray[np.int64]

    def cuts(self, n: int) -> NDArray[np.int32]:
        """Largest rank code that goes to the first child, for n training records.

        A record of rank code r has the transformed value r / (n + 1).
        """
        return np.floor(self.location * (n + 1)).astype(np.int32)


def draw_prior_trees(
    n_trees: int, split_probability: float, n_features: int, source: RandomSource
) -> PriorTrees:
    """Draw structures, then a feature and a location for every inner node.

    Structures take words of their own, so they are the same for tables of any width, as in
    section 5 of the paper.

    Parameters
    ----------
    n_trees : int
    split_probability : float
        Lambda in [0, 1/2]: probability that a node other than a root is an inner one.
    n_features : int
    source : RandomSource
    """
    second, roots = _draw_structures(n_trees, split_probability, source.spawn("structures"))
    words = source.spawn("splits").words(2 * second.size).reshape(2, -1)
    uniform = (words >> np.uint64(11)) * 2.0**-53
    feature = np.minimum(np.floor(uniform[0] * n_features), n_features - 1)
    inner = second >= 0
    return PriorTrees(
        feature=np.where(inner, feature, -1).astype(np.int32),
        location=np.where(inner, uniform[1], 0.0),
        second=second,
        roots=roots,
    )


def _draw_structures(
    n_trees: int, split_probability: float, source: RandomSource
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    limit = np.uint64(int(split_probability * 2.0**64))
    words = source.words(_NODES_A_TREE * n_trees)
    second = np.empty(words.size, dtype=np.int64)
    roots = np.zeros(n_trees + 1, dtype=np.int64)
    progress = np.zeros(2, dtype=np.int64)
    draw_structures(words, limit, second, roots, progress)
    while progress[0] < n_trees:
        # Large trees are rare, but their mean size grows without bound as lambda nears 1/2.
        words = np.concatenate([words, source.words(words.size)])
        second = np.concatenate([second, np.empty_like(second)])
        draw_structures(words, limit, second, roots, progress)
    return second[: progress[1]].copy(), roots


def rank_codes(
    sorted_columns: NDArray[np.float64], records: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Probability-integral transform by the training records' distribution, times n + 1.

    Parameters
    ----------
    sorted_columns : float64 array of shape (D, n)
        Each feature's training values in ascending order.
    records : float64 array of shape (n_records, D)

    Returns
    -------
    int32 array of shape (n_records, D)
        Number of training records whose value is at most the record's own.
    """
    codes = np.empty(records.shape, dtype=np.int32)
    for feature, column in enumerate(sorted_columns):
        codes[:, feature] = np.searchsorted(column, records[:, feature], side="right")
    return codes
