"""Charges: facts of the data set, exact prices, blocks, and a certificate that stands alone."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dpforest import Domain, PrivateForestClassifier
from dpforest.exceptions import BudgetExceeded, ParameterError
from dpforest.ledger import bodies, entries, plan_files
from dpforest.ledger.amounts import UNITS, to_units
from dpforest.ledger.charges import charged, less_by
from dpforest.ledger.facts import cap_facts, domain_digest
from dpforest.ledger.state import Block

TENTH = Fraction(1, 10)


def refused(chain, asked, kind=ParameterError, parameter=None):
    before = chain.state
    with pytest.raises(kind) as caught:
        chain.reserve(asked)
    assert chain.state is before
    if parameter is not None:
        assert caught.value.parameter == parameter
    return caught.value


def spent(chain):
    return Fraction(chain.state.total, UNITS)


# -- facts -----------------------------------------------------------------------------

OTHERS = {
    "a category more": {"features": {"age": (17, 90), "sex": ["Female", "Male", "X"]}},
    "another name": {"features": {"age": (17, 90), "gender": ["Female", "Male"]}},
    "another bound": {"features": {"age": (17, 91), "sex": ["Female", "Male"]}},
    "another order": {"features": {"sex": ["Female", "Male"], "age": (17, 90)}},
    "another order of categories": {"features": {"age": (17, 90), "sex": ["Male", "Female"]}},
    "a feature less": {"features": {"age": (17, 90)}},
    "another class": {"classes": ["no", "yes", "maybe"]},
    "a target": {"classes": None, "target": (0, 1)},
    "missing values": {
        "features": [
            {"name": "age", "kind": "numeric", "lower": 17, "upper": 90, "missing": True},
            {"name": "sex", "kind": "categorical", "categories": ["Female", "Male"]},
        ]
    },
}
SAME = {"features": {"age": (17, 90), "sex": ["Female", "Male"]}, "classes": ["no", "yes"]}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_domain_that_differs_in_what_decides_codes_is_refused(other, helpers):
    domain = Domain(**(SAME | other))
    chain = helpers.PureChain()
    refused(chain, helpers.charge(TENTH, domain=domain), parameter="domain")
    chain.reserve(helpers.charge(TENTH, domain=Domain(**SAME)))


def test_what_is_for_people_is_no_other_domain():
    noted = Domain(**SAME, name="claims", note="of 2026", approximate_rows=10_000)
    age = noted.features[0].model_copy(update={"source": "the codebook", "declared_by": "olga"})
    noted = noted.model_copy(update={"features": (age, *noted.features[1:])})
    assert domain_digest(noted) == domain_digest(Domain(**SAME))
    assert noted.fingerprint() != Domain(**SAME).fingerprint()


def test_no_domain_has_no_digest():
    with pytest.raises(ParameterError) as caught:
        domain_digest({"features": {}})
    assert caught.value.parameter == "domain"


@pytest.mark.parametrize("unit", [1, 3])
def test_a_unit_that_is_not_the_data_sets_is_refused(unit, helpers):
    chain = helpers.PureChain(max_records_per_unit=2)
    asked = helpers.charge(TENTH, records_per_unit=unit)
    refused(chain, asked, parameter="max_records_per_unit")
    chain.reserve(helpers.charge(TENTH, records_per_unit=2))


# -- prices ----------------------------------------------------------------------------


def test_units_are_those_of_the_exact_price(helpers):
    chain = helpers.PureChain()
    right = to_units(Fraction(1, 3))
    for units in (0, right - 1, right + 1):
        refused(chain, helpers.charge(Fraction(1, 3), units=units), parameter="units")
    refused(chain, helpers.charge(0), parameter="units")
    chain.reserve(helpers.charge(Fraction(1, 3)))
    assert 0 < spent(chain) - Fraction(1, 3) < Fraction(1, UNITS)


def test_a_price_may_be_rounded_up_part_by_part(helpers):
    chain = helpers.PureChain()
    third = Fraction(1, 3)
    parts = (plan_files.Part(plan=helpers.PLAN, units=to_units(third / 4)),) * 4
    total = 4 * to_units(third / 4)
    assert total > to_units(third)
    chain.reserve(helpers.charge(third, parts=4, units=total))
    refused(chain, helpers.charge(third, parts=4, units=total + 1), parameter="units")
    assert sum(part.units for part in parts) == total


def test_what_has_no_rho_is_refused_under_rho(helpers):
    chain = helpers.PureChain()
    error = refused(chain, helpers.charge(TENTH, rho="inf"))
    assert error.parameter == "rho"


def test_a_cap_that_is_not_given_is_named_before_a_delta():
    with pytest.raises(ParameterError, match=r"epsilon=2, delta=1e-6"):
        cap_facts("rho", None, None, None)
    with pytest.raises(ParameterError, match="choose currency='epsilon'"):
        cap_facts("rho", 2, None, None)


def test_a_pure_data_set_refuses_every_delta(helpers):
    chain = helpers.PureChain(**cap_facts("epsilon", 1, None, None))
    refused(chain, helpers.charge(TENTH, "epsilon", delta="1/1000000"), parameter="delta")
    refused(chain, helpers.charge(TENTH), parameter="delta")
    refused(chain, helpers.charge(TENTH, delta="0"), parameter="epsilon")
    for _ in range(10):
        chain.reserve(helpers.charge(Fraction(1, 11), "epsilon"))
    error = refused(chain, helpers.charge(TENTH, "epsilon"), BudgetExceeded)
    assert error.remaining.epsilon <= 1 / 11 and "epsilon=0.0909" in str(error)


def test_a_pure_fit_is_charged_its_rho_under_rho(helpers):
    chain = helpers.PureChain()
    chain.reserve(helpers.charge(Fraction(1, 8), epsilon="1", delta="0"))
    assert spent(chain) == Fraction(1, 8)


def test_the_error_says_what_is_left(helpers):
    chain = helpers.PureChain()
    chain.reserve(helpers.charge(Fraction(3, 4)))
    error = refused(chain, helpers.charge(Fraction(1, 2)), BudgetExceeded)
    assert "rounded up" not in str(error)
    assert error.requested.rho == Fraction(1, 2) and error.remaining.exact.rho == Fraction(1, 4)
    assert "'claims'" in str(error) and "rho=0.25" in str(error) and "accountant" not in str(error)


def test_the_error_names_an_epsilon_to_try(helpers):
    """Of a fit that has a delta: rho goes about by the square of epsilon."""
    chain = helpers.PureChain()
    chain.reserve(helpers.charge(Fraction(3, 4)))
    error = refused(chain, helpers.charge(Fraction(1, 2), epsilon="2"), BudgetExceeded)
    # .995 of 2 times a half to the power of .8, to two digits.
    assert "and try epsilon = 1.1: the cap of a data set is fixed for life" in str(error)
    plain = "Ask for less: the cap of a data set is fixed for life"
    assert less_by(1.0, 1e-6, 0.0) == less_by(1.0, 1e-6, -1.0) == plain
    assert less_by(float("inf"), 1e-6, 0.5) == less_by(1.0, 0.01, 0.5) == plain
    assert "epsilon = 0.0099:" in less_by(0.01, 1e-6, 1.0)
    assert "epsilon = 99:" in less_by(100.0, 1e-6, 1.0)
    pure = refused(chain, helpers.charge(Fraction(1, 2), delta="0", epsilon="2"), BudgetExceeded)
    assert "try" not in str(pure)


@pytest.mark.parametrize("strategy", ["refitted", "boosted", "one_shot"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-5, 1e-8])
def test_a_fit_of_one_strategy_fits_with_the_named_epsilon(strategy, epsilon, delta):
    domain = Domain(features={"a": (0, 9)}, classes=["a", "b"], approximate_rows=4000)

    def rho(asked):
        forest = PrivateForestClassifier(
            epsilon=asked, delta=delta, domain=domain, strategy=strategy
        )
        return float(sum(part.rho for part in forest.plan().parts))

    for part in (0.95, 0.5, 0.1):
        words = less_by(epsilon, delta, part)
        smaller = float(words.partition("epsilon = ")[2].partition(":")[0])
        assert rho(smaller) <= part * rho(epsilon)
        if delta <= 1e-5 and epsilon <= 1:  # and is none too small
            assert rho(1.15 * smaller) > part * rho(epsilon)


def test_a_cap_that_decimals_would_just_fill_is_said_to_miss_by_rounding(helpers):
    chain = helpers.PureChain(**cap_facts("epsilon", 1, None, None))
    for _ in range(9):
        chain.reserve(helpers.charge(TENTH, "epsilon"))
    error = refused(chain, helpers.charge(TENTH, "epsilon"), BudgetExceeded)
    assert "rounded up" in str(error)
    chain.reserve(helpers.charge(TENTH - Fraction(1, 10**20), "epsilon"))


def test_a_list_holds_texts_alone_and_is_not_endless(helpers):
    event = {"mechanism": "laplace", "parameters": {"epsilon": "1/2"}}
    line = plan_files.Repeated(releases=(event,), times=3)
    asked = helpers.charge(TENTH, releases=(line,))
    chain = helpers.PureChain()
    chain.reserve(asked)
    assert entries.read_entry(chain.entries[-1].text).body.charge == asked
    for bad in (
        {"releases": ({"releases": ({**event, "parameters": {"epsilon": 0.5}},), "times": 1},)},
        {"releases": ({"releases": (event,), "times": 1.5},)},
        {"releases": ({"releases": ({**event, "noise": "1"},), "times": 1},)},
        {"releases": (line,) * (plan_files.MOST_LINES + 1)},
        {"parts": asked.parts * (plan_files.MOST_PARTS + 1)},
    ):
        with pytest.raises(ValidationError):
            plan_files.Charge(**{name: value for name, value in asked if name not in bad}, **bad)


# -- blocks ----------------------------------------------------------------------------


@pytest.fixture
def growing(helpers):
    chain = helpers.PureChain(max_blocks_per_unit=2)
    for name in ("2024", "2025", "2026"):
        chain.say(bodies.BlockBody(name=name, by="arrival", cap=to_units(Fraction(5, 8))), "olga")
    return chain


def test_a_release_names_its_blocks_and_is_charged_to_each(growing, helpers):
    growing.reserve(helpers.charge(TENTH, blocks=("2024", "2025")))
    growing.reserve(helpers.charge(TENTH, blocks=("2025",)))
    charged = {name: Fraction(block.spent, UNITS) for name, block in growing.state.blocks.items()}
    assert list(map(round_up, charged.values())) == [TENTH, 2 * TENTH, 0]
    assert round_up(spent(growing)) == 3 * TENTH


def round_up(amount):
    return amount.limit_denominator(1000)


@pytest.mark.parametrize("blocks", [(), ("2023",), ("2024", "2024"), ("2024", "2023")])
def test_blocks_must_be_named_and_known(blocks, growing, helpers):
    refused(growing, helpers.charge(TENTH, blocks=blocks), parameter="blocks")


def test_of_many_blocks_some_are_told_and_their_number(growing, helpers):
    for year in range(2001, 2013):
        cap = to_units(Fraction(5, 8))
        growing.say(bodies.BlockBody(name=str(year), by="arrival", cap=cap), "olga")
    error = refused(growing, helpers.charge(TENTH, blocks=("2023",)), parameter="blocks")
    assert "('2024', '2025', '2026', '2001', " in str(error) and "… (15 in all))" in str(error)


def test_where_there_are_no_blocks_none_is_named(helpers):
    refused(helpers.PureChain(), helpers.charge(TENTH, blocks=("2024",)), parameter="blocks")


def test_a_block_has_a_cap_of_its_own(growing, helpers):
    growing.reserve(helpers.charge(Fraction(5, 8), blocks=("2024",)))
    error = refused(growing, helpers.charge(TENTH, blocks=("2024",)), BudgetExceeded)
    assert "block '2024'" in str(error)
    growing.reserve(helpers.charge(TENTH, blocks=("2025",)))


def test_a_unit_in_several_blocks_adds_up_over_them(growing, helpers):
    growing.reserve(helpers.charge(Fraction(5, 8), blocks=("2024",)))
    error = refused(growing, helpers.charge(Fraction(1, 2), blocks=("2025",)), BudgetExceeded)
    assert error.remaining.exact.rho == Fraction(3, 8) and "block" not in str(error)
    growing.reserve(helpers.charge(Fraction(3, 8), blocks=("2025", "2026")))
    for name in ("2024", "2025", "2026"):
        refused(growing, helpers.charge(TENTH, blocks=(name,)), BudgetExceeded)


def test_what_the_whole_table_was_charged_counts_in_every_block(helpers):
    chain = helpers.PureChain(max_blocks_per_unit=1)
    chain.reserve(helpers.charge(Fraction(1, 2)))
    chain.say(bodies.BlockBody(name="new", by="arrival", cap=to_units(Fraction(3, 4))), "olga")
    refused(chain, helpers.charge(Fraction(3, 10), blocks=("new",)), BudgetExceeded)
    chain.reserve(helpers.charge(Fraction(1, 4), blocks=("new",)))
    chain.say(bodies.BlockBody(name="newer", by="arrival", cap=to_units(Fraction(1))), "olga")
    chain.reserve(helpers.charge(Fraction(1, 2), blocks=("newer",)))
    assert spent(chain) == 1


BLOCKS = {
    "twice": ({"name": "2024", "by": "arrival", "cap": 1}, "name"),
    "another rule": ({"name": "2027", "by": "unit", "cap": 1}, "by"),
    "no cap": ({"name": "2027", "by": "arrival", "cap": 0}, "cap"),
}


@pytest.mark.parametrize(("block", "parameter"), BLOCKS.values(), ids=BLOCKS)
def test_a_block_that_is_none(block, parameter, growing):
    with pytest.raises(ParameterError) as caught:
        growing.say(bodies.BlockBody(**block), "olga")
    assert caught.value.parameter == parameter


def test_blocks_by_arrival_need_to_know_how_often_a_unit_comes(helpers):
    chain = helpers.PureChain()
    with pytest.raises(ParameterError, match="max_blocks_per_unit"):
        chain.say(bodies.BlockBody(name="2024", by="arrival", cap=1), "olga")
    chain.say(bodies.BlockBody(name="hash 0 of 2", by="unit", cap=to_units(Fraction(1))), "olga")
    chain.say(bodies.BlockBody(name="hash 1 of 2", by="unit", cap=to_units(Fraction(1))), "olga")
    for name in ("hash 0 of 2", "hash 1 of 2"):
        chain.reserve(helpers.charge(1, blocks=(name,)))


def test_the_cap_of_a_block_is_lowered_but_not_below_what_is_spent(growing, helpers):
    growing.reserve(helpers.charge(Fraction(1, 2), blocks=("2024",)))
    for cap in (Fraction(49, 100), Fraction(63, 100)):
        with pytest.raises(ParameterError, match="2024"):
            growing.say(bodies.PolicyBody(block_caps={"2024": to_units(cap)}), "olga")
    with pytest.raises(ParameterError, match="2023"):
        growing.say(bodies.PolicyBody(block_caps={"2023": 1}), "olga")
    growing.say(bodies.PolicyBody(block_caps={"2024": to_units(Fraction(1, 2))}), "olga")
    refused(growing, helpers.charge(TENTH, blocks=("2024",)), BudgetExceeded)


def test_a_voided_reserve_comes_back_to_each_of_its_blocks(growing, helpers):
    before = growing.state.blocks
    reserve = growing.reserve(helpers.charge(TENTH, blocks=("2024", "2026")))
    growing.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
    assert growing.state.blocks == before


def test_what_remains_of_a_block_can_be_spent_and_no_more(growing, helpers):
    growing.reserve(helpers.charge(Fraction(1, 2), blocks=("2024",)))
    growing.reserve(helpers.charge(Fraction(1, 4), blocks=("2025",)))
    for name in ("2024", "2025", "2026"):
        left = Fraction(growing.state.room([name]), UNITS)
        more = left + Fraction(1, UNITS)
        refused(growing, helpers.charge(more, blocks=(name,)), BudgetExceeded)
        reserve = growing.reserve(helpers.charge(left, blocks=(name,)))
        growing.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))


UNIT = st.integers(0, 12)


@settings(max_examples=150, deadline=None)
@given(UNIT, st.lists(st.tuples(st.integers(0, 40), UNIT), min_size=1, max_size=4),
       st.sets(st.integers(0, 3)), st.integers(1, 3), st.one_of(st.none(), UNIT), UNIT)  # fmt: skip
# Another block has passed the cap, as imports may.
@example(2, [(40, 0), (40, 12)], {0}, 1, None, 0)
def test_the_room_is_the_largest_charge_that_is_granted(
    helpers, spent, pairs, named, most, quota, used
):
    """Of the table or of several blocks at once, overspent or not, with a quota or without."""
    blocks = {str(n): Block(cap=cap, spent=own) for n, (cap, own) in enumerate(pairs)}
    chain = helpers.PureChain(max_blocks_per_unit=most)
    state = chain.state.model_copy(
        update={"cap": 10, "spent": spent, "blocks": blocks, "used": {"ana": used}}
        | ({} if quota is None else {"quotas": {"ana": quota}})
    )
    names = tuple(str(n) for n in sorted(named) if n < len(pairs))
    room = state.room(names, "ana")
    asked = [helpers.charge(Fraction(n, UNITS), blocks=names) for n in (room, room + 1)]
    if room:
        after, _ = charged(state, "ana", asked[0])
        assert after.total <= after.cap
    with pytest.raises(BudgetExceeded) as refusal:
        charged(state, "ana", asked[1])
    assert refusal.value.remaining.exact.rho >= Fraction(room, UNITS)
    assert state.remaining == max(state.cap - state.total, 0)


def test_all_say_the_same_of_what_remains(helpers, tmp_path):
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "a.ledger"), max_blocks_per_unit=2)
    for name in ("2024", "2025", "2026"):
        ledger.add_block("claims", name, cap="0.5")
    ledger.reserve("claims", helpers.charge("0.4", blocks=("2024", "2025")))
    state = ledger.chain("claims").state
    for named in (["2026"], ["2024"], ["2025", "2026"], ["2024", "2025", "2026"]):
        room = state.room(named)
        assert ledger.room("claims", named) == room > 0
        left = ledger.accountant("claims", blocks=named).remaining.exact.rho
        assert left == Fraction(room, UNITS)
    # A unit that is in the block is in one other at most.
    assert Fraction(state.room(["2026"]), UNITS) == Fraction(1, 2)
    assert ledger.room("claims") < state.room(["2026"])
    ledger.policy("claims", quotas={"olga": "0.41"})
    assert Fraction(ledger.room("claims", ["2026"]), UNITS) <= Fraction(1, 100)
    ledger.close()


# -- alone -----------------------------------------------------------------------------


@pytest.fixture
def declared(helpers):
    return helpers.PureChain(**cap_facts("rho", "1.66", "1e-5", None), max_blocks_per_unit=1)


def alone(helpers, epsilon="3/2", delta="1/100000"):
    return helpers.charge(9, alone=True, epsilon=epsilon, delta=delta)


def test_a_certificate_stands_alone_and_the_cap_counts_as_reached(declared, helpers):
    reserve = declared.reserve(alone(helpers, "83/50"))
    assert declared.state.total == declared.state.cap and declared.state.alone == reserve
    refused(declared, helpers.charge(Fraction(1, 2**128)), BudgetExceeded)
    refused(declared, alone(helpers), BudgetExceeded)
    declared.say(bodies.StartBody(reserve=reserve, part=0))
    declared.say(bodies.SettleBody(reserve=reserve, part=0, outcome="done"))
    refused(declared, helpers.charge(Fraction(1, 2**128)), BudgetExceeded)


@pytest.mark.parametrize(("epsilon", "delta"), [("167/100", "0"), ("1", "2/100000"), ("inf", "0")])
def test_a_certificate_beyond_what_was_declared_is_refused(epsilon, delta, declared, helpers):
    error = refused(declared, alone(helpers, epsilon, delta), BudgetExceeded)
    assert "1.66" in str(error)


def test_nothing_stands_beside_a_certificate(declared, helpers):
    first = declared.reserve(helpers.charge(Fraction(1, 2**128)))
    refused(declared, alone(helpers), BudgetExceeded)
    declared.say(bodies.VoidBody(reserve=first, token=helpers.TOKEN))
    voided = declared.reserve(alone(helpers))
    declared.say(bodies.VoidBody(reserve=voided, token=helpers.TOKEN))
    assert declared.state.total == 0 and declared.state.alone == ""
    declared.say(bodies.ImportBody(units=1, source="elsewhere"), "olga")
    refused(declared, alone(helpers), BudgetExceeded)


def test_a_lowered_cap_takes_no_certificate(declared, helpers):
    declared.say(bodies.PolicyBody(cap=declared.state.cap - 1), "olga")
    refused(declared, alone(helpers), BudgetExceeded)


def test_no_certificate_stands_for_blocks_or_pure_epsilon(declared, helpers):
    pure = helpers.PureChain(**cap_facts("epsilon", 2, None, None))
    refused(pure, alone(helpers, "1", "0"), parameter="alone")
    declared.say(bodies.BlockBody(name="2024", by="arrival", cap=1), "olga")
    asked = helpers.charge(9, alone=True, epsilon="1", delta="0", blocks=("2024",))
    refused(declared, asked, parameter="alone")


def test_a_refusal_speaks_of_the_data_sets_own_currency(helpers):
    for currency, other in (("rho", "epsilon"), ("epsilon", "rho")):
        opened = helpers.cap_facts(
            currency, *(("1", 0, None) if other == "rho" else (None, "1e-6", 1))
        )
        chain = helpers.PureChain(**opened)
        with pytest.raises(BudgetExceeded) as refusal:
            chain.reserve(helpers.charge(2, currency))
        assert f"requested ({currency}=2), but only ({currency}=1) is left" in str(refusal.value)
        assert other not in str(refusal.value)


def test_a_quota_that_is_passed_is_no_cap_for_life(helpers):
    chain = helpers.PureChain()
    chain.say(bodies.PolicyBody(quotas={"ana": 2**127}), "olga")
    with pytest.raises(BudgetExceeded, match="quota of 'ana'.*an owner for a larger quota"):
        chain.reserve(helpers.charge(Fraction(3, 4)))
