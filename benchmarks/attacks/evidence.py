"""What a released forest says of its records: trees, and a log-likelihood of every leaf's counts.

The one form that all attacked forests are brought to. Given the trees, the released leaves depend
on the records only through the class counts of the leaves: a forest is a sum of functions of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Two classes, in all of these attacks.
N_CLASSES = 2
#: Stands for a count of zero in a logarithm, where a leaf is known to hold a record.
_NEARLY_NONE = 1e-4


@dataclass(frozen=True, eq=False)
class Trees:
    """Complete trees over binary features: left if the weighted sum is at most the threshold.

    Attributes
    ----------
    features : ndarray of int64, shape (n_trees, n_nodes, width)
        In heap order; -1 is no feature, and a node without one sends all records left.
    weights : ndarray of int64, shape (n_trees, n_nodes, width)
    thresholds : ndarray of int64, shape (n_trees, n_nodes)
    """

    features: NDArray[np.int64]
    weights: NDArray[np.int64]
    thresholds: NDArray[np.int64]

    @classmethod
    def all_left(cls, n_trees: int, depth: int, width: int = 1) -> Trees:
        """Trees to be filled in."""
        shape = n_trees, 2**depth - 1, width
        return cls(np.full(shape, -1), np.zeros(shape, np.int64), np.zeros(shape[:2], np.int64))

    def split(self, tree: int, node: int, feature: int, one_goes_left: bool = False) -> None:
        """Split a node by one feature."""
        sign = -1 if one_goes_left else 1
        self.features[tree, node, 0], self.weights[tree, node, 0] = feature, sign
        self.thresholds[tree, node] = -1 if one_goes_left else 0

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.features.shape[0])

    @property
    def depth(self) -> int:
        """Levels of splits."""
        return int(self.features.shape[1] + 1).bit_length() - 1

    @property
    def n_leaves(self) -> int:
        """Leaves of each tree."""
        return int(self.features.shape[1]) + 1

    def leaves(self, x: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Leaf of each record in each tree, shape (n, n_trees)."""
        found = np.empty((x.shape[0], self.n_trees), dtype=np.int64)
        for tree in range(self.n_trees):
            place = np.zeros(x.shape[0], dtype=np.int64)
            for _ in range(self.depth):
                features, weights = self.features[tree, place], self.weights[tree, place]
                values = np.take_along_axis(x.astype(np.int64), np.maximum(features, 0), axis=1)
                total = (values * np.where(features < 0, 0, weights)).sum(axis=1)
                place = 2 * place + 1 + (total > self.thresholds[tree, place])
            found[:, tree] = place - (self.n_leaves - 1)
        return found

    def counts(self, x: NDArray[np.uint8], y: NDArray[np.int64]) -> NDArray[np.int64]:
        """Class counts of all leaves, shape (n_trees, n_leaves, 2)."""
        counts = np.zeros((self.n_trees, self.n_leaves, N_CLASSES), dtype=np.int64)
        np.add.at(counts, (np.arange(self.n_trees)[None, :], self.leaves(x), y[:, None]), 1)
        return counts


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log-likelihood of what was released, as a function of the leaves' class counts.

    Attributes
    ----------
    trees : Trees
    counts : ndarray of float64, shape (n_trees, n_leaves, 2, n + 1)
        Of the number of records of one class in one leaf; concave.
    margins : ndarray of float64, shape (n_trees, n_leaves, 2n + 1)
        Of the number of class 1 less that of class 0 in one leaf, from -n; concave.
    scale : float
        What one record in the wrong leaf typically costs.
    exact : ndarray of int64, shape (n_trees, n_leaves, 2), or None
        Counts that must hold exactly; ``counts`` then says how far off a table is.
    """

    trees: Trees
    counts: NDArray[np.float64]
    margins: NDArray[np.float64]
    scale: float
    exact: NDArray[np.int64] | None = None

    @property
    def n_records(self) -> int:
        """Number of records, which the attacker is given."""
        return int(self.counts.shape[-1]) - 1

    def log_likelihood(self, x: NDArray[np.uint8], y: NDArray[np.int64]) -> float:
        """Of a table; up to a constant."""
        counts = self.trees.counts(x, y)
        margins = counts[:, :, 1] - counts[:, :, 0] + self.n_records
        cells = np.take_along_axis(self.counts, counts[..., None], axis=-1)
        leaves = np.take_along_axis(self.margins, margins[..., None], axis=-1)
        return float(cells.sum() + leaves.sum())


def exact_evidence(trees: Trees, counts: NDArray[np.int64], n: int) -> Evidence:
    """True counts; a table is as likely as any other that has them."""
    off = -np.abs(np.arange(n + 1) - counts[..., None]).astype(np.float64)
    return Evidence(trees, off, _no_margins(trees, n), 1.0, counts.astype(np.int64))


def bootstrap_evidence(trees: Trees, counts: NDArray[np.int64], n: int) -> Evidence:
    """Counts of a bootstrap sample for each tree: multinomial, the draws of records summed out."""
    shares = np.maximum(np.arange(n + 1), _NEARLY_NONE) / n
    return Evidence(trees, counts[..., None] * np.log(shares), _no_margins(trees, n), 1.0)


def noisy_evidence(trees: Trees, counts: NDArray[np.int64], epsilon: float, n: int) -> Evidence:
    """True counts plus two-sided geometric noise of ratio exp(-epsilon)."""
    off = -epsilon * np.abs(np.arange(n + 1) - counts[..., None])
    return Evidence(trees, off, _no_margins(trees, n), epsilon)


def label_evidence(trees: Trees, labels: NDArray[np.int64], epsilon: float, n: int) -> Evidence:
    """A label a leaf, drawn with probability proportional to exp(epsilon * its count)."""
    margin = np.arange(-n, n + 1) * np.where(labels == 1, 1.0, -1.0)[..., None]
    none = np.zeros((*labels.shape, N_CLASSES, n + 1))
    return Evidence(trees, none, -np.logaddexp(0.0, -epsilon * margin), epsilon)


def both(first: Evidence, second: Evidence) -> Evidence:
    """Two independent releases about the same leaves."""
    counts, margins = first.counts + second.counts, first.margins + second.margins
    return Evidence(first.trees, counts, margins, max(first.scale, second.scale))


def beside(first: Evidence, second: Evidence) -> Evidence:
    """Independent releases about trees of their own."""
    depth = max(first.trees.depth, second.trees.depth)
    width = max(first.trees.features.shape[2], second.trees.features.shape[2])
    parts = [_deepened(part, depth, width) for part in (first, second)]
    trees = Trees(
        np.concatenate([part.trees.features for part in parts]),
        np.concatenate([part.trees.weights for part in parts]),
        np.concatenate([part.trees.thresholds for part in parts]),
    )
    return Evidence(
        trees,
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.margins for part in parts]),
        max(part.scale for part in parts),
    )


def _deepened(evidence: Evidence, depth: int, width: int) -> Evidence:
    """The same with further levels, which send all records left."""
    old, n = evidence.trees, evidence.n_records
    trees = Trees.all_left(old.n_trees, depth, width)
    n_nodes, used = old.features.shape[1:]
    trees.features[:, :n_nodes, :used] = old.features
    trees.weights[:, :n_nodes, :used] = old.weights
    trees.thresholds[:, :n_nodes] = old.thresholds
    whole = no_evidence(trees, n)
    step = trees.n_leaves // old.n_leaves
    whole.counts[:, ::step], whole.margins[:, ::step] = evidence.counts, evidence.margins
    return Evidence(trees, whole.counts, whole.margins, evidence.scale)


def no_evidence(trees: Trees, n: int) -> Evidence:
    """Nothing but trees was released."""
    none = np.zeros((trees.n_trees, trees.n_leaves, N_CLASSES, n + 1))
    return Evidence(trees, none, _no_margins(trees, n), 0.0)


def _no_margins(trees: Trees, n: int) -> NDArray[np.float64]:
    return np.zeros((trees.n_trees, trees.n_leaves, 2 * n + 1))
