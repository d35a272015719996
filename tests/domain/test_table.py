"""Refusals by shape and type, before any value is looked at."""

from __future__ import annotations

import datetime
import io
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from dpforest.domain import Domain, DomainEncoder
from dpforest.exceptions import DomainError, ParameterError, ParameterTypeError

ENCODER = DomainEncoder(
    Domain(features={"a": (0, 1), "b": (0, 1), "c": ["x", "y"]}, classes=[0, 1]),
    estimator_name="Forest",
)
GOOD = np.full((4, 3), 0.123456)
SECRET = "0.123456"
TO_STREAM = r"0D.*a dpforest\.streams\.BatchStream\(lambda: "


class Loader:
    """Tables one by one, as loaders of other libraries give them."""

    def __iter__(self):
        return iter([GOOD])


class Tensor(Loader):
    """An array of another library, which is gone through by its first dimension too."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array


def frame(**columns):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": [0.1] * 4, "b": [0.2] * 4, "c": ["x"] * 4} | columns)


@pytest.mark.parametrize(
    ("X", "kind", "text"),
    [
        (GOOD[0], ParameterError, "Reshape your data"),
        (GOOD.reshape(2, 2, 3), ParameterError, "Expected 2D array, got 3D array"),
        (0.123456, ParameterError, "Expected 2D array, got 0D array"),
        ({"a": [0.123456], "b": [1], "c": [2]}, ParameterError, r"0D.*make pandas.DataFrame\(X\)"),
        ((row for row in GOOD), ParameterError, r"0D.*come one by one make list\(X\)"),
        (pd.read_csv(io.StringIO("a,b,c\n0,0,x"), chunksize=1), ParameterError, TO_STREAM),
        (pd.read_csv(io.StringIO("a,b,c\n0,0,x"), iterator=True), ParameterError, TO_STREAM),
        ((one for one in [pd.DataFrame(GOOD)]), ParameterError, TO_STREAM),
        (Loader(), ParameterError, TO_STREAM),
        (Tensor(GOOD[0]), ParameterError, "1D array instead. Reshape your data"),
        (Tensor(GOOD.reshape(2, 2, 3)), ParameterError, "3D array instead. Pass one row a record"),
        (pa.table({"a": [0]}).to_reader(), ParameterError, r"pyarrow\.table\(X\).*BatchStream\("),
        (None, ParameterError, "got 0D array instead. Pass a data frame or an array"),
        (GOOD[:, :2], ParameterError, "X has 2 features, but Forest is expecting 3 features as in"),
        (GOOD[:, :0], ParameterError, "X has 0 features, but Forest is expecting 3 features as in"),
        (sparse.csr_matrix(GOOD), ParameterTypeError, "sparse input is not supported"),
        (sparse.coo_array(GOOD), ParameterTypeError, "sparse input is not supported"),
        (np.zeros((4, 3), dtype=[("a", int)]), ParameterTypeError, "structured arrays"),
    ],
)
def test_arrays(X, kind, text):
    for call in (ENCODER.check, ENCODER.encode_features, lambda X: ENCODER.encode(X, [0] * 4)):
        with pytest.raises(kind, match=text) as caught:
            call(X)
        assert SECRET not in str(caught.value)


def test_frames():
    polars = pytest.importorskip("polars")
    plain = {"a": [0.1], "b": [0.1], "c": ["x"]}
    with pytest.raises(ParameterTypeError, match="Collect it first"):
        ENCODER.check(polars.DataFrame(plain).lazy())
    with pytest.raises(ParameterTypeError, match="Collect it first") as caught:
        ENCODER.check(polars.DataFrame(plain), polars.LazyFrame({"y": [0]}))
    assert caught.value.parameter == "y"
    with pytest.raises(ParameterError, match=r"frame\.iloc\[\[0\]\]"):
        ENCODER.check(frame()["a"])
    with pytest.raises(DomainError, match="'c': declared, but the table has no column"):
        ENCODER.check(frame()[["a", "b"]])
    with pytest.raises(ParameterError, match="X has 2 features, but Forest is expecting 3"):
        ENCODER.check(frame()[["a", "b"]].set_axis(["x", "y"], axis=1))


def test_an_arrow_schema_is_refused_by_its_types():
    arrow = pytest.importorskip("pyarrow")
    day, plain = datetime.date(2020, 1, 1), {"a": [0.1], "b": [0.1], "c": ["x"]}
    for values, text in (
        ([day], "dates and times are not supported"), ([[1]], "must hold numbers, text or bool"),
        ([{"k": 1}], "must hold numbers, text or bool"),
        (arrow.array([day]).dictionary_encode(), "must hold numbers, text or bool"),
    ):  # fmt: skip
        table = arrow.table(plain | {"b": values})
        for read in (table, table.to_batches()[0]):
            with pytest.raises(ParameterTypeError, match=text) as caught:
                ENCODER.check(read)
            assert caught.value.parameter == "b" and "2020" not in str(caught.value)
            with pytest.raises(ParameterTypeError, match=text):
                ENCODER.encode_to_predict(read)
        labels = table["b"]
        for y in (labels, labels.chunk(0), table.select(["b"])):
            with pytest.raises(ParameterTypeError, match=text) as caught, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ENCODER.check(arrow.table(plain), y)
            assert caught.value.parameter == "y"
        # A column that the domain does not name is not looked at.
        ENCODER.check(arrow.table(plain | {"d": values}))
        # A batch of a stream must not end a fit in its middle.
        assert not ENCODER.encode(table, [0]).matrix.codes.size


def test_columns_of_one_name():
    for names in (["a", "a", "c"], ["x", "1", 1]):
        with pytest.raises(DomainError, match="column names must differ"):
            ENCODER.check(frame().set_axis(names, axis=1))


REPEATED = [
    ("aabc", r"^X=columns: column names must differ, and 'a' stands twice\. .*duplicated\(\)\]"),
    ("abccc", r"'c' stands 3 times\. Rename one or leave one out"),
    ("abcqq", r"'q' stands twice.* X\[list\(domain\.feature_names\)\]\.$"),
]


@pytest.mark.parametrize(("names", "text"), REPEATED)
def test_a_repeated_column_is_named(names, text):
    table = pd.DataFrame(np.zeros((4, len(names))), columns=list(names))
    for call in (ENCODER.check, ENCODER.encode, ENCODER.domain.check):
        with pytest.raises(ParameterError, match=text) as caught:
            call(table, [0] * 4)
        assert isinstance(caught.value, DomainError) and caught.value.entry == "features"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.parameter) == (str(caught.value), "X")
    with pytest.raises(ParameterError, match="stands .*Rename one or leave one out"):
        Domain.draft(table)


def test_a_name_of_arrow_that_may_be_a_cell_is_not_told():
    # Arrow keeps what repeats in the first row of a file, which may be a record.
    table = pa.Table.from_arrays([pa.array([1.0])] * 5, names=["a", "b", "c", SECRET, SECRET])
    with pytest.raises(ParameterError, match=r"X\.select\(domain\.feature_names\)") as caught:
        ENCODER.check(table)
    assert SECRET not in str(caught.value)
    with pytest.raises(ParameterError, match="'b' stands twice. Rename one or leave one out.$"):
        ENCODER.check(table.rename_columns(["a", "b", "c", "b", "q"]))


@pytest.mark.parametrize("names", [["y", "z"], ["y", "y"], [0, "0"]])
def test_labels_of_several_columns(names):
    y = pd.DataFrame(np.zeros((4, 2)), columns=names)
    for call in (ENCODER.check, ENCODER.encode, ENCODER.domain.check, Domain.draft):
        with pytest.raises(ParameterError, match="^y=labels of another shape: ") as caught:
            call(GOOD, y)
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("y", "kind", "text"),
    [
        ([0] * 3, ParameterError, "inconsistent numbers of samples"),
        (np.zeros((4, 2)), ParameterError, "multi-output is not supported"),
        (0, ParameterError, "should be a 1d array"),
        ({0, 1}, ParameterError, "a list of them, in the order of the records"),
        (dict.fromkeys(range(4)), ParameterError, "a list of them, in the order of the records"),
        (sparse.csr_matrix(np.zeros((4, 1))), ParameterTypeError, "sparse labels"),
    ],
)
def test_labels(y, kind, text):
    for call in (ENCODER.check, ENCODER.encode):
        with pytest.raises(kind, match=text) as caught:
            call(GOOD, y)
        assert caught.value.parameter == "y"
        assert "4" not in str(caught.value)


def test_of_lengths_that_differ_no_number_is_told():
    texts = set()
    for n_rows, n_labels in ((4, 3), (4, 5), (700, 699), (0, 1)):
        with pytest.raises(ParameterError) as caught:
            ENCODER.encode(np.zeros((n_rows, 3)), np.zeros(n_labels))
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_no_labels():
    ENCODER.check(GOOD)
    for call in (ENCODER.check, ENCODER.encode):
        with pytest.raises(ParameterError, match="requires y to be passed, but the target y is N"):
            call(GOOD, None)


def test_a_column_of_labels_is_flattened_with_a_warning():
    from sklearn.exceptions import DataConversionWarning

    pandas = pytest.importorskip("pandas")
    y = np.array([0, 1, 0, 1])
    for labels in (y[:, None], pandas.DataFrame({"y": y})):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as caught:
            ENCODER.check(GOOD, labels)
        assert len(caught) == 1 and caught[0].filename == __file__
        # At the door alone: one for each batch would tell how many there are.
        assert ENCODER.encode(GOOD, labels).labels.tolist() == y.tolist()
        assert ENCODER.encode_labels(labels).tolist() == y.tolist()
    with pytest.raises(ParameterError, match="multi-output"):
        ENCODER.encode_labels(pandas.DataFrame({"y": y, "z": y}))


def test_where_a_table_can_be_read_it_is_said_how():
    """Readers of Arrow, and what hands over its columns, hold a table and are none."""
    pa, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    table = pa.table({"a": [0.123456], "b": [0.1], "c": ["x"]})
    handed = type("Handed", (), {"__arrow_c_stream__": table.__arrow_c_stream__})()
    for X in (table.to_reader(), dataset.dataset(table), handed):
        with pytest.raises(ParameterError, match=r"pyarrow.table\(X\), or X.to_table\(\)"):
            ENCODER.check(X)


def test_lazy_frames_of_dask_have_estimators_of_their_own():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pytest.importorskip("pandas").DataFrame({"a": [1]}), npartitions=1)
    with pytest.raises(ParameterTypeError, match="an estimator of dpforest.dask"):
        ENCODER.check(frame)


def test_array_likes():
    class ArrayLike:
        def __array__(self, dtype=None, copy=None):
            return GOOD

    ENCODER.check(ArrayLike())
    expected = ENCODER.encode_features(GOOD)[0].codes
    assert np.array_equal(ENCODER.encode_features(ArrayLike())[0].codes, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = ENCODER.encode(GOOD.tolist(), [0, 1, 0, 1])
    assert np.array_equal(encoded.matrix.codes, expected)
    assert encoded.labels.tolist() == [0, 1, 0, 1]


def test_sequences_and_arrays_of_pandas():
    import array
    import collections

    pd = pytest.importorskip("pandas")
    rows, y = [[0.1, 0.2, "x"], [1, 1, "y"]], [0, 1]
    expected = ENCODER.encode(rows, y)
    for table in (collections.deque(rows), tuple(rows), np.array(rows, dtype=object)):
        assert ENCODER.encode(table, y).matrix.codes.tolist() == expected.matrix.codes.tolist()
    for labels in (range(2), array.array("d", y), pd.Index(y), pd.Categorical(y), pd.array(y)):
        assert ENCODER.encode(rows, labels).labels.tolist() == y
    # Python has no such times: they must not end a fit.
    times = pd.Index([2**62 + 1, None], dtype="timestamp[ns][pyarrow]")
    for labels in (times, times.array, pd.DatetimeIndex(["2020", None])):
        assert not ENCODER.encode(rows, labels).labels.size
    for one in ("abc", b"abc", 7, pd.Series(rows), pd.Series([1, "x"]), pd.Index([1, 2])):
        with pytest.raises(ParameterError, match="Expected 2D array"):
            ENCODER.check(one, y)


def test_importing_the_domain_stays_light():
    heavy = "narwhals pandas polars pyarrow sklearn numba matplotlib scipy"
    code = (
        "import sys; import dpforest.domain as d, numpy as np; "
        "d.DomainEncoder(d.Domain(features={'a': (0, 1)}, classes=[0, 1]))"
        ".encode(np.zeros((2, 1)), [0, 1]); "
        f"print(*(m for m in '{heavy}'.split() if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
