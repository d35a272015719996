"""Tables and plots of the attacks, from all their result lines."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from common.pages import place_of, rows_lost
from common.results import Line, finished, key_of

from attacks import membership, reconstruction
from attacks.binary import default_sets
from attacks.matching import p_value
from attacks.plots import likeliest, write_plots
from attacks.stored import stored

_HEAD = """# Results of the attacks

Written by `python benchmarks/attack.py report --docs docs` from the lines of

    {commands}

What they mean, and what was tried: [attacks.md](attacks.md). {versions}
"""

_RECONSTRUCTION = """
## Reconstruction

{n} records to reconstruct, {seeds} training tables a row, trees of depth 5. The attacker is given
the number of records. An error is the mean share of wrong features after the best matching of
records (labels do not count). "Most likely" is the table that annealing found, or CP-SAT where it
found a likelier one; "posterior" is one that was sampled by an attacker who knows the population.
*p*: how often fresh samples of the population are on average at least as near to the training
tables (rank test, 199 fresh samples a table). "Ahead of the truth": log-likelihood of the most
likely table less that of the true one; from 0 on a better solver would not help. CP-SAT had one
thread, and {limits} seconds of processor time (1 / 10 trees); its statuses are counted over the
tables. With {tests} tests, {chance} p-values of 0.01 or less are to be expected by chance.
"""

_MEMBERSHIP = """
## Membership inference

{targets} models a row, each attacked with the other {shadows} as shadows; {members} scores of
members and {others} of others at least. 95 % intervals resample attacked models. "Bound": what
(ε, δ) leaves to any attacker.
"""


def write_report(folder: Path, docs: Path | None) -> None:
    """Write ``attacks_results.md`` and the plots beside the lines, or into the documentation."""
    found = list(finished(stored(folder, "reconstruct").reported()).values())
    members = list(finished(stored(folder, "membership").reported()).values())
    target = docs or folder
    target.mkdir(parents=True, exist_ok=True)
    text = _HEAD.format(commands="\n    ".join(commands(found, members)), versions=versions())
    if found:
        text += reconstruction_text(found)
    if members:
        text += membership_text(members)
    page = target / "attacks_results.md"
    path = place_of(page, [*missing(found, members), *rows_lost(page, text)])
    path.write_text(text, encoding="utf-8")
    print(path)
    write_plots(found, members, path.parent)


def missing(found: list[Line], members: list[Line]) -> set[Any]:
    """Jobs of a whole page that have no line."""
    sets, epsilons = list(default_sets()), list(reconstruction.EPSILONS)
    jobs = [
        *reconstruction.jobs(sets, epsilons, reconstruction.SEEDS),
        *membership.jobs(list(membership.SETS), epsilons, 1),
    ]
    return {job.key for job in jobs} - {key_of(line) for line in [*found, *members]}


def commands(found: list[Line], members: list[Line]) -> list[str]:
    """What was run, as far as the lines tell."""
    lines = []
    for trees in (1, 10):
        own = [line for line in found if trees_of(line) == trees]
        if own:
            limit, seeds = _limit(found, trees), 1 + max(line["seed"] for line in own)
            options = f"--trees {trees} --seconds {limit:g} --seeds {seeds}"
            lines.append(f"python benchmarks/attack.py reconstruct {options}")
    return lines + ["python benchmarks/attack.py membership"] * bool(members)


def versions() -> str:
    """What ran, in words."""
    found = [f"CPython {platform.python_version()}"]
    for name in ("scikit-learn", "numpy", "ortools"):
        with suppress(PackageNotFoundError):  # membership inference needs no OR-Tools
            found.append(f"{name} {version(name)}")
    return ", ".join(found) + "."


def _limit(lines: list[Line], trees: int) -> float:
    return max((line["limit"] for line in lines if trees_of(line) == trees), default=0.0)


def trees_of(line: Line) -> int:
    """Number of trees; the default private forest, which picks for itself, counts as one."""
    return 10 if line["model"].endswith(", 10 trees") else 1


def groups_of(lines: Iterable[Line]) -> dict[tuple[str, float | None], list[Line]]:
    """Lines of each model and epsilon, in the order of their jobs."""
    groups: dict[tuple[str, float | None], list[Line]] = {}
    for line in lines:
        groups.setdefault((line["model"], line["epsilon"]), []).append(line)
    return dict(sorted(groups.items(), key=lambda item: (_order(item[0][0]), item[0][1] or 0.0)))


def _order(model: str) -> tuple[int, str]:
    places = ("scikit", "random", "Multinomial", "Private")
    place = next(k for k, start in enumerate(places) if model.startswith(start))
    return place, model.replace("1 tree", "01 tree")


def reconstruction_text(lines: list[Line]) -> str:
    """The section of one table a set."""
    sets = list(dict.fromkeys(line["dataset"] for line in lines))
    groups = {name: groups_of(line for line in lines if line["dataset"] == name) for name in sets}
    seeds = sorted({len(group) for rows in groups.values() for group in rows.values()})
    tests = 2 * sum(len(rows) for rows in groups.values())
    text = _RECONSTRUCTION.format(
        n=lines[0]["n"],
        seeds=" to ".join(map(str, sorted({seeds[0], seeds[-1]}))),
        limits=" / ".join(f"{_limit(lines, trees):g}" for trees in (1, 10)),
        tests=tests,
        chance=round(tests / 100),
    )
    for name, rows in groups.items():
        text += f"\n### {name}\n\n{_baselines(rows)}\n\n{_table(rows)}\n"
    return text


def _baselines(rows: dict[tuple[str, float | None], list[Line]]) -> str:
    by_seed = {line["seed"]: line for group in rows.values() for line in group}.values()
    fresh = np.array([line["fresh"] for line in by_seed])
    medoid = np.mean([line["medoid"] for line in by_seed])
    return (
        f"A fresh sample of the population: {fresh.mean():.3f} (deviation {fresh.std():.3f}). "
        f"The medoid for every record: {medoid:.3f}."
    )


_COLUMNS = (
    "forest", "ε", "accuracy", "status", "CPU s", "ahead of the truth", "most likely", "p",
    "rows exact", "posterior", "p", "rows exact",
)  # fmt: skip


def _table(rows: dict[tuple[str, float | None], list[Line]]) -> str:
    text = [" | ".join(_COLUMNS), " | ".join(["---", *["---:"] * (len(_COLUMNS) - 1)])]
    for (model, epsilon), group in rows.items():
        statuses = Counter(line["status"] for line in group)
        likely = [likeliest(line) for line in group]
        ahead = _mean(
            table["log_likelihood"] - line["log_likelihood"]
            for table, line in zip(likely, group, strict=True)
        )
        cells = [
            model,
            "none" if epsilon is None else f"{epsilon:g}",
            f"{_mean(line['accuracy'] for line in group):.3f}",
            ", ".join(f"{count} {name}" for name, count in statuses.items()),
            f"{_mean(line['solver_cpu_seconds'] for line in group):.1f}",
            f"{ahead:+.1f}",
        ]
        for tables in (likely, [line["sampled"] for line in group]):
            errors = np.array([table["error"] for table in tables])
            p = p_value(errors, [np.array(line["fresh"]) for line in group])
            exact = _mean(table["exact_rows"] for table in tables)
            cells += [f"{errors.mean():.3f}", f"{p:.2g}", f"{100 * exact:.0f} %"]
        text.append(" | ".join(cells))
    return "\n".join(f"| {row} |" for row in text)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


_RATES = (
    "set", "model", "ε", "learnt", "accuracy in / out", "AUC, online", "AUC, offline",
    "AUC bound", "TPR at 0.1 %, online", "TPR, offline", "TPR bound",
)  # fmt: skip


def membership_text(lines: list[Line]) -> str:
    """The section of one table."""
    text = _MEMBERSHIP.format(
        targets=lines[0]["targets"],
        shadows=lines[0]["shadows"],
        members=f"{min(line['members'] for line in lines):,}",
        others=f"{min(line['non_members'] for line in lines):,}",
    )
    rows = [" | ".join(_RATES), " | ".join(["---", "---", *["---:"] * (len(_RATES) - 2)])]
    for name in dict.fromkeys(line["dataset"] for line in lines):
        for group in groups_of(line for line in lines if line["dataset"] == name).values():
            rows += [" | ".join(_rates(line)) for line in group]
    return text + "\n" + "\n".join(f"| {row} |" for row in rows) + "\n"


def _rates(line: Line) -> list[str]:
    private = line["epsilon"] is not None
    return [
        line["dataset"],
        line["model"],
        f"{line['epsilon']:g}" if private else "none",
        line["strategy"],
        f"{line['train_accuracy']:.3f} / {line['test_accuracy']:.3f}",
        *(_interval(line[way], "auc", 1, 3) for way in ("online", "offline")),
        f"{line['auc_bound']:.3f}" if private else "1",
        *(_interval(line[way], "tpr", 100, 2) + " %" for way in ("online", "offline")),
        f"{100 * line['tpr_bound']:.3g} %" if private else "100 %",
    ]


def _interval(rates: Line, name: str, scale: float, digits: int) -> str:
    low, high = (f"{scale * end:.{digits}f}" for end in rates[f"{name}_interval"])
    return f"{scale * rates[name]:.{digits}f} ({low}-{high})"
