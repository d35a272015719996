"""Where a page may be written: a committed one is never overwritten by a part of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from common.sources import REPOSITORY

DOCS = REPOSITORY / "docs"
#: Where parts of pages go.
PARTS = REPOSITORY / "benchmarks" / "results" / "parts"


def place_of(
    page: Path,
    missing: Collection[Any],
    beside: Path = PARTS,
    docs: Path = DOCS,
    *,
    marked: bool = False,
) -> Path:
    """The page itself where nothing is missing; else one of its name in another folder.

    Parameters
    ----------
    page : Path
        What was asked for. Outside the documentation it is taken as it is.
    missing : collection
        What the whole page has and the lines at hand do not, of whatever kind.
    beside : Path
        Folder for a part, made if need be; not in the documentation.
    docs : Path
        The documentation.
    marked : bool
        Whether tables are put between marks of the page: then a part begins as a copy of it.
    """
    if not missing or not page.resolve().is_relative_to(docs.resolve()):
        return page
    beside.mkdir(parents=True, exist_ok=True)
    part = beside / page.name
    if marked:
        part.write_bytes(page.read_bytes())
    print(
        f"a part: {len(missing)} of the page's results are missing, so {page} stays as it is, and "
        f"{part} is written",
        file=sys.stderr,
    )
    return part


def between(text: str, marks: tuple[str, str], body: str) -> str:
    """A page's text with another body between its marks, which each stand there once."""
    begin, end = marks
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n\n{body}\n\n{end}{after}"


def rows_lost(page: Path, text: str) -> list[str]:
    """First cells of table rows that a page has and a new text of it has not as often.

    Parameters
    ----------
    page : Path
        The page as it stands; one that is not there has nothing to lose.
    text : str
        What would be written in its place.
    """
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    return list((_first_cells(old) - _first_cells(text)).elements())


def _first_cells(text: str) -> Counter[str]:
    rows = (line.split("|") for line in text.splitlines() if line.startswith("| "))
    return Counter(cells[1].strip() for cells in rows)
