"""Between rho and (epsilon, delta): bounds that end on the private side.

The conversions come from the accounting library ``dp_accounting`` (extra ``accounting``) when
it is installed, else from the closed form of Bun and Steinke (2016, Prop. 1.3),
rho + 2 sqrt(rho ln(1/delta)). Both are bounds whatever is installed; the library's is tighter.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from fractions import Fraction
from typing import Any

from dpforest.accounting.losses import ZERO, Amount
from dpforest.accounting.rationals import (
    float_down,
    float_up,
    log_up,
    shortened_down,
    sqrt_down,
)

LIBRARY = "dp_accounting RdpAccountant (Canonne, Kamath, Steinke 2020, Prop. 12)"
CLOSED_FORM = "rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016, Prop. 1.3)"
#: What conversions may have been made by, here or elsewhere.
MEANS = (LIBRARY, CLOSED_FORM)

#: Added to what the library computes in doubles: its terms are below 1e9, their errors below
#: 1e-15 of that, so this covers them many times over.
_RELATIVE_SLACK = Fraction(1, 10**9)
_ABSOLUTE_SLACK = Fraction(1, 10**12)

#: Renyi orders minus one, a fixed grid, so that the bound is monotone in rho. Any order gives
#: a bound; neighbours differ by 1.6 %, which costs at most some 1e-5 of epsilon.
_ORDERS = tuple(1 + 10 ** (-1.9 + i * 0.007) for i in range(1000))

#: rho_of_epsilon searches multiples of this fraction of the closed form's answer.
_STEPS = 2**24


def epsilon_of_rho(rho: Amount, delta: Fraction) -> tuple[Amount, str]:
    """Return the epsilon at which rho-zCDP gives (epsilon, delta)-DP.

    Parameters
    ----------
    rho : Fraction or math.inf
        Zero-concentrated loss.
    delta : Fraction
        At least nothing, below one.

    Returns
    -------
    epsilon : Fraction or math.inf
        Upper bound.
    method : str
        Which bound decided.

    Notes
    -----
    Held by tests/accounting/test_conversion.py against the closed form of Canonne, Kamath and
    Steinke, minimised independently.
    """
    if 0 < rho < math.inf and delta > 0:
        return _epsilon_of_rho(Fraction(rho), delta)
    return closed_form_epsilon(rho, delta), CLOSED_FORM


@functools.lru_cache(maxsize=1024)
def _epsilon_of_rho(rho: Fraction, delta: Fraction) -> tuple[Fraction, str]:
    closed = _closed_form(rho, delta)
    tight = _library_bound(rho, delta)
    return (closed, CLOSED_FORM) if tight is None or closed <= tight else (tight, LIBRARY)


@functools.lru_cache(maxsize=256)
def rho_of_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that converts to at most ``epsilon`` at ``delta``: the cap for spending in rho.

    Parameters
    ----------
    epsilon, delta : Fraction
        The target.

    Returns
    -------
    Fraction
        Lower bound of the largest such rho; nothing when ``delta`` is nothing.
    """
    if delta <= 0 or epsilon <= 0:
        return ZERO
    # Where the closed form meets epsilon; it lies below the tight answer.
    log_inverse = log_up(1 / delta)
    root = sqrt_down(log_inverse + epsilon) - _sqrt_up(log_inverse)
    start = shortened_down(max(root, ZERO) ** 2)
    if start <= 0:
        return ZERO
    low, high = _STEPS, 2 * _STEPS
    if epsilon_of_rho(start, delta)[0] > epsilon:  # pragma: no cover - rounding only
        return ZERO
    while _converts(start, high, delta, epsilon):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _converts(start, middle, delta, epsilon):
            low = middle
        else:
            high = middle
    return start * low / _STEPS


def closed_form_epsilon(rho: Amount, delta: Fraction) -> Amount:
    """The epsilon of rho by the closed form: what ``epsilon_of_rho`` gives without the library."""
    if rho == 0:
        return ZERO
    if delta <= 0 or rho == math.inf:
        return math.inf
    return _closed_form(Fraction(rho), delta)


def conversion_method() -> str:
    """Bound that the conversions in this environment come from."""
    return LIBRARY if _has_library() else CLOSED_FORM


def _converts(start: Fraction, steps: int, delta: Fraction, epsilon: Fraction) -> bool:
    rho = start * steps / _STEPS
    closed = _closed_form(rho, delta)
    if closed <= epsilon:
        return True
    tight = _library_bound(rho, delta)
    return tight is not None and tight <= epsilon


def _closed_form(rho: Fraction, delta: Fraction) -> Fraction:
    return rho + 2 * _sqrt_up(rho * log_up(1 / delta))


def _sqrt_up(value: Fraction) -> Fraction:
    # sqrt_down is within 2**-100 relative, so this is above the root.
    return sqrt_down(value) * (1 + Fraction(1, 2**90)) if value > 0 else ZERO


@functools.cache
def _has_library() -> bool:
    return importlib.util.find_spec("dp_accounting") is not None


def _library_bound(rho: Fraction, delta: Fraction) -> Fraction | None:
    """Upper bound from dp_accounting; None where it is absent or out of its depth."""
    if not _has_library():
        return None
    small_delta = float_down(delta)
    if small_delta < 1e-300:
        return None
    accountant, event = _library_accountant(float_up(rho))
    epsilon = accountant.compose(event).get_epsilon(small_delta)
    if not math.isfinite(epsilon):
        return None
    # The library shows exact zeros for large delta; the slack stays, so the end is private.
    return Fraction(epsilon) * (1 + _RELATIVE_SLACK) + _ABSOLUTE_SLACK


def _library_accountant(rho: float) -> tuple[Any, Any]:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    return RdpAccountant(orders=_ORDERS), dp_accounting.ZCDpEvent(rho)
