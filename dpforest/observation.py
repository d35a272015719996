"""Hooks for tests that look on: reads, grants, counts and releases, one observer at a time.

Without an observer nothing happens here. `dpforest.audit.recording` sets one, which logs what
passes, and on a replay hands out what was released before; `tests/audit/support` sets one
that also sees when a grant was made, when records were counted, and what a mechanism was given.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw that a mechanism is about to make; calling it makes it."""

    mechanism: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self) -> Any:
        """Make the draw."""
        return self.mechanism(*self.args, **self.kwargs)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the mechanism, by name; raw counts and scores are secret."""
        return dict(inspect.signature(self.mechanism).bind(*self.args, **self.kwargs).arguments)


class Observer:
    """Base of observers; changes nothing."""

    def read(self, what: str) -> None:
        """Values of records are about to be read; ``what`` names the place, never a value."""

    def granted(self, grants: Sequence[Any], owner: str = "") -> None:
        """Grants were made, after what they cost was recorded; ``owner`` asked for them."""

    def table(self, table: Any) -> Any:
        """Records as one table in memory are about to be handed to a fit; return them."""
        return table

    def count(self, what: str) -> None:
        """A sum over all records is about to be made; ``what`` names it."""

    def release(self, name: str, grant: Any, public: Any, draw: Callable[[], Any]) -> Any:
        """A mechanism is about to draw.

        Parameters
        ----------
        name : str
        grant : Grant or None
            None for draws that read no record.
        public : object
            What the mechanism takes to be public: shapes, and which candidates there are.
        draw : Draw
            Makes the draw; its value, or another one of its form, is to be returned.
        """
        return draw()


_observer: Observer | None = None
_handled = itertools.count(1)
_last_handled = 0


def releases_observed() -> int:
    """Number of releases that observers handled in this process; any of them may be replaced."""
    return _last_handled


def set_observer(observer: Observer | None) -> Observer | None:
    """Set the observer of the whole process; returns the one before."""
    global _observer
    before, _observer = _observer, observer
    return before


def observe_read(what: str) -> None:
    """Say that values of records are about to be read."""
    if _observer is not None:
        _observer.read(what)


def observe_grants(grants: Sequence[Any], owner: str = "") -> None:
    """Say that grants were made, and for whom where that is known."""
    if _observer is not None:
        _observer.granted(grants, owner)


def observer() -> Observer | None:
    """The observer that is set, if any."""
    return _observer


def observe_count(counting: Any) -> None:
    """Say that records are about to be counted."""
    if _observer is not None:
        _observer.count(type(counting).__name__)


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
                Draw(mechanism, args, kwargs),
            )
            return result

        return call

    return decorate
