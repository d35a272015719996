"""Laws of composition over fits: rho adds, pure epsilon adds, whatever order, whoever chose."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.accounting.conversion import epsilon_of_rho, rho_of_epsilon
from dpforest.accounting.rationals import parse_amount
from dpforest.exceptions import BudgetExceeded, DPForestError
from dpforest.ledger import bodies, plan_files
from dpforest.ledger.amounts import UNITS, fraction_of, to_units
from dpforest.ledger.facts import cap_facts

AMOUNTS = st.lists(st.fractions(Fraction(1, 10**9), Fraction(1, 3), max_denominator=10**12),
                   min_size=1, max_size=12)  # fmt: skip
CURRENCIES = {
    "rho": cap_facts("rho", None, "1e-6", 1),
    "epsilon": cap_facts("epsilon", 1, None, None),
}


@pytest.mark.parametrize("currency", CURRENCIES)
@settings(max_examples=30)
@given(amounts=AMOUNTS)
def test_charges_add_up_to_a_bound_of_their_exact_sum(helpers, currency, amounts):
    chain = helpers.PureChain(**CURRENCIES[currency])
    accepted = []
    for amount in amounts:
        fits = sum(map(to_units, [*accepted, amount])) <= UNITS
        try:
            chain.reserve(helpers.charge(amount, currency))
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
            accepted.append(amount)
    total = fraction_of(chain.state.total)
    assert sum(accepted) <= total <= 1
    assert total - sum(accepted) < Fraction(len(amounts), UNITS)


@settings(max_examples=30)
@given(amounts=AMOUNTS.filter(lambda amounts: sum(amounts) < Fraction(99, 100)), data=st.data())
def test_neither_order_nor_analyst_nor_grouping_matters(helpers, amounts, data):
    other = data.draw(st.permutations(amounts))
    first, second = helpers.PureChain(), helpers.PureChain()
    for amount in amounts:
        first.reserve(helpers.charge(amount))
    for amount in other:
        second.reserve(helpers.charge(amount), data.draw(st.sampled_from(["ana", "ben"])))
    assert first.state.total == second.state.total
    together = helpers.PureChain()
    parts = tuple(plan_files.Part(plan=helpers.PLAN, units=to_units(amount)) for amount in amounts)
    together.reserve(helpers.charge(sum(amounts), parts=1).model_copy(update={"parts": parts}))
    assert 0 <= first.state.total - together.state.total < len(amounts)


@settings(max_examples=40)
@given(amounts=AMOUNTS, data=st.data())
def test_what_was_voided_costs_nothing_to_the_unit(helpers, amounts, data):
    """Rounding is undone as it was done, however often."""
    chain, kept = helpers.PureChain(), 0
    for amount in amounts:
        try:
            reserve = chain.reserve(helpers.charge(amount))
        except BudgetExceeded:
            continue
        if data.draw(st.booleans()):
            chain.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
        else:
            kept += to_units(amount)
    assert chain.state.total == kept


def test_a_filter_stays_under_its_cap_whatever_an_analyst_does(helpers):
    """Somebody who sees every outcome and picks the next price by it never passes the cap."""
    for seed in range(20):
        random_ = random.Random(seed)
        chain = helpers.PureChain()
        begun = Fraction(0)
        for _ in range(40):
            left = fraction_of(chain.state.remaining)
            asked = left * random_.choice([Fraction(1, 3), 1, Fraction(3, 2)]) + Fraction(1, 10**9)
            try:
                reserve = chain.reserve(helpers.charge(asked))
            except DPForestError:
                continue
            if random_.random() < 0.3:
                chain.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
            else:
                chain.say(bodies.StartBody(reserve=reserve, part=0))
                begun += asked
        assert 0 < begun <= 1


def test_a_cap_converts_once_and_what_fits_used_is_never_converted(helpers):
    """Ten fits of (0.5, 1e-6) stand under (1.66, 1e-5), where adding would ask for epsilon 5."""
    facts = cap_facts("rho", "1.66", "1e-5", None)
    cap = fraction_of(facts["cap"])
    assert cap <= rho_of_epsilon(Fraction("1.66"), Fraction(1, 10**5))
    assert epsilon_of_rho(cap, Fraction(1, 10**5))[0] <= Fraction("1.66")
    chain = helpers.PureChain(**facts)
    each = rho_of_epsilon(Fraction(1, 2), Fraction(1, 10**6))
    for _ in range(10):
        chain.reserve(helpers.charge(each, epsilon="1/2"))
    assert sum(itertools.repeat(each, 10)) <= cap
    with pytest.raises(BudgetExceeded):
        for _ in range(10):
            chain.reserve(helpers.charge(each, epsilon="1/2"))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.1", "1e-9"), (20, "0.1")])
def test_a_cap_never_promises_less_than_it_grants(epsilon, delta):
    facts = cap_facts("rho", epsilon, delta, None)
    bound, _ = epsilon_of_rho(fraction_of(facts["cap"]), Fraction(delta))
    assert bound <= Fraction(epsilon)
    given_as_rho = cap_facts("rho", None, delta, fraction_of(facts["cap"]))
    assert given_as_rho["cap"] == facts["cap"]
    assert parse_amount(given_as_rho["epsilon"]) == bound
