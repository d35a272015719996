"""Exact laws of the mechanisms, in decimals, and the largest ratio between two of them.

The mechanisms draw from exactly these laws (docs/mechanisms); tests compare the two by sampling.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

DIGITS = 50
Law = Sequence[Decimal]


def exponential_law(scores: Sequence[float], c: float) -> Law:
    """P(j) proportional to exp(c scores[j]), for the kernel's double c; -inf is no candidate."""
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        top = max(scores)
        weights = [
            Decimal(0) if score == float("-inf") else (Decimal(c) * Decimal(score - top)).exp()
            for score in scores
        ]
        total = sum(weights, Decimal(0))
        return [weight / total for weight in weights]


def permute_and_flip_law(scores: Sequence[float], c: float) -> Law:
    """Law of permute-and-flip for a few candidates.

    With p_j = exp(c (q_j - max q)), candidate j is drawn with probability
    p_j times the sum over sets S of the others of (-1)^|S| prod_S p / (|S| + 1)
    (McKenna, Sheldon 2020, Proposition 4).
    """
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        top = max(scores)
        accepted = [(Decimal(c) * Decimal(score - top)).exp() for score in scores]
        law = []
        for j, own in enumerate(accepted):
            others = accepted[:j] + accepted[j + 1 :]
            total = Decimal(0)
            for size in range(len(others) + 1):
                for chosen in combinations(others, size):
                    term = Decimal(1) / (size + 1)
                    for p in chosen:
                        term *= -p
                    total += term
            law.append(own * total)
        return law


def geometric_law(count: int, a: float, outputs: Sequence[int]) -> Law:
    """P(output) of a count with two-sided geometric noise, P(k) proportional to exp(-a |k|)."""
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        ratio = (-Decimal(a)).exp()
        top = (1 - ratio) / (1 + ratio)
        return [top * ratio ** abs(output - count) for output in outputs]


def zero_sum_law(counts: Sequence[int], a: float, outputs: Sequence[Sequence[int]]) -> Law:
    """P of outputs of a row with noise that adds up to nothing, but for a factor that all have."""
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        ratio = (-Decimal(a)).exp()
        far = [sum(abs(o - n) for o, n in zip(output, counts, strict=True)) for output in outputs]
        return [ratio**distance for distance in far]


def worst_loss(first: Law, second: Law) -> Decimal:
    """Largest absolute log ratio of two laws over outputs; infinite where one is impossible."""
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        worst = Decimal(0)
        for p, q in zip(first, second, strict=True):
            if (p == 0) != (q == 0):
                return Decimal("Infinity")
            if p:
                worst = max(worst, abs((p / q).ln()))
        return worst


def product_law(*laws: Law) -> Law:
    """Law of independent draws together, the last one running fastest."""
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        together: list[Decimal] = [Decimal(1)]
        for law in laws:
            together = [p * q for p in together for q in law]
        return together
