"""What a wheel holds: the package, its data and nothing that only tests need.

`make wheel` installs it in an environment of its own, and runs the README's first commands there.
"""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import dpforest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INFO = f"dpforest-{dpforest.__version__}.dist-info"
#: All that is no module. Whoever adds a file of another kind adds it here, and knows its size.
DATA = {
    "dpforest/py.typed",
    "dpforest/command_line/output.schema.json",
    *(
        f"dpforest/datasets/data/{name}.{ending}"
        for name in ("adult", "mammographic_masses", "vertebral")
        for ending in ("csv.gz", "json", "txt")
    ),
    "dpforest/ledger/migrations/0001_first.postgresql.sql",
    "dpforest/ledger/migrations/0001_first.sqlite.sql",
    "dpforest/ledger/templates/ledger.html",
    "dpforest/plain/plain_model.schema.json",
    "dpforest/report/report.schema.json",
    "dpforest/report/templates/parts.html",
    "dpforest/report/templates/report.css",
    "dpforest/report/templates/report.html",
    "dpforest/report/templates/summary.html",
    *(f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
    f"{INFO}/licenses/LICENSE",
}
#: What the index's own limit is far from; the tables in the package take 0.6.
MEGABYTES = 2


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("flit_core", reason="the build tool is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys, flit_core.buildapi as tool; tool.build_wheel(sys.argv[1])"
    # The tool reads the version from the code below the folder, so no path of ours is in the way.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, env=kept, check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def test_it_holds_the_modules_that_are_here_and_listed_data(content):
    here = {p.relative_to(ROOT).as_posix() for p in (ROOT / "dpforest").rglob("*.py")}
    assert set(content) == here | DATA


def test_nothing_of_the_tests_is_in_it(content):
    """Neither a file of theirs, nor an import of what only they or the benchmarks need."""
    words = (b"import pytest", b"from pytest", b"hypothesis", b"import ortools", b"from tests")
    modules = {name: text for name, text in content.items() if name.endswith(".py")}
    assert not [name for name, text in modules.items() if any(word in text for word in words)]
    parts = {part for name in content for part in Path(name).parts}
    assert not parts & {"tests", "benchmarks", "docs", "tools", "examples", "conftest.py"}


def test_it_is_light(wheel):
    assert wheel.name == f"dpforest-{dpforest.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < MEGABYTES * 10**6


def test_its_metadata_are_those_of_the_project(content):
    told = email.message_from_bytes(content[f"{INFO}/METADATA"])
    assert (told["Name"], told["Version"]) == ("dpforest", dpforest.__version__)
    assert (told["License-Expression"], told["License-File"]) == ("BSD-3-Clause", "LICENSE")
    assert told["Description-Content-Type"].startswith("text/markdown")
    assert told.get_payload().startswith("# dpforest\n")
    needed = [line for line in told.get_all("Requires-Dist") if "extra ==" not in line]
    assert sorted(needed) == sorted(PROJECT["dependencies"])
    assert set(told.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert b"dpforest=dpforest.__main__:main" in content[f"{INFO}/entry_points.txt"]
