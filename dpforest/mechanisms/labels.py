"""The label of a leaf, drawn once, when the forest is fitted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.grants import Grant, require_sensitivity
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip

#: Class frequencies are rounded down to multiples of this.
FREQUENCY_UNIT = Fraction(1, 2**20)

_ONE = Fraction(1)


def draw_label_by_frequency(
    counts: ArrayLike, grant: Grant | None, source: RandomSource
) -> NDArray[np.int64]:
    """Draw a class a leaf with probability proportional to exp(epsilon * frequency / 2).

    The label selection with B3 of the Multinomial Random Forest (2020).

    Parameters
    ----------
    counts : int64 array, shape (n_leaves, n_classes)
        Records of each class in each leaf, below 2^43.
    grant : Grant
        For an ``ExponentialSelection`` with ``score_range`` >= 2 over at least n_leaves cells.
    source : RandomSource
        One word a leaf, and further ones where it does not decide.

    Returns
    -------
    int64 array, shape (n_leaves,)
        Class index. A leaf without records draws uniformly.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterError
        When ``counts`` is not two-dimensional or has no class.

    Notes
    -----
    **Claim**: epsilon-DP and epsilon-bounded-range a leaf; leaves are parallel cells.
    **Relation**: add or remove one record. **Sensitivity**: a frequency, rounded down to
    the public lattice or zero for an empty leaf, lies in [0, 1]; so each moves within
    [-1, 1], a range of 2, which is what is paid for, as in the paper. (The range that is
    reached is 1, so the draw is in fact epsilon/2-DP.) **Proof**: `select_exponential`.
    **Tests**: tests/mechanisms/test_labels.py.
    """
    table = _as_table(counts)
    sizes = np.maximum(table.sum(axis=1, keepdims=True), 1)
    frequencies = table * FREQUENCY_UNIT.denominator // sizes
    require_sensitivity(grant, "score_range", 2)
    starts, ends = _rows_of(table)
    return select_exponential(frequencies.ravel(), starts, ends, FREQUENCY_UNIT, grant, source)


def draw_label_by_count(
    counts: ArrayLike, grant: Grant | None, source: RandomSource, permute_and_flip: bool = False
) -> NDArray[np.int64]:
    """Draw a class a leaf with probability proportional to exp(epsilon * count).

    Sharpens as leaves fill, which the frequency does not.

    Parameters
    ----------
    counts : int64 array, shape (n_leaves, n_classes)
        Records of each class in each leaf, below 2^53.
    grant : Grant
        With ``score_range`` >= 1 over at least n_leaves cells; for an ``ExponentialSelection``,
        or a ``PermuteAndFlipSelection`` with ``permute_and_flip=True``.
    source : RandomSource
        One word a leaf (a class with permute-and-flip), and further ones where it does not
        decide.
    permute_and_flip : bool
        Draw by permute-and-flip instead.

    Returns
    -------
    int64 array, shape (n_leaves,)
        Class index. A leaf without records draws uniformly.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterError
        When ``counts`` is not two-dimensional or has no class.

    Notes
    -----
    **Claim**: epsilon-DP a leaf, epsilon-bounded-range too without permute-and-flip; leaves
    are parallel cells. **Relation**: add or remove one record. **Sensitivity**: a record
    moves one class's count by one and no other's, a range of 1. **Proof**:
    `select_exponential`, `select_permute_and_flip`. **Tests**: tests/mechanisms/test_labels.py.
    """
    table = _as_table(counts)
    require_sensitivity(grant, "score_range", 1)
    starts, ends = _rows_of(table)
    select = select_permute_and_flip if permute_and_flip else select_exponential
    return select(table.ravel(), starts, ends, _ONE, grant, source)


def _as_table(counts: ArrayLike) -> NDArray[np.int64]:
    table = np.ascontiguousarray(counts, dtype=np.int64)
    if table.ndim != 2 or table.shape[1] < 1:
        raise ParameterError(
            "counts", table.shape, "must have shape (n_leaves, n_classes)", "Give a row a leaf"
        )
    return table


def _rows_of(table: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_leaves, n_classes = table.shape
    starts = np.arange(n_leaves, dtype=np.int64) * n_classes
    return starts, starts + n_classes
