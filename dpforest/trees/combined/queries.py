"""Query of the choice of weights: log scores of blends of two released models."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.combined.kernels.blends import add_blend_scores
from dpforest.trees.combined.model import CombinedModel

#: Steps of the lattice on which log scores are summed; one record moves a sum by 0 to STEPS.
STEPS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class BlendTotals:
    """Log scores of pairs of weights in steps of a lattice, shape (J,).

    The score of a pair is the sum over records of max(log p_y, -B) / B + 1, each part rounded down
    to a multiple of 1 / STEPS and kept in [0, 1] by force.

    Attributes
    ----------
    model : CombinedModel
    pairs : ndarray of float64, shape (J, 2)
    bound : float
        B.
    """

    model: CombinedModel
    pairs: NDArray[np.float64]
    bound: float
    #: Proved with the sensitivity.
    most_each: ClassVar[int] = STEPS

    @property
    def sensitivity(self) -> Sensitivity:
        """At most STEPS in each total; to a choice, a range of 1.

        **Relation**: add or remove one record. **Proof**: a part lies in [0, 1] and follows from
        released values and its own record only (the leaf of the rules is told by whole numbers,
        the forest's sum goes from tree to tree, whatever stands beside the record), so one record
        more moves every pair's total by something in [0, STEPS]. **Tests**:
        tests/trees/combined/test_combined.py.
        """
        n_pairs = Fraction(len(self.pairs))
        return Sensitivity(n_pairs * STEPS, n_pairs * STEPS**2)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Totals of a chunk."""
        totals = np.zeros(len(self.pairs), dtype=np.int64)
        first, second = self.model.both(chunk.table.codes)
        add_blend_scores(
            first, second, chunk.table.labels, self.model.log_prior,
            self.pairs, self.bound, STEPS, totals,
        )  # fmt: skip
        return totals
