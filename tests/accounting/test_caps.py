"""Scopes whose spending stays under one of several caps that were fixed beforehand."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.caps import open_capped
from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.verify import verify_composition
from dpforest.exceptions import BudgetExceeded

PURE = PrivacyLoss.pure(F(1, 10))
RHO = PrivacyLoss.concentrated(F(1, 100))
COUNT = GeometricNoise(F(1, 50), F(1))


def gaussian(rho: F) -> DiscreteGaussianNoise:
    return DiscreteGaussianNoise(1 / (2 * rho), F(1))


@pytest.fixture
def accountant() -> BudgetAccountant:
    return BudgetAccountant(1, "1e-6")


def test_either_cap_may_be_used_up_but_not_passed(accountant):
    scope = open_capped(accountant, "fit", (PURE, RHO))
    scope.request(COUNT, role="count")
    scope.request(gaussian(F(98, 10_000)), role="leaves")
    with pytest.raises(BudgetExceeded, match="caps of 'fit'"):
        scope.request(gaussian(F(1, 10_000)), role="leaves")
    assert RHO.covers(scope.loss)


def test_the_caps_bind_below_a_larger_ceiling(accountant):
    scope = open_capped(accountant, "fit", (PURE, RHO))
    with pytest.raises(BudgetExceeded, match="caps"):
        scope.request(GeometricNoise(F(1, 2), F(1)), role="leaves")
    assert scope.loss == PrivacyLoss()


def test_a_reserve_inside_counts_at_once(accountant):
    scope = open_capped(accountant, "fit", (PURE, RHO))
    scope.sequential("training", reserve=PrivacyLoss.concentrated(F(1, 100)))
    with pytest.raises(BudgetExceeded, match="caps"):
        scope.request(gaussian(F(1, 10**6)), role="more")


def test_every_cap_must_fit_when_it_is_opened():
    with pytest.raises(BudgetExceeded):
        open_capped(BudgetAccountant("0.05"), "fit", (PURE,))
    with pytest.raises(BudgetExceeded):
        open_capped(BudgetAccountant("0.2"), "fit", (PURE, RHO))


def test_check_spends_nothing(accountant):
    accountant.check(PURE)
    with pytest.raises(BudgetExceeded):
        accountant.check(PrivacyLoss.pure(F(3)))
    assert accountant.loss == PrivacyLoss() and accountant.ledger == ()


def test_the_record_names_the_caps(accountant):
    scope = open_capped(accountant, "fit", (PURE, RHO))
    assert [cap.loss for cap in scope.record().caps] == [PURE, RHO]


def test_the_first_cap_is_set_aside_while_records_are_read(accountant):
    scope = open_capped(accountant, "fit", (PURE, RHO))
    scope.hold()
    assert scope.charged == PURE and verify_composition(accountant.composition()) == ()
    scope.let_go()
    assert scope.charged == PrivacyLoss() and scope.record().reserve is None
    # From here on the other cap may be used up.
    scope.request(gaussian(F(1, 100)), role="leaves")


def test_what_is_set_aside_while_records_are_read_stays_spent_if_that_fails(accountant):
    with pytest.raises(ZeroDivisionError), open_capped(accountant, "fit", (PURE, RHO)) as scope:
        scope.hold()
        scope.fail()
        raise ZeroDivisionError
    (record,) = accountant.composition().children
    assert record.failed and record.reserve_kept and record.charged.loss == PURE
    assert verify_composition(accountant.composition()) == ()


def test_a_cap_that_was_spent_meanwhile_is_not_set_aside(accountant):
    scope = open_capped(accountant, "fit", (PURE, RHO))
    accountant.request(GeometricNoise(F(19, 20), F(1)), role="other")
    with pytest.raises(BudgetExceeded):
        scope.hold()
    assert scope.charged == PrivacyLoss() and scope.record().reserve is None
