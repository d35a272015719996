"""The page of `curves.py`: worst rows first, then accuracy and area along epsilon and rows."""

from __future__ import annotations

from pathlib import Path

from common import law
from common.growth_cells import (
    NAMED,
    Cell,
    Curve,
    Curves,
    Fall,
    along,
    behind,
    falls,
    last_steps,
    with_picked,
)
from common.growth_plots import write_plots
from common.results import Line
from common.tables import REPOSITORY

PAGE = REPOSITORY / "docs" / "growth_results.md"
#: Rows of the tables of what is worst.
SHOWN = 6
ORDER = ("auto", *NAMED, "random forest", "histogram boosting")


def write_report(lines: list[Line], page: Path) -> None:
    """Write the page, and its plots beside it."""
    over = {what: along(_sorted(with_picked(lines)), what) for what in ("epsilon", "rows")}
    parts = [_head(lines), _worst(over), _by_epsilon(over["epsilon"]), _by_rows(over["rows"])]
    parts.append(_of_law(over["rows"]))
    page.write_text("\n".join("\n".join(part) for part in parts), encoding="utf-8")
    write_plots(over, page.parent)


def _sorted(lines: list[Line]) -> list[Line]:
    def place(line: Line) -> tuple[int, int]:
        first = next(k for k, name in enumerate(ORDER) if line["model"].startswith(name))
        return first, line["model"].endswith("pure")

    return sorted(lines, key=place)


def _head(lines: list[Line]) -> list[str]:
    return [
        "# Growth",
        "",
        "Whether accuracy grows with ε and with the records, of `auto` and of the learners that it "
        "picks from. Written by",
        "",
        "    python benchmarks/curves.py",
        "",
        "**One split** of each table (75/25), "
        f"{_number_of_fits(lines)}; ε under add/remove, noise from the operating system, the "
        "number of records declared in its first digit. Parts of fewer rows are the beginning of "
        "larger ones, the test part is always the same. Where `auto` picks a learner, one fit "
        "serves both rows. Cells are accuracy (%) / AUC; – was not run. Not private: "
        "`RandomForestClassifier(100)`, and "
        "`HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=255, early_stopping=False)`.",
        "",
    ]


def _number_of_fits(lines: list[Line]) -> str:
    draws = {line["draw"] + 1 for line in lines}
    return "one fit a cell" if draws == {1} else f"one to {max(draws)} fits a cell"


def _worst(over: dict[str, Curves]) -> list[str]:
    steps = [fall for what, curves in over.items() for fall in falls(curves, what)]
    cells = [fall for what, curves in over.items() for fall in behind(curves, what)]
    steps, cells = (sorted(set(one), key=lambda fall: fall.accuracy) for one in (steps, cells))
    ends = [fall for what, curves in over.items() for fall in last_steps(curves, what)]
    ends = sorted(ends, key=lambda fall: fall.accuracy)
    return [
        "## Worst rows",
        "",
        f"`auto` less the best other learner that keeps its promise, points / thousandths of AUC. "
        f"Below 0 in {len(cells)} cells; the best is chosen on test records at no cost, so a part "
        "of it is chance. The worst:",
        "",
        *_falls(cells, "better is"),
        f"`auto` less itself at the place before. Below 0 in {len(steps)} steps, the worst:",
        "",
        *_falls(steps, "picked"),
        "What the last step of a curve of `auto` brings, the least of them; where that is next to "
        "nothing and others bring more, growth has ended:",
        "",
        *_falls(ends, "picked"),
    ]


def _falls(found: list[Fall], what: str) -> list[str]:
    rows = [
        f"| {one.dataset} | {one.model.split(', ')[1]} | {one.where} | {100 * one.accuracy:+.1f} / "
        f"{1000 * one.auc:+.0f} | {one.words} |"
        for one in found[:SHOWN]
    ]
    head = f"| table | guarantee | where | difference | {what} |"
    return [head, "| --- | --- | --- | ---: | --- |", *rows, ""]


def _by_epsilon(curves: Curves) -> list[str]:
    return [
        "## Against ε, whole tables",
        "",
        "![Accuracy and AUC over epsilon](growth_epsilon.svg)",
        "",
        *(text for name in _datasets(curves) for text in _table(curves, name, "ε {:g}")),
    ]


def _by_rows(curves: Curves) -> list[str]:
    return [
        "## Against rows, ε = 1",
        "",
        "![Accuracy and AUC over rows](growth_rows.svg)",
        "",
        *(text for name in _datasets(curves) for text in _table(curves, name, "{:,.0f}")),
    ]


def _of_law(curves: Curves) -> list[str]:
    best = f"{_figures(law.best_accuracy(), law.best_area())}"
    sizes = sorted({x for (name, _), curve in curves.items() if name == law.NAME for x in curve})
    return [
        "## A made-up law, ε = 1",
        "",
        f"Ten features, two classes, the best possible {best}: summed over the cells of the law "
        "(`benchmarks/common/law.py`), not the figure of a fit. Classes of test records are not "
        "drawn: what a fit loses is counted by their probabilities. "
        f"Sizes run: {', '.join(f'{size:,.0f}' for size in sizes)}.",
        "",
        "![Accuracy over rows, and the best](growth_law.svg)",
        "",
        *_table(curves, law.NAME, "{:,.0f}", [f"best possible | {best} |"]),
    ]


def _datasets(curves: Curves) -> list[str]:
    return [name for name in dict.fromkeys(name for name, _ in curves) if name != law.NAME]


def _table(curves: Curves, dataset: str, head: str, more: list[str] | None = None) -> list[str]:
    """A row a model, a column a place; below it what auto picked, and how large."""
    own = {model: curve for (name, model), curve in curves.items() if name == dataset}
    places = sorted({x for curve in own.values() for x in curve if x})
    rows = [f"| {model} | {' | '.join(_row(curve, places))} |" for model, curve in own.items()]
    rows += [f"| {text}" + " |" * (len(places) - 1) for text in more or []]
    heads = " | ".join(head.format(x) for x in places)
    title = [f"| {dataset} | {heads} |", "| --- |" + " ---: |" * len(places)]
    return [*title, *rows, *_picked(own, places), ""]


def _row(curve: Curve, places: list[float]) -> list[str]:
    """A model without an epsilon has its figures in every column."""
    cells = [curve.get(x) or curve.get(0.0) for x in places]
    return [_figures(cell.accuracy, cell.auc) if cell else "–" for cell in cells]


def _figures(accuracy: float, auc: float) -> str:
    return f"{100 * accuracy:.1f} / {f'{auc:.3f}'.lstrip('0')}"


def _picked(own: dict[str, Curve], places: list[float]) -> list[str]:
    rows = []
    for model, curve in own.items():
        if model.startswith("auto"):
            cells = [_size(curve[x]) if x in curve else "–" for x in places]
            rows.append(f"| *{model} picked* | {' | '.join(cells)} |")
    return rows


def _size(cell: Cell) -> str:
    """A strategy, and in brackets trees × depth of a boosted forest."""
    words = cell.size.replace(",", "").split()
    if cell.strategy != "boosted" or "depth" not in words:
        return cell.strategy
    return f"boosted ({words[words.index('trees') - 1]} × {words[-1]})"
