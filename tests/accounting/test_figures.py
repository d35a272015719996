"""Figures in texts never flatter: spent rounds up, remaining rounds down, short ones are exact."""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.accounting import BudgetAccountant, GeometricNoise, PrivacyLoss
from dpforest.accounting.figures import figure_cap, figure_charged, figure_down, figure_up
from dpforest.accounting.fits import register_fit
from dpforest.exceptions import BudgetExceeded, RepeatedFitWarning
from dpforest.report.guarantee import make_guarantee

AMOUNTS = st.one_of(
    st.fractions(min_value=0),
    st.floats(min_value=0, allow_nan=False, allow_infinity=False),
    st.integers(0, 10**40),
    st.builds(lambda n, k: F(n) * F(10) ** k, st.integers(1, 10**9), st.integers(-400, 400)),
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(AMOUNTS)
def test_they_enclose_the_number_within_a_unit_of_the_sixth_digit(value):
    exact = F(repr(value)) if isinstance(value, float) else F(value)
    down, up = F(figure_down(value)), F(figure_up(value))
    assert down <= exact <= up
    assert up - down <= exact / 10**5


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (0, "0", "0"),
        (1.0, "1", "1"),
        (0.1, "0.1", "0.1"),
        (F(1, 3), "0.333333", "0.333334"),
        (F(2, 3), "0.666666", "0.666667"),
        (1.00000025, "1", "1.00001"),
        (0.999999, "0.999999", "0.999999"),
        (0.9999999, "0.999999", "1"),
        (1234567, "1.23456e+06", "1.23457e+06"),
        (1e-6, "1e-06", "1e-06"),
        (F(10) ** 400, "1e+400", "1e+400"),
        (F(1, 3) / F(10) ** 400, "3.33333e-401", "3.33334e-401"),
        (math.inf, "inf", "inf"),
    ],
)
def test_figures(value, down, up):
    assert (figure_down(value), figure_up(value)) == (down, up)


NEARLY_HALF = F(10000004, 20000000)  # to the nearest of six digits: 0.5


def test_what_was_spent_never_reads_smaller_and_what_remains_never_larger():
    accountant = BudgetAccountant(1)
    accountant.request(GeometricNoise(NEARLY_HALF, F(1)), role="count")
    assert str(accountant.spent).startswith("(epsilon=0.500001,")
    assert str(accountant.remaining).startswith("(epsilon=0.499999,")
    frozen = accountant.frozen()
    assert str(frozen.spent) == str(accountant.spent)
    assert str(frozen.remaining) == str(accountant.remaining)
    assert "exact" not in repr(accountant.remaining)
    third = BudgetAccountant(F(2, 3), F(2, 3))
    assert str(third.total).startswith("(epsilon=0.666666, delta=0.666666,")
    assert str(third.frozen().total) == str(third.total)
    assert repr(third) == "BudgetAccountant(epsilon=0.666666, delta=0.666666)"


def test_a_refusal_rounds_what_was_asked_for_up():
    with pytest.raises(BudgetExceeded, match=r"requested \(epsilon=1.00001, .* only \(epsilon=1,"):
        BudgetAccountant("1.000001").request(GeometricNoise(F("1.000003"), F(1)), role="count")
    assert str(PrivacyLoss(F(1, 3), F(1, 3), F(1, 3))) == (
        "(epsilon=0.333334, rho=0.333334, delta=0.333334)"
    )


def test_the_sentence_of_a_guarantee_rounds_up():
    loss = PrivacyLoss(F("1.0000005"), F(1), F(0))
    sentence = make_guarantee(loss, F(0), (), seeded=False).sentence
    assert "(1.00001, 0)-differentially private" in sentence


def test_the_warning_of_repeated_fits_rounds_up():
    register_fit("nearly", "Forest", PrivacyLoss.pure(NEARLY_HALF))
    with pytest.warns(RepeatedFitWarning, match=r"together spent epsilon = 1.00001 so far, if"):
        register_fit("nearly", "Forest", PrivacyLoss.pure(NEARLY_HALF))


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.integers(1, 10**6), st.integers(-6, 6), st.integers(1, 1000))
def test_amounts_of_a_ledger_are_written_as_they_were_declared(digits, power, charges):
    declared = F(digits) * F(10) ** power
    unit = F(1, 2**128)
    up = math.ceil(declared / unit) * unit
    shown = figure_up(declared)
    assert figure_charged(up) == shown == figure_cap(math.floor(declared / unit) * unit)
    # A sum of charges is never written below what they were asked at.
    assert F(figure_charged(charges * up)) >= charges * declared
    # What is larger by more than rounding is written as larger.
    assert F(figure_charged(up * (1 + F(1, 2**60)))) > declared
    assert F(figure_cap(up * (1 - F(1, 2**60)))) < declared
