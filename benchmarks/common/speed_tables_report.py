"""The tables of `speed_tables.py`, put between two marks of docs/speed.md, worst rows first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from common.pages import between
from common.results import Line
from common.speed_report import setting

START, END = "<!-- results of benchmarks/speed_tables.py -->", "<!-- end of these results -->"
#: Records from which fits are held to a share of the forest's time, and that share.
LONG_TABLE, FIT_TARGET = 10_000, 0.5
#: Seconds of a fit of a shorter table, and of the widest.
SHORT_SECONDS, WIDE_SECONDS, WIDE_TABLE = 1.0, 3.0, "internet_ads_subset"
PREDICT_TARGET, IMPORT_TARGET = 1.0, 1.15
#: Of covertype: boosted beside both peers, and the pure default beside the forest.
BOOSTED_TARGET, PURE_TARGET = 0.3, 0.03
#: Short tables that are shown though they meet their targets.
SHOWN = 8
FITS = ("pure", "delta")


def write_page(lines: list[Line], page: Path) -> None:
    """Put the tables into the page."""
    tables = list({line["table"]: line for line in lines if line["part"] == "table"}.values())
    imports = [line for line in lines if line["part"] == "import"]
    parts = [
        setting(lines), summary(tables), covertype(tables), long_fits(tables), short_fits(tables),
        predictions(tables), *map(importing, imports[-1:]),
    ]  # fmt: skip
    made = "\n\n".join(part for part in parts if part)
    text = between(page.read_text(encoding="utf-8"), (START, END), made)
    page.write_text(text, encoding="utf-8")


def tables_of(page: Path) -> int:
    """How many tables the page is of, each in both budgets; 0 for a page without results."""
    found = re.search(r"of (\d+) predictions", page.read_text(encoding="utf-8"))
    return int(found[1]) // len(FITS) if found else 0


def summary(tables: list[Line]) -> str:
    """How many of the cells meet their targets."""
    long, short = _by_length(tables)
    in_time = [line["fits"]["seconds"][fit] <= _limit(line) for line in short for fit in FITS]
    in_share = [line["fits"]["ratio"]["forest"][fit] <= FIT_TARGET for line in long for fit in FITS]
    asked = [_asked(line, fit) <= PREDICT_TARGET for line in tables for fit in FITS]
    return (
        f"Met, of all tables and both budgets: {_share(in_share)} fits of {LONG_TABLE:,} records "
        f"or more, {_share(in_time)} fits of shorter tables, {_share(asked)} predictions."
    )


def covertype(tables: list[Line]) -> str:
    """The boosted forest and the pure default on covertype."""
    found = [line for line in tables if "boosted" in line["fits"]["seconds"]]
    if not found:
        return ""
    fit = found[-1]["fits"]
    rows = _head("covertype", "seconds", "× forest", "× HistGradientBoosting", "target")
    for name, target in (("boosted", BOOSTED_TARGET), ("pure", PURE_TARGET)):
        forest, boosting = (fit["ratio"][peer][name] for peer in ("forest", "HistGradientBoosting"))
        worst = max(forest, boosting) if name == "boosted" else forest
        shown = name if name == "boosted" else f"pure default: {found[-1]['picked'][name]}"
        cells = shown, _seconds(fit["seconds"][name]), _times(forest), _times(boosting)
        rows.append(_row(*cells, _verdict(worst, target)))
    seconds = fit["seconds"]
    rows.append(_row("the forest", _seconds(seconds["forest"]), "", "", ""))
    other = "HistGradientBoosting"
    rows.append(_row(other, _seconds(seconds[other]), "", "", ""))
    return "\n".join(rows)


def long_fits(tables: list[Line]) -> str:
    """Fits of long tables beside the forest's."""
    rows = _head("table", "shape", "budget", "picked", "seconds", "× forest", "target", "turns")
    cells = [(line, fit) for line in _by_length(tables)[0] for fit in FITS]
    cells.sort(key=lambda cell: -cell[0]["fits"]["ratio"]["forest"][cell[1]])
    for line, fit in cells:
        ratio = line["fits"]["ratio"]["forest"][fit]
        seconds = _seconds(line["fits"]["seconds"][fit])
        target = _verdict(ratio, FIT_TARGET)
        turns = line["fits"]["repeats"]
        rows.append(_row(*_named(line, fit), seconds, _times(ratio), target, turns))
    return "\n".join(rows)


def short_fits(tables: list[Line]) -> str:
    """The slowest fits of short tables."""
    rows = _head("shorter table", "shape", "budget", "picked", "seconds", "× forest", "target, s")
    cells = [(line, fit) for line in _by_length(tables)[1] for fit in FITS]
    cells.sort(key=lambda cell: -cell[0]["fits"]["seconds"][cell[1]] / _limit(cell[0]))
    missed = sum(line["fits"]["seconds"][fit] > _limit(line) for line, fit in cells)
    for line, fit in cells[: missed + SHOWN]:
        seconds, ratio = (line["fits"]["seconds"][fit], line["fits"]["ratio"]["forest"][fit])
        target = _verdict(seconds, _limit(line))
        rows.append(_row(*_named(line, fit), _seconds(seconds), _times(ratio), target))
    return "\n".join(rows)


def predictions(tables: list[Line]) -> str:
    """The slowest predictions beside the forest's."""
    rows = _head("prediction", "shape", "budget", "picked", "seconds", "× forest", "target")
    cells = sorted(
        ((line, fit) for line in tables for fit in FITS), key=lambda cell: -_asked(*cell)
    )
    missed = sum(_asked(*cell) > PREDICT_TARGET for cell in cells)
    for line, fit in cells[: missed + SHOWN]:
        ratio, seconds = _asked(line, fit), _seconds(line["predictions"]["seconds"][fit])
        target = _verdict(ratio, PREDICT_TARGET)
        rows.append(_row(*_named(line, fit), seconds, _times(ratio), target))
    return "\n".join(rows)


def importing(line: Line) -> str:
    """Importing the classifier."""
    rows = _head("`from dpforest import PrivateForestClassifier`, against", "seconds", "×")
    for name in ("forest", "base"):
        found = line[name]
        seconds = f"{found['seconds']['ours']:.2f} against {found['seconds']['theirs']:.2f}"
        target = f" {_verdict(found['ratio'], IMPORT_TARGET)}" if name == "forest" else ""
        rows.append(_row(f"`{found['statement']}`", seconds, f"{found['ratio']:.2f}{target}"))
    return "\n".join(rows)


def _by_length(tables: list[Line]) -> tuple[list[Line], list[Line]]:
    """Classification tables that are long, and all short ones."""
    long = [line for line in tables if line["shape"][0] >= LONG_TABLE]
    short = [line for line in tables if line["shape"][0] < LONG_TABLE]
    return [line for line in long if line["task"] == "classification"], short


def _limit(line: Line) -> float:
    return WIDE_SECONDS if line["table"] == WIDE_TABLE else SHORT_SECONDS


def _asked(line: Line, fit: str) -> float:
    return line["predictions"]["ratio"]["forest"][fit]


def _named(line: Line, fit: str) -> tuple[str, ...]:
    n, width = line["shape"]
    return line["table"], f"{n:,} × {width}", fit, line["picked"][fit]


def _head(*names: str) -> list[str]:
    return [_row(*names), "| --- " * len(names) + "|"]


def _row(*cells: Any) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _share(met: list[bool]) -> str:
    return f"{sum(met)} of {len(met)}"


def _verdict(value: float, target: float) -> str:
    return f"{target:g} " + ("met" if value <= target else "**missed**")


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"
