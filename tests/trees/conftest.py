"""The slow twins, which test modules cannot import under pytest's importlib mode."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def twins() -> ModuleType:
    """Module ``twins.py`` of this folder."""
    spec = importlib.util.spec_from_file_location("twins", Path(__file__).with_name("twins.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
