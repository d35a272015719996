"""Amounts of a ledger: whole numbers of units, each 2^-128 of an epsilon or a rho.

Whatever is charged is rounded up when it enters, and whatever caps it is rounded down, so sums of
years are exact, short and on the private side. No float comes near them.

Held by tests/ledger/test_amounts.py.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from dpforest.accounting.losses import Amount
from dpforest.exceptions import ParameterError

#: So many units are one.
UNITS = 2**128
#: Most digits of a number of units: far beyond any budget.
MOST_DIGITS = 99

_WHOLE = re.compile(rf"0|[1-9][0-9]{{0,{MOST_DIGITS - 1}}}")


def to_units(amount: Amount, parameter: str = "units") -> int:
    """The smallest number of units that is not below an amount: what it is charged as.

    Parameters
    ----------
    amount : Fraction
        At least nothing.
    parameter : str
        Name for the error.

    Raises
    ------
    ParameterError
        For an amount that is negative, infinite or beyond all books.
    """
    return _checked(amount, parameter, math.ceil)


def cap_in_units(amount: Amount, parameter: str = "cap") -> int:
    """The largest number of units that is not above an amount: what a cap is kept as."""
    return _checked(amount, parameter, math.floor)


def _checked(amount: Amount, parameter: str, rounded: Any) -> int:
    if amount == math.inf or not 0 <= amount < Fraction(10) ** (MOST_DIGITS // 2):
        raise ParameterError(
            parameter, amount, "is no finite amount of budget that a ledger could hold",
            "Give a finite amount that is not negative",
        )  # fmt: skip
    return int(rounded(Fraction(amount) * UNITS))


def fraction_of(units: int) -> Fraction:
    """The amount that a number of units stands for."""
    return Fraction(units, UNITS)


def parse_units(text: Any) -> int:
    """A number of units from its decimal text; ValueError for anything else.

    A whole number passes, as code hands it over; a float or a boolean never does.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        if not 0 <= text < 10**MOST_DIGITS:
            raise ValueError("not a number of units")
        return text
    if not isinstance(text, str) or _WHOLE.fullmatch(text) is None:
        raise ValueError("not a number of units")
    return int(text)


#: A number of units in a record: an int in Python, decimal text in JSON.
Units = Annotated[int, BeforeValidator(parse_units), PlainSerializer(str, return_type=str)]
