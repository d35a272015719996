"""The published mechanism, end to end: how often each split and label of a fit is drawn.

The law is written down from the paper with exact fractions. Each record is a structure point with
probability rate / (1 + rate). A feature is drawn with exp(B1/2 * I), I the best impurity decrease
of each feature, taken to 0 … 1 over features; a value with exp(B2/2 * I), the same over the values
of that feature; a label with exp(B3/2 * frequency) from the estimation points of the leaf.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpforest import Domain, MultinomialForestClassifier
from dpforest.accounting.allocation import ExplicitAllocation

N_TREES = 5_000
B1 = B2 = B3 = Fraction(4)
#: Structure over estimation points: many of those whose draws are looked at.
RATES = {"splits": Fraction(3), "labels": Fraction(1, 3)}
# An ordered feature with codes 0 … 2 (two cuts) and a category with two values, each against the
# rest: the code reserved for unknown ones is no candidate.
DOMAIN = Domain(
    features=[
        {"kind": "numeric", "name": "x", "lower": 0, "upper": 2, "integer": True},
        {"kind": "categorical", "name": "c", "categories": ("u", "v")},
    ],
    classes=("a", "b"),
)
X = [[0, "u"], [1, "u"], [1, "v"], [2, "u"], [2, "v"], [2, "u"], [0, "v"]]
Y = ["a", "a", "a", "b", "b", "b", "a"]
VALUES = {"u": 0, "v": 1}
CANDIDATES = {0: [0, 1], 1: [0, 1]}


def goes_left(row, feature, code):
    return row[0] <= code if feature == 0 else VALUES[row[1]] == code


def gini(labels):
    n = len(labels)
    return 1 - sum(Fraction(labels.count(k), n) ** 2 for k in ("a", "b")) if n else Fraction(0)


def decrease(points, feature, code):
    """Impurity of the points minus that of both children, weighted by size."""
    if not points:
        return Fraction(0)
    sides = {True: [], False: []}
    for i in points:
        sides[goes_left(X[i], feature, code)].append(Y[i])
    children = sum(Fraction(len(side), len(points)) * gini(side) for side in sides.values())
    return gini([Y[i] for i in points]) - children


def drawn(scores, budget):
    """exp(budget / 2 * score), scores taken to 0 … 1; all alike where they do not differ."""
    low, high = min(scores), max(scores)
    scaled = [(q - low) / (high - low) if high > low else Fraction(0) for q in scores]
    weights = [math.exp(budget / 2 * q) for q in scaled]
    return [weight / sum(weights) for weight in weights]


def split_law(points, b1, b2):
    """Probability of every candidate, given the structure points."""
    scores = {f: [decrease(points, f, code) for code in codes] for f, codes in CANDIDATES.items()}
    features = drawn([max(scores[f]) for f in CANDIDATES], b1)
    return {
        (f, code): features[f] * p
        for f, codes in CANDIDATES.items()
        for code, p in zip(codes, drawn(scores[f], b2), strict=True)
    }


def label_law(points, b3):
    """Probability of label "a" in a leaf with these estimation points."""
    shares = [Fraction([Y[i] for i in points].count(k), max(len(points), 1)) for k in ("a", "b")]
    weights = [math.exp(b3 / 2 * share) for share in shares]
    return weights[0] / sum(weights)


def law(b1, b2, b3, rate):
    """Probability of (split, label of the left leaf), over all ways to draw sides."""
    total: dict[tuple, float] = Counter()
    in_structure = float(rate / (1 + rate))
    for sides in itertools.product([True, False], repeat=len(X)):
        weight = math.prod(in_structure if side else 1 - in_structure for side in sides)
        structure = [i for i, side in enumerate(sides) if side]
        for split, p in split_law(structure, b1, b2).items():
            left = [i for i, side in enumerate(sides) if not side and goes_left(X[i], *split)]
            q = label_law(left, b3)
            total[(*split, "a")] += weight * p * q
            total[(*split, "b")] += weight * p * (1 - q)
    return total


@pytest.fixture(scope="module", params=sorted(RATES))
def observed(request):
    """What was looked at, and (split, label of the left leaf) of many trees of one fit."""
    forest = MultinomialForestClassifier.as_published(
        epsilon=2 * N_TREES * 8, domain=DOMAIN, n_estimators=N_TREES, max_depth=1, random_state=1,
        allocation=ExplicitAllocation(B1, B2, B3), partition_rate=RATES[request.param],
    ).fit(X, Y)  # fmt: skip
    trees = forest.forest_
    names = np.array(["a", "b"])[trees.labels[:, 0]].tolist()
    drawn = zip(trees.feature[:, 0].tolist(), trees.high[:, 0].tolist(), names, strict=True)
    return request.param, Counter(drawn)


def fits(observed, expected):
    """Chi-square with an error rate of 1e-9."""
    keys = sorted(expected)
    counts = np.array([observed[key] for key in keys])
    assert counts.sum() == N_TREES
    law = np.array([expected[key] for key in keys])
    return stats.chisquare(counts, law * N_TREES, sum_check=False).pvalue > 1e-9


def splits_alone(law):
    """The same without the labels."""
    total: dict[tuple, float] = Counter()
    for (feature, code, _), p in law.items():
        total[feature, code] += p
    return total


def test_the_published_forest_has_the_papers_choices():
    forest = MultinomialForestClassifier.as_published(epsilon=1)
    chosen = forest.criterion, forest.partition_rate, forest.leaves, forest.allocation
    assert chosen == ("gini_decrease", 1, "label", "theorem2")


def test_the_law_is_the_papers(observed):
    which, counts = observed
    assert fits(counts, law(B1, B2, B3, RATES[which]))
    assert fits(splits_alone(counts), splits_alone(law(B1, B2, B3, RATES[which])))


@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)])
def test_a_budget_thirty_percent_off_would_show(factor, observed):
    which, counts = observed
    if which == "labels":
        assert not fits(counts, law(B1, B2, factor * B3, RATES[which]))
        return
    for budgets in ((factor * B1, B2), (B1, factor * B2)):
        wrong = law(*budgets, B3, RATES[which])
        assert not fits(splits_alone(counts), splits_alone(wrong))


def test_other_sides_would_show(observed):
    which, counts = observed
    assert not fits(counts, law(B1, B2, B3, 1 / RATES[which]))
