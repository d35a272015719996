"""Pages have the figures of the page of results that the suite's script wrote."""

from __future__ import annotations

import pytest
import utility_rows

RESULTS = utility_rows.RESULTS.read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "rows_of"), utility_rows.PAGES, ids=["utility", "readme"])
def test_a_page_is_as_it_would_be_filled(page, rows_of):
    text = page.read_text(encoding="utf-8")
    assert utility_rows.filled(text, rows_of(RESULTS)) == text


@pytest.mark.parametrize(
    ("page", "rows_of", "old", "least"),
    [
        (*utility_rows.PAGES[0], "| letter | 1e-6 | 5 | ", 30),
        (*utility_rows.PAGES[1], "| dpforest, δ = 0 | 54 | ", 3),
    ],
    ids=["utility", "readme"],
)
def test_another_figure_is_found(page, rows_of, old, least):
    text = page.read_text(encoding="utf-8")
    rows = rows_of(RESULTS)
    assert text.count(old) == 1
    assert utility_rows.filled(text.replace(old, f"{old}1"), rows) == text
    gone = {key: ["?"] * len(figures) for key, figures in rows.items()}
    assert utility_rows.filled(text, gone).count("| ? |") >= least


def test_a_row_of_other_figures_stays():
    text = "| letter | 0 | 5 | 1 |\n| adult | rules | 2 |\nletter | 0"
    assert utility_rows.filled(text, {("letter", "0"): ["9", "9", "9"]}) == text
