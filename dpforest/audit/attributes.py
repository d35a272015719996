"""An object as a flat dictionary: every attribute that somebody who holds it can reach."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

_PLAIN = (int, float, complex, str, bytes, bool, type(None), Fraction)
# Which object it is, not what it knows: an identity drawn for each, locks of processes, and prices
# and sums by the place in memory of an event or a loss (the events are in the ledger).
_IDENTITY = frozenset({"_lineage", "_lock", "_process", "_prices", "_sums", "_requests_read"})
_OPAQUE = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)


def attributes_of(value: Any) -> dict[str, Any]:
    """Every value that can be reached from an object, by path.

    Parameters
    ----------
    value : object
        Arrays are taken whole, containers and objects (private attributes included) apart.

    Returns
    -------
    dict
        From paths such as ``.forest_.low`` to values that can be compared.
    """
    return dict(_walk(value, "", set()))


def _walk(value: Any, path: str, above: set[int]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, _PLAIN):
        # NaN is unlike itself, and 1 equals True.
        yield path, (type(value).__name__, repr(value))
    elif isinstance(value, (np.ndarray, np.generic)):
        yield from _walk_array(np.asarray(value), path, above)
        if isinstance(value, np.ma.MaskedArray):
            yield from _walk_array(np.ma.getmaskarray(value), f"{path}.mask", above)
    elif isinstance(value, _OPAQUE):
        yield path, f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    elif id(value) in above:
        yield path, "an object above"
    else:
        yield path, type(value).__qualname__
        for step, part in _parts(value):
            yield from _walk(part, path + step, above | {id(value)})


def _walk_array(array: np.ndarray, path: str, above: set[int]) -> Iterator[tuple[str, Any]]:
    if array.dtype == object:
        yield path, ("array", array.shape)
        yield from _walk(array.ravel().tolist(), path, above)
    else:
        yield path, ("array", array.shape, array.dtype.str, array.tobytes())


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
        return
    if isinstance(value, (list, tuple)):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
        return
    if isinstance(value, (set, frozenset)):
        yield from ((f"[{index}]", part) for index, part in enumerate(sorted(value, key=repr)))
        return
    slots = [name for kind in type(value).__mro__ for name in _slots_of(kind)]
    names = [*getattr(value, "__dict__", {}), *slots]
    for name in names:
        if name not in _IDENTITY and hasattr(value, name):
            yield f".{name}", getattr(value, name)


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in slots if name not in ("__dict__", "__weakref__"))
