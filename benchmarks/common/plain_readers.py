"""Both readers of plain models on the same records: the one of the package, and Node's."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dpforest import read_plain

READER = Path(__file__).resolve().parents[2] / "examples" / "plain_model.mjs"
OLDEST_NODE = 18
Records = Sequence[Sequence[Any]]


@cache
def node() -> str | None:
    """The command of Node, if there is one that is new enough."""
    found = shutil.which("node")
    if found is None:
        return None
    run = subprocess.run([found, "--version"], capture_output=True, text=True)
    major = run.stdout.strip().lstrip("v").partition(".")[0]
    return found if major.isdigit() and int(major) >= OLDEST_NODE else None


def by_python(text: str, records: Records) -> list[Any]:
    """Probabilities, or means, by ``dpforest.read_plain``."""
    model = read_plain(text)
    return model.predict(records) if model.classes is None else model.predict_proba(records)


def by_node(text: str, records: Records) -> list[Any]:
    """The same by the reader in JavaScript, run as its own process."""
    command = node()
    assert command is not None, f"there is no Node {OLDEST_NODE} or later"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(text, encoding="utf-8")
        run = subprocess.run(
            [command, str(READER), str(path)], input=as_json(records),
            capture_output=True, encoding="utf-8",
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def as_json(records: Records) -> str:
    """Records as JSON text, which has no NaN and only too large numbers for infinity."""
    return "[" + ",".join(f"[{','.join(map(_value, record))}]" for record in records) + "]"


def _value(value: Any) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "null"
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return json.dumps(value)
