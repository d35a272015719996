"""Amounts are whole numbers of units: charges rounded up, caps rounded down, sums exact."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from dpforest.exceptions import ParameterError
from dpforest.ledger.amounts import UNITS, Units, cap_in_units, fraction_of, to_units

AMOUNTS = st.fractions(min_value=0, max_value=10**6, max_denominator=10**50)


@given(AMOUNTS)
def test_a_charge_is_rounded_up_and_a_cap_down_by_less_than_a_unit(amount):
    assert 0 <= fraction_of(to_units(amount)) - amount < Fraction(1, UNITS)
    assert 0 <= amount - fraction_of(cap_in_units(amount)) < Fraction(1, UNITS)


@given(st.lists(AMOUNTS, max_size=20))
def test_a_sum_of_units_is_never_below_the_sum_of_amounts(amounts):
    assert fraction_of(sum(map(to_units, amounts))) >= sum(amounts)


def test_a_unit_is_two_to_the_minus_128():
    assert to_units(Fraction(1, 2**128)) == to_units(Fraction(1, 2**200)) == 1
    assert cap_in_units(Fraction(1, 2**129)) == to_units(Fraction(0)) == 0


@pytest.mark.parametrize("rounded", [to_units, cap_in_units])
@pytest.mark.parametrize("amount", [math.inf, Fraction(-1), Fraction(10**60)])
def test_what_is_no_amount_of_budget_is_refused(rounded, amount):
    with pytest.raises(ParameterError) as caught:
        rounded(amount, "rho")
    assert caught.value.parameter == "rho"


UNITS_FIELD = TypeAdapter(Units)


@pytest.mark.parametrize("value", [0, 1, 10**98, "0", "17", "9" * 99])
def test_units_are_text_in_json_and_never_a_float(value):
    assert UNITS_FIELD.dump_json(UNITS_FIELD.validate_python(value)) == f'"{value}"'.encode()


@pytest.mark.parametrize(
    "value",
    [1.0, True, -1, 10**99, "", "01", "-1", "1.0", "1e3", " 1", "1_0", "١", "9" * 100, None, "inf"],
)
def test_units_have_one_text(value):
    with pytest.raises(ValidationError):
        UNITS_FIELD.validate_python(value)
