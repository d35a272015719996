"""Pages of benchmarks: whole or not written, by the command they name, and true to fresh runs."""

from __future__ import annotations

import argparse
import re
from importlib import import_module

import pytest
from common.pages import place_of
from common.tables import data_folder
from papers import command, reference
from papers.engine import Task
from papers.problems import Problem, left_out
from papers.tables import TABLES

KEPT = reference.kept()


class Module:
    """A table of two sets, of which one may be absent."""

    NAME = "made_up"

    @staticmethod
    def tasks(folder, repeats=2):
        names = [name for name in ("one", "two") if (folder / f"{name}.csv.gz").exists()]
        return [Task(name, "forest", repeat, 0) for repeat in range(repeats) for name in names]

    @staticmethod
    def evaluate(task, folder):
        return {"accuracy": (len(task.dataset) + task.repeat) / 10}

    @staticmethod
    def report(lines, folder):
        names = sorted({line["dataset"] for line in lines})
        return "\n".join(f"| {name} | 1 |" for name in names)


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Folders of data, pages and parts, with both sets there."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv.gz").touch()
    pages, parts = tmp_path / "docs", tmp_path / "parts"
    pages.mkdir()
    monkeypatch.setattr(command, "_RESULTS", parts)
    return tmp_path, pages, parts


def write(folder, pages, tasks):
    lines = [{**vars(task), **Module.evaluate(task, folder), "seconds": 1.0} for task in tasks]
    options = argparse.Namespace(data=folder, output=None)
    command.write(Module, lines, options, pages)


def test_a_whole_run_writes_the_page_and_keeps_its_cells(made_up):
    folder, pages, parts = made_up
    write(folder, pages, Module.tasks(folder))
    assert (pages / "made_up.md").read_text() == "| one | 1 |\n| two | 1 |\n"
    kept = reference.kept(pages / "cells.json")["made_up"]
    assert kept["sets"] == ["one", "two"] and kept["tasks"] == 4
    assert kept["cells"] == {"one": {"forest": 0.35}, "two": {"forest": 0.35}}
    found = reference.differences("made_up", Module, folder, file=pages / "cells.json")
    assert sorted(found) == [("one", "forest"), ("two", "forest")]
    assert not parts.exists()


@pytest.mark.parametrize("shorter", ["sets", "repeats", "folder"])
def test_a_part_never_overwrites_a_page(made_up, shorter, capsys):
    folder, pages, parts = made_up
    write(folder, pages, Module.tasks(folder))
    before = {path.name: path.read_bytes() for path in pages.iterdir()}
    tasks = Module.tasks(folder, 1 if shorter == "repeats" else 2)
    if shorter != "repeats":
        tasks = [task for task in tasks if task.dataset == "one"]
    if shorter == "folder":
        (folder / "two.csv.gz").unlink()
    write(folder, pages, tasks)
    assert {path.name: path.read_bytes() for path in pages.iterdir()} == before
    assert (parts / "made_up.md").exists() and "a part:" in capsys.readouterr().err


def test_a_page_elsewhere_is_written_as_asked(tmp_path):
    page = tmp_path / "page.md"
    assert place_of(page, ["something"], tmp_path / "parts", tmp_path / "docs") == page
    inside = tmp_path / "docs" / "page.md"
    assert place_of(inside, ["something"], tmp_path / "parts", tmp_path / "docs") != inside
    assert place_of(inside, [], tmp_path / "parts", tmp_path / "docs") == inside


def test_a_cell_that_differs_is_told(made_up):
    folder, pages, _ = made_up
    write(folder, pages, Module.tasks(folder))
    file = pages / "cells.json"
    file.write_text(file.read_text().replace("0.35", "0.36"))
    found = list(reference.differences("made_up", Module, folder, file=file))
    assert [(one.kept, one.fresh) for one in found] == [(0.36, 0.35)] * 2


def test_a_page_without_cells_is_no_success(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command, "kept", dict)
    options = argparse.Namespace(data=tmp_path, seed=0)
    assert command.check(["dmrf_table3"], options) == 1
    assert "of older code" in capsys.readouterr().out


def test_sets_that_are_there_are_never_called_absent(tmp_path):
    (tmp_path / "here.csv.gz").touch()
    said = left_out({"here": Problem("here"), "gone": Problem("gone")}, (), tmp_path)
    assert said == {"here": "not run yet", "gone": "not in the data folder"}


@pytest.mark.parametrize("name", TABLES)
def test_a_page_names_the_command_that_makes_it(name):
    """Without options: what the command runs unasked is what the page is made of."""
    page = (reference.PAGES / f"{name}.md").read_text(encoding="utf-8")
    commands = re.findall(r"Remade by `(python benchmarks/papers [^`]*)`", page)
    assert commands == [f"python benchmarks/papers {name}"]


@pytest.mark.parametrize("name", sorted(KEPT))
def test_figures_of_a_page_are_those_that_were_written(name):
    page = (reference.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert reference.digest(page) == KEPT[name]["tables"]


@pytest.mark.parametrize("name", sorted(KEPT))
def test_two_cells_of_a_page_are_as_a_fresh_run_has_them(name):
    table, folder = import_module(TABLES[name]), data_folder()
    found = list(reference.differences(name, table, folder))
    if not found:
        pytest.skip("no datasets: set DPFOREST_DATA")
    assert [one for one in found if isinstance(one, reference.Difference)] == []
    assert len(list(table.tasks(folder))) == KEPT[name]["tasks"]


def test_the_page_of_a_benchmark_asks_for_all_its_fits():
    """A shortened run of the regressions lacks what the page has."""
    regression = import_module("regression")
    every = regression.missing([])
    keys = ("dataset", "model", "epsilon", "seed")
    lines = [dict(zip(keys, key, strict=True)) for key in every]
    assert regression.missing(lines) == set()
    shorter = [line for line in lines if line["dataset"] in ("yacht", "airfoil")]
    assert regression.missing(shorter) == {
        key for key in every if key[0] not in ("yacht", "airfoil")
    }
    assert len(every) == 12 * 3 * (7 * 5 + 1)
