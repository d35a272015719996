"""The middle of a regression's targets, where the budget is too small for their mean.

Noise on a mean is in units of the targets' bounds, and targets often spread over a small part of
those. A median is drawn by ranks, so what it is off by goes by the targets' own spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.grants import Grant
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.selection import select_exponential
from dpforest.records.base import Block, Records

#: Candidates: the middles of so many cells of equal width between the bounds.
N_MIDDLES = 256
#: Value of one step of a score, half of what is more on one side of a candidate.
SCORE_UNIT = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class MiddleCells:
    """Records by cell of their target, shape (N_MIDDLES,): a record adds 1 to one of them."""

    def count(self, block: Block) -> NDArray[np.int64]:
        """Counts of a block."""
        table = block.table
        assert table.targets is not None
        cells = np.minimum(table.targets.astype(np.int64) * N_MIDDLES // table.unit, N_MIDDLES - 1)
        return np.bincount(cells, minlength=N_MIDDLES).astype(np.int64)


def middle_scores(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of every cell, in half units: less the more records lie on one side of it than on the other.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: one more record changes the difference of
    the sides by -1, 0 or 1, so its size, which is a whole number, by at most 1: in units, a score
    moves by something in [-1/2, 1/2], a range of 1.
    """
    sums = np.cumsum(counts)
    below, above = sums - counts, sums[-1] - sums
    return -np.abs(below - above).astype(np.float64)


def release_middle(records: Records, grant: Grant, source: RandomSource) -> float:
    """Draw about the median of the targets, as a share of the way between the bounds.

    Parameters
    ----------
    records : Records
        With targets. Secret.
    grant : Grant
        For an ``ExponentialSelection`` with range 1.
    source : RandomSource

    Notes
    -----
    **Claim**: the event's. **Sensitivity**: `middle_scores`. **Tests**:
    tests/trees/one_shot/test_middle.py.
    """
    raw_scores = middle_scores(records.total(MiddleCells()))
    starts, ends = np.array([0]), np.array([N_MIDDLES])
    drawn = int(select_exponential(raw_scores, starts, ends, SCORE_UNIT, grant, source)[0])
    return (drawn + 0.5) / N_MIDDLES
