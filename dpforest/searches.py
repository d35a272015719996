"""Warnings in a search of scikit-learn: given once for the search, and not once for each fit.

A search (``GridSearchCV``, ``cross_val_score`` and their like) runs its fits by one object of
joblib, which lives as long as the search. So that object stands for the search: a clone that is
made under it gets its token, and takes the token along into threads and other processes. The other
processes agree on who speaks first by a file whose name is a digest of what is said. It is empty,
and is removed when the search is over. Where there is no common folder, each process speaks once.
The process that the search was started in speaks once in any case, for its own fits.

No warning is lost by this: what cannot be looked up is said.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import shutil
import tempfile
import uuid
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from dpforest.call_stack import calling_frames
from dpforest.processes import ProcessLock

_SEARCHES = "sklearn.model_selection."
_RUNNERS = ("joblib.", "sklearn.utils.parallel")
_ONCE = " (Said once for this search, for this fit and all that follow.)"
#: Searches of which a process remembers what was said.
_MOST_REMEMBERED = 64

_lock = ProcessLock()
_tokens: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_said: dict[str, set[str]] = {}
_travelled: set[str] = set()


def running_search(inherited: str | None) -> str | None:
    """Token of the search that the caller's clone or fit is part of; None outside of any.

    Parameters
    ----------
    inherited : str or None
        Token of what is cloned or fitted; it counts as long as a search is running.
    """
    frames = list(calling_frames())
    if not any(map(_is_of_search, frames)):
        return None
    return inherited or _token_of(frames)


def travels(token: str) -> None:
    """Note that a token leaves for other processes, which then look in a folder of this one."""
    with _lock.here:
        if token in _travelled or not _is_own(token):
            return
        _travelled.add(token)
        try:
            _folder(token).mkdir(mode=0o700)
        except OSError:  # then each process speaks for itself
            return
        for key in _said.get(token, ()):
            _is_first(token, key)


def warn_in_search(
    text: str, category: type[Warning], search: str | None, *, key: str = "", stacklevel: int
) -> None:
    """Warn, within a search only where the same was not said before.

    Parameters
    ----------
    text : str
    category : type
    search : str or None
        Token of the search; None outside of one, where every fit warns.
    key : str
        What makes the same of two texts of one category. It holds nothing of records.
    stacklevel : int
        As for ``warnings.warn`` in the caller.
    """
    if search is None:
        warnings.warn(text, category, stacklevel=stacklevel + 1)
        return
    name = f"{category.__name__}: {key}"
    with _lock.here:
        said = _said.setdefault(search, set())
        while len(_said) > _MOST_REMEMBERED:
            del _said[next(iter(_said))]
        if name in said or not _is_first(search, name):
            return
        said.add(name)
    try:
        warnings.warn(text + _ONCE, category, stacklevel=stacklevel + 1)
    except Warning:  # made an error by a filter: the next fit is to end by it, too
        with _lock.here:
            said.discard(name)
            _file(search, name).unlink(missing_ok=True)
        raise


def _is_of_search(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_SEARCHES)


def _token_of(frames: list[FrameType]) -> str | None:
    """Token of the outermost search whose runner is found on a stack, the innermost frame first."""
    for frame in _of_one_search(frames):
        runner = _runner(frame)
        if runner is not None:
            with _lock.here:
                if runner not in _tokens:
                    _tokens[runner] = token = f"{os.getpid()}-{uuid.uuid4().hex}"
                    weakref.finalize(runner, _forget, token)
                return _tokens[runner]
    return None


def _of_one_search(frames: list[FrameType]) -> Iterator[FrameType]:
    """Frames of the outermost search and inside of it, then those that draw its fits from it.

    Whatever else is outside of it runs other searches, too: a user's own loop in joblib does. A
    thread of joblib has the runner outside, where it takes the next fits from the search.
    """
    outermost = max(place for place, frame in enumerate(frames) if _is_of_search(frame))
    yield from reversed(frames[: outermost + 1])
    if frames[outermost].f_code.co_flags & inspect.CO_GENERATOR:
        yield from itertools.takewhile(_is_of_runner, frames[outermost + 1 :])


def _is_of_runner(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_RUNNERS)


def _runner(frame: FrameType) -> Any:
    """The object of joblib that a frame is of, or that a search holds in it."""
    if _is_of_search(frame):
        found = frame.f_locals.get("parallel")
    elif _is_of_runner(frame):
        found = frame.f_locals.get("self")
    else:
        return None
    # By its type alone: an object may say of itself what it likes.
    named = any(kind.__name__ == "Parallel" and kind.__module__.startswith("joblib")
                for kind in type(found).__mro__)  # fmt: skip
    return found if named else None


def _forget(token: str) -> None:
    with _lock.here:
        _said.pop(token, None)
        if token in _travelled:
            _travelled.discard(token)
            shutil.rmtree(_folder(token), ignore_errors=True)


def _is_own(token: str) -> bool:
    return token.partition("-")[0] == str(os.getpid())


def _folder(token: str) -> Path:
    return Path(tempfile.gettempdir()) / f"dpforest-search-{token}"


def _file(token: str, name: str) -> Path:
    return _folder(token) / hashlib.sha256(name.encode()).hexdigest()


def _is_first(token: str, name: str) -> bool:
    """Say if this process is to say it, and note that it does.

    Whoever started the search hears it in any case: what another process said went to its stderr,
    which filters, records and notebooks of this one do not see.
    """
    if _is_own(token) and token not in _travelled:
        return True
    try:
        _file(token, name).touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return _is_own(token)
    except OSError:  # no such folder: another machine, or the search is over
        return True
    return True
