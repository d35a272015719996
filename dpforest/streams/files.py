"""Streams over files: Parquet by row groups, CSV by blocks; read by pyarrow."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpforest.exceptions import MissingExtraError, ParameterError, StreamError
from dpforest.streams.base import MEMORY_LIMIT, Batch, Stream, check_columns

Paths = str | os.PathLike[str] | list[Any] | tuple[Any, ...]

#: Records of a batch of Parquet, and bytes of a block of CSV.
BATCH_ROWS = 2**17
BLOCK_BYTES = 2**24


class _Files(Stream):
    """Files of one kind, read in the order in which they are given."""

    suffix: str

    def __init__(self, paths: Paths, target: str, memory_limit: int = MEMORY_LIMIT) -> None:
        super().__init__(memory_limit)
        self.paths = file_list(paths, self.suffix)
        self.target = target

    @property
    def named(self) -> bool:
        """Files have names of columns."""
        return True

    def check(self, feature_names: tuple[str, ...]) -> None:
        """Open every file and look at its columns; see :meth:`Stream.check`."""
        super().check((*feature_names, self.target))

    def _batch(self, table: Any, place: str) -> Batch:
        check_columns(place, table.column_names, (self.target,))
        return Batch(table.drop_columns([self.target]), table[self.target], place)


class ParquetStream(_Files):
    """A table in Parquet files.

    Parameters
    ----------
    paths : path or list of paths
        Files, or folders, whose ``*.parquet`` files are taken in the order of their names.
    target : str
        Column of the target.
    memory_limit : int
        See :class:`Stream`.

    Raises
    ------
    MissingExtraError
        Without pyarrow (``dpforest[frames]``).
    """

    suffix = ".parquet"

    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Columns of every file, from its footer."""
        parquet = _pyarrow("parquet")
        for path in self.paths:
            with reading(path.name):
                yield path.name, tuple(parquet.read_schema(path).names)

    def batches(self) -> Iterator[Batch]:
        """Row groups in their order, the large ones in parts."""
        parquet = _pyarrow("parquet")
        for path in self.paths:
            with reading(path.name):
                file = parquet.ParquetFile(path)
            with file:
                for group in range(file.num_row_groups):
                    parts = file.iter_batches(BATCH_ROWS, row_groups=[group])
                    places = itertools.repeat(f"{path.name}, row group {group}")
                    for place, table in tables_of(parts, places):
                        yield self._batch(table, place)


class CSVStream(_Files):
    """A table in CSV files with a header each.

    An empty cell is a missing value, everything else is read as the domain says. A line with
    another number of cells than the header is left out, a byte that is no text stands for an
    unknown sign: no record decides whether a fit succeeds.

    Parameters
    ----------
    paths : path or list of paths
        Files, or folders, whose ``*.csv`` files are taken in the order of their names. What
        pyarrow can decompress (``.csv.gz``) may be named as a file.
    target : str
        Column of the target.
    memory_limit : int
        See :class:`Stream`.
    """

    suffix = ".csv"

    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Columns of every file, from its header."""
        for path in self.paths:
            yield path.name, tuple(header_of(path))

    def batches(self) -> Iterator[Batch]:
        """Blocks in their order."""
        for path in self.paths:
            with reading(path.name):
                opened = self._open(path)
            with opened as reader:
                places = (f"{path.name}, block {number}" for number in itertools.count())
                for place, table in tables_of(reader, places):
                    yield self._batch(plain_columns(table), place)

    def _open(self, path: Path) -> Any:
        arrow, pa = _pyarrow("csv"), _pyarrow()
        # As bytes: a type guessed from the first block may not fit the next.
        return arrow.open_csv(
            path,
            arrow.ReadOptions(block_size=BLOCK_BYTES),
            arrow.ParseOptions(invalid_row_handler=_left_out),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(header_of(path), pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


def _left_out(row: Any) -> str:
    return "skip"


def header_of(path: Path) -> list[str]:
    """Names of the columns of a CSV file, from its first line alone."""
    with reading(path.name), _pyarrow().input_stream(path, compression="detect") as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
        return next(csv.reader(text), [])


def tables_of(batches: Iterable[Any], places: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Arrow tables of record batches with their places; one that cannot be read is named by it."""
    pa, pending = _pyarrow(), iter(batches)
    for place in places:
        with reading(place):
            batch = next(pending, None)
        if batch is None:
            return
        yield place, pa.Table.from_batches([batch])


def plain_columns(table: Any) -> Any:
    """Columns of bytes as text, and as numbers where all are: a quicker way to the same codes."""
    for place, name in enumerate(table.column_names):
        table = table.set_column(place, name, _numbers_or_text(table[name]))
    return table


def _numbers_or_text(column: Any) -> Any:
    pa, compute = _pyarrow(), _pyarrow("compute")
    try:
        text = compute.cast(column, pa.string())
    except pa.ArrowInvalid:
        read = [cell and cell.decode("utf-8", "replace") for cell in column.to_pylist()]
        return pa.chunked_array([pa.array(read, pa.string())])
    try:
        return compute.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return text


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Turn what pyarrow says, which may quote a value, into an error that names the place."""
    pa = _pyarrow()
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise StreamError(
            place,
            f"it cannot be read ({type(error).__name__}): damaged, cut short or of another kind",
            "Write it again",
        ) from None


def file_list(paths: Paths, suffix: str) -> tuple[Path, ...]:
    """Files in the order in which they are read.

    Raises
    ------
    ParameterError
        There are none.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[Path] = []
    for path in map(Path, given):
        found += sorted(path.glob(f"*{suffix}")) if path.is_dir() else [path]
    missing = [path for path in found if not path.is_file()]
    if missing or not found:
        raise ParameterError(
            "paths", missing[0].name if missing else paths, "must name files that are there",
            f"Give *{suffix} files or a folder of them",
        )  # fmt: skip
    return tuple(found)


def _pyarrow(module: str | None = None) -> Any:
    from importlib import import_module

    try:
        return import_module("pyarrow" if module is None else f"pyarrow.{module}")
    except ImportError:
        raise MissingExtraError("pyarrow", "frames", "reading files in parts") from None
