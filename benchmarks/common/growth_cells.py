"""Lines of `curves.py` as curves: means of a cell's fits, along epsilon or along rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from common import law
from common.results import Line

#: The epsilon at which rows grow.
EPSILON = 1.0
#: Strategies that are run by their names too.
NAMED = ("boosted", "refitted", "one_shot")
METRICS = ("accuracy", "auc")


@dataclass(frozen=True)
class Cell:
    """Means over the fits of one model at one epsilon and number of rows."""

    accuracy: float
    auc: float
    fits: int
    cpu_seconds: float
    strategy: str
    size: str


@dataclass(frozen=True)
class Fall:
    """A step along a curve, or from auto to another learner, by which a figure is lower."""

    dataset: str
    model: str
    where: str
    accuracy: float
    auc: float
    words: str


Curve = dict[float, Cell]
#: By (dataset, model).
Curves = dict[tuple[str, str], Curve]


def with_picked(lines: list[Line]) -> list[Line]:
    """The lines, those of auto also under the name of the learner that it picked."""
    found = list(lines)
    for line in lines:
        name, _, guarantee = line["model"].partition(", ")
        if name == "auto" and line["strategy"] in NAMED:
            found.append({**line, "model": f"{line['strategy']}, {guarantee}"})
    return found


def along(lines: list[Line], what: str) -> Curves:
    """Curves over epsilon, all rows, or over rows at `EPSILON`.

    A model that is not private has one cell over epsilon, at 0.
    """
    most: dict[str, int] = defaultdict(int)
    for line in lines:
        most[line["dataset"]] = max(most[line["dataset"]], line["rows"])
    found: dict[tuple[str, str], dict[float, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        key, epsilon = (line["dataset"], line["model"]), line["epsilon"]
        if what == "rows" and epsilon in (None, EPSILON):
            found[key][line["rows"]].append(line)
        is_whole = line["rows"] == most[line["dataset"]] and line["dataset"] != law.NAME
        if what == "epsilon" and is_whole:
            found[key][epsilon or 0.0].append(line)
    return {key: {x: _cell(own[x]) for x in sorted(own)} for key, own in found.items()}


def _cell(lines: list[Line]) -> Cell:
    accuracy, auc, cpu = (
        float(np.mean([line[name] for line in lines])) for name in (*METRICS, "cpu_seconds")
    )
    strategies = ", ".join(dict.fromkeys(line.get("strategy", "") for line in lines))
    return Cell(accuracy, auc, len(lines), cpu, strategies, lines[0].get("size", ""))


def falls(curves: Curves, what: str) -> list[Fall]:
    """Steps of auto along which accuracy or area is lower than before, the worst first."""
    found = []
    for (dataset, model), curve in curves.items():
        places = sorted(curve) if model.startswith("auto") else []
        for low, high in zip(places, places[1:], strict=False):
            before, after = curve[low], curve[high]
            words = " → ".join(dict.fromkeys((before.strategy, after.strategy)))
            where = f"{shown(low, what)} → {shown(high, what)}"
            found.append(_fall(dataset, model, where, before, after, words))
    return _worst(found)


def last_steps(curves: Curves, what: str) -> list[Fall]:
    """Of each curve of auto what its last step brings, the least first."""
    found = []
    for (dataset, model), curve in curves.items():
        if model.startswith("auto") and len(curve) > 1:
            low, high = sorted(curve)[-2:]
            where = f"{shown(low, what)} → {shown(high, what)}"
            words = f"{curve[high].strategy} {curve[high].size}".strip()
            found.append(_fall(dataset, model, where, curve[low], curve[high], words))
    return sorted(found, key=lambda one: one.accuracy)


def behind(curves: Curves, what: str) -> list[Fall]:
    """Cells where another learner that keeps the promise has more than auto, the worst first."""
    found = []
    for (dataset, model), curve in curves.items():
        if not model.startswith("auto"):
            continue
        for place, cell in curve.items():
            others = _others(curves, dataset, model, place)
            if others:
                name, best = max(others.items(), key=lambda pair: pair[1].accuracy)
                words = f"{name}, not {cell.strategy}"
                found.append(_fall(dataset, model, shown(place, what), best, cell, words))
    return _worst(found)


def _others(curves: Curves, dataset: str, model: str, place: float) -> dict[str, Cell]:
    """Other private learners; with a delta those without one too, which promise more."""
    guarantees = {model.split(", ")[1], "pure"}
    return {
        name: curve[place]
        for (table, name), curve in curves.items()
        if table == dataset and name != model and name.split(", ")[-1] in guarantees
        if place in curve
    }


def _fall(dataset: str, model: str, where: str, before: Cell, after: Cell, words: str) -> Fall:
    accuracy, auc = after.accuracy - before.accuracy, after.auc - before.auc
    return Fall(dataset, model, where, accuracy, auc, words)


def _worst(found: list[Fall]) -> list[Fall]:
    return sorted((one for one in found if one.accuracy < 0), key=lambda one: one.accuracy)


def shown(place: float, what: str) -> str:
    """An epsilon or a number of rows."""
    return f"ε {place:g}" if what == "epsilon" else f"{place:,.0f} rows"
