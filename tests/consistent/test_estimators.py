"""The estimators: scikit-learn's checks, tables of any kind, refusals, copies, degenerate data."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import dpforest
from dpforest.consistent.brf import BRFClassifier, BRFRegressor
from dpforest.consistent.denil14 import Denil14Classifier
from dpforest.consistent.dmrf import DMRFClassifier, DMRFRegressor
from dpforest.consistent.features import _MISSING
from dpforest.consistent.mrf import MRFClassifier
from dpforest.consistent.mrf2019 import MRF2019Classifier, MRF2019Regressor
from dpforest.consistent.table import encode_table, ranks
from dpforest.exceptions import ParameterError

CLASSIFIERS = [MRFClassifier, MRF2019Classifier, DMRFClassifier, BRFClassifier, Denil14Classifier]
REGRESSORS = [MRF2019Regressor, DMRFRegressor, BRFRegressor]
FORESTS = [*CLASSIFIERS, *REGRESSORS]


# No check is expected to fail. MRF2019Regressor and DMRFRegressor say poor_score where eq. 15 is
# taken as printed, which spares them a check of their training score.
CHECKS = [
    pair
    for forest in FORESTS
    for pair in estimator_checks_generator(forest(n_estimators=10), mark="skip")
]


def check_name(value):
    return type(value).__name__ if type(value) in FORESTS else value.func.__name__


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=check_name)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# -- what they learn -------------------------------------------------------------------------


@pytest.mark.parametrize("forest", CLASSIFIERS)
@pytest.mark.parametrize("records", ["partition", "bernoulli"])
def test_classifiers_learn_iris(forest, records):
    X, y = load_iris(return_X_y=True)
    parameters = {} if forest is DMRFClassifier else {"records": records}
    model = forest(n_estimators=30, random_state=0, **parameters)
    assert cross_val_score(model, X, y, cv=5).mean() > 0.9


@pytest.mark.parametrize("forest", REGRESSORS)
def test_regressors_learn_a_function(forest):
    X, y = make_friedman1(600, random_state=1)
    model = forest(n_estimators=30, random_state=0, criterion="weighted_mse")
    assert cross_val_score(model, X, y, cv=3).mean() > 0.6


def test_the_two_regression_criteria_differ():
    # Two groups with a mean of 0 and of 1, much noise. Weighted errors part them; unweighted ones
    # are least if the last record is cut off, which leaves it no error of its own.
    place = np.arange(40)
    X = place[:, None].astype(float)
    y = (place >= 20) + np.where((place % 2 == 0) ^ (place >= 20), 1.0, -1.0)
    parameters = {"max_features": None, "records": "bernoulli", "inclusion": 1.0, "max_depth": 1,
                  "n_estimators": 1, "p": 0.0, "B": math.inf}  # fmt: skip
    cuts = {
        criterion: MRF2019Regressor(criterion=criterion, **parameters).fit(X, y).forest_.high[0]
        for criterion in ("mse", "weighted_mse")
    }
    assert cuts == {"mse": 38.5, "weighted_mse": 20.5}
    means = MRF2019Regressor(criterion="weighted_mse", **parameters).fit(X, y).predict([[0], [30]])
    assert means == pytest.approx([0.0, 20 / 19], abs=1e-12)


@pytest.mark.parametrize("forest", FORESTS)
def test_no_privacy_is_claimed(forest):
    model = forest(n_estimators=3)
    with pytest.raises(NotFittedError):
        _ = model.guarantee_
    model.fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    assert model.guarantee_.status == "none"
    assert model.guarantee_.epsilon == math.inf and model.guarantee_.reasons
    assert str(model.guarantee_) == "No privacy is claimed: this model is not private."


def test_the_package_names_them():
    for forest in FORESTS:
        assert getattr(dpforest, forest.__name__) is forest


# -- degenerate data -------------------------------------------------------------------------


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("n_records", [1, 2, 3, 7])
def test_few_records_are_answered_for(forest, n_records):
    X = np.arange(2.0 * n_records).reshape(n_records, 2)
    model = forest(n_estimators=5, random_state=0).fit(X, np.zeros(n_records, dtype=int))
    assert (model.predict(X) == 0).all()


@pytest.mark.parametrize("forest", FORESTS)
def test_constant_features_make_one_leaf(forest):
    X = np.ones((30, 3))
    model = forest(n_estimators=5, random_state=0).fit(X, np.arange(30) % 3)
    assert (np.diff(model.forest_.roots) == 1).all()
    assert (model.apply(X) == 0).all()


@pytest.mark.parametrize("forest", FORESTS)
def test_records_that_agree_make_one_leaf(forest):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.zeros(60)
    y[0] = 1  # in a classifier one class alone would do as well
    model = forest(n_estimators=20, random_state=0, **{"leaf_size": 1}).fit(X, y)
    for number in range(20):
        tree = model.forest_.tree(number)
        assert tree.n_estimation[tree.feature >= 0].min(initial=2) >= 1
    same = forest(n_estimators=3, random_state=0).fit(X, np.full(60, 4))
    assert same.forest_.feature.tolist() == [-1, -1, -1]
    assert (same.predict(X) == 4).all()


def test_neighbouring_doubles_are_told_apart():
    low = 1.0
    high = math.nextafter(low, 2.0)
    X = np.array([low, high] * 30)[:, None]
    y = np.array([0, 1] * 30)
    for values in (X, -X, X * 5e-324, np.where(low == X, -1e306, 1e306)):
        if np.unique(values).size < 2:
            continue
        model = MRFClassifier(n_estimators=5, random_state=0).fit(values, y)
        assert (model.predict(values) == y).all()


def test_a_value_at_the_midpoint_goes_right():
    X = np.array([0.0, 2.0] * 20)[:, None]
    model = DMRFClassifier(n_estimators=3, random_state=0).fit(X, X[:, 0].astype(int))
    assert model.predict([[1.0], [np.nextafter(1.0, 0.0)]]).tolist() == [2, 0]


# -- encoding --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        [3.0, -1.0, 3.0, 7.0],
        [0.5, 0.25, 0.5, -0.0, 0.0],
        [1.7e308, -1.7e308, 0.0],
        [2.0**53, 2.0**53 + 2, 5.0],
        [1e6, 2e9, 3e12],
        [4.0],
    ],
)
def test_ranks_are_those_of_numpy(column):
    column = np.array(column)
    values, codes = ranks(column)
    expected, places = np.unique(column, return_inverse=True)
    assert np.array_equal(values, expected)
    assert np.array_equal(codes, places)


def test_an_encoded_table_gives_back_its_values():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.integers(0, 5, 700), generator.normal(size=700)]).astype(float)
    table = encode_table(X, np.zeros(700, int), None, 2, np.array([True, False]), True)
    for f in range(2):
        assert np.array_equal(table.values[table.value_starts[f] + table.rows[:, f]], X[:, f])
    assert table.counted.tolist() == [0]
    order = (table.words[table.sorted_place[1]] & np.uint64(2**32 - 1)).astype(int)
    assert np.array_equal(order, np.argsort(X[:, 1], kind="stable"))


# -- tables ----------------------------------------------------------------------------------


def colours(n=400):
    """A colour and a number; the class is whether the colour is green, or the number large."""
    generator = np.random.default_rng(0)
    colour = generator.choice(["blue", "green", "red", "white"], n)
    number = generator.normal(size=n)
    return colour, number, np.where((colour == "green") | (number > 1), "yes", "no")


def test_categorical_columns_may_be_text():
    colour, number, y = colours()
    X = np.empty((400, 2), dtype=object)
    X[:, 0], X[:, 1] = colour, number
    texts = MRFClassifier(20, categorical_features=[0], random_state=0).fit(X, y)
    codes = np.column_stack([np.unique(colour, return_inverse=True)[1], number])
    numbers = MRFClassifier(20, categorical_features=[True, False], random_state=0).fit(codes, y)
    assert texts.categorical_features_.tolist() == [True, False]
    assert np.array_equal(texts.predict_proba(X), numbers.predict_proba(codes))
    assert (texts.predict(X) == y).mean() > 0.95


def test_frames_of_pandas_and_polars_are_the_same():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    colour, number, y = colours()
    frames = [
        pandas.DataFrame({"colour": pandas.Categorical(colour), "number": number}),
        polars.DataFrame({"colour": polars.Series(colour, dtype=polars.Categorical),
                          "number": number}),
    ]  # fmt: skip
    by_dtype = [DMRFClassifier(10, random_state=0).fit(frame, y) for frame in frames]
    by_name = DMRFClassifier(10, random_state=0, categorical_features=["colour"])
    by_name.fit(frames[0].astype({"colour": object}), y)
    first = by_dtype[0].predict_proba(frames[0])
    assert by_dtype[0].feature_names_in_.tolist() == ["colour", "number"]
    assert np.array_equal(first, by_dtype[1].predict_proba(frames[1]))
    assert np.array_equal(first, by_name.predict_proba(frames[0].astype({"colour": object})))


def test_one_value_against_the_rest_or_in_order():
    colour, number, y = colours()
    X = np.column_stack([np.unique(colour, return_inverse=True)[1], number])
    rest = MRFClassifier(5, categorical_features=[0], random_state=0).fit(X, y).forest_
    ordered = MRFClassifier(
        5, categorical_features=[0], categorical_splits="ordered", random_state=0
    ).fit(X, y)
    on_colour = rest.feature == 0
    assert np.isfinite(rest.low[on_colour]).all()
    assert np.array_equal(rest.high[on_colour], np.nextafter(rest.low[on_colour], np.inf))
    assert (ordered.forest_.low[ordered.forest_.feature == 0] == -np.inf).all()


def test_missing_and_new_categories():
    colour, number, y = colours()
    missing = np.arange(400) % 3 == 0
    y = np.where(missing, "yes", "no")
    X = np.empty((400, 2), dtype=object)
    X[:, 0], X[:, 1] = np.where(missing, None, colour), number
    for none in (None, np.nan):
        X[missing, 0] = none
        model = MRFClassifier(10, categorical_features=[0], random_state=0).fit(X, y)
        assert (model.predict(X) == y).all()
    assert model.predict([["violet", 0.0]]).tolist() == ["no"]
    codes = np.where(missing, np.nan, np.unique(colour, return_inverse=True)[1])
    numbers = np.column_stack([codes, number])
    model = MRFClassifier(10, categorical_features=[0], random_state=0).fit(numbers, y)
    assert (model.predict(numbers) == y).all()
    assert _MISSING in model.forest_.low


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_must_be_finite(value):
    X = np.arange(40.0).reshape(20, 2)
    y = np.arange(20) % 2
    bad = X.copy()
    bad[3, 1] = value
    for categorical in (None, [0]):
        model = MRFClassifier(3, categorical_features=categorical)
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            model.fit(bad, y)
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            model.fit(X, y).predict(bad)


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
def test_a_list_of_no_records_is_no_table(estimator):
    model = estimator(3).fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    for asked in (lambda: model.predict([]), lambda: model.score([], [])):
        with pytest.raises(ValueError, match="Expected 2D array"):
            asked()


def test_text_needs_to_be_declared():
    colour, _, y = colours(40)
    with pytest.raises(ValueError, match="could not convert string to float"):
        MRFClassifier(3).fit(colour[:, None].astype(object), y)


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"n_estimators": 0}, "must be at least 1"),
        ({"leaf_size": 0}, "must be at least 1"),
        ({"leaf_size": 2.5}, "must be a whole number"),
        ({"max_depth": 0}, "must be at least 1"),
        ({"B1": -1}, r"must be a number in \[0, inf\]"),
        ({"B3": math.nan}, r"must be a number in \[0, inf\]"),
        ({"records": "half"}, "must be one of 'partition', 'bernoulli'"),
        ({"partition_rate": 0}, r"must be a number in \(0, 1e\+09\]"),
        ({"records": "bernoulli", "inclusion": 1.5}, r"must be a number in \(0, 1\]"),
        ({"categorical_splits": "best"}, "must be one of 'one_against_rest', 'ordered'"),
        ({"categorical_features": "all"}, "must be 'from_dtype', None or a list of columns"),
        ({"categorical_features": [7]}, "must be a mask of 2 columns"),
        ({"categorical_features": [True]}, "must be a mask of 2 columns"),
        ({"categorical_features": ["a"]}, "must be a mask of 2 columns"),
        ({"n_jobs": 0}, "must be None or a non-zero whole number"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, rule):
    X = np.arange(40.0).reshape(20, 2)
    model = MRFClassifier(**parameters)
    with pytest.raises(ParameterError, match=rule) as caught:
        model.fit(X, np.arange(20) % 2)
    assert caught.value.parameter == list(parameters)[-1]


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (DMRFClassifier(p=2), r"must be a number in \[0, 1\]"),
        (BRFClassifier(p2=-0.1), r"must be a number in \[0, 1\]"),
        (MRF2019Classifier(max_features="half"), "must be 'sqrt', 'log2', None"),
        (MRF2019Classifier(max_features=0), "must be 'sqrt', 'log2', None"),
        (Denil14Classifier(search_points=0), "must be at least 1"),
        (Denil14Classifier(poisson_mean=1000), r"must be a number in \[0, 500\]"),
        (DMRFRegressor(criterion="gini"), "must be one of 'mse', 'weighted_mse'"),
    ],
)
def test_parameters_of_their_own_are_checked_in_fit(model, rule):
    with pytest.raises(ParameterError, match=rule):
        model.fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)


def test_classes_beyond_what_leaves_hold_are_refused_and_none_is_named():
    y = np.tile(np.arange(2**16 + 1), 2)
    with pytest.raises(ParameterError, match="y=labels: must be of at most 65536 classes"):
        MRFClassifier(1).fit(y[:, None], y)


# -- copies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("forest", FORESTS)
def test_copies_predict_alike_and_clones_fit_alike(forest):
    X, y = load_iris(return_X_y=True)
    model = forest(5, random_state=3).fit(X, y)
    for other in (
        pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X, y),
        clone(model).set_params(n_jobs=2).fit(X, y),
    ):  # fmt: skip
        assert np.array_equal(other.predict(X), model.predict(X))
        assert np.array_equal(other.apply(X), model.apply(X))


def test_a_generator_gives_another_forest_each_time():
    X, y = load_iris(return_X_y=True)
    generator = np.random.default_rng(0)
    first, second = (MRFClassifier(5, random_state=generator).fit(X, y) for _ in range(2))
    assert not np.array_equal(first.apply(X), second.apply(X))
    again = MRFClassifier(5, random_state=np.random.default_rng(0)).fit(X, y)
    assert np.array_equal(first.apply(X), again.apply(X))


def test_probabilities_are_shares_of_votes():
    X, y = load_iris(return_X_y=True)
    model = MRFClassifier(8, random_state=0).fit(X, y)
    probability = model.predict_proba(X)
    assert np.allclose(probability * 8, np.round(probability * 8), atol=1e-5)
    assert np.allclose(probability.sum(axis=1), 1)
    assert np.array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))


def test_every_forest_is_reached_through_the_subpackage():
    import dpforest
    from dpforest import consistent

    homes = {name: home for name, home in dpforest._HOMES.items() if ".consistent." in home}
    assert set(consistent.__all__) == set(homes) == set(consistent._HOMES)
    for name in consistent.__all__:
        assert getattr(consistent, name) is getattr(dpforest, name)
    with pytest.raises(AttributeError, match="has no attribute 'MRF'"):
        consistent.MRF  # noqa: B018


def test_texts_that_nobody_named_as_categories_are_refused_with_a_way_to_go_on():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": np.arange(8.0), "b": ["x", "y"] * 4})
    with pytest.raises(ValueError, match="could not convert string") as told:
        MRFClassifier(2).fit(table, [0, 1] * 4)
    assert "categorical_features=[...]" in told.value.__notes__[0]
    assert MRFClassifier(2, categorical_features=["b"]).fit(table, [0, 1] * 4).predict(table).size
    with pytest.raises(ValueError, match="NaN") as told:
        MRFClassifier(2).fit(table[["a"]] * np.nan, [0, 1] * 4)
    assert not hasattr(told.value, "__notes__")
