"""Words of commands on standard streams, which may be closed, full or read by nobody."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpforest.exceptions import Described, ParameterError

#: Standard streams, the mode of each, and how what stands for a closed one is opened.
_STREAMS = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_WRONLY), ("stderr", "w", os.O_WRONLY))


def open_standard_streams() -> None:
    """Open those that the process was started without, so that no file takes their numbers.

    A file with the number of stderr would get what is written there. What they are told is dropped,
    as whoever closed them wants.
    """
    for name, mode, kind in _STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, kind), mode, encoding="utf-8"))


def is_terminal(stream: Any) -> bool:
    """Say if a standard stream is a terminal; one that is missing or was closed is none."""
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):  # None, or an object that only takes words
        return False


def print_notice(words: str) -> None:
    """Say something to people who watch: on stderr, if it is still there."""
    if sys.stderr is None:  # what is printed to no stream goes to stdout, among the results
        return
    # A terminal that is gone, or a stream that was closed, must not end a fit.
    with suppress(OSError, ValueError):
        print(words, file=sys.stderr, flush=True)


def print_result(words: str) -> None:
    """Print a result to stdout.

    Raises
    ------
    BrokenPipeError
        Nobody reads it.
    ParameterError
        Stdout does not take it, as on a full disk. What the command did stands.
    """
    with writing_to_stdout():
        print(words, flush=True)


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """Write to stdout in a block, which raises what :func:`print_result` does."""
    try:
        yield
    except OSError as fault:
        raise _stdout_refused(fault) from None


def _stdout_refused(fault: OSError) -> BrokenPipeError | ParameterError:
    """Error for what stdout did not take; what waits for it is dropped.

    Python would complain once more when it closes what cannot be written.
    """
    with suppress(OSError, ValueError):  # a stream of somebody else's has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(fault, BrokenPipeError):
        return fault
    return ParameterError(
        "stdout", Described("what the shell gave"),
        f"cannot be written ({fault.strerror}); what the command did otherwise stands",
        "See what was done before you run it again",
    )  # fmt: skip
