"""ParquetStream: a table in Parquet files, one record a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from dpforest.exceptions import StreamError
from dpforest.streams.base import Batch, check_columns
from dpforest.streams.files import Files, pyarrow, reading
from dpforest.streams.text import text_column

#: Records of a batch.
BATCH_ROWS = 2**17


class ParquetStream(Files):
    """A table in Parquet files.

    Each value has the meaning that it has alone (see `dpforest.domain.values.meaning_of`),
    whatever the type of its column is in its file: tests/streams/test_parquet_records.py.

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
        for path in self.paths:
            yield path.name, tuple(schema_of(path).names)

    def _check_files(self, needed: tuple[str, ...]) -> None:
        for path in self.paths:
            check_schema(path.name, schema_of(path), needed)

    def _read(self, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        """Row groups in their order, the large ones in parts."""
        for path in self.paths:
            with reading(path.name):
                file = pyarrow("parquet").ParquetFile(path)
            with file:
                yield from self._row_groups(file, path.name, wanted)

    def _row_groups(self, file: Any, name: str, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        with reading(name):
            schema = file.schema_arrow
            wanted = wanted or tuple(schema.names)
        check_schema(name, schema, wanted)
        for group in range(file.num_row_groups):
            place = f"{name}, row group {group}"
            parts = file.iter_batches(BATCH_ROWS, row_groups=[group], columns=list(wanted))
            for table in tables_of(parts, place):
                columns = {column: plain_column(table[column]) for column in wanted}
                yield self._batch(pyarrow().table(columns), place)


def schema_of(path: Path) -> Any:
    """Schema of a file, from its footer."""
    with reading(path.name):
        schema = pyarrow("parquet").read_schema(path)
        schema.names  # noqa: B018  (which may be no text)
        return schema


def tables_of(parts: Iterable[Any], place: str) -> Iterator[Any]:
    """Arrow tables of record batches; one that cannot be read is named by its place."""
    pending = iter(parts)
    while True:
        with reading(place):
            batch = next(pending, None)
        if batch is None:
            return
        yield pyarrow().Table.from_batches([batch])


def check_schema(place: str, schema: Any, needed: tuple[str, ...]) -> None:
    """Refuse a file without the columns, or with one of dates, times or a nested type."""
    check_columns(place, schema.names, needed)
    for name in needed:
        kind = schema.field(name).type
        if _conversion(kind) is None:
            raise StreamError(
                place,
                f"column {name!r} is of type {str(kind)[:80]}",
                "Write it as numbers, text or booleans",
            )


def plain_column(column: Any) -> Any:
    """A column in a type of which every value can be read by itself."""
    convert = _conversion(column.type)
    assert convert is not None
    return convert(column)


def _conversion(kind: Any) -> Callable[[Any], Any] | None:
    """How columns of a type are made plain; None if they are not read."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        return None if _conversion(kind.value_type) is None else _from_dictionary
    tests: dict[str, Callable[[Any], Any]] = {
        "is_float16": _widened, "is_decimal": _as_is, "is_null": _nothing,
        "is_boolean": _as_is, "is_integer": _as_is, "is_floating": _as_is,
        "is_string": _text, "is_large_string": _text, "is_string_view": _text,
        "is_binary": _text, "is_large_binary": _text, "is_binary_view": _text,
        "is_fixed_size_binary": _text,
    }  # fmt: skip
    # The first one counts: a half is floating too. Older releases lack views.
    found = (convert for test, convert in tests.items() if getattr(types, test, _never)(kind))
    return next(found, None)


def _never(kind: Any) -> bool:
    return False


def _as_is(column: Any) -> Any:
    return column


def _from_dictionary(column: Any) -> Any:
    return plain_column(column.cast(column.type.value_type))


def _widened(column: Any) -> Any:
    # Through numpy: not every release of Arrow can cast halves.
    return pyarrow().array(column.to_numpy().astype("float64"))


def _nothing(column: Any) -> Any:
    return pyarrow().nulls(len(column), pyarrow().float64())


def _text(column: Any) -> Any:
    # As bytes first: what is written as text is checked by nobody before it is read.
    return text_column(column.cast(pyarrow().large_binary()))
