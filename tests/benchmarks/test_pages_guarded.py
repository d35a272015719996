"""Pages of other benchmarks: a shortened run, or one without all packages, leaves them be."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from common import pages
from common.pages import place_of


class Stored:
    """A file without lines; ``file`` as where a benchmark keeps one in another object."""

    def __init__(self, *_, **__):
        self.file = self

    def lines(self):
        return []

    reported = lines


#: Benchmarks, how they are told to write alone, what they read their lines with, and what writes.
WRITERS = [
    ("consistency", "--report-only", "Store", ("consistency", "write_tables"), "consistency.md"),
    ("door", "--report", "Store", ("door", "write_page"), "door_results.md"),
    ("ledger", "--report", "Store", ("ledger", "write_page"), "ledger_results.md"),
    ("scale", "--report", "stored", ("common.scale_report", "write_report"), "scale.md"),
    ("speed_tables", "--write", "Results", ("speed_tables", "write_page"), "speed.md"),
]
#: Benchmarks that tell by the rows of the page: where each writes, and with what results.
BY_ROWS = [
    ("common.speed_report", lambda report, docs: report.write_page(SPEED_LINES, docs), "speed.md"),
    (
        "attacks.report", lambda report, docs: report.write_report(docs / "none", docs),
        "attacks_results.md",
    ),
    ("audit", lambda audit, docs: audit.main(), "audit_results.md"),
]  # fmt: skip
SPEED_LINES = [
    {
        "part": "encode", "table": "adult", "shape": (1, 1), "seconds": {"array": 1.0}, "load": 0.0,
        "cores": 1, "python": "3", "numpy": "2", "numba": "0", "scikit-learn": "1",
    }
]  # fmt: skip


@pytest.mark.parametrize(("name", "option", "reader", "writer", "page"), WRITERS)
def test_a_shortened_run_writes_beside_the_page(
    name, option, reader, writer, page, tmp_path, monkeypatch
):
    if name == "door":
        pytest.importorskip("polars")
    benchmark, written = import_module(name), []
    elsewhere = partial(place_of, beside=tmp_path)
    monkeypatch.setattr(pages, "place_of", elsewhere)
    monkeypatch.setattr(benchmark, "place_of", elsewhere, raising=False)
    monkeypatch.setattr(benchmark, reader, Stored)
    monkeypatch.setattr(benchmark, "write_plots", lambda *_: None, raising=False)
    monkeypatch.setattr(
        import_module(writer[0]), writer[1],
        lambda *given: written.extend(one for one in given if isinstance(one, Path)),
    )  # fmt: skip
    if name == "scale":  # without a line nothing of it is asked for
        line = {"case": "auto/float32/10000000"}
        monkeypatch.setattr(Stored, "reported", lambda self: [line])
    monkeypatch.setattr(sys, "argv", [f"{name}.py", option])
    benchmark.main()
    assert written == [tmp_path / page]
    marked = page in ("consistency.md", "scale.md", "speed.md")
    assert written[0].exists() == marked
    assert not marked or written[0].read_bytes() == (pages.DOCS / page).read_bytes()


@pytest.mark.parametrize(("name", "write", "page"), BY_ROWS)
def test_a_run_whose_page_would_lose_rows_writes_beside_it(
    name, write, page, tmp_path, monkeypatch
):
    module = import_module(name)
    docs, parts = pages.DOCS, tmp_path / "parts"
    before = (docs / page).read_bytes()
    monkeypatch.setattr(module, "place_of", partial(place_of, beside=parts))
    monkeypatch.setattr(module, "sections", lambda _: iter(["# none"]), raising=False)
    monkeypatch.setattr(sys, "argv", ["audit.py", "--output", str(docs / page)])
    try:
        write(module, docs)
        assert (docs / page).read_bytes() == before
    finally:
        (docs / page).write_bytes(before)
    assert (parts / page).exists()


def test_a_shorter_audit_is_a_part_even_with_all_rows():
    audit = import_module("audit")
    assert audit.shortened(argparse.Namespace(**audit.WHOLE)) == []
    assert audit.shortened(argparse.Namespace(**{**audit.WHOLE, "runs": 10})) == ["runs"]


def test_the_page_of_attacks_asks_for_its_jobs():
    pytest.importorskip("ortools")
    report = import_module("attacks.report")
    every = report.missing([], [])
    names = ("dataset", "model", "epsilon", "seed")
    lines = [dict(zip(names, key, strict=True)) for key in every]
    assert report.missing(lines, []) == set() and len(report.missing(lines[1:], [])) == 1


def test_rows_are_lost_where_a_page_has_more_of_a_name(tmp_path):
    page = tmp_path / "page.md"
    assert pages.rows_lost(page, "") == []
    page.write_text("| set | x |\n| --- | --- |\n| one | 1 |\n| one | 2 |\n| two | 3 |\n")
    assert pages.rows_lost(page, page.read_text()) == []
    assert pages.rows_lost(page, "| set |\n| --- |\n| two | 4 |\n| one | 5 |\n") == ["one"]


def test_the_consistency_page_asks_for_its_trees_too():
    consistency = import_module("consistency")
    lines = consistency.fits(3, 10**6)
    assert consistency.missing(lines) == set()
    assert len(consistency.missing([*lines[1:], {**lines[0], "trees": 8}])) == 1


def test_the_ledger_page_asks_for_both_stores():
    ledger = import_module("ledger")
    every = ledger.missing([])
    names = ("kind", "store", "number", "seed")
    lines = [dict(zip(names, key, strict=True)) for key in every]
    assert ledger.missing(lines) == set() and len(every) == 4 + 3 + 10 + 100 + 10
    assert ledger.missing([line for line in lines if line["store"] == "sqlite"])


def test_the_page_of_scale_asks_for_the_part_it_has_lines_of():
    scale, names = import_module("scale"), import_module("common.scale_cases").cases()
    auto = [{"case": name} for name in names if name.startswith("auto/")]
    assert scale.missing([{"case": name} for name in names]) == set() == scale.missing(auto)
    assert scale.missing(auto[1:]) == {auto[0]["case"]}
    others = [{"case": name} for name in names if not name.startswith("auto/")]
    assert scale.missing(others[1:] + auto) == {others[0]["case"]}


def test_the_page_of_tables_asks_for_all_in_as_many_turns(tmp_path):
    speed_tables = import_module("speed_tables")
    (tmp_path / "one.json").write_text('{"task": "regression"}')
    (tmp_path / "one.csv.gz").touch()
    page = tmp_path / "speed.md"
    page.write_text("2 of 4 predictions.")
    imports = {"part": "import", "pairs": 11}
    line = {"part": "table", "table": "one", "fits": {"repeats": 3, "seconds": {"pure": 1.0}}}
    missing = partial(speed_tables.missing, folder=tmp_path, page=page)
    assert missing([line, {**line, "table": "two"}, imports]) == set()
    assert missing([line, imports]) == {"table 1"}  # two tables on the page, one in the folder
    assert missing([{**line, "table": "two"}]) == {"one", "the import"}
    fewer = {**line, "fits": {**line["fits"], "repeats": 1}}
    assert missing([fewer, {**line, "table": "two"}, imports]) == {"one"}
    long = {**fewer, "fits": {"repeats": 1, "seconds": {"pure": 40.0}}}
    assert missing([long, {**line, "table": "two"}, imports]) == set()


def test_the_page_of_the_door_asks_for_its_pairs_and_faults():
    pytest.importorskip("polars")
    door = import_module("door")
    tasks, names = door.tasks_of(door.PAIRS, 0, [], set()), ("family", "number", "seed")
    lines = [dict(zip(names, task, strict=True)) for task in tasks]
    faults = [{"name": fault.name} for fault in door.planted.FAULTS]
    assert door.missing(lines, faults) == set()
    assert door.missing(lines[1:], faults) == {tasks[0]}
    assert door.missing(lines, faults[1:]) == {faults[0]["name"]}
