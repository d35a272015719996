"""Public tables with declared classes, and the one split that all models share.

Tables lie, as `common.records` says, in a folder that the command line or ``DPFOREST_DATA`` names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from common.records import (
    PART_ROWS,
    TEST_SHARE,
    Records,
    Split,
    facts_of_tables,
    part_of,
    positions_domain,
    read_records,
)

REPOSITORY = Path(__file__).resolve().parents[2]
#: The small sets over which the plans for small budgets are judged.
SMALL_SETS = (
    "wdbc", "mammographic_masses", "heart_statlog", "australian", "breast_original",
    "diabetes_pima", "ionosphere", "iris", "wine", "house_votes", "vertebral", "transfusion",
    "car", "cmc", "tic_tac_toe", "zoo", "hayes_roth",
)  # fmt: skip


def data_folder() -> Path:
    """Folder of the tables: ``DPFOREST_DATA``, or ``../shared/data`` beside the repository."""
    return Path(os.environ.get("DPFOREST_DATA", REPOSITORY.parent / "shared" / "data"))


@dataclass(frozen=True)
class Facts:
    """What a table's metadata say, read without its records."""

    name: str
    n_rows: int
    n_classes: int

    @property
    def is_long(self) -> bool:
        """Whether a part of the table is a table of its own."""
        return self.n_rows > PART_ROWS


def classification_tables(folder: Path) -> dict[str, Facts]:
    """The classification tables of a folder by name, short ones first; parts of long ones too."""
    whole = [
        Facts(name, facts["n_rows"], len(facts["classes"]))
        for name, facts in facts_of_tables(folder, "classification")
    ]
    parts = [Facts(part_of(f.name), PART_ROWS, f.n_classes) for f in whole if f.is_long]
    return {facts.name: facts for facts in sorted(whole + parts, key=lambda f: (f.n_rows, f.name))}


class Table(Records):
    """Records of a table whose ``y`` are positions of the declared classes, of int64."""

    @property
    def n_classes(self) -> int:
        """Number of declared classes."""
        return len(self.domain.classes.labels)


@lru_cache(maxsize=1)
def load_table(folder: Path, name: str) -> Table:
    """Read one table, or a long one's part."""
    facts, X, targets = read_records(folder, name)
    places = {str(label): place for place, label in enumerate(facts["classes"])}
    labels = np.array([places[text.strip()] for text in targets])
    return Table(name, X, labels, positions_domain(facts))


def stratified_split(table: Table, seed: int) -> Split:
    """A quarter of every class for testing.

    Drawn from numpy's legacy generator class after class, which never changes between releases
    and is how the stored results of other packages were split.
    """
    generator = np.random.RandomState(seed)
    is_test = np.zeros(table.y.size, dtype=bool)
    for label in range(table.n_classes):
        members = np.flatnonzero(table.y == label)
        generator.shuffle(members)
        is_test[members[: round(TEST_SHARE * members.size)]] = True
    train = np.flatnonzero(~is_test)
    generator.shuffle(train)
    return Split(train, np.flatnonzero(is_test))
