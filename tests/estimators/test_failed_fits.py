"""A fit that fails or is interrupted leaves nothing that could be taken for a fitted forest."""

from __future__ import annotations

import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    BudgetAccountant,
    Domain,
    InvalidRecordError,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.estimators import fitting
from dpforest.estimators.fitting import Fit
from dpforest.report import record


@pytest.fixture
def fitted(make_forest, table):
    return make_forest(accountant=BudgetAccountant(9)).fit(*table())


def released(forest):
    return {name for name in vars(forest) if name.endswith("_")}


@pytest.mark.parametrize(
    ("module", "where"),
    [(record, "make_guarantee"), (fitting, "spent_budget"), (fitting, "library_versions")],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_refit_leaves_an_unfitted_forest(
    module, where, error, fitted, table, monkeypatch
):
    def interrupted(*_, **__):
        raise error

    monkeypatch.setattr(module, where, interrupted)
    with pytest.raises(error):
        fitted.fit(*table(seed=1))
    assert released(fitted) == set()
    assert set(vars(fitted)) == {*fitted.get_params(), "_failure", "_lineage"}
    for use in (lambda: fitted.predict(table()[0]), fitted.privacy_report, fitted.to_json):
        with pytest.raises(NotFittedError):
            use()
    # It was spent all the same, and the object can be fitted again.
    assert fitted.accountant.spent.exact.epsilon == 2
    monkeypatch.undo()
    assert fitted.fit(*table()).privacy_report().guarantee.status == "holds"


@pytest.mark.parametrize("kind", [PrivateForestClassifier, PrivateForestRegressor])
def test_a_failed_refit_of_a_private_forest_leaves_nothing_either(kind, domain, table, monkeypatch):
    X, _ = table()
    y = [row[1] == "blue" for row in X]
    facts = {"classes": [False, True]} if kind is PrivateForestClassifier else {"target": (0, 1)}
    declared = Domain(features=domain.features, approximate_rows=60, **facts)
    forest = kind(epsilon=9, domain=declared, accountant=BudgetAccountant(18)).fit(X, y)
    monkeypatch.setattr(fitting, "spent_budget", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        forest.fit(X, y)
    assert set(vars(forest)) == {*forest.get_params(), "_failure", "_lineage"}


def test_a_training_that_fails_leaves_an_unfitted_forest(fitted, table, monkeypatch):
    train = Fit._train

    def fail_after(self, *arguments):
        train(self, *arguments)
        raise MemoryError

    monkeypatch.setattr(Fit, "_train", fail_after)
    with pytest.raises(MemoryError):
        fitted.fit(*table())
    assert released(fitted) == set()
    assert fitted.accountant.spent.exact.epsilon == 2  # its reserve is kept
    with pytest.raises(NotFittedError, match="stays spent: epsilon = 1, delta = 0"):
        fitted.privacy_report()


def test_a_first_fit_that_fails_leaves_nothing_either(make_forest, table, monkeypatch):
    monkeypatch.setattr(fitting, "spent_budget", lambda *_: 1 / 0)
    forest = make_forest()
    with pytest.raises(ZeroDivisionError):
        forest.fit(*table())
    assert released(forest) == set()


def test_what_is_refused_before_anything_is_released_leaves_the_old_fit(fitted, table):
    forest, guarantee = fitted.forest_, fitted.guarantee_
    X, y = table()
    with pytest.raises(ParameterError):
        fitted.set_params(max_depth=0).fit(X, y)
    fitted.set_params(max_depth=2, invalid="raise")
    with pytest.raises(InvalidRecordError):
        fitted.fit([[float("inf"), "red", 0.0]], ["ill"])
    assert fitted.forest_ is forest and fitted.guarantee_ is guarantee
    assert fitted.predict(X).shape == (60,)
