"""The page of utility: which sets a mean difference is of."""

from __future__ import annotations

import math

import pytest
from common.tables import Facts
from common.utility_report import Report, lead_of, lead_table, paired_sets

OURS, THEIRS = "dpforest auto", "another"
#: Accuracies by split, ours and theirs.
SPLITS = {"three": ([0.8, 0.9, 0.85], [0.7, 0.7, 0.7]), "one": ([0.9], [0.1]), "none": ([0.9], [])}


@pytest.fixture
def report():
    tables = {name: Facts(name, 100, 2) for name in SPLITS}
    made = Report(tables, list(SPLITS), [1.0], [OURS, THEIRS])
    for name, both in SPLITS.items():
        for model, values in zip((OURS, THEIRS), both, strict=True):
            for seed, value in enumerate(values):
                line = {"dataset": name, "epsilon": 1.0, "seed": seed}
                made.add(line | {"accuracy": value, "auc": value}, model)
    return made


def test_a_set_of_one_split_is_in_no_mean_and_in_no_number(report):
    """It has no spread, and a number of sets that are not in the mean says too much."""
    assert paired_sets(report, OURS, THEIRS, 1.0) == ["three"]
    assert "| another (1) | + 15.0 ± 2.9 / + 150.0 ± 28.9 |" in lead_table(report, OURS)
    lead, error = lead_of(report, OURS, THEIRS, ["three"], 1.0, "accuracy")
    assert (lead, error) == pytest.approx((0.15, 0.05 / 3**0.5))


def test_without_shared_splits_there_is_no_row(report):
    assert math.isnan(lead_of(report, OURS, THEIRS, [], 1.0, "accuracy")[0])
    report.values = {key: v for key, v in report.values.items() if key[1] != "three"}
    assert "another" not in lead_table(report, OURS)
