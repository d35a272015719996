"""Ranges of what a fit gains: from public figures and released values, as the page found them."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpforest import (
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
    WeakSignalWarning,
    load_model,
)
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.estimators import forecast_range
from dpforest.estimators.claims import ClaimedGain
from dpforest.estimators.forecast_range import (
    MOST_PROMISED,
    PublicFigures,
    noise_told,
    planned_range,
    public_figures,
    range_after_fit,
)
from dpforest.estimators.planning import plan_of

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "forecast_results.md"
N = 600


def domain_of(task, rows=N):
    kind = {"classes": ["no", "yes"]} if task == "classification" else {"target": (0.0, 1.0)}
    return Domain(features={"a": (0.0, 1.0), "b": (0.0, 1.0)}, approximate_rows=rows, **kind)


def records(task, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(N, 2))
    if task == "regression":
        return X, X[:, 0]
    return X, np.where(X[:, 0] > 0.5, "yes", "no")


def forest_of(task, rows=N, **parameters):
    kind = PrivateForestClassifier if task == "classification" else PrivateForestRegressor
    given = {"epsilon": 2, "random_state": 1, **parameters}
    return kind(domain=domain_of(task, rows), **given)


def figures(**changed):
    given = {"n_classes": 2, "is_regression": False, "n_features": 9, "rows": 1000.0,
             "signal": 700.0, "learns": True, **changed}  # fmt: skip
    return PublicFigures(**given)


def test_the_constants_are_those_that_the_page_found():
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.+) \| (.+) \|$", PAGE.read_text("utf-8"), re.M)
    found = {name: tuple(ast.literal_eval(f"({end},)") for end in ends) for name, *ends in rows}
    own = {name: value for name, value in vars(forecast_range).items()
           if name.partition("_")[0] in ("CLASSES", "MEANS")}  # fmt: skip
    assert found == own and len(own) == 6
    told = ", ".join(f"{one:g}" for one in forecast_range.NOISE_TOLD)
    assert f"({told}: a constant" in " ".join(PAGE.read_text("utf-8").split())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_neighbouring_table_has_the_same_figures(task):
    X, y = records(task)
    one, other = forest_of(task).fit(X, y), forest_of(task).fit(X[1:], y[1:])
    assert one._figures == other._figures
    far = forest_of(task).fit(1 - X[:9], y[:9])
    assert far._figures == one._figures
    assert planned_range(one._figures) == one.plan().expected_gain


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_after_a_fit_the_range_goes_by_released_values_alone(task, monkeypatch):
    X, y = records(task)
    forest = forest_of(task, delta=1e-6).fit(X, y)
    before = forest.expected_gain()
    X[:], y[:] = 0, y[0]
    assert forest.expected_gain() == before
    assert before[1] - before[0] < np.subtract(*forest.plan().expected_gain[::-1])
    named = forest_of(task, delta=1e-6, strategy="one_shot").fit(*records(task))
    assert named.expected_gain() == named.plan().expected_gain


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_model_from_a_file_has_the_range_of_its_fit(task, delta, tmp_path):
    forest = forest_of(task, delta=delta).fit(*records(task))
    forest.to_json(tmp_path / "forest.json")
    again = load_model(tmp_path / "forest.json")
    again.set_params(epsilon=50)  # of another fit
    assert again._figures_again() == forest._figures
    assert again.expected_gain() == forest.expected_gain() is not None


def test_a_bought_number_of_records_is_not_in_a_file(tmp_path):
    forest = forest_of("classification", rows=None).fit(*records("classification"))
    forest.to_json(tmp_path / "forest.json")
    assert load_model(tmp_path / "forest.json").expected_gain() is None


def test_without_rows_there_is_no_range_before_the_fit():
    forest = forest_of("classification", rows=None)
    assert forest.plan().expected_gain is None
    assert forest.fit(*records("classification")).expected_gain() is not None


def test_streams_and_units_have_ranges_too():
    forest = forest_of("regression", max_records_per_unit=4, epsilon=8)
    assert forest.plan().expected_gain == forest_of("regression").plan().expected_gain
    assert forest_of("regression").plan(streamed=True).expected_gain is not None


@pytest.mark.parametrize("signal", [163, 256, 424])
def test_a_regression_that_learns_next_to_nothing_is_not_promised_a_forest(signal):
    eight = {f"x{place}": (0.0, 1.0) for place in range(8)}
    domain = Domain(features=eight, target=(0.0, 1.0), approximate_rows=round(signal * 2**0.5))
    plan = PrivateForestRegressor(epsilon=1, domain=domain).plan()
    assert "enough" not in plan.forecast
    assert plan.forecast.endswith("where the features say little of the target")
    assert plan.expected_gain[0] < 0.1 < plan.expected_gain[1]


@pytest.mark.parametrize("means", [False, True])
def test_a_constant_gains_nothing(means):
    low, high = planned_range(figures(is_regression=means, learns=False))
    assert low < 0 and high == 0
    assert range_after_fit(
        figures(is_regression=means, learns=False), "rules", ClaimedGain(0.4, 0.5)
    ) == (
        low,
        high,
    )


@pytest.mark.parametrize("signal", [0.01, 30.0, 1e9])
@pytest.mark.parametrize("told", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("means", [False, True])
def test_ranges_stay_within_what_is_possible(signal, told, means):
    own = figures(signal=signal, is_regression=means)
    low, high = range_after_fit(own, "refitted", told if told is None else ClaimedGain(told, 0.5))
    assert -1 <= low <= high <= (1.0 if means else 0.5)


def test_no_more_is_promised_than_the_largest_class_leaves():
    assert range_after_fit(figures(), "refitted", ClaimedGain(0.1, 0.12))[1] == 0.12
    assert range_after_fit(figures(), "refitted", ClaimedGain(0.1, 0.5))[1] > 0.12


@pytest.mark.parametrize("strategy", ["rules", "refitted", "boosted", "one_shot"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_no_more_is_promised_than_noise_leaves(n_classes, strategy):
    """The more classes, the more a refitted forest tells of labels that say nothing."""
    own = figures(n_classes=n_classes)
    least = noise_told(n_classes, strategy)
    assert 0 < least < 0.5 and least >= noise_told(2, strategy)
    for told in (0.0, least / 2, least, least + 0.05, least + 0.3):
        low, high = range_after_fit(own, strategy, ClaimedGain(told, 0.8))
        assert low <= round(told - least, 2) and low <= high


@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_that_say_nothing_are_promised_nothing(n_classes):
    """Of twelve fits two may be unlucky, by little."""
    domain = Domain(
        features={f"x{place}": (0, 99) for place in range(4)},
        classes=[f"c{k}" for k in range(n_classes)],
        approximate_rows=2000,
    )
    promised = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        X = generator.integers(0, 100, (2000, 4))
        y = np.array([f"c{k}" for k in generator.integers(0, n_classes, 2000)])
        forest = PrivateForestClassifier(
            epsilon=1, delta=1e-6 if seed % 2 else 0, domain=domain, random_state=seed
        )
        promised.append(forest.fit(X, y).expected_gain()[0])
    assert sorted(promised)[-3] <= 0.0 and max(promised) <= 0.04


@pytest.mark.parametrize(("rows", "wide", "epsilon"), [(400, 6, 2.2), (1500, 10, 4.7)])
def test_curves_of_many_columns_promise_nothing_of_coins(rows, wide, epsilon):
    """The more columns there are for the records, the further curves follow chance."""
    codes = [str(k) for k in range(12)]
    domain = Domain(
        features={f"x{place}": codes for place in range(wide)},
        classes=[0, 1], approximate_rows=rows,
    )  # fmt: skip
    promised = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        X = generator.choice(codes, (rows, wide)).astype(object)
        forest = PrivateForestClassifier(epsilon=epsilon, domain=domain, random_state=seed)
        forest.fit(X, generator.integers(0, 2, rows))
        assert forest.strategy_ == "additive"
        promised.append(forest.expected_gain()[0])
    assert sorted(promised)[-2] <= 0.0 and max(promised) <= 0.04


def test_predictions_that_lie_far_apart_promise_no_large_r_squared():
    own = figures(is_regression=True, signal=1e6)
    for spread in (0.25, 0.35, 0.5):
        low, high = range_after_fit(own, "refitted", ClaimedGain(spread, 1.0))
        assert low == MOST_PROMISED < high


def test_curves_at_once_promise_nothing_above_the_mean():
    """Alone or before trees: their predictions lie as far apart where targets are noise."""
    own, claimed = figures(is_regression=True, signal=3000.0), ClaimedGain(0.35, 1.0)
    for strategy in ("additive", "refitted", "boosted"):
        begun = replace(own, begins_at_once=True, at_once=strategy == "additive")
        low, high = range_after_fit(begun, strategy, claimed)
        assert low <= 0.0 < range_after_fit(own, strategy, claimed)[0] and high > 0.0


@pytest.mark.parametrize(("ways", "at_once", "begins"), [
    ({"strategy": "additive"}, True, True),
    ({"strategy": "additive", "delta": 1e-6}, False, False),
    ({"strategy": "refitted"}, False, True), ({"strategy": "boosted"}, False, True),
    ({"strategy": "boosted", "delta": 1e-6}, False, False), ({}, True, True),
])  # fmt: skip
def test_a_plan_says_whether_curves_at_once_are_all(ways, at_once, begins):
    domain = Domain(features={"a": (0, 9)}, target=(0, 1), approximate_rows=400)
    forest = PrivateForestRegressor(epsilon=1, domain=domain, **ways)
    plan = plan_of(forest._wanted(), forest._encoder(domain), 400.0, OWN_BUDGET)
    found = public_figures(plan)
    assert found is not None
    assert (found.at_once, found.begins_at_once) == (at_once, begins)


def test_more_records_promise_a_regression_more():
    found = [planned_range(figures(is_regression=True, signal=one)) for one in (50, 500, 2000)]
    assert found == sorted(found) and found[0][1] < found[1][1] < found[2][1]


@pytest.mark.parametrize("signal", [5.0, 100.0, 1e4, 1e7])
def test_before_a_fit_no_task_is_promised_a_gain(signal):
    """No public figure says that the features tell anything."""
    for means in (False, True):
        low, high = planned_range(figures(is_regression=means, signal=signal, rows=1e6))
        assert low <= 0.0 < high or (means and signal < 100)


def test_where_a_bought_number_is_small_it_is_asked_whether_records_were_dropped():
    X, y = records("classification")
    domain = Domain(features={"a": (0, 1), "b": (0, 1)}, classes=["never", "seen"])
    with pytest.warns(WeakSignalWarning, match="most records were dropped.*see Domain.check"):
        PrivateForestClassifier(epsilon=1, domain=domain, random_state=0).fit(X[:, :2], y)
    few = domain.model_copy(update={"approximate_rows": 3})
    forecast = PrivateForestClassifier(epsilon=1, domain=few).plan().forecast
    assert "too small" in forecast and "dropped" not in forecast
