"""Kernels that are compiled once and kept, and compiled anew when any of their sources changes.

numba keeps compiled code as long as the file of a function is as it was. A kernel that calls one of
another file holds that one's code too, so after ``git pull`` it would go on running what was there
before: a mended mechanism would not be mended. Here what is kept is also told by the text of all
files that its own imports, and of those that they import. ``_cache_file`` is numba's own; were it
gone, kernels would be kept by numba's rule, and tests/test_kernel_cache.py would say so.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

#: Imports of kernels by kernels, which is all they import of this package.
_IMPORT = re.compile(r"^from (\S+\.kernels\S*) import", flags=re.MULTILINE)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: numba's ``njit`` without the interpreter's lock, kept by all its sources.

    Parameters
    ----------
    **options
        Further options of ``njit``.
    """
    compiled = njit(**{"cache": True, "nogil": True, **options})

    def decorate(function: Callable[..., Any]) -> Any:
        made = compiled(function)
        file: Any = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, sources_digest(function.__module__))
        return made

    return decorate


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
