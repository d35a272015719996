"""Noise of the K-norm: its law, vector by vector, and each part of the draw by counting.

Statistical tests accept the truth with an error rate of 1e-9 each, on words that are fixed. That
they reject an exponent 15 % off, and norms of other shapes, is asserted.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpforest.exceptions import ParameterError
from dpforest.mechanisms import k_norm
from dpforest.mechanisms.entropy import FixedWords, SeededSource, SystemSource
from dpforest.mechanisms.k_norm import k_norm_noise

ALPHA = 1e-9
N = 12_000
WIDTHS = [(1,), (2,), (1, 1), (1, 2), (2, 1), (3, 1)]


def blocks_of(vector, widths):
    ends = list(itertools.accumulate(widths))
    return [vector[end - width : end] for end, width in zip(ends, widths, strict=True)]


def k_norm_of(vector, widths):
    """The largest L1 of the blocks."""
    return max(sum(map(abs, block)) for block in blocks_of(vector, widths))


def l1_of(vector, widths):
    return sum(map(abs, vector))


def largest_of(vector, widths):
    return max(map(abs, vector))


def sum_of_largest(vector, widths):
    return sum(max(map(abs, block)) for block in blocks_of(vector, widths))


def vectors_within(radius, width):
    """How many vectors of one block have an L1 of at most the radius, by their non-zero places."""
    return sum(
        2**k * math.comb(width, k) * math.comb(radius, k) for k in range(min(width, radius) + 1)
    )


def shell_sizes(widths, radii):
    """How many vectors have each K-norm."""
    balls = [math.prod(vectors_within(r, width) for width in widths) for r in range(radii)]
    return [after - before for before, after in zip([0, *balls], balls, strict=False)]


def radius_law(widths, a, radii):
    """Probability of each K-norm; of numbers so far out that nothing is left."""
    weights = [size * math.exp(-a * r) for r, size in enumerate(shell_sizes(widths, radii))]
    assert weights[-1] < 1e-12 * sum(weights)
    return np.array(weights) / sum(weights)


def near_vectors(widths, reach):
    """Vectors whose coordinates lie within the reach."""
    return list(itertools.product(range(-reach, reach + 1), repeat=sum(widths)))


def law(widths, a, reach):
    """Vectors whose coordinates lie within the reach; probabilities of each, and of any other."""
    near = near_vectors(widths, reach)
    of_none = radius_law(widths, a, int(90 / a))[0]
    shares = of_none * np.array([math.exp(-a * k_norm_of(vector, widths)) for vector in near])
    return near, np.append(shares, 1.0 - shares.sum())


def counts_of(draws, near):
    """How often each vector was drawn, and any other."""
    found = Counter(map(tuple, draws))
    counts = [found[vector] for vector in near]
    return np.array([*counts, len(draws) - sum(counts)])


def drawn(widths, a, n=N, seed=1):
    source = SeededSource(seed)
    return [k_norm_noise(widths, a, source) for _ in range(n)]


# -- the law -----------------------------------------------------------------------------------


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_vectors_follow_their_law_and_not_one_whose_exponent_is_15_percent_off(widths, fits):
    draws = drawn(widths, 0.7)
    reach = {1: 12, 2: 8, 3: 6, 4: 4}[sum(widths)]
    near, right = law(widths, 0.7, reach)
    counts = counts_of(draws, near)
    assert fits(counts, right)
    for a in (0.7 * 1.15, 0.7 / 1.15):
        assert not fits(counts, law(widths, a, reach)[1])


@pytest.mark.parametrize("widths", [(1, 1), (1, 2), (2, 1), (3, 1)], ids=str)
def test_the_law_is_that_of_no_other_norm(widths, fits):
    near = near_vectors(widths, 4)
    # Alike in the L1 of each block: few enough kinds that each is drawn often.
    sizes = np.array([[sum(map(abs, b)) for b in blocks_of(vector, widths)] for vector in near])
    kinds = np.unique(sizes, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(kinds, counts_of(drawn(widths, 0.7), near)[:-1])
    for norm in (k_norm_of, l1_of, largest_of, sum_of_largest):
        weights = np.array([math.exp(-0.7 * norm(vector, widths)) for vector in near])
        same = norm is k_norm_of or (norm is largest_of and max(widths) == 1)
        assert fits(counts, np.bincount(kinds, weights / weights.sum())) == same


def test_one_block_is_noise_of_independent_geometric_numbers(fits):
    draws = np.array(drawn((2,), 0.7))
    places = np.arange(-12, 13)
    one = np.exp(-0.7 * np.abs(places)) * math.tanh(0.35)
    for column in draws.T:
        near = np.abs(column) <= 12
        counts = np.append(np.bincount(column[near] + 12, minlength=25), (~near).sum())
        assert fits(counts, np.append(one, 1.0 - one.sum()))


def test_blocks_lie_in_their_order(fits):
    near, right = law((1, 2), 0.7, 6)
    _, swapped = law((2, 1), 0.7, 6)
    counts = counts_of(drawn((1, 2), 0.7), near)
    assert fits(counts, right) and not fits(counts, swapped)


def test_sharp_noise_is_mostly_none_and_follows_its_law(fits):
    near, right = law((3, 1), 2.0, 3)
    assert right[near.index((0, 0, 0, 0))] > 0.14
    assert fits(counts_of(drawn((3, 1), 2.0, 2000), near), right)


@pytest.mark.parametrize("widths", [(3, 1), (2, 2, 1)], ids=str)
def test_the_largest_block_has_its_law_far_out_too(widths, fits):
    radii = [k_norm_of(vector, widths) for vector in drawn(widths, 0.1, 6000)]
    counts = np.bincount(radii, minlength=800)
    assert fits(counts, radius_law(widths, 0.1, 800))
    for a in (0.1 * 1.15, 0.1 / 1.15):
        assert not fits(counts, radius_law(widths, a, 800))
    # A ball of one dimension more or less has another radius.
    for other in ((widths[0] + 1, *widths[1:]), (widths[0] - 1, *widths[1:])):
        assert not fits(counts, radius_law(other, 0.1, 800))


def test_where_steps_are_small_the_largest_block_has_a_gamma_law():
    # Kolmogorov and Smirnov: an error rate of 1e-9.
    widths = (4, 6, 1)
    radii = np.array([k_norm_of(v, widths) for v in drawn(widths, 1e-9, 3000)]) * 1e-9
    assert stats.kstest(radii, stats.gamma(11).cdf).pvalue > ALPHA
    assert stats.kstest(radii * 1.15, stats.gamma(11).cdf).pvalue < ALPHA
    assert stats.kstest(radii, stats.gamma(12).cdf).pvalue < ALPHA


def test_noise_of_many_bits_is_drawn_as_it_is():
    sizes = [abs(z) for vector in drawn((2, 1), 1e-40, 50) for z in vector]
    assert 2**130 < max(sizes) < 2**140
    # All bits are drawn: none but chance makes the last 64 of any two the same.
    assert len({size % 2**64 for size in sizes}) == len(sizes)


# -- its parts, by counting --------------------------------------------------------------------


def ways(radius, width):
    """How often each block comes of all places and all signs, as fixed words."""
    n = radius + width
    bits = (n - 1).bit_length()
    assert n == 2**bits  # no word is drawn anew
    found = Counter()
    for places in itertools.product(range(n), repeat=width):
        if len(set(places)) < width:
            continue  # drawn anew
        for signs in itertools.product((0, 1), repeat=width):
            words = FixedWords([place << (64 - bits) for place in places] + list(signs))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(k_norm, "_geometric", lambda n, a, source: [radius])
                block = k_norm._attempt((width,), 1.0, words)
            found[None if block is None else tuple(block)] += 1
    return found


@pytest.mark.parametrize(("radius", "width"), [(3, 1), (2, 2), (6, 2), (1, 3), (5, 3)])
def test_every_vector_within_a_radius_is_one_way(radius, width):
    found = ways(radius, width)
    del found[None]
    within = [
        vector
        for vector in itertools.product(range(-radius, radius + 1), repeat=width)
        if l1_of(vector, (width,)) <= radius
    ]
    assert set(found) == set(within) and len(within) == vectors_within(radius, width)
    # In whatever order its places came.
    assert set(found.values()) == {math.factorial(width)}


@pytest.mark.parametrize("widths", [(1,), (1, 1), (1, 2), (2, 2), (3, 1), (1, 1, 1), (2, 1, 2)])
@pytest.mark.parametrize("radius", [0, 1, 2])
def test_a_radius_is_accepted_by_the_volume_of_its_blocks(widths, radius, monkeypatch):
    limits = []
    monkeypatch.setattr(k_norm, "_below", lambda most, source: limits.append(most) or most)
    k_norm._is_accepted(radius, widths, SystemSource())
    draws = list(itertools.product(*map(range, limits[0])))
    accepted = 0
    for draw in draws:
        monkeypatch.setattr(k_norm, "_below", lambda most, source, draw=draw: draw)
        accepted += k_norm._is_accepted(radius, widths, SystemSource())
    volume = math.prod(math.comb(radius + width, width) for width in widths)
    d = sum(widths)
    # The same for all radii, so it changes no law.
    constant = Fraction(math.prod(map(math.factorial, widths)), math.factorial(d))
    expected = constant * Fraction(volume, math.comb(radius + d, d))
    assert Fraction(accepted, len(draws)) == expected


def test_the_radius_is_a_sum_of_one_number_more_than_columns(fits):
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k_norm, "_geometric", lambda n, a, source: asked.append((n, a)) or [4] * n)
        k_norm._attempt((2, 1), 0.25, SeededSource(0))
    assert asked == [(4, 0.25)]
    found = k_norm._geometric(20_000, 0.25, SeededSource(1))
    assert len(found) == 20_000
    places = np.arange(max(found) + 1)

    def geometric(a):
        return np.append(np.exp(-a * places) * -math.expm1(-a), math.exp(-a * places.size))

    counts = np.append(np.bincount(found), 0)
    assert fits(counts, geometric(0.25))
    assert not fits(counts, geometric(0.25 * 1.15))


def test_parts_are_gaps_between_places():
    # Of radius 6 and width 2 there are 8 places, three bits each; equal ones are drawn anew.
    words = FixedWords([place << 61 for place in (5, 5, 7, 2)])
    assert list(k_norm._parts(6, 2, words)) == [2, 4]
    assert words.used == 4
    assert list(k_norm._parts(6, 2, FixedWords([0, 1 << 61]))) == [0, 0]


# -- numbers below a limit ---------------------------------------------------------------------


def test_a_number_below_a_limit_is_the_first_bits_of_a_word_where_they_are_below_it():
    for first in range(8):
        words = FixedWords([(first << 61) + 12345, 3 << 61])
        assert k_norm._below([5], words) == [first if first < 5 else 3]
        assert words.used == (1 if first < 5 else 2)


def test_a_limit_of_one_leaves_zero_alone():
    assert k_norm._below([1, 1], FixedWords([2**64 - 1, 7])) == [0, 0]
    assert k_norm._below([], SystemSource()) == []


@pytest.mark.parametrize("limit", [2**63, 2**64 - 1, 2**64])
def test_limits_up_to_two_to_the_64_take_one_word(limit):
    for word in (0, 1, 2**63, 2**64 - 2):
        words = FixedWords([word, 17])
        value = word >> (64 - (limit - 1).bit_length())
        assert k_norm._below([limit], words) == [value] and words.used == 1


def test_larger_limits_take_two_words():
    limit = 2**64 + 1  # 65 bits
    assert k_norm._below([limit], FixedWords([2**63, 2**62])) == [2**64]
    assert k_norm._below([limit], FixedWords([2**63 - 1, 2**63])) == [2**64 - 1]
    words = FixedWords([2**63, 2**63, 5, 0])  # 2^64 + 1 is not below
    assert k_norm._below([limit], words) == [10] and words.used == 4
    with pytest.raises(ParameterError, match="fixed words are left"):
        k_norm._below([limit], FixedWords([1]))
    # Small limits beside it take as many, and stay what they are.
    assert k_norm._below([5, limit], FixedWords([3 << 61, 9, 1, 2**63])) == [3, 3]


@pytest.mark.parametrize("limit", [3, 6, 1000, 2**63 + 1, 2**64 + 1, 3 * 2**80, 7**50])
def test_numbers_below_a_limit_are_alike_in_their_first_and_in_their_last_digits(limit, fits):
    found = k_norm._below([limit] * 12_000, SeededSource(2))
    assert all(0 <= value < limit for value in found)
    parts = min(limit, 48)
    firsts = np.bincount([value * parts // limit for value in found], minlength=parts)
    # The share of numbers whose first digits are these, exactly.
    ends = [-(-limit * part // parts) for part in range(parts + 1)]
    alike = [float(Fraction(b - a, limit)) for a, b in itertools.pairwise(ends)]
    assert fits(firsts, alike)
    assert fits(np.bincount([value % 3 for value in found], minlength=3), np.full(3, 1 / 3))
