"""Lemmas 3 and 4 of MRF 2020, on forests as they are grown: roots of many trees of one split.

The paper bounds draws by softmax(B · Î); section 3 and the forest draw by softmax(B/2 · Î), so the
bounds hold, and those with B/2 are met exactly in the worst case.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpforest import MRFClassifier

N_TREES = 3000


def stumps(X, y, **settings):
    """A forest of trees of one split each."""
    return MRFClassifier(N_TREES, max_depth=1, random_state=0, leaf_size=1, **settings).fit(X, y)


def drawn_features(X, y, **settings):
    """Feature of each tree's split, all features being 0 or 1."""
    model = stumps(X, y, **settings)
    units = np.eye(X.shape[1])
    moved = model.apply(units) != model.apply(0 * units)
    assert (moved.sum(axis=0) == 1).all()
    return moved.argmax(axis=0)


def drawn_cuts(x, y, **settings):
    """Share of the records that each split sends left; one next to an end may be given up."""
    leaves = stumps(x[:, None], y, **settings).apply(x[:, None])
    shares = (leaves == leaves[0]).mean(axis=0)
    assert (shares < 1).mean() > 0.98
    return shares[shares < 1]


def close(share, expected):
    """Within five standard errors."""
    return abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / N_TREES)


@pytest.mark.parametrize("B1", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("D", [2, 4])
def test_lemma_3_every_feature_has_a_least_probability(B1, D):
    """The worst case of its proof: one feature's decrease is the least, all others' the largest."""
    generator = np.random.default_rng(1)
    y = generator.integers(0, 2, 200)
    X = np.column_stack([generator.integers(0, 2, 200), *(D - 1) * [y]]).astype(float)
    share = float(np.mean(drawn_features(X, y, B1=B1) == 0))
    assert close(share, 1 / (1 + (D - 1) * math.exp(B1 / 2)))
    least = 1 / (1 + (D - 1) * math.exp(B1))
    assert share >= least - 5 * math.sqrt(least / N_TREES)
    # The best case: the one feature tells the class, and the others nothing.
    X = np.column_stack([y, *(D - 1) * [np.tile([0, 1], 100)]]).astype(float)
    share = float(np.mean(drawn_features(X, y, B1=B1) == 0))
    assert close(share, math.exp(B1 / 2) / (math.exp(B1 / 2) + D - 1))


@pytest.mark.parametrize("B2", [0.0, 1.0, 2.0, math.inf])
def test_lemma_4_a_split_is_often_enough_not_near_an_end(B2):
    """Of four equal parts the two in the middle, where the best cut is at one end.

    With B2 infinite there is no bound, and the best cut alone is drawn: the test would tell.
    """
    n, parts = 400, 4
    x = (np.arange(n) + 0.5) / n
    y = (x < 0.05).astype(int)
    cuts = drawn_cuts(x, y, B2=B2)
    share = float(np.mean((cuts >= 1 / parts) & (cuts <= 1 - 1 / parts)))
    if math.isinf(B2):
        assert share == 0
    else:
        least = (parts - 2) / parts * math.exp(-2 * B2)
        assert share >= least - 5 * math.sqrt(least / N_TREES)
        assert share > 0
    assert B2 > 0 or close(share, (parts - 2) / parts)


@pytest.mark.parametrize("B1", [0.0, 4.0])
def test_a_feature_of_the_least_decrease_is_never_drawn_without_a_bound(B1):
    """With B1 infinite the least probability is 0: what Lemma 3 says is about finite B1."""
    y = np.arange(200) % 2
    X = np.column_stack([np.arange(200) // 2 % 2, y]).astype(float)
    assert (drawn_features(X, y, B1=math.inf) == 1).all()
    assert (drawn_features(X, y, B1=B1) == 0).any()
