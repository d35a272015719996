"""Events: what each costs, and which parameters it refuses."""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    PermuteAndFlipSelection,
    PrivacyLoss,
)
from dpforest.exceptions import ParameterError, ParameterTypeError


@pytest.mark.parametrize(
    ("event", "loss"),
    [
        (ExponentialSelection(F(1, 2), F(2)), PrivacyLoss(F(1, 2), F(1, 32))),
        (PermuteAndFlipSelection(F(1, 2), F(2)), PrivacyLoss(F(1, 2), F(1, 8))),
        (GeometricNoise(F(1, 2), F(1)), PrivacyLoss(F(1, 2), F(1, 8))),
        (DiscreteGaussianNoise(F(8), F(2)), PrivacyLoss(math.inf, F(1, 8))),
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


@pytest.mark.parametrize("value", [0.1, math.nan, "0.1", None, True])
def test_inexact_parameters_are_refused(value):
    with pytest.raises(ParameterTypeError, match="epsilon=.*must be a Fraction"):
        ExponentialSelection(value, F(1))


def test_impossible_parameters_are_refused():
    with pytest.raises(ParameterError, match="epsilon=.*must not be negative"):
        GeometricNoise(F(-1), F(1))
    with pytest.raises(ParameterError, match="score_range=.*must be positive"):
        ExponentialSelection(F(1), F(0))
    with pytest.raises(ParameterError, match="l2_sensitivity_squared=.*must be positive"):
        DiscreteGaussianNoise(F(1), F(0))
