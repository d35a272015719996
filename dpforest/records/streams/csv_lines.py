"""Lines of CSV files: the header, and blocks of whole lines after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dpforest.exceptions import StreamError

#: Bytes of the longest line that is read, its end aside; a longer one is left out.
LONGEST_LINE = 2**20
#: Bytes that are read at a time in search of the header's end.
_STEP = 2**16

#: How files of other kinds begin: workbooks of now and of before 2007, packed files, texts.
_WORKBOOKS, _GZIP = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"), b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

_QUOTED = re.compile(r'"((?:[^"]|"")*+)"([^,]*)')
_PLAIN = re.compile(r"[^,]*")

#: Gives the next bytes of a file, as many as asked for at most; none at its end.
Read = Callable[[int], bytes]


def split_header(read: Read) -> tuple[bytes, bytes]:
    """The first line of a file, and what was read after it.

    At most one step more than the longest line is read.
    """
    taken = b""
    while b"\n" not in taken and len(taken) <= LONGEST_LINE + 1:
        more = read(_STEP)
        if not more:
            break
        taken += more
    header, _, rest = taken.partition(b"\n")
    return header.removesuffix(b"\r"), rest


def names_of(header: bytes, quoting: bool, place: str) -> tuple[str, ...]:
    """Names of columns.

    Raises
    ------
    StreamError
        The header is empty, too long, no UTF-8 text, ends within a quote or holds a lone CR.
    """
    if not header:
        raise StreamError(place, "its first line is empty", "Write a header with column names")
    if len(header) > LONGEST_LINE:
        raise StreamError(
            place, f"its first line is longer than {LONGEST_LINE} bytes", "Write a shorter header"
        )
    try:
        text = header.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise StreamError(place, "its header is not UTF-8 text", _repair_of_bytes(header))
    if "\r" in text:
        raise StreamError(
            place, "its header has a carriage return inside a line", "End lines with LF"
        )
    cells = cells_of(text, quoting)
    if cells is None:
        raise StreamError(
            place, "its header has a quote that is open at the end of the line",
            "Close it: a cell cannot go on in the next line",
        )  # fmt: skip
    return tuple(cells)


def _repair_of_bytes(header: bytes) -> str:
    """Repair of what is no UTF-8, by the mark of another kind of file with which it may begin."""
    if header.startswith(_WORKBOOKS):
        return "Save the sheet of Excel as CSV in UTF-8"
    if header.startswith(_GZIP):
        return "It is compressed: let its name end with .csv.gz"
    encoding = "utf-16" if header.startswith(_UTF_16) else "cp1252"
    signs = [sign for sign in ";\t" if sign.encode() in header and b"," not in header]
    commas = f", sep={signs[0]!r}, decimal=','" if signs else ""
    return (
        f"Write the file in UTF-8; pandas.read_csv(file, encoding={encoding!r}{commas}) reads "
        "what many programs write in its place"
    )


def cells_of(line: str, quoting: bool) -> list[str] | None:
    """Cells of one line; None if a quote is open at its end.

    These are the rules of `dpforest.records.kernels.csv_cells` for a single line:
    tests/records/streams/test_csv_cells.py compares them on all short lines.
    """
    cells: list[str] = []
    place = 0
    while True:
        if quoting and line.startswith('"', place):
            found = _QUOTED.match(line, place)
            if found is None:
                return None
            cells.append(found[1].replace('""', '"') + found[2])
        else:
            found = _PLAIN.match(line, place)
            assert found is not None
            cells.append(found[0])
        if found.end() == len(line):
            return cells
        place = found.end() + 1


def blocks_of_lines(read: Read, rest: bytes, block_bytes: int) -> Iterator[bytes]:
    """Whole lines in blocks, whatever lines are too long for certain left out.

    What is held at a time is at most a block and the longest line.

    Parameters
    ----------
    read : callable
    rest : bytes
        What was read already.
    block_bytes : int
        How many bytes are read at a time.
    """
    begun, in_long_line = b"", False
    part = rest or read(block_bytes)
    while part:
        if in_long_line:
            _, end, part = part.partition(b"\n")
            in_long_line = not end
        whole = part.rfind(b"\n") + 1
        if whole:
            yield begun + part[:whole]
            begun = b""
        begun += part[whole:]
        if len(begun) > LONGEST_LINE + 1:  # one may be the CR of its end
            begun, in_long_line = b"", True
        part = read(block_bytes)
    if begun:
        yield begun


class CountedLines:
    """Reads a file, and counts its lines."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read, self._ends, self._last = read, 0, b"\n"

    def read(self, size: int) -> bytes:
        """The next bytes."""
        part = self._read(size)
        self._ends += part.count(b"\n")
        self._last = part[-1:] or self._last
        return part

    @property
    def after_header(self) -> int:
        """Lines that were read, without the first one."""
        return self._ends + (self._last != b"\n") - 1
