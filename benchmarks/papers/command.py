"""The command line: run what a table still lacks, write its Markdown and its plots."""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from common.results import Store
from common.sources import Sources
from common.tables import REPOSITORY, data_folder

from papers.engine import Task, known, run
from papers.tables import TABLES

_RESULTS = REPOSITORY / "benchmarks" / "results" / "papers"
_PAGES = REPOSITORY / "docs" / "papers"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/papers",
        description="Remake one of the papers' tables or figures. What is done already is kept, "
        "so a stopped run goes on where it stopped.",
    )
    parser.add_argument("table", nargs="?", choices=[*TABLES], metavar="table", help="see --list")
    parser.add_argument("--list", action="store_true", help="list the tables")
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of the datasets")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--repeats", type=int, help="repeats of the cross-validation")
    parser.add_argument("--sets", nargs="+", help="only these datasets")
    parser.add_argument("--methods", nargs="+", help="only these methods")
    parser.add_argument("--results", type=Path, help="file of result lines (JSON)")
    parser.add_argument("--output", type=Path, help="Markdown file to write")
    parser.add_argument("--report", action="store_true", help="run nothing, write what there is")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Remake the table that the command line names."""
    options = parse(arguments)
    if options.list or options.table is None:
        for name in TABLES:
            print(f"{name:24s} {_summary(import_module(TABLES[name]))}")
        return 0
    table = import_module(TABLES[options.table])
    path = options.results or _RESULTS / f"{getattr(table, 'RESULTS', options.table)}.jsonl"
    results = Store(path, sources_of(table))
    output = options.output or _PAGES / f"{options.table}.md"
    tasks = _chosen(_tasks(table, options), options)
    if not options.report:
        run(tasks, partial(table.evaluate, folder=options.data), results, options.jobs)
    lines = known(results.reported())
    if not lines:
        print("nothing to report: no dataset of this table is there, or nothing has run")
        return 1
    write(table, lines, output)
    return 0


def sources_of(table: Any) -> Sources:
    """What the lines of a table depend on, and of those that share its file."""
    return Sources((getattr(table, "MADE_BY", f"{table.__name__}:evaluate"),))


def write(table: Any, lines: list[dict[str, Any]], output: Path) -> None:
    """Write the Markdown, and the plots of a table that has a ``plot(lines, folder)``."""
    output.parent.mkdir(parents=True, exist_ok=True)
    if hasattr(table, "plot"):
        table.plot(lines, output.parent)
    output.write_text(table.report(lines).rstrip() + "\n", encoding="utf-8")
    print(f"wrote {output}")


def _tasks(table: Any, options: argparse.Namespace) -> list[Task]:
    if options.repeats is None:
        return list(table.tasks(options.data))
    return list(table.tasks(options.data, options.repeats))


def _chosen(tasks: list[Task], options: argparse.Namespace) -> list[Task]:
    return [
        task
        for task in tasks
        if (not options.sets or task.dataset in options.sets)
        and (not options.methods or task.method in options.methods)
    ]


def _summary(table: Any) -> str:
    return (table.__doc__ or "").strip().splitlines()[0]
