"""Files that commands write: whole or not at all, never over another one by accident.

A file is written beside its place under another name and then moved there (`whole_files`). What
holds records or values that were read from them is for its owner's eyes alone.

Held by tests/command_line/test_writing.py.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dpforest.checks import is_same_file
from dpforest.exceptions import ParameterError
from dpforest.whole_files import file_over, is_written_through, name_beside, see_to_disk

#: Modes of a file that its owner alone may read, and of others before the process's mask.
_PRIVATE, _PUBLIC = 0o600, 0o666


def check_new(
    path: Path,
    force: bool,
    option: str = "--output",
    read: Iterable[str | os.PathLike[str] | None] = (),
) -> None:
    """Refuse a place where something is that nobody allowed to replace, or that is read.

    Records, and models that were paid for, are not replaced by what is made of them, whatever
    ``force`` says.

    Raises
    ------
    ParameterError
        Nothing was read, charged or written.
    """
    # A path that may not be looked at, or is too long, is refused where it is written.
    if os.path.isdir(path):
        raise ParameterError(option, str(path), "is a folder", "Name a file")
    if os.path.lexists(path) and not force:
        raise ParameterError(
            option, str(path), "is there already", "Name another place, or write --force"
        )
    if any(place is not None and is_same_file(path, place) for place in read):
        raise ParameterError(option, str(path), "is a file that is read", "Name another place")


def check_writable(folder: Path, option: str = "--output") -> None:
    """Make a folder if there is none, and see that files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _refused(folder, error, option) from None


def write_text(
    path: Path,
    text: str,
    *,
    private: bool = False,
    force: bool = False,
    option: str = "--output",
    removed: Iterable[Path] = (),
) -> None:
    """Write a text as a whole file; see :func:`new_file`."""
    with new_file(path, private=private, force=force, option=option, removed=removed) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def new_file(
    path: Path,
    *,
    private: bool = False,
    force: bool = False,
    option: str = "--output",
    removed: Iterable[Path] = (),
) -> Iterator[BinaryIO]:
    """A file that appears at its place when the block ends, and not at all if it fails.

    Files that are to be ``removed`` are so when it is whole on the disk, just before it appears.

    Raises
    ------
    ParameterError
        It cannot be written, or something is there and ``force`` is not set.
    """
    opened = _over if force else _anew
    with opened(path, private, option, removed) as file:
        yield file


@contextmanager
def _over(path: Path, private: bool, option: str, removed: Iterable[Path]) -> Iterator[BinaryIO]:
    """A file in place of what is there, whose permissions it has unless it is private."""
    try:
        with file_over(path, _PRIVATE if private else None, lambda: _remove(removed)) as file:
            yield file
    except OSError as error:
        raise _refused(path, error, option) from None


@contextmanager
def _anew(path: Path, private: bool, option: str, removed: Iterable[Path]) -> Iterator[BinaryIO]:
    """A file where nothing is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    mode = _PRIVATE if private else _PUBLIC
    with (
        new_place(path, option=option, removed=removed) as begun,
        os.fdopen(os.open(begun, flags, mode), "wb") as file,
    ):
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def new_place(
    path: Path, *, force: bool = False, option: str = "--output", removed: Iterable[Path] = ()
) -> Iterator[Path]:
    """A name beside a place, for what makes its file itself; see :func:`new_file`.

    What is made by that name is to be whole on the disk when the block ends.
    """
    begun = name_beside(path)
    try:
        if force and is_written_through(path):
            raise OSError(errno.EINVAL, "it is no file that can be replaced")
        yield begun
        _remove(removed)
        _place(begun, path, force)
        see_to_disk(path.parent)
    except OSError as error:
        begun.unlink(missing_ok=True)
        raise _refused(path, error, option) from None
    except BaseException:
        begun.unlink(missing_ok=True)
        raise


def _remove(files: Iterable[Path]) -> None:
    for one in files:
        one.unlink(missing_ok=True)


def _place(begun: Path, path: Path, force: bool) -> None:
    """Move a whole file to its place; over another one only where that is allowed."""
    if force:
        os.replace(begun, path)
        return
    try:
        os.link(begun, path)  # fails where something is there, even since it was looked at
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        if os.path.lexists(path):  # a file system without links
            raise FileExistsError(errno.EEXIST, "exists") from None
        os.rename(begun, path)
        return
    os.unlink(begun)


def _refused(path: Path, error: OSError, option: str) -> ParameterError:
    if isinstance(error, FileExistsError):
        return ParameterError(
            option, str(path), "is there already", "Name another place, or write --force"
        )
    return ParameterError(
        option, str(path), f"cannot be written ({error.strerror or type(error).__name__})",
        "Name a place that you may write to, with room on its disk",
    )  # fmt: skip


def rescue(text: str, stem: str) -> Path | None:
    """Write what must not be lost somewhere, where its own place did not take it; private.

    Returns
    -------
    Path or None
        Where it is now; None if no place took it.
    """
    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir()), Path.home):
        try:
            place = folder() / f"{stem}-{secrets.token_hex(4)}.json"
            write_text(place, text, private=True)
            return place
        except (ParameterError, OSError, RuntimeError):
            continue
    return None
