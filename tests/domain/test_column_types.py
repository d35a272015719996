"""Every type that a column can have, in every library that is read, and what its values mean.

A library gives all values of a column one type, and one record may change it. So each type is
read, none is refused, and a value means what it means alone. The lists of types are the libraries'
own: a new one fails here until somebody says what its values mean.
"""

from __future__ import annotations

import datetime
import math
import re
import uuid
from decimal import Decimal

import numpy as np
import pytest

from dpforest.domain import Domain, DomainEncoder
from dpforest.domain.labels import read_labels
from dpforest.domain.opening import read_table
from dpforest.domain.series import column_of, is_plain_arrow
from dpforest.domain.values import UNREADABLE, meaning_of, to_floats
from dpforest.exceptions import ParameterTypeError

DAY = datetime.date(2020, 1, 1)
NOON = datetime.datetime(2020, 1, 1, 12)
ZONED = NOON.replace(tzinfo=datetime.UTC)
SPAN = datetime.timedelta(1)
CLOCK = datetime.time(12)
ENCODER = DomainEncoder(Domain(features={"v": (0, 2)}, target=(0, 2)), task="regression")


def meanings(column) -> list:
    """Meanings of a column as it is read, by both ways to numbers; NaN is None."""
    listed = column.tolist() if isinstance(column, np.ndarray) else column
    found = [meaning_of(value) for value in listed]
    numbers, unparsable = to_floats(column)
    for meaning, number, broken in zip(
        found, numbers.tolist(), np.zeros(len(found)) if unparsable is None else unparsable,
        strict=True,
    ):  # fmt: skip
        assert isinstance(meaning, float) == (not math.isnan(number))
        assert meaning == number or isinstance(meaning, str) == bool(broken)
    return found


def read_both_ways(series, frame) -> list:
    """What a column means as a feature; as labels it means the same, if no cell is a row of one."""
    as_labels, as_feature = read_labels(series, ""), read_table(frame).column(0)
    found = meanings(as_feature)
    assert found == meanings(as_labels)
    # It is encoded without an error, whatever it is.
    keep = ENCODER.encode_features(frame)[1]
    assert keep.tolist() == [isinstance(meaning, float) for meaning in found]
    assert ENCODER.encode(frame, series).targets.size == keep.sum()
    return found


#: Type code of numpy → two values of the type, and what they mean.
NUMPY = {
    "?": ([True, False], [1, 0]),
    **dict.fromkeys("bhilqnpBHILQNP", ([1, 2], [1, 2])),
    **dict.fromkeys("efdg", ([0.5, math.nan], [0.5, None])),
    **dict.fromkeys("FDG", ([0.5, complex(math.nan, 0)], [0.5, None])),
    "S": ([b"a", b"1"], ["a", 1]),
    "U": (["a", "1"], ["a", 1]),
    "O": ([[1, 2], "a"], [UNREADABLE, "a"]),
    "M": (["2020-01-01", "NaT"], [UNREADABLE, None]),
    "m": ([np.timedelta64(1, "ns"), np.timedelta64("NaT", "ns")], [UNREADABLE, None]),
    "V": None,  # structured arrays are refused: they are declared
}
NAMED = {"S": "S4", "U": "U4", "M": "M8[D]", "m": "m8[ns]"}


@pytest.mark.parametrize("code", np.typecodes["All"])
def test_numpy(code):
    if NUMPY[code] is None:
        return
    values, expected = NUMPY[code]
    array = np.array(values, dtype=NAMED.get(code, code))
    assert read_both_ways(array, array[:, None]) == expected
    masked = np.ma.array(array, mask=[True, False])
    assert read_both_ways(masked, masked[:, None]) == [None, expected[1]]
    # A cell of this type means the same by itself, beside others.
    assert meanings([array[0], None]) == [expected[0], None]


def test_numpys_own_text():
    kind = getattr(np.dtypes, "StringDType", None)
    if kind is not None:
        array = np.array(["a", "1", None], dtype=kind(na_object=None))
        assert meanings(column_of(array)) == ["a", 1, None]


POLARS = {
    "Boolean": ([True], 1), "Binary": ([b"a"], "a"), "Categorical": (["a"], "a"),
    "Enum": (["a"], "a"), "String": (["1"], 1), "Decimal": ([Decimal("0.10")], 0.1),
    "Null": ([None], None), "Object": ([(1, 2)], UNREADABLE),
    **dict.fromkeys(("Float16", "Float32", "Float64"), ([0.5], 0.5)),
    **dict.fromkeys([f"{u}Int{n}" for u in ("", "U") for n in (8, 16, 32, 64, 128)], ([1], 1)),
    "Date": ([DAY], UNREADABLE), "Datetime": ([NOON], UNREADABLE),
    "Duration": ([SPAN], UNREADABLE), "Time": ([CLOCK], UNREADABLE),
    "List": ([[1, 2]], UNREADABLE), "Array": ([[1, 2]], UNREADABLE),
    "Struct": ([{"a": 1}], UNREADABLE),
    "Map": ([[{"key": "a", "value": 1}]], UNREADABLE),
    "Extension": None, "Unknown": None, "BaseExtension": None,  # to be extended, or no type at all
}  # fmt: skip


def leaves(kind) -> set[str]:
    return set().union(*map(leaves, kind.__subclasses__())) or {kind.__name__}


def polars_series(pl, name, values):
    special = {
        "Enum": lambda: pl.Enum(["a"]), "List": lambda: pl.List(pl.Int8),
        "Array": lambda: pl.Array(pl.Int8, 2), "Struct": lambda: pl.Struct({"a": pl.Int8}),
        "Map": lambda: pl.Map(pl.String, pl.Int8), "Decimal": lambda: pl.Decimal(10, 2),
    }  # fmt: skip
    kind = special.get(name, lambda: getattr(pl, name))()
    return pl.Series("v", [*values, None], dtype=kind)


def test_polars():
    pl = pytest.importorskip("polars")
    ours = {kind for kind in leaves(pl.DataType) if hasattr(pl, kind) or kind == "Unknown"}
    assert ours <= set(POLARS), "say what values of a new type mean"
    for name in ours:
        if POLARS[name] is not None:
            values, expected = POLARS[name]
            series = polars_series(pl, name, values)
            labels = series.alias("outcome")  # of the feature's name they are refused
            assert read_both_ways(labels, series.to_frame()) == [expected, None], name


def arrow_samples(pa) -> dict:
    """Arrow's id of a type → an array of it with a null last, and what its first value means."""
    whole = [f"{u}INT{n}" for u in ("", "U") for n in (8, 16, 32, 64)]
    numbers = {
        **{name: getattr(pa, name.lower()) for name in whole},
        "FLOAT": pa.float32, "DOUBLE": pa.float64,
    }  # fmt: skip
    samples = {name: (pa.array([1, None], kind()), 1) for name, kind in numbers.items()}
    samples["HALF_FLOAT"] = (pa.array([np.float16(1), None], pa.float16()), 1)
    for name in ("STRING", "LARGE_STRING", "STRING_VIEW"):
        samples[name] = (lambda n=name: pa.array(["1", None], getattr(pa, n.lower())()), 1)
    for name in ("BINARY", "LARGE_BINARY", "BINARY_VIEW"):
        samples[name] = (lambda n=name: pa.array([b"a", None], getattr(pa, n.lower())()), "a")
    for n in (32, 64, 128, 256):
        samples[f"DECIMAL{n}"] = (
            lambda n=n: pa.array([Decimal("0.10"), None], getattr(pa, f"decimal{n}")(5, 2)), 0.1,
        )  # fmt: skip
    text, days = pa.array(["1", None]), pa.array([DAY, None])
    numbers, firsts = pa.array([1, None], pa.int8()), pa.array([0, 0], pa.int8())
    samples |= {
        "BOOL": (pa.array([True, None]), 1), "NA": (pa.nulls(2), None),
        "FIXED_SIZE_BINARY": (pa.array([b"1", None], pa.binary(1)), 1),
        "DICTIONARY": (text.dictionary_encode(), 1),
        "RUN_END_ENCODED": (lambda: pa.RunEndEncodedArray.from_arrays([1, 2], text), 1),
        "DATE32": (days, UNREADABLE), "DATE64": (days.cast(pa.date64()), UNREADABLE),
        "TIME32": (pa.array([CLOCK, None], pa.time32("s")), UNREADABLE),
        "TIME64": (pa.array([CLOCK, None], pa.time64("ns")), UNREADABLE),
        # Python has no such time.
        "TIMESTAMP": (pa.array([2**62 + 1, None]).cast(pa.timestamp("ns", "UTC")), UNREADABLE),
        "DURATION": (pa.array([2**62 + 1, None]).cast(pa.duration("ns")), UNREADABLE),
        "INTERVAL_MONTH_DAY_NANO": (
            pa.array([(1, 2, 3), None], pa.month_day_nano_interval()), UNREADABLE,
        ),
        "INTERVAL_MONTHS": None, "INTERVAL_DAY_TIME": None,  # nothing makes them in Python
        "SPARSE_UNION": (pa.UnionArray.from_sparse(firsts, [numbers]), UNREADABLE),
        "DENSE_UNION": (
            pa.UnionArray.from_dense(firsts, pa.array([0, 1], pa.int32()), [numbers]),
            UNREADABLE,
        ),
        "STRUCT": (pa.array([{"a": 1}, None]), UNREADABLE),
        "MAP": (pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())), UNREADABLE),
    }  # fmt: skip
    for name in ("LIST", "LARGE_LIST", "LIST_VIEW", "LARGE_LIST_VIEW"):
        kind = name.lower() + "_" * (name == "LIST")
        samples[name] = (
            lambda kind=kind: pa.array([[1], None], getattr(pa, kind)(pa.int8())), UNREADABLE
        )  # fmt: skip
    samples["FIXED_SIZE_LIST"] = (pa.array([[1], None], pa.list_(pa.int8(), 1)), UNREADABLE)
    return samples


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    samples = arrow_samples(pa)
    kinds = [name.removeprefix("Type_") for name in dir(pa.lib) if name.startswith("Type_")]
    assert set(kinds) <= set(samples), "say what values of a new type mean"
    for name in kinds:
        if samples[name] is None:
            continue
        made, expected = samples[name]
        array = made() if callable(made) else made
        # Older versions of Arrow see no gap in a union; it is of no meaning there either.
        gap = UNREADABLE if "UNION" in name and not array.is_null()[1].as_py() else None
        for held in (array, pa.chunked_array([array])):
            table = pa.table({"v": held})
            assert read_both_ways(held, table) == [expected, gap], name
            assert read_both_ways(held, table.to_batches()[0]) == [expected, gap], name
        assert is_plain_arrow(array.type) == (expected != UNREADABLE), name
        if name == "RUN_END_ENCODED" or "UNION" in name:
            continue  # pandas cannot hold them
        series = pd.Series(array, dtype=pd.ArrowDtype(array.type))
        assert read_both_ways(series, series.to_frame()) == [expected, None], name


def test_a_type_that_is_refused_is_named_by_its_kind():
    """Names of a struct's fields, sizes and zones may be those of cells, where it was inferred."""
    pa = pytest.importorskip("pyarrow")
    encoder, refused = DomainEncoder(Domain(features={"v": ["a"]}, classes=[0, 1])), 0
    for name, sample in arrow_samples(pa).items():
        if sample is None or sample[1] != UNREADABLE:
            continue
        array = sample[0]() if callable(sample[0]) else sample[0]
        with pytest.raises(ParameterTypeError) as caught:
            encoder.check(pa.table({"v": array}))
        said = r"v=a column of (type [a-z0-9_]+|dates or times): [a-z ]+[.,]"
        assert re.match(said, str(caught.value)), name
        refused += 1
    assert refused > 10


def test_arrow_extensions_and_text_that_is_none():
    pa = pytest.importorskip("pyarrow")
    whole = pa.array([1, 0, None], pa.int8())
    samples = [(pa.ExtensionArray.from_storage(pa.bool8(), whole), [1, 0, None])]
    tensor = pa.fixed_shape_tensor(pa.int8(), [1])
    rows = pa.array([[1], None], pa.list_(pa.int8(), 1))
    samples += [(pa.ExtensionArray.from_storage(tensor, rows), [UNREADABLE, None])]
    names = pa.array([None, uuid.UUID(int=2**127).bytes], pa.binary(16))
    samples += [(pa.ExtensionArray.from_storage(pa.uuid(), names), [None, UNREADABLE])]
    # Arrow does not check text: one record must not end the fit.
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"]).buffers())
    samples += [(bad, [UNREADABLE, "a"]), (bad.dictionary_encode(), [UNREADABLE, "a"])]
    for array, expected in samples:
        assert read_both_ways(array, pa.table({"v": array})) == expected


def test_pandas():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from pandas.core.dtypes.base import _registry

    numbers = [f"{kind}{n}" for kind in ("Int", "UInt") for n in (8, 16, 32, 64)]
    numbers += ["Float32", "Float64"]
    period, span = pd.Period("2020"), pd.Interval(0, 1)
    samples = {
        "CategoricalDtype": (pd.Series(["a", None], dtype="category"), "a"),
        "DatetimeTZDtype": (pd.Series([ZONED, None]), UNREADABLE),
        "PeriodDtype": (pd.Series([period, None], dtype="period[Y]"), UNREADABLE),
        "IntervalDtype": (pd.Series([span, None], dtype="interval"), UNREADABLE),
        "SparseDtype": (pd.Series([1.0, math.nan], dtype="Sparse"), 1),
        "ArrowDtype": (pd.Series([1, None], dtype="int8[pyarrow]"), 1),
        "StringDtype": (pd.Series(["a", None], dtype="string[python]"), "a"),
        "BooleanDtype": (pd.Series([True, None], dtype="boolean"), 1),
        **{f"{n}Dtype": (pd.Series([1, None], dtype=n), 1) for n in numbers},
    }  # fmt: skip
    assert {kind.__name__ for kind in _registry.dtypes} <= set(samples), "a new type"
    words = ("string[pyarrow]", "string[python]", "str")
    more = [(pd.Series(["a", None], dtype=name), "a") for name in words]
    more += [(pd.Series([NOON, None]), UNREADABLE), (pd.Series([SPAN, None]), UNREADABLE)]
    more += [
        (pd.Series([1j**2, None]), -1),
        (pd.Series(pd.arrays.SparseArray(np.array([2 + 0j, math.nan]))), 2),
    ]
    # Categories of any type.
    for values, meaning in (
        ([1.0], 1), ([2 + 0j], 2), ([NOON], UNREADABLE), ([ZONED], UNREADABLE),
        ([span], UNREADABLE), ([period], UNREADABLE), ([(1, 2)], UNREADABLE), ([True], 1),
        ([Decimal("0.10")], 0.1),
    ):  # fmt: skip
        more += [(pd.Series([*values, None], dtype="category"), meaning)]
    arrow = pd.CategoricalDtype(pd.Index([2**62 + 1], dtype="timestamp[ns][pyarrow]"))
    more += [(pd.Series(pd.Categorical.from_codes([0, -1], dtype=arrow)), UNREADABLE)]
    more += [(pd.Series(pd.Categorical(["a", 1, None, {}.keys])), "a")]
    for series, expected in [*samples.values(), *more]:
        found = read_both_ways(series, series.to_frame())
        assert found[0] == expected, series.dtype
        assert found[1] is None or len(found) > 2, series.dtype


#: What narwhals knows, and what becomes of it here.
LIBRARIES = {
    "PANDAS": "read", "POLARS": "read", "PYARROW": "read",
    "MODIN": "read as pandas", "CUDF": "read as pandas",
    "DASK": "lazy", "DUCKDB": "lazy", "IBIS": "lazy", "PYSPARK": "lazy",
    "PYSPARK_CONNECT": "lazy", "SQLFRAME": "lazy",
    "UNKNOWN": "read as Arrow",
}  # fmt: skip


def test_libraries():
    nw = pytest.importorskip("narwhals")
    assert {kind.name for kind in nw.Implementation} <= set(LIBRARIES), "say how it is read"
    for name, how in LIBRARIES.items():
        kind = getattr(nw.Implementation, name, None)
        if kind is not None:
            # Of those that are eager, pandas' like are turned into pandas, see series_column.
            assert kind.is_pandas_like() == (how == "read as pandas" or name == "PANDAS")


@pytest.mark.parametrize("like", [True, False])
def test_other_libraries_are_read_as_pandas_or_as_arrow(like):
    """Modin and cuDF cannot be installed here: a stand-in that says it is one of them."""
    pd, nw = pytest.importorskip("pandas"), pytest.importorskip("narwhals")
    from dpforest.domain.series import series_column

    class Other:
        implementation = nw.Implementation.MODIN if like else nw.Implementation.UNKNOWN

        def to_pandas(self):
            return pd.Series([1j**2, None, NOON])

        def to_arrow(self):
            return pytest.importorskip("pyarrow").array([-1.0, None, math.nan])

    expected = [-1, None, UNREADABLE] if like else [-1, None, None]
    assert meanings(series_column(Other())) == expected
