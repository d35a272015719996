"""Weights by which later trees' features are drawn, from what was released of earlier trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.importances import in_shares, spread_by_feature
from dpforest.trees.random.trees import RandomTrees

#: What a feature of average weight weighs, in whole steps; of so many features less.
_STEPS, _MOST = 2**16, 2**30


class FeatureWeights:
    """Weights of features: a part the same for all, the rest by the spread of scores so far.

    A random tree on features that say nothing is a candidate lost, and of many features most
    candidates are on such. What a feature's splits moved scores by is known from steps and sizes
    that were released, so this is post-processing and costs nothing.

    Parameters
    ----------
    n_features : int
    learnt_from : float
        Trees up to which all features weigh the same.
    share : float
        Part that goes by the spread, from 0 to below 1; at 0 nothing is worked out.
    """

    def __init__(self, n_features: int, learnt_from: float, share: float) -> None:
        self._spread = np.zeros(n_features)
        self._left, self._share = learnt_from, share

    def learn(
        self, tree: RandomTrees, sizes: NDArray[np.float64], steps: NDArray[np.float64]
    ) -> None:
        """Add a tree whose leaves have such released sizes, shape (n_leaves,), and steps."""
        self._left -= 1
        if self._share:
            released = np.maximum(sizes, 0.0)[None], steps[None]
            self._spread += spread_by_feature(self._spread.size, tree.splits, *released)

    def of_features(self) -> NDArray[np.int64] | None:
        """Weights in whole steps, shape (D,); None while all weigh the same."""
        if self._left > 0 or not self._share or not self._spread.any():
            return None
        learnt = self._share * in_shares(self._spread)
        parts = learnt + (1.0 - self._share) / self._spread.size
        most = min(_STEPS * self._spread.size, _MOST)
        return np.maximum(np.rint(parts * most), 1.0).astype(np.int64)
