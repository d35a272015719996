"""Stored books: ceilings, remainders and scopes are worked out again, and a delta counts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.ledger_check import is_within, verify_ledger
from dpforest.accounting.losses import PrivacyLoss

DELTA = Fraction(1, 10**6)


def books(total, spent, delta=DELTA):
    accountant = BudgetAccountant(total, delta, "shared")
    with accountant.open_scope("fit") as scope:
        scope.request(GeometricNoise(spent, 1), role="counts")
    return accountant.frozen()


@pytest.mark.parametrize("delta", [0, DELTA])
def test_honest_books_hold(delta):
    assert verify_ledger(books(1, Fraction(1, 2), delta)) == ()
    assert verify_ledger(books(1, 1, delta)) == ()


@pytest.mark.parametrize("delta", [0, DELTA])
def test_scopes_above_their_ceiling_are_found(delta):
    small = BudgetAccountant(1, delta, "shared").frozen()
    large = books(40, 30, delta)
    forged = large.model_copy(update={"total_record": small.total_record})
    assert any("above its ceiling" in problem for problem in verify_ledger(forged))


def test_a_remainder_of_other_books_is_found():
    other = books(1, Fraction(1, 4)).remaining_record
    forged = books(1, Fraction(1, 2)).model_copy(update={"remaining_record": other})
    assert any("remainder" in problem for problem in verify_ledger(forged))


@pytest.mark.parametrize(("loss", "within"), [
    (PrivacyLoss(1, 0.5, 0), True),
    (PrivacyLoss(2, 2.0, 0), False),
    (PrivacyLoss(1, 0.0, DELTA), True),
    (PrivacyLoss(1, 0.0, 2 * DELTA), False),
])  # fmt: skip
def test_a_ceiling_admits_neither_more_epsilon_nor_more_delta(loss, within):
    assert is_within(loss, Fraction(1), DELTA) is within
