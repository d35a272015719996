"""Amounts of budget in texts: six digits, never on the side that flatters.

What was spent, is claimed or is asked for is rounded up, what may be spent or remains is rounded
down, each in decimal. A number with at most six digits is written as it is.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_DIGITS = 6


def figure_up(value: Fraction | float) -> str:
    """Write what was spent or is claimed, rounded up to six digits.

    Parameters
    ----------
    value : Fraction, int or float
        A float means its shortest decimal, or an infinity.
    """
    return _figure(value, ROUND_CEILING)


def figure_down(value: Fraction | float) -> str:
    """Write what may be spent or remains, rounded down to six digits; see :func:`figure_up`."""
    return _figure(value, ROUND_FLOOR)


def _figure(value: Fraction | float, rounding: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    exact = Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
    context = Context(prec=_DIGITS, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
    # Both whole numbers are exact, so there is one rounding, in the right direction.
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    if not rounded or -300 < rounded.adjusted() < 300:
        # Six digits survive a double, so this only lays them out as people are used to.
        return f"{float(rounded):.{_DIGITS}g}"
    return f"{rounded.normalize(context):e}".lower()
