"""Features of two to four values: class counts of 64 of them at once.

Codes of 64 features lie side by side in a record's row. Compared with a value they are 64 yes or no
in one or two instructions, and sums of bytes are kept in registers: a record costs about as much as
counting two features one by one. Records must be grouped by class, so that sums need not be looked
up. Bytes hold 255 records; then they are added to the cells.

numba has no vectors, so the loop is handed to LLVM with its own vector type, which is compiled for
any processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpforest.consistent.kernels.compiling import part

ir: Any = vars(cgutils)["ir"]  # llvmlite, of the version that numba runs on

#: Features that are counted at once; rows are filled up to a multiple of it.
LANES = 64
#: Most values of a feature that is counted so.
MOST_CODES = 4
_MOST_RECORDS = 255


def _tally_of(n_sums: int) -> Any:
    """``tally(rows, width, column, records, start, end, out)``.

    Numbers of the records ``start … end - 1`` with code v + 1 in each of 64 columns, to
    ``out[64 * v]`` and on, for v below ``n_sums``; all numbers are uint64, rows are of ``width``
    bytes, records at most 255.
    """
    vector = ir.VectorType(ir.IntType(8), LANES)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data(place: int) -> Any:
            return context.make_array(signature.args[place])(
                context, builder, arguments[place]
            ).data

        width, column, start, end = (arguments[place] for place in (1, 2, 4, 5))
        cells = builder.bitcast(data(0), ir.IntType(8).as_pointer())
        sums = [
            cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * LANES))
            for _ in range(n_sums)
        ]
        for place in sums:  # the slot is made once a function, but the loop begins often
            builder.store(ir.Constant(vector, [0] * LANES), place)
        step = ir.Constant(start.type, 1)
        with cgutils.for_range_slice(builder, start, end, step, intp=start.type) as (i, _):
            record = builder.zext(builder.load(builder.gep(data(3), [i])), start.type)
            row = builder.gep(cells, [builder.add(column, builder.mul(record, width))])
            codes = builder.load(builder.bitcast(row, vector.as_pointer()), align=1)
            for v, place in enumerate(sums):
                same = builder.icmp_unsigned("==", codes, ir.Constant(vector, [v + 1] * LANES))
                # A yes is minus one.
                builder.store(builder.sub(builder.load(place), builder.sext(same, vector)), place)
        out = data(6)
        for v, place in enumerate(sums):
            to = builder.gep(out, [ir.Constant(ir.IntType(64), v * LANES)])
            builder.store(builder.load(place), builder.bitcast(to, vector.as_pointer()), align=1)
        return context.get_dummy_value()

    def typing(
        context: Any, rows: Any, width: Any, column: Any, records: Any, start: Any, end: Any,
        out: Any,
    ) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
        return types.void(rows, width, column, records, start, end, out), build

    return intrinsic(typing)


_tally_1, _tally_2, _tally_3 = _tally_of(1), _tally_of(2), _tally_of(3)


@part()
def count_lanes(
    rows: NDArray, records: NDArray, start: int, totals: NDArray, most_codes: int,
    features: NDArray, firsts: NDArray, n_features: int, n_codes: NDArray,
    cells: NDArray, at: int, stride: int, lanes: NDArray,
) -> None:  # fmt: skip
    """As :func:`~dpforest.consistent.kernels.cells.count_classes`, to cells that are 0.

    Records ``start …`` are grouped by class, ``totals`` says how many each has. No feature has
    more than ``most_codes`` values. ``lanes`` is uint8 of shape (3 * 64,), written over.
    """
    width = np.uint64(rows.shape[1])
    for column in range(0, rows.shape[1], LANES):
        begin = start
        for k in range(totals.shape[0]):
            end = begin + totals[k]
            base = at + k * stride
            while begin < end:
                stop = min(begin + _MOST_RECORDS, end)
                place, first, last = np.uint64(column), np.uint64(begin), np.uint64(stop)
                if most_codes <= 2:
                    _tally_1(rows, width, place, records, first, last, lanes)
                elif most_codes == 3:
                    _tally_2(rows, width, place, records, first, last, lanes)
                else:
                    _tally_3(rows, width, place, records, first, last, lanes)
                _add_lanes(
                    lanes, column, stop - begin, features, firsts, n_features, n_codes, cells, base
                )  # fmt: skip
                begin = stop


@part()
def _add_lanes(lanes, column, n_records, features, firsts, n_features, n_codes, cells, base):
    """Add sums to the cells; records with none of the values from 1 on have value 0."""
    for j in range(np.uint64(n_features)):
        f = np.uint64(features[j])
        lane = f - np.uint64(column)
        if lane < np.uint64(LANES):  # a column below wraps to a huge number
            first = np.uint64(base) + np.uint64(firsts[j])
            rest = np.int32(n_records)
            for cell in range(first + np.uint64(1), first + np.uint64(n_codes[f])):
                count = np.int32(lanes[lane])
                cells[cell] += count
                rest -= count
                lane += np.uint64(LANES)
            cells[first] += rest
