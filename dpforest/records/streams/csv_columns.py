"""Columns of a block of CSV: text, and numbers where all cells mean numbers or are missing.

Which of both a column is depends on all its cells, what a cell means does not: a plain number
is read by Arrow as the double that `meaning_of` gives its text, and any other cell is read by
`meaning_of` itself, or left as text for it. tests/records/streams/test_csv_cells.py holds that.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.values import meaning_of
from dpforest.records.kernels.csv_cells import (
    NUMBER,
    OTHER,
    copy_cells,
    find_cells,
    kinds_of_cells,
)
from dpforest.records.streams.files import pyarrow
from dpforest.records.streams.text import text_column

Cells = tuple[NDArray[np.uint8], NDArray[np.int32]]


def table_of_block(
    block: bytes,
    names: tuple[str, ...],
    wanted: tuple[str, ...],
    quoting: bool,
    longest: int,
    texts: Collection[str] = (),
) -> Any:
    """Arrow table of the lines of a block that have a cell for each column.

    Parameters
    ----------
    block : bytes
        Whole lines.
    names : tuple of str
        All columns of the file, in its order.
    wanted : tuple of str
        Columns of the table.
    quoting : bool
    longest : int
        Bytes of the longest line that is kept.
    texts : collection of str
        Columns that stay as they are written, whatever they mean.
    """
    cells = _cells_of_block(block, names, wanted, quoting, longest)
    return pyarrow().table(
        {name: (_text if name in texts else _column)(*cells[name]) for name in wanted}
    )


def _cells_of_block(
    block: bytes, names: tuple[str, ...], wanted: tuple[str, ...], quoting: bool, longest: int
) -> dict[str, Cells]:
    """Bytes of the cells of each column, one after another, and where each begins."""
    array = np.frombuffer(block, np.uint8)
    place = {name: slot for slot, name in enumerate(wanted)}
    slots = np.array([place.get(name, -1) for name in names], np.int64)
    # A line that is kept has a comma between each two of its cells.
    room = min(block.count(b"\n") + 1, len(block) // max(len(names) - 1, 1) + 1)
    starts = np.empty((len(wanted), room), np.int32)
    ends = np.empty_like(starts)
    kept = find_cells(array, slots, quoting, longest, starts, ends)
    return {
        name: _copied(array, starts[slot, :kept], ends[slot, :kept], quoting)
        for name, slot in place.items()
    }


def _copied(
    array: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32], quoting: bool
) -> Cells:
    data = np.empty(int((ends - starts).sum(dtype=np.int64)), np.uint8)
    offsets = np.empty(starts.size + 1, np.int32)
    copy_cells(array, starts, ends, quoting, data, offsets)
    return data, offsets


def _column(data: NDArray[np.uint8], offsets: NDArray[np.int32]) -> Any:
    kinds = np.empty(offsets.size - 1, np.uint8)
    kinds_of_cells(data, offsets, kinds)
    numbers = _as_numbers(data, offsets, kinds)
    return _text(data, offsets) if numbers is None else pyarrow().array(numbers)


def _text(data: NDArray[np.uint8], offsets: NDArray[np.int32]) -> Any:
    return text_column(_arrow(data, offsets, None, "binary"))


def _as_numbers(
    data: NDArray[np.uint8], offsets: NDArray[np.int32], kinds: NDArray[np.uint8]
) -> NDArray[np.float64] | None:
    """Doubles, NaN where missing; None if some cell is text."""
    odd = np.flatnonzero(kinds == OTHER)
    meanings = np.empty(odd.size)
    for place, cell in enumerate(odd.tolist()):
        begin, end = offsets[cell : cell + 2].tolist()
        meaning = meaning_of(data[begin:end].tobytes().decode("utf-8", "replace"))
        if isinstance(meaning, str):
            return None
        meanings[place] = np.nan if meaning is None else meaning
    plain = _arrow(data, offsets, kinds == NUMBER, "string")
    numbers = pyarrow("compute").cast(plain, pyarrow().float64())
    found: NDArray[np.float64] = numbers.fill_null(np.nan).to_numpy().copy()
    found[odd] = meanings
    return found


def _arrow(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    present: NDArray[np.bool_] | None,
    kind: str,
) -> Any:
    """Arrow array over the bytes of cells, without a copy."""
    pa = pyarrow()
    bits = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(getattr(pa, kind)(), offsets.size - 1, buffers)
