"""Fair queue of the writers of one file: first come, first served, between processes.

SQLite wakes those who wait for its lock at random and by turns that grow longer, so that one
process can starve the others. Here each writer draws a number and waits until all lower ones are
gone. Numbers are held by locks on bytes of a file beside the ledger, which fall when a process
dies. This is for fairness alone: SQLite's own lock keeps writers apart, also those that do not
queue. Where the system has no locks that belong to an open file, or refuses them, everybody goes
without.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl

    SUPPORTED = hasattr(fcntl, "F_OFD_SETLK") and sys.maxsize > 2**32
except ImportError:
    SUPPORTED = False

#: Bytes that are locked; what stands in the file is the next number, of eight bytes.
_COUNTER, _EXCLUSIVE, _TICKETS = 0, 1, 1 << 20
_LARGEST = 1 << 60

#: Of this process; a child must not keep the locks of its parent alive.
_open: set[int] = set()


class QueueTimeout(Exception):
    """A turn did not come in time."""


def _close_in_child() -> None:
    for descriptor in list(_open):
        with suppress(OSError):
            os.close(descriptor)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class FairQueue:
    """Turns at one file.

    Parameters
    ----------
    path : Path
        Of the queue's own file; made when it is first used, and whoever owns it keeps its rights
        those of the ledger.
    ledger : Path
        The file that turns are taken at.
    """

    def __init__(self, path: Path, ledger: Path) -> None:
        self._path, self._ledger = path, ledger

    @contextmanager
    def turn(self, timeout: float) -> Iterator[None]:
        """Hold the next turn, as soon as everybody who came before has had theirs.

        Raises
        ------
        QueueTimeout
            If it does not come for ``timeout`` seconds.
        """
        end = time.monotonic() + timeout
        with self._opened() as descriptor:
            try:
                if descriptor is not None:
                    _wait_for_turn(descriptor, end)
                yield
            finally:
                if descriptor is not None:
                    _unlock(descriptor, 0, 0)

    @contextmanager
    def exclusive(self, timeout: float) -> Iterator[None]:
        """Open or close the ledger alone, where there are locks."""
        end = time.monotonic() + timeout
        with self._opened() as descriptor:
            try:
                if descriptor is not None:
                    with suppress(OSError):
                        _lock(descriptor, fcntl.F_WRLCK, _EXCLUSIVE, 1, end)
                yield
            finally:
                if descriptor is not None:
                    _unlock(descriptor, 0, 0)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """Open the file anew: locks belong to one opening, and its end lets them fall."""
        descriptor = self._descriptor() if SUPPORTED else None
        if descriptor is None:
            yield None
            return
        _open.add(descriptor)
        try:
            yield descriptor
        finally:
            if descriptor in _open:  # a child has closed it
                _open.discard(descriptor)
                os.close(descriptor)

    def _descriptor(self) -> int | None:
        """Open the file, or make it; None where this process may not, or it is another's file."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            try:
                descriptor = os.open(self._path, flags)
            except FileNotFoundError:
                descriptor = os.open(self._path, flags | os.O_CREAT, 0o600)
        except OSError:
            return None
        found = os.fstat(descriptor)
        # It is written and given other rights: never through a second name of somebody's file.
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            os.close(descriptor)
            return None
        self._share(descriptor, found)
        return descriptor

    def _share(self, descriptor: int, found: os.stat_result) -> None:
        """Give the file the rights of the ledger, which is made after it, or has others by now.

        Its owner too, where an administrator was the first to open the ledger.
        """
        with suppress(OSError):
            ledger = self._ledger.stat()
            if os.geteuid() == 0 and found.st_uid != ledger.st_uid:
                os.fchown(descriptor, ledger.st_uid, ledger.st_gid)
            if found.st_mode & 0o777 != ledger.st_mode & 0o666:
                os.fchmod(descriptor, ledger.st_mode & 0o666)


def _wait_for_turn(descriptor: int, end: float) -> None:
    """Draw a number and wait for all lower ones; not where there are no locks, or is no room."""
    with suppress(OSError):
        if number := _draw_ticket(descriptor, end):
            _lock(descriptor, fcntl.F_RDLCK, _TICKETS, number, end)
            _unlock(descriptor, _TICKETS, number)


def _draw_ticket(descriptor: int, end: float) -> int:
    """Draw the next number, and hold it."""
    _lock(descriptor, fcntl.F_WRLCK, _COUNTER, 1, end)
    try:
        number = int.from_bytes(os.pread(descriptor, 8, 0), "little") % _LARGEST
        while not _try_lock(descriptor, fcntl.F_WRLCK, _TICKETS + number, 1):
            number += 1  # somebody set the counter back
        os.pwrite(descriptor, (number + 1).to_bytes(8, "little"), 0)
        return number
    finally:
        _unlock(descriptor, _COUNTER, 1)


def _lock(descriptor: int, kind: int, start: int, length: int, end: float) -> None:
    """Lock bytes, and wait for them if others hold them."""
    if _try_lock(descriptor, kind, start, length):
        return
    # The system's own wait knows no end, so a thread waits, and this one waits for it.
    copy = os.dup(descriptor)
    _open.add(copy)
    done = threading.Event()
    failures: list[OSError] = []

    def wait() -> None:
        try:
            fcntl.fcntl(copy, fcntl.F_OFD_SETLKW, _flock(kind, start, length))
        except OSError as error:
            failures.append(error)
        finally:
            done.set()
            _open.discard(copy)
            os.close(copy)

    try:
        threading.Thread(target=wait, daemon=True, name="dpforest ledger queue").start()
    except RuntimeError:  # none can be started while the interpreter ends
        _open.discard(copy)
        os.close(copy)
        _poll(descriptor, kind, start, length, end)
        return
    if not done.wait(max(end - time.monotonic(), 0)):
        raise QueueTimeout
    if failures:
        raise failures[0]


def _poll(descriptor: int, kind: int, start: int, length: int, end: float) -> None:
    """Lock bytes by asking again and again."""
    while not _try_lock(descriptor, kind, start, length):
        if time.monotonic() > end:
            raise QueueTimeout
        time.sleep(0.002)


def _try_lock(descriptor: int, kind: int, start: int, length: int) -> bool:
    """Lock bytes if nobody else holds them."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(kind, start, length))
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(descriptor: int, start: int, length: int) -> None:
    """Let bytes go; a length of 0 means all from the start on."""
    with suppress(OSError):
        if descriptor in _open:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(fcntl.F_UNLCK, start, length))


def _flock(kind: int, start: int, length: int) -> bytes:
    """The structure ``flock`` of a 64-bit Linux."""
    return struct.pack("@hhqqi0q", kind, os.SEEK_SET, start, length, 0)
