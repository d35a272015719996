"""The tables of MRF 2019 and DMRF: printed figures, forests, rows, and what the pages count."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise

import numpy as np
import pytest
from papers import dmrf_report
from papers.dmrf_forests import forest
from papers.forests import Denil14Regressor, MRFRegressor
from papers.printed import dmrf, mrf2019
from papers.problems import Problem, load, present
from papers.sets import PaperSet
from papers.tables import (
    dmrf_figures,
    dmrf_table3,
    dmrf_table4,
    dmrf_table5,
    dmrf_table6,
    mrf2019_table2,
    mrf2019_table3,
)


def made_up(classification):
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.normal(size=(60, 3)), generator.integers(3, size=60)])
    y = X[:, 0] + (X[:, 3] == 1)
    classes = ("no", "yes") if classification else ()
    return PaperSet(
        "made_up", X, (y > 0).astype(int) if classification else y, (3,), tuple("abcd"), classes
    )


def test_printed_tables_are_whole():
    for table, methods, rows in (
        (mrf2019.TABLE_2, mrf2019.METHODS, 6),
        (mrf2019.TABLE_3, mrf2019.METHODS, 6),
        (dmrf.TABLE_3, dmrf.METHODS, 27),
        (dmrf.TABLE_4, dmrf.METHODS, 21),
        (dmrf.TABLE_5_CLASSIFICATION, dmrf.METHODS, 8),
        (dmrf.TABLE_5_REGRESSION, dmrf.METHODS, 8),
    ):
        assert len(table) == rows
        assert all(tuple(figures) == methods for figures in table.values())
    assert set(mrf2019.ROWS) == {*mrf2019.TABLE_2, *mrf2019.TABLE_3}


def test_printed_stars_are_the_better_figures():
    for row in dmrf.STARS_BREIMAN_3:
        assert dmrf.TABLE_3[row]["BreimanRF"] > dmrf.TABLE_3[row]["DMRF"]
    for row in dmrf.STARS_BREIMAN_4:
        assert dmrf.TABLE_4[row]["BreimanRF"] <= dmrf.TABLE_4[row]["DMRF"]
    bullets = [row for row in mrf2019.BULLETS["Breiman"] if row in mrf2019.TABLE_2]
    assert all(mrf2019.TABLE_2[r]["MRF"] > mrf2019.TABLE_2[r]["Breiman"] for r in bullets)


def test_every_printed_row_has_a_problem():
    assert set(dmrf.TABLE_3) == set(dmrf_table3.PROBLEMS) | set(dmrf_table3.SAME)
    assert len(dmrf_table4.PROBLEMS) == len(dmrf.TABLE_4)
    assert set(dmrf_table4.PROBLEMS) & set(dmrf_table3.PROBLEMS) == set()


@pytest.mark.parametrize("method", [*dmrf.METHODS, "BRF(SE), weighted"])
@pytest.mark.parametrize("classification", [True, False])
def test_forests_of_dmrf_fit(method, classification):
    data = made_up(classification)
    model = forest(method, data, 1).set_params(n_estimators=7).fit(data.X, data.y)
    predicted = model.predict(data.X)
    if classification:
        assert np.mean(predicted == data.y) > 0.8
    else:
        assert np.mean((predicted - data.y) ** 2) < np.var(data.y)


def test_dmrf_names_of_parameters():
    data = made_up(True)
    model = forest("MRF(b)", data, 1, B1=5, B2=2, q=0.3)
    assert (model.B1, model.B2, model.inclusion, model.records) == (10, 4, 0.3, "bernoulli")
    assert forest("DMRF", data, 1, B1=5, p=0.1).B1 == 5
    assert forest("BRF(SE)", data, 1).records == "partition"
    assert forest("Denil14(b)", data, 1, λ=2, m=7).search_points == 7
    assert forest("BRF(b)", made_up(False), 1).criterion == "mse"
    assert forest("BRF(b), weighted", made_up(False), 1).criterion == "weighted_mse"


def test_strengths_change_the_regressors():
    data = made_up(False)
    model = MRFRegressor(5, random_state=0)
    model.B1 = 0.0
    default = MRFRegressor(5, random_state=0).fit(data.X, data.y).predict(data.X)
    assert not np.array_equal(model.fit(data.X, data.y).predict(data.X), default)
    all_points = Denil14Regressor(5, random_state=0).fit(data.X, data.y)
    few = Denil14Regressor(5, random_state=0)
    few.search_points = 2
    few.fit(data.X, data.y)
    assert not np.array_equal(few.predict(data.X), all_points.predict(data.X))


def test_readings_of_mrf_2019():
    data = made_up(False)
    model = mrf2019_table3.forest("BRF, weighted, leaves of k", data, 1)
    assert model.criterion == "weighted_mse" and model.enforce_leaf_size
    assert mrf2019_table3.forest("MRF", data, 1).criterion == "mse"
    assert mrf2019_table2.forest("Breiman, nodes above k", data, 1).min_samples_split == 6
    assert mrf2019_table2.forest("Breiman", data, 1).min_samples_leaf == 5


def test_problems_read_targets(tmp_path):
    about = {
        "task": "classification",
        "classes": ["x", "y"],
        "columns": [{"name": "size", "kind": "numeric"}],
    }
    (tmp_path / "made_up.json").write_text(json.dumps(about))
    (tmp_path / "made_up.csv.gz").write_bytes(gzip.compress(b"size,target\n0,x\n1,y\n"))
    is_y = load(tmp_path, Problem("made_up", transform="is y"))
    assert is_y.y.tolist() == [0.0, 1.0] and is_y.classes == ()
    logs = load(tmp_path, Problem("made_up", "size", "regression", transform="log1p"))
    assert logs.y.tolist() == pytest.approx([0, np.log(2)])
    assert list(present(tmp_path, {"a": Problem("made_up"), "b": Problem("absent")})) == ["a"]


def _found(**values):
    return {
        "blogger": {name: np.full((1, 10), value) for name, value in values.items()},
    }


def test_joint_cells_and_claims():
    found = _found(**{method: 0.8 for method in dmrf.METHODS})
    found["blogger"]["DMRF"] = np.full((1, 10), 0.82)
    text = dmrf_report.joint_table(found, dmrf.TABLE_3, dmrf.METHODS, (), scale=100)
    assert "81.80* / **82.00*** / +0.20" in text
    assert "81.40 / 80.00 / −1.40" in text
    claims = dmrf_report.claims(found, dmrf.TABLE_3)
    assert "| DMRF beats BreimanRF | 1 of 1 | 1 of 1 |" in claims
    assert "| MRF(b) beats MRF(SE) | 1 of 1 | 0 of 1 |" in claims


def test_claims_about_errors_count_the_smaller():
    found = {"ale": {method: np.full((1, 10), 0.05) for method in dmrf.METHODS}}
    found["ale"]["DMRF"] = np.full((1, 10), 0.04)
    claims = dmrf_report.claims(found, dmrf.TABLE_4, higher=False)
    assert "| DMRF beats MRF(b) | 1 of 1 | 1 of 1 |" in claims
    assert "| DMRF beats BreimanRF | 0 of 1 | 1 of 1 |" in claims


def test_deviation_is_that_of_the_repeats_means():
    values = np.repeat([[0.1], [0.2], [0.6]], 10, axis=1)
    found = {"wdbc": {"DMRF": values, "BRF(b)": values[:2]}}
    assert dmrf_table5.deviations(found) == {
        "wdbc": {"DMRF": pytest.approx(np.std([1, 2, 6], ddof=1) / 10)}
    }


def test_grids_have_the_papers_sizes():
    sizes = [len(list(dmrf_table6.settings(method))) for method in dmrf_table6.GRIDS]
    assert sizes == [256, 64, 64, 64]
    names = [dmrf_table6.named("DMRF", setting) for setting in dmrf_table6.settings("DMRF")]
    assert len(set(names)) == 256


def test_the_fair_choice_leaves_its_fold_out():
    # The first point is best on the mean, but only by its own tenth fold.
    lucky, steady = [80.0] * 9 + [100.0], [81.0] * 10
    values = {"DMRF q=0.2": lucky, "DMRF q=0.4": steady}
    row = dmrf_table6._row("blogger", "DMRF", values)
    assert row[3] == "82.00" and row[4] == f"{np.mean([80.0] * 9 + [81.0]):.2f}"


def test_figure_six_takes_k_from_the_records(monkeypatch):
    data = made_up(True)
    seen = []

    class Stub:
        def fit(self, X, y):
            seen[-1]["n"] = len(y)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    def stub(method, data, seed, **setting):
        seen.append(setting)
        return Stub()

    monkeypatch.setattr(dmrf_figures, "forest", stub)
    monkeypatch.setattr(dmrf_figures, "load", lambda folder, problem: data)
    for rule in dmrf_figures.RULES:
        task = dmrf_figures.Task("wireless", f"figure 6 {rule} r=0.5", 0, -1)
        assert len(dmrf_figures.evaluate(task, None)["values"]) == 10
    assert [setting["n"] for setting in seen] == [30] * 20
    assert seen[0]["k"] == round(np.sqrt(30)) and seen[10]["k"] == round(np.log(30) ** 2)
    assert all(a["k"] == b["k"] for a, b in pairwise(seen[:10]))
