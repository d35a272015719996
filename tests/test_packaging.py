"""Installation and locks: version, public names, constraints, commands, documents."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dpforest
from dpforest.__main__ import main

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = ROOT / "constraints" / "locked.txt"
LOCKED_LINE = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[0-9][\w.]*)(?:\s*;.+)?")


def locked() -> dict[str, str]:
    lines = (line.split("#")[0].strip() for line in CONSTRAINTS.read_text().splitlines())
    matches = {line: LOCKED_LINE.fullmatch(line) for line in lines if line}
    wrong = [line for line, match in matches.items() if match is None]
    assert not wrong, f"not name==version with an optional marker: {wrong}"
    return {normal(match["name"]): match["version"] for match in matches.values()}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: list[str]) -> set[str]:
    return {normal(re.match(r"[A-Za-z0-9._-]+", line)[0]) for line in requirements}


@pytest.mark.parametrize("name", dpforest.__all__)
def test_public_name_is_there(name):
    assert getattr(dpforest, name) is not None
    assert name in dir(dpforest)


def test_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'dpforest' has no attribute 'Dommain'"):
        _ = dpforest.Dommain


PACKAGE = Path(dpforest.__file__).parent
#: Every module whose names are loaded when they are first used.
LAZY = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if "lazy_names(__name__" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", LAZY)
def test_type_checkers_see_the_same_names(name):
    module = importlib.import_module(name)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If) and "TYPE_CHECK" in ast.dump(n.test))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    modules = {name: "dpforest" for name in getattr(module, "_MODULES", ())}
    assert seen == module._HOMES | modules
    assert sorted(module.__all__) == sorted(seen)
    assert all(hasattr(module, one) for one in seen)
    assert {"dpforest", "dpforest.estimators.engine"} <= set(LAZY)


def test_package_is_typed():
    assert (Path(dpforest.__file__).parent / "py.typed").exists()


def test_every_direct_requirement_is_locked():
    extras = PROJECT["optional-dependencies"]
    everything = required(PROJECT["dependencies"]).union(*map(required, extras.values()))
    assert everything - {"dpforest"} <= locked().keys()


def test_run_time_requirements_are_the_light_ones():
    assert required(PROJECT["dependencies"]) == {
        "narwhals",
        "numba",
        "numpy",
        "pydantic",
        "scikit-learn",
        "scipy",
        "tqdm",
    }
    assert not [line for line in PROJECT["dependencies"] if re.search(r"<|==|~=", line)]


def test_diffprivlib_keeps_its_scikit_learn():
    assert "scikit-learn<1.9" in PROJECT["optional-dependencies"]["diffprivlib"]
    major, minor = locked()["scikit-learn"].split(".")[:2]
    assert (int(major), int(minor)) < (1, 9)


@pytest.mark.parametrize("package", ["numpy", "numba", "scikit-learn", "pydantic"])
def test_locked_environment_holds_the_locked_versions(package):
    if not (Path(sys.prefix) / ".ready-run").exists():
        pytest.skip("not the environment that the Makefile makes from the constraints")
    assert importlib.metadata.version(package) == locked()[package]


def test_version_command(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out.strip() == dpforest.__version__


def test_every_place_that_states_the_version_states_the_same():
    version = dpforest.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [version]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+) ?(.*)$", changes, re.MULTILINE)
    if headings[0][0] == "Unreleased":
        # Before a section without a date it would be a second one of what nobody has.
        headings = headings[1:]
        assert re.search(r"\d{4}-\d{2}-\d{2}", headings[0][1])
    assert headings[0][0] == version


def test_a_release_has_a_date_in_both_places_or_in_none():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    dates = re.findall(r"^date-released: ([\d-]+)$", citation, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    line = re.search(rf"^## {re.escape(dpforest.__version__)} (.+)$", changes, re.MULTILINE)
    assert line is not None
    assert re.findall(r"\d{4}-\d{2}-\d{2}", line[1]) == dates


def test_version_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "dpforest", "version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == dpforest.__version__


def test_command_is_needed(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "the following arguments are required: command" in capsys.readouterr().err


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_examples_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, of_the_ledger = re.findall(r"```python\n(.*?)```", readme(), flags=re.DOTALL)
    names = {"__name__": "readme"}
    exec(compile(first, "README.md", "exec"), names)
    assert "differentially private when one record is added or removed" in capsys.readouterr().out
    exec(compile(of_the_ledger, "README.md", "exec"), names)
    assert "data set 'adult': rho" in capsys.readouterr().out
    assert (tmp_path / "adult.ledger").exists()


def modules() -> list[str]:
    package = Path(dpforest.__file__).parent
    names = (path.relative_to(package.parent).with_suffix("") for path in package.rglob("*.py"))
    dotted = (".".join(name.parts).removesuffix(".__init__") for name in names)
    # Two names stand for what left: they refuse to be imported (see tests/estimators).
    left = {"dpforest.forest", "dpforest.learners"}
    return sorted(name for name in dotted if not name.endswith("__main__") and name not in left)


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
