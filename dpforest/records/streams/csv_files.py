"""CSVStream: a table in CSV files, one record a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dpforest.exceptions import ParameterTypeError, StreamError, kind_of
from dpforest.records.streams import csv_lines
from dpforest.records.streams.base import MEMORY_LIMIT, check_columns
from dpforest.records.streams.csv_columns import table_of_block
from dpforest.records.streams.csv_lines import (
    CountedLines,
    blocks_of_lines,
    names_of,
    split_header,
)
from dpforest.records.streams.files import PACKED, Files, Paths, pyarrow, reading, source_of
from dpforest.records.streams.passes import Batch

#: Bytes that are read at a time.
BLOCK_BYTES = 2**24


class CSVStream(Files):
    """A table in CSV files with a header each, in UTF-8; one record a line.

    What a record means follows from its own line and the header of its file alone:

    * A line ends with LF or with the file; one CR before that is dropped. Any other CR, and
      NUL, are characters of their cell.
    * A cell that begins with ``"`` ends with one; in between commas are text, and two quotes
      are one. Other quotes are text. A cell ends with its line at the latest: cells of several
      lines are not supported.
    * A line is left out whose quote is open at its end, which has another number of cells than
      the header, or which is longer than `dpforest.streams.LONGEST_LINE` (1 MiB). An
      empty line is one empty cell.
    * An empty cell is a missing value, everything else is read as the domain says. A byte that
      is no UTF-8 stands for an unknown sign.

    So no record decides what another means, nor whether a fit succeeds:
    tests/records/streams/test_csv_records.py.

    Parameters
    ----------
    paths : path or list of paths
        Files, or folders, whose ``*.csv`` and ``*.csv.gz`` files are taken in the order of their
        names. What else pyarrow can decompress may be named as a file. Endings may be in large
        letters. All have the same columns, in any order.
    target : str
        Column of the target.
    memory_limit : int
        See :class:`Stream`.
    quoting : bool
        Whether quotes are read; if not, they are text.

    Raises
    ------
    MissingExtraError
        Without pyarrow (``dpforest[frames]``).
    """

    kind = "csv"
    #: Columns that are handed on as they are written, whatever they mean.
    texts: tuple[str, ...] = ()

    def __init__(
        self,
        paths: Paths,
        target: str,
        memory_limit: int = MEMORY_LIMIT,
        *,
        quoting: bool = True,
    ) -> None:
        super().__init__(paths, target, memory_limit)
        if not isinstance(quoting, bool):
            raise ParameterTypeError(
                "quoting", kind_of(quoting), "must be True or False", "Give one of them"
            )
        self.quoting = quoting

    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Columns of every file, from its header."""
        for path in self.paths:
            with opened(path) as stream, reading(path.name):
                header, _ = split_header(stream.read)
            yield path.name, names_of(header, self.quoting, path.name)

    def left_out(self, n_records: int) -> int:
        """Lines that are no record, of files that hold ``n_records``: nobody else tells of them."""
        return sum(map(_n_lines, self.paths)) - n_records

    def _check_files(self, needed: tuple[str, ...]) -> None:
        found = [(place, names or ()) for place, names in self.columns()]
        first, expected = found[0]
        for place, names in found:
            check_columns(place, names, needed)
            if set(names) != set(expected):
                raise StreamError(
                    place, f"its columns are not those of {first}", "Write all files alike"
                )

    def _read(self, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        """Blocks in their order."""
        for path in self.paths:
            with opened(path) as stream:
                yield from self._blocks(stream, path.name, wanted)

    def _blocks(self, stream: Any, name: str, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        with reading(name):
            header, rest = split_header(stream.read)
        names = names_of(header, self.quoting, name)
        wanted = names if wanted is None else wanted
        check_columns(name, names, wanted)
        blocks = blocks_of_lines(stream.read, rest, BLOCK_BYTES)
        how = names, wanted, self.quoting, csv_lines.LONGEST_LINE, self.texts
        # What is called is compiled and kept: also where there is no line.
        table_of_block(b"", *how)
        for place, block in placed(blocks, name):
            yield self._batch(table_of_block(block, *how), place)


def _n_lines(path: Path) -> int:
    """Lines after the header."""
    with opened(path) as stream, reading(path.name):
        lines = CountedLines(stream.read)
        while lines.read(BLOCK_BYTES):
            pass
    return lines.after_header


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Bytes of a file, decompressed where its name says so."""
    packed = PACKED.get(path.suffix.lower())  # pyarrow itself knows small letters alone
    with ExitStack() as held:
        with reading(path.name):
            source = held.enter_context(source_of(path))
            stream = pyarrow().input_stream(source, compression=packed)
        yield held.enter_context(stream)


def placed(blocks: Iterator[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    """Blocks with their places; one that cannot be read is named by it."""
    number = 0
    while True:
        place = f"{name}, block {number}"
        with reading(place):
            block = next(blocks, None)
        if block is None:
            return
        yield place, block
        number += 1
