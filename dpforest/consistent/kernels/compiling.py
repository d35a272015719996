"""Compilation of the grower's parts: into their caller, and without reference counts.

numba counts references to every array that a function is handed. Counting is atomic, and where
tuples of arrays are handed down for each node it costs more than a small node's work. The parts of
the grower allocate nothing and keep nothing, so they need no counts: arrays belong to
:func:`~dpforest.consistent.kernels.grow.grow_tree`, which counts them as usual and outlives all
uses. ``_nrt`` is numba's option for that; where a future numba has it no more, the same code is
compiled with counts, only slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpforest.kernels.compiling import kernel


def part(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for a function that allocates nothing and returns no array."""
    usual: dict[str, Any] = {"forceinline": True, **options}
    uncounted = {**usual, "_nrt": False}
    try:
        return kernel(**uncounted)
    except (KeyError, TypeError):
        return kernel(**usual)
