"""Log-probabilities and decision values in scikit-learn's shapes, for every classifier."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpforest import (
    BRFClassifier,
    Denil14Classifier,
    DMRFClassifier,
    Domain,
    MRF2019Classifier,
    MRFClassifier,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    SafeBayesianForestClassifier,
    decisions,
)
from dpforest.decisions import log_shares, softmax

KINDS = [("rules", 0), ("one_shot", 0), ("refitted", 1e-6), ("boosted", 1e-6),
         ("additive", 1e-6), ("multinomial", 0)]  # fmt: skip
CONSISTENT = [BRFClassifier, Denil14Classifier, DMRFClassifier, MRF2019Classifier, MRFClassifier,
              SafeBayesianForestClassifier]  # fmt: skip


def table(n_classes: int, n: int = 600):
    generator = np.random.default_rng(3)
    X = generator.random((n, 2))
    # The domain's order of classes is not the sorted one.
    return X, np.array(["b", "a", "c"])[np.minimum((X[:, 0] * n_classes).astype(int), 2)]


def fitted(strategy, delta, n_classes):
    X, y = table(n_classes)
    domain = Domain(
        features={"u": (0.0, 1.0), "v": (0.0, 1.0)},
        classes=["b", "a", "c"][:n_classes],
        approximate_rows=600,
    )
    given = {"epsilon": 5, "delta": delta, "domain": domain, "random_state": 1}
    if strategy == "multinomial":
        forest = MultinomialForestClassifier(**given, n_estimators=10)
    else:
        forest = PrivateForestClassifier(**given, strategy=strategy)
    return forest.fit(X, y), X, y


def check_shapes(forest, X):
    probability = forest.predict_proba(X)
    with np.errstate(divide="ignore"):
        expected = np.log(probability)
    assert np.array_equal(forest.predict_log_proba(X), expected)
    decision = forest.decision_function(X)
    assert np.isfinite(decision).all()
    if forest.classes_.size == 2:
        assert decision.shape == (len(X),)
        picked = (decision > 0).astype(int)
    else:
        assert decision.shape == probability.shape
        picked = decision.argmax(axis=1)
    assert np.array_equal(forest.classes_[picked], forest.predict(X))
    return probability, decision


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("strategy", "delta"), KINDS)
def test_every_strategy(strategy, delta, n_classes):
    forest, X, y = fitted(strategy, delta, n_classes)
    probability, decision = check_shapes(forest, X[:100])
    if n_classes == 2:
        same = [roc_auc_score(y[:100] == "b", s) for s in (probability[:, 1], decision)]
        assert same[0] == pytest.approx(same[1], abs=1e-12)


def test_leaves_with_labels():
    X, y = table(2)
    domain = Domain(features={"u": (0.0, 1.0), "v": (0.0, 1.0)}, classes=["b", "a"])
    forest = MultinomialForestClassifier(
        epsilon=5, domain=domain, leaves="label", n_estimators=3, max_depth=2, random_state=1
    )
    check_shapes(forest.fit(X, y), X[:50])


@pytest.mark.parametrize("kind", CONSISTENT)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_consistent_forests(kind, n_classes):
    X, y = table(n_classes, 150)
    check_shapes(kind(n_estimators=5, random_state=0).fit(X, y), X)


def test_shares_too_small_for_a_double_have_finite_scores():
    found = log_shares(np.array([[0.0, -2000.0, 1.0], [5.0, 5.0, 5.0]]))
    assert np.isfinite(found).all() and found[0, 1] == pytest.approx(-2001.313261687518)
    assert (found[1] == found[1, 0]).all() and found[1, 0] == pytest.approx(-np.log(3))
    assert (found.argsort(axis=1)[0] == [1, 0, 2]).all()


def test_shares_of_large_scores_do_not_overflow_and_have_these_logarithms():
    weights = np.array([[0.0, -3.0, 1000.0], [5.0, 5.0, 5.0], [-1e5, 0.5, 1.0]])
    found = softmax(weights)
    assert np.array_equal(found.sum(axis=1), np.ones(3)) and (found[1] == found[1, 0]).all()
    assert found[2, 2] / found[2, 1] == pytest.approx(np.e**0.5) and found[2, 0] == 0.0
    seen = found > 0
    assert np.array_equal(np.log(found[seen]), log_shares(weights)[seen])


def test_softmax_is_written_once():
    sources = Path(decisions.__file__).parent.rglob("*.py")
    written = re.compile(r"np\.exp\((\w+) - \1\.max\(axis=1, keepdims=True\)\)\n\s+shares")
    found = [path for path in sources if written.search(path.read_text(encoding="utf-8"))]
    assert found == [Path(decisions.__file__)]
