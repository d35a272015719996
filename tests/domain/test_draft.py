"""Drafts: a valid domain from any table, marked everywhere as read from the data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpforest.domain import CategoricalFeature, Domain, DomainEncoder, NumericFeature
from dpforest.domain.values import meaning_of
from dpforest.exceptions import DomainError, ParameterError, ParameterTypeError
from dpforest.streams import BatchStream, CSVStream

ROWS = [
    [3, 0.5, "b", True, 7, None, "1", "x", math.nan],
    [1, math.nan, "a", False, 7, None, "2.5", 3, math.inf],
    [2, 1.5, "a", None, 7, None, "", 2.0, 4.0],
]


def test_a_stream_is_refused_with_what_to_do(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,out\n1,n\n2,p\n")
    for stream in (CSVStream(file, "out"), BatchStream([([[1]], ["n"])])):
        with pytest.raises(ParameterTypeError, match="a draft is made from a table .* FILE") as got:
            Domain.draft(stream)
        assert str(got.value).startswith(f"X=<{type(stream).__name__}>: ")


def test_kinds():
    features = Domain.draft(ROWS).features
    assert all(f.status == "drafted" and "read from the data" in f.source for f in features)
    numeric = [f for f in features if isinstance(f, NumericFeature)]
    assert [(f.name, f.lower, f.upper, f.integer, f.missing) for f in numeric] == [
        ("x0", 1, 3, True, False),
        ("x1", 0.5, 1.5, False, True),
        ("x4", 6, 8, True, False),
        ("x5", 0, 1, False, True),
        ("x6", 1, 2.5, False, True),
        ("x8", 3, 5, True, True),
    ]
    categorical = [f for f in features if isinstance(f, CategoricalFeature)]
    assert [(f.name, f.categories, f.missing) for f in categorical] == [
        ("x2", ("a", "b"), False),
        ("x3", ("False", "True"), True),
        ("x7", ("2", "3", "x"), False),
    ]


def test_frames_and_file(tmp_path):
    names = [f"c{k}" for k in range(9)]
    path = tmp_path / "draft.json"
    frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=names)
    domain = Domain.draft(frame, ["n", "y", "y"], path)
    assert domain.feature_names == tuple(names)
    assert domain.drafted_entries == (*names, "classes")
    assert domain.approximate_rows is None
    assert Domain.from_json(path) == domain
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"n": [1, None], "s": ["a", None], "b": [True, False]})
    kinds = [(f.kind, f.missing) for f in Domain.draft(frame).features]
    assert kinds == [("numeric", True), ("categorical", True), ("categorical", False)]


def test_texts_of_one_meaning_are_one_category():
    rows = [["01", "true", "x"], ["1", "FALSE", " x"], [True, None, "nan"], ["x", "", b"x"]]
    features = Domain.draft(rows).features
    assert [(f.categories, f.missing) for f in features] == [
        (("01", "x"), False),
        (("FALSE", "true"), True),
        (("x",), True),
    ]
    assert Domain.draft(rows, ["1", 1, " a", "a"]).classes.labels == (" a", "1")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.just({}),
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_a_drafted_domain_encodes_its_table(rows):
    # A column of nothing that can be read is refused.
    assume(all({*map(meaning_of, column)} - {None} != {""} for column in zip(*rows, strict=True)))
    domain = Domain.draft(rows)
    assert Domain.from_json(domain.to_json()) == domain
    for thresholds in ("cells", "lattice"):
        matrix, keep = DomainEncoder(domain, thresholds=thresholds).encode_features(rows)
        infinite = [any(_is_infinite(value) for value in row) for row in rows]
        assert (keep | infinite).all()
        assert (matrix.codes < matrix.n_codes).all()


def _is_infinite(value):
    try:
        return math.isinf(float(value))
    except (TypeError, ValueError):
        return False
    except OverflowError:
        return True


@pytest.mark.parametrize("value", [0.0, -3.0, 0.25, 1e308, -1.7e308, 2.0**60])
def test_a_constant_column_is_widened(value):
    (feature,) = Domain.draft(np.full((3, 1), value)).features
    assert feature.lower < feature.upper
    assert feature.lower <= max(min(value, 8e307), -8e307) <= feature.upper


def test_too_many_categories_keep_the_most_frequent():
    texts = [f"t{k:04}" for k in range(400)] + ["t0399"] * 2
    (feature,) = Domain.draft([[text] for text in texts]).features
    assert len(feature.categories) == 255
    assert feature.categories[-1] == "t0399"
    assert feature.categories[:2] == ("t0000", "t0001")


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        ([2, 1, 2], (1, 2)),
        (np.array([2, 1, 2], np.int8), (1, 2)),
        ([True, False, True], (False, True)),
        ([1.0, 0.0, math.nan], (0.0, 1.0)),
        (["b", None, "a"], ("a", "b")),
        (np.array(["b", "a", "c"], dtype=object), ("a", "b", "c")),
    ],
)
def test_classes(y, labels):
    classes = Domain.draft(np.zeros((3, 1)), y).classes
    assert classes.labels == labels
    assert [type(a) for a in classes.labels] == [type(a) for a in labels]
    assert classes.status == "drafted"


def test_targets():
    X = np.zeros((3, 1))
    drafted = Domain.draft(X, [0.5, 2, 1])
    assert drafted.classes is None
    assert (drafted.target.lower, drafted.target.upper) == (0.5, 2)
    assert drafted.drafted_entries == ("x0", "target")
    assert Domain.draft(X, [1, 2, 3], task="regression").target.upper == 3
    with pytest.raises(ParameterError, match="Unknown label type: continuous"):
        Domain.draft(X, [0.5, 1, 2], task="classification")
    with pytest.raises(ParameterError, match="must be one of 'classification', 'regression'"):
        Domain.draft(X, [0.5, 1, 2], task="ranking")


def test_what_cannot_be_drafted():
    with pytest.raises(DomainError, match="1 class, and at least two classes"):
        Domain.draft([[1], [2]], ["a", "a"])
    for shape, text in (((0, 3), r"0 sample\(s\)"), ((12, 0), r"0 feature\(s\)")):
        with pytest.raises(ParameterError, match=text + r" \(shape=.* while a minimum of 1 is req"):
            Domain.draft(np.empty(shape), np.zeros(shape[0]))
    with pytest.raises(ParameterError, match="a list of rows"):
        Domain.draft([1, 2, 3])
    with pytest.raises(ParameterTypeError, match="Complex data not supported"):
        Domain.draft(np.ones((3, 1)) * 1j)
    with pytest.raises(ParameterError, match="inconsistent numbers of samples"):
        Domain.draft(np.ones((3, 1)), [1, 2])
    table = pytest.importorskip("pandas").DataFrame({"when": np.zeros(2, "datetime64[ns]")})
    with pytest.raises(ParameterTypeError, match="every value is a date, a time, nested"):
        Domain.draft(table)


@pytest.mark.parametrize("path", [b"domain.json", 3, {"a": [1]}])
def test_what_names_no_file_is_no_path_of_a_draft(path):
    with pytest.raises(ParameterTypeError, match="path"):
        Domain.draft(np.eye(2), ["n", "y"], path=path)


def test_a_place_that_cannot_be_looked_at_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot be written"):
        Domain.draft(np.eye(2), ["n", "y"], path=tmp_path / ("x" * 300))


def test_a_draft_is_not_written_over_an_edited_one(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text("edited")
    with pytest.raises(ParameterError, match="is there already"):
        Domain.draft(np.eye(2), ["n", "y"], path)
    assert path.read_text() == "edited"
