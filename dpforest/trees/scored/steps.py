"""The lattice on which released scores lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Steps of released scores: their sums are exact in doubles, and short in files.
SCORE_STEPS = 2**12


def in_score_steps(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Steps rounded to multiples of 1 / SCORE_STEPS; never -0.0, which stored models lose."""
    return np.rint(steps * SCORE_STEPS) / SCORE_STEPS + 0.0
