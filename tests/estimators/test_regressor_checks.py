"""scikit-learn's own checks of the private regressor, on whichever version is installed."""

from __future__ import annotations

from typing import Any

import pytest

from dpforest import PrivateForestRegressor

SMALL: dict[str, Any] = {"epsilon": 1000, "random_state": 0}
ESTIMATORS = [
    # The checks know no domain, so a number of records is bought and the strategy picked from it.
    PrivateForestRegressor(**SMALL),
    PrivateForestRegressor(**SMALL, delta=1e-6),
    PrivateForestRegressor(epsilon=1000, strategy="rules"),  # noise from the operating system
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
    assert len(check_names) >= 45 * len(ESTIMATORS)
    assert any("regressor" in name for name in check_names)
