"""Selection from finite public sets: the exponential mechanism and permute-and-flip.

A call draws one candidate in each of many rows (the nodes of a level). Rows lie one after
the other in a flat array of scores. The set of candidates of a row must be public; one
that is publicly unavailable has score -inf.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.events import ExponentialSelection, PermuteAndFlipSelection
from dpforest.accounting.grants import Grant, consume
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.base import as_rows, exponent, public_candidates
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.exponential_rows import NO_WEIGHTS, draw_exponential_rows
from dpforest.mechanisms.slow import finish_noisy_maximum
from dpforest.observation import observed


@observed(public_candidates)
def select_exponential(
    scores: ArrayLike,
    starts: ArrayLike,
    ends: ArrayLike,
    unit: Fraction,
    grant: Grant | None,
    source: RandomSource,
    weights: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Draw one candidate a row by the exponential mechanism, exactly.

    Candidate j of row i is drawn with probability proportional to
    ``weights[j] * exp(c * scores[j])`` with c the largest double that is not larger than
    ``event.epsilon / event.score_range * unit``: not approximately, but as these reals.

    Parameters
    ----------
    scores : float64 array, shape (m,)
        Integers: multiples of ``unit``. -inf marks a publicly unavailable candidate.
    starts, ends : int64 arrays, shape (r,)
        Row i has the candidates ``scores[starts[i]:ends[i]]``.
    unit : Fraction
        Value of one step of the scores.
    grant : Grant
        For an ``ExponentialSelection`` over at least r cells.
    source : RandomSource
        One word a row; further words for rows that 64 bits do not decide.
    weights : float64 array of integers below 2^53, shape (m,), optional
        Public multiplicities (how many outputs a candidate stands for); zero is unavailable.

    Returns
    -------
    int64 array, shape (r,)
        Index relative to the row's start; -1 where no candidate is available.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterError
        When shapes do not fit; found without looking at a score.

    Notes
    -----
    **Claim**: each row is ``event.epsilon``-DP and ``event.epsilon``-bounded-range; rows over
    disjoint records are parallel cells. **Relation**: add or remove one record.
    **Sensitivity**: ``event.score_range``, which the criterion proves. **Proof**: with a record
    more every score moves by something in [a, a + score_range], so every weight is multiplied
    by something in [e^(ca), e^(ca + epsilon)] and the normaliser too; the ratio of two
    probabilities lies in an interval of length epsilon (Dong, Durfee, Rogers 2020). Rounding
    c down makes it shorter. **Tests**: tests/mechanisms/test_selection.py (twin on the same
    words, exact boundaries, chi-square, outcomes below 2^-60, diffprivlib).
    """
    flat, first, last = as_rows(scores, starts, ends)
    multiplicity = _as_weights(weights, flat)
    event = consume(grant, ExponentialSelection, cells=first.size)
    c = exponent(event.epsilon, event.score_range, unit)
    return draw_exponential_rows(flat, multiplicity, first, last, c, source)


@observed(public_candidates)
def select_permute_and_flip(
    scores: ArrayLike,
    starts: ArrayLike,
    ends: ArrayLike,
    unit: Fraction,
    grant: Grant | None,
    source: RandomSource,
) -> NDArray[np.int64]:
    """Draw one candidate a row by permute-and-flip, exactly.

    Its expected score is never below the exponential mechanism's at the same epsilon
    (McKenna, Sheldon 2020), but it is not bounded-range.

    Parameters
    ----------
    scores, starts, ends, unit
        As in `select_exponential`.
    grant : Grant
        For a ``PermuteAndFlipSelection`` over at least r cells.
    source : RandomSource
        One word a candidate of a row; further words for the candidates of rows still undecided.

    Returns
    -------
    int64 array, shape (r,)
        Index relative to the row's start; -1 where no candidate is available.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterError
        When shapes do not fit; found without looking at a score.

    Notes
    -----
    **Claim**: each row is ``event.epsilon``-DP, so epsilon^2/2-zCDP, never epsilon^2/8.
    **Relation**: add or remove one record. **Sensitivity**: ``event.score_range``.
    **Proof**: permute-and-flip is the argmax of c q + E with E independent Exp(1) (Ding, Kifer,
    Sayed, Steinke, Wang, Xiao, Zhang 2021). Fix all E but that of output o; o wins when E_o
    exceeds t = max of the others' keys - c q_o, with probability min(1, e^-t). With a
    record more all scores move by something in [a, a + score_range], so t moves by at most
    c * score_range <= epsilon. **Tests**: tests/mechanisms/test_selection.py (twin on the same
    words, chi-square against the permutation form, outcomes below 2^-60).
    """
    from dpforest.mechanisms.kernels.selection import UNDECIDED, select_noisy_maximum_rows

    flat, first, last = as_rows(scores, starts, ends)
    event = consume(grant, PermuteAndFlipSelection, cells=first.size)
    c = exponent(event.epsilon, event.score_range, unit)
    stops = np.cumsum(last - first)
    words = source.words(int(stops[-1]) if stops.size else 0)
    chosen = np.empty(first.size, dtype=np.int64)
    if select_noisy_maximum_rows(flat, first, last, c, words, chosen):
        for i in np.flatnonzero(chosen == UNDECIDED):
            row = flat[first[i] : last[i]].tolist()
            own = words[stops[i] - len(row) : stops[i]].tolist()
            chosen[i] = finish_noisy_maximum(row, c, own, source)
    return chosen


def _as_weights(weights: ArrayLike | None, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if weights is None:
        return NO_WEIGHTS
    flat = np.ascontiguousarray(weights, dtype=np.float64)
    if flat.shape != scores.shape:
        raise ParameterError(
            "weights", flat.shape, f"must have the shape {scores.shape}", "Give one for each score"
        )
    return flat
