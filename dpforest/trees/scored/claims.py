"""Answers of records, right or not, less what their scores claim: two sums over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.answering import AnsweringQuery
from dpforest.trees.scored.kernels.confidence import confidence_sums
from dpforest.trees.scored.queries import Move, ScoreHistory

#: Steps of an answer.
STEPS = 2**16
#: Scores are made so much shorter to see by how much claims fall.
SHORTER = 0.7
#: Steps of that fall, which is smaller than an answer; and its largest.
FALL_STEPS, _MOST_FALL = 2 * STEPS, 2 * STEPS // 3


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSums(AnsweringQuery):
    """Right answers less claimed ones, and the fall of claims when scores are shorter, shape (2,).

    Attributes
    ----------
    scored : ScoreHistory
    factor : float
        What scores are multiplied by.
    shift : ndarray of float64, shape (C,)
        What is added to them then.
    """

    scored: ScoreHistory
    factor: float
    shift: NDArray[np.float64]

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.scored.moves

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change by one record, in steps and in steps squared.

        **Relation**: add or remove one record. **Proof**: its scores follow from released values
        and its own codes, so it changes no other's answers. An answer is 0 or 1 and a claim from 0
        to 1, so the first sum moves by at most `STEPS`; the second is kept within its bound by
        force. Both hold after rounding toward zero. **Tests**:
        tests/trees/scored/test_confidence.py.
        """
        return confidence_sensitivity()

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        sums = np.empty(2, dtype=np.int64)
        scores = self.scored.scores(chunk)
        bounds = STEPS, FALL_STEPS, _MOST_FALL
        confidence_sums(scores, chunk.table.labels, self.factor, self.shift, SHORTER, *bounds, sums)
        return sums


def confidence_sensitivity() -> Sensitivity:
    """`ConfidenceSums.sensitivity`, from public facts."""
    return Sensitivity(Fraction(STEPS + _MOST_FALL), Fraction(STEPS**2 + _MOST_FALL**2))
