"""Fits of many numeric features: made-up tables, and where their rows go."""

from __future__ import annotations

import numpy as np
import pytest
import wide_tables


def test_values_lie_evenly_and_a_few_features_tell_the_classes():
    table = wide_tables.even(2000, 12, 4)
    shares = np.bincount(np.digitize(table.records.ravel(), np.arange(1, 15) / 15)) / (12 * 2000)
    np.testing.assert_allclose(shares, 1 / 15, atol=0.006)
    np.testing.assert_allclose(np.bincount(table.labels) / 2000, 0.25, atol=0.01)
    told = [abs(np.corrcoef(column, table.labels)[0, 1]) for column in table.records.T]
    assert min(told[: wide_tables.TELLING]) > 0.2 > max(told[wide_tables.TELLING :])


def test_pixels_lie_within_their_bounds_and_come_as_often_as_asked():
    for times in (1, 3):
        table = wide_tables.digits(times)
        assert table.records.shape == (1797, 64 * times)
        lower, upper = table.bounds
        assert lower <= table.records.min() and table.records.max() <= upper
        assert table.domain.approximate_rows == 1797


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.RepeatedFitWarning")
def test_a_row_says_what_was_picked_and_how_long_it_took():
    cells = wide_tables.row(wide_tables.even(60, 3, 2), 1e-6, 0.125).strip("| ").split(" | ")
    assert cells[:4] == ["made up", "60 × 3", "2", "delta"] and cells[-1] == "0.12"
    for cell in cells[4:-1]:
        picked, seconds = cell.split(" ")
        assert picked == "rules" and float(seconds) < 60


def test_fits_within_a_second_are_counted():
    rows = [
        "| digits | 9 × 9 | 2 | pure | rules 0.50 | rules 1.00 | rules 1.01 | 9.00 |",
        "| made up | 9 × 9 | 2 | pure | rules 0.10 | refitted 1.20 | rules 3.00 | 0.10 |",
    ]
    assert wide_tables.within(rows) == (
        "Fits within a second: digits 2 of 3; made-up tables 1 of 3."
    )
    page = wide_tables.PAGE.read_text(encoding="utf-8").split(wide_tables.MARKS[0])[1]
    shown = page.split(wide_tables.MARKS[1])[0].strip().split("\n")
    assert shown[-1] == wide_tables.within(shown[2:-2])


def test_rows_go_between_the_marks(tmp_path):
    page, (begin, end) = tmp_path / "page.md", wide_tables.MARKS
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    wide_tables.put(page, "new")
    assert page.read_text(encoding="utf-8") == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"
    wide_tables.put(tmp_path / "other.md", "new")
    assert "new" in (tmp_path / "other.md").read_text(encoding="utf-8")
    assert all(mark in wide_tables.PAGE.read_text(encoding="utf-8") for mark in wide_tables.MARKS)


def test_made_up_tables_are_wide():
    assert all(n_features >= 60 for _, n_features, _ in wide_tables.EVEN)
