"""Events for a share of a budget: never above it, and hardly below."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpforest.accounting.events import ExponentialSelection, PermuteAndFlipSelection
from dpforest.records.base import Sensitivity
from dpforest.trees.priced_events import count_noise, exponential_selection, selection_event

SHARES = [Fraction(1, 10**6), Fraction(1, 3), Fraction(7, 5)]
RANGE = Fraction(3, 4)


def spent_of(event, pure: bool) -> Fraction:
    return event.loss.epsilon if pure else event.loss.rho


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("event_of", [
    lambda share, pure: count_noise(Sensitivity(Fraction(3), Fraction(5)), share, pure),
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
