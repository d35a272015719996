"""A pytest plugin: writes each failure as a line of JSON, with the exception's type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--mutant-failures", type=Path, help="where failures are written")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        found = call.excinfo.type
        line = {
            "test": item.nodeid,
            "when": report.when,
            "exception": f"{found.__module__}.{found.__qualname__}",
            "message": str(call.excinfo.value)[:300],
        }
        with item.config.getoption("mutant_failures").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return report
