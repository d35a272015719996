"""The page of regressions on large tables: worst rows first, then all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from common.pages import place_of
from common.results import Line

#: Tables that settings were read off.
SEEN = ("covertype", "hotel_bookings", "electricity")
EPSILONS = (0.1, 0.5, 1.0, 5.0)
LEARNERS = ("auto", "refitted", "boosted")
CURRENCIES = {"pure": 0.0, "delta=1e-6": 1e-6}
PEER = "histogram boosting"


def write_page(page: Path, lines: list[Line], missing: Collection[Any]) -> Path:
    """Write the page, or where lines are missing a part of it elsewhere; say where."""
    place = place_of(page, missing)
    place.write_text(text_of(lines), encoding="utf-8")
    return place


def means_of(lines: list[Line]) -> dict[tuple[str, str, float | None], float]:
    """Mean R² over the splits by table, model and epsilon."""
    found = defaultdict(list)
    for line in lines:
        found[line["dataset"], line["model"], line["epsilon"]].append(line["r2"])
    return {key: float(np.mean(values)) for key, values in found.items()}


def text_of(lines: list[Line]) -> str:
    """The page's text."""
    means = means_of(lines)
    parts = [HEAD, worst_rows(means)]
    for currency in CURRENCIES:
        parts.append(table_of(lines, means, currency))
    return "\n\n".join(parts) + "\n"


HEAD = f"""# Regressions on large tables

Written by

    python benchmarks/large_targets.py

R² of features of large tables as targets, told by the other features, against the mean of the
training targets. A quarter of the records is for testing; ε under add/remove, the number of records
declared in its first digit. Bounds of a target are those that the feature is declared with.
{PEER.capitalize()} is scikit-learn's at its defaults, without privacy. Settings of boosted
regressions were found on {", ".join(SEEN)}, at other ε and splits, and their limits on parts of
20,000 records of all of these ([tried](tried.md#regressions))."""


def worst_rows(means: dict[tuple[str, str, float | None], float]) -> str:
    """Where auto is behind a learner that was asked for by name."""
    rows = []
    for (name, model, epsilon), own in means.items():
        if model.startswith("auto"):
            for learner in LEARNERS[1:]:
                other = means.get((name, model.replace("auto", learner), epsilon), own)
                rows.append((own - other, name, model, epsilon, learner))
    rows.sort()
    lines = ["## Worst rows", "", "`auto` less another learner; one fit, and so partly chance:", ""]
    lines += [
        "| target | guarantee | ε | auto | less | R² |",
        "| --- | --- | ---: | ---: | --- | ---: |",
    ]
    for less, name, model, epsilon, learner in rows[:6]:
        own, currency = means[name, model, epsilon], model.partition(", ")[2]
        cells = [name, currency, f"{epsilon:g}", f"{own:.3f}", learner, f"{less:+.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table_of(
    lines: list[Line], means: dict[tuple[str, str, float | None], float], currency: str
) -> str:
    """R² of one currency, all learners beside each other."""
    sizes = {line["dataset"]: line["rows"] for line in lines}
    picked = {
        (x["dataset"], x["epsilon"]): x["picked"]
        for x in lines
        if x["model"] == f"auto, {currency}"
    }
    head = " | ".join(f"ε {epsilon:g}" for epsilon in EPSILONS)
    rows = [
        f"## {currency}, `auto` / refitted / boosted",
        "",
        f"| target | records | {head} | {PEER} |",
    ]
    rows.append("| --- | ---: |" + " --- |" * len(EPSILONS) + " ---: |")
    for name, n in sizes.items():
        cells = []
        for epsilon in EPSILONS:
            three = [
                means.get((name, f"{learner}, {currency}", epsilon), np.nan) for learner in LEARNERS
            ]
            took = picked.get((name, epsilon), "")
            cells.append(" / ".join(f"{value:.3f}" for value in three) + f" ({took})")
        best = means.get((name, PEER, None), np.nan)
        rows.append(f"| {name} | {n:,} | {' | '.join(cells)} | {best:.3f} |")
    every = [
        [np.nanmean([means.get((name, f"{learner}, {currency}", e), np.nan) for name in sizes])
         for learner in LEARNERS] for e in EPSILONS
    ]  # fmt: skip
    cells = [" / ".join(f"{value:.3f}" for value in three) for three in every]
    best = np.nanmean([means.get((name, PEER, None), np.nan) for name in sizes])
    rows.append(f"| mean of {len(sizes)} | | {' | '.join(cells)} | {best:.3f} |")
    return "\n".join(rows)
