"""Meaning of (epsilon, delta) for the best attacker: rates of a test, odds after a release.

Somebody holds two tables that differ as the guarantee says, sees everything that was released, and
has to tell which of the two was used. All figures hold for every attacker.
"""

from __future__ import annotations

import math


def largest_true_positive_rate(epsilon: float, delta: float, false_positive_rate: float) -> float:
    """Power of the best test with a given rate of false alarms.

    Parameters
    ----------
    epsilon, delta : float
        A guarantee; epsilon may be infinite.
    false_positive_rate : float
        Share of the tables without the record that the test accuses.

    Returns
    -------
    float
        Largest share of the tables with the record that it can accuse: the smaller of
        e^epsilon FPR + delta and 1 - e^-epsilon (1 - delta - FPR) (Wasserman, Zhou 2010; Kairouz,
        Oh, Viswanath 2015), at most 1.
    """
    if math.isinf(epsilon):
        return 1.0
    grown = math.inf if epsilon > 700 else math.exp(epsilon) * false_positive_rate + delta
    if false_positive_rate == 0:
        grown = delta
    other = 1 - math.exp(-epsilon) * (1 - delta - false_positive_rate)
    return max(0.0, min(1.0, grown, other))


def corner(epsilon: float, delta: float) -> float:
    """The false-positive rate at which the two bounds meet; the test's error on both tables."""
    return (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))


def best_guess(epsilon: float, delta: float) -> float:
    """Largest share of right guesses where both tables are equally likely beforehand."""
    return 1 - corner(epsilon, delta)


def corners(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """The bound as a polygonal line of (false-positive rate, true-positive rate)."""
    meeting = corner(epsilon, delta)
    return [(0.0, delta), (meeting, 1 - meeting), (1 - delta, 1.0), (1.0, 1.0)]


def belief_after(prior: float, epsilon: float, delta: float) -> tuple[float, float]:
    """Least and largest belief that the record was used, after the most telling release.

    Parameters
    ----------
    prior : float
        Belief before.
    epsilon, delta : float
        A guarantee with a finite epsilon.

    Notes
    -----
    With delta = 0 odds move by at most the factor e^epsilon. With a delta they move by at most
    2 e^epsilon, but for releases whose probability is at most 2 delta: let B be the releases whose
    probability with the record is more than e^t times that without it. Then P(B) <= e^epsilon Q(B)
    + delta <= e^(epsilon - t) P(B) + delta, so P(B) <= delta / (1 - e^(epsilon - t)), which is
    2 delta at t = epsilon + ln 2; likewise with P and Q exchanged. Held by
    tests/estimators/report/test_odds.py.
    """
    shift = epsilon + (math.log(2) if delta else 0.0)
    odds = (1 - prior) / prior
    largest = 1 / (1 + odds * math.exp(-shift))
    least = math.exp(-shift) / (math.exp(-shift) + odds)
    return least, largest


def percent(share: float) -> str:
    """A share in per cent, rounded up; never 100 for what is less."""
    text = f"{math.ceil(share * 1e4 - 1e-9) / 100:.4g}"
    return "over 99.99 %" if text == "100" and share < 1 else f"{text} %"


def percent_down(share: float) -> str:
    """A share in per cent, rounded down; never 0 for what is more."""
    text = f"{math.floor(share * 1e4 + 1e-9) / 100:.4g}"
    return "under 0.01 %" if text == "0" and share > 0 else f"{text} %"
