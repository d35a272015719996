"""The continuous exponential mechanism over a node's box, on a public lattice.

On the box of a node the score of a threshold is constant between consecutive values of the
data. In reals one draws an interval with weight length * exp(c q) and a point uniformly in
it. In doubles the points that a + u (b - a) can reach depend on a and b, so on the data.
Here the box is a public set of integers, an interval's length is how many it holds, and the
point is an integer.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.grants import Grant
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.selection import select_exponential
from dpforest.observation import observed


def select_interval_point(
    scores: ArrayLike,
    lengths: ArrayLike,
    starts: ArrayLike,
    ends: ArrayLike,
    unit: Fraction,
    grant: Grant | None,
    source: RandomSource,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a lattice point a row, given the intervals on which the score is constant.

    Parameters
    ----------
    scores : float64 array, shape (m,)
        Score of every point of an interval; integers, multiples of ``unit``.
    lengths : int64 array, shape (m,)
        Number of lattice points in each interval, below 2^53. The intervals of a row must
        cover the row's public box, each point once; so their sum is public, they are not.
    starts, ends : int64 arrays, shape (r,)
        Row i has the intervals ``starts[i]:ends[i]``.
    unit : Fraction
        Value of one step of the scores.
    grant : Grant
        For an ``ExponentialSelection`` over at least r cells.
    source : RandomSource
        Two words a row, and further ones where they do not decide.

    Returns
    -------
    interval : int64 array, shape (r,)
        Which interval, relative to the row's start; -1 where all lengths are zero. Secret:
        it depends on where the data lie. Only the point may be released.
    offset : int64 array, shape (r,)
        Position of the point in its interval, 0 <= offset < length; 0 where there is none.

    Raises
    ------
    GrantError, ParameterError
        As in `select_exponential`.

    Notes
    -----
    **Claim**, **relation**, **sensitivity**: those of `select_exponential` with the points of
    the box as candidates. **Proof**: the point p of interval I is drawn with probability
    length(I) exp(c q_I) / sum * 1 / length(I), which is exp(c q(p)) / sum over all points:
    the exponential mechanism on a public finite set. Dividing the box into other intervals
    of equal scores changes nothing. **Tests**: tests/mechanisms/test_lattice.py.
    """
    sizes = np.ascontiguousarray(lengths, dtype=np.int64)
    interval = select_exponential(scores, starts, ends, unit, grant, source, weights=sizes)
    rows = np.ascontiguousarray(starts, dtype=np.int64) + interval
    # A row without a point takes a word too: how many are used must not tell.
    bounds = np.ones(interval.size, dtype=np.int64)
    found = interval >= 0
    bounds[found] = sizes[rows[found]]
    return interval, draw_below(bounds, source)


@observed(lambda bounds, source: bounds)
def draw_below(bounds: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
    """Draw a uniform integer in [0, bound) for each positive bound, exactly.

    Parameters
    ----------
    bounds : int64 array, shape (r,)
        Positive.
    source : RandomSource
        One word a value, and one more for each rejected word.

    Returns
    -------
    int64 array, shape (r,)

    Notes
    -----
    **Proof**: the word's remainder is uniform given that the word lies below the largest
    multiple of the bound; other words are rejected and drawn anew.
    """
    from dpforest.mechanisms.kernels.lattice import REJECTED, uniform_below_rows

    drawn = np.empty(bounds.size, dtype=np.int64)
    pending = np.arange(bounds.size)
    while pending.size:
        part = np.empty(pending.size, dtype=np.int64)
        uniform_below_rows(bounds[pending], source.words(pending.size), part)
        drawn[pending] = part
        pending = pending[part == REJECTED]
    return drawn
