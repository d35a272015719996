"""A benchmark of one file of lines and one page: its arguments, its run, and what is written."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from common.pages import place_of
from common.results import Line, Store
from common.tables import data_folder


def parser_of(words: str | None, results: Path, seeds: int) -> argparse.ArgumentParser:
    """The arguments that such benchmarks share; unasked they make the page that is committed."""
    parser = argparse.ArgumentParser(description=(words or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--results", type=Path, default=results, help="file of result lines")
    return parser


def remake(
    page: Path,
    asked: argparse.Namespace,
    file: Store,
    run: Callable[[argparse.Namespace, Store], None],
    missing: Callable[[list[Line]], Collection[Any]],
    report: Callable[[list[Line]], str],
) -> None:
    """Run what is not there yet, in one thread, then write the page; a part goes elsewhere.

    Parameters
    ----------
    page : Path
        In the documentation.
    asked : Namespace
        For ``run``.
    file : Store
        Where lines are, and come to.
    run : callable
        Makes the lines that the file lacks.
    missing : callable
        What the whole page has and given lines do not.
    report : callable
        The page's text, of the lines.
    """
    with threadpool_limits(1):
        run(asked, file)
    lines = file.reported()
    place_of(page, missing(lines)).write_text(report(lines), encoding="utf-8")
