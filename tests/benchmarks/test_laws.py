"""The comparison of laws sees another law, and takes the same law for the same."""

from __future__ import annotations

import json
import shutil

import laws
import numpy as np
import pytest
from common.sources import REPOSITORY

N = laws.CHUNK


def drawn(scale, seed, n=2000):
    return np.random.default_rng(seed).laplace(0, scale, n)


def test_many_values_of_one_law_and_of_two():
    first = drawn(1, 0).tolist()
    assert laws.p_value(first, drawn(1, 1).tolist()) > 1e-3
    assert laws.p_value(first, drawn(1.5, 1).tolist()) < 1e-6


def test_few_values_of_one_law_and_of_two():
    first, same, wider = (np.rint(drawn(*of)).tolist() for of in ((1, 0), (1, 1), (1.5, 1)))
    assert len(set(first + same + wider)) <= laws.MOST_VALUES
    assert laws.p_value(first, same) > 1e-3
    assert laws.p_value(first, wider) < 1e-6


def test_what_only_one_version_releases_at_times_differs():
    first = [None if place % 4 else 1 for place in range(400)]
    assert laws.p_value(first, [1] * 400) < 1e-6
    assert laws.p_value(first, first[::-1]) > 0.5
    assert laws.p_value([1] * 400, [1] * 400) is None
    assert laws.p_value([None] * 400, drawn(1, 0, 400).tolist()) < 1e-6


def test_numbers_are_named_by_where_they_stand():
    found = dict(laws._flat({"a": [[1, 2, 3], [], [4.5]], "b": "text", "c": None}, "x"))
    assert {key: found[key] for key in ("x.a[0][0]", "x.a[0][-1]", "x.a[-1][0]")} == {
        "x.a[0][0]": 1, "x.a[0][-1]": 3, "x.a[-1][0]": 4.5,
    }  # fmt: skip
    assert 0 <= found["x.b"] < 16 and found["x.c"] is None


@pytest.fixture
def tree(tmp_path):
    """A source tree with a package of one line."""
    (tmp_path / "tree" / "dpforest").mkdir(parents=True)
    (tmp_path / "tree" / "benchmarks").mkdir()
    (tmp_path / "tree" / "dpforest" / "__init__.py").write_text("version = 1\n")
    return tmp_path / "tree"


def line(case, first, scale):
    columns = {"x": drawn(scale, first, N).tolist(), "same": [1] * N}
    known = {"case": case, "first": first, "n_fits": N}
    return {**known, "cases": laws._cases_print(), "columns": columns}


@pytest.mark.parametrize(("scale", "same"), [(1, True), (2, False)])
def test_a_comparison_says_which_case_differs(scale, same, tree, tmp_path, capsys):
    sides = tuple(laws.Fits(tree, tmp_path, first, 4 * N) for first in (0, laws._SECOND))
    for side, own in zip(sides, (1, scale), strict=True):
        for chunk in side.missing("a case"):
            side.add(line("a case", chunk.first, own))
        assert side.missing("a case") == []
    assert laws.compare(sides, ["a case"]) is same
    printed = capsys.readouterr().out
    assert ("**differs**" in printed) is not same and "| a case | 1 | 0 |" in printed


def test_fits_of_other_code_are_made_again(tree, tmp_path):
    kept = laws.Fits(tree, tmp_path, 0, N)
    kept.add(line("a case", 0, 1))
    assert laws.Fits(tree, tmp_path, 0, N).missing("a case") == []
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    (other / "dpforest" / "__init__.py").write_text("version = 2\n")
    assert len(laws.Fits(other, tmp_path, 0, N).missing("a case")) == 1


def test_fits_are_made_with_the_package_of_the_tree(tree):
    chunk = laws.Chunk(REPOSITORY, "one_shot two epsilon", 7, 2)
    found = json.loads(json.dumps(chunk.run()))
    assert found["case"] == "one_shot two epsilon"
    assert {len(column) for column in found["columns"].values()} == {2}
    assert any(place.startswith("prediction") for place in found["columns"])
    with pytest.raises(SystemExit, match="fails with"):  # a package without forests
        laws.Chunk(tree, "one_shot two epsilon", 7, 2).run()


def test_cases_are_chosen_by_the_beginnings_of_their_names():
    assert "one_shot two epsilon" in laws.cases_with_laws([])
    assert laws.cases_with_laws(["rules two e"]) == ["rules two epsilon"]
    with pytest.raises(SystemExit, match="no case begins so"):
        laws.cases_with_laws(["nothing"])
