"""Signals that end a command: they wait while what was paid for is not yet written.

Ctrl-C, a service manager's end (SIGTERM) and a terminal that goes away (SIGHUP) are taken alike.

Held by tests/command_line/test_interrupts.py.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

#: SIGHUP is not on every system.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(KeyboardInterrupt):
    """A signal asked the command to end.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def interrupts_wait(is_due: Callable[[], bool]) -> Iterator[list[int]]:
    """Raise at a signal, but let it wait until the block ends where something is to be written.

    What was ignored before, such as SIGHUP under ``nohup``, stays ignored.

    Parameters
    ----------
    is_due : callable
        Asked at every signal: True while it has to wait.

    Yields
    ------
    list of int
        Signals so far. Those that are in it when the block ends well are raised then.

    Raises
    ------
    Interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield []  # signals go to the main thread alone
        return
    deferred = _DeferredSignals(is_due)
    before = _handlers()
    try:
        for number in before:
            signal.signal(number, deferred.handle)
        yield deferred.received
    finally:
        deferred.is_closed = True
        for number, handler in before.items():
            signal.signal(number, handler)
    if deferred.received:
        raise Interrupted(deferred.received[0])


class _DeferredSignals:
    """Takes signals, and raises where that loses nothing."""

    def __init__(self, is_due: Callable[[], bool]) -> None:
        self.received: list[int] = []
        self.is_closed = False
        self._is_due = is_due
        self._raised: weakref.ref[Interrupted] | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.received.append(number)
        # Several often come at once. A second one must not end what the first one's error does on
        # its way; but that error may have been lost, as in a destructor.
        is_unhandled = self._raised is not None and self._raised() is not None
        if self.is_closed or is_unhandled or self._is_due():
            return
        error = Interrupted(number)
        self._raised = weakref.ref(error)
        try:
            raise error
        finally:
            del error  # else its own frame would keep it


def _handlers() -> dict[int, signal.Handlers | Callable[[int, FrameType | None], object] | int]:
    """Handlers of signals that are not ignored, by number; those of C code are left alone."""
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    found = {number: signal.getsignal(number) for number in numbers}
    return {
        number: handler
        for number, handler in found.items()
        if handler is not None and handler != signal.SIG_IGN
    }
