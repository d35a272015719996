"""A PostgreSQL server of one's own for a while: a new cluster in a temporary folder, on loopback.

Run by another user where this one is root, as PostgreSQL demands. Nothing here needs more than the
server's programs, which Debian's package ``postgresql`` brings.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

#: Users to run a server as, where this one is root.
_USERS = ("postgres", "nobody")
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "logging_collector": "off",
}


def programs() -> Path | None:
    """Folder of the server's programs, or None where there are none."""
    found = [Path(name).parent for name in (shutil.which("initdb"),) if name]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: -float(p.parent.name))
    return next((folder for folder in found if (folder / "initdb").exists()), None)


class Cluster:
    """A server, from its making to its end.

    Parameters
    ----------
    in_memory : bool
        Keep its files in memory where there is room, for tests that are to be quick.

    Attributes
    ----------
    port : int
    password : str
        Of the user ``dpforest``, who may do everything.
    """

    def __init__(self, in_memory: bool = False) -> None:
        folder = programs()
        if folder is None:
            raise FileNotFoundError("PostgreSQL's programs are not installed")
        self._programs = folder
        self._as = _other_user() if os.geteuid() == 0 else {}
        self._folder = Path(tempfile.mkdtemp(prefix="dpforest-", dir=memory(in_memory)))
        self._data = self._folder / "data"
        self.password = secrets.token_hex(16)
        word = self._folder / "word"
        word.write_text(self.password)
        for path in (self._folder, word):
            if self._as:
                os.chown(path, self._as["user"], self._as["group"])
        try:
            self._run(
                *("initdb", "-D", self._data, "-U", "dpforest", "--auth=scram-sha-256"),
                *("--pwfile", word, "--no-sync", "--encoding=UTF8", "--locale=C"),
            )
            self.port = _free_port()
            self.start()
        except BaseException:
            self.remove()
            raise

    def url(self, database: str = "postgres", user: str = "dpforest", password: str = "") -> str:
        """Place of a database of this server, as libpq takes it."""
        word = password or self.password
        return f"postgresql://{user}:{word}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = " ".join(f"-c {k}='{v}'" for k, v in (_SETTINGS | {"port": self.port}).items())
        end = time.monotonic() + 60
        while True:
            try:
                self._run(
                    *("pg_ctl", "-D", self._data, "-w", "-t", "60"),
                    *("-l", self._folder / "log", "-o", settings, "start"),
                )
                return
            except subprocess.CalledProcessError:
                # After a crash its processes take a moment to be gone.
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def kill(self) -> None:
        """Kill the server's first process and all of its others, none of which can clean up."""
        first = int((self._data / "postmaster.pid").read_text().split()[0])
        others = _children(first)
        for number in (first, *others):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def remove(self) -> None:
        """End the server and delete what it wrote."""
        with contextlib.suppress(OSError):
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: Any) -> None:
        subprocess.run(
            [self._programs / program, *map(str, arguments)],
            check=True,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
            **self._as,
        )


def _other_user() -> dict[str, Any]:
    for name in _USERS:
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise FileNotFoundError("PostgreSQL is not run by root, and there is no other user here")


def memory(wanted: bool) -> str | None:
    """Folder in memory with room for a cluster, if wanted and there."""
    folder = Path("/dev/shm")
    if not wanted or not os.access(folder, os.W_OK):
        return None
    return str(folder) if shutil.disk_usage(folder).free > 2**30 else None


def _free_port() -> int:
    """One of those that systems give to no connection: it stays free until a server has it."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def _children(number: int) -> list[int]:
    text = Path(f"/proc/{number}/task/{number}/children")
    return [int(word) for word in text.read_text().split()] if text.exists() else []
