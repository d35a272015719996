"""scikit-learn's own checks of the private forest, on whichever version is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpforest import PrivateForestClassifier

SMALL: dict[str, Any] = {"epsilon": 1000, "random_state": 0}
ESTIMATORS = [
    # The checks know no domain, so a number of records is bought and the strategy picked from it.
    PrivateForestClassifier(**SMALL, strategy="auto"),
    PrivateForestClassifier(**SMALL, delta=1e-6),
    PrivateForestClassifier(epsilon=1000, strategy="rules"),  # noise from the operating system
]
# Every fit drafts a domain; the same object is fitted again and again; some tables are tiny.
pytestmark = [
    pytest.mark.usefixtures("quick_learners"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.RepeatedFitWarning"),
]


def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_checks_are_all_there(check_names):
    assert len(check_names) >= 50 * len(ESTIMATORS)


def test_no_parameter_is_named_like_a_method_of_scikit_learn():
    parameters = PrivateForestClassifier(epsilon=1).get_params()
    methods = {name for name in dir(PrivateForestClassifier) if not name.startswith("_")}
    assert not methods & set(parameters)
    with pytest.raises(TypeError, match="epsilon"):
        PrivateForestClassifier()
    with pytest.raises(TypeError, match="positional"):
        PrivateForestClassifier(1)


def test_importances_are_there_after_a_fit_only():
    forest = PrivateForestClassifier(**SMALL, strategy="boosted")
    assert not hasattr(forest, "feature_importances_")
    X = np.random.default_rng(0).normal(size=(40, 2))
    forest.fit(X, X[:, 1] > 0)
    assert forest.feature_importances_.shape == (2,)
    assert forest.feature_importances_[1] > 0.5
