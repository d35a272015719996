"""A threshold that could predict nothing is refused before the fit under it is paid for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier
from dpforest.estimators.thresholds import _is_among
from dpforest.exceptions import ParameterError

N = 300
X = np.random.default_rng(0).uniform(size=(N, 2))
TEXTS = np.where(X[:, 0] > 0.5, "yes", "no")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


@pytest.fixture
def accountant():
    return BudgetAccountant(epsilon=1000)


def forest(accountant, classes=("no", "yes")):
    features = {"a": (0, 1), "b": (0, 1)}
    domain = Domain(features=features, classes=list(classes), approximate_rows=N)
    return PrivateForestClassifier(
        epsilon=9, domain=domain, strategy="one_shot", accountant=accountant, random_state=1
    )


def refused(accountant, match, fit, y=TEXTS):
    with pytest.raises(ParameterError, match=match):
        fit(X, y)
    assert accountant.ledger == () and accountant.composition().children == ()


def right(y, predicted, pos_label=1):
    """Somebody's own score."""
    return np.mean((y == pos_label) == (predicted == pos_label))


@pytest.mark.parametrize("pos_label", ["maybe", "Yes", 1, True, float("nan")])
def test_a_class_that_is_not_declared_does_not_count(pos_label, accountant):
    outer = FixedThresholdClassifier(forest(accountant), pos_label=pos_label)
    match = "^pos_label=.*: is no declared class, so FixedThresholdClassifier could predict nothing"
    refused(accountant, match, outer.fit)
    refused(accountant, match, make_pipeline(outer).fit)


@pytest.mark.parametrize("inner", [
    make_pipeline, lambda one: GridSearchCV(one, {"epsilon": [1]}, cv=2, error_score="raise"),
])  # fmt: skip
def test_what_predicts_the_forests_classes_may_stand_between(inner, accountant):
    outer = FixedThresholdClassifier(inner(forest(accountant)), pos_label="maybe")
    refused(accountant, "^pos_label='maybe'", outer.fit)


def test_nor_in_the_score_that_a_threshold_is_tuned_by(accountant):
    scoring = make_scorer(right, pos_label="maybe")
    outer = TunedThresholdClassifierCV(forest(accountant), scoring=scoring, cv=2)
    refused(accountant, "^pos_label='maybe'.* TunedThresholdClassifierCV", outer.fit)
    outer.scoring = make_scorer(right)  # whose default is 1
    refused(accountant, "^pos_label=1", outer.fit)
    outer.scoring = make_scorer(right, pos_label="yes")
    assert outer.fit(X, TEXTS).score(X, TEXTS) > 0.8


def test_a_threshold_is_between_two_classes(accountant):
    """Labels may be of two, as scikit-learn asks, where more are declared."""
    outer = FixedThresholdClassifier(forest(accountant, ("no", "yes", "maybe")))
    refused(accountant, "^domain=one whose classes are not two", outer.fit)


@pytest.mark.parametrize("pos_label", [None, "no", "yes"])
def test_declared_classes_count(pos_label, accountant):
    outer = FixedThresholdClassifier(forest(accountant), pos_label=pos_label)
    assert outer.fit(X, TEXTS).score(X, TEXTS) > 0.8
    assert cross_val_score(outer, X, TEXTS, cv=2).min() > 0.7


def test_classes_are_compared_as_scikit_learn_does(accountant):
    outer = FixedThresholdClassifier(forest(accountant, (0, 1)), pos_label=True)
    codes = (X[:, 0] > 0.5).astype(int)
    assert outer.fit(X, codes).score(X, codes) > 0.8


def test_what_has_classes_of_its_own_is_left_alone(accountant):
    """Members get codes, and a forest that selects features predicts for nobody."""
    voting = VotingClassifier([("a", forest(accountant, (0, 1)))], voting="soft")
    chosen = SelectFromModel(forest(accountant), threshold=-np.inf, max_features=1)
    for inner in (voting, make_pipeline(chosen, LogisticRegression())):
        outer = FixedThresholdClassifier(inner, pos_label="yes")
        assert outer.fit(X, TEXTS).score(X, TEXTS) > 0.7
    selected = make_pipeline(
        SelectFromModel(forest(accountant, ("no", "yes", "maybe"))), LogisticRegression()
    )
    assert set(FixedThresholdClassifier(selected).fit(X, TEXTS).predict(X)) <= {"no", "yes"}


class Odd:
    """What compares by its own rules."""

    def __eq__(self, other):
        raise RuntimeError("not for you")

    __hash__ = None


def test_a_class_that_cannot_be_read_ends_no_fit():
    assert _is_among(Odd(), ["a"])
