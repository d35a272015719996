"""Columns of scores and of residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def n_score_columns(n_classes: int) -> int:
    """Columns of scores and residuals: the log-odds of class 1, or one a class."""
    return 1 if n_classes == 2 else n_classes


def centred(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums without the part that residuals cannot have: over classes they add up to nothing."""
    if sums.shape[1] == 1:
        return sums
    return sums - sums.mean(axis=1, keepdims=True)
