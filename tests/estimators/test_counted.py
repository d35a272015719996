"""A fit whose releases speak of far fewer records than were declared says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dpforest import (
    Domain,
    FewRecordsWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.estimators import counted
from dpforest.estimators.counted import Counted, counted_records
from dpforest.trees.strategies import ASKED
from dpforest.trees.transcript import Noised, Transcript

N = 3000
DOMAIN = Domain(features={"a": (0, 9), "b": (0, 9)}, classes=["no", "yes"], approximate_rows=N)
#: Learners whose counts stay with the model alone tell nothing.
TELL = sorted(ASKED)


@pytest.fixture(autouse=True)
def as_users_have_it(few_records_are_meant, monkeypatch):
    monkeypatch.setattr(counted, "FEWEST", 0.5)


def table(n=N):
    X = np.random.default_rng(1).uniform(0, 9, (n, 2))
    return X, np.where(X[:, 0] > 4.5, "yes", "no")


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("strategy", ["auto", *TELL])
def test_labels_that_mean_no_class_are_noticed(strategy, delta):
    X, y = table()

    def forest(seed):
        return PrivateForestClassifier(
            epsilon=1, delta=delta, domain=DOMAIN, strategy=strategy, random_state=seed
        )

    usual = forest(3).fit(X, y).expected_gain()  # a warning would be an error
    with pytest.warns(FewRecordsWarning, match="of 3,000 declared records.*Domain.check") as told:
        fitted = forest(4).fit(X, np.char.upper(y) + "!")
    assert told[0].filename == __file__
    assert fitted.expected_gain()[1] <= usual[1]
    if strategy == "auto":
        assert fitted.expected_gain()[1] < 0.4 < usual[1]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("strategy", ["auto", *TELL])
def test_targets_that_are_none_are_noticed_and_others_are_not(strategy, delta):
    X, _ = table()
    domain = Domain(features={"a": (0, 9), "b": (0, 9)}, target=(0, 9), approximate_rows=N)

    def forest(seed):
        return PrivateForestRegressor(
            epsilon=1, delta=delta, domain=domain, strategy=strategy, random_state=seed
        )

    usual = forest(3).fit(X, X[:, 0]).expected_gain()
    with pytest.warns(FewRecordsWarning, match="declared records"):
        fitted = forest(4).fit(X, np.full(N, np.nan))
    assert fitted.expected_gain()[1] <= usual[1]
    if strategy == "auto":
        assert fitted.expected_gain()[1] <= max(usual[0], 0.0) < usual[1]


def test_where_the_warning_is_an_error_nothing_that_was_paid_for_is_lost():
    X, y = table()
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=6)
    with pytest.raises(FewRecordsWarning):  # every warning is an error in these tests
        forest.fit(X, np.char.upper(y) + "!")
    assert forest.predict_proba(X[:3]).shape == (3, 2)
    assert forest.privacy_report().guarantee.status and float(forest.spent_.epsilon) == 1


def test_parts_of_a_table_and_small_budgets_say_nothing():
    """Four fifths of the records are there in a fold; noise as large as a table proves nothing."""
    X, y = table()
    for epsilon, part in ((1, 0.8), (0.02, 1.0), (0.02, 0.0)):
        some = slice(0, max(int(part * N), 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", FewRecordsWarning)
            PrivateForestClassifier(epsilon=epsilon, domain=DOMAIN, random_state=5).fit(
                X[some], y[some]
            )


def test_without_a_declared_number_there_is_nothing_to_compare():
    X, y = table()
    domain = DOMAIN.model_copy(update={"approximate_rows": None})
    PrivateForestClassifier(epsilon=1, domain=domain, random_state=0).fit(X, y)


class Facts:
    unit = 4


def test_the_surest_sum_counts():
    answers = [
        ("noised", Noised(np.array([40, 400]), 1e6, "prior")),
        ("noised", Noised(np.array([[80, 40], [4, 0]]), 16.0, "leaf counts")),
        ("noised", Noised(np.array([7]), 0.0, "quantiles")),
        ("chosen", np.array([1])),
    ]
    assert counted_records(Transcript(None, None, Facts(), answers)) == Counted(124.0, 8.0)
    assert counted_records(Transcript(None, None, Facts(), answers[2:])) is None
    assert counted_records(None) is None
    assert counted_records(Transcript(None, None, Facts(), answers[:1])) == Counted(
        110.0, 2e6**0.5 / 4
    )
    assert Counted(31.0, 2.0).is_few(87) and not Counted(31.0, 2.0).is_few(86)


def test_right_numbers_are_hardly_ever_doubted():
    """Two counts with noise of a deviation as large as the table: their tails are not normal.

    Expected are 1.7 of 200,000 (6.5 deviations, 13 scales: 15 / 4 exp(-13)); 12 or more have a
    probability below 1e-6. Four deviations would let some 68 pass.
    """
    noise = np.random.default_rng(0).laplace(size=(200_000, 2)).sum(axis=1)
    doubted = sum(Counted(2.0 + one, 2.0).is_few(2.0) for one in noise)
    assert doubted < 12


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_records_that_noise_made_out_of_none_promise_nothing(delta):
    X, y = table()
    for seed in range(12):
        forest = PrivateForestClassifier(epsilon=3, delta=delta, domain=DOMAIN, random_state=seed)
        with pytest.warns(FewRecordsWarning):
            forest.fit(X, np.full(N, "never"))
        assert forest.expected_gain()[1] == 0.0
