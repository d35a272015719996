"""Draws finished in decimals, with further bits of the same uniform.

A uniform U is known to lie in [word, word + 1] / 2^bits. Each function compares it with exact
numbers whose decimals carry fewer errors the longer it takes, and appends 64 bits until one
answer is left. So the draw is the exact one, and every possible outcome stays possible. The
boundaries themselves have probability zero.

The same functions, run from the first word, are the slow twins of the kernels.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from dpforest.mechanisms.entropy import RandomSource

_INFINITY = Decimal("Infinity")


class Uniform(NamedTuple):
    """A uniform number in [word, word + 1] / 2^bits."""

    word: int
    bits: int = 64

    def refined(self, source: RandomSource) -> Uniform:
        """Append 64 bits."""
        return Uniform((self.word << 64) | int(source.words(1)[0]), self.bits + 64)

    def digits(self) -> int:
        """Decimals to compute with: more than the bits can tell apart."""
        return 25 + self.bits * 302 // 1000

    def error(self) -> Decimal:
        """Largest possible error of a number computed in this uniform's context."""
        return Decimal(10) ** -self.digits()

    def context(self, magnitude: float) -> AbstractContextManager[decimal.Context]:
        """Decimals whose results err by less than ``error`` for arguments up to ``magnitude``.

        Each operation is rounded correctly to ``prec`` digits. An argument x of exp is off by
        less than 3 |x| 10^(1-prec), and a row adds fewer than 10^12 terms.
        """
        whole = len(str(int(min(magnitude, 1e300))))
        return decimal.localcontext(
            decimal.Context(
                prec=self.digits() + whole + 15,
                Emin=decimal.MIN_EMIN,
                Emax=decimal.MAX_EMAX,
                traps=[],
            )
        )

    def minus_log(self) -> tuple[Decimal, Decimal]:
        """Return bounds of -ln U in the current context; the upper one may be infinite."""
        scale = Decimal(2) ** self.bits
        low = -(Decimal(self.word + 1) / scale).ln()
        return low, -(Decimal(self.word) / scale).ln() if self.word else _INFINITY


def finish_exponential(
    scores: Sequence[float],
    weights: Sequence[float] | None,
    c: float,
    word: int,
    source: RandomSource,
) -> int:
    """Draw j with probability proportional to w_j exp(c (q_j - max q)); -1 if none is available.

    Parameters
    ----------
    scores, weights : sequences of float, one row
        Unavailable: a score of -inf or a weight of zero.
    c : float
        Taken as the exact rational that it is.
    word : int
        First 64 bits of the uniform.
    source : RandomSource
        Gives further bits.
    """
    factors = [1.0] * len(scores) if weights is None else weights
    available = [j for j, q in enumerate(scores) if q > -math.inf and factors[j] > 0]
    if not available:
        return -1
    top = max(scores[j] for j in available)
    widest = c * (top - min(scores[j] for j in available))
    uniform = Uniform(word)
    while True:
        with uniform.context(widest):
            terms = (_exponent(scores[j], top, c).exp() * Decimal(factors[j]) for j in available)
            low, high = _bracket(list(accumulate(terms)), uniform)
        if low == high:
            return available[low]
        uniform = uniform.refined(source)


def _bracket(sums: list[Decimal], uniform: Uniform) -> tuple[int, int]:
    """Bound the first index whose cumulated sum exceeds the uniform times the total."""
    step = sums[-1] / Decimal(2) ** uniform.bits
    # Sums and steps err by less than total * error together.
    slack = sums[-1] * uniform.error()
    least, most = step * uniform.word - slack, step * (uniform.word + 1) + slack
    last = len(sums) - 1
    low = next((k for k, s in enumerate(sums) if s >= least), last)
    return low, next((k for k, s in enumerate(sums) if s > most), last)


def finish_noisy_maximum(
    scores: Sequence[float], c: float, words: Sequence[int], source: RandomSource
) -> int:
    """Find the largest c (q_j - max q) - ln U_j; -1 if none is available.

    Only the candidates that may still win take further words, in the order of their index.
    """
    contenders = {j: Uniform(int(words[j])) for j, q in enumerate(scores) if q > -math.inf}
    if not contenders:
        return -1
    top = max(scores[j] for j in contenders)
    while True:
        bounds = {j: _key(scores[j], top, c, uniform) for j, uniform in contenders.items()}
        best = max(low for low, _ in bounds.values())
        contenders = {j: contenders[j] for j, (_, high) in bounds.items() if high >= best}
        if len(contenders) == 1:
            return next(iter(contenders))
        contenders = {j: uniform.refined(source) for j, uniform in contenders.items()}


def _key(score: float, top: float, c: float, uniform: Uniform) -> tuple[Decimal, Decimal]:
    with uniform.context(c * (top - score)):
        shift = _exponent(score, top, c)
        low, high = uniform.minus_log()
        return low + shift - uniform.error(), high + shift + uniform.error()


def _exponent(score: float, top: float, c: float) -> Decimal:
    return Decimal(c) * (Decimal(score) - Decimal(top))


def finish_two_sided_geometric(a: float, word: int, source: RandomSource) -> int:
    """Draw k with probability proportional to exp(-a |k|); the word's last bit is the sign.

    With V uniform from the other bits, |k| = floor((ln 2 - ln V - ln(1 + e^-a)) / a), since
    P(|k| >= m) = 2 e^(-a m) / (1 + e^-a) for m >= 1.
    """
    uniform = Uniform(word >> 1, 63)
    while True:
        with uniform.context(max(a, 1 / a)):
            constant = Decimal(2).ln() - (1 + (-Decimal(a)).exp()).ln()
            low, high = uniform.minus_log()
            least = (low + constant - uniform.error()) / Decimal(a)
            most = (high + constant + uniform.error()) / Decimal(a)
            if least > 0 and most.is_finite() and int(least) == int(most):
                return -int(least) if word & 1 else int(least)
        uniform = uniform.refined(source)


def finish_acceptance(gamma: Fraction, word: int, source: RandomSource) -> bool:
    """Accept with probability exp(-gamma): whether -ln U exceeds gamma."""
    uniform = Uniform(word)
    while True:
        with uniform.context(float(min(gamma, Fraction(10) ** 300))):
            exact = Decimal(gamma.numerator) / Decimal(gamma.denominator)
            low, high = uniform.minus_log()
            if low - uniform.error() > exact:
                return True
            if high + uniform.error() < exact:
                return False
        uniform = uniform.refined(source)
