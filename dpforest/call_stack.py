"""The call stack: frames around a function, and the line of the caller that a warning names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

#: Packages whose frames are not the caller's own code. Scores, pipelines and searches of
#: scikit-learn call an estimator from inside of it, and run their fits by joblib.
_NOT_THE_CALLERS = frozenset({"dpforest", "sklearn", "joblib"})


def calling_frames() -> Iterator[FrameType]:
    """The frames around the caller's own, the innermost first.

    A list of all of them in the caller would hold its own frame, and so itself and whatever they
    have until the next garbage collection: records, too.
    """
    frame = sys._getframe(1).f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def callers_stacklevel() -> int:
    """Find the level by which ``warnings.warn`` in the calling function names the caller's line.

    A fixed level is right for one way there alone. In other threads and processes there is no line
    of the caller's; what runs them is named.
    """
    # From 3.12 on warnings.warn skips frames by the names of files.
    level = 0
    for level, frame in enumerate(calling_frames(), start=1):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _NOT_THE_CALLERS:
            return level
    return level
