"""Markdown of the remade tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], text_columns: int = 1) -> str:
    """A Markdown table; all but the first ``text_columns`` are aligned to the right."""
    rule = ["---"] * text_columns + ["---:"] * (len(columns) - text_columns)
    cells = [list(columns), rule, *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def number(value: float | None, digits: int = 2) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None or not np.isfinite(value) else f"{value:.{digits}f}"


def difference(ours: float | None, printed: float | None, digits: int = 2) -> str:
    """Ours less printed, with its sign."""
    if ours is None or printed is None:
        return "–"
    return f"{ours - printed:+.{digits}f}".replace("-", "−")


def triple(ours: float | None, printed: float | None, digits: int = 2) -> list[str]:
    """The cells printed, ours, difference."""
    return [
        number(printed, digits),
        number(ours, digits),
        difference(ours, printed, digits),
    ]


def versions() -> str:
    """Of what the figures depend on."""
    import sklearn

    import dpforest

    return (
        f"dpforest {dpforest.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, {os.cpu_count()} cores"
    )


def header(
    title: str, command: str, repeats: str, *, skipped: Mapping[str, str] | None = None
) -> str:
    """Title, the command that remakes the page, what ran, and what was left out and why."""
    parts = [
        f"# {title}",
        f"Remade by `{command}`; do not edit by hand. {repeats} {versions()}.",
    ]
    if skipped:
        parts.append("Left out: " + "; ".join(f"{k} ({v})" for k, v in skipped.items()) + ".")
    return "\n\n".join(parts) + "\n"


def why_left_out(is_here: bool) -> str:
    """Why a page has no row of a dataset."""
    return "not run yet" if is_here else "not in the data folder"


def time_text(lines: Iterable[Mapping[str, Any]], cores: int = 2) -> str:
    """Processor time of some lines, and what it comes to on so many cores."""
    seconds = sum(line["seconds"] for line in lines)
    return (
        f"{seconds / 60:.1f} minutes of processor time, {seconds / 60 / cores:.1f} on {cores} cores"
    )
