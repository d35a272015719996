"""Neighbouring words added at once: numba does not see by itself that four sums are one."""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

#: Words that are added at once.
WIDTH = 4
_ir: Any = cgutils.ir  # type: ignore[attr-defined]


def _add_four(context: Any, sums: Any, place: Any, words: Any, first: Any) -> Any:
    """Add ``words[first : first + 4]`` to ``sums[place : place + 4]``, unsigned places.

    Both are int64 arrays of one dimension in C order; no place is checked.
    """
    one_row = types.Array(types.int64, 1, "C")
    if sums != one_row or words != one_row:
        return None
    signature = types.void(sums, types.uint64, words, types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        four = _ir.VectorType(_ir.IntType(64), WIDTH).as_pointer()
        ends = []
        for kind, array, start in zip(
            signature.args[::2], arguments[::2], arguments[1::2], strict=True
        ):
            data = cgutils.create_struct_proxy(kind)(context, builder, array).data
            ends.append(builder.bitcast(builder.gep(data, [start]), four))
        own, other = (builder.load(end, align=8) for end in ends)
        builder.store(builder.add(own, other), ends[0], align=8)
        return context.get_dummy_value()

    return signature, generate


def _add_four_uncompiled(sums: Any, place: Any, words: Any, first: Any) -> None:
    """The same where ``NUMBA_DISABLE_JIT`` has kernels run as they are written."""
    sums[int(place) : int(place) + WIDTH] += words[int(first) : int(first) + WIDTH]


_is_compiled = not config.DISABLE_JIT  # type: ignore[attr-defined]
add_four: Any = intrinsic(_add_four) if _is_compiled else _add_four_uncompiled
