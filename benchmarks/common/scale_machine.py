"""What a measured line says of the machine, and of the process that measured."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("numpy", "numba", "scikit-learn", "pyarrow", "dask", "distributed")


def facts() -> dict[str, Any]:
    """Processor, cores, load and versions."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not here"


def peak_bytes() -> int:
    """Largest resident memory since `measured` began."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@contextmanager
def measured(into: dict[str, Any]) -> Iterator[None]:
    """Wall and processor seconds of this process's threads, and memory beyond what was there."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before, wall, cpu = peak_bytes(), time.perf_counter(), time.process_time()
    yield
    into["seconds"] = time.perf_counter() - wall
    into["cpu_seconds"] = time.process_time() - cpu
    into["peak_bytes"] = peak_bytes() - before
