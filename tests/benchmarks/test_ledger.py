"""The ledger's benchmark: what is done is not done again, and the page says what was found."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import pytest
from common.ledger_report import write_page

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "ledger.py"
WAITED = {"seconds": 9.0, "first": 0.1, "longest": 1.25, "least": 3, "most": 4}


@pytest.fixture(scope="module")
def script():
    """The script as a module; its name is that of nothing else."""
    spec = importlib.util.spec_from_file_location("ledger_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def lines():
    kills = {"kind": "kills", "seed": 0, "seconds": 60.0, "any_time": 40, "faults": 0}
    return [
        kills | {"store": "sqlite", "number": 0, "places": {"locked, 0": 30, "locked, 1": 30}},
        kills | {"store": "sqlite", "number": 1, "places": {"moved, 0": 1234}, "faults": 1},
        kills | {"store": "postgresql", "number": 0, "places": {"locked, 2": 5}},
        {"kind": "crashes", "store": "postgresql", "fits": 40, "begun": 7, "faults": 0},
        {"kind": "contention", "store": "sqlite", "number": 0, "queue": False, "processes": 8,
         "each": 200, "granted": 1200, "refused": 400} | WAITED,
        {"kind": "times", "store": "sqlite", "number": 0, "before": 0, "fits": 200, "median": 12.4,
         "most_of": 34.0, "longest": 57.0},
    ]  # fmt: skip


def test_the_page_says_what_was_found(lines, tmp_path):
    write_page(tmp_path / "page.md", lines, "0123")
    page = (tmp_path / "page.md").read_text()
    assert "| SQLite | 1,374 | 1,294 | 80 | 1 | 2 |" in page
    assert "| PostgreSQL | 45 | 5 | 40 | 0 | 1 |" in page
    assert "| locked | 60 | 5 |" in page and "| moved | 1,234 | 0 |" in page
    assert "1 crashes of a PostgreSQL server, 40 fits in all, 0 faults" in page and ": 7." in page
    assert "| SQLite, without the queue | 8 × 200 | 1,200 | 400 | 9 | 0.1 | 1.2 | 3 to 4 |" in page
    assert "| SQLite | 0 | 12 | 34 | 57 of 200 |" in page


def test_a_page_is_written_before_all_is_done(tmp_path):
    write_page(tmp_path / "page.md", [], "0123")
    assert "| SQLite | 0 | 0 | 0 | 0 | 0 |" in (tmp_path / "page.md").read_text()


def test_each_part_is_known_by_the_line_that_it_leaves(script, monkeypatch):
    monkeypatch.setattr(script, "_has_server", lambda: True)
    made = {
        "times": lambda where, store, before: ("times", store, before),
        "contention": lambda where, store, queue: ("contention", store, int(queue)),
        "crashes": lambda where, number, seed: ("crashes", "postgresql", number),
        "kills": lambda where, store, number, seed: ("kills", store, number),
    }
    arguments = argparse.Namespace(kills=1000, server_kills=200, crashes=3, seed=7)
    keys = []
    for call, *parts in script.wanted(arguments):
        key = script._key(call, *parts)
        kind, store, number = made[key[0]](None, *parts)
        seed = 7 if kind in ("crashes", "kills") else 0
        line = {"kind": kind, "store": store, "number": number}
        assert key == script.key_of(line | ({"seed": seed} if seed else {}))
        keys.append(key)
    assert len(set(keys)) == len(keys) == 4 + 3 + 3 + 10 + 2


def test_what_is_done_is_not_done_again(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "_has_server", lambda: False)
    calls = []

    def timed(where, store, before):
        calls.append(before)
        return {"kind": "times", "store": store, "number": before, "before": before}

    timed.__name__ = "timed"
    monkeypatch.setattr(script, "timed", timed)
    monkeypatch.setattr(script, "wanted", lambda arguments: [(timed, "sqlite", n) for n in (0, 9)])
    results = script.Store(tmp_path / "lines.jsonl", script.SOURCES)
    for _ in range(2):
        script.run(argparse.Namespace(), results)
    assert calls == [0, 9] and len(results.lines()) == 2


def test_a_fault_is_a_line_and_not_the_end(script, monkeypatch):
    def kill(rounds, place, twice):
        raise script.Broken("lost")

    monkeypatch.setattr(script.Rounds, "kill", kill)
    where = script.Places()
    line = script.kills(where, "sqlite", 0, 0)
    where.remove()
    assert (line["faults"], line["fault"], line["any_time"]) == (1, "lost", 0)
