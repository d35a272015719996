"""A process that has loaded what tests import of others', and that forks for each run.

Loading takes longer than most of the tests that are run here. Nothing of dpforest is loaded in it,
so each fork takes that from the folder that it is told. Requests come as lines of JSON on standard
input, answers go out as such on standard output.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Not what starts threads when it is imported, and not what pytest has to load itself.
LOADED = ("joblib", "narwhals", "numba", "numpy", "pandas", "pydantic", "pytest", "scipy.stats")
LOADED += ("sklearn.base", "sklearn.pipeline", "tqdm")


class Tests:
    """Runs pytest in forks of one process, one after the other."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, folder: Path, arguments: list[str], output: Path, seconds: float) -> int | None:
        """Exit code of pytest in a folder; None if it took longer."""
        request = [str(folder), arguments, str(output), seconds]
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: int | None = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve() -> None:
    """Answer requests until there are none."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        folder, arguments, output, seconds = json.loads(line)
        child = os.fork()
        if not child:
            _test(folder, arguments, output)
        print(json.dumps(_ended(child, seconds)), flush=True)


def _test(folder: str, arguments: list[str], output: str) -> None:
    """Run pytest and leave; in the fork."""
    os.setsid()
    code = 3
    try:
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (written, 1), (written, 2)):
            os.dup2(source, target)
        os.chdir(folder)
        own = str(Path(__file__).parent)
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, own])
        sys.path[:] = [folder, *(path for path in sys.path if path != own), own]
        import pytest

        code = int(pytest.main(arguments))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _ended(child: int, seconds: float) -> int | None:
    """Exit code of a fork, with whatever it started gone too."""
    until = time.monotonic() + seconds
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < until:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    serve()
