"""Parquet: a value means what it means alone, whatever the type of its column in its file."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, StreamError
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.values import meaning_of
from dpforest.streams import ParquetStream

pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as parquet  # noqa: E402

BIG = 2**53
DOMAIN = Domain(
    features={
        "number": {"lower": -100, "upper": 100, "missing": True},
        "large": (float(BIG - 8), float(BIG + 8)),
        "kind": ["a", "3", "b", "0.1"],
    },
    classes=["yes", "no", "7"],
    approximate_rows=100,
)
NAMES = (*DOMAIN.feature_names, "target")

Records = list[tuple[int, ...]]


def codes_of(paths, batch_rows=2**17) -> Records:
    """Codes and label of each record that is kept, in their order."""
    encoder, stream = DomainEncoder(DOMAIN), ParquetStream(paths, "target")
    stream.check(DOMAIN.feature_names)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpforest.records.streams.parquet_files.BATCH_ROWS", batch_rows)
        for batch in stream.batches_of(DOMAIN.feature_names):
            encoder.check(batch.X, batch.y)
            table = encoder.encode(batch.X, batch.y)
            found += np.column_stack([table.matrix.codes, table.labels]).tolist()
    return [tuple(record) for record in found]


def codes_alone(record) -> Records:
    """What a record is by the one place where values are understood."""
    meant = [meaning_of(value) for value in record]
    table = DomainEncoder(DOMAIN).encode([meant[:-1]], [meant[-1]])
    return [tuple(r) for r in np.column_stack([table.matrix.codes, table.labels]).tolist()]


def written(folder, columns: dict, name: str = "a.parquet", **parameters):
    path = folder / name
    parquet.write_table(pa.table(columns), path, **parameters)
    return path


def plain(n: int, **columns) -> dict:
    """Columns of a table that is in order, but for those that are given."""
    return {"number": [1.0] * n, "large": [BIG] * n, "kind": ["a"] * n, "target": ["yes"] * n} | (
        columns
    )


# Every type that is read, with values that it can bring in different ways.

INTEGERS = [1, 3, 7, -5, None, 100]
LARGE = [BIG - 1, BIG, BIG + 1, BIG + 2, BIG + 3, None]
TEXTS = [
    "a", "3", " 3.0", "", "nan", "nan(7)", "NA", "true", "b\0", None, "0x10", "1e400", "٣", "yes",
]  # fmt: skip
BYTES = [text and text.encode() for text in TEXTS] + [b"\xff", b"a\xff", b"\xed\xa0\x80"]
DECIMALS = [Decimal("3.00"), Decimal("0.10"), None, Decimal("-7.25")]
TYPES = {
    **{name: (getattr(pa, name)(), INTEGERS) for name in ("int8", "int16", "int32", "int64")},
    **{name: (getattr(pa, name)(), [1, 3, 7, None]) for name in ("uint8", "uint16", "uint32")},
    "large int64": (pa.int64(), LARGE),
    "large uint64": (pa.uint64(), LARGE + [2**64 - 1]),
    "int64 without nulls": (pa.int64(), LARGE[:-1]),
    "float64": (pa.float64(), [3.0, 0.1, None, float("nan"), float("inf"), -0.0, 1e300]),
    "float32": (pa.float32(), [np.float32(x) for x in (3, 0.1, float("nan"), 1e30)] + [None]),
    "float16": (pa.float16(), [np.float16(x) for x in (3, 0.1, np.nan, np.inf)] + [None]),
    "bool": (pa.bool_(), [True, False, None]),
    "null": (pa.null(), [None, None]),
    "decimal128": (pa.decimal128(9, 2), DECIMALS),
    "decimal128 with more places": (pa.decimal128(38, 12), DECIMALS),
    "decimal256": (pa.decimal256(70, 3), [*DECIMALS, Decimal(10) ** 60]),
    "string": (pa.string(), TEXTS),
    "large_string": (pa.large_string(), TEXTS),
    "dictionary of strings": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "dictionary of integers": (pa.dictionary(pa.int32(), pa.int64()), INTEGERS),
    "ordered dictionary": (pa.dictionary(pa.int8(), pa.string(), ordered=True), TEXTS),
    "binary": (pa.binary(), BYTES),
    "large_binary": (pa.large_binary(), BYTES),
    "binary of two": (pa.binary(2), [b"a ", b"3\0", b"\xff\xff", None]),
    "string that is no text": (pa.string(), BYTES),
    "large_string that is no text": (pa.large_string(), BYTES),
    **{
        f"dictionary that is no text, {values} by {index}": (pa.dictionary(index, values), BYTES)
        for index in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32())
        for values in (pa.string(), pa.large_string())
    },
    "dictionary of bytes": (pa.dictionary(pa.int8(), pa.binary()), BYTES),
    "dictionary of doubles": (pa.dictionary(pa.int8(), pa.float64()), [0.5, 0.1, None, 3.0]),
}


def array_of(values, kind):
    """Arrow array of a type; of bytes as text nobody looks at them."""
    if not any(isinstance(value, bytes) for value in values) or pa.types.is_fixed_size_binary(kind):
        return pa.array(values, kind)
    if pa.types.is_dictionary(kind):
        coded = array_of(values, kind.value_type).dictionary_encode()
        # Of categories nobody looks at the bytes either.
        return pa.DictionaryArray.from_arrays(
            coded.indices.cast(kind.index_type), coded.dictionary, safe=False
        )
    wide = "large" in str(kind)
    bytes_of = pa.array(values, pa.large_binary() if wide else pa.binary())
    return bytes_of.view(kind) if "string" in str(kind) else bytes_of


def as_text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@pytest.mark.parametrize("name", TYPES)
def test_values_of_every_type_mean_what_they_mean_alone(name, tmp_path):
    kind, values = TYPES[name]
    n = len(values)
    for column, group in itertools.product(NAMES, (1, 3, 100)):
        columns = plain(n, **{column: array_of(values, kind)})
        path = written(tmp_path, columns, row_group_size=group)
        rows = zip(*(plain(n, **{column: map(as_text, values)})[c] for c in NAMES), strict=True)
        expected = list(itertools.chain(*map(codes_alone, rows)))
        assert codes_of(path) == expected
        assert codes_of(path, batch_rows=2) == expected


def types_of_arrow():
    """All types that Arrow has a test for and makes without a parameter."""
    for name in dir(pa.types):
        make = getattr(pa, name.removeprefix("is_"), None) if name.startswith("is_") else None
        if make is not None:
            with contextlib.suppress(TypeError):
                yield make()


def test_every_type_that_arrow_reads_back_is_read_or_refused(tmp_path):
    """A type that is new in Arrow is refused by name, until somebody says what it means."""
    read = 0
    for kind in types_of_arrow():
        try:
            path = written(tmp_path, plain(2, kind=pa.array([None, None], kind)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        try:
            assert len(codes_of(path)) == 0  # missing, which is not allowed
            read += 1
        except StreamError as error:
            assert "column 'kind' is of type" in str(error)
    assert read > 12


# Rows of any values, in files of any types that hold them.

NUMBERS = st.sampled_from([*INTEGERS, 50, -100])
WAYS = {
    "integers": (NUMBERS, [pa.int8(), pa.int64(), pa.float64(), pa.float32(), pa.decimal128(9, 3)]),
    "large": (st.sampled_from(LARGE), [pa.int64(), pa.uint64(), pa.decimal128(38, 2)]),
    "texts": (
        st.sampled_from(TEXTS) | st.text(max_size=3),
        [pa.string(), pa.large_string(), pa.dictionary(pa.int16(), pa.string())],
    ),
    "booleans": (st.sampled_from([True, False, None]), [pa.bool_()]),
    "doubles": (st.floats() | st.none(), [pa.float64()]),
    "labels": (
        st.sampled_from(["yes", "no", "7"]), [pa.string(), pa.dictionary(pa.int8(), pa.string())],
    ),
}  # fmt: skip


@st.composite
def parts(draw):
    """A few rows whose columns have each a way and a type of their own."""
    n = draw(st.integers(0, 4))
    columns, rows = {}, []
    for name in NAMES:
        often = "labels" if name == "target" else "large"
        values, kinds = WAYS[draw(st.sampled_from([*WAYS, often]))]
        drawn = draw(st.lists(values, min_size=n, max_size=n))
        columns[name] = pa.array(drawn, draw(st.sampled_from(kinds)))
        rows.append(drawn)
    return columns, list(zip(*rows, strict=True)), draw(st.integers(1, 4))


@given(files=st.lists(parts(), min_size=1, max_size=3), batch_rows=st.integers(1, 4))
def test_a_record_follows_from_its_own_row(files, batch_rows, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "rows"
    folder.mkdir(exist_ok=True)
    paths = [
        written(folder, columns, f"{i}.parquet", row_group_size=group)
        for i, (columns, _, group) in enumerate(files)
    ]
    expected = [codes_alone(row) for _, rows, _ in files for row in rows]
    assert codes_of(paths, batch_rows) == list(itertools.chain(*expected))


@given(
    value=st.sampled_from([*BYTES, *TEXTS]), n=st.integers(0, 5), place=st.integers(0, 5),
    group=st.integers(1, 6),
    kind=st.sampled_from([
        pa.string(), pa.binary(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()),
    ]),
)  # fmt: skip
def test_one_odd_cell_changes_no_other(value, n, place, group, kind, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "cells"
    folder.mkdir(exist_ok=True)
    value = value.encode() if isinstance(value, str) else value
    cells = [b"a", b"3", b"zzz", None, b"0.1"][:n]
    place = min(place, n)
    own = []
    for column in ("kind", "number", "target"):
        for given_cells in (cells, [*cells[:place], value, *cells[place:]]):
            columns = plain(len(given_cells), **{column: array_of(given_cells, kind)})
            if not given_cells:
                columns[column] = pa.array([], kind)
            own.append(codes_of(written(folder, columns, row_group_size=group)))
        without, with_it = own[-2:]
        one = codes_alone(plain(1, **{column: [as_text(value)]})[name][0] for name in NAMES)
        before = sum(
            len(codes_alone(plain(1, **{column: [as_text(cell)]})[name][0] for name in NAMES))
            for cell in cells[:place]
        )
        assert with_it == without[:before] + one + without[before:]


# What footers tell is told with nothing spent.

DAY = datetime.date(2020, 1, 1)
REFUSED = {
    "date": [DAY],
    "timestamp": [datetime.datetime(2020, 1, 1)],
    "time zone": pa.array([datetime.datetime(2020, 1, 1)], pa.timestamp("us", "UTC")),
    "time": [datetime.time(1, 2)],
    "duration": [datetime.timedelta(1)],
    "dictionary of dates": pa.array([DAY]).dictionary_encode(),
    "list": [[1, 2]],
    "struct": [{"a": 1}],
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "list of fixed size": pa.array([[1, 2]], pa.list_(pa.int64(), 2)),
}


@pytest.mark.parametrize("column", ["number", "kind", "target"])
@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_a_type_without_meaning_is_refused_with_nothing_spent(values, column, tmp_path):
    paths = [
        written(tmp_path, plain(1), "0.parquet"),
        written(tmp_path, plain(1, **{column: values}), "1.parquet"),
    ]
    accountant = BudgetAccountant(9)
    # Its kind alone: names of fields and zones may be those of cells.
    said = f"1.parquet: column '{column}' is of type [a-z0-9_]+[.]"
    with pytest.raises(StreamError, match=said) as caught:
        fit(paths, accountant)
    assert len(str(caught.value)) < 200
    assert accountant.spent.exact.epsilon == 0


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_columns_that_nobody_declared_may_be_of_any_type(values, tmp_path):
    path = written(tmp_path, {"kind.b": ["x"], **plain(1), "more": values, "number.a": values})
    assert len(codes_of(path)) == 1
    (batch,) = ParquetStream(path, "target").batches_of(DOMAIN.feature_names)
    assert set(batch.X.column_names) == {"number", "large", "kind"}


def fit(paths, accountant=None, domain=DOMAIN):
    forest = PrivateForestClassifier(
        epsilon=3, strategy="one_shot", domain=domain, random_state=1, accountant=accountant
    )
    return forest.fit(ParquetStream(paths, "target"))


def test_a_column_that_nobody_declared_is_not_read(tmp_path):
    noise = [f"noise {number}" for number in range(300)]
    path = written(tmp_path, {"more": noise, **plain(300)}, compression="none")
    data = bytearray(path.read_bytes())
    data[4:204] = b"\xff" * 200  # its first page
    path.write_bytes(bytes(data))
    with pytest.raises(StreamError, match="row group 0: it cannot be read"):
        list(ParquetStream(path, "target").batches())
    assert fit(path).privacy_report().guarantee


@pytest.mark.parametrize("changes", [{"kind": [DAY]}, {"kind": [[1]]}, {"number": [{"a": 1}]}])
def test_a_file_that_became_another_one_is_refused_in_our_own_words(changes, tmp_path):
    stream = ParquetStream(written(tmp_path, plain(1)), "target")
    stream.check(DOMAIN.feature_names)
    written(tmp_path, plain(1, **changes))
    with pytest.raises(StreamError, match="a.parquet: column .* is of type"):
        list(stream.batches_of(DOMAIN.feature_names))


def test_two_columns_of_one_name_are_refused_with_nothing_spent(tmp_path):
    table = pa.table([[1.0], [BIG], ["a"], ["yes"], ["b"]], names=[*NAMES, "kind"])
    parquet.write_table(table, tmp_path / "a.parquet")
    accountant = BudgetAccountant(9)
    with pytest.raises(StreamError, match="a.parquet: its column names must differ"):
        fit(tmp_path, accountant)
    assert accountant.spent.exact.epsilon == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_a_fit_goes_through_text_that_is_none(kind, tmp_path):
    cells = array_of([b"a", b"\xff", b"b"], kind)
    path = written(tmp_path, plain(3, kind=cells, target=["yes", "yes", "no"]))
    assert fit(path).privacy_report().guarantee


ENCRYPTED = """
import base64, sys
import pyarrow as pa
import pyarrow.parquet as parquet
import pyarrow.parquet.encryption as encryption
from dpforest import StreamError
from dpforest.streams import ParquetStream

class Keys(encryption.KmsClient):
    def __init__(self, settings):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key, name):
        return base64.b64encode(key)

    def unwrap_key(self, key, name):
        return base64.b64decode(key)

settings = encryption.EncryptionConfiguration(
    footer_key="key", column_keys={"key": [sys.argv[2]]}, plaintext_footer=bool(sys.argv[3])
)
properties = encryption.CryptoFactory(Keys).file_encryption_properties(
    encryption.KmsConnectionConfig(), settings
)
table = pa.table({"x": [1], "more": [2], "target": ["yes"]})
with parquet.ParquetWriter(sys.argv[1], table.schema, encryption_properties=properties) as writer:
    writer.write_table(table)
try:
    ParquetStream(sys.argv[1], "target").check(("x",))
except StreamError as error:
    print(error)
"""


@pytest.mark.parametrize("footer", ["plain", ""], ids=["plain footer", "encrypted footer"])
@pytest.mark.parametrize("column", ["x", "more"])
def test_an_encrypted_file_is_refused_before_anything_is_spent(column, footer, tmp_path):
    """In a process of its own: Arrow ended it, where it was asked to write the footer anew."""
    pytest.importorskip("pyarrow.parquet.encryption")
    asked = [sys.executable, "-c", ENCRYPTED, str(tmp_path / "a.parquet"), column, footer]
    run = subprocess.run(asked, capture_output=True, text=True, check=True)
    said = "it is encrypted. Write it without" if footer else "it cannot be read (OSError): "
    assert run.stdout.startswith(f"a.parquet: {said}")


@pytest.mark.parametrize(
    ("kind", "storage", "cells"),
    [
        (pa.json_(), pa.string(), ["a", "3", '{"b": 1}', None]),
        (pa.uuid(), pa.binary(16), [b"3".rjust(16), b"\xff" * 16, None]),
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["kind", "target"])
def test_types_of_parquet_of_which_arrow_has_its_own_are_text_and_bytes(
    column, kind, storage, cells, tmp_path
):
    """As other writers than Arrow leave them: with Parquet's type alone."""
    stored = pa.array(cells, storage)
    made = plain(len(cells), **{column: pa.ExtensionArray.from_storage(kind, stored)})
    path = written(tmp_path, made, store_schema=False)
    alone = plain(len(cells), **{column: map(as_text, cells)})
    rows = zip(*(alone[name] for name in NAMES), strict=True)
    assert codes_of(path) == list(itertools.chain(*map(codes_alone, rows)))


def test_dictionaries_that_are_left_in_a_footer_are_refused_with_nothing_spent(tmp_path):
    """Where a release of Arrow kept its types in another way, no record would be read by them."""
    cells = array_of([b"a", b"\xff"], pa.dictionary(pa.int8(), pa.string()))
    path, accountant = written(tmp_path, plain(2, kind=cells)), BudgetAccountant(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpforest.records.streams.parquet_files._ARROW_SCHEMA", b"another way")
        with pytest.raises(StreamError, match="column 'kind' is of type dictionary"):
            fit(path, accountant)
    assert accountant.spent.exact.epsilon == 0


def test_columns_with_the_name_of_what_is_left_out_are_read(tmp_path):
    name = "ARROW:schema"
    domain = Domain(features={name: ["a", "b"]}, classes=[name, "no"], approximate_rows=9)
    cells = array_of([b"a", b"\xff"], pa.dictionary(pa.int8(), pa.string()))
    path = written(tmp_path, {name: cells, "target": [name, "no"]})
    (batch,) = ParquetStream(path, "target").batches_of([name])
    assert batch.X[name].to_pylist() == ["a", "\ufffd"]
    assert batch.y.to_pylist() == [name, "no"]
    assert fit(path, domain=domain).classes_.tolist() == [name, "no"]


def test_a_name_that_holds_the_mark_of_what_is_left_out_is_refused_with_nothing_spent(tmp_path):
    name, accountant = "\x18\x0cARROW:schema\x18", BudgetAccountant(9)
    domain = Domain(features={name: ["a", "b"]}, classes=["a", "no"], approximate_rows=9)
    path = written(tmp_path, {name: array_of([b"a"], pa.string()), "target": ["no"]})
    with pytest.raises(StreamError, match="a column has a name that Arrow reserves. Rename it"):
        fit(path, accountant, domain=domain)
    assert accountant.spent.exact.epsilon == 0


def test_row_groups_and_files_may_be_empty(tmp_path):
    schema = pa.schema([("number", pa.int64()), ("large", pa.int64()), ("kind", pa.string())])
    schema = schema.append(pa.field("target", pa.string()))
    table = pa.table(plain(2, number=[1, 2]), schema=schema)
    with parquet.ParquetWriter(tmp_path / "0.parquet", schema) as writer:
        for part in (table.slice(0, 0), table, table.slice(0, 0), table):
            writer.write_table(part)
    parquet.write_table(table.slice(0, 0), tmp_path / "1.parquet")
    with parquet.ParquetWriter(tmp_path / "2.parquet", schema):
        pass
    paths = sorted(tmp_path.glob("*.parquet"))
    assert len(codes_of(paths)) == 4 and codes_of(paths[1:]) == []
    assert fit(paths[1:]).privacy_report().guarantee


@pytest.mark.parametrize("seed", range(20))
def test_damaged_files_are_refused_in_our_own_words(seed, tmp_path):
    path = written(tmp_path, plain(50, kind=[f"secret{i}" for i in range(50)]))
    data = bytearray(path.read_bytes())
    generator = np.random.default_rng(seed)
    for place in generator.integers(len(data) // 2, len(data) - 8, 4):
        data[place] = generator.integers(256)
    path.write_bytes(bytes(data))
    try:
        codes_of(path)
    except StreamError as error:
        assert "secret" not in str(error)
