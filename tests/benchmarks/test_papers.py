"""Foundations of the remade tables: folds, reading, marks, ranks, resumption."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from common.results import Store
from common.sources import Sources
from common.tables import data_folder
from papers import cells, marks
from papers.engine import Task, known, run
from papers.markdown import difference, number, table
from papers.printed import by_dataset
from papers.printed.mrf2020 import AVERAGE_RANKS_1, METHODS_1, TABLE_1, TABLE_2
from papers.sets import available, read
from papers.splits import folds
from papers.tables import TABLES


@pytest.fixture
def folder(tmp_path):
    """A folder with one made-up table."""
    about = {
        "task": "classification",
        "classes": ["no", "yes"],
        "columns": [
            {"name": "age", "kind": "integer"},
            {"name": "colour", "kind": "categorical", "categories": ["red", "blue"]},
        ],
    }
    (tmp_path / "made_up.json").write_text(json.dumps(about))
    rows = "age,colour,target\n3,blue,yes\n,red,no\n5,,yes\n"
    (tmp_path / "made_up.csv.gz").write_bytes(gzip.compress(rows.encode()))
    return tmp_path


def test_missing_values_are_minus_one(folder):
    data = read(folder, "made_up")
    assert data.X.tolist() == [[3, 1], [-1, 0], [5, -1]]
    assert data.y.tolist() == [1, 0, 1]
    assert data.categorical == (1,) and data.classes == ("no", "yes")


def test_a_feature_can_be_the_target(folder):
    data = read(folder, "made_up", target="age", task="regression", drop=("colour",))
    assert data.columns == ("target",) and data.categorical == (0,)
    assert data.X.ravel().tolist() == [1, 0, 1] and data.y.tolist() == [3, -1, 5]


def test_absent_sets_are_left_out(folder):
    assert available(folder, ["absent", "made_up"]) == ["made_up"]


def test_folds_deal_out_classes_evenly():
    y = np.repeat([0, 1], [37, 63])
    parts = folds(y, 3)
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(100))
    for train, test in parts:
        assert np.intersect1d(train, test).size == 0 and train.size + test.size == 100
        assert test.size == 10 and (y[test] == 0).sum() in (3, 4)
    again, other = folds(y, 3), folds(y, 4)
    assert all((a[1] == b[1]).all() for a, b in zip(parts, again, strict=True))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(parts, other, strict=True))


def stored(folder):
    return Store(folder / "results.jsonl", Sources(("papers.engine:Task",)))


def _accuracy(task, log):
    with log.open("a") as file:
        file.write(f"{task.repeat}{task.fold} ")
    if task.fold == 1 and not log.with_suffix(".mended").exists():
        raise RuntimeError("broken")
    return {"accuracy": task.fold / 2}


def test_a_run_resumes_and_tries_failures_again(tmp_path):
    results, log = stored(tmp_path), tmp_path / "log"
    tasks = [Task("set", "method", repeat, fold) for fold in (0, 1) for repeat in (0, 1)]
    evaluate = partial(_accuracy, log=log)
    lines = run(tasks, evaluate, results)
    assert log.read_text().split() == ["00", "01", "10", "11"]  # by repeat
    assert [line["fold"] for line in lines] == [0, 0]
    log.with_suffix(".mended").touch()
    with results.path.open("a") as file:
        file.write('{"dataset": "cut off by a st')
    lines = run(tasks, evaluate, results)
    assert log.read_text().split()[4:] == ["01", "11"]
    assert len(lines) == len(known(results.lines())) == 4
    assert all({"accuracy", "seconds", "wall"} <= line.keys() for line in lines)


def test_processes_run_every_task_once(tmp_path):
    tasks = [Task("set", "method", 0, fold) for fold in range(5)]
    lines = run(tasks, asdict, stored(tmp_path), jobs=2)
    assert sorted(line["fold"] for line in lines) == list(range(5))


def test_seeds_differ_between_tasks():
    tasks = [Task(d, m, r, f) for d in "ab" for m in "xy" for r in range(10) for f in range(10)]
    assert len({task.seed for task in tasks}) == len(tasks)


def test_marks_by_hand():
    # Ten differences of one sign: two-sided p = 2 / 2**10; five: 2 / 2**5 = 0.0625.
    base = np.linspace(0, 1, 10)
    steps = np.arange(1, 11) / 100
    assert marks.mark(base + steps, base) == "†"
    assert marks.mark(base, base + steps) == "•"
    assert marks.mark(base, base + steps, higher=False) == "†"
    assert marks.mark((base + steps)[:5], base[:5]) == ""
    assert marks.mark(base, base) == ""


def test_average_ranks_share_ties():
    values = {"one": {"a": 3.0, "b": 1.0, "c": 1.0}, "two": {"a": 1.0, "b": 2.0, "c": 0.0}}
    assert marks.average_ranks(values, "abc") == {"a": 1.5, "b": 1.75, "c": 2.75}
    assert marks.average_ranks(values, "abc", higher=False) == {"a": 2.5, "b": 2.25, "c": 1.25}
    assert marks.order({"a": 1.5, "b": 1.2}) == ["b", "a"]


def test_only_whole_repeats_are_gathered():
    lines = [
        {"dataset": "set", "method": "m", "repeat": repeat, "fold": fold, "accuracy": repeat + fold}
        for repeat, fold in [(1, 1), (1, 0), (0, 0), (2, 0), (2, 1)]
    ]
    gathered = cells.gather(lines, n_splits=2)
    assert gathered["set"]["m"].tolist() == [[1, 2], [2, 3]]
    assert cells.means(gathered, 100)["set"]["m"] == 200.0
    assert cells.repeats_text(gathered["set"], ["m"]) == "2 × 2"


def test_tables_of_text():
    assert table(["set", "value"], [["a", "1"]]).splitlines() == [
        "| set | value |", "| --- | ---: |", "| a | 1 |",
    ]  # fmt: skip
    assert (number(1.234), number(None), difference(1.0, 2.5)) == ("1.23", "–", "−1.50")


def test_printed_figures_are_whole():
    assert by_dataset("a b\nset 1 -") == {"set": {"a": 1.0}}
    assert list(TABLE_1) == list(TABLE_2) and len(TABLE_1) == 22
    assert all(list(row) == list(METHODS_1) for row in TABLE_1.values())


def test_printed_ranks_of_mrf_2020():
    """Its last line follows from its rows to the digit printed (BRF's 4.045 became 4.1)."""
    ranks = marks.average_ranks(TABLE_1, METHODS_1)
    wrong = [m for m in METHODS_1 if abs(ranks[m] - AVERAGE_RANKS_1[m]) > 0.055]
    assert wrong == []


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_its_parts(name, tmp_path):
    module = import_module(TABLES[name])
    assert name == module.NAME and module.__doc__
    assert list(module.tasks(tmp_path)) == []  # without data there is nothing to do
    assert callable(module.evaluate) and callable(module.report)


def test_a_task_of_table_1_runs():
    folder = data_folder()
    if not available(folder, ["zoo"]):
        pytest.skip("no datasets: set DPFOREST_DATA")
    module = import_module(TABLES["mrf2020_table1"])
    first = next(task for task in module.tasks(folder, 1) if task.method == "MRF")
    assert first.dataset == "zoo"
    assert 0.5 <= module.evaluate(first, folder)["accuracy"] <= 1.0
