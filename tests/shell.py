"""A shell for blocks of documents, whose ``dpforest`` is run by this very process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from dpforest.__main__ import main
from dpforest.ledger.command_line import ACTOR_VARIABLE, URL_VARIABLE

#: A ``dpforest`` that lets this process run its words: to start Python anew for each takes seconds.
CLIENT = """#!{python} -IS
import json, os, socket, sys
asked = {{"words": sys.argv[1:], "env": {{k: v for k, v in os.environ.items() if "DPFOREST" in k}}}}
with socket.socket(socket.AF_UNIX) as line:
    line.connect({place!r})
    line.sendall(json.dumps(asked).encode() + b"\\n")
    said = json.loads(line.makefile().readline())
print(said["out"], end="")
print(said["err"], end="", file=sys.stderr)
sys.exit(said["code"])
"""


class Program(socketserver.StreamRequestHandler):
    """One run of ``dpforest``, for a client that waits for it."""

    def handle(self) -> None:
        asked, out, err = json.loads(self.rfile.readline()), io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            for name in (URL_VARIABLE, ACTOR_VARIABLE):
                patch.delenv(name, raising=False)
            for name, value in asked["env"].items():
                patch.setenv(name, value)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(asked["words"])
        said = {"code": code, "out": out.getvalue(), "err": err.getvalue()}
        self.wfile.write(json.dumps(said).encode() + b"\n")


class Shell:
    """A shell whose variables last from block to block, with ``dpforest`` on its path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.variables, self.said = folder, folder / ".variables", ""
        self.variables.write_text("")
        # Elsewhere, because the name of a socket has to be short.
        self.own = Path(tempfile.mkdtemp())
        self.server = socketserver.UnixStreamServer(str(self.own / "s"), Program)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        program = self.own / "dpforest"
        program.write_text(CLIENT.format(python=sys.executable, place=str(self.own / "s")))
        program.chmod(0o755)
        self.env = os.environ | {"PATH": f"{self.own}{os.pathsep}{os.environ['PATH']}"}

    def run(self, text: str) -> None:
        whole = f"set -euo pipefail\n. {self.variables}\n{text}\nexport -p > {self.variables}\n"
        run = subprocess.run(
            ["bash", "-c", whole], cwd=self.folder, env=self.env, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{text}\n{run.stdout}{run.stderr}"
        self.said += run.stdout

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.own)
