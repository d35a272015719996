"""The planted faults, which test modules cannot import under pytest's importlib mode."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_faults() -> ModuleType:
    """Module ``faults.py`` of this folder."""
    spec = importlib.util.spec_from_file_location(
        "planted_faults", Path(__file__).with_name("faults.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def planted_faults() -> tuple:
    """All of them."""
    return load_faults().planted_faults()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fault" in metafunc.fixturenames:
        faults = load_faults().planted_faults()
        metafunc.parametrize("fault", faults, ids=[fault.name for fault in faults])
