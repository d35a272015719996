"""Numbered changes of a store's tables, forward only."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(?P<number>\d{4})_\w+\.(?P<dialect>sqlite|postgresql)\.sql")


@lru_cache
def migrations(dialect: str, folder: Path | None = None) -> tuple[str, ...]:
    """Texts of all migrations of a dialect, the first of which makes version 1.

    Parameters
    ----------
    dialect : str
        ``sqlite`` or ``postgresql``.
    folder : Path, optional
        Where they are, if they are not those of the package.
    """
    found: dict[int, str] = {}
    count = 0
    for path in (folder or _FOLDER).iterdir():
        match = _NAME.fullmatch(path.name)
        if match and match["dialect"] == dialect:
            found[int(match["number"])] = path.read_text(encoding="utf-8")
            count += 1
    assert sorted(found) == [*range(1, count + 1)], "a number is missing or there twice"
    return tuple(found[number] for number in sorted(found))
