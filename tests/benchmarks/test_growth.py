"""Curves over epsilon and rows: the law's best accuracy, which cells are worst, which sizes ran."""

from __future__ import annotations

import argparse
import gzip
import json

import curves
import numpy as np
import pytest
from common import growth_report, growth_tables, law, scale_report, tables
from common.growth_cells import along, behind, falls, last_steps


class Rule:
    """Says what the law says, or the opposite."""

    classes_ = np.array([0, 1])

    def __init__(self, right=True):
        self.right = right

    def predict_proba(self, X):
        shares = law.probabilities_of(X)
        shares = shares if self.right else 1 - shares
        return np.column_stack([1 - shares, shares])


@pytest.fixture
def few_held_out(monkeypatch):
    monkeypatch.setattr(law, "held_out", lambda: law.chunk(10**6, 20_000)[0])


# -- the made-up law -----------------------------------------------------------------------------


def test_the_best_accuracy_is_that_of_the_likelier_class():
    X, y = law.records(400_000)
    right = (law.probabilities_of(X) > 0.5) == y
    error = (right.mean() * (1 - right.mean()) / y.size) ** 0.5
    assert abs(right.mean() - law.best_accuracy()) < 4 * error
    assert 0.8 < law.best_accuracy() < 0.9


def test_the_law_is_judged_by_what_it_says(few_held_out):
    found = growth_tables.part(None, law.NAME, 500)
    right, wrong = found.judge(Rule(), False), found.judge(Rule(right=False), False)
    assert right["accuracy"] == law.best_accuracy()
    assert right["auc"] == pytest.approx(law.best_area(), abs=0.005)
    assert wrong["accuracy"] == pytest.approx(1 - law.best_accuracy(), abs=0.01)
    assert wrong["auc"] == pytest.approx(1 - right["auc"])


def test_records_of_the_law_are_the_beginning_of_larger_tables_and_none_is_held_out(monkeypatch):
    monkeypatch.setattr(law, "CHUNK", 100)
    few, many = law.records(100), law.records(250)
    assert np.array_equal(few[0], many[0][:100]) and np.array_equal(few[1], many[1][:100])
    assert many[0].dtype == np.float32 and not np.array_equal(many[0][:100], many[0][100:200])
    assert min(law.TEST_CHUNKS) * law.CHUNK > max(curves.ROWS_OF_LAW)


# -- fits ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A table of 400 records of two classes."""
    columns = [{"name": "place", "kind": "numeric", "bounds": [0, 400]}]
    facts = {"task": "classification", "n_rows": 400, "classes": ["a", "b"], "columns": columns}
    (tmp_path / "car.json").write_text(json.dumps(facts))
    with gzip.open(tmp_path / "car.csv.gz", "wt") as file:
        file.write("place,target\n")
        file.writelines(f"{i},{'ab'[i >= 200]}\n" for i in range(400))
    yield tmp_path
    tables.load_table.cache_clear()
    growth_tables._whole.cache_clear()


def test_parts_of_a_table_lie_within_larger_ones_and_apart_from_the_test_part(folder):
    assert growth_tables.rows_of(folder, "car") == 300
    few, many = (growth_tables.part(folder, "car", rows) for rows in (50, 300))
    assert np.array_equal(few.X, many.X[:50]) and np.array_equal(few.y, many.y[:50])
    assert len(np.unique(many.X)) == 300
    split = tables.stratified_split(tables.load_table(folder, "car"), growth_tables.SEED)
    assert not set(many.X[:, 0]) & set(split.test)


@pytest.mark.parametrize("name", ["auto, delta=1e-6", "histogram boosting"])
def test_a_fit_says_what_it_reached_and_what_was_picked(folder, name):
    model = next(one for one in curves.models() if one.name == name)
    job = curves.Job("car", name, 20.0 if model.private else None, 200, 0)
    line = curves.line_of(job, model, folder)
    assert line["accuracy"] > 0.9 and line["auc"] > 0.9
    assert curves.Job(*(line[key] for key in curves.Job.__annotations__)) == job
    assert ("strategy" in line) == model.private


def test_what_auto_picked_is_not_fitted_again(tmp_path, monkeypatch):
    fitted = []

    def line_of(job, *_):
        fitted.append((job.model, job.epsilon))
        return {**vars(job), "strategy": "boosted" if job.epsilon == 5 else "rules"}

    monkeypatch.setattr(curves, "line_of", line_of)
    monkeypatch.setattr(curves, "rows_of", lambda *_: 300)
    chosen = [one for one in curves.models() if one.name in ("auto, pure", "boosted, pure")]
    asked = argparse.Namespace(parts=["epsilon"], sets=["car"], epsilons=[1.0, 5.0], fits=1,
                               chosen=chosen, data=None, minutes=1.0)  # fmt: skip
    for _ in range(2):
        curves.run(asked, curves.stored(tmp_path / "lines.jsonl"))
    assert fitted == [("auto, pure", 1.0), ("boosted, pure", 1.0), ("auto, pure", 5.0)]


# -- the page ------------------------------------------------------------------------------------


def line(dataset, model, epsilon, rows, accuracy, strategy="boosted", draw=0):
    return {"dataset": dataset, "model": model, "epsilon": epsilon, "rows": rows, "draw": draw,
            "accuracy": accuracy, "auc": accuracy, "cpu_seconds": 1.0, "strategy": strategy,
            "size": "24 trees of depth 7" if strategy == "boosted" else ""}  # fmt: skip


LINES = [
    line("car", "auto, pure", 1.0, 1000, 0.7, "rules"),
    line("car", "auto, pure", 1.0, 3000, 0.8),
    line("car", "auto, pure", 5.0, 3000, 0.70),
    line("car", "auto, pure", 5.0, 3000, 0.74, draw=1),
    line("car", "auto, pure", 20.0, 3000, 0.9),
    line("car", "one_shot, pure", 5.0, 3000, 0.75, "one_shot"),
    line("car", "boosted, delta=1e-6", 5.0, 3000, 0.99),
    line("car", "random forest", None, 3000, 0.95),
    line(law.NAME, "auto, pure", 1.0, 1000, 0.6),
    line(law.NAME, "auto, pure", 1.0, 10_000, 0.8),
]


def test_epsilons_are_of_whole_tables_and_rows_of_one_epsilon():
    over = along(LINES, "epsilon")
    assert list(over["car", "auto, pure"]) == [1.0, 5.0, 20.0]
    assert over["car", "auto, pure"][5.0].accuracy == pytest.approx(0.72)
    assert over["car", "auto, pure"][5.0].fits == 2
    assert list(over["car", "random forest"]) == [0.0] and (law.NAME, "auto, pure") not in over
    over = along(LINES, "rows")
    assert (
        list(over["car", "auto, pure"]) == [1000, 3000] and len(over[law.NAME, "auto, pure"]) == 2
    )


def test_steps_down_and_better_learners_of_the_same_guarantee_are_found():
    curve = along(LINES, "epsilon")
    (step,) = falls(curve, "epsilon")
    assert (step.where, step.words) == ("ε 1 → ε 5", "boosted")
    assert step.accuracy == pytest.approx(-0.08)
    (cell,) = behind(curve, "epsilon")
    assert (cell.where, cell.words) == ("ε 5", "one_shot, pure, not boosted")
    assert cell.accuracy == pytest.approx(-0.03)
    assert falls(along(LINES, "rows"), "rows") == []


def test_without_a_delta_is_a_promise_with_one_too():
    worse = line("car", "auto, delta=1e-6", 5.0, 3000, 0.7, "refitted")
    over = along([*LINES[5:6], worse], "epsilon")
    (cell,) = behind(over, "epsilon")
    assert cell.words == "one_shot, pure, not refitted"


def test_the_last_steps_are_those_of_auto_the_least_first():
    ends = last_steps(along(LINES, "rows"), "rows")
    assert [(one.dataset, one.where) for one in ends] == [
        ("car", "1,000 rows → 3,000 rows"),
        (law.NAME, "1,000 rows → 10,000 rows"),
    ]
    assert ends[0].accuracy == pytest.approx(0.1)


def test_the_page_leads_with_the_worst_and_says_which_sizes_were_run(tmp_path):
    page = tmp_path / "page.md"
    growth_report.write_report(LINES, page)
    text = page.read_text(encoding="utf-8")
    assert text.index("ε 1 → ε 5 | -8.0 / -80") < text.index("## Against ε")
    assert text.index("one_shot, pure, not boosted") < text.index("## Against ε")
    assert "**One split**" in text and "one to 2 fits a cell" in text
    assert "Sizes run: 1,000, 10,000." in text and "boosted (24 × 7)" in text
    assert f"best possible | {100 * law.best_accuracy():.1f} / " in text
    assert "| random forest | 95.0 / .950 | 95.0 / .950 | 95.0 / .950 |" in text
    blocks = [block for block in text.split("\n\n") if block.startswith("|")]
    widths = [{row.count("|") for row in block.splitlines()} for block in blocks]
    assert len(widths) == 6 and all(len(found) == 1 for found in widths)


def test_the_table_of_auto_is_written_alone(tmp_path):
    (tmp_path / "docs").mkdir()
    page, kept = tmp_path / "docs" / "scale.md", f"{scale_report.BEGIN}\nold\n{scale_report.END}"
    page.write_text(f"{kept}\n{scale_report.BEGIN_AUTO}\ngone\n{scale_report.END_AUTO}\nrest\n")
    machine = {"processor": "X", "cores": 2, "load": 9.5, "python": "3", "versions": {}}
    found = {"case": "auto/float32/100", "rows": 100, "strategy": "boosted", "size": "2 trees",
             "seconds": 61.2, "cpu_seconds": 99.0, "peak_bytes": 2**30,
             "machine": machine}  # fmt: skip
    scale_report.write_report([found], page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(kept) and "gone" not in text and text.endswith("rest\n")
    figures = "61 | 99 | 50 | 1,024 | 9.5 | time held, memory held |"
    assert f"| array of float32 | 100 × 30 | boosted, 2 trees | {figures}" in text
    found |= {"seconds": 121, "peak_bytes": 2**32 + 1}
    assert scale_report.aims(found) == "time missed, memory missed"
