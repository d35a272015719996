"""Reserves: losses that are set aside when a scope is opened."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_loss
from dpforest.exceptions import ParameterError, ParameterTypeError


def check_adaptive(adaptive: bool, reserve: PrivacyLoss | None) -> None:
    """Refuse to spend adaptively without a cap that was fixed beforehand."""
    if adaptive and reserve is None:
        raise ParameterError(
            "adaptive", adaptive, "needs a reserve", "Give the cap as reserve=PrivacyLoss(...)"
        )


def checked_reserve(reserve: Any, parameter: str) -> PrivacyLoss:
    """A loss that may be set aside: exact, since all that is charged later is added to it."""
    if not isinstance(reserve, PrivacyLoss):
        raise ParameterTypeError(
            parameter, reserve, "must be a PrivacyLoss", "Use PrivacyLoss.pure(...)"
        )
    repair = "Give rationals, such as PrivacyLoss.pure(Fraction(1, 10)), and no floats"
    return exact_loss(reserve, parameter, repair)
