"""Compiled code that is kept follows all its sources, those of kernels in other files too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KERNELS = sorted(path for path in (ROOT / "dpforest").rglob("kernels/*.py"))
ENTRY = """
from dpforest.kernels.compiling import kernel
from trial.kernels.middle import middle


@kernel()
def entry(x):
    return middle(x)
"""
MIDDLE = """
from dpforest.kernels.compiling import kernel
from trial.kernels.inner import STEP, inner


@kernel(forceinline=True)
def middle(x):
    return inner(x) + STEP
"""
INNER = """
from numba import njit

STEP = {step}


@njit(cache=True, forceinline=True)
def inner(x):
    return x * {factor}
"""
RUN = """
from trial.kernels.entry import entry

print(entry(10), sum(entry.stats.cache_hits.values()))
"""


@pytest.fixture
def trial(tmp_path):
    folder = tmp_path / "trial" / "kernels"
    folder.mkdir(parents=True)
    (folder / "entry.py").write_text(ENTRY)
    (folder / "middle.py").write_text(MIDDLE)

    def run(step: int, factor: int) -> tuple[int, int]:
        (folder / "inner.py").write_text(INNER.format(step=step, factor=factor))
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
        environment.pop("NUMBA_CACHE_DIR", None)
        # Python tells its bytecode by a source's second and size, and these are all the same size.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", RUN], capture_output=True, text=True, check=True, env=environment
        )
        value, hits = map(int, done.stdout.split())
        return value, hits

    return run


def test_a_change_two_files_away_is_compiled_in(trial):
    assert trial(1, 2) == (21, 0)
    assert trial(1, 2) == (21, 1)  # kept
    assert trial(1, 3) == (31, 0)
    assert trial(5, 3) == (35, 0)  # a number counts as well
    assert trial(5, 3) == (35, 1)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_kernels_that_use_others_are_kept_by_all_sources(path):
    text = path.read_text("utf-8")
    uses = set(re.findall(r"^from (dpforest\.\S*kernels\S*) import", text, flags=re.MULTILINE))
    if uses - {"dpforest.kernels.compiling"} and path.name != "compiling.py":
        assert "njit" not in text, "use dpforest.kernels.compiling.kernel"
