"""Right answers of records less what their scores claim of them, on a lattice of whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.scored.kernels.residuals import exponentials

_BLOCK = 512


@kernel(error_model="numpy")
def confidence_sums(
    scores: NDArray,
    labels: NDArray,
    factor: float,
    shift: NDArray,
    shorter: float,
    steps: int,
    fall_steps: int,
    most_fall: int,
    sums: NDArray,
) -> None:
    """Sum two whole numbers of every record, each rounded toward zero and kept in its bounds.

    With p the softmax of z = ``factor`` scores + ``shift``, the first is 1 where the label has the
    largest z, less the largest p, in ``steps``: from ``-steps`` to ``steps``. The second is by how
    much the largest p falls when z is made ``shorter``, in ``fall_steps``: from 0 to ``most_fall``.
    A record whose scores are not all finite adds nothing to either.

    Parameters
    ----------
    scores : float64 array of shape (n, C)
        C = 1 (log-odds of class 1) or K (softmax).
    labels : uint array of shape (n,)
    factor : float
    shift : float64 array of shape (C,)
    shorter : float
        From 0 to 1.
    steps, fall_steps, most_fall : int
    sums : int64 array of shape (2,), overwritten
    """
    n_columns = scores.shape[1]
    n_classes = max(n_columns, 2)
    own = np.zeros((_BLOCK, n_classes))
    finite = np.empty(_BLOCK, dtype=np.bool_)
    raised, total = np.empty((n_classes, _BLOCK)), np.empty(_BLOCK)
    short_total, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    sums[:] = 0
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        for i in range(count):
            finite[i] = True
            for k in range(n_columns):
                score = factor * scores[first + i, k] + shift[k]
                # Of two classes the first has the score 0.
                own[i, n_classes - n_columns + k] = score
                finite[i] &= score - score == 0.0
        exponentials(own[:count] * shorter, raised, short_total, scratch)
        exponentials(own[:count], raised, total, scratch)
        for i in range(count):
            if not finite[i]:
                continue
            hit = 1.0 if raised[np.int64(labels[first + i]), i] >= 1.0 else 0.0
            # A sum has the 1 of the largest score, and nothing below 0.
            claim, short = 1.0 / max(total[i], 1.0), 1.0 / max(short_total[i], 1.0)
            sums[0] += np.int64((hit - claim) * steps)
            sums[1] += min(max(np.int64((claim - short) * fall_steps), 0), most_fall)
