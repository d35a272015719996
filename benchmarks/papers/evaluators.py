"""Which function runs a task, and what its line depends on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from common.results import Line
from common.sources import Sources, by_beginning

from papers.engine import Task


def evaluator(table: Any) -> Callable[[Task, Path], dict[str, Any]]:
    """The table's ``evaluate``; where ``MADE_BY`` is a dictionary, what it says of the method."""
    made_by = getattr(table, "MADE_BY", None)
    return partial(_evaluate, made_by) if isinstance(made_by, dict) else table.evaluate


def sources_by_method(table: Any) -> dict[str, Sources]:
    """What the lines of a table depend on, by the beginnings of methods' names."""
    made_by = getattr(table, "MADE_BY", f"{table.__name__}:evaluate")
    kinds = {"": made_by} if isinstance(made_by, str) else made_by
    return {beginning: Sources((root,)) for beginning, root in kinds.items()}


def sources_of(table: Any) -> Callable[[Line], Sources]:
    """What a line depends on, of a table or of those that share its file."""
    kinds = sources_by_method(table)
    return lambda line: by_beginning(kinds, line["method"])


def _evaluate(made_by: dict[str, str], task: Task, folder: Path) -> dict[str, Any]:
    root = next(root for name, root in made_by.items() if task.method.startswith(name))
    module, _, name = root.partition(":")
    return dict(getattr(import_module(module), name)(task, folder))
