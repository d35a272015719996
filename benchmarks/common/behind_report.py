"""The page of cells in which auto is behind another model."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np

from common.behind_cells import CONSTANT, DELTAS, RIDGE, learners, short_name
from common.behind_found import (
    IN_NO_HALF,
    LEVEL,
    MARGINS,
    METRICS,
    Cell,
    Scores,
    compared,
    development,
)
from common.behind_signals import LEAST_CELLS, PAIRS, by_signal
from common.pages import place_of
from common.results import Line

WORDS = {"accuracy": "accuracy", "auc": "AUC", "r2": "R²"}
CURRENCIES = {"pure": "δ = 0", "delta=1e-6": "δ = 1e-6"}
HALVES = ("development", "confirmation")
#: Heads of what `_counts` and `_both_halves` give.
_COUNTS = ("below", "hinted", "behind")
_OF_HALVES = tuple(f"{half} half" for half in HALVES)


class Place(Protocol):
    """A table by its name and task."""

    @property
    def dataset(self) -> str:
        """Its name."""

    @property
    def task(self) -> str:
        """Classification or regression."""


class Found:
    """All cells of the tables that are whole, and the half of each table."""

    def __init__(self, lines: list[Line], places: list[Place], asked: argparse.Namespace) -> None:
        self.scores = Scores(lines)
        self.epsilons, self.seeds = tuple(asked.epsilons), asked.seeds
        wanted = [place for place in places if not asked.sets or place.dataset in asked.sets]
        whole = [
            place.dataset for place in wanted
            if place.dataset in self.scores.tasks
            and self.scores.is_whole(place.dataset, self.epsilons, self.seeds)
        ]  # fmt: skip
        self.left_out = sorted({place.dataset for place in places} - set(whole))
        self.cells = compared(self.scores, whole, self.epsilons, self.seeds)
        self.halves = {
            name: HALVES[name not in first]
            for task in METRICS
            for names in [[place.dataset for place in places if place.task == task]]
            for first in [development(names)]
            for name in names
        }
        self.whole = whole

    def of(self, **asked: object) -> list[Cell]:
        """Cells whose attributes, or whose half, are as asked."""
        half = asked.pop("half", None)
        return [
            cell for cell in self.cells
            if half in (None, self.halves[cell.dataset])
            and all(getattr(cell, name) == value for name, value in asked.items())
        ]  # fmt: skip


def write_page(
    lines: list[Line],
    places: list[Place],
    asked: argparse.Namespace,
    page: Path,
    shortened: Collection[str] = (),
) -> None:
    """Write the page; beside it if the run is shortened, or if tables of the page would be lost."""
    found = Found(lines, places, asked)
    if not found.cells:
        raise SystemExit("nothing to report: no table has all its splits yet")
    lost = tables_lost(page, found.whole, [place.dataset for place in places])
    place_of(page, [*lost, *shortened]).write_text(report(found), encoding="utf-8")


def tables_lost(page: Path, whole: Collection[str], names: Iterable[str]) -> set[str]:
    """Tables that have a row of their own in a page and are not among those at hand."""
    rows = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    listed = {name for name in names for row in rows if row.startswith(f"| {name} | {_ROW_MARK}")}
    return listed - set(whole)


#: With which the second cell of a row of the list of tables begins.
_ROW_MARK = "records "


def report(found: Found) -> str:
    """The page's text."""
    parts = [*_head(found), *_summary(found), *_learners(found), *_delta(found)]
    parts += [*_regressions(found), *_signals(found), *_all_behind(found), *_tables(found)]
    return "\n".join(parts) + "\n"


def _head(found: Found) -> Iterator[str]:
    yield "# Where auto is behind our own learners"
    yield ""
    yield (
        "Written by `python benchmarks/behind.py`: `auto` against each of our learners asked for "
        "by name at its one default, and for regressions against `additive`, the paid-for constant "
        f"and a private ridge regression. {found.seeds} splits (a quarter of the records for "
        "testing), the same for all models; a name with `@50000` is that many records of a longer "
        "table; the number of training records is declared, rounded "
        "to one digit. With δ = 1e-6 `auto` stands against all models, with δ = 0 against those "
        "that need no δ. Learners that spend pure ε have one name in both."
    )
    yield ""
    yield (
        "**Behind** is a cell (a table, an ε, a currency, a model, a metric) where the mean paired "
        f"difference is below −{100 * MARGINS['accuracy']:g} points of accuracy, "
        f"−{MARGINS['auc']:g} AUC or −{MARGINS['r2']:g} R², and a one-sided paired t-test has "
        f"p < {LEVEL:g} after Holm's correction over all {len(found.cells):,} cells compared here. "
        "*Below* counts means that are so low, by chance too. *Hinted* are those of them with an "
        f"uncorrected p < {LEVEL:g}, some of them by chance. R² counts as −1 where it is "
        "less."
    )
    yield ""
    yield (
        "`auto` is one of the learners, picked from public facts. Its scores are that learner's, "
        "and against itself it has no cell: the true difference is 0. Every second table in the "
        "order of names, regressions apart, is of the development half, the others of the "
        f"confirmation half (`{IN_NO_HALF}` among the latter; it had no part in finding the rules)."
    )
    yield ""


def _share(part: Collection[object], whole: Collection[object]) -> str:
    if not whole:
        return "–"
    return f"{len(part):,} of {len(whole):,} ({100 * len(part) / len(whole):.1f} %)"


def _counts(cells: list[Cell]) -> list[str]:
    below = [cell for cell in cells if cell.is_below]
    hinted = [cell for cell in below if cell.p < LEVEL]
    behind = [cell for cell in cells if cell.is_behind]
    return [f"{len(below):,}", f"{len(hinted):,}", _share(behind, cells)]


def _table(heads: list[str], rows: Iterable[list[str]]) -> list[str]:
    head = "| " + " | ".join(heads) + " |"
    line = "| --- |" + " ---: |" * (len(heads) - 1)
    return [head, line, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _summary(found: Found) -> Iterator[str]:
    yield "## By ε and currency"
    yield ""
    yield "Classification, all models and both metrics:"
    yield ""
    rows = []
    for currency in DELTAS:
        for epsilon in found.epsilons:
            asked = {"task": "classification", "currency": currency, "epsilon": epsilon}
            rows.append([CURRENCIES[currency], f"{epsilon:g}", *_both_halves(found, asked)])
    rows.append(["all", "all", *_both_halves(found, {"task": "classification"})])
    yield from _table(["", "ε", *_COUNTS, *_OF_HALVES], rows)
    yield "Tables of each ε where `auto` is behind at least one model, in accuracy or in AUC:"
    yield ""
    heads = ["", *(f"ε = {epsilon:g}" for epsilon in found.epsilons), "all", *_OF_HALVES]
    yield from _table(heads, (_spots(found, currency) for currency in DELTAS))


def _both_halves(found: Found, asked: dict[str, object]) -> list[str]:
    halves = [_counts(found.of(**asked, half=half))[-1] for half in HALVES]
    return [*_counts(found.of(**asked)), *halves]


def _spots(found: Found, currency: str) -> list[str]:
    """Share of tables, by epsilon, all and by half, where any cell is behind."""
    asked = {"task": "classification", "currency": currency}
    ways = [
        *({**asked, "epsilon": epsilon} for epsilon in found.epsilons),
        asked,
        *({**asked, "half": half} for half in HALVES),
    ]
    shares = []
    for way in ways:
        cells = found.of(**way)
        every = {(cell.dataset, cell.epsilon) for cell in cells}
        shares.append(_share({(c.dataset, c.epsilon) for c in cells if c.is_behind}, every))
    return [CURRENCIES[currency], *shares]


def _learners(found: Found) -> Iterator[str]:
    yield "## By learner"
    yield ""
    yield "Classification. The mean is of `auto` less the learner over all tables and ε:"
    yield ""
    rows = [
        [CURRENCIES[currency], short_name(model), WORDS[metric], _mean(cells), *_counts(cells)]
        for currency in DELTAS
        for model in learners()
        for metric in METRICS["classification"]
        for cells in [
            found.of(task="classification", currency=currency, rival=model, metric=metric)
        ]
        if cells
    ]
    yield from _table(["", "learner", "metric", "mean", *_COUNTS], rows)


def _delta(found: Found) -> Iterator[str]:
    yield "## With δ against without"
    yield ""
    yield (
        "`auto` with δ = 1e-6 against `auto` with δ = 0 at the same ε, where they are not the same "
        "learner with the same budget:"
    )
    yield ""
    rows = [
        [task, WORDS[metric], f"{epsilon:g}", _mean(cells), *_counts(cells)]
        for task, metrics in METRICS.items()
        for metric in metrics
        for epsilon in found.epsilons
        for cells in [found.of(is_pure_auto=True, metric=metric, epsilon=epsilon)]
        if cells
    ]
    yield from _table(["", "metric", "ε", "mean", *_COUNTS], rows)


def _regressions(found: Found) -> Iterator[str]:
    rows = [
        [CURRENCIES[currency], f"{epsilon:g}", short_name(model), _mean(found.of(**asked)),
         *_both_halves(found, asked)]
        for currency in DELTAS
        for epsilon in found.epsilons
        for model in (*learners(("additive",)), CONSTANT, RIDGE)
        for asked in [{"task": "regression", "currency": currency, "epsilon": epsilon,
                       "rival": model}]
        if found.of(**asked)
    ]  # fmt: skip
    if rows:
        yield "## Regression"
        yield ""
        yield "The mean is of `auto` less the model over all regressions where `auto` is another:"
        yield ""
        yield from _table(["", "ε", "model", "mean", *_COUNTS, *_OF_HALVES], rows)


def _signals(found: Found) -> Iterator[str]:
    yield "## By signal"
    yield ""
    yield (
        "One learner less another, whatever `auto` is, by R√(2/K): points of accuracy, thousandths "
        f"of AUC and of log loss (better where it falls). Rows of fewer than {LEAST_CELLS} cells "
        "(a table at an ε) are left out. Rules have the pure ε in both currencies."
    )
    yield ""
    heads = ["learners", "classes", "R√(2/K)", "cells", "accuracy", "AUC", "log loss"]
    rows = [
        [f"{first} less {second}, {CURRENCIES[currency]}", *row]
        for first, second, currency in PAIRS
        for row in by_signal(
            found.scores, found.whole, found.epsilons, found.seeds, (first, second, currency)
        )
    ]
    yield from _table(heads, rows)


def _mean(cells: list[Cell]) -> str:
    """Mean difference of cells of one metric."""
    return _amount(cells[0].metric, float(np.mean([cell.mean for cell in cells])))


def _amount(metric: str, value: float) -> str:
    """A difference: points of accuracy, or three decimals."""
    text = f"{100 * value:+.2f}" if metric == "accuracy" else f"{value:+.3f}"
    return text.replace("-", "−")


def _by_spot(cell: Cell) -> tuple[str, float, str, str]:
    return cell.dataset, cell.epsilon, cell.currency, cell.metric


def _all_behind(found: Found) -> Iterator[str]:
    yield "## All cells behind"
    yield ""
    behind = sorted((cell for cell in found.cells if cell.is_behind), key=_by_spot)
    if not behind:
        yield "None."
        yield ""
        return
    yield (
        "The worst first, by the multiple of the allowed difference. A row is a table, an ε, a "
        "currency and a metric; the models are all that `auto` is behind there, each with the mean "
        f"difference ± one standard error over {found.seeds} splits."
    )
    yield ""
    spots = [sorted(own, key=_depth) for _, own in groupby(behind, _by_spot)]
    heads = ["set", "half", "ε", "", "auto is", "metric", "splits", "behind"]
    yield from _table(heads, ([*_spot(found, own)] for own in sorted(spots, key=_first_depth)))


def _depth(cell: Cell) -> float:
    return cell.mean / MARGINS[cell.metric]


def _first_depth(own: list[Cell]) -> float:
    return _depth(own[0])


def _spot(found: Found, own: list[Cell]) -> Iterator[str]:
    cell = own[0]
    yield cell.dataset
    yield found.halves[cell.dataset]
    yield f"{cell.epsilon:g}"
    yield CURRENCIES[cell.currency]
    yield short_name(cell.auto)
    yield WORDS[cell.metric]
    yield str(len(cell.differences))
    yield "; ".join(f"{short_name(one.rival)}: {_amount(one.metric, one.mean)} ± "
                    f"{_error(one)}" for one in own)  # fmt: skip


def _error(cell: Cell) -> str:
    error = float(np.std(cell.differences, ddof=1)) / len(cell.differences) ** 0.5
    return f"{100 * error:.2f}" if cell.metric == "accuracy" else f"{error:.3f}"


def _tables(found: Found) -> Iterator[str]:
    yield "## Tables"
    yield ""
    yield (
        f"Those with all {found.seeds} splits of every model at every ε. Then what `auto` is "
        "without and with a δ:"
    )
    yield ""
    at = [f"ε {epsilon:g}" for epsilon in found.epsilons]
    heads = ["set", "", "half", "splits", *at, *_COUNTS]
    yield from _table(heads, (_table_row(found, name) for name in found.whole))
    if found.left_out:
        yield "Not in, since they have not all fits: " + ", ".join(found.left_out) + "."
        yield ""


def _table_row(found: Found, name: str) -> list[str]:
    sizes = (line["n_train"] for (dataset, _, _), fits in found.scores.fits.items()
             if dataset == name for line in fits.values() if "n_train" in line)  # fmt: skip
    autos = []
    for epsilon in found.epsilons:
        rivals = found.scores.rivals(name, epsilon)
        assert rivals is not None
        autos.append(" / ".join(short_name(model) for model in rivals.auto.values()))
    cells = found.of(dataset=name)
    kind = "targets" if found.scores.tasks[name] == "regression" else "classes"
    return [
        name, f"{_ROW_MARK}{next(sizes):,}, {kind}", found.halves[name], str(found.seeds), *autos,
        *_counts(cells),
    ]  # fmt: skip
