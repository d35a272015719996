"""JSON that is given as text or as the path of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path

#: A longer path is not shown.
_LONGEST = 250


def json_text(given: str | PathLike[str], refuse: Callable[[str], Exception]) -> str:
    """The text itself, or what the file holds.

    Parameters
    ----------
    given : str or path
        A text is told by its opening brace; anything else is a path.
    refuse : callable
        Makes the caller's error of what is wrong, as a clause.
    """
    if isinstance(given, str) and given.lstrip().startswith("{"):
        return given
    if not isinstance(given, (str, PathLike)):
        raise refuse(f"a {type(given).__name__} is neither a path nor JSON text")
    try:
        return Path(given).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        reason = "it holds no text"
    except (OSError, ValueError) as error:  # a null character in a path is a ValueError
        reason = _REASONS.get(type(error), type(error).__name__)
    path = os.fspath(given)
    # What is no path may be a text, which is nobody's business.
    name = f" {path!r}" if len(path) <= _LONGEST and path.isprintable() else ""
    raise refuse(f"the file{name} cannot be read ({reason})")


_REASONS: dict[type[Exception], str] = {
    FileNotFoundError: "there is none",
    IsADirectoryError: "it is a folder",
    PermissionError: "no permission",
}
