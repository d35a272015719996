"""Answers of a fitted forest: classes, columns, kinds of tables, threads, and what it learnt."""

from __future__ import annotations

import doctest
import re
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

import dpforest.estimators.multinomial
from dpforest import (
    BudgetAccountant,
    ColumnsByPositionWarning,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    read_plain,
)
from dpforest.datasets import load_mammographic_masses, load_vertebral
from dpforest.estimators.classifier import sorted_classes
from dpforest.exceptions import ParameterError, ParameterTypeError, UndeclaredLabelsWarning
from dpforest.streams import BatchStream

ARRAYS = ("feature", "low", "high", "counts", "labels")
KINDS = [
    {},
    {"delta": 1e-6},
    {"selection": "permute_and_flip", "choice": "joint"},
    {"criterion": "majority_count", "leaves": "count_label_permute_and_flip"},
    {
        "leaves": "label",
        "partition_rate": 1,
        "allocation": "theorem2",
        "criterion": "gini_decrease",
    },
    {"thresholds": "lattice"},
]


def test_the_example_in_the_docstring():
    result = doctest.testmod(dpforest.estimators.multinomial, raise_on_error=False)
    assert result.attempted >= 6 and result.failed == 0


@pytest.mark.parametrize("parameters", KINDS)
def test_threads_do_not_change_the_forest(parameters, make_forest, table):
    X, y = table(80)
    settings = {"random_state": 11, "n_estimators": 7, "max_depth": 3, **parameters}
    one, many = (make_forest(n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    for name in ARRAYS:
        assert np.array_equal(getattr(one.forest_, name), getattr(many.forest_, name))
    assert np.array_equal(one.predict_proba(X), many.predict_proba(X))
    assert one.accountant_.to_json() == many.accountant_.to_json()
    assert one.fingerprint_ == many.fingerprint_
    (change,) = one.privacy_report().diff(many.privacy_report()).changes
    assert change.what == "parameter n_jobs"


@pytest.mark.parametrize("parameters", KINDS)
def test_a_seed_repeats_a_forest_and_another_does_not(parameters, make_forest, table):
    X, y = table(80)
    fits = [make_forest(random_state=s, **parameters).fit(X, y) for s in (1, 1, 2)]
    texts = [str([getattr(f.forest_, name) for name in ARRAYS]) for f in fits]
    assert texts[0] == texts[1] != texts[2]


def test_trees_have_noise_of_their_own(make_forest, table):
    forest = make_forest(random_state=0, n_estimators=6, max_depth=4).fit(*table())
    trees = {str([forest.forest_.feature[t], forest.forest_.counts[t]]) for t in range(6)}
    assert len(trees) == 6


@pytest.mark.parametrize("parameters", KINDS)
def test_a_large_budget_learns(parameters, make_forest, table):
    X, y = table(400)
    forest = make_forest(epsilon=1e4, n_estimators=5, max_depth=4, random_state=0, **parameters)
    assert forest.fit(X, y).score(*table(400, seed=1)) > 0.8


def test_probabilities(make_forest, table):
    for parameters in KINDS:
        forest = make_forest(**parameters).fit(*table())
        probabilities = forest.predict_proba(table(200, seed=3)[0])
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        assert np.allclose(probabilities.sum(axis=1), 1)
    assert forest.predict_proba(np.empty((0, 3), dtype=object)).shape == (0, 2)
    assert forest.predict(np.empty((0, 3), dtype=object)).shape == (0,)


def test_more_than_two_classes():
    data = load_vertebral()
    for parameters in KINDS:
        forest = MultinomialForestClassifier(
            epsilon=1000,
            domain=data.domain,
            n_estimators=5,
            max_depth=4,
            random_state=0,
            **parameters,
        ).fit(data.data, data.target)
        assert forest.classes_.tolist() == sorted(set(data.target))
        assert forest.score(data.data, data.target) > 0.6
        assert np.allclose(forest.predict_proba(data.data).sum(axis=1), 1)
        predicted = forest.predict_proba(data.data).argmax(axis=1)
        assert (forest.predict(data.data) == forest.classes_[predicted]).all()


def test_more_classes_than_a_byte_holds():
    domain = Domain(features={"x": (0, 299)}, classes=list(range(300)))
    X = np.arange(300.0).reshape(-1, 1).repeat(20, axis=0)
    y = X[:, 0].astype(int)
    forest = MultinomialForestClassifier(
        epsilon=1e5, domain=domain, n_estimators=1, max_depth=1, random_state=0
    ).fit(X, y)
    assert forest.forest_.counts.sum(axis=1).tolist() == [[20] * 300]
    assert forest.predict_proba(X[:2]).shape == (2, 300)


# -- classes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (["well", "ill"], ["ill", "well"]),
        ([3, 1, 2], [1, 2, 3]),
        ([1.5, 0.5], [0.5, 1.5]),
        ([True, False], [False, True]),
        ([2, 0.5], [0.5, 2.0]),
        (["b", 1], ["b", 1]),  # do not compare: as declared
        ([True, 2], [True, 2]),
        (["b\0", "a"], ["a", "b\0"]),  # numpy's texts drop zeros at their end
        # Doubles hold some of these, and are no whole numbers.
        ([2**63, 5], [5, 2**63]),
        ([2**63, -1], [-1, 2**63]),
        ([2**64, 2**64 - 2**20, 1], [1, 2**64 - 2**20, 2**64]),
        ([2**53 + 1, 0.5], [0.5, 2**53 + 1]),
    ],
)
def test_classes_are_sorted_and_keep_their_kind(declared, expected):
    domain = Domain(features={"x": (0, 9)}, classes=declared)
    X = [[1]] * 50 + [[8]] * 50
    y = [declared[0]] * 50 + [declared[1]] * 50
    forest = MultinomialForestClassifier(
        epsilon=1000, domain=domain, n_estimators=5, max_depth=2, random_state=0
    ).fit(X, y)
    assert list(map(repr, forest.classes_.tolist())) == list(map(repr, expected))
    assert forest.predict([[1], [8]]).tolist() == declared[:2]
    probabilities = forest.predict_proba([[1], [8]])
    assert probabilities[0, expected.index(declared[0])] > 0.9
    assert probabilities[1, expected.index(declared[1])] > 0.9
    read = MultinomialForestClassifier.from_json(forest.to_json())
    assert np.array_equal(read.predict_proba(X), forest.predict_proba(X))
    assert list(map(repr, read.classes_)) == list(map(repr, forest.classes_))
    assert read.predict([[1], [8]]).tolist() == read_plain(forest.to_plain()).predict([[1], [8]])
    assert read.predict([[1], [8]]).tolist() == declared[:2] and forest.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ([2**63 - 1, -(2**63)], np.int64),
        ([2**63, 0], np.uint64),
        ([2**64 - 1, 2**62], np.uint64),
        ([2**63, -1], object),
        ([2**64, 0], object),
        ([2**53 + 1, 0.5], object),
        ([2**53, 0.5], np.float64),
    ],
)
def test_whole_classes_are_of_the_first_type_that_holds_all_of_them(declared, dtype):
    classes = sorted_classes(Domain(features={"x": (0, 9)}, classes=declared))
    assert classes.dtype == dtype and classes.tolist() == sorted(declared)


def test_scorers_understand_the_columns_whatever_order_was_declared(table):
    X, y = table(300)
    scores = []
    for classes in (["ill", "well"], ["well", "ill"]):
        domain = Domain(
            features={"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1.0, 1.0)},
            classes=classes,
        )
        forest = MultinomialForestClassifier(
            epsilon=1000,
            domain=domain,
            n_estimators=5,
            max_depth=4,
            accountant=BudgetAccountant(9999),
            random_state=0,
        )
        scores.append(cross_val_score(forest, X, y, scoring="roc_auc", cv=2).mean())
        scores.append(cross_val_score(forest, X, y, scoring="neg_log_loss", cv=2).mean() + 1.5)
    assert min(scores) > 0.75


def test_labels_are_compared_as_text():
    domain = Domain(features={"x": (0, 9)}, classes=[0, 1])
    counts = [
        MultinomialForestClassifier(epsilon=1e4, domain=domain, n_estimators=1, max_depth=1,
                                    random_state=0).fit([[1], [8], [8]], y).forest_.counts.tolist()
        for y in ([0, 1, 1], ["0", "1", "1"], [0.0, 1.0, 1.0], np.array([0, 1, 1], dtype="i1"))
    ]  # fmt: skip
    assert counts == [counts[0]] * 4
    assert np.sum(counts[0]) == 3


# -- kinds of tables -------------------------------------------------------------------------


def test_frames_of_every_library_give_the_same_forest(make_forest, table):
    pandas = pytest.importorskip("pandas")
    X, y = table(60)
    frame = pandas.DataFrame(X, columns=["age", "colour", "size"])
    kinds = {"list": (X, y), "object array": (np.array(X, dtype=object), np.array(y))}
    kinds["pandas"] = (frame, pandas.Series(y))
    kinds["other order"] = (frame[["size", "age", "colour"]], pandas.Series(y))
    kinds["more columns"] = (frame.assign(more=1.0), frame.assign(y=y)["y"])
    kinds["other names"] = (frame.set_axis(["a", "b", "c"], axis=1), y)
    polars = pytest.importorskip("polars")
    kinds["polars"] = (polars.from_dict(frame.to_dict("list")), polars.Series(y))
    arrow = pytest.importorskip("pyarrow")
    kinds["arrow"] = (arrow.table(frame.to_dict("list")), arrow.array(y))
    with pytest.warns(ColumnsByPositionWarning, match="the first one as 'age'"):
        fitted = {k: make_forest(random_state=1).fit(*v) for k, v in kinds.items()}
    expected = fitted["list"].predict_proba(X)
    for name, forest in fitted.items():
        by_name = name not in ("list", "object array", "other names")
        assert hasattr(forest, "feature_names_in_") == by_name, name
        assert forest.n_features_in_ == 3
        told = name == "other names"
        with pytest.warns(ColumnsByPositionWarning) if told else nullcontext():
            assert np.array_equal(forest.predict_proba(kinds[name][0]), expected), name
        if by_name:
            for other in ("pandas", "other order", "more columns", "polars", "arrow"):
                assert np.array_equal(forest.predict_proba(kinds[other][0]), expected), other
    with pytest.raises(ValueError, match="feature names should match"):
        fitted["polars"].predict(kinds["other names"][0])
    # Of frames whose names scikit-learn does not read it would take columns by their place.
    renamed = kinds["polars"][0].rename({"age": "years"})
    for other in (renamed, arrow.table(renamed.to_dict(as_series=False))):
        with pytest.raises(
            ValueError, match="'age': declared, but the table has no column|names should match"
        ):
            fitted["polars"].predict_proba(other)


def test_a_stream_is_not_predicted(make_forest, table):
    X, y = (np.array(part, dtype=object) for part in table())
    forest = make_forest().fit(X, y)
    for predict in (forest.predict, forest.predict_proba):
        with pytest.raises(ParameterTypeError, match="a stream is for fits.*dpforest predict"):
            predict(BatchStream([(X, y)]))


def test_read_only_input(make_forest, table):
    X, y = (np.array(part, dtype=object) for part in table())
    X.flags.writeable = y.flags.writeable = False
    forest = make_forest().fit(X, y)
    assert forest.predict(X).shape == (60,)


def test_numbers_alone_by_positions_of_categories():
    data = load_mammographic_masses()
    forest = MultinomialForestClassifier(
        epsilon=50, domain=data.domain, n_estimators=10, max_depth=4, random_state=0
    ).fit(data.data, data.target)
    auc = roc_auc_score(data.target, forest.predict_proba(data.data)[:, 1])
    assert auc > 0.85


def test_without_a_domain_the_guarantee_is_void(make_forest, table):
    from dpforest import DraftedBoundsWarning, PrivacyLeakWarning

    X, y = table()
    with pytest.warns(PrivacyLeakWarning, match="no domain was declared") as caught:
        forest = make_forest(domain=None).fit(X, y)
    assert caught[0].filename == __file__
    assert forest.guarantee_.status == "void" and forest.guarantee_.epsilon == np.inf
    assert forest.spent_.epsilon == 1
    drafted = Domain.draft(X, y)
    with pytest.warns(PrivacyLeakWarning, match="not confirmed .x0: no source but the draft"):
        forest = make_forest(domain=drafted).fit(X, y)
    assert forest.guarantee_.status == "void"
    with pytest.warns(PrivacyLeakWarning, match="classes: no source but the draft"):
        forest = make_forest(domain=drafted.confirmed(declared_by="me")).fit(X, y)
    assert forest.guarantee_.status == "void"
    sources = dict.fromkeys(drafted.drafted_entries, "codebook")
    with pytest.warns(DraftedBoundsWarning, match="x0 .lower and upper"):
        confirmed = drafted.confirmed(declared_by="me", sources=sources)
    assert make_forest(domain=confirmed).fit(X, y).guarantee_.status == "holds"
    # Nothing of the draft stays in the constructor's parameters for the next fit.
    with pytest.warns(PrivacyLeakWarning):
        assert make_forest(domain=None).fit(X, y).domain is None


@pytest.mark.parametrize(
    ("classes", "labels"),
    [(["0", "1"], [0, 1]), ([0, 1], ["0", "1"]), (["no", "yes"], ["no ", "yes"])],
)
def test_a_score_reads_labels_as_a_fit_does(classes, labels):
    X = np.random.default_rng(0).uniform(0, 9, (300, 1))
    own, other = (
        np.array(some, dtype=object)[(X[:, 0] > 4).astype(int)] for some in (classes, labels)
    )
    domain = Domain(features={"a": (0, 9)}, classes=classes)
    forest = MultinomialForestClassifier(epsilon=100, domain=domain, random_state=0).fit(X, own)
    assert forest.score(X, own) == np.mean(forest.predict(X) == own) > 0.8
    assert forest.score(X, other) == forest.score(X, own)
    weights = np.arange(300)
    assert forest.score(X, other, weights) == pytest.approx(
        np.average(forest.predict(X) == own, weights=weights)
    )
    with pytest.raises(ParameterError, match="inconsistent numbers of samples") as refused:
        forest.score(X, other[:-1])
    assert not any(number in str(refused.value) for number in ("299", "300"))


def test_labels_that_mean_no_class_are_never_right():
    X = np.random.default_rng(0).uniform(0, 9, (300, 1))
    y = np.where(X[:, 0] > 4, "yes", "no").astype(object)
    domain = Domain(features={"a": (0, 9)}, classes=["no", "yes"])
    forest = MultinomialForestClassifier(epsilon=100, domain=domain, random_state=0).fit(X, y)
    whole = forest.score(X, y)
    y[:30] = [None, np.nan, "other"] * 10
    right = forest.predict(X)[30:] == y[30:]
    assert forest.score(X, y) == right.mean() * 0.9 < whole
    for other in (y == "yes", np.full(300, np.nan)):
        with pytest.warns(UndeclaredLabelsWarning, match="declares them: 'no', 'yes'$") as told:
            assert forest.score(X, other) == 0
        assert told[0].filename == __file__


class Telling:
    """Weights whose conversion says what they hold."""

    def __array__(self, *_, **__):
        raise RuntimeError("59 and 60")


def test_scores_are_refused_as_predictions_are(make_forest, table):
    X, y = table(60)
    forest = make_forest(random_state=1)
    with pytest.raises(NotFittedError):
        forest.score(X, y)
    forest.fit(X, y)
    assert forest.score(X, y, sample_weight=[2.0] * 60) == forest.score(X, y)
    wrong = ([np.nan] * 60, [-1.0] + [1.0] * 59, [0.0] * 60, ["a"] * 60, np.ones((60, 1)))
    large = ([10**400] * 60, [1e308] * 60, np.full(60, 1e4000, dtype=np.longdouble))
    others = (np.full(60, 1 + 1j), np.full(60, np.datetime64(1, "D")), Telling())
    masked = np.ma.masked_array(np.ones(60), np.arange(60) == 7)
    for weights in (*wrong, *large, *others, masked, [1.0] * 59, 1.0, {}, [[1.0], [1.0, 2.0]]):
        with pytest.raises(ParameterError, match="^sample_weight=weights: must be") as refused:
            forest.score(X, y, sample_weight=weights)
        assert not re.search(r"60|59|nan", str(refused.value))


def test_weights_stay_beside_their_records_where_labels_mean_no_class(make_forest, table):
    X, y = table(60)
    forest = make_forest(epsilon=50, random_state=1).fit(X, y)
    labels = np.ma.masked_array(np.array(y, dtype=object), np.arange(60) % 3 == 0)
    weights = np.ma.masked_array(np.arange(60.0), False)
    right = (forest.predict(X) == labels.data) & ~labels.mask
    assert 0 < right.sum() < 60
    share = weights.data[right].sum() / weights.data.sum()
    assert forest.score(X, labels, sample_weight=weights) == pytest.approx(share, rel=1e-12)


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
def test_a_score_of_no_records_is_refused_by_every_version(make_forest, table):
    X, y = table(60)
    domain = Domain(features={"a": (0, 1)}, target=(0, 1))
    regression = PrivateForestRegressor(epsilon=1, domain=domain, random_state=1)
    for forest in (make_forest(random_state=1).fit(X, y), regression.fit([[0.5]] * 9, [0.5] * 9)):
        for weights in (None, []):
            with pytest.raises(ParameterError, match="^X=a table: must have records"):
                forest.score([], [], sample_weight=weights)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy", "list"])
def test_wide_tables_are_predicted_from_what_the_model_reads(library):
    """A rule reads a few of many features; answers are those of all codes."""
    wide = 200
    numbers = np.random.RandomState(4).rand(300, wide)
    domain = Domain(features={f"f{i}": (0, 1) for i in range(wide)}, classes=["no", "yes"])
    y = np.array(["no", "yes"])[(numbers[:, 7] > 0.5).astype(int)]
    forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="rules", random_state=3)
    forest.fit(numbers, y)
    read = forest.model_.features_read()
    assert 0 < len(read) <= wide // 4
    codes = forest._encoder_.encode_to_predict(numbers)[0]
    expected = forest.model_.scores(codes)
    columns = dict(zip(domain.feature_names, numbers.T, strict=True))
    if library in ("numpy", "list"):
        X = numbers if library == "numpy" else numbers.tolist()
    else:
        module = pytest.importorskip(library)
        X = (module.table if library == "pyarrow" else module.DataFrame)(columns)
    assert np.array_equal(forest._model_scores(X), expected)
