"""Files that appear whole at their place, over what is there, or leave it as it was.

What is written goes into a file beside the place, which is moved there once it is on the disk.
Where that cannot be, the place itself is written, with what was there put back if it fails.

Held by tests/test_whole_files.py.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: Errors of a folder that takes no file, or of a place that takes none of another name, though
#: what stands there may be written: rights, a mount of a single file, a file that Windows uses.
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
#: So many links lead nowhere for any system.
_MOST_LINKS = 40
#: Where Linux keeps a file's access list.
_ACCESS = "system.posix_acl_access"


@contextmanager
def file_over(
    path: Path, mode: int | None = None, when_whole: Callable[[], object] = lambda: None
) -> Iterator[BinaryIO]:
    """A file that is at its place when the block ends; if it fails, what was there still is.

    A file that is there must be one that may be written. It keeps its owner and permissions,
    unless a mode is asked for; a second name of it (a hard link) keeps what was there. Symbolic
    links are followed, but for those that another user put into a folder for all, as /tmp is. A
    pipe or a device is written as it is.

    Parameters
    ----------
    path : Path
    mode : int, optional
        Permissions; None for those of the file that is there, or of any new one.
    when_whole : callable, optional
        Called once all is written, just before it appears.

    Raises
    ------
    OSError
        It cannot be written; nothing is left beside it.
    """
    place = target_of(path)  # before all else, since links may change meanwhile
    if is_written_through(path):
        with path.open("wb") as through:
            yield through
            when_whole()
        return
    found = _found(path)
    begun = name_beside(place)
    try:
        if not _begin(begun, found, mode):
            yield (kept := io.BytesIO())
            when_whole()
            _write_in_place(place, kept.getvalue(), mode)
            return
        with begun.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        when_whole()
        _move(begun, place, found, mode)
    finally:
        with suppress(OSError):
            begun.unlink(missing_ok=True)
    see_to_disk(place.parent)


def name_beside(place: Path) -> Path:
    """A name of its own in the folder of a place, for what is not whole yet."""
    # Names may have 255 bytes, and a letter four.
    return place.with_name(f".{place.name[:60]}.{secrets.token_hex(4)}.part")


def target_of(path: Path) -> Path:
    """Return where the links of a path lead; its own place where it is none.

    Raises
    ------
    OSError
        They lead nowhere, or somebody else may have put one here to be followed.
    """
    for place, there in _links_of(path):
        if there is not None:
            _refuse_planted(place, there)
    return place


def is_written_through(path: Path) -> bool:
    """Say if a path is no file to be replaced: a pipe, a device, or what a process has open.

    A shell's ``> file`` goes on writing to the file that it opened, whatever is put in its place.
    """
    with suppress(FileNotFoundError):
        return not stat.S_ISREG(path.stat().st_mode) or _is_descriptor(path)
    return False


def see_to_disk(path: Path) -> None:
    """See a file or the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refuse_planted(path: Path, there: os.stat_result) -> None:
    """Refuse a link or a pipe of another user in a folder where all may make files.

    Linux follows none itself (``protected_symlinks``), unless it is told to; what finds out where
    a link leads, and writes there, is not held by that.
    """
    if os.name != "posix" or not (stat.S_ISLNK(there.st_mode) or stat.S_ISFIFO(there.st_mode)):
        return
    folder = path.parent.stat()
    for_all = stat.S_ISVTX | stat.S_IWOTH
    if folder.st_mode & for_all == for_all and there.st_uid not in (os.geteuid(), folder.st_uid):
        raise PermissionError(errno.EACCES, "it is of another user, in a folder for all")


def _found(path: Path) -> os.stat_result | None:
    """Look at what is there, if anything; a regular file must be one that may be written."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode):
        os.close(os.open(path, os.O_WRONLY))
    return found


def _is_descriptor(path: Path) -> bool:
    """Say if a path leads through a folder of open files, as /dev/stdout does."""
    folders = (os.path.realpath(place.parent) for place, _ in _links_of(path))
    return any(folder == "/dev/fd" or folder.startswith("/proc/") for folder in folders)


def _links_of(path: Path) -> Iterator[tuple[Path, os.stat_result | None]]:
    """A path, and where each link leads to, with what is there; each is looked at once.

    Raises
    ------
    OSError
        They lead nowhere.
    """
    for _ in range(_MOST_LINKS):
        try:
            there = path.lstat()
        except FileNotFoundError:
            yield path, None
            return
        yield path, there
        if not stat.S_ISLNK(there.st_mode):
            return
        path = path.parent / os.readlink(path)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _begin(begun: Path, found: os.stat_result | None, mode: int | None) -> bool:
    """Make an empty file; False where what is there has to be written in place."""
    if mode is None:
        mode = 0o666 if found is None else 0o600
    try:
        os.close(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except OSError as error:
        if found is None or error.errno not in _IN_PLACE:
            raise
        return False
    return True


def _move(begun: Path, place: Path, found: os.stat_result | None, mode: int | None) -> None:
    """Move a whole file to its place, or its content where it cannot take that place."""
    try:
        if found is not None and mode is None:
            _keep_rights(begun, place, found)
        os.replace(begun, place)
    except OSError as error:
        if found is None or error.errno not in _IN_PLACE:
            raise
        _write_in_place(place, begun.read_bytes(), mode)


def _keep_rights(begun: Path, place: Path, found: os.stat_result) -> None:
    """Give a file the owner, the permissions and the access list of another, not its times."""
    made = begun.stat()
    if (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
        os.chown(begun, found.st_uid, found.st_gid)
    _drop_inherited(begun, place)
    shutil.copystat(place, begun)
    os.utime(begun)


def _drop_inherited(begun: Path, place: Path) -> None:
    """Take an access list off that a file has of its folder alone: modes would widen it."""
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # a system without such lists
            if _ACCESS in set(os.listxattr(begun)).difference(os.listxattr(place)):
                os.removexattr(begun, _ACCESS)


def _write_in_place(place: Path, content: bytes, mode: int | None) -> None:
    """Write over a file that stays where it is; if that fails, put back what it held."""
    former = None
    with suppress(OSError):
        former = place.read_bytes()
    try:
        _fill(place, content, mode)
    except BaseException:
        if former is not None:
            with suppress(OSError):
                _fill(place, former, None)
        raise


def _fill(place: Path, content: bytes, mode: int | None) -> None:
    """Write over a file's bytes before it is cut, so that their room on the disk is kept."""
    flags = os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(place, flags), "wb") as file:
        if mode is not None:
            place.chmod(mode)
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
