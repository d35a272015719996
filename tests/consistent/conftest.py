"""The benchmark tables, for tests that compare with what papers print."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the benchmark tables, which are not part of the package (DPFOREST_DATA)."""
    folder = ROOT / os.environ.get("DPFOREST_DATA", "../shared/data")
    if not folder.is_dir():
        pytest.skip("no folder of benchmark tables (DPFOREST_DATA)")
    return folder
