"""The experiment with a private Safe-Bayesian forest: what it pays, and what its evidence says."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from private_safe_bayesian import PrivateSafeBayesian, leaves_of

from dpforest import Domain
from dpforest.mechanisms.entropy import SeededSource

DOMAIN = Domain(
    features=[
        {"name": "x", "kind": "numeric", "lower": 0, "upper": 1},
        {"name": "c", "kind": "categorical", "categories": ["a", "b", "c"]},
    ],
    classes=["no", "yes"],
    approximate_rows=400,
)
GENERATOR = np.random.default_rng(0)
X = np.column_stack([
    GENERATOR.uniform(size=400).astype(object), GENERATOR.choice(["a", "b", "c"], 400)
])  # fmt: skip
Y = np.where(X[:, 0].astype(float) < 0.5, "no", "yes")


@pytest.fixture(scope="module")
def forest():
    """At a budget that hides nothing, from words that are the same in every run."""
    seeds = iter(range(2))
    with mock.patch("private_safe_bayesian.SystemSource", lambda: SeededSource(next(seeds))):
        return PrivateSafeBayesian(5000, DOMAIN, 16).fit(X, Y)


def test_one_record_moves_one_count_of_every_tree(forest):
    """What the grant is priced for: an L1 sensitivity of the number of trees, and no less."""
    whole, without = forest._counted(X, Y), forest._counted(X[1:], Y[1:])
    moved = whole - without
    assert set(np.unique(moved)) == {0, 1}
    assert np.array_equal(np.add.reduceat(moved.sum(axis=1), forest.starts[:-1]), np.ones(16))
    (entry,) = forest.accountant.ledger
    assert entry.parameters["l1_sensitivity"] == "16"
    assert forest.accountant.spent.epsilon == 5000


def test_trees_follow_from_public_coins(forest):
    """Nothing of the records: leaves part the domain, whoever is in it."""
    places = np.random.default_rng(1).uniform(size=(500, 2))
    for tree in range(16):
        leaves = leaves_of(forest.trees, tree, places)
        size = forest.starts[tree + 1] - forest.starts[tree]
        assert leaves.min() >= 0 and leaves.max() < size
    assert forest.starts[-1] == (forest.trees.feature < 0).sum()


def test_evidence_is_highest_where_leaves_tell_the_class(forest):
    """And noise that drowns the counts leaves all trees alike."""
    counts = forest._counted(X, Y).astype(float)
    purity = [
        counts[a:b].max(axis=1).sum() / 400
        for a, b in zip(forest.starts[:-1], forest.starts[1:], strict=True)
    ]
    assert np.corrcoef(purity, forest.evidence)[0, 1] > 0.8
    assert np.ptp(forest.evidence) > 50
    drowned = PrivateSafeBayesian(Fraction(1, 1000), DOMAIN, 16)
    drowned.trees, drowned.starts, drowned.variance = forest.trees, forest.starts, 1e9
    drowned._weigh(counts)
    # A leaf of 400 records beside noise of 30 000.
    leaves = np.diff(forest.starts)
    assert (np.abs(drowned.evidence) < 0.2 * leaves).all()


def test_predictions_follow_the_best_tree_and_the_mean(forest):
    proba = forest.predict_proba(X, None)
    assert np.allclose(proba.sum(axis=1), 1)
    best, mean = (np.mean(np.array(["no", "yes"])[forest.predict_proba(X, power).argmax(axis=1)]
                          == Y) for power in (None, 0.0))  # fmt: skip
    assert best > 0.8 and mean > 0.6
