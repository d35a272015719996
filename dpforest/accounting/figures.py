"""Amounts of budget in texts: six digits, never on the side that flatters.

What was spent, is claimed or is asked for is rounded up, what may be spent or remains is rounded
down, each in decimal. A number with at most six digits is written as it is. Amounts that a ledger
keeps are such numbers rounded to its units; :func:`figure_charged` and :func:`figure_cap` write
them as they were declared, and :func:`figures_beside` one beside the other.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_DIGITS = 6
#: Share of an amount that rounding to a ledger's units may come to, over years of charges.
_NARROW = Fraction(1, 2**64)


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


def figure_charged(value: Fraction) -> str:
    """Write what was charged to a ledger, rounded up to six digits.

    A ledger rounds charges up to its units of 2^-128. That is not shown: 0.1 is written as 0.1.
    """
    return figure_up(value * (1 - _NARROW))


def figure_cap(value: Fraction) -> str:
    """Write a cap or a quota of a ledger as it was declared, else rounded down to six digits.

    Never for what remains: there a unit less is room that is not there.
    """
    return figure_down(value * (1 + _NARROW))


def figures_beside(spent: Fraction, cap: Fraction) -> tuple[str, str]:
    """Write what was charged to a ledger and its cap, wherever one stands beside the other.

    As they were declared; where the cap was passed, as imports may, to the last digit: what was
    spent may be just above it, and is not to read as if the cap held it.
    """
    if spent <= cap:
        return figure_charged(spent), figure_cap(cap)
    return figure_up(spent), figure_down(cap)


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
