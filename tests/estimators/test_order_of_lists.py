"""Fits whose random trees part lists of categories where they tell an order."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier

SIZES = ["tiny", "small", "medium", "large", "huge"]
pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.mark.parametrize("strategy", ["refitted", "one_shot"])
@pytest.mark.parametrize(("listed", "runs"), [(SIZES, True), (sorted(SIZES), False)])
def test_a_list_decides_how_its_categories_are_parted(strategy, listed, runs):
    generator = np.random.default_rng(1)
    X = np.column_stack([generator.choice(SIZES, 300), generator.choice(SIZES, 300)])
    y = generator.choice(["no", "yes"], 300)
    features = {"one": listed, "other": listed}
    domain = Domain(features=features, classes=["no", "yes"], approximate_rows=300)
    forest = PrivateForestClassifier(
        epsilon=50, delta=1e-6, domain=domain, strategy=strategy, random_state=5
    ).fit(X, y)
    sides = parted(forest)
    assert len(sides) > 10
    alone = [side for side in sides if not is_run(side)]
    assert alone == [] if runs else len(alone) > 2


def parted(forest) -> list[list[bool]]:
    """Sides of the declared categories, in their list, of all nodes that part them."""
    trees = forest.model_.trees
    sides = trees.mask[..., 0, None] >> np.arange(len(SIZES), dtype=np.uint64) & np.uint64(1)
    return [side.tolist() for side in sides.reshape(-1, len(SIZES)) if 0 < side.sum() < len(SIZES)]


def is_run(side) -> bool:
    """True if those that go left are neighbours; nodes of a grid send what is not theirs right."""
    left = np.flatnonzero(side)
    return int(left[-1] - left[0]) == left.size - 1
