"""Places where a ledger's file may stand."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path

from dpforest.exceptions import LedgerUnreachable

#: Advice where there is no ledger yet, to a shell and to Python.
CREATE = "Create it once: `dpforest ledger init`, or BudgetLedger.open(url, ..., create=True)"

#: Ends of the names of files that SQLite and the queue of writers keep beside a ledger's own.
FILE_ENDINGS = ("-wal", "-shm", "-journal", "-queue")
#: Of those, what SQLite reads into whatever file it finds beside it.
LOG_ENDINGS = ("-wal", "-journal")

#: What is mounted for this process, on Linux.
_MOUNTS = Path("/proc/self/mountinfo")

#: Types of ``statfs`` on Linux. FUSE is among them: what stands behind it cannot be told.
NETWORK = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x01021997: "9P",
    0x00C36400: "Ceph",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x5346414F: "AFS",
    0x6B414653: "kAFS",
    0x73757245: "Coda",
    0x7461636F: "OCFS2",
    0x01161970: "GFS2",
    0x564C: "NCP",
    0x65735546: "FUSE",
    0x786F4256: "shared folder of VirtualBox",
    0xBACBACBC: "shared folder of VMware",
}


def check_place(path: Path, create: bool, url: str) -> None:
    """Refuse a place that a ledger cannot be written at, before SQLite makes anything there.

    Raises
    ------
    LedgerUnreachable
        If it is no file, has two names, or the user may not write it and its folder.
    """
    problem = _problem(path, create)
    if problem:
        raise LedgerUnreachable(*problem, url)


def _problem(path: Path, create: bool) -> tuple[str, str] | None:
    """Rule and repair of what is wrong with a place, if anything is."""
    try:
        return _problem_seen(path, create)
    except OSError as error:  # a folder that may not be entered, a name that is too long
        return f"its place cannot be looked at ({error.strerror})", "Name another place"


def _problem_seen(path: Path, create: bool) -> tuple[str, str] | None:
    """The same, of a place that this user may look at."""
    folder = path.parent
    if not folder.is_dir():
        return "its folder is not there", "Make the folder, or name another place"
    for ending in FILE_ENDINGS:
        if (beside := path.with_name(path.name + ending)).is_symlink():
            # Whoever may write the folder would have others write over a file of their own.
            return f"{beside.name!r} beside it is a symbolic link", "Remove the link"
    if not path.exists() and not create:
        return "there is no ledger at this place", CREATE
    if not os.access(folder, os.W_OK | os.X_OK):
        return (
            "its folder may not be written by this user, and a ledger writes files beside its own",
            "Give this user the right to write the folder, or open a backup elsewhere",
        )
    if not path.exists():
        return None
    if not path.is_file():
        return "this is no file", "Name the ledger's file"
    if not os.access(path, os.R_OK | os.W_OK):
        return (
            "its file may not be read and written by this user",
            "Run as the user whom it belongs to, or ask them for the right to write it",
        )
    if path.stat().st_nlink > 1:
        # SQLite would keep a log for each name.
        return "its file has a second name (a hard link)", "Remove the other name"
    if _is_mounted_alone(path):
        # So there are two logs of it, and a container's is gone with the container.
        return "its file alone is mounted here, without what stands beside it", "Mount its folder"
    return None


def _is_mounted_alone(path: Path) -> bool:
    """True if a file is a mount of its own, as containers are given one."""
    try:
        lines = os.fsdecode(_MOUNTS.read_bytes()).splitlines()
    except OSError:
        return False  # another system, or a process that may not see it
    return any(_mounted_at(line) == str(path) for line in lines)


def _mounted_at(line: str) -> str:
    """Place of a mount, whose blanks are written as octal numbers."""
    place = (line.split(" ") + [""] * 5)[4]
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place)


def is_network(folder: Path) -> bool:
    """Say if a folder is known to be on a network file system, or on one that cannot be told.

    On systems other than Linux this cannot be told, and is never said.
    """
    return file_system(folder) in NETWORK


def file_system(folder: Path) -> int | None:
    """Type of a folder's file system as ``statfs`` numbers it, or None where it cannot be told."""
    if sys.platform != "linux":
        return None
    answer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None, use_errno=True).statfs(os.fsencode(folder), answer):
        return None
    # The structure begins with the type, a long; constants are of 32 bits.
    return ctypes.c_ulong.from_buffer(answer).value & 0xFFFFFFFF
