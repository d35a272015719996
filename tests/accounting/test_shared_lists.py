"""Certified lists that share an accountant: each counts as its rho, or one stands for all."""

from __future__ import annotations

import math
import sys
import threading
from fractions import Fraction as F

import pytest
from certified_lists import open_certified

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    PrivacyLoss,
)
from dpforest.accounting.caps import open_capped
from dpforest.accounting.certificates import Certificate, Repeat, certify, epsilon_bound
from dpforest.accounting.conversion import epsilon_of_rho, rho_of_epsilon
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.units import group_loss
from dpforest.accounting.verify import claimed_loss, is_used_up, verify_composition
from dpforest.exceptions import BudgetExceeded

MILLIONTH = F(1, 10**6)
REPEATS = (Repeat((DiscreteGaussianNoise(F(200), F(1)), ExponentialSelection(F(1, 50), F(2))), 3),)
OTHER = (Repeat((DiscreteGaussianNoise(F(300), F(1)),), 2),)
MORE = GeometricNoise(F(1, 10**9), F(1))


def certified(repeats=REPEATS, size: int = 1) -> Certificate:
    unit = Certificate(repeats, F(1), MILLIONTH, size).unit_repeats
    return certify(repeats, epsilon_bound(unit, MILLIONTH), MILLIONTH, size)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certified()


def spend(scope, certificate: Certificate) -> None:
    for event in certificate.releases():
        scope.request(event, role="test")


def fit(accountant: BudgetAccountant, certificate: Certificate, label: str = "fit"):
    """A fit as the estimators make it."""
    scope = accountant.open_scope(
        label,
        certificate.additive,
        max_records_per_unit=certificate.records_per_unit,
        alone=certificate.loss,
    )
    with scope, open_certified(scope, "learner", certificate) as learner:
        spend(learner, certificate)
    return scope


def holding(certificates, delta: F = 10 * MILLIONTH) -> BudgetAccountant:
    """An accountant whose ceiling in rho is hardly more than what the lists add up to."""
    rho = sum(certificate.rho for certificate in certificates) * F(1001, 1000)
    return BudgetAccountant(epsilon_of_rho(rho, delta)[0], delta)


# -- beside other spending --------------------------------------------------------------------


@pytest.mark.parametrize("n_lists", [2, 3, 10])
def test_lists_add_up_in_rho_until_the_ceiling(certificate, n_lists):
    accountant = holding([certificate] * n_lists)
    for _ in range(n_lists):
        scope = fit(accountant, certificate)
        assert scope.charged == certificate.additive
        assert claimed_loss(scope.record(), MILLIONTH) == certificate.loss
    assert accountant.loss == certificate.additive * n_lists
    assert accountant.loss.rho <= rho_of_epsilon(*ceiling(accountant))
    with pytest.raises(BudgetExceeded):
        fit(accountant, certificate)
    assert verify_composition(accountant.composition()) == ()
    assert not is_used_up(accountant.composition())


def ceiling(accountant: BudgetAccountant) -> tuple[F, F]:
    exact = accountant.total.exact
    return exact.epsilon, exact.delta


def test_together_they_cost_less_than_their_certificates(certificate):
    accountant = holding([certificate] * 10)
    assert accountant.total.epsilon < 10 * float(certificate.epsilon) / 2


def test_a_list_that_was_chosen_by_what_another_released(certificate):
    other = certified(OTHER)
    accountant = holding([certificate, other, other])
    for chosen in (certificate, other, other):
        fit(accountant, chosen)
    assert accountant.loss == certificate.additive + other.additive + other.additive


def test_a_list_of_selections_alone_adds_up_in_epsilon_too():
    """Without Gaussian noise there is no shift, and nothing is infinite."""
    selections = certified((Repeat((ExponentialSelection(F(1, 20), F(2)),), 4),))
    assert selections.holds and selections.epsilon < F(4, 20)
    accountant = holding([selections] * 2)
    for _ in range(2):
        scope = fit(accountant, selections)
        assert claimed_loss(scope.record(), MILLIONTH) == selections.loss
    rho = F(1, 20) ** 2 / 8 * 4
    assert accountant.loss == PrivacyLoss(F(8, 20), 2 * rho)
    assert verify_composition(accountant.composition()) == ()
    read = FrozenLedger.from_json(accountant.to_json())
    assert verify_ledger(read) == () and read.scopes == accountant.composition()


def test_a_list_that_costs_nothing_is_certified():
    """No shift and no selection: the square root of nothing is not below it."""
    nothing = Certificate((Repeat((ExponentialSelection(F(0), F(2)),), 4),), F(1, 10), MILLIONTH)
    assert nothing.holds and nothing.additive == NO_LOSS
    accountant = holding([certified()])
    fit(accountant, nothing)
    assert accountant.loss == NO_LOSS and accountant.remaining.epsilon > 0


def test_beside_pure_and_gaussian_requests(certificate):
    accountant = BudgetAccountant(9, MILLIONTH)
    accountant.request(GeometricNoise(F(1, 10), F(1)), role="before")
    fit(accountant, certificate)
    accountant.request(DiscreteGaussianNoise(F(100), F(1)), role="after")
    expected = PrivacyLoss(math.inf, F(1, 200) + certificate.rho + F(1, 200))
    assert accountant.loss == expected


def test_a_delta_that_is_spent_elsewhere_comes_off_the_ceiling(certificate):
    accountant = holding([certificate] * 2, 2 * MILLIONTH)
    noise = type("Slack", (ExternalSpend,), {"loss": PrivacyLoss(F(0), F(0), MILLIONTH)})
    accountant.request(noise(F(0), MILLIONTH, "slack"), role="slack of a sampler")
    fit(accountant, certificate)
    with pytest.raises(BudgetExceeded):
        fit(accountant, certificate)
    assert accountant.loss.delta == MILLIONTH


def test_a_list_that_ends_early_stays_spent_whole(certificate):
    accountant = holding([certificate] * 2)
    scope = accountant.open_scope("fit")
    with scope, open_certified(scope, "learner", certificate) as learner:
        learner.request(next(certificate.releases()), role="test")
        assert accountant.loss == certificate.additive
    assert accountant.loss == certificate.additive
    assert claimed_loss(scope.record(), MILLIONTH).epsilon == certificate.epsilon
    assert verify_composition(accountant.composition()) == ()


def test_a_failure_keeps_all_of_its_rho(certificate):
    accountant = holding([certificate] * 2)
    scope = accountant.open_scope("fit")
    with pytest.raises(RuntimeError), scope:  # noqa: SIM117
        with open_certified(scope, "learner", certificate) as learner:
            learner.request(next(certificate.releases()), role="test")
            raise RuntimeError
    assert accountant.loss == certificate.additive
    fit(accountant, certificate)
    assert verify_composition(accountant.composition()) == ()


@pytest.mark.parametrize("size", [2, 3])
def test_units_pay_the_square_of_their_size(size):
    listed = certified(OTHER, size)
    accountant = holding([listed, listed])
    for _ in range(2):
        fit(accountant, listed)
    own = sum((repeat.events[0].loss * repeat.times for repeat in OTHER), NO_LOSS)
    assert listed.additive == group_loss(own, size)
    assert accountant.loss == listed.additive * 2
    assert verify_composition(accountant.composition()) == ()


# -- alone ------------------------------------------------------------------------------------


def lone(certificate: Certificate, more: F = F(0)) -> BudgetAccountant:
    """An accountant with room for the list by its certificate alone."""
    accountant = BudgetAccountant(certificate.epsilon + more, certificate.delta)
    assert accountant.total.exact.rho < certificate.rho
    return accountant


SPENDING = {
    "pure": lambda accountant: accountant.request(MORE, role="more"),
    "rho": lambda a: a.request(DiscreteGaussianNoise(F(10**12), F(1)), role="more"),
    "delta": lambda a: a.request(ExternalSpend(F(0), F(1, 10**12), "more"), role="more"),
    "scope": lambda accountant: accountant.open_scope("more", MORE.loss),
    "caps": lambda accountant: open_capped(accountant, "more", (MORE.loss,)),
    "adaptive": lambda accountant: accountant.open_scope("more", MORE.loss, adaptive=True),
    "sampled": lambda a: a.poisson("more", F(1, 2)).request(MORE, role="more"),
    "check": lambda accountant: accountant.check(MORE.loss),
    "list": lambda accountant: fit(accountant, certified(OTHER)),
}


@pytest.mark.parametrize("way", SPENDING)
@pytest.mark.parametrize("when", ["before its first release", "after it", "when it is closed"])
def test_nothing_passes_beside_or_after_it(certificate, way, when):
    accountant = lone(certificate, F(1, 1000))
    scope = accountant.open_scope("fit", certificate.additive, alone=certificate.loss)
    learner = open_certified(scope, "learner", certificate)
    if when != "before its first release":
        spend(learner, certificate)
    if when == "when it is closed":
        learner.close(), scope.close()
    assert accountant.loss == certificate.loss
    assert accountant.remaining.exact == NO_LOSS
    with pytest.raises(BudgetExceeded):
        SPENDING[way](accountant)
    assert accountant.loss == certificate.loss
    if when != "before its first release":
        assert verify_composition(accountant.composition()) == ()
        assert is_used_up(accountant.composition())


@pytest.mark.parametrize("way", [way for way in SPENDING if way not in ("check", "caps")])
def test_after_any_spending_it_is_refused(certificate, way):
    accountant = lone(certificate, F(1, 1000))
    if way == "list":
        accountant = BudgetAccountant(certificate.epsilon, MILLIONTH)
    SPENDING[way](accountant)
    with pytest.raises(BudgetExceeded):
        fit(accountant, certificate)
    with pytest.raises(BudgetExceeded):
        open_certified(accountant._root, "learner", certificate)


def test_what_was_opened_before_and_spent_nothing_gets_nothing(certificate):
    accountant = lone(certificate, F(1, 1000))
    early = accountant.open_scope("early")
    capped = open_capped(accountant, "capped", (MORE.loss,))
    fit(accountant, certificate)
    for scope in (early, capped):
        with pytest.raises(BudgetExceeded):
            scope.request(MORE, role="late")


@pytest.mark.parametrize("closed", [False, True])
def test_a_list_that_was_given_up_unused_leaves_everything(certificate, closed):
    accountant = lone(certificate)
    scope = accountant.open_scope("fit", certificate.additive, alone=certificate.loss)
    with scope, open_certified(scope, "learner", certificate):
        pass
    assert accountant.loss == NO_LOSS and accountant.remaining == accountant.total
    if closed:
        accountant.request(MORE, role="more")
        return
    fit(accountant, certificate)
    assert accountant.loss == certificate.loss


def test_a_part_of_it_uses_everything_up(certificate):
    accountant = lone(certificate, F(1, 1000))
    with open_certified(accountant._root, "learner", certificate) as learner:
        learner.request(next(certificate.releases()), role="test")
    assert accountant.loss.epsilon == certificate.epsilon
    with pytest.raises(BudgetExceeded):
        accountant.request(MORE, role="more")


def test_what_is_spent_alone_is_the_certificates(certificate):
    accountant = lone(certificate, F(1, 1000))
    fit(accountant, certificate)
    spent = accountant.spent
    assert (spent.exact.epsilon, spent.exact.delta) == (certificate.epsilon, certificate.delta)
    # Every entry with Gaussian noise is unbounded by itself.
    assert any(entry.loss.epsilon == math.inf for entry in accountant.ledger)


def test_within_a_larger_reserve_more_is_granted_and_adds_up(certificate):
    """As the text of ``certified`` says: up to the reserve, and never beyond."""
    room = F(1, 1000)
    accountant = lone(certificate, room)
    reserve = PrivacyLoss(certificate.epsilon + room, certificate.rho + 1, MILLIONTH)
    with accountant.open_scope("fit", reserve) as scope:
        with open_certified(scope, "learner", certificate) as learner:
            spend(learner, certificate)
        scope.request(GeometricNoise(room, F(1)), role="beside")
        for place in (scope, accountant):
            with pytest.raises(BudgetExceeded):
                place.request(MORE, role="beyond the reserve")
        assert accountant.loss.epsilon == certificate.epsilon + room
    assert accountant.loss.delta == MILLIONTH
    assert verify_composition(accountant.composition()) == ()


def test_opened_in_a_scope_that_set_its_cost_aside(certificate):
    accountant = lone(certificate, F(1, 1000))
    reserve = PrivacyLoss(certificate.epsilon + F(1, 1000), F(9), MILLIONTH)
    scope = accountant.open_scope("fit", reserve)
    with scope, open_certified(scope, "learner", certificate) as learner:
        spend(learner, certificate)
    with pytest.raises(BudgetExceeded):
        accountant.request(MORE, role="more")


@pytest.mark.parametrize("room", ["alone", "one", "five"])
def test_threads_never_pass_the_ceiling(certificate, room):
    accountant = lone(certificate) if room == "alone" else None
    accountant = accountant or holding([certificate] * {"one": 1, "five": 5}[room])
    start, passed, ceilings = threading.Barrier(8), [], []

    def run(number: int) -> None:
        start.wait()
        for turn in range(3):
            try:
                fit(accountant, certificate, f"thread {number}, {turn}")
                passed.append(number)
            except BudgetExceeded:
                ceilings.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(interval)
    assert len(passed) == (5 if room == "five" else 1) and len(ceilings) == 24 - len(passed)
    record = accountant.composition()
    assert verify_composition(record) == () and is_used_up(record) == (room == "alone")


def test_books_with_something_beside_it_are_refused(certificate):
    accountant = lone(certificate, F(1, 1000))
    fit(accountant, certificate)
    record = accountant.composition()
    beside = BudgetAccountant(1)
    beside.open_scope("more").request(MORE, role="more")
    (more,) = beside.composition().children
    total = type(record.composed).of(record.composed.loss + MORE.loss)
    forged = record.model_copy(
        update={"children": (*record.children, more), "composed": total, "charged": total}
    )
    problems = verify_composition(forged)
    assert problems == ("learner: it stands by its certificate, and something else was granted",)
