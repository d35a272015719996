"""Where auto is behind: the test, its correction, what is no cell, and what the page says."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import behind
import numpy as np
import pytest
from common import behind_found, behind_report, behind_signals
from common.behind_cells import (
    CONSTANT,
    DELTAS,
    RIDGE,
    Rivals,
    known_models,
    learners,
    model_name,
    needs_delta,
    picked,
)
from common.behind_found import Scores, compared, development
from common.paired import holm, p_below_zero
from scipy.stats import ttest_1samp

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor

RULES, ONE_SHOT = model_name("rules", "pure"), model_name("one_shot", "pure")
REFITTED = model_name("refitted", "delta=1e-6")
ADDITIVE = model_name("additive", "delta=1e-6")
SEEDS = 20
CAR = behind.Place("car", "classification", 1)
ALE = behind.Place("ale", "regression", 1)

# -- the test and its correction -----------------------------------------------------------------


@pytest.mark.parametrize("shift", [-1.0, -0.3, 0.0, 0.4])
def test_the_paired_test_is_the_one_sided_t_test(shift):
    apart = np.random.default_rng(3).normal(shift, 1, SEEDS)
    expected = ttest_1samp(apart, 0.0, alternative="less").pvalue
    assert p_below_zero(apart) == pytest.approx(expected, rel=1e-9)
    assert p_below_zero(apart) == pytest.approx(1 - p_below_zero(-apart))


def test_without_spread_the_sign_decides():
    assert [p_below_zero([mean] * 5) for mean in (-0.01, 0.0, 0.01)] == [0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="1 difference has no spread; give at least 2"):
        p_below_zero([-0.5])


def test_holm_by_hand():
    # .01 x 4, .02 x 3, then .03 x 2 and .9, in the order given.
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    # A later one is never less than one before it: .04 x 1 would be below .03 x 2.
    assert holm([0.04, 0.03]) == pytest.approx([0.06, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]).size == 0


def test_holm_keeps_false_alarms_rare_where_nothing_is_behind():
    generator = np.random.default_rng(0)
    p = [[p_below_zero(row) for row in generator.normal(0, 1, (40, 8))] for _ in range(200)]
    alarms = np.mean([holm(row).min() < 0.05 for row in p])
    assert alarms < 0.1 < np.mean([min(row) < 0.05 for row in p])


# -- what auto is, and what it stands against ----------------------------------------------------


def test_auto_stands_against_no_model_that_it_is():
    rivals = Rivals({"pure": RULES, "delta=1e-6": REFITTED}, tuple(learners()))
    pairs = list(rivals.pairs())
    assert len(set(pairs)) == len(pairs)
    assert not [pair for pair in pairs if pair[1] == pair[2]]
    assert {rival for currency, _, rival in pairs if currency == "pure"} == {
        model for model in learners() if not needs_delta(model)
    } - {RULES}
    assert {rival for currency, _, rival in pairs if currency != "pure"} == {*learners()} - {
        REFITTED
    }


def test_rules_beside_a_delta_are_the_same_model():
    assert model_name("rules", "delta=1e-6") == RULES and learners().count(RULES) == 1
    rivals = Rivals({"pure": RULES, "delta=1e-6": RULES}, tuple(learners()))
    assert RULES not in {rival for _, _, rival in rivals.pairs()}


def test_a_pure_model_that_only_auto_is_stands_against_auto_with_a_delta():
    known = tuple(known_models("regression"))
    assert ONE_SHOT not in known and {CONSTANT, RIDGE} <= {*known}
    pairs = set(Rivals({"pure": ONE_SHOT, "delta=1e-6": ADDITIVE}, known).pairs())
    assert ("delta=1e-6", ADDITIVE, ONE_SHOT) in pairs
    assert ("delta=1e-6", ADDITIVE, RIDGE) in pairs
    assert ("pure", ONE_SHOT, RIDGE) not in pairs and ("pure", ONE_SHOT, CONSTANT) in pairs


def tables(n):
    generator = np.random.default_rng(5)
    X = generator.uniform(0, 1, (n, 2))
    columns = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    classes = Domain(features=columns, classes=[0, 1])
    targets = Domain(features=columns, target=(0.0, 2.0))
    return X, [
        (PrivateForestClassifier, (X[:, 0] > 0.5).astype(int), classes),
        (PrivateForestRegressor, X.sum(axis=1), targets),
    ]


@pytest.mark.parametrize("n", [220, 2000])
def test_what_auto_is_is_what_a_fit_of_it_takes(n):
    found = set()
    X, kinds = tables(n)
    for make, y, domain in kinds:
        declared = domain.model_copy(update={"approximate_rows": n})
        for currency, delta in DELTAS.items():
            model = make(epsilon=1.0, delta=delta, domain=declared, random_state=0).fit(X, y)
            name = picked(domain, n, 1.0, currency)
            spent = "pure" if model.strategy_ == "one_shot" else currency
            assert name == model_name(model.strategy_, spent)
            found.add(name)
    assert len(found) > 1


# -- cells ---------------------------------------------------------------------------------------


def made_up(worse=None, by=0.0, seeds=SEEDS, auto=(RULES, RULES)):
    """Lines of two tables where all models are alike, but that auto is behind ``worse``."""
    generator = np.random.default_rng(1)
    for place in (CAR, ALE):
        dataset, task = place.dataset, place.task
        for epsilon in behind.EPSILONS:
            own = auto if task == "classification" else (ONE_SHOT, ONE_SHOT)
            for currency, model in zip(DELTAS, own, strict=True):
                yield {"dataset": dataset, "model": f"auto, {currency}", "epsilon": epsilon,
                       "seed": 0, "is": model, "task": task}  # fmt: skip
            for model in dict.fromkeys([*known_models(task), *own]):
                for seed in range(seeds):
                    value = 0.8 + generator.normal(0, 0.001) + by * (model == worse)
                    yield {"dataset": dataset, "model": model, "epsilon": epsilon, "seed": seed,
                           "split": f"{dataset} {seed}", "n_train": 100, "task": task,
                           "accuracy": value, "auc": value, "r2": value, "log_loss": 1 - value,
                           "n_classes": 4}  # fmt: skip


def cells(lines, names=("car", "ale")):
    return compared(Scores(lines), names, behind.EPSILONS, SEEDS)


def test_nothing_is_behind_where_all_are_alike():
    found = cells(made_up())
    assert not [cell for cell in found if cell.is_behind or cell.is_below]
    n_pure, n_all = sum(not needs_delta(model) for model in learners()) - 1, len(learners()) - 1
    assert len([cell for cell in found if cell.dataset == "car"]) == 3 * 2 * (n_pure + n_all)


def test_a_planted_fault_is_found_and_nothing_else():
    found = cells(made_up(worse=ADDITIVE, by=0.01))
    behind_them = [cell for cell in found if cell.is_behind]
    assert {cell.rival for cell in behind_them} == {ADDITIVE}
    assert {cell.currency for cell in behind_them} == {"delta=1e-6"}
    # Accuracy and AUC at three epsilons; of R², .01 is not too low.
    assert len(behind_them) == 6 and {cell.task for cell in behind_them} == {"classification"}
    assert all(cell.mean == pytest.approx(-0.01, abs=0.002) for cell in behind_them)
    found = cells(made_up(worse=ADDITIVE, by=0.03))
    assert {cell.task for cell in found if cell.is_behind} == {"classification", "regression"}


def test_a_difference_within_the_margin_is_not_behind_however_sure():
    found = cells(made_up(worse=ADDITIVE, by=0.002))
    sure = [cell for cell in found if cell.rival == ADDITIVE and cell.corrected < 0.05]
    assert sure and not [cell for cell in found if cell.is_behind]


def test_a_low_mean_that_chance_explains_is_below_and_not_behind():
    lines = list(made_up())
    for line in lines:
        if line["model"] == REFITTED:
            line["accuracy"] += 0.3 if line["seed"] == 0 else 0.0
    found = [cell for cell in cells(lines) if cell.rival == REFITTED and cell.is_below]
    assert found and not [cell for cell in found if cell.is_behind]


def test_the_correction_is_over_all_cells_compared():
    few, many = cells(made_up(), ("ale",)), cells(made_up())
    lowest = min(cell.p for cell in few)
    assert min(cell.corrected for cell in few) == pytest.approx(min(lowest * len(few), 1.0))
    worst = min(many, key=lambda cell: cell.p)
    assert worst.corrected == pytest.approx(min(worst.p * len(many), 1.0))


def test_delta_against_pure_is_a_cell_where_the_two_are_not_the_same():
    found = cells(made_up(auto=(RULES, REFITTED), worse=RULES, by=0.01))
    own = [cell for cell in found if cell.is_pure_auto]
    assert {(cell.auto, cell.rival) for cell in own} == {(REFITTED, RULES)}
    assert len(own) == 6 and all(cell.is_behind for cell in own)
    assert not [cell for cell in cells(made_up()) if cell.is_pure_auto]


def test_fits_on_other_records_are_not_paired():
    lines = list(made_up())
    next(line for line in lines if line["model"] == RULES and line["seed"] == 3)["split"] = "other"
    with pytest.raises(ValueError, match="car, split 3: .* were tested on other records"):
        cells(lines)


def test_a_lost_fit_of_a_regression_counts_as_the_floor():
    lines = list(made_up())
    for line in lines:
        if line["model"] == ONE_SHOT and line["dataset"] == "ale":
            line["r2"] = -50.0
    lowest = min(cell.mean for cell in cells(lines) if cell.task == "regression")
    assert lowest == pytest.approx(behind_found.FLOOR - 0.8, abs=0.01)


def test_every_second_table_from_the_first_is_of_the_development_half():
    assert development(["d", "b", "a", "c"]) == {"a", "c"}
    assert development(["a", behind_found.IN_NO_HALF, "z", "b"]) == {"a", "z"}


# -- the page ------------------------------------------------------------------------------------


def asked(**other):
    return argparse.Namespace(**{**vars(behind.parse([])), **other})


def page_of(lines, tmp_path, places=(CAR, ALE), **other):
    path = tmp_path / "page.md"
    behind_report.write_page(list(lines), list(places), asked(**other), path)
    return path.read_text(encoding="utf-8")


def test_the_page_names_what_is_behind(tmp_path):
    text = page_of(made_up(worse=ADDITIVE, by=0.01), tmp_path)
    rows = [row for row in text.splitlines() if row.startswith("| car | development |")]
    assert len(rows) == 6 and all("| 20 | additive, δ: −" in row for row in rows)
    assert re.search(r"\| δ = 1e-6 \| additive, δ \| accuracy \| −(0\.9|1\.0)", text)
    assert "3 of 3 (100.0 %) |" in text
    assert "None." in page_of(made_up(), tmp_path)


@pytest.mark.parametrize("lost", [
    lambda line: line["model"] == ADDITIVE and line["seed"] == 19 and line["epsilon"] == 5.0,
    lambda line: line["model"] == "auto, pure",
])  # fmt: skip
def test_a_table_that_is_not_whole_is_left_out_by_name(lost, tmp_path):
    lines = [line for line in made_up() if line["dataset"] == "ale" or not lost(line)]
    text = page_of(lines, tmp_path)
    assert "Not in, since they have not all fits: car." in text
    assert "| car |" not in text and "| ale | records 100, targets |" in text


def test_a_failed_fit_is_no_fit(tmp_path):
    lines = [{**line, "error": "x"} if line["model"] == RIDGE and line["seed"] == 2 else line
             for line in made_up()]  # fmt: skip
    assert "have not all fits: ale." in page_of(lines, tmp_path)


def test_a_page_would_not_lose_tables(tmp_path):
    page = tmp_path / "old.md"
    assert behind_report.tables_lost(page, [], ["car"]) == set()
    page.write_text(page_of(made_up(), tmp_path), encoding="utf-8")
    assert behind_report.tables_lost(page, ["car"], ["car", "ale", "iris"]) == {"ale"}
    assert behind_report.tables_lost(page, ["car", "ale"], ["car", "ale"]) == set()


def test_a_shorter_run_is_a_part():
    assert behind.shortened(asked()) == []
    assert behind.shortened(asked(seeds=2)) == ["seeds"]
    assert behind.shortened(asked(epsilons=[1.0])) == ["epsilons"]
    assert behind.shortened(asked(seeds=2, page=Path("other.md"))) == []


def test_without_a_whole_table_nothing_is_written(tmp_path):
    with pytest.raises(SystemExit, match="no table has all its splits yet"):
        page_of(made_up(seeds=19), tmp_path)


# -- the run -------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    keys = []

    def line(folder, *key):
        keys.append(key)
        return dict(zip(("dataset", "model", "epsilon", "seed"), key, strict=True))

    def pick(folder, place, epsilon, currency):
        return {"dataset": place.dataset, "model": f"auto, {currency}", "epsilon": epsilon,
                "seed": 0, "is": REFITTED, "task": place.task}  # fmt: skip

    for name, made in (("class_line", line), ("target_line", line), ("pick_line", pick)):
        monkeypatch.setattr(behind, name, made)
    monkeypatch.setattr(behind, "places", lambda folder: [CAR, ALE])
    return keys


def test_every_model_is_fitted_once_a_split(counted, tmp_path):
    file = behind.stored(tmp_path / "lines.jsonl")
    behind.run(asked(seeds=2, epsilons=[1.0], data=Path("none")), file)
    assert len(set(counted)) == len(counted) == 2 * (len(learners()) + 5)
    # What auto is beside its rivals: of a regression here one model more.
    assert ("ale", REFITTED, 1.0, 1) in counted and not [key for key in counted if "auto" in key[1]]


def test_a_run_that_is_out_of_time_fits_nothing(counted, tmp_path, capsys):
    file = behind.stored(tmp_path / "lines.jsonl")
    behind.run(asked(minutes=0.0, data=Path("none")), file)
    assert counted == [] and "run the same command again" in capsys.readouterr().out


def test_an_unknown_table_is_refused(counted, tmp_path):
    with pytest.raises(SystemExit, match=r"no table \['nowhere'\]"):
        behind.run(asked(sets=["nowhere"], data=Path("x")), behind.stored(tmp_path / "l.jsonl"))


# -- by signal -------------------------------------------------------------------------------------


def test_learners_stand_beside_each_other_by_the_signal_of_their_budget():
    """Of 1,297 training records and four classes: R sqrt(2 / 4), counted by hand."""
    rows = 1000 * 0.5**0.5
    assert behind_signals.signal_of(1297, 4, 2.0, "pure") == pytest.approx(rows * 2 / 2**0.5)
    lines = [
        {"dataset": f"t{k}", "model": model, "epsilon": 2.0, "seed": seed, "task": "classification",
         "split": k, "accuracy": 0.7 + 0.1 * better, "auc": 0.8, "log_loss": 0.5 - 0.01 * better,
         "n_train": 1297, "n_classes": 4}
        for k in range(5) for seed in range(2)
        for model, better in ((model_name("refitted", "pure"), True), (RULES, False))
    ]  # fmt: skip
    found = Scores(lines)
    pair = ("refitted", "rules", "pure")
    names = [f"t{k}" for k in range(5)]
    rows = list(behind_signals.by_signal(found, names, [2.0], 2, pair))
    assert rows == [["more", "700 to 1,500", "5", "+10.0", "+0", "−10"]]
    assert not list(behind_signals.by_signal(found, names[:3], [2.0], 2, pair)), "too few cells"
