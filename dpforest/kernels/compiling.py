"""Kernels that are compiled once and kept, and compiled anew when any of their sources changes.

numba keeps compiled code as long as the file of a function is as it was. A kernel that calls one of
another file holds that one's code too, so after ``git pull`` it would go on running what was there
before: a mended mechanism would not be mended. Here what is kept is also told by the text of all
files that its own imports, and of those that they import. ``_cache_file`` is numba's own; were it
gone, kernels would be kept by numba's rule, and tests/test_kernel_cache.py would say so.

Keeping is a convenience. Where no folder can be written, its disk is full, or what was kept there
cannot be read, a process compiles for itself: numba would end an import, or a fit in its middle.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit, typeof

#: Imports of kernels by kernels, which is all they import of this package.
_IMPORT = re.compile(r"^from (\S+\.kernels\S*) import", flags=re.MULTILINE)

#: Kernels that were asked for in this process, with what they were asked for.
_asked: set[Any] = set()


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: numba's ``njit`` without the interpreter's lock, kept by all its sources.

    Parameters
    ----------
    **options
        Further options of ``njit``.
    """
    wanted = {"cache": True, "nogil": True, **options}

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            made = njit(**wanted)(function)
        except RuntimeError:  # neither the package's folder nor one of the user's can be written
            return njit(**{**wanted, "cache": False})(function)
        kept: Any = getattr(made, "_cache", None)
        file: Any = getattr(kept, "_cache_file", None)
        if hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, sources_digest(function.__module__))
        for name in ("load_overload", "save_overload"):
            if hasattr(kept, name):
                setattr(kept, name, _or_nothing(getattr(kept, name), kept))
        return made

    return decorate


def compile_for(function: Any, *given: Any) -> None:
    """Compile a kernel for arguments of these types, or load it, without a call.

    What is compiled is kept in a folder that others may see. So whether a kernel is compiled must
    not depend on records: one that only some tables need is compiled for all of them.

    Parameters
    ----------
    function : kernel
    *given : Any
        Arguments as those of a call; their types alone are looked at.
    """
    compiled: Callable[[tuple[Any, ...]], Any] | None = getattr(function, "compile", None)
    asked = function, *map(_kind, given)
    if compiled is None or asked in _asked:
        return  # ``NUMBA_DISABLE_JIT`` has kernels run as they are written
    compiled(tuple(map(typeof, given)))
    _asked.add(asked)


def _kind(value: Any) -> Any:
    """All that numba's type of an argument depends on: to ask numba itself takes far longer."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num
    if type(value) is tuple:
        return tuple(map(_kind, value))
    return typeof(value)


def load_compiler() -> None:
    """Load the parts of numba that it takes up with the first call of a compiled function.

    These are numba's own, as ``_cache_file`` is; were they gone, that call would load what there
    is, and tests/estimators/test_loaded_before.py would say so.
    """
    with suppress(ImportError, AttributeError):
        from numba.core import boxing, registry  # noqa: F401
        from numba.core.runtime import context  # noqa: F401

        registry.cpu_target.typing_context.refresh()
        registry.cpu_target.target_context.refresh()


def is_compiling_elsewhere() -> bool:
    """True if another thread holds the compiler's lock; without numba's own part, False."""
    with suppress(ImportError, AttributeError):
        from numba.core.compiler_lock import global_compiler_lock

        if not global_compiler_lock._lock.acquire(blocking=False):
            return True
        global_compiler_lock._lock.release()
    return False


def _or_nothing(step: Callable[..., Any], kept: Any) -> Callable[..., Any]:
    """A step of keeping compiled code, which gives nothing where a file does not allow it."""

    def tried(*given: Any) -> Any:
        with suppress(OSError):
            try:
                return step(*given)
            except OSError:
                raise
            except Exception:  # of a pickle that is damaged: it may raise any error
                kept.flush()  # so that what is compiled next is kept
        return None

    return tried


@cache
def sources_digest(module: str) -> str:
    """Digest of the texts of a module and of all kernels that it imports, at any remove."""
    found: set[str] = set()
    waiting = [module]
    digest = hashlib.sha256()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        text = _source(name)
        digest.update(text.encode())
        waiting += sorted(_IMPORT.findall(text), reverse=True)
    return digest.hexdigest()


def _source(module: str) -> str:
    """Text of a module that was or is being imported; empty where it has no file."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return Path(path).read_text(encoding="utf-8") if path and Path(path).is_file() else ""
