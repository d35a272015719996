"""The private engine at B1 = B2 = 10 draws the trees of MRF (2020).

Same fixed partition, public cells equal to the observed values, the same depth cap, no stop by
counts. Root splits and two-level paths of both engines are compared by chi-square of two samples:
accepted unless p < 1e-9; with B 30 % off in one of them, rejected at 1e-9.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from dpforest import Domain, MultinomialForestClassifier
from dpforest.accounting.allocation import ExplicitAllocation
from dpforest.bridge import bridge
from dpforest.consistent.answers import Label
from dpforest.consistent.candidates import AllFeatures
from dpforest.consistent.grower import grow_forest
from dpforest.consistent.inclusion import GivenPartition
from dpforest.consistent.rules import ForestRules, Stop
from dpforest.consistent.splits import TwoStage
from dpforest.trees.multinomial.queries import Side

ALPHA = 1e-9
N_TREES = 4000
SIZES = [4, 3, 3]


def table():
    """Every combination of values many times on both sides, so that no box has an unseen value."""
    generator = np.random.default_rng(4)
    grid = np.stack(np.meshgrid(*[np.arange(size) for size in SIZES]), axis=-1).reshape(-1, 3)
    X = np.tile(grid, (20, 1)).astype(float)
    signal = X[:, 0] + 0.9 * X[:, 1] + 0.6 * X[:, 2] + generator.normal(scale=1.5, size=len(X))
    y = np.digitize(signal, np.quantile(signal, [0.4, 0.75]))
    half = len(X) // 2
    return X, y, np.arange(half, dtype=np.int32), np.arange(half, len(X), dtype=np.int32)


def paths(features, cuts):
    """Root, root with left child, and root with right child, of each tree."""
    nodes = [[*zip(f, c, strict=True)] for f, c in zip(features, cuts, strict=True)]
    return [
        Counter(node[0] for node in nodes),
        Counter((node[0], node[1]) for node in nodes),
        Counter((node[0], node[2]) for node in nodes),
    ]


def private_paths(monkeypatch, B):
    X, y, structure, estimation = table()

    class Given(Side):
        def both(self, n_records):
            return structure.copy(), estimation.copy()

    monkeypatch.setattr(bridge, "Side", Given)
    monkeypatch.setattr(bridge.Bridge, "row_words", lambda *_: None)
    domain = Domain(
        features=[
            {"kind": "numeric", "name": f"x{f}", "lower": 0, "upper": size - 1, "integer": True}
            for f, size in enumerate(SIZES)
        ],
        classes=[0, 1, 2],
    )
    model = MultinomialForestClassifier.as_published(
        epsilon=10**7, domain=domain, n_estimators=N_TREES, max_depth=2, random_state=1,
        allocation=ExplicitAllocation(B, B, 1),
    ).fit(X, y)  # fmt: skip
    forest = model.forest_
    return paths(forest.feature.tolist(), forest.high.tolist())


def published_paths(B):
    X, y, structure, estimation = table()
    rules = ForestRules(
        GivenPartition(tuple(structure), tuple(estimation)), AllFeatures(), TwoStage(B / 2, B / 2),
        Label(), Stop(0, 0, 2),
    )  # fmt: skip
    forest = grow_forest(
        X, y, 3, np.zeros(3, dtype=bool), rules, N_TREES, np.random.SeedSequence(9)
    )
    features, cuts = [], []
    for number in range(N_TREES):
        tree = forest.tree(number)
        children = tree.child[0]
        nodes = [0, children, children + 1]
        features.append(tree.feature[nodes].tolist())
        cuts.append(np.floor(tree.high[nodes]).astype(int).tolist())
    return paths(features, cuts)


def p_value(first, second):
    """Chi-square of two samples of the same size; rare outcomes are pooled."""
    outcomes = first.keys() | second.keys()
    common = [o for o in outcomes if first[o] + second[o] >= 16]
    pairs = [(first[o], second[o]) for o in common]
    pairs.append(
        tuple(sum(part.values()) - sum(part[o] for o in common) for part in (first, second))
    )
    pairs = [pair for pair in pairs if sum(pair)]
    return chi2.sf(sum((a - b) ** 2 / (a + b) for a, b in pairs), len(pairs) - 1)


@pytest.fixture(scope="module")
def published():
    return published_paths(10.0)


def test_the_private_engine_draws_the_trees_of_the_paper(monkeypatch, published):
    private = private_paths(monkeypatch, 10)
    assert all(p_value(*pair) > ALPHA for pair in zip(private, published, strict=True))
    # Every root split was drawn by one of them; the rarest has a chance of 1 in 4,000.
    assert len(private[0] + published[0]) == sum(SIZES) - len(SIZES)
    for B in (7.0, 13.0):
        others = published_paths(B)
        assert all(p_value(*pair) < ALPHA for pair in zip(private, others, strict=True))


@pytest.mark.parametrize("B", [7, 13])
def test_a_private_engine_with_another_strength_is_told_apart(monkeypatch, published, B):
    private = private_paths(monkeypatch, B)
    assert all(p_value(*pair) < ALPHA for pair in zip(private, published, strict=True))
