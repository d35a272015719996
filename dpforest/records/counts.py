"""Plain counts of records, which several learners ask: in all, of classes, of codes, of targets.

Held by tests/records/test_base.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import PlanError
from dpforest.domain.targets import TARGET_STEPS
from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.table import Table


@dataclass(frozen=True, slots=True)
class RecordCount:
    """Number of records, shape (1,)."""

    @property
    def sensitivity(self) -> Sensitivity:
        """A record adds 1. Tests: tests/records/test_base.py."""
        return Sensitivity(Fraction(1), Fraction(1))

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Number of a chunk's records."""
        return np.array([chunk.table.n_records], dtype=np.int64)


def in_units(table: Table, unit: int) -> Table:
    """A table whose records add what a query's sensitivity says; another is refused."""
    if table.unit != unit:
        raise PlanError(f"a record adds {table.unit} to counts that were priced for {unit}")
    return table


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Records of each class, shape (K,): a record adds 1 to one of them.

    With targets a record adds parts to both, ``unit`` in all.

    Attributes
    ----------
    unit : int
        1, or the steps of a regression's target.
    """

    unit: int = 1

    @property
    def sensitivity(self) -> Sensitivity:
        """L1 is u, the unit; L2 squared at most u squared.

        **Relation**: add or remove one record. **Proof**: it adds a and b to two counts, whole
        numbers that are not negative, a + b = u; so a^2 + b^2 <= u^2. **Tests**:
        tests/records/test_base.py.
        """
        return Sensitivity(Fraction(self.unit), Fraction(self.unit) ** 2)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Class counts of a chunk."""
        table = in_units(chunk.table, self.unit)
        if table.targets is not None:
            ones = int(table.targets.sum(dtype=np.int64))
            return np.array([self.unit * table.n_records - ones, ones], dtype=np.int64)
        return np.bincount(table.labels, minlength=table.n_classes).astype(np.int64)


@dataclass(frozen=True, slots=True)
class TargetSpans:
    """Records by span of their target, shape (n_spans,).

    Attributes
    ----------
    edges : tuple of int
        Ascending, in steps, from 0 to ``TARGET_STEPS``. A span holds its lower edge, and the last
        one its upper edge besides.
    """

    edges: tuple[int, ...]

    @classmethod
    def equal(cls, n_spans: int) -> Self:
        """Spans of one width, whose number divides ``TARGET_STEPS``."""
        return cls(tuple(range(0, TARGET_STEPS + 1, TARGET_STEPS // n_spans)))

    @property
    def sensitivity(self) -> Sensitivity:
        """A record adds 1 to one of the counts, since spans have no step in common.

        **Relation**: add or remove one record. **Tests**: tests/records/test_base.py.
        """
        return Sensitivity(Fraction(1), Fraction(1))

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Counts of a chunk, which has targets."""
        targets = chunk.table.targets
        assert targets is not None
        spans = np.searchsorted(np.array(self.edges[1:-1]), targets, side="right")
        return np.bincount(spans, minlength=len(self.edges) - 1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CodeCounts:
    """Records of each code of some features, one after the other; a record adds 1 to one each.

    Attributes
    ----------
    features : ndarray of int64
    """

    features: NDArray[np.int64]

    @property
    def sensitivity(self) -> Sensitivity:
        """L1, and L2 squared: the number of features.

        **Relation**: add or remove one record. **Proof**: it adds 1 to one cell of each histogram.
        **Tests**: tests/records/test_base.py.
        """
        size = Fraction(int(np.size(self.features)))
        return Sensitivity(size, size)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Code counts of a chunk."""
        from dpforest.records.kernels.histogram import add_code_counts

        sizes = np.asarray(chunk.table.n_codes, dtype=np.int64)[self.features]
        counts = np.zeros(int(sizes.sum()), dtype=np.int64)
        features = np.asarray(self.features, dtype=np.int64)
        add_code_counts(chunk.table.codes, features, np.cumsum(sizes) - sizes, counts)
        return counts
