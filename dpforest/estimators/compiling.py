"""One line on standard error while the first fit of a kind compiles its code.

Whether code is to be compiled is asked of numba's own index of what it has kept, for the strategy
that is about to be trained: a declared or released choice. So the line tells of this machine, and
nothing of records. What asks is numba's own and may change; were it gone, nothing would be said.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from multiprocessing import current_process
from pkgutil import iter_modules
from typing import Any

from dpforest.standard_streams import is_terminal
from dpforest.trees.strategies import STRATEGIES

_LINE = (
    "dpforest: the first fit of this kind ({strategy}) compiles its code for this machine, "
    "which takes half a minute or more. Later fits find it and start at once."
)
#: Modules of the kernels of strategies that have none in their own package.
_ELSEWHERE = {
    "additive": (
        "dpforest.mechanisms.kernels.objective",
        "dpforest.trees.curves.in_turn.kernels.features",
    )
}
#: Strategies that were looked at in this process.
_seen: set[str] = set()


def tell_of_compiling(strategy: str) -> None:
    """Print the line where somebody waits for it and there is something to compile.

    Somebody waits at a terminal and in a notebook; a log, a pipe or a worker process gets nothing,
    whatever ``verbose`` is.

    Parameters
    ----------
    strategy : str
        Name of the learner.
    """
    if strategy in _seen or not _somebody_waits():
        return
    _seen.add(strategy)
    if not _is_kept(strategy):
        with suppress(OSError, ValueError):  # a terminal that was closed must not end a fit
            print(_LINE.format(strategy=strategy), file=sys.stderr, flush=True)


def _somebody_waits() -> bool:
    if sys.stderr is None or current_process().name != "MainProcess":
        return False
    if getattr(sys.stderr, "closed", False):
        return False
    return "ipykernel" in sys.modules or is_terminal(sys.stderr)


def _is_kept(strategy: str) -> bool:
    """Say if numba has kept code of the strategy's kernels; True where that cannot be asked."""
    try:
        indices = [cache._cache_file._load_index() for cache in _caches(strategy)]
    except Exception:  # numba's own parts have changed, or its folder cannot be read
        return True
    return not indices or any(indices)


def _caches(strategy: str) -> Iterator[Any]:
    """Yield what numba keeps the strategy's kernels in."""
    for name in _modules(strategy):
        module = import_module(name)
        for value in vars(module).values():
            cache = getattr(value, "_cache", None)
            if hasattr(cache, "_cache_file") and value.__module__ == name:
                yield cache


def _modules(strategy: str) -> tuple[str, ...]:
    """Names of the modules of a strategy's kernels."""
    if strategy in _ELSEWHERE:
        return _ELSEWHERE[strategy]
    package = import_module(f"{STRATEGIES[strategy].package}.kernels")
    return tuple(found.name for found in iter_modules(package.__path__, f"{package.__name__}."))
