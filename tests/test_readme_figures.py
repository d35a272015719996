"""Figures of accuracy in the README are those of the pages that scripts write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UTILITY = "docs/utility_results.md"
WITH_DELTA = "dpforest auto, delta=1e-6, rows"
STRONGEST, BESIDE = "Beside the strongest others", "Beside others"
#: README row (its first two cells): section of the page, and its row.
ROWS = {
    ("dpforest, δ = 0", "54"): ("dpforest auto, pure, rows", "mean of all 54"),
    ("dpforest, δ = 1e-6", "54"): (WITH_DELTA, "mean of all 54"),
    ("a noisy additive model, δ = 1e-6, the strongest other that we know", "54"): (
        STRONGEST,
        WITH_DELTA,
    ),
    ("a forest without privacy", "54"): (WITH_DELTA, "mean of all 54"),
    ("dpforest, δ = 1e-6", "6 of two classes"): (BESIDE, WITH_DELTA),
    ("DP-EBM, δ = 1e-5", "the same 6"): (BESIDE, "DP-EBM"),
    ("diffprivlib's forest", "the same 6"): (BESIDE, "diffprivlib forest"),
}


def table(text):
    """Rows of the first table of a text, by their first cell: figures by column."""
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE).group().splitlines()
    head, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return head, rows[1:]


def section(path, title):
    """What a page has below a heading."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.split(r"^## ", text.split(f"## {title}\n")[1], flags=re.MULTILINE)[0]


def expected(title, name, column, label):
    """A cell of the page; of two models side by side the other's."""
    head, rows = table(section(UTILITY, title))
    column = "non-private" if label == "a forest without privacy" else column
    place = next(i for i, cell in enumerate(head) if cell.startswith(column))
    cell = next(row for row in rows if row[0] == name)[place]
    return cell.split(";")[0].split(", ")[1] if title == STRONGEST else cell


def figures():
    """Cells of the README's table: row, column and figure."""
    head, rows = table(section("README.md", "How accurate"))
    for row in rows:
        for column, figure in zip(head[2:], row[2:], strict=True):
            yield (row[0], row[1]), column, figure


@pytest.mark.parametrize(("row", "column", "figure"), list(figures()))
def test_a_figure_is_that_of_the_page(row, column, figure):
    title, name = ROWS[row]
    assert figure == expected(title, name, column, row[0])


def test_every_row_is_there_and_every_epsilon():
    found = list(figures())
    assert {row for row, _, _ in found} == set(ROWS)
    assert len(found) == 3 * len(ROWS)


def test_figures_of_covertype_are_those_of_large_tables():
    words = section("README.md", "How accurate")
    asked = re.search(r"ε = 1 and δ = 1e-6 give ([\d.]+) %, and ε = 5 gives ([\d.]+) %", words)
    text = (ROOT / "docs/large_tables_results.md").read_text(encoding="utf-8")
    head, rows = table(text.split("## dpforest auto, delta=1e-6, rows\n")[1])
    row = next(row for row in rows if row[0] == "covertype")
    at = {name: row[place].split(" / ")[0] for place, name in enumerate(head)}
    assert asked.groups() == (at["ε 1"], at["ε 5"])
