"""A warning of a prediction names the line of the caller's own code, whatever the way there."""

from __future__ import annotations

import inspect
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import dpforest
from dpforest import (
    ColumnsByPositionWarning,
    ColumnsOfTimesWarning,
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
    UndeclaredLabelsWarning,
)
from dpforest.call_stack import callers_stacklevel
from dpforest.estimators.base import PrivateEstimator

DOMAIN = Domain(
    features={"age": (0, 9), "day": (0, 9)}, classes=["no", "yes"], target=(0, 9),
    approximate_rows=400,
)  # fmt: skip
AGES = np.random.default_rng(0).uniform(0, 9, 400)
TABLE = pd.DataFrame({"age": AGES, "day": AGES[::-1]})
LABELS = np.where(AGES > 4.5, "yes", "no")
OF_TIMES = TABLE.assign(day=pd.Series(pd.date_range("2020-01-31", periods=400)))[:4]

OF_CLASSES = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score")
PRIVATE = {"prediction_noise", "shapley_values"}
#: Methods that take a table after a fit, by estimator; a new one is to be listed.
WAYS = {
    **dict.fromkeys(
        ["PrivateForestClassifier", "MultinomialForestClassifier", "DaskPrivateForestClassifier",
         "DaskMultinomialForestClassifier"],
        {*OF_CLASSES, *PRIVATE},
    ),
    **dict.fromkeys(
        ["PrivateForestRegressor", "DaskPrivateForestRegressor"], {"predict", "score", *PRIVATE}
    ),
    **dict.fromkeys(
        ["BRFClassifier", "DMRFClassifier", "Denil14Classifier", "MRF2019Classifier",
         "MRFClassifier"],
        {*OF_CLASSES, "apply", "forest_votes"},
    ),
    **dict.fromkeys(
        ["BRFRegressor", "DMRFRegressor", "MRF2019Regressor"], {"predict", "score", "apply"}
    ),
    "SafeBayesianForestClassifier": {*OF_CLASSES, "operating_curve"},
}  # fmt: skip


def estimators():
    pytest.importorskip("distributed")
    import dpforest.dask

    public = {name: getattr(dpforest, name) for name in dpforest.__all__}
    public |= {name: getattr(dpforest.dask, name) for name in dpforest.dask.__all__}
    return {
        name: kind
        for name, kind in public.items()
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }


def ways_of(kind):
    methods = inspect.getmembers(kind, inspect.isfunction)
    taken = {name: [*inspect.signature(method).parameters] for name, method in methods}
    return {name for name, given in taken.items() if "X" in given and name[0] != "_"} - {"fit"}


def test_every_method_that_takes_a_table_after_a_fit_is_listed():
    assert {name: ways_of(kind) for name, kind in estimators().items()} == WAYS


FITTED: dict[str, object] = {}


def fitted(name):
    """A forest of two named columns; those on Dask are those in memory, which predict alike."""
    if name not in FITTED:
        kind = estimators()[name]
        y = AGES if "Regressor" in name else LABELS
        if not issubclass(kind, PrivateEstimator):
            FITTED[name] = kind(n_estimators=3, random_state=0).fit(TABLE, y)
        else:
            in_memory = getattr(dpforest, name.removeprefix("Dask"))
            made = in_memory(epsilon=5, delta=1e-6, domain=DOMAIN, random_state=0).fit(TABLE, y)
            FITTED[name] = kind.__new__(kind)
            FITTED[name].__dict__.update(vars(made))
    return FITTED[name]


def asked(forest, method):
    """A method as a function of a table alone."""
    y = AGES[:4] if "Regressor" in type(forest).__name__ else LABELS[:4]
    call = getattr(forest, method)
    return partial(call, y=y) if method in ("score", "operating_curve") else call


def told(call, *given, **named):
    """Kinds of the warnings of a call, each of which names the line here."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        call(*given, **named)
    assert {(one.filename, one.lineno) for one in found} <= {(__file__, line)}
    return [one.category for one in found]


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name in WAYS for method in sorted(WAYS[name])]
)
def test_every_way_names_the_line_that_it_was_asked_on_once(name, method):
    forest = fitted(name)
    ask = asked(forest, method)
    if isinstance(forest, PrivateEstimator):
        assert told(ask, OF_TIMES) == [ColumnsOfTimesWarning]
    if method != "shapley_values":  # which takes columns by their places without a word
        assert told(ask, TABLE.to_numpy()[:4]) == [UserWarning]


@pytest.mark.parametrize("name", ["MRFClassifier", "BRFRegressor", "SafeBayesianForestClassifier"])
def test_names_that_a_consistent_fit_did_not_have_are_told_there(name):
    y = AGES if "Regressor" in name else LABELS
    forest = getattr(dpforest, name)(n_estimators=3, random_state=0).fit(TABLE.to_numpy(), y)
    assert told(forest.predict, TABLE[:4]) == [UserWarning]
    assert not hasattr(forest, "feature_names_in_")


def test_frames_whose_names_scikit_learn_does_not_know_are_told_as_it_does():
    polars = pytest.importorskip("polars")
    frame, y = polars.from_pandas(TABLE), LABELS
    ours = dpforest.MRFClassifier(n_estimators=3, random_state=0).fit(frame, y)
    theirs = DecisionTreeClassifier(max_depth=2).fit(frame, y)
    for table in (frame[:4], frame[:4].to_numpy()):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            theirs.predict(table)
        assert told(ours.predict, table) == [one.category for one in said]


def test_standard_errors_beside_predictions_are_made_of_the_same_codes():
    forest = fitted("PrivateForestRegressor")
    assert told(forest.predict, OF_TIMES, return_std=True) == [ColumnsOfTimesWarning]
    with pytest.warns(ColumnsOfTimesWarning):
        means, errors = forest.predict(OF_TIMES, return_std=True)
    with pytest.warns(ColumnsOfTimesWarning):
        assert (means == forest.predict(OF_TIMES)).all()
    with pytest.warns(ColumnsOfTimesWarning):
        assert np.array_equal(errors, forest.prediction_noise(OF_TIMES), equal_nan=True)


@pytest.mark.parametrize("kind", [PrivateForestClassifier, PrivateForestRegressor])
def test_columns_by_position_are_told_there_by_fits_and_predictions(kind):
    y = AGES if kind is PrivateForestRegressor else LABELS
    other = TABLE.set_axis(["x", "y"], axis=1)
    forest = kind(epsilon=5, delta=1e-6, domain=DOMAIN, random_state=0)
    assert told(forest.fit, other, y) == [ColumnsByPositionWarning]
    for method in sorted(WAYS[kind.__name__] - {"shapley_values"}):
        ask = asked(forest, method)
        assert told(ask, other[:4]) == [ColumnsByPositionWarning]


def test_what_scores_say_of_labels_is_said_there():
    forest = fitted("PrivateForestClassifier")
    assert told(forest.score, TABLE[:2], ["maybe", "maybe"]) == [UndeclaredLabelsWarning]


def test_frames_of_scikit_learn_between_are_not_the_callers_own():
    forest = fitted("PrivateForestClassifier")
    pipeline = make_pipeline("passthrough", forest)
    assert told(pipeline.predict_log_proba, OF_TIMES) == [ColumnsOfTimesWarning]
    scorer = get_scorer("neg_log_loss")
    assert told(scorer, forest, OF_TIMES, LABELS[:4]) == [ColumnsOfTimesWarning]
    given = FrozenEstimator(forest), OF_TIMES, ["no", "yes"] * 2
    assert told(cross_val_predict, *given, cv=2) == [ColumnsOfTimesWarning]


def test_a_frame_of_the_package_is_passed_over_however_many_there_are():
    inside = {"__name__": "dpforest.made_up", "callers_stacklevel": callers_stacklevel}
    exec("def level(): return callers_stacklevel()\ndef above(): return level()", inside)
    assert inside["level"]() == 2 and inside["above"]() == 3
    assert callers_stacklevel() == 1
