"""scikit-learn's own checks of an estimator, on whichever version is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_n_features_in_after_fitting

from dpforest import MultinomialForestClassifier

SMALL: dict[str, Any] = {"epsilon": 1000, "n_estimators": 5, "max_depth": 4}
ESTIMATORS = [
    MultinomialForestClassifier(**SMALL, random_state=0),
    MultinomialForestClassifier(**SMALL, random_state=0, delta=1e-6, choice="joint"),
    MultinomialForestClassifier.as_published(**SMALL, random_state=0),
    MultinomialForestClassifier(**SMALL),  # noise from the operating system
]
# The checks know no domain, so every fit drafts one; and they fit the same object again and again.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.RepeatedFitWarning"),
]


def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_checks_are_all_there(check_names):
    assert len(check_names) >= 50 * len(ESTIMATORS)


def test_width_is_kept_and_checked_in_scikit_learns_words():
    name = MultinomialForestClassifier.__name__
    check_n_features_in_after_fitting(name, MultinomialForestClassifier(**SMALL, random_state=0))


def test_names_are_kept_and_checked_but_order_is_free():
    # check_dataframe_column_names_consistency, which scikit-learn runs on its own estimators
    # only, with one exception: columns are found by name, so another order is no error.
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    y = np.arange(30) % 2
    forest = MultinomialForestClassifier(**SMALL, random_state=0).fit(X, y)
    assert forest.feature_names_in_.tolist() == ["a", "b", "c"]
    assert forest.feature_names_in_.dtype == object
    expected = forest.predict_proba(X)
    for columns in (["c", "b", "a"], ["b", "a", "more", "c"]):
        assert np.array_equal(forest.predict_proba(X.assign(more=9.0)[columns]), expected)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Multinomial"):
        assert np.array_equal(forest.predict_proba(X.to_numpy()), expected)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- x\n- y\n- z"):
        forest.predict(X.set_axis(["x", "y", "z"], axis=1))
    with pytest.raises(ValueError, match="yet now missing:\n- c"):
        forest.predict(X[["a", "b"]])
    forest.fit(X.to_numpy(), y)
    assert not hasattr(forest, "feature_names_in_")
    assert np.array_equal(forest.predict(X), forest.predict(X.to_numpy()))


def test_tags_say_what_the_estimator_takes():
    tags = MultinomialForestClassifier(epsilon=1).__sklearn_tags__()
    assert tags.estimator_type == "classifier"
    assert tags.input_tags.allow_nan and tags.input_tags.string and tags.input_tags.categorical
    assert not tags.input_tags.sparse
    assert tags.target_tags.required and not tags.target_tags.multi_output
    assert tags.non_deterministic
    assert (
        not MultinomialForestClassifier(epsilon=1, random_state=0)
        .__sklearn_tags__()
        .non_deterministic
    )


def test_no_parameter_is_named_like_a_method_of_scikit_learn():
    parameters = MultinomialForestClassifier(epsilon=1).get_params()
    methods = {name for name in dir(MultinomialForestClassifier) if not name.startswith("_")}
    assert not methods & set(parameters)
    assert not {"score", "transform", "fit_transform", "decision_function"} & set(parameters)


def test_epsilon_has_no_default_and_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="epsilon"):
        MultinomialForestClassifier()
    with pytest.raises(TypeError, match="class_weight"):
        MultinomialForestClassifier(epsilon=1, class_weight="balanced")
    with pytest.raises(TypeError, match="sample_weight"):
        MultinomialForestClassifier(epsilon=1).fit([[0]], [0], sample_weight=np.ones(1))
    with pytest.raises(TypeError, match="positional"):
        MultinomialForestClassifier(1)


def test_second_fit_on_other_data_forgets_the_first(make_forest, table):
    X, y = table()
    forest = make_forest(domain=None, random_state=0).fit(X, y)
    wide = np.arange(40.0).reshape(10, 4)
    forest.set_params(n_estimators=3, max_depth=1)
    forest.fit(wide, np.arange(10) % 3)
    assert forest.n_features_in_ == 4
    assert forest.classes_.tolist() == [0, 1, 2]
    assert forest.forest_.feature.shape == (3, 1)
    assert forest.predict_proba(wide).shape == (10, 3)
