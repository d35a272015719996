"""What all tests share: numba's cache kept honest, hypothesis made repeatable."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent

# The same examples on every run; HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis.settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("search", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # once, before pytest-xdist starts its workers
        _drop_stale_kernels(ROOT / "dpforest")


def _drop_stale_kernels(package: Path) -> None:
    """Delete compiled kernels of a folder when any source in it has changed.

    numba looks at the file of a function only, so a kernel that calls one of another file
    would go on running that one's old code.
    """
    for folder in sorted(package.glob("**/kernels")):
        cache = folder / "__pycache__"
        stamp = cache / "sources.sha256"
        sources = b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
        digest = hashlib.sha256(sources).hexdigest()
        if stamp.exists() and stamp.read_text() == digest:
            continue
        try:
            for index in cache.glob("*.nbi"):
                index.unlink(missing_ok=True)
            cache.mkdir(exist_ok=True)
            stamp.write_text(digest)
        except OSError:  # a package that cannot be written to has its cache elsewhere
            continue
