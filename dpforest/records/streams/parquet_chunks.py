"""Columns of a Parquet file as its footer has them: how they are compressed, and where they are.

Both follow from no record, so they are looked at before a fit is charged. Arrow is not asked: it
names a compression that it does not know as one that it has, or ends the whole process. The footer
is read as Thrift's compact protocol has it.

Held by tests/records/streams/test_parquet_chunks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Names of compressions by their numbers in the format; Arrow has its own for those that it reads.
_NAMES = {
    0: "none", 1: "snappy", 2: "gzip", 3: "lzo", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4_raw"
}  # fmt: skip
#: Numbers of fields, as the format has them.
_ROW_GROUPS, _COLUMNS = 4, 1
_OTHER_FILE, _METADATA = 1, 3
_PATH, _CODEC, _SIZE, _DATA, _DICTIONARY = 3, 4, 7, 9, 11
#: Types of Thrift's compact protocol that have a value of their own length.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column of one row group.

    Attributes
    ----------
    column : str
    compression : str
        Its name, or its number where it has none.
    end : int
        Place in the file up to which it is stored.
    elsewhere : bool
        Whether it is in another file.
    """

    column: str
    compression: str
    end: int
    elsewhere: bool


def chunks_of(footer: bytes) -> Iterator[Chunk]:
    """Columns of all row groups, but nested ones.

    Parameters
    ----------
    footer : bytes
        Without encryption.

    Raises
    ------
    ValueError
        If it is no footer.
    """
    try:
        groups = _Compact(footer).struct().get(_ROW_GROUPS, [])
        for group in groups:
            for column in group[_COLUMNS]:
                if len(column[_METADATA][_PATH]) == 1:
                    yield _chunk(column, column[_METADATA])
    except (LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("not the footer of a Parquet file") from None


def _chunk(column: dict[int, Any], said: dict[int, Any]) -> Chunk:
    codec = said[_CODEC]
    # Some writers name a dictionary at place 0, where none is.
    start = min(said[_DATA], said.get(_DICTIONARY) or said[_DATA])
    return Chunk(
        column=said[_PATH][0].decode("utf-8", "replace"),
        compression=_NAMES.get(codec, f"number {codec}"),
        end=start + said[_SIZE],
        elsewhere=bool(column.get(_OTHER_FILE)),
    )


class _Compact:
    """Values in Thrift's compact protocol, one after the other.

    Parameters
    ----------
    data : bytes
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def struct(self) -> dict[int, Any]:
        """Values by the numbers of their fields."""
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head > 15 else self._whole()
            kind = head & 15
            found[number] = kind == _TRUE if kind <= _FALSE else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if _BYTE < kind < _DOUBLE:
            return self._whole()
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            return self._list()
        if kind == _MAP:
            return self._map()
        return self._bytes(8) if kind == _DOUBLE else self._byte()

    def _list(self) -> list[Any]:
        size, kind = divmod(self._byte(), 16)
        size = self._unsigned() if size == 15 else size
        return [self._value(kind) for _ in range(size)]

    def _map(self) -> list[Any]:
        size = self._unsigned()
        key, value = divmod(self._byte(), 16) if size else (0, 0)
        return [(self._value(key), self._value(value)) for _ in range(size)]

    def _byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1]

    def _bytes(self, size: int) -> bytes:
        self._place += size
        if self._place > len(self._data):
            raise LookupError
        return self._data[self._place - size : self._place]

    def _unsigned(self) -> int:
        found = self._byte()
        shift = 7
        while found >> shift:  # the last byte read goes on
            found += (self._byte() - 1) << shift
            shift += 7
        return found

    def _whole(self) -> int:
        found = self._unsigned()
        return found >> 1 ^ -(found & 1)
