"""Growing tables against a brute-force ledger of a few records and blocks.

The brute force keeps a list of everything that was released, and of each unit the blocks that its
records are in. It adds up anew, unit by unit and release by release; it has no state, no largest
sums and no caps of its own.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.exceptions import BudgetExceeded, DPForestError
from dpforest.ledger import bodies
from dpforest.ledger.amounts import UNITS, to_units
from dpforest.ledger.chain import checked_chain, head_of, row_of

BLOCKS = ("a", "b", "c", "d")
EIGHTH = Fraction(1, 8)

PLACES = st.sets(st.integers(0, 3), max_size=3)
STEP = st.one_of(
    st.tuples(st.just("reserve"), st.integers(1, 5), PLACES),
    st.tuples(st.just("reserve"), st.integers(1, 3), PLACES),
    st.tuples(st.just("unknown block"), st.integers(1, 5), PLACES),
    st.tuples(st.just("block"), st.integers(2, 8), PLACES),
    st.tuples(st.just("void"), st.integers(0, 5), PLACES),
    st.tuples(st.just("start"), st.integers(0, 5), PLACES),
    st.tuples(st.just("import"), st.integers(1, 3), PLACES),
    st.tuples(st.just("cap"), st.integers(1, 8), PLACES),
    st.tuples(st.just("block cap"), st.integers(1, 8), PLACES),
)
#: Fits of the whole table, then the blocks that it grows by, then everything.
HISTORIES = st.tuples(
    st.lists(st.tuples(st.just("reserve"), st.integers(1, 2), st.just(set())), max_size=2),
    st.lists(st.tuples(st.just("block"), st.integers(3, 8), st.just(set())), max_size=4),
    st.lists(STEP, max_size=12),
).map(lambda parts: [*parts[0], *parts[1], *parts[2]])


class BruteForce:
    """Everything that was released or set aside, and every unit that there could be."""

    def __init__(self, most_blocks: int) -> None:
        self.most_blocks = most_blocks
        self.cap = Fraction(1)
        self.blocks: dict[str, Fraction] = {}
        self.released: list[tuple[Fraction, frozenset[str], str]] = []

    def units(self):
        """Blocks of each unit: one record in each of at most so many."""
        for count in range(self.most_blocks + 1):
            yield from map(frozenset, itertools.combinations(self.blocks, count))

    def loss(self, unit, released=None):
        """What was learnt of a unit: prices of releases that read one of its records."""
        return sum(
            (
                price
                for price, read, _ in (self.released if released is None else released)
                if not read or read & unit
            ),
            Fraction(0),
        )

    def added_up(self, unit, released):
        """A bound of it that counts a release once for each block of the unit that it read."""
        return sum((price * (len(read & unit) if read else 1) for price, read, _ in released),
                   Fraction(0))  # fmt: skip

    def admits(self, price, read):
        """Whether one more release keeps every unit under the cap and every block under its own."""
        after = [*self.released, (price, frozenset(read), "")]
        if any(self.added_up(unit, after) > self.cap for unit in self.units()):
            return False
        return all(
            self.added_up(frozenset({name}), after) <= cap
            for name, cap in self.blocks.items()
            if name in read or not read
        )


def run(helpers, most_blocks, steps):
    """Take steps in the ledger and by brute force; yield both after each that was accepted."""
    chain, brute = helpers.PureChain(max_blocks_per_unit=most_blocks), BruteForce(most_blocks)
    begun: set[str] = set()
    for step, number, where in steps:
        before = chain.state
        try:
            take(helpers, chain, brute, begun, step, number, where)
        except DPForestError:
            assert chain.state is before
        yield chain, brute, begun
    # Gone through again, the entries lead to the very state that was kept beside them.
    rows = [row_of(entry) for entry in chain.entries]
    head = head_of(chain.entries[-1], chain.state)
    assert checked_chain(rows, head, helpers.LEDGER, "claims").state == chain.state


def take(helpers, chain, brute, begun, step, number, places):
    amount = number * EIGHTH
    known = sorted(brute.blocks)
    named = {known[place % len(known)] for place in places} if known else set()
    if step == "block":
        name = BLOCKS[len(known) % len(BLOCKS)]
        chain.say(bodies.BlockBody(name=name, by="arrival", cap=to_units(amount)), "olga")
        brute.blocks[name] = amount
    elif step == "cap":
        assert_lowers(chain, brute, bodies.PolicyBody(cap=to_units(amount)), amount <= brute.cap)
        brute.cap = amount
    elif step == "block cap" and named:
        name = min(named)
        body = bodies.PolicyBody(block_caps={name: to_units(amount)})
        assert_lowers(chain, brute, body, amount <= brute.blocks[name])
        brute.blocks[name] = amount
    elif step == "import":
        body = bodies.ImportBody(units=to_units(amount), source="x", blocks=tuple(sorted(named)))
        chain.say(body, "olga")
        brute.released.append((amount, frozenset(named), "imported"))
    elif step == "unknown block":
        chain.reserve(helpers.charge(amount, blocks=(*sorted(named), "unknown")))
        raise AssertionError("nobody knows this block")
    elif step == "reserve":
        reserve(helpers, chain, brute, amount, named)
    else:
        end(helpers, chain, brute, begun, step, number)


def assert_lowers(chain, brute, body, is_lower):
    """A cap is never raised, and never below what the brute force says was spent."""
    chain.say(body, "olga")
    assert is_lower
    state = chain.state
    spent = max(brute.added_up(unit, brute.released) for unit in brute.units())
    assert spent <= Fraction(state.cap, UNITS)
    for name, block in state.blocks.items():
        if name in body.block_caps:
            charged = brute.added_up(frozenset({name}), brute.released)
            assert charged <= Fraction(block.cap, UNITS)


def end(helpers, chain, brute, begun, step, number):
    """One of the reserves begins, or is voided."""
    held = [one for one in brute.released if one[2] != "imported"]
    if not held:
        return
    price, read, name = held[number % len(held)]
    if step == "start":
        chain.say(bodies.StartBody(reserve=name, part=0))
        begun.add(name)
    elif step == "void":
        chain.say(bodies.VoidBody(reserve=name, token=helpers.TOKEN))
        assert name not in begun
        brute.released.remove((price, read, name))


def reserve(helpers, chain, brute, amount, where):
    """The ledger accepts exactly what the brute force does, as far as amounts go."""
    named = bool(where) == bool(brute.blocks)
    try:
        name = chain.reserve(helpers.charge(amount, blocks=tuple(sorted(where))))
    except BudgetExceeded:
        assert named and not brute.admits(amount, where)
        raise
    assert named and brute.admits(amount, where)
    brute.released.append((amount, frozenset(where), name))


@pytest.mark.parametrize("most_blocks", [1, 2, 3])
@settings(max_examples=150)
@given(steps=HISTORIES)
def test_the_ledger_accepts_what_the_brute_force_does(helpers, most_blocks, steps):
    for chain, brute, _ in run(helpers, most_blocks, steps):
        state = chain.state
        assert Fraction(state.cap, UNITS) == brute.cap
        assert {n: Fraction(b.cap, UNITS) for n, b in state.blocks.items()} == brute.blocks
        worst = max(brute.added_up(unit, brute.released) for unit in brute.units())
        assert Fraction(state.total, UNITS) == worst
        for name in state.blocks:
            charged = brute.added_up(frozenset({name}), brute.released)
            assert Fraction(state.spent + state.blocks[name].spent, UNITS) == charged


@pytest.mark.parametrize("most_blocks", [1, 2, 3])
@settings(max_examples=150)
@given(steps=HISTORIES)
def test_no_unit_ever_loses_more_than_the_cap(helpers, most_blocks, steps):
    """The cap of the time, so the first cap too; imports alone bring a unit above it."""
    within = [step for step in steps if step[0] != "import"]
    for _, brute, _ in run(helpers, most_blocks, within):
        for unit in brute.units():
            assert brute.loss(unit) <= brute.cap
        for name, cap in brute.blocks.items():
            inside = [one for one in brute.released if name in one[1]]
            assert not inside or brute.loss(frozenset({name})) <= cap


@settings(max_examples=100)
@given(steps=HISTORIES)
def test_of_a_unit_of_one_block_the_bound_is_its_loss_itself(helpers, steps):
    """So what is refused there would have broken a cap: nothing is wasted."""
    for _, brute, _ in run(helpers, 1, steps):
        for unit in brute.units():
            assert brute.loss(unit) == brute.added_up(unit, brute.released)
