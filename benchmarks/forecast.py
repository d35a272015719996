"""Ranges that forecasts promise, against what fits then gain: found on one half of the tables.

Each fit is of a table, an epsilon, a delta and a split. What it gains is accuracy less the share
of the most frequent class among the test records, or R² of the test records. Parts: fits of
``strategy="auto"``; the same of labels and targets that are dealt anew, so that there is nothing to
learn; fits of so small a budget that a constant is all they release; and of every
strategy by name, of which nothing is found. Then ``docs/forecast_results.md`` is written, where
the library's constants are those found from the lines; else they are printed.

    python benchmarks/forecast.py                       # everything not yet done
    python benchmarks/forecast.py --sets concrete car --parts auto

One JSON line a fit is appended to ``--results``; what is there is skipped. Tables come from
``--data`` or ``DPFOREST_DATA``, long ones as their part of 50,000 records.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from common.forecast_fits import (
    DELTAS,
    SHUFFLED,
    SOURCES,
    Job,
    forest_of,
    measured,
    tables_of,
)
from common.forecast_fitting import ends_of
from common.forecast_report import of_library, report
from common.forecast_rows import CONSTANT_EPSILON, HALVES, rows_of
from common.one_page import parser_of, remake
from common.results import Key, Line, Store, finished
from common.tables import REPOSITORY

import dpforest
from dpforest.trees.strategies import STRATEGIES

PAGE = REPOSITORY / "docs" / "forecast_results.md"
RESULTS = REPOSITORY / "benchmarks" / "results" / "forecast.jsonl"
#: Splits of the page.
SEEDS = 2


@dataclass(frozen=True)
class Part:
    """Fits that are made alike."""

    strategies: tuple[str, ...]
    epsilons: tuple[float, ...]
    tasks: tuple[str, ...] = ("classification", "regression")
    most_seeds: int = SEEDS
    ending: str = ""


PARTS = {
    "auto": Part(("auto",), (0.1, 0.5, 1.0, 2.0, 5.0)),
    "shuffled": Part(("auto",), (0.1, 0.5, 1.0, 2.0, 5.0), most_seeds=1, ending=SHUFFLED),
    "constants": Part(("auto",), (CONSTANT_EPSILON,), ("classification",)),
    "named": Part(tuple(STRATEGIES), (0.5, 2.0), most_seeds=1),
}


def jobs_of(asked: argparse.Namespace) -> Iterator[Job]:
    """All fits asked for; those of one table and split follow each other."""
    tasks = tables_of(asked.data)
    for part in (PARTS[name] for name in asked.parts):
        names = [name for name in asked.sets or tasks if tasks[name] in part.tasks]
        for seed, name in product(range(min(asked.seeds, part.most_seeds)), names):
            for model, epsilon in product(models_of(part), part.epsilons):
                yield Job(name, tasks[name], model, epsilon, seed)


def models_of(part: Part) -> list[str]:
    """Strategies without and with a delta."""
    names = product(part.strategies, DELTAS)
    return [f"{strategy}, {delta}{part.ending}" for strategy, delta in names]


def run(asked: argparse.Namespace, file: Store, make: Callable[[Job], Any] = forest_of) -> None:
    """What is not there yet."""
    done = finished(file.lines())
    for job in jobs_of(asked):
        if job.key not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", dpforest.PrivacyLeakWarning)
                line = {**vars(job), **measured(job, make(job), asked.data)}
            file.append(line)
            print(*job.key, round(line["gain"], 3), file=sys.stderr, flush=True)


def page(lines: list[Line], asked: argparse.Namespace) -> str:
    """The page, where the library has the constants that these lines lead to.

    Raises
    ------
    SystemExit
        If it has others.
    """
    rows = rows_of(list(finished(lines).values()), asked.data)
    known = (row for row in rows if row.half == HALVES[0])
    found = ends_of([row for row in known if row.is_auto or row.is_shuffled])
    if found != of_library() and not missing(lines, asked):
        raise SystemExit(f"the library's constants should be {found}")
    return report(rows, "python benchmarks/forecast.py")


def missing(lines: list[Line], asked: argparse.Namespace) -> Collection[Key]:
    """Fits that the page has and these lines do not."""
    whole = argparse.Namespace(data=asked.data, parts=list(PARTS), sets=[], seeds=SEEDS)
    return {job.key for job in jobs_of(whole)} - finished(lines).keys()


def main() -> None:
    """Run, then write the page."""
    parser = parser_of(__doc__, RESULTS, SEEDS)
    parser.add_argument("--sets", nargs="*", default=[], help="names of tables; default all")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    asked = parser.parse_args()
    if not tables_of(asked.data):
        raise SystemExit(f"no tables in {asked.data}: give --data or DPFOREST_DATA")
    remake(
        PAGE, asked, Store(asked.results, SOURCES), run,
        lambda lines: missing(lines, asked), lambda lines: page(lines, asked),
    )  # fmt: skip


if __name__ == "__main__":
    main()
