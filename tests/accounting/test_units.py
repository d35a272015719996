"""Units of several records: group losses, and a scope that asks for records and pays for units."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import pytest
from certified_lists import open_certified

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    FrozenLedger,
    GeometricNoise,
    PrivacyLoss,
)
from dpforest.accounting.caps import open_capped
from dpforest.accounting.certificates import Certificate, Repeat, certify, epsilon_bound, grouped
from dpforest.accounting.events import ExternalSpend
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.units import check_records_per_unit, group_loss
from dpforest.accounting.verify import claimed_loss, sole_certificate, verify_composition
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError

MILLIONTH = F(1, 10**6)
COUNT = GeometricNoise(F(1, 10), F(1))
NOISE = DiscreteGaussianNoise(F(4000), F(1))
SELECTION = ExponentialSelection(F(1, 50), F(2))
REPEATS = (Repeat((NOISE,)), Repeat((SELECTION, NOISE), 5))
LIST = [NOISE, *[SELECTION, NOISE] * 5]


def certificate_for(size: int) -> Certificate:
    epsilon = epsilon_bound(grouped(REPEATS, size), MILLIONTH)
    return certify(REPEATS, epsilon, MILLIONTH, size)


# -- group losses --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 7])
def test_a_pure_and_a_concentrated_loss(size):
    assert group_loss(PrivacyLoss.pure(F(1, 3)), size) == PrivacyLoss.pure(F(size, 3))
    assert group_loss(PrivacyLoss.bounded_range(F(1, 3)), size) == PrivacyLoss.bounded_range(
        F(size, 3)
    )
    noise = PrivacyLoss.concentrated(F(1, 50))
    assert group_loss(noise, size) == PrivacyLoss.concentrated(F(size**2, 50))
    assert group_loss(NO_LOSS, size) == NO_LOSS


def test_one_record_a_unit_changes_nothing():
    loss = PrivacyLoss(F(1, 2), F(1, 9), MILLIONTH)
    assert group_loss(loss, 1) is loss


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_delta_grows_by_the_group_rule_rounded_up(size):
    loss = group_loss(PrivacyLoss(F(1, 2), F(1, 9), MILLIONTH), size)
    exact = sum(math.exp(0.5 * i) for i in range(size)) * 1e-6
    assert loss.epsilon == F(size, 2) and loss.rho == math.inf
    assert exact <= float(loss.delta) * (1 + 1e-15) and float(loss.delta) < exact * (1 + 1e-12)


def test_the_group_rule_is_reached():
    """(epsilon, delta) chained k times, each step as bad as it may be, is what the rule says."""
    step = math.exp(0.5)
    chance, delta = 0.0, 1e-6
    for _ in range(3):
        chance = step * chance + delta
    assert float(group_loss(PrivacyLoss(F(1, 2), F(1), MILLIONTH), 3).delta) == pytest.approx(
        chance, rel=1e-12
    )


@pytest.mark.parametrize("epsilon", [math.inf, F(10**6)])
def test_a_delta_beyond_all_bounds_is_one(epsilon):
    assert group_loss(PrivacyLoss(epsilon, F(1), MILLIONTH), 2).delta == 1


def test_randomised_response_of_a_unit_reaches_its_group_loss():
    """k answers of one person, all turned round: the ratio is e^(k epsilon), no more, no less."""
    stay = math.exp(0.4) / (1 + math.exp(0.4))
    ratios = [
        math.prod(stay / (1 - stay) if a else (1 - stay) / stay for a in answers)
        for answers in itertools.product([0, 1], repeat=3)
    ]
    assert math.log(max(ratios)) == pytest.approx(
        float(group_loss(PrivacyLoss.pure(F(2, 5)), 3).epsilon)
    )


@pytest.mark.parametrize("size", [0, -1])
def test_a_unit_owns_a_record(size):
    with pytest.raises(ParameterError, match="max_records_per_unit=.*must be at least 1"):
        check_records_per_unit(size)


@pytest.mark.parametrize("size", [1.5, "2", True, None])
def test_a_number_of_records_is_whole(size):
    with pytest.raises(ParameterTypeError, match="max_records_per_unit=.*must be a whole number"):
        check_records_per_unit(size)


# -- the scope -----------------------------------------------------------------------------------


def test_requests_cost_a_record_and_the_accountant_is_charged_a_unit():
    accountant = BudgetAccountant(F(6, 10), 0)
    with accountant.open_scope("fit", max_records_per_unit=3) as units:
        units.request(COUNT, role="test")
        assert accountant.loss == PrivacyLoss.pure(F(3, 10)) == units.loss
        tree = units.sequential("tree")
        tree.request(COUNT, role="test")
        assert tree.loss == COUNT.loss
        with pytest.raises(BudgetExceeded):
            tree.request(GeometricNoise(F(1, 10**6), F(1)), role="one more")
    assert accountant.loss.epsilon == F(6, 10)
    assert accountant.loss.rho == 9 * 2 * COUNT.loss.rho
    assert verify_composition(accountant.composition()) == ()


def test_the_reserve_of_units_is_in_units():
    accountant = BudgetAccountant(1)
    reserve = PrivacyLoss.pure(F(1, 2))
    with accountant.open_scope("fit", reserve=reserve, max_records_per_unit=5) as units:
        assert accountant.loss == reserve
        units.request(COUNT, role="test")
        with pytest.raises(BudgetExceeded, match="reserve of 'fit'"):
            units.request(GeometricNoise(F(1, 1000), F(1)), role="test")


def test_caps_of_units_are_in_units():
    accountant = BudgetAccountant(1, MILLIONTH)
    caps = (PrivacyLoss.pure(F(2, 10)), PrivacyLoss.concentrated(F(1, 100)))
    with open_capped(accountant, "fit", caps, max_records_per_unit=2) as units:
        units.request(COUNT, role="test")  # 0.2 of a unit, and rho = 0.02
        with pytest.raises(BudgetExceeded, match="caps of 'fit'"):
            units.request(NOISE, role="test")
    record = accountant.composition()
    assert verify_composition(record) == ()
    assert claimed_loss(record.children[0], MILLIONTH).epsilon >= F(2, 10)


def test_sampling_within_units_is_mixed_for_a_record_and_grouped_then():
    accountant = BudgetAccountant(10)
    with accountant.open_scope("fit", max_records_per_unit=2) as units:
        sides = units.parallel_records("sides", {"a": "1/2", "b": "1/2"})
        sides.side("a").request(GeometricNoise(F(1), F(1)), role="test")
        mixed = math.log((1 + math.e) / 2)
        assert float(sides.loss.epsilon) == pytest.approx(mixed)
        assert float(units.loss.epsilon) == pytest.approx(2 * mixed)
    assert verify_composition(accountant.composition()) == ()


def test_gaussian_noise_beside_pure_noise_and_a_closed_child():
    accountant = BudgetAccountant(5, MILLIONTH)
    with accountant.open_scope("fit", max_records_per_unit=2) as units:
        units.request(NOISE, role="test")
        with units.sequential("held", reserve=PrivacyLoss.concentrated(F(1, 100))) as held:
            held.request(NOISE, role="test")
            assert units.loss.rho == 4 * (NOISE.loss.rho + F(1, 100))
        assert units.loss == PrivacyLoss.concentrated(8 * NOISE.loss.rho)
    assert verify_composition(accountant.composition()) == ()


def test_an_outside_spend_with_a_delta_grows_by_the_group_rule():
    accountant = BudgetAccountant(5, F(1, 1000))
    with accountant.open_scope("fit", max_records_per_unit=2) as units:
        units.request(ExternalSpend(F(1), MILLIONTH, description="elsewhere"), role="test")
    assert accountant.loss.epsilon == 2
    assert float(accountant.loss.delta) == pytest.approx((1 + math.e) * 1e-6)
    assert verify_composition(accountant.composition()) == ()


def test_units_do_not_lie_within_units():
    accountant = BudgetAccountant(5)
    units = accountant.open_scope("fit", max_records_per_unit=2)
    from dpforest.accounting.units import open_units

    with pytest.raises(ScopeError, match="already counts in privacy units"):
        open_units(units.sequential("part"), "again", 2)


def test_one_record_a_unit_opens_a_plain_scope():
    record = BudgetAccountant(5).open_scope("fit", max_records_per_unit=1).record()
    assert (record.kind, record.records_per_unit) == ("sequential", 1)


# -- composed as a whole --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 4])
def test_a_list_certified_for_units_counts_as_it_is(size):
    certificate = certificate_for(size)
    accountant = BudgetAccountant(certificate.epsilon, MILLIONTH)
    with accountant.open_scope("fit", reserve=certificate.loss, max_records_per_unit=size) as units:
        with open_certified(units, "learner", certificate) as scope:
            for event in LIST:
                scope.request(event, role="test")
        assert units.loss == scope.loss == certificate.loss
    assert certificate.loss.rho == size**2 * sum(event.loss.rho for event in LIST)
    assert verify_composition(accountant.composition()) == ()
    assert sole_certificate(accountant.composition().children[0]) == certificate


def test_a_certificate_for_units_takes_the_group_into_account():
    one, three = certificate_for(1), certificate_for(3)
    assert three.epsilon > 3 * one.epsilon * F(99, 100)
    assert not Certificate(REPEATS, one.epsilon, MILLIONTH, 3).holds
    assert not Certificate(REPEATS, one.epsilon, MILLIONTH, 0).holds


def test_a_list_certified_for_a_record_is_grouped():
    certificate = certificate_for(1)
    accountant = BudgetAccountant(9, F(1, 1000))
    with accountant.open_scope("fit", max_records_per_unit=2) as units:
        with open_certified(units, "learner", certificate) as scope:
            scope.request(NOISE, role="test")
        assert units.loss == group_loss(certificate.additive, 2)
    record = accountant.composition()
    assert verify_composition(record) == ()
    assert sole_certificate(record.children[0]) is None


def test_a_certificate_for_units_of_another_size_is_refused():
    certificate = certificate_for(2)
    accountant = BudgetAccountant(9, MILLIONTH)
    with accountant.open_scope("fit", max_records_per_unit=3) as units:
        with pytest.raises(ParameterError, match="for units of 2 records"):
            open_certified(units, "learner", certificate)
        with pytest.raises(ParameterError, match="for units of 2 records"):
            open_certified(units.sequential("part"), "learner", certificate)


# -- books ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def books() -> str:
    certificate = certificate_for(2)
    accountant = BudgetAccountant(9, MILLIONTH)
    reserve = certificate.loss + group_loss(COUNT.loss, 2)
    with accountant.open_scope(
        "fit", reserve=reserve, adaptive=True, max_records_per_unit=2
    ) as fit:
        fit.request(COUNT, role="count")
        with open_certified(fit, "learner", certificate) as scope:
            scope.request(NOISE, role="test")
    return accountant.to_json()


def test_the_books_say_so_and_hold(books):
    fit = FrozenLedger.from_json(books).scopes.children[0]
    assert (fit.kind, fit.records_per_unit) == ("units", 2)
    assert verify_composition(FrozenLedger.from_json(books).scopes) == ()


def other_size(fit):
    return fit.model_copy(update={"records_per_unit": 3})


def no_size(fit):
    return fit.model_copy(update={"records_per_unit": 1})


def plain(fit):
    return fit.model_copy(update={"kind": "sequential", "records_per_unit": 1})


def record_certificate(fit):
    learner = fit.children[0]
    written = learner.certificate.model_copy(update={"records_per_unit": 1})
    return fit.model_copy(
        update={"children": (learner.model_copy(update={"certificate": written}),)}
    )


def units_within(fit):
    inner = fit.model_copy(update={"label": "inner"})
    return fit.model_copy(update={"children": (inner,), "entries": ()})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (other_size, "does not follow from its entries"),
        (no_size, "counts in units and does not say so"),
        (plain, "certificate is for units of another size"),
        (record_certificate, "does not follow"),
        (units_within, "units lie within units"),
    ],
)
def test_books_that_miscount_units_are_refused(books, change, problem):
    root = FrozenLedger.from_json(books).scopes
    changed = root.model_copy(update={"children": (change(root.children[0]),)})
    assert any(problem in text for text in verify_composition(changed))


def test_the_export_holds_what_a_unit_pays(books):
    pytest.importorskip("dp_accounting")
    from dpforest.accounting.dp_accounting_export import to_dp_event

    record = FrozenLedger.from_json(books).scopes
    total = sum(event.rho for event in to_dp_event(record).events)
    assert total == pytest.approx(record.charged.rho_float)


def test_units_of_any_size_are_priced_at_once():
    loss = PrivacyLoss(F(1, 1000), F(1), F(1, 10**9))
    sums = [sum(math.exp(i / 1000) for i in range(size)) / 1e9 for size in (64, 65, 1000)]
    for size, exact in zip((64, 65, 1000), sums, strict=True):
        delta = group_loss(loss, size).delta
        assert exact * (1 - 1e-9) <= float(delta) <= exact * 2.8
    assert group_loss(PrivacyLoss(F(1, 10**12), F(1), F(1, 10**9)), 10**12).delta == 1
