"""One warning for a search, not one a fit: in this process, in threads and in other processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dpforest import (
    Domain,
    LargeDeltaWarning,
    LargeEpsilonWarning,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    RepeatedFitWarning,
    WeakSignalWarning,
)
from dpforest.searches import running_search, warn_in_search

X = np.random.default_rng(0).random((60, 2))
Y = np.arange(60) % 2
DRAFTED = Domain.draft(X, Y).model_copy(update={"approximate_rows": 10_000})
DECLARED = Domain(features={"a": (0, 1), "b": (0, 1)}, classes=[0, 1], approximate_rows=10_000)


def forest(**parameters):
    given = {"epsilon": 0.5, "domain": DRAFTED, "strategy": "one_shot", **parameters}
    return PrivateForestClassifier(**given)


def counted(work):
    """Number of warnings of each category."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    kinds = [warning.category for warning in caught]
    return {kind: kinds.count(kind) for kind in kinds}


ONCE = {PrivacyLeakWarning: 1, RepeatedFitWarning: 1}
SEARCHES = {
    "cross_val_score": lambda f: cross_val_score(f, X, Y, cv=3),
    "cross_validate": lambda f: cross_validate(f, X, Y, cv=3, return_estimator=True),
    "cross_val_predict": lambda f: cross_val_predict(f, X, Y, cv=3),
    "learning_curve": lambda f: learning_curve(f, X, Y, cv=2, train_sizes=[0.5, 1.0]),
    "grid": lambda f: GridSearchCV(f, {"epsilon": [0.5, 1]}, cv=2).fit(X, Y),
    "threads": lambda f: threaded(f),
    "pipeline": lambda f: cross_val_score(make_pipeline(Normalizer(), f), X, Y, cv=3),
    "nested": lambda f: cross_val_score(GridSearchCV(f, {"epsilon": [1, 2]}, cv=2), X, Y, cv=2),
}  # fmt: skip


def threaded(estimator):
    with parallel_config("threading", n_jobs=2):
        return cross_val_score(estimator, X, Y, cv=4)


@pytest.mark.parametrize("name", SEARCHES)
def test_once_for_each_search(name):
    estimator = forest()
    assert counted(lambda: SEARCHES[name](estimator)) == ONCE
    assert counted(lambda: SEARCHES[name](estimator)) == ONCE  # another search says it again


def quiet_search(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_val_score(estimator, X, Y, cv=2)


def test_searches_in_a_loop_of_joblib_are_told_apart():
    def search():
        cross_val_score(forest(), X, Y, cv=2)

    found = counted(lambda: Parallel(n_jobs=1)(delayed(search)() for _ in range(3)))
    assert found[PrivacyLeakWarning] == 3
    searches = [delayed(quiet_search)(forest()), delayed(search)()]
    assert counted(lambda: Parallel(n_jobs=1)(searches))[PrivacyLeakWarning] == 1


def test_fits_that_threads_draw_later_are_of_the_search():
    grid = GridSearchCV(forest(), {"epsilon": [0.5, 1, 2, 3]}, cv=4, n_jobs=2, pre_dispatch=2)
    with parallel_config("threading"):
        assert counted(lambda: grid.fit(X, Y)) == ONCE


def test_every_fit_outside_of_a_search_warns():
    estimator = forest()
    assert counted(lambda: estimator.fit(X, Y)) == {PrivacyLeakWarning: 1}
    assert counted(lambda: estimator.fit(X, Y)) == ONCE
    (first,) = cross_validate_estimators(estimator)[:1]
    assert "_search" not in vars(first)
    assert counted(lambda: clone(first).fit(X, Y)) == ONCE


def cross_validate_estimators(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_validate(estimator, X, Y, cv=2, return_estimator=True)["estimator"]


def test_different_leaks_and_categories_are_said_each():
    grid = GridSearchCV(
        forest(delta=0.5), {"domain": [DRAFTED, None, DECLARED], "epsilon": [0.001, 1]}, cv=2,
        refit=False,
    )  # fmt: skip
    found = counted(lambda: grid.fit(X, Y))
    # One for both declared domains; each of the four other fits buys a number of its own, and
    # says so where it is small.
    assert 1 <= found.pop(WeakSignalWarning) <= 5
    assert found == {PrivacyLeakWarning: 2, RepeatedFitWarning: 1, LargeDeltaWarning: 1}


def test_a_slight_warning_hides_no_worse_one():
    declared = forest(domain=DECLARED)
    for name, values, kind in (
        ("delta", [0.0002, 0.9], LargeDeltaWarning),
        ("epsilon", [1e-5, 1e-4], WeakSignalWarning),
    ):
        grid = GridSearchCV(declared, {name: values}, cv=2, refit=False)
        assert counted(lambda grid=grid: grid.fit(X, Y))[kind] == 2


def test_a_warning_that_is_an_error_ends_every_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        with pytest.raises(PrivacyLeakWarning):
            cross_val_score(forest(), X, Y, cv=3, error_score="raise")
        with pytest.raises(ValueError, match="All the 3 fits failed"):
            cross_val_score(forest(), X, Y, cv=3)


SCRIPT = """
import warnings
import numpy as np
from sklearn.model_selection import GridSearchCV
from dpforest import Domain, PrivateForestClassifier
X = np.random.default_rng(0).random((60, 2)); y = np.arange(60) % 2
forest = PrivateForestClassifier(epsilon=1, domain=Domain.draft(X, y), strategy="one_shot")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    GridSearchCV(forest, {"epsilon": [1, 2]}, cv=3, n_jobs=2).fit(X, y)
print(*(warning.category.__name__ for warning in caught))
"""


def test_once_among_other_processes_and_once_in_this_one(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONWARNINGS": "always"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr.count("PrivacyLeakWarning: ") == 1, done.stderr
    assert done.stdout.split().count("PrivacyLeakWarning") == 1, done.stdout
    assert done.stderr.count("RepeatedFitWarning: ") == 1, done.stderr
    assert not list(tmp_path.glob("dpforest-search-*"))


def test_nothing_stays_when_a_search_is_over():
    def files():
        return {*Path(tempfile.gettempdir()).glob(f"dpforest-search-{os.getpid()}-*")}

    before = files()  # of searches that somebody else's objects still hold
    counted(lambda: SEARCHES["cross_val_score"](forest()))
    gc.collect()
    assert files() <= before


def test_outside_of_a_search_there_is_no_token():
    assert running_search(None) is None and running_search("1-carried") is None


def test_a_token_of_another_machine_is_said_once_a_process():
    def say():
        warn_in_search("text", UserWarning, f"0-{threading.get_ident()}", stacklevel=1)

    assert counted(lambda: (say(), say())) == {UserWarning: 1}


@pytest.mark.parametrize(("delta", "rows", "warned"), [
    ("1/60", 60, True), ("1/61", 60, False), (0.1, 60, True), (1e-6, 60, False), (0, 60, False),
    (0.1, None, False),
])  # fmt: skip
def test_a_large_delta_is_told_by_declared_rows_alone(delta, rows, warned):
    domain = DECLARED.model_copy(update={"approximate_rows": rows})
    found = counted(lambda: forest(domain=domain, delta=delta, epsilon=5).fit(X, Y))
    assert found.get(LargeDeltaWarning, 0) == warned


@pytest.mark.parametrize(("epsilon", "warned"), [(10, False), ("10.01", True)])
def test_a_large_epsilon_is_told_by_plans_and_fits_as_reports_do(monkeypatch, epsilon, warned):
    monkeypatch.setattr("dpforest.estimators.planning.MOST_EPSILON", 10.0)
    made = forest(domain=DECLARED, epsilon=epsilon)
    assert counted(made.plan).get(LargeEpsilonWarning, 0) == warned
    assert counted(lambda: made.fit(X, Y)).get(LargeEpsilonWarning, 0) == warned
    cautions = [n.text for n in made.privacy_report().notices if "promises little" in n.text]
    assert bool(cautions) == warned
