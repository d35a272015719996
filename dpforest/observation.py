"""Where a test may look on: reads of columns and releases of mechanisms, one observer at a time.

Without an observer nothing happens here. `dpforest.audit.recording` sets one, which logs what
passes, and on a replay hands out what was released before.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Observer(Protocol):
    """Whoever looks on."""

    def read(self, what: str) -> None:
        """Values of records are about to be read; ``what`` names the place, never a value."""

    def release(self, name: str, grant: Any, public: Any, draw: Callable[[], Any]) -> Any:
        """A mechanism is about to draw.

        Parameters
        ----------
        name : str
        grant : Grant or None
            None for draws that read no record.
        public : object
            What the mechanism takes to be public: shapes, and which candidates there are.
        draw : callable
            Makes the draw; its value, or another one of its form, is to be returned.
        """


_observer: Observer | None = None
_handled = itertools.count(1)
_last_handled = 0


def releases_observed() -> int:
    """How many releases an observer has handled in this process; any of them may be replaced."""
    return _last_handled


def set_observer(observer: Observer | None) -> Observer | None:
    """Let somebody look on, in the whole process; returns who did before."""
    global _observer
    before, _observer = _observer, observer
    return before


def observe_read(what: str) -> None:
    """Say that values of records are about to be read."""
    if _observer is not None:
        _observer.read(what)


def observed(public: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let an observer see every call of a mechanism.

    Parameters
    ----------
    public : callable
        From the mechanism's arguments to what of them is public.
    """

    def decorate(mechanism: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(mechanism)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if _observer is None:
                return mechanism(*args, **kwargs)
            global _last_handled
            _last_handled = next(_handled)
            grant = next((a for a in (*args, *kwargs.values()) if hasattr(a, "consume")), None)
            result: R = _observer.release(
                mechanism.__name__,
                grant,
                public(*args, **kwargs),
                lambda: mechanism(*args, **kwargs),
            )
            return result

        return call

    return decorate
