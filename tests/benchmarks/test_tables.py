"""Tables of the benchmarks: whole, but where a name says that they are a part."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from common import records, tables
from common.results import stored_peers


@pytest.fixture
def folder(tmp_path):
    """A folder with a table of 30 records and one of 12."""
    columns = [{"name": "place", "kind": "numeric", "bounds": [0, 100]}]
    for name, n in (("long", 30), ("short", 12)):
        facts = {"task": "classification", "n_rows": n, "classes": ["a", "b"], "columns": columns}
        (tmp_path / f"{name}.json").write_text(json.dumps(facts))
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.write("place,target\n")
            file.writelines(f"{i},{'ab'[i % 2]}\n" for i in range(n))
    return tmp_path


def places(folder, name):
    tables.load_table.cache_clear()
    table = tables.load_table(folder, name)
    assert np.array_equal(table.y, table.X[:, 0] % 2)
    return table.X[:, 0].tolist()


def test_a_table_is_whole_where_its_name_does_not_say_otherwise(folder):
    assert places(folder, "long") == list(range(30))
    part = places(folder, "long@20")
    assert len(part) == 20 and part == sorted(set(part)) and part == places(folder, "long@20")
    assert places(folder, "short@20") == list(range(12))


def test_parts_of_long_tables_are_tables_with_names_of_their_own(folder, monkeypatch):
    monkeypatch.setattr(records, "PART_ROWS", 20)
    monkeypatch.setattr(tables, "PART_ROWS", 20)
    found = tables.classification_tables(folder)
    rows = {name: facts.n_rows for name, facts in found.items()}
    assert rows == {"short": 12, "long@20": 20, "long": 30}
    assert all(len(places(folder, name)) == n for name, n in rows.items())


def test_stored_results_of_long_tables_are_those_of_their_parts(tmp_path, monkeypatch):
    line = {"estimator": "dp_ebm", "config": "default", "eps": 1, "seed": 0, "split": "", "acc": 1,
            "auc": 1}  # fmt: skip
    path = tmp_path / "results" / "peers.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps({**line, "dataset": n}) + "\n" for n in ("long", "short")))
    monkeypatch.setenv("DPFOREST_BENCH", str(tmp_path))
    names = [one["dataset"] for one in stored_peers({"long", "long@50000", "short"})]
    assert names == ["long@50000", "short"]
