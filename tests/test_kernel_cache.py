"""Compiled code that is kept follows all its sources, those of kernels in other files too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import typeof

from dpforest.kernels.compiling import compile_for

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
from dpforest.kernels.compiling import kernel

STEP = {step}


@kernel(forceinline=True)
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

    def run(step: int, factor: int, before: str = "", **variables: str) -> tuple[int, int]:
        (folder / "inner.py").write_text(INNER.format(step=step, factor=factor))
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
        environment.pop("NUMBA_CACHE_DIR", None)
        environment |= variables
        # Python tells its bytecode by a source's second and size, and these are all the same size.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", before + RUN], capture_output=True, text=True, check=True,
            env=environment,
        )  # fmt: skip
        value, hits = map(int, done.stdout.split())
        return value, hits

    return run


def test_a_change_two_files_away_is_compiled_in(trial):
    assert trial(1, 2) == (21, 0)
    assert trial(1, 2) == (21, 1)  # kept
    assert trial(1, 3) == (31, 0)
    assert trial(5, 3) == (35, 0)  # a number counts as well
    assert trial(5, 3) == (35, 1)


NOWHERE = """
from numba.core.caching import CacheImpl

CacheImpl._locator_classes = []
"""
FULL = """
import resource, signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def test_a_process_that_cannot_keep_its_kernels_compiles_for_itself(trial, tmp_path):
    assert trial(1, 2, NOWHERE) == (21, 0)
    pytest.importorskip("resource")
    for _ in range(2):
        assert trial(1, 2, FULL, NUMBA_CACHE_DIR=str(tmp_path / "kept")) == (21, 0)


def test_kept_kernels_that_cannot_be_read_are_compiled_anew(trial, tmp_path):
    kept = tmp_path / "kept"
    trial(1, 2, NUMBA_CACHE_DIR=str(kept))
    # The last two are pickles: one of a module that is not there, one of a text that is none.
    for content in (b"", b"no pickle", b"cnowhere\nname\n.", b"\x8c\x01\xff."):
        for path in kept.rglob("*.nbi"):
            path.write_bytes(content)
        assert trial(1, 2, NUMBA_CACHE_DIR=str(kept)) == (21, 0)
    assert trial(1, 2, NUMBA_CACHE_DIR=str(kept)) == (21, 1)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_kernels_are_kept_by_all_sources_and_where_it_can_be_done(path):
    text = path.read_text("utf-8")
    if path.name != "compiling.py":
        assert "njit" not in text, "use dpforest.kernels.compiling.kernel"


def read_only():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


#: Two of these have one type only where they stand beside each other in a list.
ARGUMENTS = [
    [np.zeros(3), np.ones(9)], [read_only()], [np.zeros(6)[::2]], [np.zeros(3, np.float32)],
    [np.zeros((3, 3))], [np.asfortranarray(np.zeros((3, 3)))],
    [1, 7], [True, False], [1.0], [np.uint8(1)], [2**63],
    [(1, np.zeros(3)), (2, np.zeros(4))], [(1, read_only())], [(True, np.zeros(3))], [((1,),)],
]  # fmt: skip


def test_numba_is_asked_once_for_arguments_of_each_type():
    asked = []

    class Kernel:
        def compile(self, types):
            asked.append(types)

    function = Kernel()
    for alike in ARGUMENTS:
        for argument in alike:
            compile_for(function, argument)
    assert asked == [(typeof(alike[0]),) for alike in ARGUMENTS]
    compile_for(Kernel(), 1)
    assert len(asked) == len(ARGUMENTS) + 1
