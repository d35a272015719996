"""The streamed exponential mechanism: the law of the plain one, acceptance at chosen words, grants.

Error rates: accepted at 1e-9 (see conftest), a scale 30 % off is rejected in both directions.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.exceptions import GrantError
from dpforest.mechanisms.entropy import FixedWords, SeededSource
from dpforest.mechanisms.selection import select_exponential
from dpforest.mechanisms.streamed import (
    FACTOR_BITS,
    Envelope,
    Proposal,
    StreamedBlocks,
    accept,
    draw_one_below,
    pick,
    select_exponential_streamed,
)

ONE = Fraction(1)
TOP_WORD = 2**64 - 1


def exponential(epsilon):
    return ExponentialSelection(Fraction(epsilon), ONE)


def blocks_of(scores, size):
    parts = [np.array(scores[k : k + size], dtype=np.int64) for k in range(0, len(scores), size)]
    return StreamedBlocks.of(lambda k: parts[k], len(parts))


def shared(make):
    """The same family for every cell of a call, built once."""
    built = []

    def remember(envelope):
        if not built:
            built.append(make(envelope))
        return built[0]

    return remember


def law(scores, c):
    weights = np.exp(c * (np.asarray(scores, dtype=float) - np.max(scores)))
    return weights / weights.sum()


# -- the law ---------------------------------------------------------------------------------


def test_draws_follow_the_law_and_not_one_30_percent_off(grant, fits):
    scores, n = [0, -3, 2, -1, 2, 1, -9], 12_000
    families = [shared(blocks_of(scores, 3))] * n
    drawn = select_exponential_streamed(
        families, ONE, grant(exponential("0.4"), n), SeededSource(1)
    )
    counts = np.bincount([3 * k + j for k, j in drawn], minlength=len(scores))
    assert fits(counts, law(scores, 0.4))
    assert not fits(counts, law(scores, 0.4 * 1.3))
    assert not fits(counts, law(scores, 0.4 / 1.3))


def test_each_family_has_a_unit_of_its_own(grant, fits):
    scores, n = [0, -3, 2, -1, 2, 1, -9], 6_000
    families = [shared(blocks_of(scores, 3))] * n + [shared(blocks_of(scores, 3))] * n
    units = [ONE] * n + [ONE / 4] * n
    drawn = select_exponential_streamed(
        families, units, grant(exponential("0.8"), 2 * n), SeededSource(6)
    )
    places = [3 * k + j for k, j in drawn]
    halves = [np.bincount(half, minlength=len(scores)) for half in (places[:n], places[n:])]
    assert fits(halves[0], law(scores, 0.8)) and fits(halves[1], law(scores, 0.2))
    assert not fits(halves[0], law(scores, 0.2)) and not fits(halves[1], law(scores, 0.8))


@pytest.mark.parametrize("n_units", [0, 1, 3])
def test_units_are_as_many_as_families(n_units, grant):
    families = [lambda _: pytest.fail("a family was made")] * 2
    with pytest.raises(ValueError, match="shorter|longer"):
        select_exponential_streamed(
            families, [ONE] * n_units, grant(exponential(1), 2), SeededSource(0)
        )


def test_the_twin_is_select_exponential_on_all_candidates_at_once(grant, same_law):
    scores = np.random.default_rng(0).integers(-12, 1, 24)
    n = 6_000
    starts = np.arange(n) * scores.size
    plain = select_exponential(
        np.tile(scores, n).astype(float), starts, starts + scores.size, ONE,
        grant(exponential("0.5"), n), SeededSource(2),
    )  # fmt: skip
    drawn = select_exponential_streamed(
        [shared(blocks_of(scores, 5))] * n, ONE, grant(exponential("0.5"), n), SeededSource(3)
    )
    assert same_law(plain, np.array([5 * k + j for k, j in drawn]))


@pytest.mark.parametrize("c", [0.0, 1e-9, 0.3, 1.0, 40.0])
@pytest.mark.parametrize("size", [1, 4, 11])
def test_a_block_family_keeps_its_promise_exactly(c, size):
    """Chance of a proposal times its acceptance, over exp(c q): the same for all candidates."""
    scores = np.array([0, -3, 7, 7, -50, 2, -700, 6, 1, 1, 3])
    family = blocks_of(scores, size)(Envelope(c))
    constants = set()
    for k, weight in enumerate(family._weights.tolist()):
        block = family.block(k)
        for j in range(block.size):
            proposal = proposal_of(family, k, j)
            assert proposal.gap == 7 - block[j]
            with localcontext() as context:
                context.prec = 60
                factor = (-Decimal(c) * proposal.gap).exp()
                chance = Decimal(proposal.ratio.numerator) / Decimal(proposal.ratio.denominator)
                assert chance * factor <= 1
            inner = bounds_of(family, k)
            share = Fraction(int(weight)) * Fraction(int(inner[j]), int(inner.sum()))
            constants.add(share * proposal.ratio)
    assert len(constants) == 1


def bounds_of(family, k):
    scores = family.block(k)
    gaps = int(scores.max()) - scores
    return family.envelope.integers(int(gaps.max()))[gaps]


def proposal_of(family, k, j):
    """What is proposed when words pick block k and place j."""
    before = int(family._weights[:k].sum())
    inner = int(bounds_of(family, k)[:j].sum())
    proposal = family.propose(FixedWords([before, inner]))
    assert proposal.outcome == (k, j)
    return proposal


def test_a_million_candidates_are_drawn_without_being_held(grant):
    made = []

    def block(k):
        made.append(k)
        return np.arange(1000, dtype=np.int64) + (k == 700)

    (drawn,) = select_exponential_streamed(
        [StreamedBlocks.of(block, 1000)], ONE, grant(exponential(50)), SeededSource(0)
    )
    assert drawn == (700, 999)
    assert len(made) == 1001


def test_candidates_below_2_to_minus_60_are_reached(grant):
    gap = 800
    # The rare block's integer weight is the floor; its acceptance takes words of zero.
    words = [0, 0] + [0] * 40
    families = [blocks_of([-gap, 0], 1)]
    assert select_exponential_streamed(families, ONE, grant(exponential(1)), FixedWords(words)) == [
        (0, 0)
    ]
    refused = [0, 0, 2**63, 1, 0]
    assert select_exponential_streamed(
        families, ONE, grant(exponential(1)), FixedWords(refused)
    ) == [(1, 0)]


# -- pieces ----------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 1e-300, 1e-7, 0.01, 1.0, 7.3, 500.0])
def test_bounds_lie_above_the_exact_factors_and_close(c):
    envelope = Envelope(c)
    gaps = [0, 1, 2, 3, 10, 50, 99]
    factors, integers = envelope.factors(99), envelope.integers(99)
    with localcontext() as context:
        context.prec = 50
        for gap in gaps:
            exact = (-Decimal(c) * gap).exp()
            if factors[gap]:
                assert exact <= Decimal(float(factors[gap])) <= exact * (1 + Decimal(2) ** -38)
            else:
                assert exact < Decimal(2) ** -1000
            whole = exact * 2**FACTOR_BITS
            assert whole <= int(integers[gap]) <= whole * (1 + Decimal(2) ** -38) + 1
    assert integers[0] == 2**FACTOR_BITS
    assert factors[0] == 1.0


@pytest.mark.parametrize(("ratio", "c", "gap"), [("2/3", 0.7, 2), ("1", 0.25, 1), ("9/10", 3.0, 0)])
def test_acceptance_is_decided_by_words_around_its_probability(ratio, c, gap):
    ratio = Fraction(ratio)
    with localcontext() as context:
        context.prec = 120
        exact = (-Decimal(c) * gap).exp() * ratio.numerator / ratio.denominator
        whole = int(exact * 2**192)
    first, second, third = ((whole >> shift) & TOP_WORD for shift in (128, 64, 0))
    for words, accepted in (
        ([first - 2], True), ([first + 2], False),
        ([first, second - 2], True), ([first, second + 2], False),
        ([first, second, third - 2], True), ([first, second, third + 2], False),
    ):  # fmt: skip
        source = FixedWords([*words, 2**63])
        assert accept(ratio, c, gap, source) == accepted
        assert source.used == len(words)


def test_certain_acceptance_takes_no_word():
    assert accept(ONE, 0.5, 0, FixedWords([]))


def test_pick_follows_integer_weights_and_skips_zeros():
    weights = np.array([0, 3, 0, 1, 0])
    drawn = [pick(weights, FixedWords([word])) for word in range(8)]
    assert drawn == [1, 1, 1, 3, 1, 1, 1, 3]


def test_draw_below_rejects_what_would_bias_it():
    assert draw_one_below(3, FixedWords([TOP_WORD, 5])) == 2
    assert draw_one_below(2**64, FixedWords([1, TOP_WORD])) == TOP_WORD
    source = FixedWords([7])
    assert draw_one_below(1, source) == 0


def test_tiny_epsilon_draws_uniformly(grant, fits):
    n = 2_000
    drawn = select_exponential_streamed(
        [shared(blocks_of([0, -5, -(10**6)], 2))] * n,
        ONE,
        grant(exponential(Fraction(1, 10**400)), n),
        SeededSource(4),
    )
    counts = np.bincount([2 * k + j for k, j in drawn], minlength=3)
    assert fits(counts, [1 / 3] * 3)


# -- grants ----------------------------------------------------------------------------------


class Unread:
    def propose(self, source):
        return Proposal("never", ONE, 0)


def test_no_family_is_made_without_a_fitting_grant(grant):
    def make(envelope):
        raise AssertionError("records were read")

    with pytest.raises(GrantError, match="runs only with a Grant for"):
        select_exponential_streamed([make], ONE, None, FixedWords([]))
    other = grant(GeometricNoise(ONE, ONE))
    with pytest.raises(GrantError, match="does not cover"):
        select_exponential_streamed([make], ONE, other, FixedWords([]))
    with pytest.raises(GrantError, match="grant for 1 cells .* does not cover 2"):
        select_exponential_streamed([make] * 2, ONE, grant(exponential(1)), FixedWords([]))


def test_grant_is_good_for_one_call(grant):
    permission = grant(exponential(1))
    families = [lambda envelope: Unread()]
    assert select_exponential_streamed(families, ONE, permission, FixedWords([])) == ["never"]
    with pytest.raises(GrantError, match="used before"):
        select_exponential_streamed(families, ONE, permission, FixedWords([]))


@pytest.mark.parametrize("epsilon", ["0.1", 2])
def test_the_exponent_is_that_of_the_event_over_its_range(epsilon, grant):
    seen = []

    def make(envelope):
        seen.append(envelope.c)
        return Unread()

    event = ExponentialSelection(Fraction(epsilon), Fraction(2))
    select_exponential_streamed([make], Fraction(1, 4), grant(event), FixedWords([]))
    assert Fraction(seen[0]) <= Fraction(epsilon) / 8 < Fraction(math.nextafter(seen[0], 9))
