"""First choice: which records a tree sees, and for what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.rows import mark_so_many

#: Structure points, and estimation points or None where they are the same records.
Drawn = tuple[NDArray[np.int32], NDArray[np.int32] | None]


class RecordRule(Protocol):
    """Draws the records of one tree."""

    def draw(self, n_records: int, generator: np.random.Generator) -> Drawn:
        """Structure points, and estimation points or None where they are the same records."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Structure points and estimation points, halves of fixed sizes, drawn anew for each tree.

    MRF 2019, section 3.1: ``rate`` is structure points over estimation points. A share that is
    no whole number is rounded up, but one estimation point is always left.
    """

    rate: float = 1.0

    def draw(self, n_records: int, generator: np.random.Generator) -> Drawn:
        """See :class:`RecordRule`."""
        n_structure = min(math.ceil(n_records * (self.rate / (1 + self.rate))), n_records - 1)
        is_structure = np.empty(n_records, dtype=np.bool_)
        mark_so_many(generator.random(n_records), n_structure, is_structure)
        structure, estimation = np.flatnonzero(is_structure), np.flatnonzero(~is_structure)
        return structure.astype(np.int32), estimation.astype(np.int32)


@dataclass(frozen=True, slots=True)
class BernoulliInclusion:
    """Each record enters with a probability of its own; the same records serve for both.

    DMRF, section "Training sample sampling": drawn again where no record entered.
    """

    probability: float = 1 - 1 / math.e

    def draw(self, n_records: int, generator: np.random.Generator) -> Drawn:
        """See :class:`RecordRule`."""
        while True:
            inside = np.flatnonzero(generator.random(n_records) < self.probability)
            if inside.size:
                return inside.astype(np.int32), None


@dataclass(frozen=True, slots=True)
class Everyone:
    """All records, for both."""

    def draw(self, n_records: int, generator: np.random.Generator) -> Drawn:
        """See :class:`RecordRule`."""
        return np.arange(n_records, dtype=np.int32), None


@dataclass(frozen=True, slots=True)
class GivenPartition:
    """The same given structure and estimation points for every tree; for experiments."""

    structure: tuple[int, ...]
    estimation: tuple[int, ...]

    def draw(self, n_records: int, generator: np.random.Generator) -> Drawn:
        """See :class:`RecordRule`."""
        return np.array(self.structure, np.int32), np.array(self.estimation, np.int32)
