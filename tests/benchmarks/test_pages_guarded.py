"""Pages of other benchmarks: a shortened run, or one without all packages, leaves them be."""

from __future__ import annotations

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
