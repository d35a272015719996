"""Tables of records that commands read: CSV and Parquet, by the readers of streams.

In memory and in passes a record is the same line or row, read by the same rules.

Held by tests/command_line/test_tables.py.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.values import text_of
from dpforest.exceptions import ParameterError, StreamError
from dpforest.records.base import MemoryRecords, Records
from dpforest.records.streams import csv_lines
from dpforest.records.streams.base import ReadBy, Source, check_columns
from dpforest.records.streams.csv_columns import table_of_block
from dpforest.records.streams.csv_files import BLOCK_BYTES, CSVStream, placed
from dpforest.records.streams.csv_lines import (
    CountedLines,
    blocks_of_lines,
    names_of,
    split_header,
)
from dpforest.records.streams.files import (
    ENDINGS,
    Files,
    file_list,
    files_in,
    looking_for_files,
    pyarrow,
    reading,
)
from dpforest.records.streams.parquet_files import ParquetStream
from dpforest.records.streams.passes import Batch
from dpforest.records.table import Table

#: Declared rows times columns up to which a table is read whole: some hundreds of megabytes.
MOST_CELLS = 20_000_000
_LEADING_ZERO = r"^\s*0[0-9]"


def is_streamed(domain: Domain, asked: bool | None) -> bool:
    """True if records are to be read in passes: as asked, else by the domain's declared size.

    Nothing here looks at a file: how large it is follows from the records.
    """
    if asked is not None:
        return asked
    rows = domain.approximate_rows
    return rows is not None and rows * (domain.n_features + 1) > MOST_CELLS


def labelled(paths: Sequence[str], target: str, kind: str | None = None) -> Files:
    """Files with a column of labels, for a fit."""
    found = _kind_of(paths, kind)
    pyarrow()  # refused here, not in the midst of a fit
    return (CSVStream if found == "csv" else ParquetStream)(list(paths), target)


def unlabelled(path: Path, kind: str | None = None, texts: Sequence[str] = ()) -> Features:
    """One file of records without labels, for predictions.

    Parameters
    ----------
    path : Path
    kind : {"csv", "parquet"}, optional
    texts : sequence of str
        Columns that are handed on as they are written.
    """
    pyarrow()
    found = _kind_of([str(path)], kind)
    return (_FeaturesOfCSV if found == "csv" else _FeaturesOfParquet)(path, tuple(texts))


def files_of(paths: Sequence[str], kind: str | None = None) -> tuple[Path, ...]:
    """Files in the order in which they are read."""
    return file_list(list(paths), _kind_of(paths, kind))


def _kind_of(paths: Sequence[str], given: str | None) -> str:
    """Kind of files, by what they are called."""
    if given:
        return given
    with looking_for_files():
        kinds = {kind for path in paths for kind in _kinds_at(Path(path))}
        if len(kinds) == 1:
            return kinds.pop()
        absent = [path for path in paths if not Path(path).exists()]
    if absent:
        raise ParameterError("FILE", absent[0], "is not there", "Name a file or a folder that is")
    raise ParameterError(
        "FILE", list(paths), "must be files of one kind, which their names tell",
        f"Name files that end with {', '.join(e for some in ENDINGS.values() for e in some)}, "
        "a folder of *.csv or of *.parquet files, or say --format. Save a sheet of "
        "Excel as CSV first",
    )  # fmt: skip


def _kinds_at(path: Path) -> Iterator[str]:
    for kind, endings in ENDINGS.items():
        if path.is_dir():
            yield from (kind for _ in files_in(path, kind)[:1])
        elif path.name.lower().endswith(endings):
            yield kind


# -- in memory ------------------------------------------------------------------------------------


def whole_table(source: Files, names: Sequence[str]) -> tuple[Any, Any]:
    """Features and labels of all records, each column of one type.

    Where the parts of a file have different types (a block of numbers, a block with text), the
    values of that column become text of the same meaning.

    Returns
    -------
    X : pyarrow.Table
    y : pyarrow.ChunkedArray
    """
    batches = list(source.batches_of(tuple(names)))
    X = pyarrow().table({name: _joined([batch.X[name] for batch in batches]) for name in names})
    return X, _joined([batch.y for batch in batches])


def with_leading_zeros(source: Files, X: Any) -> Any:
    """The table with numbers as they are written where some begin with a zero: codes, often.

    Of Parquet types say what is text, so its table stays as it is.
    """
    kinds = dict(zip(X.column_names, X.schema.types, strict=True))
    numbers = tuple(name for name, kind in kinds.items() if pyarrow().types.is_floating(kind))
    if not isinstance(source, CSVStream) or not numbers:
        return X
    read = copy.copy(source)
    read.texts = numbers
    written, _ = whole_table(read, numbers)
    for name in numbers:
        found = pyarrow("compute").match_substring_regex(written[name], _LEADING_ZERO)
        if pyarrow("compute").any(found).as_py():
            X = X.set_column(X.column_names.index(name), name, written[name])
    return X


class WholeTable(Source):
    """All records of files as one table, which is read when a fit asks for it: once it is charged.

    Parameters
    ----------
    files : Files
    """

    in_passes = False

    def __init__(self, files: Files) -> None:
        self._files = files

    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Look at columns and types as far as headers and schemas tell."""
        return self._files.check(feature_names)

    def records(self, encoder: DomainEncoder, n_threads: int) -> Records:
        """Read the files."""
        X, y = whole_table(self._files, encoder.domain.feature_names)
        return MemoryRecords(Table.of(encoder.encode(X, y)), n_threads)


def _joined(parts: list[Any]) -> Any:
    """Parts of a column as one."""
    pa = pyarrow()
    if not parts:
        return pa.chunked_array([pa.array([], pa.float64())])
    if len({part.type for part in parts}) > 1:
        parts = [_as_text(part) for part in parts]
    chunks = [
        chunk for part in parts for chunk in getattr(part, "chunks", None) or [part] if len(chunk)
    ]
    return pa.chunked_array(chunks, type=parts[0].type)


def _as_text(part: Any) -> Any:
    """A column as text that means the same; nothing and NaN are missing."""
    values = part.to_pylist()
    return pyarrow().array(
        [None if value is None or value != value else text_of(value) for value in values],
        pyarrow().large_string(),
    )


# -- records without labels -----------------------------------------------------------------------


class Features(Files):
    """One file of records without labels; of every line or row there is one in its batches."""

    def __init__(self, path: Path, texts: tuple[str, ...]) -> None:
        super().__init__(path, "")
        self.texts = texts

    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Open the file and look at its columns."""
        self._check_files(tuple(dict.fromkeys((*feature_names, *self.texts))))
        return ReadBy(names=True)

    def batches_of(self, feature_names: Sequence[str]) -> Iterator[Batch]:
        """Some columns, and those that are handed on."""
        return self._read(tuple(dict.fromkeys((*feature_names, *self.texts))))

    def _batch(self, table: Any, place: str) -> Batch:
        return Batch(table, None, place)


class _FeaturesOfParquet(Features, ParquetStream):
    """Parquet has a row for each record, whatever is in it."""


class _FeaturesOfCSV(Features, CSVStream):
    """A line that is no record would put all predictions after it in the wrong place."""

    def __init__(self, path: Path, texts: tuple[str, ...]) -> None:
        super().__init__(path, texts)
        self.quoting = True

    def _blocks(self, stream: Any, name: str, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        lines = CountedLines(stream.read)
        with reading(name):
            header, rest = split_header(lines.read)
        names, longest = names_of(header, True, name), csv_lines.LONGEST_LINE
        wanted = names if wanted is None else wanted
        check_columns(name, names, wanted)
        n_records = 0
        for place, block in placed(blocks_of_lines(lines.read, rest, BLOCK_BYTES), name):
            table = table_of_block(block, names, wanted, True, longest, self.texts)
            n_records += table.num_rows
            n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
            self._check_whole(place, table.num_rows == n_lines)
            yield self._batch(table, place)
        # Lines that are too long are in no block.
        self._check_whole(name, n_records == lines.after_header)

    def _check_whole(self, place: str, whole: bool) -> None:
        if not (whole or self.texts):
            raise StreamError(
                place, "a line of it is no record (an empty line, another number of cells, an open "
                "quote, or longer than 1 MiB), so predictions would not stand beside their lines",
                "Mend it, or name a column with --id, which is written beside each prediction",
            )  # fmt: skip
