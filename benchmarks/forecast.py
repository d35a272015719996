"""Ranges that forecasts promise, against what fits then gain: found on some tables, held on others.

Each fit is of a table, an epsilon, a delta and a split. What it gains is accuracy less the share
of the most frequent class among the test records, or R² of the test records. Parts: fits of
``strategy="auto"``; the same of labels and targets that are dealt anew, so that there is nothing to
learn; fits of so small a budget that a constant is all they release; and of every
strategy by name, of which nothing is found. Then ``docs/forecast_results.md`` is written, where
the library's constants are those found from the lines; else they are printed.

    python benchmarks/forecast.py                       # everything not yet done
    python benchmarks/forecast.py --sets concrete car --parts auto

One JSON line a fit is appended to ``--results``; what is there is skipped. Tables that ranges are
found on come from ``--data`` or ``DPFOREST_DATA``, those that confirm them from
``--confirmation``, where ``package_tables.py`` puts them; long ones as their part of 50,000
records.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from common.forecast_fits import (
    DELTAS,
    SHUFFLED,
    SOURCES,
    Job,
    forest_of,
    measured,
)
from common.forecast_fitting import ends_of
from common.forecast_report import of_library, report
from common.forecast_rows import CONFIRMATION, CONSTANT_EPSILON, FINDING, Folders, rows_of
from common.one_page import parser_of, remake
from common.results import Key, Line, Store, finished
from common.tables import REPOSITORY

import dpforest
from dpforest.trees.strategies import ASKED

PAGE = REPOSITORY / "docs" / "forecast_results.md"
RESULTS = REPOSITORY / "benchmarks" / "results" / "forecast.jsonl"
TABLES = REPOSITORY / "build" / "tables"
#: Splits of the page, and those of tables that confirm, of which there are many.
SEEDS, SEEDS_OF_CONFIRMATION = 2, 1


@dataclass(frozen=True)
class Part:
    """Fits that are made alike."""

    strategies: tuple[str, ...]
    epsilons: tuple[float, ...]
    tasks: tuple[str, ...] = ("classification", "regression")
    most_seeds: int = SEEDS
    ending: str = ""
    confirms: bool = False


EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
PARTS = {
    "auto": Part(("auto",), EPSILONS, confirms=True),
    "shuffled": Part(("auto",), EPSILONS, most_seeds=1, ending=SHUFFLED, confirms=True),
    "constants": Part(("auto",), (CONSTANT_EPSILON,), ("classification",)),
    "named": Part(tuple(ASKED), (0.5, 2.0), most_seeds=1),
}


def jobs_of(asked: argparse.Namespace) -> Iterator[Job]:
    """All fits asked for; those of one table and split follow each other."""
    for part, use in product((PARTS[name] for name in asked.parts), (FINDING, CONFIRMATION)):
        if use == FINDING or part.confirms:
            yield from _jobs_of(part, use, asked)


def _jobs_of(part: Part, use: str, asked: argparse.Namespace) -> Iterator[Job]:
    tasks = folders_of(asked).tasks(use)
    names = [name for name in tasks if tasks[name] in part.tasks and name in (asked.sets or tasks)]
    most = part.most_seeds if use == FINDING else SEEDS_OF_CONFIRMATION
    for seed, name in product(range(min(asked.seeds, most)), names):
        for model, epsilon in product(models_of(part), part.epsilons):
            yield Job(name, tasks[name], model, epsilon, seed)


def folders_of(asked: argparse.Namespace) -> Folders:
    """Where tables lie."""
    return Folders(asked.data, asked.confirmation)


def models_of(part: Part) -> list[str]:
    """Strategies without and with a delta."""
    names = product(part.strategies, DELTAS)
    return [f"{strategy}, {delta}{part.ending}" for strategy, delta in names]


def run(asked: argparse.Namespace, file: Store, make: Callable[[Job], Any] = forest_of) -> None:
    """What is not there yet."""
    done, folders = finished(file.lines()), folders_of(asked)
    for job in jobs_of(asked):
        if job.key not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", dpforest.PrivacyLeakWarning)
                line = {**vars(job), **measured(job, make(job), folders.of(job.dataset))}
            file.append(line)
            print(*job.key, round(line["gain"], 3), file=sys.stderr, flush=True)


def page(lines: list[Line], asked: argparse.Namespace) -> str:
    """The page, where the library has the constants that these lines lead to.

    Raises
    ------
    SystemExit
        If it has others.
    """
    rows = rows_of(list(finished(lines).values()), folders_of(asked))
    known = (row for row in rows if row.use == FINDING)
    found = ends_of([row for row in known if row.is_auto or row.is_shuffled])
    if found != of_library() and not missing(lines, asked):
        raise SystemExit(f"the library's constants should be {found}")
    return report(rows, "python benchmarks/forecast.py")


def check_folders(folders: Folders) -> None:
    """Refuse folders without tables.

    Raises
    ------
    SystemExit
    """
    if not folders.tasks(FINDING):
        raise SystemExit(f"no tables in {folders.finding}: give --data or DPFOREST_DATA")
    if not folders.tasks(CONFIRMATION):
        made = f"python benchmarks/package_tables.py {folders.confirmation}"
        raise SystemExit(f"no tables in {folders.confirmation}: `{made}` makes them")


def missing(lines: list[Line], asked: argparse.Namespace) -> Collection[Key]:
    """Fits that the page has and these lines do not."""
    page = {"parts": list(PARTS), "sets": [], "seeds": SEEDS}
    whole = argparse.Namespace(**{**vars(asked), **page})
    return {job.key for job in jobs_of(whole)} - finished(lines).keys()


def main() -> None:
    """Run, then write the page."""
    parser = parser_of(__doc__, RESULTS, SEEDS)
    parser.add_argument("--sets", nargs="*", default=[], help="names of tables; default all")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--confirmation", type=Path, default=TABLES, help="folder of tables")
    asked = parser.parse_args()
    check_folders(folders_of(asked))
    remake(
        PAGE, asked, Store(asked.results, SOURCES), run,
        lambda lines: missing(lines, asked), lambda lines: page(lines, asked),
    )  # fmt: skip


if __name__ == "__main__":
    main()
