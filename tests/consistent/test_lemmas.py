"""Lemmas 3 and 4 of MRF 2020, Proposition 1 and Lemma 5 of MRF 2019, on roots of many trees.

The paper bounds draws by softmax(B · Î); section 3 and the forest draw by softmax(B/2 · Î), so the
bounds hold, and those with B/2 are met exactly in the worst case. That of 2019 draws by
softmax(B · Î), and a feature's least probability is that of being the single candidate.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpforest import MRF2019Classifier, MRFClassifier

N_TREES = 3000


def stumps(X, y, kind=MRFClassifier, **settings):
    """A forest of trees of one split each."""
    return kind(N_TREES, max_depth=1, random_state=0, leaf_size=1, **settings).fit(X, y)


def drawn_features(X, y, kind=MRFClassifier, **settings):
    """Feature of each tree's split, all features being 0 or 1."""
    model = stumps(X, y, kind, **settings)
    units = np.eye(X.shape[1])
    moved = model.apply(units) != model.apply(0 * units)
    assert (moved.sum(axis=0) == 1).all()
    return moved.argmax(axis=0)


def drawn_cuts(x, y, kind=MRFClassifier, **settings):
    """Share of the records that each split sends left; one next to an end may be given up."""
    leaves = stumps(x[:, None], y, kind, **settings).apply(x[:, None])
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


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_proposition_1_of_2019_every_feature_has_a_least_probability(p):
    """Of D features the one of the least decrease is drawn as the single candidate: p / D."""
    generator, D = np.random.default_rng(1), 4
    y = generator.integers(0, 2, 200)
    X = np.column_stack([generator.integers(0, 2, 200), *(D - 1) * [y]]).astype(float)
    settings = {"p": p, "B": math.inf, "max_features": None}
    share = float(np.mean(drawn_features(X, y, MRF2019Classifier, **settings) == 0))
    assert share == 0 if p == 0 else close(share, p / D)


@pytest.mark.parametrize("B", [0.0, 1.0, math.inf])
def test_lemma_5_of_2019_a_split_is_often_enough_not_near_an_end(B):
    """As Lemma 4 above, of one draw over all cuts."""
    n, parts = 400, 4
    x = (np.arange(n) + 0.5) / n
    cuts = drawn_cuts(x, (x < 0.05).astype(int), MRF2019Classifier, B=B)
    share = float(np.mean((cuts >= 1 / parts) & (cuts <= 1 - 1 / parts)))
    least = (parts - 2) / parts * math.exp(-B)
    assert share == 0 if math.isinf(B) else share >= least - 5 * math.sqrt(least / N_TREES)
