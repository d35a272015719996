"""Compressions and places of a Parquet footer: known before anything is spent."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, StreamError
from dpforest.records.streams.parquet_chunks import Chunk, chunks_of
from dpforest.records.streams.parquet_files import bytes_of_footer
from dpforest.streams import ParquetStream

pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as parquet  # noqa: E402

DOMAIN = Domain(
    features={"size": (0, 9), "kind": ["a", "b"]}, classes=["yes", "no"], approximate_rows=100
)
N = 12
COLUMNS = {"size": [1.0, 2.0, 3.0] * 4, "kind": ["a", "b"] * 6, "target": ["yes", "no"] * 6}
#: What Arrow calls compressions that it writes, and the number of each in the format.
WRITTEN = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6, "lz4": 7}


def content_of(columns=None, **parameters) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns or COLUMNS), file, **parameters)
    return file.getvalue()


def footer_in(content: bytes) -> bytes:
    return content[-8 - int.from_bytes(content[-8:-4], "little") : -8]


def compressed_by(number: int, columns=tuple(COLUMNS)) -> bytes:
    """A file whose footer names another compression for some columns."""
    content = content_of(compression="snappy")
    footer = footer_in(content)
    changed = footer
    for name in columns:
        # The column's name, a field of 32 bits, the number twice, a field of 64 bits.
        before, after = (name.encode() + bytes([0x15, 2 * k, 0x16]) for k in (1, number))
        assert changed.count(before) == 1
        changed = changed.replace(before, after)
    return content[: -8 - len(footer)] + changed + content[-8:]


def fit(path, accountant):
    forest = PrivateForestClassifier(
        epsilon=3, strategy="one_shot", domain=DOMAIN, random_state=1, accountant=accountant
    )
    return forest.fit(ParquetStream(path, "target"))


def refused(path, said):
    accountant = BudgetAccountant(9)
    with pytest.raises(StreamError, match=said):
        fit(path, accountant)
    assert accountant.spent.exact.epsilon == 0


@pytest.mark.parametrize("number", [3, 8, 9, 60])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_compression_that_is_not_read_is_refused_with_nothing_spent(number, column, tmp_path):
    """LZO is in the format and in no release of Arrow; beyond 7 the format has none yet."""
    (tmp_path / "0.parquet").write_bytes(content_of())
    (tmp_path / "1.parquet").write_bytes(compressed_by(number, [column]))
    name = {3: "lzo"}.get(number, f"number {number}")
    refused(tmp_path, f"1.parquet: column '{column}' is compressed by {name}, which pyarrow")


def test_a_compression_that_this_arrow_was_built_without_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(content_of(compression="zstd"))
    codec = SimpleNamespace(is_available=lambda name: name != "zstd")
    monkeypatch.setattr(pa, "Codec", codec)
    refused(tmp_path, "a.parquet: column 'size' is compressed by zstd, which pyarrow does not")


@pytest.mark.parametrize("compression", WRITTEN)
def test_every_compression_that_arrow_writes_is_read(compression, tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(content_of(compression=compression, row_group_size=5))
    assert fit(path, BudgetAccountant(9)).privacy_report().guarantee


def test_columns_that_nobody_declared_may_be_compressed_in_any_way(tmp_path):
    content = content_of({**COLUMNS, "more": ["x"] * N})
    footer = footer_in(content)
    changed = footer.replace(b"more\x15\x02\x16", b"more\x15\x06\x16")
    assert changed != footer
    path = tmp_path / "a.parquet"
    path.write_bytes(content[: -8 - len(footer)] + changed + content[-8:])
    assert fit(path, BudgetAccountant(9)).privacy_report().guarantee


def test_a_footer_without_its_columns_is_refused_with_nothing_spent(tmp_path):
    content = content_of()
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + content[-8 - len(footer_in(content)) :])
    refused(tmp_path, "a.parquet: column 'size' is said to be beyond its end")


def test_a_footer_for_columns_of_other_files_is_refused_with_nothing_spent(tmp_path):
    """As programs write it beside a folder's files, under a name that is theirs to choose."""
    path = tmp_path / "a.parquet"
    path.write_bytes(content_of())
    metadata = parquet.read_metadata(path)
    metadata.set_file_path("b.parquet")
    metadata.write_metadata_file(path)
    refused(path, "a.parquet: column 'size' is said to be in another file")


# -- the footer itself ----------------------------------------------------------------------------

SHAPES = {
    "plain": COLUMNS,
    "nested": {**COLUMNS, "deep": [{"kind": [1]}] * N, "map": pa.array(
        [[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())
    )},
    "many columns": {f"column {number}": [number] * N for number in range(40)},
    "no rows": {name: pa.array(values[:0]) for name, values in COLUMNS.items()},
    "a name of many bytes": {"é" * 100: [None] * N, "": [True] * N},
}  # fmt: skip


@pytest.mark.parametrize("group", [1, 5, N])
@pytest.mark.parametrize("compression", WRITTEN)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_read_as_arrow_reads_it(shape, compression, group):
    content = content_of(SHAPES[shape], compression=compression, row_group_size=group)
    metadata = parquet.read_metadata(io.BytesIO(content))
    expected = []
    for number in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(number).column(place)
            starts = {column.data_page_offset, column.dictionary_page_offset} - {None}
            end = min(starts) + column.total_compressed_size
            path = metadata.schema.column(place).path
            name = "none" if column.compression == "UNCOMPRESSED" else column.compression.lower()
            if path == metadata.schema.column(place).name and "." not in path:
                expected.append((path, name, end, False))
    found = [
        (chunk.column, chunk.compression.removesuffix("_raw"), chunk.end, chunk.elsewhere)
        for chunk in chunks_of(footer_in(content))
    ]
    assert found == expected
    assert len(found) > 0 or shape == "no rows"


def test_numbers_of_compressions_are_those_of_the_format():
    names = [next(chunks_of(footer_in(compressed_by(number)))).compression for number in range(9)]
    assert names[:8] == ["none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"]
    assert names[8] == "number 8"


def test_it_is_the_footer_of_the_file(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(content_of())
    assert bytes_of_footer(path) == footer_in(path.read_bytes())


@given(changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=8),
       cut=st.integers(0, 2000))  # fmt: skip
def test_any_bytes_are_read_or_refused_in_one_way(changes, cut):
    footer = bytearray(footer_in(content_of()))
    for place, byte in changes:
        footer[place % len(footer)] = byte
    try:
        found = list(chunks_of(bytes(footer[: cut or None])))
    except ValueError as error:
        assert str(error) == "not the footer of a Parquet file"
    else:
        assert all(isinstance(chunk, Chunk) for chunk in found)


UNKNOWN = """
import sys
from types import SimpleNamespace
from dpforest import StreamError
from dpforest.streams import ParquetStream
try:
    ParquetStream(sys.argv[1], "target").check(("size", "kind"))
except StreamError as error:
    print(error)
"""


def test_a_compression_that_nobody_knows_ends_no_process(tmp_path):
    """Arrow 26 ended the whole process where it was asked for the name of one."""
    (tmp_path / "a.parquet").write_bytes(compressed_by(8))
    asked = [sys.executable, "-c", UNKNOWN, str(tmp_path / "a.parquet")]
    run = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert "is compressed by number 8" in run.stdout
