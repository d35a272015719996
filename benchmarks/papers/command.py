"""The command line: run what a table still lacks, write its Markdown and its plots."""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from common.pages import place_of
from common.results import Line, Store
from common.tables import REPOSITORY, data_folder

from papers.engine import Task, known, run, task_of
from papers.evaluators import evaluator, sources_of
from papers.reference import FILE, PAGES, Difference, differences, keep, kept, lost_sets
from papers.tables import TABLES

_RESULTS = REPOSITORY / "benchmarks" / "results" / "papers"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/papers",
        description="Remake one of the papers' tables or figures. What is done already is kept, "
        "so a stopped run goes on where it stopped.",
    )
    parser.add_argument("table", nargs="?", choices=[*TABLES], metavar="table", help="see --list")
    parser.add_argument("--list", action="store_true", help="list the tables")
    parser.add_argument(
        "--check", action="store_true", help="run two cells of every page, or of one, anew"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cells to check")
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
    """Remake the table that the command line names, or check all pages."""
    options = parse(arguments)
    if options.check:
        return check([options.table] if options.table else list(TABLES), options)
    if options.list or options.table is None:
        for name in TABLES:
            print(f"{name:24s} {_summary(import_module(TABLES[name]))}")
        return 0
    table = import_module(TABLES[options.table])
    path = options.results or _RESULTS / f"{getattr(table, 'RESULTS', options.table)}.jsonl"
    results = Store(path, sources_of(table))
    tasks = _chosen(_tasks(table, options), options)
    if not options.report:
        run(tasks, partial(evaluator(table), folder=options.data), results, options.jobs)
    asked = set(tasks)
    lines = [line for line in known(results.reported()) if task_of(line) in asked]
    if not lines:
        print("nothing to report: no dataset of this table is there, or nothing has run")
        return 1
    write(table, lines, options)
    return 0


def write(table: Any, lines: list[Line], options: argparse.Namespace, pages: Path = PAGES) -> None:
    """Write the Markdown, and the plots of a table that has a ``plot(lines, folder)``.

    Into the documentation only what is whole: every task of the table, and every set that the
    committed page has.
    """
    name, file = table.NAME, pages / FILE.name
    missing = set(table.tasks(options.data)) - set(map(task_of, lines))
    lost = lost_sets(name, options.data, _files(table), file)
    page = options.output or pages / f"{name}.md"
    output = place_of(page, [*missing, *lost], _RESULTS, pages)
    output.parent.mkdir(parents=True, exist_ok=True)
    if hasattr(table, "plot"):
        table.plot(lines, output.parent)
    text = table.report(lines, options.data).rstrip() + "\n"
    output.write_text(text, encoding="utf-8")
    if output == pages / f"{name}.md":
        keep(name, lines, text, file)
    print(f"wrote {output}")


def check(names: list[str], options: argparse.Namespace) -> int:
    """Run two cells of every page anew; 1 if one differs, or a page has none that could be run."""
    n_run = n_bad = n_none = 0
    for name in names:
        if name not in kept():
            n_none += 1
            print(f"{name:24s} of older code: no cells are kept")
            continue
        table = import_module(TABLES[name])
        found = list(differences(name, table, options.data, seed=options.seed))
        bad = [one for one in found if isinstance(one, Difference)]
        n_run, n_bad = n_run + len(found), n_bad + len(bad)
        print(f"{name:24s} {len(found) - len(bad)} of {len(found)} cells as on the page")
        for one in bad:
            print(f"  {', '.join(one.cell)}: kept {one.kept}, now {one.fresh}")
    print(f"{n_run} cells, {n_bad} differences, {n_none} pages without cells")
    return int(n_bad + n_none > 0 or n_run == 0)


def _files(table: Any) -> dict[str, str]:
    """Name of the files of a row's dataset, where it is another."""
    problems = getattr(table, "PROBLEMS", {})
    return {row: problem.file for row, problem in problems.items()}


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
