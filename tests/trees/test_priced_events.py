"""Events for a share of a budget: never above it, and hardly below."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.records.base import Sensitivity
from dpforest.trees.priced_events import (
    count_noise,
    exponential_selection,
    noise_name,
    selection_event,
)

SHARES = [Fraction(1, 10**6), Fraction(1, 3), Fraction(7, 5)]
RANGE = Fraction(3, 4)


def spent_of(event, pure: bool) -> Fraction:
    return event.loss.epsilon if pure else event.loss.rho


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("event_of", [
    lambda share, pure: count_noise(Sensitivity(Fraction(3), Fraction(5)), share, pure),
    lambda share, pure: count_noise(Sensitivity(Fraction(3), Fraction(5), 7), share, pure),
    lambda share, pure: selection_event(share, RANGE, pure),
    lambda share, pure: exponential_selection(share, RANGE, pure),
])  # fmt: skip
def test_an_event_costs_its_share_and_never_more(event_of, share, pure):
    spent = spent_of(event_of(share, pure), pure)
    assert share * Fraction(999_999, 10**6) < spent <= share
    assert not pure or spent == share


@pytest.mark.parametrize("pure", [True, False])
def test_a_draw_has_the_mechanism_that_its_currency_is_best_for(pure):
    own = selection_event(Fraction(1), RANGE, pure)
    assert type(own) is (PermuteAndFlipSelection if pure else ExponentialSelection)
    assert own.score_range == RANGE
    assert type(exponential_selection(Fraction(1), RANGE, pure)) is ExponentialSelection


@pytest.mark.parametrize(
    ("columns", "kind", "name"),
    [
        (0, GeometricNoise, "geometric"),
        (3, ZeroSumGeometricNoise, "zero-sum geometric"),
        (32, ZeroSumGeometricNoise, "zero-sum geometric"),
        # Rows of so many columns are kept too seldom for what is left to gain.
        (33, GeometricNoise, "geometric"),
    ],
)
def test_pure_noise_adds_up_to_nothing_where_sums_do(columns, kind, name):
    moved = Sensitivity(Fraction(3), Fraction(5), columns)
    event = count_noise(moved, Fraction(1), pure=True)
    assert type(event) is kind and event.l1_sensitivity == 3
    assert noise_name(moved, pure=True) == name
    assert columns in (0, 33) or event.columns == columns
    assert type(count_noise(moved, Fraction(1), pure=False)) is DiscreteGaussianNoise
