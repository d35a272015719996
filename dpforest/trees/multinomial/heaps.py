"""Published trees: released arrays and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.splits import RangeTrees


@dataclass(frozen=True, slots=True)
class ReleasedTree:
    """A complete binary tree of fixed depth, made of released values only.

    Attributes
    ----------
    feature : ndarray of int32, shape (2**depth - 1,)
        Feature of every split in heap order; -1 where public facts left no candidate, and
        then every record goes left.
    low, high : ndarray of int64, shape (2**depth - 1,)
        A record goes left if ``low <= code <= high``.
    labels : ndarray of int32, shape (2**depth,), or None
        Drawn class of every leaf, where leaves release labels.
    counts : ndarray of int64, shape (2**depth, n_classes), or None
        Noisy class counts of every leaf, where leaves release histograms. May be negative.
    """

    feature: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    labels: NDArray[np.int32] | None = None
    counts: NDArray[np.int64] | None = None

    @property
    def depth(self) -> int:
        """Number of levels of splits."""
        return int(self.feature.size + 1).bit_length() - 1


@dataclass(frozen=True, slots=True)
class ReleasedTrees(RangeTrees):
    """Released trees of one shape, stacked.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
    low, high : ndarray of int64, shape (n_trees, 2**depth - 1)
    labels : ndarray of int32, shape (n_trees, 2**depth), or None
    counts : ndarray of int64, shape (n_trees, 2**depth, n_classes), or None
    noise_variance : float
        Variance of the noise on each count, from the released parameters; 0 for labels.
    n_classes : int
    """

    feature: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    labels: NDArray[np.int32] | None
    counts: NDArray[np.int64] | None
    noise_variance: float
    n_classes: int

    @classmethod
    def stack(
        cls, trees: Sequence[ReleasedTree], n_classes: int, noise_variance: float
    ) -> ReleasedTrees:
        """Put trees of one depth and one kind of leaves beside each other."""
        has_labels = trees[0].labels is not None
        return cls(
            feature=np.stack([tree.feature for tree in trees]),
            low=np.stack([tree.low for tree in trees]),
            high=np.stack([tree.high for tree in trees]),
            labels=np.stack([_present(tree.labels) for tree in trees]) if has_labels else None,
            counts=None if has_labels else np.stack([_present(tree.counts) for tree in trees]),
            noise_variance=noise_variance,
            n_classes=n_classes,
        )


def _present(array: NDArray | None) -> NDArray:
    if array is None:
        raise AssertionError("trees of one forest release the same kind of leaves")
    return array
