"""Released trees: shapes, and the variance that goes with the noise on their counts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from dpforest.trees.multinomial.heaps import ReleasedTree, ReleasedTrees


def tree(depth, labels=True, n_classes=3):
    n_nodes = 2**depth - 1
    return ReleasedTree(
        feature=np.arange(n_nodes, dtype=np.int32),
        low=np.zeros(n_nodes, dtype=np.int64),
        high=np.ones(n_nodes, dtype=np.int64),
        labels=np.arange(n_nodes + 1, dtype=np.int32) % n_classes if labels else None,
        counts=None if labels else np.ones((n_nodes + 1, n_classes), dtype=np.int64),
    )


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
@pytest.mark.parametrize("labels", [True, False])
def test_stack(depth, labels):
    forest = ReleasedTrees.stack([tree(depth, labels)] * 4, n_classes=3, noise_variance=2.5)
    assert tree(depth, labels).depth == forest.depth == depth
    assert forest.n_trees == 4
    assert forest.feature.shape == forest.low.shape == forest.high.shape == (4, 2**depth - 1)
    assert (forest.labels is not None, forest.counts is None) == (labels, labels)
    leaves = forest.labels if labels else forest.counts
    assert leaves.shape[:2] == (4, 2**depth)
    assert np.array_equal(forest.feature[3], tree(depth).feature)


def test_kinds_of_leaves_are_not_mixed():
    for first, second in ((True, False), (False, True)):
        with pytest.raises(AssertionError, match="same kind of leaves"):
            ReleasedTrees.stack([tree(2, first), tree(2, second)], 3, 0.0)


def test_what_is_kept_is_known():
    # Whoever adds a field adds something that is published: it must be a released value.
    released = {"feature", "low", "high", "labels", "counts"}
    assert {field.name for field in fields(ReleasedTree)} == released
    assert {f.name for f in fields(ReleasedTrees)} == released | {"noise_variance", "n_classes"}
    with pytest.raises(FrozenInstanceError):
        tree(1).counts = np.zeros(3)
