"""Checks of the claim that an audit tests, and of the confidence of its bound."""

from __future__ import annotations

import math
from typing import Any

from dpforest.accounting.rationals import to_rational
from dpforest.checks import check_part, is_real
from dpforest.exceptions import ParameterError


def check_claim(claim: Any, delta: Any) -> tuple[float, float]:
    """Epsilon, which may be infinite, and delta of a claim as doubles."""
    if claim is None:
        raise ParameterError(
            "claimed_epsilon", claim, "must be given", "Say which epsilon the subject claims"
        )
    epsilon, slack = _double(claim, "claimed_epsilon"), _double(delta, "delta")
    if not epsilon >= 0:
        raise ParameterError("claimed_epsilon", claim, "must be at least 0", "Give the claim")
    if not 0 <= slack < 1:
        raise ParameterError("delta", delta, "must be at least 0 and below 1", "Give the claim")
    return epsilon, slack


def check_error(confidence: Any) -> float:
    """Probability that a bound of this confidence may be too large."""
    check_part(confidence, "confidence")
    return float(1 - confidence)


def _double(value: Any, name: str) -> float:
    """A number of any kind that a budget is given as, or one that is not finite."""
    if is_real(value) and not math.isfinite(value):
        return float(value)
    return float(to_rational(value, name))
