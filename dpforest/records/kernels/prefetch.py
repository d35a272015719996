"""Asking for a cache line before it is needed.

The records of a node are in rising order but not neighbours, so past the size of the caches each
row is a wait for memory, which the processor cannot see coming. The places are known ahead.
Without a word for it in numba, the intrinsic of LLVM is called; it changes no value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

ir: Any = vars(cgutils)["ir"]  # llvmlite, of the version that numba runs on

#: Records by which kernels ask ahead: longer than memory takes, shorter than a cache holds.
AHEAD = 24
#: Bytes of a cache line.
LINE = 64
#: Bytes of a table of codes that lies in the caches anyway.
NEAR = 2**22


def prefetch(array: NDArray, place: np.uint64) -> None:
    """Ask for the line that holds a place of a flat array, to be read soon; nothing in Python."""


@overload(prefetch)
def _compiled(array, place):
    # numba compares this signature with that of what is returned, types of arguments too.
    return lambda array, place: _ask(array, place)


@intrinsic
def _ask(_typing: Any, array: Any, _place: Any) -> Any:
    """The intrinsic, with a place in uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        # To be read, into all levels of the cache, as data.
        builder.call(call, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate
