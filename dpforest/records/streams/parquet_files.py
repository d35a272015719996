"""ParquetStream: a table in Parquet files, one record a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import signature
from os import SEEK_END
from pathlib import Path
from typing import Any

from dpforest.domain.series import kind_of_arrow
from dpforest.exceptions import StreamError
from dpforest.records.streams.base import check_columns
from dpforest.records.streams.files import Files, pyarrow, reading, source_of
from dpforest.records.streams.parquet_chunks import chunks_of
from dpforest.records.streams.passes import Batch
from dpforest.records.streams.text import text_column

#: Records of a batch.
BATCH_ROWS = 2**17
#: The name under which Arrow keeps its schema in a footer, between the marks that Thrift sets
#: around the key of a pair (a field of text, its length; a field of text), and one as long.
_ARROW_SCHEMA = b"\x18\x0cARROW:schema\x18"
_NO_SCHEMA = b"\x18\x0cnot read now\x18"
#: Bytes that follow a footer which can be read though columns of its file are encrypted.
_SIGNATURE = 28


class ParquetStream(Files):
    """A table in Parquet files.

    Each value has the meaning that it has alone (see `dpforest.domain.values.meaning_of`),
    whatever the type of its column is in its file: tests/records/streams/test_parquet_records.py.

    Parameters
    ----------
    paths : path or list of paths
        Files, or folders, whose ``*.parquet`` and ``*.pq`` files are taken in the order of their
        names.
    target : str
        Column of the target.
    memory_limit : int
        See :class:`Stream`.

    Raises
    ------
    MissingExtraError
        Without pyarrow (``dpforest[frames]``).
    """

    kind = "parquet"

    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Columns of every file, from its footer."""
        for path in self.paths:
            yield path.name, tuple(footer_of(path).names)

    def _check_files(self, needed: tuple[str, ...]) -> None:
        for path in self.paths:
            footer = footer_of(path)
            check_types(path.name, footer, needed)
            check_chunks(path.name, footer, needed)

    def _read(self, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        """Row groups in their order, the large ones in parts."""
        for path in self.paths:
            footer = footer_of(path)
            columns = wanted or footer.names
            check_types(path.name, footer, columns)
            with ExitStack() as held:
                with reading(path.name):
                    source = held.enter_context(source_of(path))
                    file = opened(source, footer)
                held.enter_context(file)
                yield from self._row_groups(file, path.name, columns)

    def _row_groups(self, file: Any, name: str, wanted: tuple[str, ...]) -> Iterator[Batch]:
        for group in range(file.num_row_groups):
            place = f"{name}, row group {group}"
            parts = file.iter_batches(BATCH_ROWS, row_groups=[group], columns=list(wanted))
            for table in tables_of(parts, place):
                columns = {column: plain_column(table[column]) for column in wanted}
                yield self._batch(pyarrow().table(columns), place)


@dataclass(frozen=True)
class Footer:
    """Description of a file's columns, read from the file's end.

    Attributes
    ----------
    stored : pyarrow.Schema
        The types that a writer's library had, which are those that are told to a user.
    plain : pyarrow.parquet.FileMetaData
        The footer without them: columns are read in the types of Parquet itself.
    content : bytes
        The footer as it is in the file.
    start : int
        Its place there; columns are before it.
    """

    stored: Any
    plain: Any
    content: bytes
    start: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.stored.names)


def footer_of(path: Path) -> Footer:
    """The footer of a file."""
    with reading(path.name), source_of(path) as source:
        metadata = pyarrow("parquet").read_metadata(source)
        schema = metadata.schema.to_arrow_schema()
        schema.names  # noqa: B018  (which may be no text)
        stored = bytes_of_footer(path)
        if len(stored) == metadata.serialized_size + _SIGNATURE:
            raise StreamError(path.name, "it is encrypted", "Write it without encryption")
        plain = without_dictionaries(stored)
    if plain.schema.to_arrow_schema().names != schema.names:
        raise StreamError(path.name, "a column has a name that Arrow reserves", "Rename it")
    return Footer(schema, plain, stored, path.stat().st_size - 8 - len(stored))


def bytes_of_footer(path: Path) -> bytes:
    """A footer as it is stored, before its length and a mark of four bytes each."""
    with path.open("rb") as file:
        file.seek(-8, SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, SEEK_END)
        return file.read(length)


def without_dictionaries(stored: bytes) -> Any:
    """A footer that does not say which columns were dictionaries in a writer's memory.

    Arrow would make dictionaries of them again, and some of its releases then refuse a whole
    column for one cell that is no UTF-8. In Parquet's own types they are text or bytes, and of
    text it hands on what is none.

    Arrow is not asked to write a footer anew: of an encrypted file it ended the whole process.
    """
    footer = stored.replace(_ARROW_SCHEMA, _NO_SCHEMA)
    file = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    return pyarrow("parquet").read_metadata(pyarrow().BufferReader(file))


def opened(source: Any, footer: Footer) -> Any:
    """A file whose columns are read in the types that its footer was checked for.

    Newer releases of Arrow make types of their own of Parquet's JSON and UUID, unless told not to;
    older ones know of no such types, and of no such parameter. Pages with a checksum, as Spark
    writes them, are compared with it: most that are damaged can still be decoded, to other values.

    Parameters
    ----------
    source : path or open file
    footer : Footer
    """
    make = pyarrow("parquet").ParquetFile
    known = signature(make).parameters
    asked = {"arrow_extensions_enabled": False, "page_checksum_verification": True}
    given = {name: value for name, value in asked.items() if name in known}
    return make(source, metadata=footer.plain, **given)


def tables_of(parts: Iterable[Any], place: str) -> Iterator[Any]:
    """Arrow tables of record batches; one that cannot be read is named by its place."""
    pending = iter(parts)
    while True:
        with reading(place):
            batch = next(pending, None)
        if batch is None:
            return
        yield pyarrow().Table.from_batches([batch])


def check_types(place: str, footer: Footer, needed: tuple[str, ...]) -> None:
    """Refuse a file without the columns, or with one of dates, times or a nested type."""
    check_columns(place, footer.names, needed)
    plain = footer.plain.schema.to_arrow_schema()
    for name in needed:
        kind = footer.stored.field(name).type
        if not (_is_read(kind) and _conversion(plain.field(name).type)):
            raise StreamError(
                place,
                f"column {name!r} is of type {kind_of_arrow(kind)}",
                "Write it as numbers, text or booleans",
            )


def check_chunks(place: str, footer: Footer, needed: tuple[str, ...]) -> None:
    """Refuse a file whose columns are compressed in a way that is not read, or not in it."""
    with reading(place):
        chunks = [chunk for chunk in chunks_of(footer.content) if chunk.column in needed]
    for chunk in chunks:
        if not _is_unpacked(chunk.compression):
            raise StreamError(
                place,
                f"column {chunk.column!r} is compressed by {chunk.compression}, which pyarrow "
                "does not read here",
                "Write it with another compression, such as zstd, snappy or none",
            )
        if chunk.elsewhere or chunk.end > footer.start:
            where = "in another file" if chunk.elsewhere else "beyond its end"
            raise StreamError(
                place, f"column {chunk.column!r} is said to be {where}", "Write the file again"
            )


def _is_unpacked(compression: str) -> bool:
    """True if this release of Arrow was built with a compression; it raises for unknown names."""
    try:
        return compression == "none" or bool(pyarrow().Codec.is_available(compression))
    except ValueError:
        return False


def _is_read(kind: Any) -> bool:
    """Say if values of a stored type have a meaning; for dictionaries, if their values have."""
    if pyarrow().types.is_dictionary(kind):
        return _is_read(kind.value_type)
    return _conversion(kind) is not None


def plain_column(column: Any) -> Any:
    """A column in a type of which every value can be read by itself."""
    convert = _conversion(column.type)
    assert convert is not None
    return convert(column)


def _conversion(kind: Any) -> Callable[[Any], Any] | None:
    """Find the function that makes columns of a Parquet type plain; None if they are not read."""
    types = pyarrow().types
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


def _widened(column: Any) -> Any:
    # Through numpy: not every release of Arrow can cast halves.
    return pyarrow().array(column.to_numpy().astype("float64"))


def _nothing(column: Any) -> Any:
    return pyarrow().nulls(len(column), pyarrow().float64())


def _text(column: Any) -> Any:
    # As bytes first: what is written as text is checked by nobody before it is read.
    return text_column(column.cast(pyarrow().large_binary()))
