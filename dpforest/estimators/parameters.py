"""Checking an estimator's parameters, before any record is read and any budget spent."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.accounting.allocation import Allocation, allocation_from_data, allocation_to_data
from dpforest.accounting.rationals import to_rational
from dpforest.checks import check_integer
from dpforest.exceptions import Described, ParameterError, ParameterTypeError

#: Totals beyond these mean no privacy or no information, and would leave the range of doubles.
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**15), Fraction(10**15)
#: Largest depth: 2**20 leaves a tree is past any use and within any memory.
MAX_DEPTH = 20


def check_epsilon(value: Any) -> Fraction:
    """A positive, finite total epsilon as an exact rational."""
    epsilon = to_rational(value, "epsilon")
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            "epsilon",
            value,
            "must be a positive finite number (from 1e-15 to 1e15)",
            "Give the total budget of one fit, such as 1.0",
        )
    return epsilon


def check_delta(value: Any) -> Fraction:
    """A delta in [0, 1) as an exact rational."""
    delta = to_rational(value, "delta")
    if not 0 <= delta < 1:
        raise ParameterError(
            "delta", value, "must lie in [0, 1)", "Use 0, or a tiny number such as 1e-6"
        )
    return delta


def refuse_fit_parameters(given: dict[str, Any]) -> None:
    """Refuse what a fit is given beside records, before anything is read.

    Raises
    ------
    ParameterTypeError
        Of ``sample_weight``, unless it is None, with the reason; and of any other name.
    """
    for name, value in given.items():
        if name == "sample_weight" and value is None:
            continue
        if name == "sample_weight":
            raise ParameterTypeError(
                name, Described("weights"),
                "is not supported: a weight w multiplies all that a record adds to a count, so the "
                "sensitivity would be the largest weight, for which no public bound is declared, "
                "and noise made for one record would not hide it",
                "Leave it out; records that stand for several of one person are what "
                "max_records_per_unit is for",
            )  # fmt: skip
        raise ParameterTypeError(
            name, Described(type(value).__name__), "is not a parameter of fit", "Leave it out"
        )


def check_verbose(value: Any) -> int:
    """Amount of progress that is shown; True is 1."""
    return int(value) if isinstance(value, bool) else check_integer(value, "verbose", 0)


def check_lattice_draw(thresholds: str, draw: str, joint: bool) -> None:
    """Refuse draws that a lattice of thresholds cannot serve."""
    if thresholds != "lattice":
        return
    if draw == "permute_and_flip":
        raise ParameterError(
            "selection",
            draw,
            'cannot draw from thresholds="lattice": it would flip a coin for each of up to 2**32 '
            "points, and has no form that weighs an interval by its points",
            'Use selection="exponential", or thresholds="cells"',
        )
    if joint:
        raise ParameterError(
            "choice",
            "joint",
            'cannot draw from thresholds="lattice": every point is a candidate, so one number '
            "would outweigh all values of a category by up to 2**32 to 1, and candidates carry no "
            "weights that would make up for it",
            'Use choice="two_stage", or thresholds="cells"',
        )


def check_partition_rate(value: Any) -> Fraction | None:
    """Probability of being a structure point, rate / (1 + rate), as a multiple of 2^-64.

    None means no partition. The multiple is what the draw of 64 random bits realises exactly, so
    the accountant mixes the very probabilities that are drawn.
    """
    if value is None:
        return None
    rate = to_rational(value, "partition_rate")
    if rate <= 0:
        raise ParameterError(
            "partition_rate",
            value,
            "must be None or a positive number (structure points over estimation points)",
            "Use 1 for halves, or None to use all records for both",
        )
    numerator = round(rate / (1 + rate) * 2**64)
    if not 0 < numerator < 2**64:
        raise ParameterError(
            "partition_rate",
            value,
            "must leave both sides a probability of at least 2**-64",
            "Use 1 for halves, or None to use all records for both",
        )
    return Fraction(numerator, 2**64)


def storable(value: Any) -> Any:
    """A parameter as JSON can hold it; :func:`stored` reads it back."""
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int):  # an enumeration's member is its number
        return operator.index(value)
    if isinstance(value, np.floating):
        return _shortest(str(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [storable(part) for part in value]
    if isinstance(value, Allocation) and not isinstance(value, type):
        return {"allocation": allocation_to_data(value)}
    return str(value)


def _shortest(text: str) -> float | str:
    """A number by its shortest decimal, as it is charged: 0.1 of four bytes is 0.1."""
    number = float(text)
    exact = not math.isfinite(number) or Fraction(repr(number)) == Fraction(text)
    return number if exact else text


def stored(value: Any) -> Any:
    """Read what :func:`storable` wrote."""
    if isinstance(value, dict):
        return allocation_from_data(value["allocation"])
    return value
