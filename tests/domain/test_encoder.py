"""Encoding: the same codes from every kind of table, rules of one record alone, silent errors."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.domain import (
    CategoricalFeature,
    Domain,
    DomainEncoder,
    EncodedMatrix,
    NumericFeature,
)
from dpforest.exceptions import DomainError, InvalidRecordError, ParameterError

DOMAIN = Domain(
    features=[
        NumericFeature(name="age", lower=17, upper=90, integer=True),
        NumericFeature(name="pay", lower=0, upper=10, missing=True),
        CategoricalFeature(name="job", categories=("clerk", "cook", "rest"), other="rest"),
        CategoricalFeature(name="town", categories=("A", "B"), missing=True),
    ],
    classes=["no", "yes"],
)
ROWS = [
    [17, 0.0, "clerk", "A"],
    [40, 10.0, "cook", "B"],
    [95, None, "pilot", None],
    [3, -4.0, "rest", "C"],
]
LABELS = ["no", "yes", "yes", "no"]
CODES = [[0, 0, 0, 0], [23, 254, 1, 1], [73, 255, 2, 3], [0, 0, 2, 2]]
NAMES = list(DOMAIN.feature_names)


def as_pandas():
    return pytest.importorskip("pandas").DataFrame(ROWS, columns=NAMES)


def as_pandas_objects():
    return as_pandas().astype(object)


def as_pandas_nullable():
    return as_pandas().convert_dtypes()


def as_pandas_categories():
    return as_pandas().astype({"job": "category", "town": "category"})


def as_polars():
    return pytest.importorskip("polars").DataFrame(ROWS, schema=NAMES, orient="row")


def as_polars_categories():
    polars = pytest.importorskip("polars")
    return as_polars().with_columns(polars.col("job", "town").cast(polars.Categorical))


def as_arrow():
    arrow = pytest.importorskip("pyarrow")
    return arrow.table({n: list(c) for n, c in zip(NAMES, zip(*ROWS, strict=True), strict=True)})


def as_arrow_dictionary():
    table = as_arrow()
    return table.set_column(2, "job", table["job"].dictionary_encode())


TABLES = [
    lambda: ROWS,
    lambda: tuple(map(tuple, ROWS)),
    lambda: np.array(ROWS, dtype=object),
    lambda: np.array([["" if v is None else str(v) for v in row] for row in ROWS]),
    as_pandas,
    as_pandas_objects,
    as_pandas_nullable,
    as_pandas_categories,
    as_polars,
    as_polars_categories,
    as_arrow,
    as_arrow_dictionary,
]


@pytest.mark.parametrize("build", TABLES)
def test_every_kind_of_table_gives_the_same_codes(build):
    table = DomainEncoder(DOMAIN).encode(build(), LABELS)
    assert table.matrix.codes.tolist() == CODES
    assert table.labels.tolist() == [0, 1, 1, 0]
    assert table.n_classes == 2
    assert table.matrix.n_codes.tolist() == [74, 256, 3, 4]
    assert table.matrix.ordered.tolist() == [True, True, False, False]
    assert table.matrix.codes.dtype == np.uint8
    assert table.matrix.codes.flags.c_contiguous
    assert table.labels.dtype == np.int32


@pytest.mark.parametrize("build", TABLES)
@pytest.mark.parametrize("read", [[], [0], [1], [2], [3]])
def test_of_a_few_features_alone_codes_are_those_of_all(build, read):
    encoder, table = DomainEncoder(DOMAIN), build()
    every, (codes, _) = encoder.encode_to_predict(table)[0], encoder.encode_to_predict(table, read)
    assert codes.shape == every.shape and codes.dtype == every.dtype
    assert np.array_equal(codes[:, read], every[:, read])
    assert not np.delete(codes, read, axis=1).any()
    # Where most are read they are looked at together, and none is left out.
    assert np.array_equal(encoder.encode_to_predict(table, [0, 3])[0], every)


@pytest.mark.parametrize("labels", [[len, "z", int, str], [lambda _: "z", "z", "y", "x"]])
def test_columns_of_pandas_are_read_by_their_places_whatever_their_labels(labels):
    """A label that can be called is no name, and nobody calls it."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=pandas.Index(labels, dtype=object))
    encoder = DomainEncoder(DOMAIN)
    assert (
        encoder.encode_to_predict(frame)[0].tolist() == encoder.encode_to_predict(ROWS)[0].tolist()
    )
    assert encoder.encode_features(frame)[0].codes.tolist() == CODES


def test_of_a_few_features_a_table_is_refused_as_of_all():
    encoder, frame = DomainEncoder(DOMAIN), as_pandas()
    for wrong in (frame.drop(columns="town"), ROWS[:1] + [ROWS[1][:2]], [[1, 2]]):
        with pytest.raises((DomainError, ParameterError)) as of_all:
            encoder.encode_to_predict(wrong)
        with pytest.raises(type(of_all.value)) as of_few:
            encoder.encode_to_predict(wrong, [1])
        assert str(of_few.value) == str(of_all.value)


def test_frames_are_read_by_name():
    frame = as_pandas()[NAMES[::-1]].assign(more=1)
    matrix, keep = DomainEncoder(DOMAIN).encode_features(frame)
    assert matrix.codes.tolist() == CODES
    assert keep.all()
    renamed = as_pandas().set_axis(["a", "b", "c", "d"], axis=1)
    assert DomainEncoder(DOMAIN).encode_features(renamed)[0].codes.tolist() == CODES
    numbered = as_pandas().set_axis(range(4), axis=1)
    assert DomainEncoder(DOMAIN).encode_features(numbered)[0].codes.tolist() == CODES
    with pytest.raises(DomainError, match="no column of this name") as caught:
        DomainEncoder(DOMAIN).encode_features(as_pandas().rename(columns={"job": "work"}))
    assert caught.value.entry == "job" and "work" not in str(caught.value)
    for name in ("Job", " job "):
        with pytest.raises(DomainError, match=f"Its own is written '{name}'"):
            DomainEncoder(DOMAIN).encode_features(as_pandas().rename(columns={"job": name}))


def test_arrays_of_numbers_hold_positions_of_categories():
    array = np.array([[17, 0, 0, 0], [40, 10, 1, 1], [95, np.nan, 7, np.nan], [3, -4, 2, 2]])
    matrix, keep = DomainEncoder(DOMAIN).encode_features(array)
    assert matrix.codes.tolist() == CODES
    assert keep.all()
    integers = np.array([[17, 3, 0, 1]], dtype=np.int16)
    assert DomainEncoder(DOMAIN).encode_features(integers)[0].codes[0, 2:].tolist() == [0, 1]


def test_where_categories_are_numbers_a_number_is_the_category():
    domain = Domain(features={"c": ["1", "2", "5"]})
    matrix, _ = DomainEncoder(domain).encode_features(np.array([[1.0], [5.0], [0.0]]))
    assert matrix.codes.ravel().tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("row", "label", "column", "rule"),
    [
        ([None, 1, "cook", "A"], "no", "age", "missing"),
        ([math.nan, 1, "cook", "A"], "no", "age", "missing"),
        (["secret", 1, "cook", "A"], "no", "age", "not a number"),
        ([30, math.inf, "cook", "A"], "no", "pay", "infinite"),
        ([30, -math.inf, "cook", "A"], "no", "pay", "infinite"),
        ([30, 1, None, "A"], "no", "job", "missing"),
        ([30, 1, "cook", "A"], "secret", "y", "declared classes"),
        ([30, 1, "cook", "A"], None, "y", "declared classes"),
        ([30, 1, "cook", "A"], 1, "y", "declared classes"),
    ],
)
def test_records_without_a_meaning(row, label, column, rule):
    X, y = [ROWS[0], row, ROWS[1]], ["no", label, "yes"]
    encoder = DomainEncoder(DOMAIN)
    table = encoder.encode(X, y)
    assert table.matrix.codes.tolist() == CODES[:2]
    assert table.labels.tolist() == [0, 1]
    encoder.invalid = "raise"  # heeded whatever was encoded before
    with pytest.raises(InvalidRecordError, match=rule):
        encoder.encode(X, y)
    with pytest.raises(InvalidRecordError, match=rule) as caught:
        DomainEncoder(DOMAIN, invalid="raise").encode(X, y)
    assert caught.value.column == column
    # Neither the text nor anything chained to the error holds a value, count or position.
    for hidden in ("secret", "inf ", "1", "2", "3"):
        assert hidden not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_prediction_keeps_every_record():
    X = [[None, 1, "cook", "A"], ["x", math.inf, None, "A"], [math.inf, None, "x", None]]
    for build in (lambda: X, lambda: np.array(X, dtype=object)):
        codes, _ = DomainEncoder(DOMAIN, invalid="raise").encode_to_predict(build())
        # 17…90 has its midpoint at 53.5, an edge, which belongs to the cell below.
        assert codes[:, 0].tolist() == [36, 36, 73]
        assert codes[:, 1].tolist()[1:] == [254, 255]
        assert codes[:, 2].tolist() == [1, 2, 2]
        assert codes[:, 3].tolist() == [0, 0, 3]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 100),
    st.floats(width=32),
    st.sampled_from(["clerk", "A", "B", "rest", "", "12", "1.5", "x", "nan"]),
)


@given(
    st.lists(st.tuples(*[VALUES] * 4), min_size=1, max_size=6),
    st.lists(st.sampled_from(["no", "yes", "x", None, 0, True]), min_size=6, max_size=6),
    st.sampled_from(["cells", "lattice"]),
)
@settings(derandomize=True, max_examples=150, deadline=None)
def test_a_record_is_encoded_by_itself(rows, labels, thresholds):
    """What becomes of a record is the same alone and in any table: neighbours cannot matter."""
    encoder = DomainEncoder(DOMAIN, thresholds=thresholds)
    labels = labels[: len(rows)]
    matrix, keep = encoder.encode_features(rows)
    predicted, _ = encoder.encode_to_predict(rows)
    singles = []
    for index, row in enumerate(rows):
        alone, kept = encoder.encode_features([row])
        assert keep[index] == kept[0]
        if kept[0]:
            assert (matrix.codes[index] == alone.codes[0]).all()
        alone, _ = encoder.encode_to_predict([row])
        assert (predicted[index] == alone[0]).all()
        single = encoder.encode([row], labels[index : index + 1])
        singles += zip(single.matrix.codes.tolist(), single.labels.tolist(), strict=True)
    table = encoder.encode(rows, labels)
    assert list(zip(table.matrix.codes.tolist(), table.labels.tolist(), strict=True)) == singles
    assert (predicted < encoder.n_codes).all()


@given(st.lists(st.tuples(*[VALUES] * 2), min_size=1, max_size=5))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_objects_and_frames_agree(rows):
    pandas = pytest.importorskip("pandas")
    domain = Domain(
        features={"n": (0, 10), "c": {"categories": ["A", "1", "False", "12"], "missing": True}}
    )
    encoder = DomainEncoder(domain)
    matrix, keep = encoder.encode_features(rows)
    frame = pandas.DataFrame(rows, columns=["n", "c"], dtype=object)
    again, kept = encoder.encode_features(frame)
    assert keep.tolist() == kept.tolist()
    assert (matrix.codes == again.codes)[keep].all()


def test_labels_compare_by_meaning():
    numbers = Domain(features={"a": (0, 1)}, classes=[0, 1])
    words = Domain(features={"a": (0, 1)}, classes=["0", "1"])
    logical = Domain(features={"a": (0, 1)}, classes=[False, True])
    for labels in ([0, 1], [0.0, 1.0], np.array([0, 1], np.int8), np.array([0.0, 1.0])):
        for domain in (numbers, words, logical):
            assert DomainEncoder(domain).encode_labels(labels).tolist() == [0, 1]
    assert DomainEncoder(words).encode_labels(["0", "1", "01", None]).tolist() == [0, 1, 1, -1]
    assert DomainEncoder(logical).encode_labels([True, np.bool_(False)]).tolist() == [1, 0]
    # A number is never the position of a label.
    assert DomainEncoder(DOMAIN).encode_labels([0, 1, "yes"]).tolist() == [-1, -1, 1]


def test_labels_from_series():
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    for labels in (
        pandas.Series(LABELS),
        pandas.Series(LABELS, dtype="category"),
        polars.Series(LABELS),
        arrow.chunked_array([LABELS]),
        np.array(LABELS),
    ):
        assert DomainEncoder(DOMAIN).encode_labels(labels).tolist() == [0, 1, 1, 0]


def test_no_rows_and_one_class_are_normal():
    encoder = DomainEncoder(DOMAIN)
    table = encoder.encode(np.empty((0, 4)), np.empty(0))
    assert table.matrix.codes.shape == (0, 4)
    assert table.labels.shape == (0,)
    assert encoder.encode(as_pandas()[:0], []).matrix.codes.shape == (0, 4)
    # What says nothing of its width is a table without records as well.
    frame = pytest.importorskip("pandas").DataFrame
    for nothing in ([], (), np.array([]), np.empty((0, 0)), frame(), frame([])):
        encoder.check(nothing, [])
        assert encoder.encode(nothing, []).matrix.codes.shape == (0, 4)
    for other in (np.empty((0, 3)), frame(columns=["a"])):
        with pytest.raises(ParameterError, match="is expecting 4 features"):
            encoder.check(other, [])
    assert encoder.encode(ROWS, ["unknown"] * 4).matrix.codes.shape == (0, 4)
    assert set(encoder.encode(ROWS, ["no"] * 4).labels) == {0}


def test_widths_of_codes():
    many = {"categories": [str(k) for k in range(300)]}
    assert DomainEncoder(Domain(features={"a": many})).dtype == np.uint16
    assert DomainEncoder(DOMAIN, max_cells=1000).dtype == np.uint16
    encoder = DomainEncoder(DOMAIN, thresholds="lattice")
    matrix, _ = encoder.encode_features(ROWS)
    assert matrix.codes.dtype == np.uint32
    assert matrix.n_codes.tolist() == [74, 2**32, 3, 4]
    assert matrix.codes[:, 1].tolist() == [0, 2**32 - 2, 2**32 - 1, 0]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"invalid": "ignore"}, "must be one of 'drop', 'raise'"),
        ({"invalid": ["drop"]}, "must be one of 'drop', 'raise'"),
        ({"thresholds": "data"}, "must be one of 'cells', 'lattice'"),
        ({"task": "ranking"}, "must be one of 'classification', 'regression'"),
        ({"max_cells": 1}, "must be at least 2 and at most 65536"),
        ({"max_cells": 2**16 + 1}, "must be at least 2 and at most 65536"),
        ({"max_cells": True}, "must be a whole number"),
        ({"max_cells": 12.0}, "must be a whole number"),
    ],
)
def test_parameters(options, rule):
    with pytest.raises(ParameterError, match=rule) as caught:
        DomainEncoder(DOMAIN, **options)
    assert [caught.value.parameter] == list(options)


def test_nothing_of_the_records_stays_in_the_encoder():
    encoder = DomainEncoder(DOMAIN)
    before = pickle.dumps(encoder)
    encoder.encode([[30, 1, "secret", "A"]], ["no"])
    assert pickle.dumps(encoder) == before
    assert "codes=" not in repr(encoder.encode(ROWS, LABELS).matrix)


def test_no_classes_declared():
    encoder = DomainEncoder(Domain(features={"a": (0, 1)}))
    encoder.check([[0.5]])
    for call in (encoder.check, encoder.encode):
        with pytest.raises(DomainError, match="no classes are declared"):
            call([[0.5]], [1])


def test_matrix_shape():
    matrix = EncodedMatrix(np.zeros((3, 2), np.uint8), np.array([2, 2]), np.array([True, False]))
    assert (matrix.n_records, matrix.n_features) == (3, 2)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float32", "float64"])
@pytest.mark.parametrize("categories", [("0", "1", "5", "127"), ("a", "b", "c")])
def test_small_whole_numbers_have_the_codes_that_each_has_alone(categories, dtype):
    """Long columns of them are looked up in a table, short ones value by value."""
    feature = CategoricalFeature(name="f", categories=categories)
    encoder = DomainEncoder(Domain(features=[feature]))
    values = np.tile(np.arange(128), 3).astype(dtype)[:, None]
    codes = encoder.encode_features(values)[0].codes[:, 0]
    alone = [int(encoder.encode_features(value[None])[0].codes[0, 0]) for value in values[:128]]
    np.testing.assert_array_equal(codes, np.tile(alone, 3))
    halves = values.astype(float) + 0.5
    assert (encoder.encode_features(halves)[0].codes == len(categories)).all()
