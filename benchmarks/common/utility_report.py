"""Markdown tables of the utility benchmark, made from result lines alone."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from common.records import part_of
from common.results import (
    Line,
    as_choice,
    best_of_grids,
    defaults_of,
    finished,
    stored_peers,
)
from common.tables import SMALL_SETS, Facts

OURS = ("dpforest", "multinomial")
#: What is held against other packages one by one.
MAIN = "dpforest auto"
REFERENCES = ("majority", "non-private forest")
TUNED = " (best of its grid)"
#: Other learners with results on tables of any number of classes, the strongest first.
STRONGEST = ("noisy additive model", "DP-SGD logistic regression")
#: What a mean difference on a table may be, accuracy and AUC, and still be no win.
EVEN = 0.003
#: What a difference of means may be, in standard errors, and still be a tie.
TIE = 2.0

#: Values of one metric by seed.
Values = dict[int, float]


@dataclass
class Report:
    """Everything the tables and plots are made from.

    Attributes
    ----------
    values : dict
        By (model, dataset, epsilon, metric) the values by seed; epsilon None for a model that
        is not private.
    """

    tables: dict[str, Facts]
    sets: list[str]
    epsilons: list[float]
    models: list[str]
    values: dict[tuple[str, str, float | None, str], Values] = field(default_factory=dict)

    def add(self, line: Line, model: str) -> None:
        """Take in one fit; a later one with the same seed is left out."""
        for metric in ("accuracy", "auc", "log_loss", "brier"):
            if line.get(metric) is not None:
                key = (model, line["dataset"], line["epsilon"], metric)
                self.values.setdefault(key, {}).setdefault(line["seed"], line[metric])

    def by_seed(self, model: str, dataset: str, epsilon: float | None, metric: str) -> Values:
        """Values by seed, empty where there are none."""
        at = None if model in REFERENCES else epsilon
        return self.values.get((model, dataset, at, metric), {})

    def mean(self, model: str, dataset: str, epsilon: float | None, metric: str) -> float:
        """Mean over the seeds, NaN where there are none."""
        values = self.by_seed(model, dataset, epsilon, metric)
        return float(np.mean(list(values.values()))) if values else math.nan

    def mean_of(self, model: str, sets: Iterable[str], epsilon: float, metric: str) -> float:
        """Mean over sets, NaN where one is missing."""
        means = [self.mean(model, name, epsilon, metric) for name in sets]
        return float(np.mean(means)) if means else math.nan

    @property
    def binary_sets(self) -> list[str]:
        """Sets of two classes."""
        return [name for name in self.sets if self.tables[name].n_classes == 2]

    def common_sets(self, models: Iterable[str], epsilon: float) -> list[str]:
        """Binary sets on which all the models have an accuracy."""
        models = list(models)
        return [
            name
            for name in self.binary_sets
            if all(self.by_seed(model, name, epsilon, "accuracy") for model in models)
        ]

    def only(self, *prefixes: str) -> list[str]:
        """Models whose names begin so."""
        return [model for model in self.models if model.startswith(prefixes)]

    @property
    def peers(self) -> list[str]:
        """Other packages' private models."""
        return [model for model in self.models if not model.startswith(OURS + REFERENCES)]


def gather(
    arguments: argparse.Namespace, tables: dict[str, Facts], names: list[str], lines: list[Line]
) -> Report:
    """Take in result lines: ours and the references', then other packages', stored ones first."""
    own = list(finished(lines).values())
    done = {line["dataset"] for line in own}
    sets = [name for name in arguments.sets or tables if name in done]
    report = Report(tables, sets, sorted(arguments.epsilons), [])
    for line in own:
        if line["model"] in names and line["model"].startswith(OURS + REFERENCES):
            report.add(line, line["model"])
    others = _others(own, sets, tables)
    for line in defaults_of(others):
        report.add(line, line["model"])
    for line in best_of_grids(others):
        report.add(line, line["model"] + TUNED)
    found = {model for model, *_ in report.values}
    order = [*names, *sorted(found - set(names))]
    report.models = [model for model in order if model in found]
    return report


def _others(own: list[Line], sets: list[str], tables: dict[str, Facts]) -> list[Line]:
    """Other packages' results on our splits."""
    splits = {(line["dataset"], line["seed"]): line["split"] for line in own}
    ran = [as_choice(line) for line in own if not line["model"].startswith(OURS + REFERENCES)]
    stored = [
        line
        for line in stored_peers(tables)
        if (own_split := splits.get((line["dataset"], line["seed"]))) is not None
        and line["split"] in (None, own_split)
    ]
    return [line for line in stored + ran if line["dataset"] in sets]


def write_report(
    arguments: argparse.Namespace, tables: dict[str, Facts], names: list[str], lines: list[Line]
) -> Report:
    """Write ``utility.md``."""
    report = gather(arguments, tables, names, lines)
    parts = [_head(report)]
    for model in report.only(*OURS):
        parts += [f"## {model}", "Accuracy (%) / AUC:", own_table(report, model, _skill)]
        parts += ["Log loss / Brier score:", own_table(report, model, _loss)]
    if report.only(MAIN) and set(STRONGEST) & set(report.models):
        parts += ["## Beside the strongest others", _strongest_words(), strongest_table(report)]
    parts += ["## Beside others", _beside_words(), beside_table(report)]
    if report.only(MAIN) and report.peers:
        parts += ["## Differences from other packages", _lead_words()]
    for model in report.only(MAIN):
        parts += [f"### {model}, less:", lead_table(report, model)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "utility.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(path)
    return report


def _head(report: Report) -> str:
    command = shlex.join(["python", "benchmarks/utility.py", *sys.argv[1:]])
    seeds: set[int] = set()
    for values in report.values.values():
        seeds |= set(values)
    return (
        "# Utility\n\nWritten by `benchmarks/utility.py`: stratified 75/25 splits that all models "
        f"share, up to {len(seeds)} of them; ε under add/remove; AUC is the mean of one class "
        "against the rest; the Brier score sums squares over the classes (half of that for two). "
        f"A name with `{part_of('')}` is that many records of a table, drawn once. "
        f"The command:\n\n    {command}"
    )


# -- cells ---------------------------------------------------------------------------------


def decimal(value: float, digits: int = 3) -> str:
    """A number without a leading nought; a dash where there is none."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def percent(value: float) -> str:
    """A share in per cent, with one decimal."""
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


Cell = Callable[[Callable[[str], float]], str]


def _skill(value: Callable[[str], float]) -> str:
    return f"{percent(value('accuracy'))} / {decimal(value('auc'))}"


def _loss(value: Callable[[str], float]) -> str:
    return f"{decimal(value('log_loss'))} / {decimal(value('brier'))}"


def markdown(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """A table; numbers to the right."""
    head = list(map(str, head))
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *(list(map(str, row)) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _epsilon_head(first: str, report: Report) -> list[str]:
    return [first, *(f"ε {epsilon:g}" for epsilon in report.epsilons)]


# -- tables --------------------------------------------------------------------------------


def own_table(report: Report, model: str, cell: Cell) -> str:
    """One row a set, then the means; one column an epsilon, then what is not private."""
    rows = []
    for title, sets in _rows_of(report):
        row = [title]
        for epsilon in report.epsilons:
            row.append(cell(_mean_getter(report, model, sets, epsilon)))
        rows.append([*row, *(cell(_mean_getter(report, r, sets, 0.0)) for r in REFERENCES)])
    return markdown([*_epsilon_head("set", report), *REFERENCES], rows)


def _rows_of(report: Report) -> list[tuple[str, list[str]]]:
    small = [name for name in SMALL_SETS if name in report.sets]
    rows = [(name, [name]) for name in report.sets]
    if len(report.binary_sets) > 1:
        rows.append((f"mean of {len(report.binary_sets)} binary sets", report.binary_sets))
    if len(small) > 1:
        rows.append((f"mean of {len(small)} of {len(SMALL_SETS)} small sets", small))
    return [*rows, (f"mean of all {len(report.sets)}", report.sets)]


def _mean_getter(
    report: Report, model: str, sets: list[str], epsilon: float
) -> Callable[[str], float]:
    return lambda metric: report.mean_of(model, sets, epsilon, metric)


def _beside_words() -> str:
    return (
        "Accuracy (%) / AUC, mean of the binary sets on which all models of the column have "
        "results. Other packages stand at their defaults (of two encodings the better); "
        '"best of its grid" is chosen on test labels at no cost: an optimistic bound. DP-EBM has '
        "δ = 1e-5."
    )


def beside_table(report: Report) -> str:
    """One row a model, over the sets all of them have."""
    rows = [["sets in the mean"]]
    rows += [[model] for model in report.models]
    for epsilon in report.epsilons:
        shown = [m for m in report.models if _has_any(report, m, epsilon)]
        sets = report.common_sets(shown, epsilon)
        rows[0].append(str(len(sets)))
        for row, model in zip(rows[1:], report.models, strict=True):
            row.append(_skill(_mean_getter(report, model, sets, epsilon)))
    return markdown(_epsilon_head("model", report), rows)


def _strongest_words() -> str:
    return (
        "Means over the sets, of any number of classes, that both have (their number after the "
        "name): accuracy (%) / AUC of ours and of theirs, δ = 1e-6 for theirs, then on how many "
        f"sets ours is ahead and behind by more than {100 * EVEN:g} points and by more than "
        f"{EVEN:g} AUC."
    )


def strongest_table(report: Report) -> str:
    """Ours beside additive and linear learners, over all sets that both have."""
    rows = []
    for model in report.only(MAIN):
        for peer in [peer for peer in STRONGEST if peer in report.models]:
            sets = [name for name in report.sets if _shared(report, model, peer, name)]
            cells = [_pair_cell(report, model, peer, sets, e) for e in report.epsilons]
            rows.append([model, f"{peer} ({len(sets)})", *cells])
    return markdown(["ours", *_epsilon_head("theirs", report)], rows)


def _shared(report: Report, model: str, peer: str, name: str) -> bool:
    """True if both have the set at every epsilon."""
    return all(
        report.by_seed(one, name, epsilon, "accuracy")
        for one in (model, peer)
        for epsilon in report.epsilons
    )


def _pair_cell(report: Report, model: str, peer: str, sets: list[str], epsilon: float) -> str:
    """Means of both, and sets won and lost."""
    means = [_skill(_mean_getter(report, one, sets, epsilon)) for one in (model, peer)]
    counts = []
    for metric in ("accuracy", "auc"):
        leads = np.array(
            [
                report.mean(model, name, epsilon, metric) - report.mean(peer, name, epsilon, metric)
                for name in sets
            ]
        )
        counts.append(f"{(leads > EVEN).sum()} : {(leads < -EVEN).sum()}")
    return f"{means[0]}, {means[1]}; {', '.join(counts)}"


def _has_any(report: Report, model: str, epsilon: float) -> bool:
    return any(report.by_seed(model, name, epsilon, "accuracy") for name in report.binary_sets)


def _lead_words() -> str:
    return (
        "Ours less theirs in accuracy (points) and AUC (thousandths), each ± one standard error "
        "over the splits, mean of the binary sets of which both have two splits and more (their "
        "number after the name). "
        f"Within {TIE:g} standard errors is a tie (=), else + or −."
    )


def lead_table(report: Report, model: str) -> str:
    """One row a model of other packages that shares binary sets with ours."""
    rows = []
    for peer in report.peers:
        sets = {name for e in report.epsilons for name in paired_sets(report, model, peer, e)}
        if sets:
            cells = [_lead_cell(report, model, peer, epsilon) for epsilon in report.epsilons]
            rows.append([f"{peer} ({len(sets)})", *cells])
    return markdown(_epsilon_head("model", report), rows)


def _lead_cell(report: Report, model: str, peer: str, epsilon: float) -> str:
    sets = paired_sets(report, model, peer, epsilon)
    parts = []
    for metric, scale in (("accuracy", 100), ("auc", 1000)):
        lead, error = lead_of(report, model, peer, sets, epsilon, metric)
        if math.isnan(lead):
            return "–"
        sign = "=" if abs(lead) <= TIE * error else "+" if lead > 0 else "−"
        parts.append(f"{sign} {scale * lead:.1f} ± {scale * error:.1f}")
    return " / ".join(parts)


def paired_sets(report: Report, model: str, peer: str, epsilon: float) -> list[str]:
    """Binary sets of which both have two splits at least: of one nothing tells its spread."""
    return [
        name
        for name in report.common_sets([model, peer], epsilon)
        if len(_differences(report, model, peer, name, epsilon, "accuracy")) > 1
    ]


def _differences(
    report: Report, model: str, peer: str, name: str, epsilon: float, metric: str
) -> list[float]:
    """Ours less theirs on each split that both have."""
    ours = report.by_seed(model, name, epsilon, metric)
    theirs = report.by_seed(peer, name, epsilon, metric)
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]


def lead_of(
    report: Report, model: str, peer: str, sets: list[str], epsilon: float, metric: str
) -> tuple[float, float]:
    """Mean difference over sets on shared splits, and its standard error over the splits."""
    if not sets:
        return math.nan, math.nan
    found = [_differences(report, model, peer, name, epsilon, metric) for name in sets]
    leads = [np.mean(differences) for differences in found]
    variances = [np.var(differences, ddof=1) / len(differences) for differences in found]
    return float(np.mean(leads)), float(np.sqrt(np.sum(variances)) / len(leads))


def series(report: Report, sets: list[str], metric: str) -> dict[str, list[float]]:
    """Of each model that has all the sets, the means over the epsilons, for the plots."""
    found = {}
    for model in report.models:
        means = [report.mean_of(model, sets, epsilon, metric) for epsilon in report.epsilons]
        if not all(map(math.isnan, means)):
            found[model] = means
    return found
