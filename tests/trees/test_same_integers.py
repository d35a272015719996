"""What workers count follows from whole numbers and plain arithmetic alone.

A record's part of a sum must be the same wherever it stands and on whatever machine it is counted:
else one record more could change what others count for. So kernels that count records call no
library's exp or log, whose last bits differ between libraries, vector widths and processors.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpforest.domain.targets import TARGET_STEPS
from dpforest.trees.one_shot.kernels import score_tables
from dpforest.trees.scored.kernels import residuals

ROOT = Path(__file__).resolve().parents[2]
N = 1500
#: Of libraries: one number at a time, or several at once.
CALLS = re.compile(
    r"@\"?(?:llvm\.|__svml_|_?numba_)?(exp|exp2|expm1|log|log2|log1p|pow|tanh)(?:f\d|\b)"
)


def counted(order: np.ndarray) -> dict[str, np.ndarray]:
    """What records count for, each in its place, and sums over all, in some order of them."""
    generator = np.random.default_rng(7)
    odds = generator.normal(0, 4, (N, 1))[order]
    scores = generator.normal(0, 4, (N, 5))[order]
    labels = generator.integers(0, 5, N).astype(np.uint8)[order]
    targets = generator.integers(0, TARGET_STEPS + 1, N).astype(np.int32)[order]
    found = {}
    for clipped, most in (("", 2**16), (", clipped", 2**15)):
        one, many, means = (np.empty((N, c), np.int32) for c in (1, 5, 1))
        residuals.lattice_residuals(odds, labels % 2, 2**16, most, 1, one)
        residuals.lattice_residuals(scores, labels, 2**16, most, 2**30, many)
        residuals.target_residuals(odds, targets, TARGET_STEPS, 2**16, most, means)
        found |= {f"one{clipped}": one, f"many{clipped}": many, f"means{clipped}": means}
    log_prior, totals = np.log(np.full(5, 0.2)), np.zeros(6, np.int64)
    slopes, powers = np.array([0.5, 1.0, 2.0]), np.array([0.0, 1.0])
    score_tables.add_pair_scores(scores, labels, log_prior, slopes, powers, 6.0, 2**20, totals)
    return {**found, "totals": totals}


def test_a_record_counts_the_same_wherever_it_stands():
    straight, order = counted(np.arange(N)), np.random.default_rng(8).permutation(N)
    moved = counted(order)
    assert np.array_equal(straight.pop("totals"), moved["totals"])
    for name, found in straight.items():
        assert np.array_equal(found[order], moved[name])


def test_the_search_finds_such_calls():
    from numba import njit

    @njit
    def library(x):
        return np.exp(x) + np.log(x)

    library(1.5)
    assert CALLS.findall(library.inspect_llvm(library.signatures[0]))


def digest() -> str:
    """Of all integers."""
    found = hashlib.sha256()
    for part in counted(np.arange(N)).values():
        found.update(part.tobytes())
    return found.hexdigest()


def calls() -> list[str]:
    """Functions of libraries that freshly compiled kernels call."""
    used = (
        residuals.lattice_residuals, residuals.target_residuals, score_tables.add_pair_scores,
    )  # fmt: skip
    texts = [kernel.inspect_llvm(s) for kernel in used for s in kernel.signatures]
    return sorted({call for text in texts for call in CALLS.findall(text)})


@pytest.mark.parametrize("processor", ["generic", "x86-64-v3"])
def test_other_processors_count_the_same_and_call_no_library(processor, tmp_path):
    """Compiled for one without wide vectors, and for one with fused multiplication."""
    if processor.startswith("x86") and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("another kind of processor")
    code = f"import runpy; f = runpy.run_path({__file__!r}); print(f['digest'](), f['calls']())"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={
            **os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CPU_NAME": processor,
            "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path),
        },
    )  # fmt: skip
    assert run.stdout.split(maxsplit=1) == [digest(), "[]\n"]
