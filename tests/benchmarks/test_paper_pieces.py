"""Labels as the authors' public code draws them, and BRF's draw for each candidate feature."""

from __future__ import annotations

import numpy as np
import pytest
from papers.each_feature import EachFeatureClassifier, EachFeatureRegressor
from papers.public_code import _sides, draw_labels

from dpforest import BRFClassifier, BRFRegressor, MRFClassifier


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3))
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * generator.normal(size=300)


def fitted(records, **changes):
    X, y = records[0].round(), (records[1] > 0).astype(int)
    return MRFClassifier(5, random_state=1, **changes).fit(X, y), X, y


def test_the_sides_are_those_that_the_trees_were_grown_from(records):
    model, X, _ = fitted(records)
    leaves = model.apply(X)
    for tree, (_, estimation) in enumerate(_sides(model, len(X))):
        first, last = model.forest_.roots[tree : tree + 2]
        counts = np.bincount(leaves[estimation, tree], minlength=last - first)
        is_leaf = model.forest_.feature[first:last] < 0
        assert (counts[is_leaf] == model.forest_.n_estimation[first:last][is_leaf]).all()


def test_only_leaves_of_a_split_that_was_given_up_draw_their_label(records):
    model, X, y = fitted(records, B1=0, B2=0)
    before = model.forest_.value.copy()
    n_drawn = draw_labels(model, X, y, 0.0)
    changed = np.flatnonzero((before != model.forest_.value) & ~np.isnan(before))
    assert 0 < changed.size <= n_drawn < np.sum(model.forest_.feature < 0) / 2
    assert (model.forest_.n_estimation[changed] > model.leaf_size).all()


def test_counts_decide_where_they_are_large(records):
    model, X, y = fitted(records, B1=0, B2=0)
    before = model.forest_.value.copy()
    assert draw_labels(model, X, y, 1e6) > 0
    changed = np.flatnonzero((before != model.forest_.value) & ~np.isnan(before))
    assert changed.size <= 1  # but for a tie


@pytest.mark.parametrize("criterion", ["mse", "weighted_mse"])
def test_without_draws_errors_are_those_of_the_package(records, criterion):
    # One feature: two that part the structure points alike are tied, and a draw decides.
    X, y = records[0][:, :1], records[1]
    settings = {"p1": 0.0, "p2": 0.0, "max_features": None, "leaf_size": 12, "random_state": 3,
                "criterion": criterion}  # fmt: skip
    ours, theirs = (kind(5, **settings).fit(X, y).predict(X)
                    for kind in (EachFeatureRegressor, BRFRegressor))  # fmt: skip
    assert ours == pytest.approx(theirs)


def test_without_draws_votes_are_those_of_the_package(records):
    X, y = records[0], (records[1] > 0).astype(int)
    settings = {"p1": 0.0, "p2": 0.0, "max_features": None, "leaf_size": 25, "random_state": 3}
    ours, theirs = (kind(5, **settings).fit(X, y).forest_votes(X)
                    for kind in (EachFeatureClassifier, BRFClassifier))  # fmt: skip
    assert (ours == theirs).all() and len(np.unique(ours)) > 2


def test_the_best_of_random_offers_splits_the_node():
    """Of features with one cut each the offers are the cuts, so the best one always wins."""
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (200, 4)).astype(float)
    y = X[:, 2].astype(int)
    settings = {"p1": 0.0, "p2": 1.0, "max_features": None, "random_state": 0}
    roots = {}
    for kind in (EachFeatureClassifier, BRFClassifier):
        forest = kind(30, **settings).fit(X, y).forest_
        roots[kind] = set(forest.feature[forest.roots[:-1]].tolist())
    assert roots == {EachFeatureClassifier: {2}, BRFClassifier: {0, 1, 2, 3}}
