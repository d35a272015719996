"""Prices of fits, digests of plans, and what several plans come to together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.accounting.certificate_record import EventRecord
from dpforest.accounting.certificates import (
    Repeat,
    certify,
    delta_bound,
    epsilon_bound,
    grouped,
)
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
)
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text, parse_amount
from dpforest.accounting.releases import repeats
from dpforest.estimators.planning import plan_of
from dpforest.exceptions import ParameterError
from dpforest.ledger.accountant import DataSetCeiling
from dpforest.ledger.amounts import to_units
from dpforest.ledger.bodies import OpenBody
from dpforest.ledger.facts import cap_facts, domain_digest
from dpforest.ledger.pricing import (
    FitPrice,
    campaign_epsilon,
    charge_of,
    levelled,
    stands_alone,
)

DELTA = Fraction(1, 10**5)
FEATURES = {"age": (0, 100), "colour": ["red", "green", "blue"]}
DOMAIN = Domain(features=FEATURES, classes=["a", "b"], approximate_rows=4000)
TARGETS = Domain(features=FEATURES, target=(0, 1), approximate_rows=4000)


def ceiling(domain: Domain = DOMAIN, size: int = 1, **cap: Any) -> DataSetCeiling:
    """Facts of a data set of this domain and unit."""
    given = {"currency": "rho", "epsilon": 9, "delta": "1e-5", "rho": None} | cap
    facts = OpenBody(
        version=1,
        ledger="5f0c6f5e-8c5e-4b57-9ac2-1f4de1b1f0a3",
        domain=domain_digest(domain),
        relation="add or remove one record",
        unit="one record",
        max_records_per_unit=size,
        max_blocks_per_unit=0,
        owners={"olga": ""},
        approvals=0,
        **cap_facts(**given),
    )
    return DataSetCeiling("claims", facts)


def price(kind: Any = PrivateForestClassifier, rows: Any = 4000, **parameters: Any) -> FitPrice:
    domain = (TARGETS if kind is PrivateForestRegressor else DOMAIN).model_copy(
        update={"approximate_rows": rows}
    )
    forest = kind(**{"epsilon": 1, "domain": domain, **parameters})
    return forest._priced(ceiling(domain, parameters.get("max_records_per_unit", 1)))


# -- one fit ---------------------------------------------------------------------------------


KINDS = [
    *((PrivateForestClassifier, {"strategy": strategy})
      for strategy in ("rules", "one_shot", "refitted", "additive")),
    (MultinomialForestClassifier, {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters"), KINDS, ids=str)
@pytest.mark.parametrize("size", [1, 3])
def test_rho_is_that_of_the_list_whatever_the_guarantee_is(kind, parameters, size):
    given = {"delta": "1e-6", "epsilon": 2, "max_records_per_unit": size, **parameters}
    one = price(kind, **given)
    by_hand = sum(event.loss.rho * b.times for b in one.releases for event in b.events) * size**2
    assert one.amount("rho") == by_hand > 0 and one.composable and not one.waits
    assert (one.epsilon, one.delta, one.records_per_unit) == (2, Fraction("1e-6"), size)
    forest = kind(domain=DOMAIN, **given)
    plan = plan_of(forest._wanted(), forest._encoder(DOMAIN), 4000, "a ledger")
    if plan.certificate is not None:
        # What its certificate says costs less in epsilon than what is added up.
        assert epsilon_of_rho(by_hand, Fraction("1e-6"))[0] > 2


@pytest.mark.parametrize("parameters", [{}, {"delta": "1e-6"}])
def test_a_bought_range_is_paid_for_too(parameters):
    forest = {"kind": PrivateForestRegressor, "epsilon": 2, **parameters}
    one = price(**forest)
    kinds = [type(event) for event in one.releases[0].events]
    assert kinds == [GeometricNoise] and one.releases[0].times == 1
    by_hand = sum(event.loss.rho * b.times for b in one.releases for event in b.events)
    assert one.amount("rho") == by_hand


def test_sides_of_records_are_paid_in_parallel_and_are_no_list():
    given = {"kind": MultinomialForestClassifier, "n_estimators": 3, "max_depth": 2}
    parted, whole = price(partition_rate=1, **given), price(**given)
    assert not parted.composable and not parted.waits and parted.releases == ()
    assert 0 < parted.amount("rho") < math.inf and whole.composable
    assert campaign_epsilon([parted, whole], DELTA) == math.inf


@pytest.mark.parametrize("size", [1, 2])
def test_a_plan_that_waits_costs_the_larger_rho_of_its_caps(size):
    pytest.importorskip("dp_accounting")  # figures are those of its conversion
    pure = price(rows=None, epsilon=2, max_records_per_unit=size)
    both = price(rows=None, epsilon=2, delta="1e-6", max_records_per_unit=size)
    assert pure.waits and both.waits and not both.composable and both.releases == ()
    assert pure.amount("rho") == PrivacyLoss.pure(Fraction(2)).rho == both.amount("rho")
    wide = price(rows=None, epsilon="0.01", delta="0.5", max_records_per_unit=size)
    assert wide.amount("rho") > PrivacyLoss.pure(Fraction("0.01")).rho


def test_pure_epsilon_takes_nothing_with_a_delta():
    assert price(epsilon=2, strategy="one_shot").amount("epsilon") <= 2
    for delta, strategy in (("1e-6", "refitted"), ("1e-6", "one_shot")):
        with pytest.raises(ParameterError, match="delta='1/1000000'"):
            price(delta=delta, strategy=strategy).amount("epsilon")


@pytest.mark.parametrize(
    "loss", [PrivacyLoss(Fraction(1), math.inf), PrivacyLoss(Fraction(1), Fraction(1), DELTA)]
)
def test_what_has_no_finite_rho_is_refused(loss):
    one = FitPrice("ab" * 32, "cd" * 32, 1, Fraction(1), Fraction(0), loss, (), False, True)
    with pytest.raises(ParameterError, match="no finite rho"):
        one.amount("rho")
    with pytest.raises(ParameterError, match="no finite rho"):
        charge_of([one], "rho")


def test_a_charge_is_rounded_up_and_holds_blocks_with_multiplicities():
    one = price(delta="1e-6", strategy="refitted")
    charge = charge_of([one, one], "rho", "a purpose", ["2024"])
    exact = one.amount("rho")
    assert charge.rho == exact_text(2 * exact)
    assert [part.units for part in charge.parts] == [to_units(exact)] * 2
    assert charge.units == 2 * to_units(exact) and charge.blocks == ("2024",)
    n_releases = sum(len(one.releases) * one.times for one in charge.releases)
    assert len(charge.releases) <= 10 and n_releases == 2 * sum(b.n_releases for b in one.releases)


# -- digests ---------------------------------------------------------------------------------

CHANGES = [
    {"epsilon": 2}, {"delta": "1e-7"}, {"strategy": "one_shot"}, {"invalid": "raise"},
    {"max_records_per_unit": 2}, {"rows": 5000}, {"rows": None},
]  # fmt: skip


def test_any_change_of_a_plan_changes_its_digest():
    digests = [price(delta="1e-6", strategy="auto").plan]
    digests += [price(**{"delta": "1e-6", "strategy": "auto", **change}).plan for change in CHANGES]
    digests.append(price(PrivateForestRegressor, delta="1e-6").plan)
    tree = {"kind": MultinomialForestClassifier, "n_estimators": 3, "max_depth": 3}
    digests += [price(**tree).plan, price(**{**tree, "max_depth": 2}).plan]
    digests += [
        price(**tree, selection="permute_and_flip").plan,
        price(**tree, leaves="label").plan,
    ]
    assert len(set(digests)) == len(digests)


def test_what_decides_nothing_that_is_released_changes_no_digest():
    one = price(delta="1e-6", epsilon=0.5, n_jobs=None, verbose=0)
    other = price(delta=1e-6, epsilon="1/2", n_jobs=2, verbose=1, random_state=3)
    assert one == other


# -- several fits -----------------------------------------------------------------------------


def test_a_campaign_of_one_list_costs_what_the_list_does():
    one = price(delta="1e-6", epsilon=2, strategy="refitted")
    alone = campaign_epsilon([one], Fraction("1e-6"))
    assert Fraction("1.99") < alone <= 2
    assert campaign_epsilon([one] * 4, DELTA) < epsilon_of_rho(4 * one.amount("rho"), DELTA)[0]


def test_ten_fits_of_adult_are_within_what_is_said_of_them():
    pytest.importorskip("dp_accounting")  # figures are those of its conversion
    from dpforest.datasets import load_adult

    domain = load_adult().domain
    forest = PrivateForestClassifier(epsilon=0.5, delta=1e-6, domain=domain)
    prices = [forest._priced(ceiling(domain))] * 10
    cap = cap_facts("rho", "1.66", "1e-5", None)["cap"]
    assert sum(to_units(one.amount("rho")) for one in prices) <= cap
    assert sum(to_units(one.amount("rho")) for one in prices + prices[:1]) > cap
    assert campaign_epsilon(prices, DELTA) <= Fraction("1.53")


SELECTIONS = tuple(ExponentialSelection(Fraction(e), Fraction(1)) for e in ("0.4", "0.1", "0.25"))


def test_selections_are_levelled_and_nothing_else_is():
    noise = DiscreteGaussianNoise(Fraction(50), Fraction(1))
    others = (noise, GeometricNoise(Fraction(1), Fraction(1)),
              PermuteAndFlipSelection(Fraction(1), Fraction(1)))  # fmt: skip
    blocks = [Repeat((*SELECTIONS, *others), 3), Repeat((), 2), Repeat((SELECTIONS[1],), 5)]
    first, second = levelled(blocks)
    assert first.events == (SELECTIONS[0],) * 3 + others and first.times == 3
    assert second == Repeat((SELECTIONS[0],), 5)


def test_a_campaign_holds_in_any_order_of_its_fits():
    target = Fraction(1, 1000)
    one_by_one = [
        epsilon_bound(tuple(Repeat((event,), 6) for event in order), target)
        for order in itertools.permutations(SELECTIONS)
    ]
    # Which order they run in matters, so no one order may speak for all.
    assert max(one_by_one) > min(one_by_one)
    level = epsilon_bound(tuple(levelled([Repeat(SELECTIONS, 6)])), target)
    assert level >= max(one_by_one)


def worst_adaptive(epsilons: tuple[float, ...], z: float, threshold: float) -> float:
    """Hockey stick of selections whose next one, and its shift, are chosen by what was released."""
    if not epsilons:
        return max(z - threshold, 0.0)
    worst = 0.0
    for place, epsilon in enumerate(epsilons):
        rest = epsilons[:place] + epsilons[place + 1 :]
        if place and epsilon == epsilons[place - 1]:
            continue
        for shift in np.linspace(0.0, epsilon, 9):
            share = (math.exp(-shift) - math.exp(-epsilon)) / (1 - math.exp(-epsilon))
            up = worst_adaptive(rest, z * math.exp(shift), threshold)
            down = worst_adaptive(rest, z * math.exp(shift - epsilon), threshold)
            worst = max(worst, share * up + (1 - share) * down)
    return worst


@pytest.mark.parametrize("epsilon", ["0.3", "0.6", "1"])
def test_an_order_that_follows_from_releases_is_covered(epsilon):
    chosen = worst_adaptive((0.1, 0.4, 0.9), 1.0, math.exp(float(Fraction(epsilon))))
    events = tuple(ExponentialSelection(Fraction(e), Fraction(1)) for e in ("0.1", "0.4", "0.9"))
    bound = delta_bound(tuple(levelled([Repeat(events)])), Fraction(epsilon), DELTA)
    assert 0 < chosen <= bound
    # A list in its own order says less than whoever chooses the order can see.
    assert delta_bound((Repeat(events[::-1]),), Fraction(epsilon), DELTA) < chosen


def test_a_unit_of_several_records_is_composed_as_one():
    single = price(delta="1e-6", epsilon=2, strategy="one_shot")
    unit = price(delta="1e-6", epsilon=2, strategy="one_shot", max_records_per_unit=3)
    assert campaign_epsilon([unit] * 2, DELTA) > campaign_epsilon([single] * 2, DELTA) * Fraction(
        9, 10
    )
    blocks = tuple(levelled(unit.releases * 2))
    assert campaign_epsilon([unit] * 2, DELTA) == epsilon_bound(grouped(blocks, 3), DELTA)


def test_a_charge_that_stands_alone_is_worked_out_again():
    prices = [price(delta="1e-6", strategy="refitted")] * 3
    epsilon = Fraction(campaign_epsilon(prices, DELTA))
    charge = charge_of(prices, "rho", alone=(epsilon, DELTA))
    assert charge.alone and stands_alone(charge)
    assert parse_amount(charge.epsilon) == epsilon and parse_amount(charge.delta) == DELTA
    less = charge_of(prices, "rho", alone=(epsilon * Fraction(99, 100), DELTA))
    assert not stands_alone(less)
    longer = charge.model_copy(update={"releases": charge.releases * 2})
    assert not stands_alone(longer)
    assert not stands_alone(charge.model_copy(update={"releases": ()}))
    assert not stands_alone(charge.model_copy(update={"records_per_unit": 2}))
    for event in (
        {"mechanism": "x", "parameters": {}},
        {"mechanism": "two-sided geometric noise", "parameters": {"epsilon": "x"}},
        {"mechanism": "two-sided geometric noise",
         "parameters": {"epsilon": "-1", "l1_sensitivity": "1"}},
    ):  # fmt: skip
        record = EventRecord.model_validate(event)
        unknown = charge.releases[0].model_copy(update={"releases": (record,)})
        with_it = charge.model_copy(update={"releases": (*charge.releases, unknown)})
        assert not stands_alone(with_it)


def test_a_list_of_a_plan_is_the_one_that_its_certificate_names():
    forest = PrivateForestClassifier(epsilon=2, delta="1e-6", domain=DOMAIN, strategy="refitted")
    plan = plan_of(forest._wanted(), forest._encoder(DOMAIN), 4000, "a ledger").plan
    listed = price(delta="1e-6", epsilon=2, strategy="refitted").releases
    assert listed == tuple(block for block in repeats(plan.rounds) if block.events)
    certify(listed, Fraction(2), Fraction("1e-6"))
