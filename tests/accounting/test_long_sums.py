"""Amounts of too many digits for books are refused before they are spent, or rounded up."""

from __future__ import annotations

import random
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExternalSpend,
    FrozenLedger,
    PrivacyLoss,
)
from dpforest.accounting.caps import open_capped
from dpforest.accounting.fits import earlier_fits, recall_fits, register_fit
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.rationals import (
    TooManyDigitsError,
    added_up,
    exact_text,
    is_exact,
    parse_amount,
    short_up,
    to_rational,
)
from dpforest.exceptions import ParameterError

MILLIONTH = F(1, 10**6)
MOST = 10**4000


def noise(sigma_squared):
    return DiscreteGaussianNoise(F(sigma_squared), F(1))


def noise_of_digits(n_digits, odd=1):
    """Noise whose rho has so many digits, and few divisors in common with another one's."""
    return noise(F(10 ** (n_digits - 1) + odd, 2))


def check_books(accountant):
    books = FrozenLedger.from_json(accountant.to_json())
    assert verify_ledger(books) == ()
    assert books.scopes.charged.loss == accountant.loss


class TestRequests:
    def test_odd_variances_are_refused_before_books_are_too_long(self):
        chance, accountant = random.Random(0), BudgetAccountant(1000, MILLIONTH)
        with pytest.raises(ParameterError, match="more than 4000 digits") as refused:
            for _ in range(300):
                before = accountant.loss, len(accountant.ledger)
                accountant.request(noise(F(chance.getrandbits(100) | 1, 2**20)), role="of theirs")
        assert refused.value.parameter == "loss"
        assert (accountant.loss, len(accountant.ledger)) == before
        assert before[1] > 100
        check_books(accountant)
        # What has few digits is granted as before.
        accountant.request(noise(2), role="of theirs")
        check_books(accountant)

    def test_one_release_of_too_many_digits_is_refused(self):
        accountant = BudgetAccountant(1, MILLIONTH)
        with pytest.raises(ParameterError, match="more than 4000 digits"):
            accountant.request(ExternalSpend(F(1, 10**2100 + 1), F(0), "theirs"), role="r")
        assert accountant.loss == NO_LOSS and accountant.ledger == ()

    def test_a_remainder_of_too_many_digits_is_refused(self):
        total = 10**2100
        accountant = BudgetAccountant(F(total + 2, total + 1))
        with pytest.raises(ParameterError, match="more than 4000 digits"):
            accountant.request(ExternalSpend(F(1, 10**1950 + 7), F(0), "theirs"), role="r")
        assert accountant.loss == NO_LOSS
        check_books(accountant)

    def test_a_check_says_what_a_request_would(self):
        accountant = BudgetAccountant(1, MILLIONTH)
        accountant.request(noise_of_digits(2500, 1), role="r")
        with pytest.raises(ParameterError, match="more than 4000 digits"):
            accountant.check(noise_of_digits(2500, 3).loss)


class TestScopes:
    def test_a_reserve_is_refused_and_nothing_is_opened(self):
        accountant = BudgetAccountant(1, MILLIONTH)
        accountant.request(noise_of_digits(2500, 1), role="r")
        before = accountant.composition()
        with pytest.raises(ParameterError, match="more than 4000 digits"):
            accountant.open_scope("fit", noise_of_digits(2500, 3).loss, adaptive=True)
        assert accountant.composition() == before
        assert not accountant._root._holds_adaptive()
        with accountant.open_scope("fit", PrivacyLoss.concentrated(F(1, 100))):
            pass

    def test_alternatives_leave_room_for_what_follows_them(self):
        accountant = BudgetAccountant(1, MILLIONTH)
        accountant.request(noise_of_digits(3600), role="r")
        caps = PrivacyLoss.pure(F(1, 100)), PrivacyLoss.concentrated(F(1, 1000))
        with pytest.raises(ParameterError, match="more than 3500 digits"):
            open_capped(accountant, "fit", caps)
        assert [scope.label for scope in accountant.composition().children] == []

    def test_closing_never_fails_and_keeps_the_reserve_instead(self):
        accountant = BudgetAccountant(1, MILLIONTH)
        accountant.request(noise_of_digits(2500, 1), role="r")
        reserve = PrivacyLoss.concentrated(F(1, 100))
        with accountant.open_scope("fit", reserve) as scope:
            scope.request(noise_of_digits(2500, 3), role="r")
            during = accountant.loss
        assert not scope.is_open
        assert scope.charged.rho == reserve.rho and accountant.loss == during
        check_books(accountant)


class TestListings:
    def test_sums_are_rounded_up_where_they_are_long(self):
        total = F(0)
        for odd in range(1, 41, 2):
            loss = PrivacyLoss.pure(F(1, 10**300 + odd))
            total += loss.epsilon
            listing = register_fit("long sums", "Forest", loss, charged_to="an accountant")
        assert listing.n_fits == 20
        written = parse_amount(listing.epsilon)
        assert total < written < total + F(1, 10**990)
        (earlier,) = earlier_fits("long sums")
        assert earlier.loss.epsilon == written

    def test_histories_are_joined_where_their_sum_is_long(self):
        for lineage, odd in (("one", 1), ("other", 3)):
            loss = PrivacyLoss.concentrated(F(1, 10**2500 + odd))
            register_fit(f"long {lineage}", "Forest", loss, charged_to=lineage)
        recall_fits("long one", "Forest", earlier_fits("long other"))
        loss = PrivacyLoss.concentrated(F(1, 2))
        listing = register_fit("long one", "Forest", loss, charged_to="here")
        assert listing.n_fits == 3 and F(1, 2) < parse_amount(listing.rho) < 1

    def test_what_has_too_many_digits_before_the_point_is_infinite(self):
        assert short_up(F(MOST)) == short_up(F(2 * MOST + 1, 2)) == float("inf")
        assert short_up(F(1, MOST)) == F(1, 10**1000)
        assert short_up(F(1, MOST - 1)) == F(1, MOST - 1)
        assert short_up(float("inf")) == float("inf")


@pytest.mark.parametrize("amount", [F(MOST - 1), F(1, MOST - 1), F(MOST - 2, MOST - 1)])
def test_the_longest_amount_is_one_that_is_read_added_and_written(amount):
    assert to_rational(amount, "epsilon") == added_up([amount]) == amount
    assert parse_amount(exact_text(amount)) == amount


@pytest.mark.parametrize("amount", [F(MOST), F(-MOST), F(1, MOST)])
def test_one_digit_more_is_refused_everywhere(amount):
    with pytest.raises(ParameterError, match="too many digits"):
        to_rational(amount, "epsilon")
    with pytest.raises(TooManyDigitsError):
        added_up([amount])
    assert not is_exact(str(amount))
