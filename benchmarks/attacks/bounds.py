"""What (epsilon, delta) leaves to any attacker who tells one record's presence from its absence."""

from __future__ import annotations

import math


def largest_true_positive_rate(epsilon: float, delta: float, false_positive_rate: float) -> float:
    """Highest true-positive rate at a false-positive rate (Kairouz, Oh and Viswanath 2015).

    Both directions of add/remove: TPR <= e^ε FPR + δ and 1 - FPR <= e^ε (1 - TPR) + δ.
    """
    up = math.exp(min(epsilon, 700.0)) * false_positive_rate + delta
    down = 1.0 - math.exp(-epsilon) * (1.0 - delta - false_positive_rate)
    return max(0.0, min(up, down, 1.0))


def largest_auc(epsilon: float, delta: float) -> float:
    """Area under the highest curve that (epsilon, delta) allows.

    Its corners are (0, δ), (a, 1 - a) with a = (1 - δ) / (1 + e^ε), and (1 - δ, 1).
    """
    a = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    corners = [(0.0, delta), (a, 1.0 - a), (1.0 - delta, 1.0), (1.0, 1.0)]
    return sum(
        (right - left) * (low + high) / 2
        for (left, low), (right, high) in zip(corners, corners[1:], strict=False)
    )
