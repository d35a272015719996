"""The result lines of the attacks."""

from __future__ import annotations

from pathlib import Path

from common.results import Store
from common.sources import Sources

MADE_BY = {
    "reconstruct": Sources(("attacks.reconstruction:run",), packages=("scikit-learn", "ortools")),
    "membership": Sources(("attacks.membership:run",), packages=("scikit-learn",)),
}


def stored(folder: Path, attack: str) -> Store:
    """The lines of one kind of attack."""
    return Store(folder / f"{attack}.jsonl", MADE_BY[attack])
