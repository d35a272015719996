"""Noise of the K-norm: an integer vector by the largest L1 of its blocks, drawn exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import two_sided_geometric

_WORD = 64


def k_norm_noise(widths: Sequence[int], a: float, source: RandomSource) -> list[int]:
    """Draw z with P(z) proportional to exp(-a max_j |z_j|_1), exactly.

    Parameters
    ----------
    widths : sequence of int
        Lengths of the blocks z_j.
    a : float
        Above 0. Where it is not small beside 1 / the widest block, attempts are many.
    source : RandomSource

    Returns
    -------
    list of int, of length ``sum(widths)``
        The blocks, one after the other.

    Notes
    -----
    **Claim**: where one record moves no block by more than s in L1, a vector with such noise is
    a s-DP. **Proof**: |z_j + v_j|_1 <= |z_j|_1 + |v_j|_1 for each block, so the largest changes by
    at most max_j |v_j|_1 <= s. **The draw**: exp(-a k) is the sum over r >= k of
    (1 - e^-a) exp(-a r). So r is drawn with weight exp(-a r) N(r), where N(r) counts the vectors
    all of whose blocks have an L1 of at most r, and then one of these, each alike. To that end the
    sum r of d + 1 geometric numbers has weight exp(-a r) C(r + d, d), which is turned into
    exp(-a r) prod_j C(r + m_j, m_j) by accepting it with probability
    prod_j prod_i (r + i) / prod_k (r + k), factor by factor; C(r + m, m) is the number of ways to
    part r into m sizes and a rest, which are drawn as m places of r + m. Each size has a sign, and
    all is drawn again where a size of 0 has a minus, so that each vector is one way.
    **Source**: Hardt and Talwar 2010, for the law. **Tests**: tests/mechanisms/test_k_norm.py
    (all probabilities of small vectors, chi-square; a wrong scale is rejected).
    """
    while True:
        drawn = _attempt(widths, a, source)
        if drawn is not None:
            return drawn


def _attempt(widths: Sequence[int], a: float, source: RandomSource) -> list[int] | None:
    """One attempt; None where it is rejected."""
    radius = sum(_geometric(sum(widths) + 1, a, source))
    if not _is_accepted(radius, widths, source):
        return None
    sizes = [size for width in widths for size in _parts(radius, width, source)]
    signs = source.words(len(sizes)) & np.uint64(1)
    if any(sign and not size for size, sign in zip(sizes, signs, strict=True)):
        return None
    return [-size if sign else size for size, sign in zip(sizes, signs, strict=True)]


def _geometric(n: int, a: float, source: RandomSource) -> list[int]:
    """Numbers k >= 0 with P(k) proportional to exp(-a k): two-sided ones that are not negative."""
    found = list[int]()
    while len(found) < n:
        found += [k for k in two_sided_geometric(2 * (n - len(found)), a, source) if k >= 0]
    return found[:n]


def _is_accepted(radius: int, widths: Sequence[int], source: RandomSource) -> bool:
    """True with probability prod_j prod_i (r + i) / prod_k (r + k)."""
    above = sorted(i for width in widths for i in range(1, width + 1))
    pairs = [(i, k) for k, i in enumerate(above, start=1) if i < k]
    draws = _below([radius + k for _, k in pairs], source)
    return all(draw < radius + i for draw, (i, _) in zip(draws, pairs, strict=True))


def _parts(radius: int, width: int, source: RandomSource) -> Iterator[int]:
    """Sizes that add up to at most a radius, all alike: gaps between as many places of r + m."""
    while True:
        places = sorted(_below([radius + width] * width, source))
        if len(set(places)) == width:
            break
    before = -1
    for place in places:
        yield place - before - 1
        before = place


def _below(limits: Sequence[int], source: RandomSource) -> list[int]:
    """A number from 0 to below each limit, each alike: random bits, again where they are too large.

    Each takes as many words as the largest limit needs: one up to 2^64.
    """
    found = [-1] * len(limits)
    open_ = list(range(len(limits)))
    while open_:
        most = max(limits[i] - 1 for i in open_).bit_length()
        n_words = max(1, -(-most // _WORD))
        words = source.words(n_words * len(open_)).reshape(-1, n_words)
        for i, row in zip(open_, words, strict=True):
            value = _joined(row) >> (n_words * _WORD - (limits[i] - 1).bit_length())
            if value < limits[i]:
                found[i] = value
        open_ = [i for i in open_ if found[i] < 0]
    return found


def _joined(words: NDArray[np.uint64]) -> int:
    """Words as one number."""
    return int.from_bytes(words.astype(">u8").tobytes(), "big")
