"""Scores in whole steps: their sums are exact in doubles, and they are short in files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.stored import whole_numbers

#: Steps of a released score of 1.
SCORE_STEPS = 2**12
#: Largest stored number of steps: sums of 2**13 such scores are still exact in doubles.
_MOST_STEPS = 2**40


def in_score_steps(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores rounded to multiples of 1 / SCORE_STEPS; never -0.0, which stored models lose."""
    return np.rint(scores * SCORE_STEPS) / SCORE_STEPS + 0.0


def steps_to_data(scores: NDArray[np.float64]) -> Any:
    """Scores as nested lists of whole steps; ``scores_from_steps`` reads them back."""
    return np.rint(scores * SCORE_STEPS).astype(np.int64).tolist()


def scores_from_steps(values: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Scores of an array of that shape from what ``steps_to_data`` wrote.

    Raises
    ------
    ModelFormatError
    """
    steps = whole_numbers(values, shape, name, -_MOST_STEPS, _MOST_STEPS)
    scores: NDArray[np.float64] = steps / SCORE_STEPS
    return scores
