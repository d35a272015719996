"""Scores of a search that cannot be worked out are refused before its fits are paid for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivateForestRegressor,
)
from dpforest.estimators.scorers import _fails, _fails_at_numbers

N = 60
X = np.random.default_rng(0).uniform(-4, 4, size=(N, 2))
CODES = (X[:, 0] > 0).astype(int)
TEXTS = np.where(CODES, "yes", "no")
THREE = np.where(X[:, 1] > 1, "maybe", TEXTS)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
REFUSED = "scoring={}: cannot be worked out of the declared classes, so each fit of this search"


@pytest.fixture
def accountant():
    return BudgetAccountant(epsilon=1000)


def forest(accountant, y=TEXTS):
    classes = np.unique(y).tolist()
    domain = Domain(features={"a": (-4, 4), "b": (-4, 4)}, classes=classes, approximate_rows=N)
    return MultinomialForestClassifier(
        epsilon=1, domain=domain, n_estimators=1, max_depth=1, accountant=accountant
    )


def scored(estimator, y, scoring):
    return cross_val_score(estimator, X, y, cv=2, scoring=scoring)


@pytest.mark.parametrize("y, scoring, named, repair", [
    (TEXTS, "f1", "f1_score", r"make_scorer\(f1_score, pos_label=...\)"),
    (TEXTS, "precision", "precision_score", "declare the classes 0 and 1"),
    (TEXTS, "neg_brier_score", "brier_score_loss", "Say which class counts"),
    (THREE, "f1", "f1_score", "such as 'f1_macro'"),
    (THREE, "roc_auc", "roc_auc_score", "'roc_auc_ovr'"),
    (CODES + 1, make_scorer(f1_score, pos_label=0), "f1_score", "Say which class"),
    (TEXTS, {"one": "f1", "other": "recall"}, "f1_score", "Say which class"),
])  # fmt: skip
def test_such_a_score_is_refused_before_the_charge(y, scoring, named, repair, accountant):
    outer = make_pipeline(forest(accountant, y))
    for search in (
        lambda: cross_validate(outer, X, y, cv=2, scoring=scoring),
        lambda: GridSearchCV(outer, {}, cv=2, scoring=scoring, refit=False).fit(X, y),
    ):
        with pytest.raises(ValueError, match=REFUSED.format(named)) as told:
            search()
        assert told.match(repair)
    assert accountant.ledger == ()


def test_a_learning_curve_and_a_search_in_a_search_are_seen(accountant):
    inner = GridSearchCV(forest(accountant), {"epsilon": [1]}, cv=2)
    for search in (
        lambda: learning_curve(forest(accountant), X, TEXTS, cv=2, scoring="f1"),
        lambda: scored(inner, TEXTS, "f1"),
    ):
        with pytest.raises(ValueError, match=REFUSED.format("f1_score")):
            search()
    assert accountant.ledger == ()


def test_a_permutation_test_is_seen(accountant):
    def tested(scoring):
        return permutation_test_score(
            forest(accountant), X, TEXTS, cv=2, n_permutations=1, scoring=scoring
        )

    with pytest.raises(ValueError, match=REFUSED.format("f1_score")):
        tested("f1")
    assert accountant.ledger == ()
    assert np.isfinite(tested("roc_auc")[0])


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("scoring", ["f1", "roc_auc", "average_precision", "neg_log_loss"])
@pytest.mark.parametrize("cv", [2, 0.5])
def test_a_tuned_threshold_is_scored_by_labels(scoring, cv, accountant):
    """Labels of text are no scores of roc_auc either, which other searches take."""
    tuned = TunedThresholdClassifierCV(make_pipeline(forest(accountant)), cv=cv, scoring=scoring)
    with pytest.raises(ValueError, match="cannot be worked out.*'balanced_accuracy'"):
        tuned.fit(X, TEXTS)
    assert accountant.ledger == ()


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("y, scoring", [
    (TEXTS, "balanced_accuracy"), (TEXTS, make_scorer(f1_score, pos_label="yes")),
    (CODES, "f1"), (CODES, "roc_auc"),
])  # fmt: skip
def test_any_other_threshold_is_tuned(y, scoring, accountant):
    # Of predictions that are all alike, as noise may make them, scikit-learn tunes no threshold.
    telling = forest(accountant, y).set_params(epsilon=10, n_estimators=5, random_state=0)
    tuned = TunedThresholdClassifierCV(telling, cv=2, scoring=scoring, thresholds=3)
    assert np.isfinite(tuned.fit(X, y).best_score_)


@pytest.mark.parametrize("y, scoring", [
    (TEXTS, None), (TEXTS, "roc_auc"), (TEXTS, make_scorer(f1_score, pos_label="yes")),
    (CODES, "f1"), (CODES == 1, "f1"), (CODES + 1, "f1"), (THREE, "f1_macro"),
    (THREE, "roc_auc_ovr"), (TEXTS, lambda *given: 1.0), (TEXTS, make_scorer(lambda a, b: 1.0)),
])  # fmt: skip
def test_any_other_score_is_worked_out(y, scoring, accountant):
    assert np.isfinite(scored(forest(accountant, y), y, scoring)).all()


def test_of_several_scores_one_may_fail(accountant):
    found = cross_validate(forest(accountant), X, TEXTS, cv=2, scoring=["f1", "roc_auc"])
    assert np.isfinite(found["test_roc_auc"]).all() and np.isnan(found["test_f1"]).all()


class Coded(ClassifierMixin, BaseEstimator):
    """Somebody's class that answers with codes of its own."""

    def __init__(self, forest):
        self.forest = forest

    def fit(self, X, y):
        self.forest.fit(X, np.where(y, "yes", "no"))
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (self.forest.predict(X) == "yes").astype(int)


def test_a_class_of_ones_own_may_answer_with_other_labels(accountant):
    assert np.isfinite(scored(Coded(forest(accountant)), CODES, "f1")).all()


@pytest.mark.parametrize("y", [CODES, TEXTS, THREE], ids=["codes", "texts", "three"])
def test_what_is_refused_could_not_have_been_worked_out(y, accountant):
    """Of each scorer that scikit-learn names; deviances depend on what is predicted."""
    fitted = forest(accountant, y).set_params(random_state=0).fit(X, y)
    for name in get_scorer_names():
        scorer = get_scorer(name)
        if "deviance" not in name and _fails(scorer, np.unique(y)):
            with pytest.raises(ValueError):
                scorer(fitted, X, y)


def regressor(accountant):
    domain = Domain(features={"a": (-4, 4), "b": (-4, 4)}, target=(0, 4), approximate_rows=6000)
    return PrivateForestRegressor(
        epsilon=1, domain=domain, strategy="one_shot", accountant=accountant
    )


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", {"a": "roc_auc", "b": "precision"}])
def test_a_regressor_has_no_scores_of_classes(scoring, accountant):
    for y in (CODES, X[:, 0].clip(0)):
        with pytest.raises(ValueError, match="cannot be worked out of numbers.*such as 'r2'"):
            cross_validate(make_pipeline(regressor(accountant)), X, y, cv=2, scoring=scoring)
    assert accountant.ledger == ()


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", ["accuracy", "r2"]])
def test_any_other_score_of_a_regressor_is_worked_out(scoring, accountant):
    found = cross_validate(regressor(accountant), X, X[:, 0].clip(0), cv=2, scoring=scoring)
    assert np.isfinite(list(found.values())[-1]).all()


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("made_of", [
    OneVsRestClassifier,
    lambda one: make_pipeline(OneVsRestClassifier(one)),
    lambda one: StackingClassifier([("one", one)], LogisticRegression(), cv=2),
])  # fmt: skip
def test_a_classifier_made_of_regressors_has_scores_of_classes(made_of, accountant):
    found = scored(made_of(regressor(accountant)), CODES, "accuracy")
    assert not np.isnan(found).any()


def test_a_regressor_that_is_refused_could_not_have_been_scored(accountant):
    fitted = regressor(accountant).set_params(random_state=0).fit(X, CODES)
    for name in filter(lambda name: _fails_at_numbers(get_scorer(name)), get_scorer_names()):
        for y in (CODES, CODES + 0.5):
            with pytest.raises((ValueError, AttributeError)):
                get_scorer(name)(fitted, X, y)


def test_votes_are_refused_for_their_codes(accountant):
    votes = VotingClassifier([("a", forest(accountant))])
    with pytest.raises(ValueError, match="passes codes 0, 1"):
        scored(votes, TEXTS, "roc_auc")
