"""First steps of every mechanism: consume its grant, turn exact parameters into doubles.

A mechanism is a function of secret arrays, a grant and a source. It reads its parameters
from the event that the grant carries, which is the one that was paid for.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.events import Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.losses import Amount
from dpforest.accounting.rationals import float_down
from dpforest.exceptions import GrantError, ParameterError
from dpforest.mechanisms.kernels.rows import rows_lie_within

EventT = TypeVar("EventT", bound=Event)
_Ratio = tuple[int, int]


def public_candidates(scores: Any, starts: Any, ends: Any, *_: Any, **__: Any) -> Any:
    """Public part of a selection's arguments: its rows, and the candidates that are there."""
    return np.isneginf(np.asarray(scores, dtype=np.float64)), np.asarray(starts), np.asarray(ends)


def public_shape(counts: Any, *_: Any, **__: Any) -> Any:
    """Public part of a table of counts: its shape."""
    return np.shape(counts)


def consume(grant: Grant | None, event_type: type[EventT], cells: int) -> EventT:
    """Use up a grant for an event of this type over so many cells.

    Raises
    ------
    GrantError
        When there is no grant, it was used before, it is for another event or for fewer cells.
    """
    if not isinstance(grant, Grant):
        raise GrantError(
            f"no grant: the {event_type.mechanism} runs only with a Grant for "
            f"{event_type.__name__}. Get one from the accountant's request."
        )
    return grant.consume(event_type, cells=cells)


def require_sensitivity(grant: Grant | None, name: str, needed: int) -> None:
    """Refuse a grant that was priced for a smaller sensitivity than the mechanism has.

    Called before the grant is consumed, so a refusal leaves it usable.

    Raises
    ------
    GrantError
        When the event's attribute ``name`` is smaller than ``needed``.
    """
    paid = getattr(getattr(grant, "event", None), name, None)
    if paid is not None and paid < needed:
        raise GrantError(f"the mechanism needs {name} >= {needed}, but the grant is for {paid}.")


def exponent(epsilon: Amount, divisor: Fraction, unit: Fraction) -> float:
    """Return the largest double that is not larger than epsilon / divisor * unit.

    Rounded down the draw is less sharp, so it costs no more than was paid. Zero is a fine
    exponent for a selection (uniform), not for noise.
    """
    if isinstance(epsilon, float):  # infinite
        return float_down(epsilon)
    # Hashing a rational takes a modular inverse; a pair of integers does as well.
    ratios = (epsilon.as_integer_ratio(), divisor.as_integer_ratio(), unit.as_integer_ratio())
    return _exponent(*ratios)


@lru_cache(maxsize=1024)
def _exponent(epsilon: _Ratio, divisor: _Ratio, unit: _Ratio) -> float:
    return float_down(Fraction(*epsilon) / Fraction(*divisor) * Fraction(*unit))


@lru_cache(maxsize=1024)
def variance(sigma_squared: Fraction) -> float:
    """Return the smallest double that is not smaller: rounded up the noise is not less.

    Raises
    ------
    ParameterError
        When no finite positive double is.
    """
    rounded = -float_down(-sigma_squared)
    if not 0 < rounded < math.inf:
        raise ParameterError(
            "sigma_squared", rounded, "must round to a finite positive double", "Change the budget"
        )
    return rounded


def as_rows(
    scores: ArrayLike, starts: ArrayLike, ends: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Fix dtypes and check that every row lies inside ``scores``; looks at no score.

    Raises
    ------
    ParameterError
        When starts and ends differ in shape or a row does not lie inside ``scores``.
    """
    flat = np.ascontiguousarray(scores, dtype=np.float64)
    first = np.ascontiguousarray(starts, dtype=np.int64)
    last = np.ascontiguousarray(ends, dtype=np.int64)
    # The kernels check no bounds, so a bad row would read foreign memory.
    if flat.ndim != 1 or first.ndim != 1 or first.shape != last.shape:
        raise ParameterError(
            "starts",
            first.shape,
            f"scores {flat.shape}, starts and ends {last.shape} must be 1-D, the last two alike",
            "Give one start and one end for each row",
        )
    if not rows_lie_within(first, last, flat.size):
        raise ParameterError(
            "ends",
            int(last.max()),
            f"rows must satisfy 0 <= start <= end <= {flat.size}",
            "Give rows that lie inside scores",
        )
    return flat, first, last
