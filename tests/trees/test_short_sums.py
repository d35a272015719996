"""Sums of what many fits spend stay short, so that their books are written and read."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from dpforest.accounting import BudgetAccountant, DiscreteGaussianNoise, FrozenLedger
from dpforest.accounting.certificates import Repeat, certify
from dpforest.accounting.fits import register_fit
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.releases import Release, once, priced_noise, scaled_noise
from dpforest.datasets import load_adult
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.estimators.planning import make_plan
from dpforest.trees.strategies import STRATEGIES

MILLIONTH = F(1, 10**6)
#: Digits of a sum, however many budgets it is of; books hold 4,000.
FEW = 300


def digits(loss):
    amounts = [a for a in (loss.epsilon, loss.rho, loss.delta) if isinstance(a, F)]
    return max(len(str(part)) for a in amounts for part in (a.numerator, a.denominator))


def budget(step):
    """Epsilons as a search over a grid asks for them."""
    return F(repr(0.3 + 0.00137 * step))


@pytest.fixture(scope="module")
def facts():
    return table_facts(DomainEncoder(load_adult().domain), 1e4)


@pytest.mark.parametrize("delta", [MILLIONTH, F(0)])
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_sums_of_plans_are_short(strategy, delta, facts):
    losses = [
        make_plan(strategy, facts, budget(step), delta, "an accountant").plan.loss
        for step in range(0, 300, 12)
    ]
    assert len({loss.rho for loss in losses}) == len(losses)
    assert digits(sum(losses, NO_LOSS)) < FEW


def test_sums_of_hundreds_of_prices_are_short():
    total = NO_LOSS
    for step in range(1, 600):
        rho = F(step, 3 * 7**20) ** 2
        total += scaled_noise(priced_noise(F(step), rho), F(8191 - step, 8192)).loss
    assert digits(total) < FEW


@pytest.mark.parametrize("rho", [F(1, 3), F(7, 10**40), F(10**30, 7), F(1, 8), F(3**900, 7**901)])
def test_noise_is_at_least_what_was_asked_for(rho):
    for sensitivity in (F(1), F(14), F(65536**2), F(10, 3)):
        noise = priced_noise(sensitivity, rho)
        assert noise.l2_sensitivity_squared == sensitivity
        assert rho * (1 - F(1, 2**39)) < noise.loss.rho <= rho
        denominator = noise.loss.rho.denominator
        assert denominator & (denominator - 1) == 0


def test_a_price_on_the_grid_is_taken_as_it_is():
    assert priced_noise(F(1), F(1, 8)) == DiscreteGaussianNoise(F(4), F(1))


def certified_books(n_fits):
    accountant = BudgetAccountant(1000, MILLIONTH)
    for step in range(n_fits):
        noise = scaled_noise(priced_noise(F(1), F(1, 100)), F(10_000 + 37 * step, 9_999))
        certificate = certify((Repeat((noise,)),), F(2), MILLIONTH)
        fit = accountant.open_scope(f"fit {step}")
        rounds = (once("test", Release("leaves", noise)),)
        price = Price(certificate.additive, certificate, certificate.loss)
        with fit, open_list(fit, "list", rounds, price) as place:
            place.grant(*rounds[0].steps)
    return accountant


def test_books_of_hundreds_of_certified_fits_are_read():
    accountant = certified_books(300)
    assert len({entry.rho for entry in accountant.ledger}) == 300
    assert digits(accountant.loss) < FEW
    books = FrozenLedger.from_json(accountant.to_json())
    assert verify_ledger(books) == ()
    assert books.scopes.charged.loss == accountant.loss


def test_hundreds_of_fits_of_one_estimator_are_listed(facts):
    for step in range(300):
        noise = scaled_noise(priced_noise(F(1), F(1, 100)), F(10_000 + 37 * step, 9_999))
        listing = register_fit("short sums", "Forest", noise.loss, charged_to="an accountant")
    assert listing.n_fits == 300
    assert digits(PrivacyLoss(rho=F(listing.rho))) < FEW
