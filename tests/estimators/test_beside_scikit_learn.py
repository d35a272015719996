"""What a forest of scikit-learn has and a private one has not, and tools that work on both."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.inspection import partial_dependence, permutation_importance

from dpforest import Domain, PrivateForestClassifier

X = np.random.default_rng(0).uniform(0, 9, size=(300, 2))
Y = np.where(X[:, 0] > 4.5, "yes", "no")
DOMAIN = Domain(features={"a": (0, 9), "b": (0, 9)}, classes=["no", "yes"], approximate_rows=300)


@pytest.fixture(scope="module")
def forest():
    return PrivateForestClassifier(epsilon=5, domain=DOMAIN, random_state=0).fit(X, Y)


@pytest.mark.parametrize("name", [
    "n_estimators", "max_depth", "criterion", "class_weight", "sample_weight", "warm_start",
])  # fmt: skip
def test_parameters_that_the_guide_says_are_none(name, forest):
    assert name not in forest.get_params()
    with pytest.raises(TypeError, match=name):
        PrivateForestClassifier(epsilon=1, **{name: None})


@pytest.mark.parametrize(
    "name", ["partial_fit", "oob_score_", "estimators_", "apply", "decision_path"]
)
def test_attributes_that_the_guide_says_are_none(name, forest):
    assert not hasattr(forest, name)


def test_tools_that_the_guide_says_work(forest):
    assert forest.feature_importances_.argmax() == 0
    assert permutation_importance(forest, X, Y, n_repeats=2).importances_mean.argmax() == 0
    (mean,) = partial_dependence(forest, X, [0])["average"]
    assert mean[0] < mean[-1]
