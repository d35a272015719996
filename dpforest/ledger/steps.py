"""Steps of a writer, by name: where tests and benchmarks end a process, to see what is left.

Without a watcher nothing happens here.
"""

from __future__ import annotations

from collections.abc import Callable

#: All steps, in their order. The first three are passed where a store is opened.
STEPS = (
    "connecting",
    "creating",
    "opened",
    "queueing",
    "locked",
    "inserted",
    "moved",
    "committing",
    "committed",
    "released",
    "closing",
    "closed",
)

_watcher: Callable[[str], None] | None = None


def watch(watcher: Callable[[str], None] | None) -> None:
    """Call something at each step of this process from now on; None ends it."""
    global _watcher
    _watcher = watcher


def passed(step: str) -> None:
    """Say that a writer has come to a step."""
    if _watcher is not None:
        _watcher(step)
