"""Softmax draws over scores after min-max normalisation.

Weights are ``exp(scale * (score - top))``, with ``scale = strength / (largest - smallest)``; an
infinite scale leaves the largest scores, equal scores are all alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.compiling import part
from dpforest.consistent.kernels.streams import uniform


@part()
def scale_of(strength, low, high):
    """Factor of a score under min-max normalisation."""
    return strength / (high - low) if high > low else 0.0


@part()
def weight_of(score, top, scale):
    """Weight of a candidate; none for a score of ``-inf``, which is no candidate."""
    if score == top:
        return 1.0
    if score == -np.inf or scale == np.inf:
        return 0.0
    return np.exp(scale * (score - top))


@part()
def sum_weights(scores: NDArray, width: int, top: float, scale: float) -> float:
    """Sum of the weights of some candidates."""
    total = 0.0
    for j in range(width):
        total += weight_of(scores[j], top, scale)
    return total


@part()
def draw_score(
    scores: NDArray, width: int, top: float, scale: float, weights: NDArray, stream: NDArray
) -> int:
    """Index of a candidate drawn by its weight."""
    if scale == np.inf:
        return _draw_best(scores, width, top, stream)
    total = 0.0
    for j in range(width):
        weights[j] = weight_of(scores[j], top, scale)
        total += weights[j]
    return draw(weights, width, total, stream)


@part()
def _draw_best(scores: NDArray, width: int, top: float, stream: NDArray) -> Any:
    """As :func:`draw`, where the best weigh 1 and others nothing."""
    n_best = 0
    for j in range(np.uint64(width)):
        n_best += scores[j] == top
    rank = np.int64(uniform(stream) * n_best)
    for j in range(np.uint64(width)):
        if scores[j] == top:
            if rank == 0:
                return np.int64(j)
            rank -= 1
    return 0


@part()
def draw(weights: NDArray, width: int, total: float, stream: NDArray) -> int:
    """Index whose slice of the cumulated weights holds a uniform share of their total."""
    aim = uniform(stream) * total
    last = 0
    running = 0.0
    for j in range(width):
        running += weights[j]
        if weights[j] > 0.0:
            last = j
            if aim < running:
                return j
    return last  # rounding only


@part()
def draw_label(totals: NDArray, strength: float, shares: NDArray, weights: NDArray,
               stream: NDArray) -> int:  # fmt: skip
    """A class by ``softmax(strength * share)`` of the counted records; of none, any class."""
    n_records = np.float64(max(totals.sum(), 1))
    top = 0.0
    for k in range(totals.shape[0]):
        shares[k] = np.float64(totals[k]) / n_records
        top = max(top, shares[k])
    return draw_score(shares, totals.shape[0], top, strength, weights, stream)


@part()
def span_of(scores: NDArray, width: int) -> tuple[float, float]:
    """Smallest and largest finite score; ``inf`` and ``-inf`` where there is none."""
    low, high = np.inf, -np.inf
    for j in range(width):
        score = scores[j]
        high = max(high, score)
        low = min(low, score if score != -np.inf else np.inf)
    return low, high
