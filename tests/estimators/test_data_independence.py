"""Apart from what was paid for, whatever a fit says or leaves behind is the same for all tables."""

from __future__ import annotations

import io
import logging
import math
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier

KINDS = [
    {},
    {"delta": 1e-6, "selection": "permute_and_flip"},
    {"choice": "joint", "criterion": "majority_count"},
    {
        "leaves": "label",
        "partition_rate": 1,
        "allocation": "theorem2",
        "criterion": "gini_decrease",
    },
    {"leaves": "count_label_permute_and_flip", "criterion": "entropy_decrease"},
    {"thresholds": "lattice"},
]


@pytest.fixture
def tables(table):
    """Neighbours and tables at the far ends, all allowed under the small domain."""
    X, y = table(40)
    return {
        "whole": (X, y),
        "one less": (X[:-1], y[:-1]),
        "one changed": (X[:-1] + [[3, "purple", math.inf]], y[:-1] + ["secretly"]),
        "one class": (X, ["ill"] * len(y)),
        "one value": ([X[0]] * 30, y[:30]),
        "one record": (X[:1], y[:1]),
        "all dropped": ([[math.nan, None, math.inf]] * 9, y[:9]),
        "unknown classes": (X, ["?"] * len(y)),
        "out of bounds": ([[1e300, "purple", -1e300]] * 5, y[:5]),
        "empty": (np.empty((0, 3), dtype=object), np.empty(0, dtype=object)),
        "empty numbers": (np.empty((0, 3)), np.empty(0)),
    }


def heard(forest, X, y) -> tuple:
    """Everything that a fit says: output, warnings, log."""
    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    # The compiler logs what it compiles, which depends on what it finds in its cache.
    handler.addFilter(lambda record: not record.name.startswith("numba"))
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            forest.fit(X, y)
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)
    said = [(w.category, str(w.message)) for w in caught]
    return out.getvalue(), err.getvalue(), said, log.getvalue()


@pytest.mark.parametrize("parameters", KINDS)
def test_every_table_fits_and_leaves_the_same_behind(parameters, tables, make_forest, undigested):
    shapes, reports, spoken, tests = {}, {}, {}, [[50, "red", 0.0], [0, "blue", 1.0]]
    for name, (X, y) in tables.items():
        forest = make_forest(verbose=2, **parameters)
        spoken[name] = heard(forest, X, y)
        probabilities = forest.predict_proba(tests)
        assert np.isfinite(probabilities).all() and np.allclose(probabilities.sum(axis=1), 1)
        reports[name] = undigested(forest).to_json()
        shapes[name] = sorted(
            (key, type(value), getattr(value, "shape", None), getattr(value, "dtype", None))
            for key, value in {**vars(forest), **arrays_of(forest)}.items()
        )
    for kept in (shapes, reports, spoken):
        assert all(value == kept["whole"] for value in kept.values())


def arrays_of(forest):
    trees = {name: getattr(forest.forest_, name) for name in forest.forest_.__slots__}
    return {f"forest_.{name}": value for name, value in trees.items()}


def test_progress_counts_levels_of_trees(tables, make_forest):
    X, y = tables["whole"]
    for verbose in (1, 2):
        _, said, _, _ = heard(make_forest(verbose=verbose), X, y)
        # Two levels of splits and the leaves, of two trees.
        assert "6/6 parts" in said and "40" not in said and ":" not in said
    assert heard(make_forest(verbose=0), X, y) == ("", "", [], "")


def test_verbose_may_be_a_truth(tables, make_forest):
    X, y = tables["whole"]
    assert heard(make_forest(verbose=True), X, y) == heard(make_forest(verbose=1), X, y)
    assert heard(make_forest(verbose=False), X, y) == ("", "", [], "")


def test_progress_does_not_depend_on_threads(tables, make_forest):
    said = {heard(make_forest(verbose=2, n_jobs=n), *tables["whole"])[1] for n in (1, 2, 2)}
    assert len(said) == 1


def test_no_wall_clock_anywhere(tables, make_forest, monkeypatch, undigested):
    # Were the time of a fit written down, slowing the clock's user would show.
    import time

    forest = make_forest(accountant=BudgetAccountant(9)).fit(*tables["whole"])
    real = time.perf_counter
    for clock in ("time", "perf_counter", "monotonic"):
        monkeypatch.setattr(time, clock, lambda: real() + 1e6)
    later = make_forest(accountant=BudgetAccountant(9)).fit(*tables["empty"])
    assert undigested(later) == undigested(forest)
    assert later.accountant_.to_json() == forest.accountant_.to_json()


def test_a_single_feature_without_candidates():
    # A category alone cannot be split: every node is without a candidate, and everybody goes left.
    domain = Domain(features=[{"kind": "categorical", "name": "c", "categories": ["only"],
                               "other": "only"}], classes=["a", "b"])  # fmt: skip
    for X, y in (([["only"]] * 3, ["a", "b", "a"]), (np.empty((0, 1)), [])):
        forest = MultinomialForestClassifier(
            epsilon=1000, domain=domain, n_estimators=2, max_depth=2
        ).fit(X, y)
        assert (forest.forest_.feature == -1).all()
        assert forest.forest_.counts[:, 1:].sum() == 0
        assert forest.forest_.counts[:, 0].tolist() == [[2 * (len(y) > 0), len(y) > 0]] * 2


def test_order_of_rows_plays_no_part(make_forest, table):
    X, y = table(50)
    order = np.random.default_rng(1).permutation(50)
    first = make_forest(random_state=4, max_depth=4).fit(X, y)
    second = make_forest(random_state=4, max_depth=4).fit(
        [X[i] for i in order], [y[i] for i in order]
    )
    for name in ("feature", "low", "high", "counts"):
        assert np.array_equal(getattr(first.forest_, name), getattr(second.forest_, name))
