"""scikit-learn's own checks of the private regressor, on whichever version is installed."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from dpforest import PrivateForestRegressor

SMALL: dict[str, Any] = {"epsilon": 1000, "random_state": 0}
ESTIMATORS = [
    # The checks know no domain, so a number of records is bought and the strategy picked from it.
    PrivateForestRegressor(**SMALL),
    PrivateForestRegressor(**SMALL, delta=1e-6),
    PrivateForestRegressor(epsilon=1000, strategy="rules"),  # noise from the operating system
]
SHOWN = ("delta", "strategy", "random_state")
# Every fit drafts a domain; the same object is fitted again and again; some tables are tiny.
pytestmark = [
    pytest.mark.usefixtures("quick_learners"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.RepeatedFitWarning"),
]
CHECKS = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]


def name_of(part: Any) -> str:
    if isinstance(part, PrivateForestRegressor):
        return "".join(f"{k}={v}," for k, v in part.get_params().items() if k in SHOWN)
    return getattr(part, "func", part).__name__


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=name_of)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_checks_are_all_there():
    assert len(CHECKS) >= 45 * len(ESTIMATORS)
    assert any("regressor" in name_of(check) for _, check in CHECKS)
