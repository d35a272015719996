"""Secret and released are two types, so that a type checker sees a mix of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MIXES = ROOT / "tests" / "typing" / "mixes.py"
_REFUSED = re.compile(r"# refused: ([\w-]+)$")
_ERROR = re.compile(r"mixes\.py:(\d+): error: .*\[([\w-]+)\]$")


def expected() -> list[tuple[int, str]]:
    """Line and kind of each mix that is to be refused."""
    found = map(_REFUSED.search, MIXES.read_text(encoding="utf-8").splitlines())
    return [(number, match[1]) for number, match in enumerate(found, start=1) if match]


def test_a_type_checker_refuses_every_mix_and_nothing_else():
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", str(MIXES)], cwd=ROOT, capture_output=True, text=True
    )
    found = filter(None, map(_ERROR.search, run.stdout.splitlines()))
    assert [(int(match[1]), match[2]) for match in found] == expected(), run.stdout + run.stderr
