"""Rows of docs/utility.md and of the README that have figures of docs/utility_results.md.

    python benchmarks/utility_rows.py

A row is known by its first cells, so what stands around it is not touched. ``utility.py`` writes
the page of results itself, which is copied there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from common.sources import REPOSITORY

RESULTS = REPOSITORY / "docs" / "utility_results.md"
UTILITY, README = REPOSITORY / "docs" / "utility.md", REPOSITORY / "README.md"
#: Sections of the results by the delta that rows name.
MODELS = {"0": "dpforest auto, pure, rows", "1e-6": "dpforest auto, delta=1e-6, rows"}
MEANS = {
    "17 small tables": "mean of 17 of 17 small sets",
    "31 tables of two classes": "mean of 31 binary sets",
    "all 54 tables": "mean of all 54",
}
EPSILONS = 5
#: Columns of the README among those of the results: epsilon .1, 1 and 5.
SHOWN = 0, 2, 4

Rows = dict[tuple[str, ...], list[str]]


def cells(line: str) -> list[str]:
    """Cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def section(results: str, title: str) -> str:
    """What the results have below a heading."""
    return re.split(r"^## ", results.split(f"## {title}\n")[1], flags=re.MULTILINE)[0]


def tables(text: str) -> Iterator[dict[str, list[str]]]:
    """Rows of each table of a text, by their first cell."""
    for found in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        yield {first: rest for first, *rest in map(cells, found.splitlines()[2:])}


def rows_of_utility(results: str) -> Rows:
    """Rows of docs/utility.md by their first cells: sets, means, what stands beside them."""
    rows: Rows = {}
    for delta, model in MODELS.items():
        accuracy, losses = list(tables(section(results, model)))[:2]
        for name, found in accuracy.items():
            rows[name, delta] = found[:EPSILONS]
        for name, mean in MEANS.items():
            of_loss = [loss.split(" / ")[0] for loss in losses[mean][:EPSILONS]]
            figures = zip(accuracy[mean], of_loss, strict=False)
            rows[name, delta] = [" / ".join(pair) for pair in figures]
        for line in section(results, "Beside the strongest others").splitlines():
            ours, *rest = cells(line)
            if ours == model:
                rows[f"δ = {delta}", rest[0]] = rest[1:]
        rows[model,] = next(tables(section(results, "Beside others")))[model]
    return rows


def rows_of_readme(results: str) -> Rows:
    """Rows of the README by their first cells."""
    rows: Rows = {}
    for delta, model in MODELS.items():
        accuracy = next(tables(section(results, model)))["mean of all 54"]
        rows[f"dpforest, δ = {delta}", "54"] = [accuracy[place] for place in SHOWN]
    beside = next(tables(section(results, "Beside others")))[MODELS["1e-6"]]
    rows["dpforest, δ = 1e-6", "6 of two classes"] = [beside[place] for place in SHOWN]
    return rows


def filled(text: str, rows: Rows) -> str:
    """A text whose rows have the figures that belong there; others stay."""

    def new(line: str) -> str:
        found = cells(line)
        for key, figures in rows.items():
            # A number of splits may stand between.
            kept = len(found) - len(figures)
            if tuple(found[: len(key)]) == key and 0 <= kept - len(key) <= 1:
                return f"| {' | '.join([*found[:kept], *figures])} |"
        return line

    return "\n".join(new(line) if line.startswith("| ") else line for line in text.split("\n"))


PAGES: tuple[tuple[Path, Callable[[str], Rows]], ...] = (
    (UTILITY, rows_of_utility),
    (README, rows_of_readme),
)


def main() -> None:
    """Write both pages."""
    results = RESULTS.read_text(encoding="utf-8")
    for page, rows in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text, rows(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
