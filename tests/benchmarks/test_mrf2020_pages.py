"""Pages of MRF 2020's tables from made-up results, and other readings of a dataset."""

from __future__ import annotations

import json

import numpy as np
import pytest
from papers import variants
from papers.printed.mrf2020 import METHODS_1, TABLE_1
from papers.sets import PaperSet
from papers.table1_page import table1_page


def lines_of(changes=None):
    """Results as printed on two sets, but for ``changes`` by (set, method)."""
    return [
        {
            "dataset": name,
            "method": method,
            "repeat": repeat,
            "fold": fold,
            "accuracy": (TABLE_1[name][method] + (changes or {}).get((name, method), 0)) / 100,
            "seconds": 6.0,
        }
        for name in ("zoo", "vehicle")
        for method in METHODS_1
        for repeat in range(2)
        for fold in range(10)
    ]


def test_the_page_counts_rows_that_agree():
    page = table1_page(lines_of({("zoo", "MRF"): 1.6, ("vehicle", "MRF"): -1.4}), "command")
    assert "| MRF | 0 of 1 | 0 % | 1 of 2 | 50 % |" in page
    assert "| BRF | 1 of 1 | 100 % | 2 of 2 | 100 % |" in page
    assert "92.24† (90.64†, **+1.60**)" in page and "72.14• (73.54•, −1.40)" in page
    assert "| zoo MRF +1.60 | not explained |" in page and "vehicle MRF" not in page
    assert "wilt (not in the data folder)" in page


def test_the_page_ranks_and_times():
    page = table1_page(lines_of(), "command")
    assert "| CompRF-I | 3.00 | 3.00 | 3.7 |" in page  # first on zoo, fifth on vehicle
    assert "| MRF | 2 | 20.0 | 10.0 |" in page  # 2 sets, 100 folds, 6 seconds


def test_a_cell_without_results_is_a_dash():
    lines = [x for x in lines_of() if (x["dataset"], x["method"]) != ("vehicle", "CompRF-C")]
    page = table1_page(lines, "command")
    assert "– (59.68)" in page and "Over the 1 sets that have all six methods" in page


@pytest.fixture
def data():
    X = np.array([[0.0, 5.0], [1.0, -1.0], [2.0, 7.0], [-1.0, 6.0]])
    return PaperSet("made_up", X, np.array([0, 1, 0, 1]), (0,), ("size", "age"), ("a", "b"))


def test_other_readings(data, tmp_path):
    columns = [{"name": "size", "kind": "categorical", "categories": ["small", "medium", "big"]}]
    (tmp_path / "made_up.json").write_text(json.dumps({"columns": columns}))
    assert variants.alphabetical(data, tmp_path).X[:, 0].tolist() == [2, 1, 0, -1]
    assert variants.one_hot(data).X.shape == (4, 5) and not variants.one_hot(data).categorical
    numbered = variants.with_identifier(data)
    assert sorted(numbered.X[:, 0]) == [0, 1, 2, 3] and numbered.categorical == (1,)
    assert variants.complete(data).y.tolist() == [0, 0]
    scaled = variants.scaled(data).X
    assert scaled.min(axis=0).tolist() == [0, 0] and scaled.max(axis=0).tolist() == [1, 1]
