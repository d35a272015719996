"""Plain models of the package's own tables, and of a few others, are followed exactly."""

from __future__ import annotations

import json
import re
from pathlib import Path

import plain_model as benchmark
import pytest
from common.our_forests import NAMES
from common.plain_forms import FORMS, as_matrix, forms_of, read_plain_table
from common.plain_readers import node
from common.results import Store
from common.tables import data_folder

import dpforest.datasets
from dpforest.datasets import load_mammographic_masses

OWN = Path(dpforest.datasets.__file__).parent / "data"
CLOSE = 1e-12
DRAWN = [name for name in benchmark._DRAWN]
#: Of the tables with categories and gaps every kind of forest; of others some.
CASES = [
    *((OWN, "mammographic_masses", model) for model in [*NAMES, *DRAWN]),
    *((OWN, "adult", model) for model in ("rules", "refitted", "multinomial")),
    *((OWN, "vertebral", model) for model in ("one_shot", "multinomial forest, lattice")),
    *((data_folder(), "servo", model) for model in ("one_shot", "refitted")),
    *((data_folder(), "zoo", model) for model in ("rules", "multinomial forest")),
    *((data_folder(), "house_votes", model) for model in ("one_shot", "rules")),
]


@pytest.fixture(autouse=True)
def readers_here(monkeypatch):
    """Without Node the reader in Python is compared alone."""
    if node() is None:
        monkeypatch.delitem(benchmark.READERS, "JavaScript")


@pytest.mark.parametrize(("folder", "name", "model"), CASES, ids=lambda part: getattr(
    part, "stem", part))  # fmt: skip
def test_both_readers_predict_as_the_forest_does(folder, name, model):
    if not (folder / f"{name}.json").exists():
        pytest.skip(f"there is no table {name} in {folder.name}")
    table = read_plain_table(folder, name)
    forest = benchmark.fit(benchmark.models_of(table)[model], table)
    line = benchmark.compare(forest, table, seed=1)
    assert set(line["differences"]) == set(FORMS) and line["n"] > 100
    assert max(benchmark.cells_of(line))[0] < CLOSE
    assert line["spread"] > 0.05


def test_forms_hold_what_they_say():
    table = read_plain_table(OWN, "adult")
    forms = forms_of(table, seed=1)
    kinds = [{type(value) for record in forms[name] for value in record} for name in FORMS]
    assert kinds[0] == {float} and kinds[1] == {str}
    assert type(None) in kinds[2] and {bool, int, float, str} <= kinds[3]
    assert max(max(record) for record in forms["matrix"]) > 1000


def test_a_matrix_is_that_of_the_loader():
    table = read_plain_table(OWN, "mammographic_masses")
    known = {tuple(map(str, row)) for row in load_mammographic_masses().data.tolist()}
    matrix = as_matrix(table.domain, table.cells).tolist()
    assert {tuple(map(str, row)) for row in matrix} == known


def test_a_difference_would_be_seen(monkeypatch):
    table = read_plain_table(OWN, "vertebral")
    forest = benchmark.fit(benchmark.models_of(table)["rules"], table)
    real = benchmark.READERS["Python"]

    def off(text, records):
        found = real(text, records)
        return [[found[0][0] + 1e-9, *found[0][1:]], *found[1:]]

    monkeypatch.setitem(benchmark.READERS, "Python", off)
    line = benchmark.compare(forest, table, seed=1)
    assert line["differences"]["matrix"]["Python"] > CLOSE > line["differences"]["text"]["Python"]


def test_the_page_is_of_these_sources_and_of_all_tables():
    page = benchmark.PAGE.read_text(encoding="utf-8")
    assert f"`{benchmark.SOURCES.print()}`" in page, "run python benchmarks/plain_model.py again"
    for model in (*NAMES, *DRAWN):
        assert f"| {model} | " in page
    figures = [float(found) for found in re.findall(r"\b\d\.\de-\d\d\b", page)]
    assert len(figures) > 78 and max(f for f in figures if f != CLOSE) < CLOSE
    rows = page.split("## By table")[1].splitlines()
    assert sum(row.startswith("| ") for row in rows) == 2 + 78


def test_a_run_takes_up_where_one_stopped(tmp_path, monkeypatch):
    fits = []
    monkeypatch.setattr(benchmark, "fit", lambda forest, table: fits.append(table.name))
    done = {"n": 1, "spread": 1.0, "size": 1, "differences": {f: {"Python": 0.0} for f in FORMS}}
    monkeypatch.setattr(benchmark, "compare", lambda *_: done)
    results = tmp_path / "results.jsonl"
    file = Store(results, benchmark.SOURCES)
    benchmark.run(OWN, ["vertebral"], file)
    assert len(fits) == len(NAMES) + len(DRAWN)
    text = results.read_text(encoding="utf-8").splitlines()
    results.write_text("\n".join([*text[:-1], text[-1][:20]]), encoding="utf-8")
    benchmark.run(OWN, ["vertebral"], file)
    assert len(fits) == len(NAMES) + len(DRAWN) + 1
    other = [json.dumps({**json.loads(line), "sources": "other"}) for line in text]
    results.write_text("\n".join(other) + "\n", encoding="utf-8")
    benchmark.run(OWN, ["vertebral"], file)
    assert len(fits) == 2 * len(NAMES) + 2 * len(DRAWN) + 1
