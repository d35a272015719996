"""Public regression tables with declared target bounds, and one split for all models."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from common.records import (
    TEST_SHARE,
    Records,
    Split,
    facts_of_tables,
    positions_domain,
    read_records,
)


class RegressionTable(Records):
    """Records of a table whose ``y`` are targets, of float64."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The declared bounds of the target."""
        return float(self.domain.target.lower), float(self.domain.target.upper)


def regression_tables(folder: Path) -> dict[str, int]:
    """Rows of the regression tables of a folder by name, short ones first."""
    found = {name: int(facts["n_rows"]) for name, facts in facts_of_tables(folder, "regression")}
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


@lru_cache(maxsize=1)
def load_regression_table(folder: Path, name: str) -> RegressionTable:
    """Read one table; records without a target are left out."""
    facts, X, targets = read_records(folder, name)
    y = np.array([float(text or "nan") for text in targets])
    known = np.isfinite(y)
    return RegressionTable(name, X[known], y[known], positions_domain(facts))


def random_split(table: RegressionTable, seed: int) -> Split:
    """A quarter of the records for testing."""
    order = np.random.RandomState(seed).permutation(table.y.size)
    n_test = round(TEST_SHARE * table.y.size)
    return Split(order[n_test:], np.sort(order[:n_test]))
