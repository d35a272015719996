"""The slow twins of the trees' kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def twins(load_helper: Callable[[Path], ModuleType]) -> ModuleType:
    """Module ``twins.py`` of this folder."""
    return load_helper(Path(__file__).with_name("twins.py"))
