"""What a row of a table is about: which file, which column to predict, how the target is read."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from papers.markdown import why_left_out
from papers.sets import PaperSet, read


@dataclass(frozen=True)
class Problem:
    """A row's dataset, where it is not simply a file with its own target.

    Attributes
    ----------
    file : str
        Name of the dataset's files.
    target : str
        Column to predict; the file's own target becomes a feature where it is another.
    task : {"classification", "regression"} or None
        The file's own if None.
    drop : tuple of str
        Columns that are left out.
    transform : str
        ``"log"`` or ``"log1p"`` of a target, or ``"is …"``: 1 for that class, else 0.
    note : str
        What had to be guessed, and what differs from the paper's copy.
    """

    file: str
    target: str = "target"
    task: str | None = None
    drop: tuple[str, ...] = ()
    transform: str = ""
    note: str = ""


_TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"log": np.log, "log1p": np.log1p}


@lru_cache(maxsize=4)
def load(folder: Path, problem: Problem) -> PaperSet:
    """Read a row's dataset."""
    data = read(folder, problem.file, target=problem.target, task=problem.task, drop=problem.drop)
    if problem.transform.startswith("is "):
        place = data.classes.index(problem.transform[3:])
        return replace(data, y=(data.y == place).astype(float), classes=())
    if problem.transform:
        return replace(data, y=_TRANSFORMS[problem.transform](data.y))
    return data


def present(folder: Path, problems: dict[str, Problem]) -> dict[str, Problem]:
    """The rows whose files are there."""
    return {
        row: problem
        for row, problem in problems.items()
        if (folder / f"{problem.file}.csv.gz").exists()
    }


def left_out(problems: dict[str, Problem], found: Container[str], folder: Path) -> dict[str, str]:
    """Rows without a result, and why."""
    here = present(folder, problems)
    return {row: why_left_out(row in here) for row in problems if row not in found}
