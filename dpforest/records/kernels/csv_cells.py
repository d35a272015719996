"""Places and contents of the cells in lines of CSV: loops over the bytes of a block.

Each line is gone through by itself, between its own first byte and its own last; nothing is
carried from a line to the next. So what a line means does not depend on its neighbours.
"""

from __future__ import annotations

from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

_LF, _CR, _QUOTE, _COMMA = 10, 13, 34, 44
_MINUS, _PLUS, _POINT, _ZERO, _NINE = 45, 43, 46, 48, 57
_LARGE_E, _SMALL_E = 69, 101

#: What a cell looks like.
EMPTY, NUMBER, OTHER = 0, 1, 2
#: A cell is taken for a plain number up to so many bytes, and so many digits of its exponent.
_LONGEST_NUMBER, _LONGEST_EXPONENT = 40, 2


@kernel()
def find_cells(
    block: NDArray,
    slots: NDArray,
    quoting: bool,
    longest: int,
    starts: NDArray,
    ends: NDArray,
) -> int:
    """Find the cells of lines that have one for each column.

    A line ends with LF or with the block; one CR before that is no part of it. It is left out
    if it is too long, if a quote is open at its end, or if it has another number of cells.

    Parameters
    ----------
    block : uint8 array of shape (n_bytes,)
        Whole lines.
    slots : int64 array of shape (n_columns,)
        Row of ``starts`` and ``ends`` for each column, -1 for a column that nobody reads.
    quoting : bool
        Whether a cell that begins with a quote ends with one.
    longest : int
        Bytes of the longest line that is kept.
    starts, ends : int32 arrays of shape (n_slots, n_lines), overwritten
        A cell is ``block[start:end]``, quotes included.

    Returns
    -------
    int
        How many lines are kept.
    """
    kept = first = 0
    while first < block.size:
        after = first
        while after < block.size and block[after] != _LF:
            after += 1
        last = after - 1 if after > first and block[after - 1] == _CR else after
        fits = last - first <= longest
        if fits and _cells_of_line(block, first, last, quoting, slots, starts, ends, kept):
            kept += 1
        first = after + 1
    return kept


@kernel()
def _cells_of_line(
    block: NDArray,
    first: int,
    last: int,
    quoting: bool,
    slots: NDArray,
    starts: NDArray,
    ends: NDArray,
    place: int,
) -> bool:
    """Write down where the cells of one line are; False if it is to be left out."""
    begin = first
    for column in range(slots.size):
        end = _end_of_cell(block, begin, last, quoting)
        if end < 0 or (end == last) != (column == slots.size - 1):
            return False
        if slots[column] >= 0:
            starts[slots[column], place] = begin
            ends[slots[column], place] = end
        begin = end + 1
    return True


@kernel()
def _end_of_cell(block: NDArray, begin: int, last: int, quoting: bool) -> int:
    """Find the comma after a cell, or the line's end; -1 if its quote stays open."""
    i = begin
    if quoting and i < last and block[i] == _QUOTE:
        i += 1
        while True:
            while i < last and block[i] != _QUOTE:
                i += 1
            if i == last:
                return -1
            i += 1
            if i == last or block[i] != _QUOTE:  # else one that is written twice
                break
            i += 1
    while i < last and block[i] != _COMMA:
        i += 1
    return i


@kernel()
def copy_cells(
    block: NDArray, starts: NDArray, ends: NDArray, quoting: bool, out: NDArray, offsets: NDArray
) -> None:
    """Put the cells of a column one after another, without their quotes.

    Parameters
    ----------
    block : uint8 array of shape (n_bytes,)
    starts, ends : int32 arrays of shape (n_lines,)
        As `find_cells` left them.
    quoting : bool
    out : uint8 array, overwritten
        With room for all cells.
    offsets : int32 array of shape (n_lines + 1,), overwritten
        Cell ``k`` is ``out[offsets[k]:offsets[k + 1]]``.
    """
    filled = 0
    offsets[0] = 0
    for line in range(starts.size):
        i, end = starts[line], ends[line]
        if quoting and i < end and block[i] == _QUOTE:
            i += 1
            while block[i] != _QUOTE or (i + 1 < end and block[i + 1] == _QUOTE):
                if block[i] == _QUOTE:
                    i += 1
                out[filled] = block[i]
                filled += 1
                i += 1
            i += 1
        while i < end:
            out[filled] = block[i]
            filled += 1
            i += 1
        offsets[line + 1] = filled


@kernel()
def kinds_of_cells(data: NDArray, offsets: NDArray, kinds: NDArray) -> None:
    """Tell plain numbers from what has to be looked at one by one.

    A plain number is an optional minus, at least one digit with at most one point among them
    or at either end, and an optional exponent of at most two digits; all in ASCII, of at most
    40 bytes. Every reader of decimals takes that for the same number.

    Parameters
    ----------
    data : uint8 array
    offsets : int32 array of shape (n_cells + 1,)
    kinds : uint8 array of shape (n_cells,), overwritten
        ``EMPTY``, ``NUMBER`` or ``OTHER``.
    """
    for cell in range(kinds.size):
        begin, end = offsets[cell], offsets[cell + 1]
        if begin == end:
            kinds[cell] = EMPTY
        elif end - begin <= _LONGEST_NUMBER and _is_plain_number(data, begin, end):
            kinds[cell] = NUMBER
        else:
            kinds[cell] = OTHER


@kernel()
def _is_plain_number(data: NDArray, begin: int, end: int) -> bool:
    i = begin
    if data[i] == _MINUS:
        i += 1
    first = i
    i = _after_digits(data, i, end)
    digits = i - first
    if i < end and data[i] == _POINT:
        first = i + 1
        i = _after_digits(data, first, end)
        digits += i - first
    if digits == 0:
        return False
    if i < end and (data[i] == _SMALL_E or data[i] == _LARGE_E):
        i += 1
        if i < end and (data[i] == _MINUS or data[i] == _PLUS):
            i += 1
        first = i
        i = _after_digits(data, i, end)
        if not 0 < i - first <= _LONGEST_EXPONENT:
            return False
    return i == end


@kernel()
def _after_digits(data: NDArray, begin: int, end: int) -> int:
    i = begin
    while i < end and _ZERO <= data[i] <= _NINE:
        i += 1
    return i
