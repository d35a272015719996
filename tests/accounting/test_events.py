"""Events: what each costs, and which parameters it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    PermuteAndFlipSelection,
    PrivacyLoss,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.events import ObjectivePerturbation, read_event
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import ParameterError, ParameterTypeError

MINIMUM = ObjectivePerturbation(F(1, 2), F(1, 10), F(1, 8), F(1, 4), F(3))


@pytest.mark.parametrize(
    ("event", "loss"),
    [
        (ExponentialSelection(F(1, 2), F(2)), PrivacyLoss(F(1, 2), F(1, 32))),
        (PermuteAndFlipSelection(F(1, 2), F(2)), PrivacyLoss(F(1, 2), F(1, 8))),
        (GeometricNoise(F(1, 2), F(1)), PrivacyLoss(F(1, 2), F(1, 8))),
        (ZeroSumGeometricNoise(F(1, 2), F(4), F(3)), PrivacyLoss(F(1, 2), F(1, 8))),
        (DiscreteGaussianNoise(F(8), F(2)), PrivacyLoss(math.inf, F(1, 8))),
        (MINIMUM, PrivacyLoss(F(1, 2), F(1, 8))),
        (ExternalSpend(F(1, 2), F(0), "a mean"), PrivacyLoss(F(1, 2), F(1, 8))),
        (ExternalSpend(F(1, 2), F(1, 9), "a mean"), PrivacyLoss(F(1, 2), math.inf, F(1, 9))),
    ],
    ids=lambda value: getattr(value, "mechanism", ""),
)
def test_price(event, loss):
    assert event.loss == loss


def test_permute_and_flip_is_never_priced_as_bounded_range():
    assert PermuteAndFlipSelection(F(1), F(1)).loss.rho == F(1, 2)


def test_parameters_as_text():
    event = ExternalSpend(F(1, 3), F(0), "a mean")
    assert event.parameters == {"epsilon": "1/3", "delta": "0", "description": "a mean"}
    assert MINIMUM.parameters == {
        "epsilon": "1/2", "determinant": "1/10", "clip": "1/8", "curvature": "1/4", "blocks": "3"
    }  # fmt: skip


def test_a_minimum_is_read_back_from_its_parameters_and_from_no_others():
    assert read_event("objective perturbation", MINIMUM.parameters) == MINIMUM
    fewer = {name: text for name, text in MINIMUM.parameters.items() if name != "clip"}
    assert read_event("objective perturbation", fewer) is None


@pytest.mark.parametrize("name", ["determinant", "clip", "curvature", "blocks"])
@pytest.mark.parametrize("value", [F(0), F(-1), math.inf])
def test_a_minimum_without_one_of_its_parameters_is_refused(name, value):
    with pytest.raises(ParameterError, match=f"{name}=.*must be positive"):
        replace(MINIMUM, **{name: value})


def test_a_minimum_costs_its_epsilon_whatever_else_it_is():
    for name in ("determinant", "clip", "curvature", "blocks"):
        assert replace(MINIMUM, **{name: F(7)}).loss == MINIMUM.loss
    assert replace(MINIMUM, epsilon=math.inf).loss.epsilon == math.inf
    with pytest.raises(ParameterError, match="epsilon=.*must not be negative"):
        replace(MINIMUM, epsilon=F(-1))


NUMBERS = [1, True + 0, 0.1, "0.1", "1/3", Decimal("0.25"), F(1, 7), np.int64(2), np.float64(0.5)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda n: ExponentialSelection(n, n),
        lambda n: PermuteAndFlipSelection(n, n),
        lambda n: GeometricNoise(n, n),
        lambda n: DiscreteGaussianNoise(n, n),
        lambda n: ObjectivePerturbation(n, n, n, n, n),
        lambda n: ExternalSpend(n, 0, "a mean"),
    ],
)
def test_numbers_of_any_kind_are_exact_rationals(make, number):
    event = make(number)
    exact = to_rational(number, "n")
    assert event == make(exact) and event.parameters == make(exact).parameters
    numbers = [getattr(event, name) for name in event.parameters if name != "description"]
    assert {type(value) for value in numbers} == {F} and numbers[0] == exact
    losses = [event.loss.epsilon, event.loss.rho, event.loss.delta]
    assert {type(amount) for amount in losses if amount != math.inf} == {F}
    # What an event's constructor takes, a request takes.
    accountant = BudgetAccountant(epsilon=1000, delta="1/2")
    accountant.request(event, role="any")
    assert accountant.ledger[0].parameters == event.parameters


def test_an_infinite_epsilon_stays_one():
    for infinity in (math.inf, np.float64(math.inf)):
        assert GeometricNoise(infinity, 1).parameters["epsilon"] == "inf"
        assert GeometricNoise(infinity, 1).loss.epsilon == math.inf


@pytest.mark.parametrize("value", [None, True, 1j, [1]])
def test_parameters_that_are_no_numbers_are_refused(value):
    with pytest.raises(ParameterTypeError, match="epsilon=.*must be a number"):
        ExponentialSelection(value, F(1))


@pytest.mark.parametrize("value", [math.nan, -math.inf, "nothing", "inf", "nan", "1/0"])
def test_numbers_that_are_no_finite_ones_are_refused(value):
    with pytest.raises(ParameterError, match="epsilon=.*must be a finite number"):
        ExponentialSelection(value, F(1))


@pytest.mark.parametrize("columns", [0, 1, F(5, 2), -3, math.inf])
def test_rows_that_add_up_to_nothing_have_two_columns_or_more(columns):
    with pytest.raises(ParameterError, match="columns="):
        ZeroSumGeometricNoise(F(1), F(4), columns)
    assert ZeroSumGeometricNoise(F(1), F(4), np.int64(2)).columns == 2


@pytest.mark.parametrize("event", [GeometricNoise(F(1), F(2)), DiscreteGaussianNoise(F(9), F(2))])
def test_other_noise_has_no_less_variance_for_what_adds_up_to_nothing(event):
    assert event.zero_sum_variance == event.variance


def test_noise_that_adds_up_to_nothing_costs_as_much_and_has_less_variance():
    for columns, part in ((2, F(1, 2)), (3, F(5, 8)), (10, F(19, 22))):
        event, other = ZeroSumGeometricNoise(F(1), F(4), columns), GeometricNoise(F(1), F(4))
        assert event.loss == other.loss and event.variance == other.variance
        assert np.isclose(event.zero_sum_variance / event.variance, float(part))


def test_impossible_parameters_are_refused():
    with pytest.raises(ParameterError, match="epsilon=.*must not be negative"):
        GeometricNoise(F(-1), F(1))
    with pytest.raises(ParameterError, match="score_range=.*must be positive"):
        ExponentialSelection(F(1), F(0))
    with pytest.raises(ParameterError, match="l2_sensitivity_squared=.*must be positive"):
        DiscreteGaussianNoise(F(1), F(0))
    with pytest.raises(ParameterError, match="l1_sensitivity=inf: must be positive and finite"):
        GeometricNoise(1, math.inf)


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(5)])
@pytest.mark.parametrize("sensitivity", [1, 3, 48])
def test_the_variance_of_noise_is_that_of_its_law(epsilon, sensitivity):
    a = float(epsilon / sensitivity)
    k = np.arange(1.0, 60 / a)
    weights = np.exp(-a * k)
    variance = 2 * (k**2 * weights).sum() / (1 + 2 * weights.sum())
    assert np.isclose(GeometricNoise(epsilon, F(sensitivity)).variance, variance, rtol=1e-6)
    assert DiscreteGaussianNoise(epsilon, F(sensitivity)).variance == float(epsilon)


def test_variance_at_the_ends_of_the_range():
    assert np.isclose(GeometricNoise(F(1, 10**20), F(1)).variance, 2e40)
    assert 0 < GeometricNoise(F(10**15), F(1)).variance < 1e-200


@pytest.mark.parametrize("event", [ExponentialSelection(F(1), F(1)), MINIMUM])
def test_what_is_no_noise_on_counts_has_no_variance(event):
    with pytest.raises(AssertionError, match="adds no noise"):
        _ = event.variance


def test_events_that_are_read_again_are_those_that_were_written():
    """Also once they were kept, and of more characters than are."""
    for epsilon in (F(1, 10), F(1, 5), F(1, 10**400), F(1, 10)):
        event = ExponentialSelection(epsilon, F(1))
        parameters = event.parameters
        for _ in range(2):
            assert read_event(event.mechanism, parameters) == event
        assert read_event(event.mechanism, parameters | {"epsilon": "2"}).epsilon == 2
        assert read_event("geometric noise", parameters) is None
        for wrong in ("0.1", "1e3", "-1", "1/0"):
            for _ in range(2):
                with pytest.raises((ValueError, ZeroDivisionError)):
                    read_event(event.mechanism, parameters | {"epsilon": wrong})
