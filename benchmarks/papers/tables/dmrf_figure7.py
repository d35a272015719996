"""DMRF, Figure 7 and Table 7: time of one ten-fold, beside what the formulas say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.engine import Task
from papers.markdown import header, number, table
from papers.plots import figure, save
from papers.problems import load, present
from papers.tables.dmrf_table3 import PROBLEMS as PROBLEMS_3
from papers.tables.dmrf_table3 import evaluate as accuracy
from papers.tables.dmrf_table4 import PROBLEMS as PROBLEMS_4
from papers.tables.dmrf_table4 import evaluate as error

NAME = "dmrf_figure7"
N_SPLITS = 10
METHODS = ("BreimanRF", "DMRF", "MRF(b)", "BRF(b)", "Denil14(b)")
_CLASSES = ("tic_tac_toe", "wine_quality_white", "connect_4")
_NUMBERS = ("alcohol_qcm", "solar_flare", "insurance_coil2000")
PROBLEMS = {row: PROBLEMS_3[row] for row in _CLASSES} | {row: PROBLEMS_4[row] for row in _NUMBERS}
#: What the text says of Figure 7: of a set, one forest takes longer than another.
CLAIMS = (
    *((row, "MRF(b)", other) for row in PROBLEMS for other in ("DMRF", "BRF(b)", "BreimanRF")),
    *((row, other, "BRF(b)") for row in PROBLEMS for other in ("DMRF",)),
    *((row, "DMRF", "BreimanRF") for row in PROBLEMS),
    *(("connect_4", "Denil14(b)", other) for other in ("DMRF", "BRF(b)", "BreimanRF")),
    *(("insurance_coil2000", other, "Denil14(b)") for other in ("DMRF", "BRF(b)", "BreimanRF")),
)
_P, _MEAN, _POINTS = 0.05, 10.0, 100.0


def tasks(folder: Path, repeats: int = 1) -> Iterator[Task]:
    """The folds of Tables 3 and 4."""
    for repeat in range(repeats):
        for row in present(folder, PROBLEMS):
            for method in METHODS:
                for fold in range(N_SPLITS):
                    yield Task(row, method, repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """The figure of Table 3 or 4; the line's seconds are what this is about."""
    found = (accuracy if task.dataset in _CLASSES else error)(task, folder)
    return {"figure": next(iter(found.values()))}


def complexity(method: str, n: int, d: int) -> float:
    """Table 7's formula but for M log n, which all forests have."""
    features = d**0.5
    cost = {
        "BreimanRF": features * n,
        "DMRF": features * n,
        "MRF(b)": d * n,
        "BRF(b)": (_P + (1 - _P) * features) * (1 - _P) * n,
        "Denil14(b)": min(1 + _MEAN, d) * _POINTS,
    }
    return float(cost[method])


def seconds(lines: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Processor seconds of a ten-fold: ten times the median fold, since the first one compiles."""
    found: dict[str, dict[str, float]] = {}
    for row in PROBLEMS:
        for method in METHODS:
            own = [x["seconds"] for x in lines if (x["dataset"], x["method"]) == (row, method)]
            if own:
                found.setdefault(row, {})[method] = N_SPLITS * float(np.median(own))
    return found


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page: seconds, ratios beside the formulas, and what the text says."""
    found = seconds(lines)
    sizes = {row: load(folder, PROBLEMS[row]).X.shape for row in found}
    return "\n\n".join(
        [
            header(
                "DMRF, Figure 7 and Table 7: running times",
                f"python benchmarks/papers {NAME}",
                "Processor seconds of one ten-fold, fitting and predicting, 100 trees, k = 5, "
                "one thread.",
            ),
            _ABOUT,
            f"![processor seconds by set and forest]({NAME}.png)",
            table(["set", "n", "D", *METHODS], [
                [row, *sizes[row], *(number(own.get(method)) for method in METHODS)]
                for row, own in found.items()
            ]),
            "## Beside Table 7",
            "Each cell: time over DMRF's as measured, and as Table 7's formula has it.",
            table(["set", *METHODS], [[row, *_ratios(own, *sizes[row])]
                                      for row, own in found.items()]),
            "## What the text says of Figure 7",
            _claims(found),
        ]
    )  # fmt: skip


def _ratios(own: dict[str, float], n: int, d: int) -> list[str]:
    base = complexity("DMRF", n, d)
    return [
        f"{own[m] / own['DMRF']:.2f} / {complexity(m, n, d) / base:.3g}"
        if m in own and "DMRF" in own else "–"
        for m in METHODS
    ]  # fmt: skip


def _claims(found: dict[str, dict[str, float]]) -> str:
    told: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for row, longer, other in CLAIMS:
        own = found.get(row, {})
        if longer in own and other in own:
            holds = own[longer] > own[other]
            told.setdefault((longer, other), []).append((row, holds))
    rows = [
        [f"{longer} takes longer than {other}", f"{sum(h for _, h in tried)} of {len(tried)}",
         ", ".join(row for row, holds in tried if not holds) or "–"]
        for (longer, other), tried in told.items()
    ]  # fmt: skip
    return table(["claim", "holds on", "not on"], rows, text_columns=3)


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """Bars a set."""
    found = seconds(lines)
    drawing, panels = figure(len(found))
    for axes, (row, own) in zip(panels, found.items(), strict=True):
        axes.bar(range(len(own)), list(own.values()))
        axes.set_xticks(range(len(own)), list(own), rotation=45, ha="right", fontsize="x-small")
        axes.set(title=row, ylabel="seconds")
    save(drawing, folder / f"{NAME}.png")


_ABOUT = """The paper prints bars without numbers, of another machine and program; here are ours, of
the folds of [Table 3](dmrf_table3.md) and [Table 4](dmrf_table4.md). Breiman's forest is
scikit-learn's. Forests of dpforest count values in cells and carry counts from a node to its
children where each node looks at every feature, as in MRF: Table 7 assumes neither. Its formulas
leave out what is drawn, sorted and predicted. Other work may have run beside, which processor
seconds suffer less from than a clock's."""
