"""Exponential mechanism and permute-and-flip: exact laws, exact boundaries, grants."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpforest.accounting.events import ExponentialSelection, PermuteAndFlipSelection
from dpforest.exceptions import GrantError, ParameterError
from dpforest.mechanisms.base import exponent
from dpforest.mechanisms.entropy import FixedWords, SeededSource, SystemSource
from dpforest.mechanisms.kernels import selection as kernels
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip
from dpforest.mechanisms.slow import finish_exponential, finish_noisy_maximum

ONE = Fraction(1)
TOP_WORD = 2**64 - 1
UNAVAILABLE = -math.inf
NO_WEIGHTS = np.empty(0)


def exponential(epsilon, score_range=1):
    return ExponentialSelection(Fraction(epsilon), Fraction(score_range))


def permuting(epsilon, score_range=1):
    return PermuteAndFlipSelection(Fraction(epsilon), Fraction(score_range))


def draw_many(select, event, scores, n, grant, **options):
    """Counts of n draws from one row's scores."""
    width = len(scores)
    starts = np.arange(n) * width
    chosen = select(
        np.tile(scores, n), starts, starts + width, ONE, grant(event, n), SeededSource(1), **options
    )
    return np.bincount(chosen, minlength=width)


def exponential_law(scores, c, weights=None):
    law = np.exp(c * (np.asarray(scores) - np.max(scores)))
    law = law * (1 if weights is None else np.asarray(weights))
    return law / law.sum()


def permute_and_flip_law(scores, c):
    """By its definition: in a random order, accept each with exp(c (q - max q))."""
    accept = np.exp(c * (np.asarray(scores) - np.max(scores)))
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        missed = 1.0
        for j in order:
            law[j] += missed * accept[j] / len(orders)
            missed *= 1 - accept[j]
    return law


LAWS = [
    (select_exponential, exponential, exponential_law),
    (select_permute_and_flip, permuting, permute_and_flip_law),
]


# -- distributions ---------------------------------------------------------------------------


@pytest.mark.parametrize(("select", "event", "law"), LAWS)
def test_draws_follow_the_law_and_not_one_30_percent_off(select, event, law, grant, fits):
    scores = np.array([0.0, -3.0, 2.0, UNAVAILABLE, -1.0])
    counts = draw_many(select, event(Fraction(4, 5), 2), scores, 40_000, grant)
    assert fits(counts, law(scores, 0.4))
    assert not fits(counts, law(scores, 0.4 * 1.3))
    assert not fits(counts, law(scores, 0.4 / 1.3))


def test_weights_multiply_probabilities(grant, fits):
    scores, weights = np.array([0.0, 1.0, -1.0, 3.0]), np.array([4, 2, 9, 0])
    event = exponential(Fraction(7, 10))
    counts = draw_many(
        select_exponential, event, scores, 40_000, grant, weights=np.tile(weights, 40_000)
    )
    assert fits(counts, exponential_law(scores, 0.7, weights))
    assert not fits(counts, exponential_law(scores, 0.7 * 1.3, weights))
    assert not fits(counts, exponential_law(scores, 0.7 / 1.3, weights))


def test_permute_and_flip_is_not_the_exponential_mechanism(grant, fits):
    scores = np.array([0.0, -2.0, -2.0, -2.0])
    counts = draw_many(select_permute_and_flip, permuting(1), scores, 40_000, grant)
    assert not fits(counts, exponential_law(scores, 1.0))


def test_exponential_agrees_with_diffprivlib(grant, same_law):
    oracle = pytest.importorskip("diffprivlib.mechanisms", exc_type=ImportError)
    scores = [0.0, 3.0, 5.0, 1.0]
    other = oracle.Exponential(epsilon=0.8, sensitivity=1, utility=scores, random_state=4)
    theirs = np.array([other.randomise() for _ in range(20_000)])
    counts = draw_many(
        select_exponential, exponential(Fraction(4, 5), 2), np.array(scores), 20_000, grant
    )
    assert same_law(np.repeat(np.arange(4), counts), theirs)
    sharper = draw_many(
        select_exponential, exponential(Fraction(52, 50), 2), np.array(scores), 20_000, grant
    )
    assert not same_law(np.repeat(np.arange(4), sharper), theirs)


# -- twins -----------------------------------------------------------------------------------


def random_rows(seed, n_rows):
    """Rows of 0 to 12 scores, some unavailable, on wide and narrow scales."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, 13, n_rows)
    ends = np.cumsum(lengths)
    scale = np.repeat(generator.choice([3, 100, 10**6, 2**50], n_rows), lengths)
    scores = np.floor(generator.uniform(-1, 1, ends[-1]) * scale)
    scores[generator.uniform(size=scores.size) < 0.2] = UNAVAILABLE
    words = generator.integers(0, 2**64, n_rows, dtype=np.uint64, endpoint=False)
    words[:20] = [0, 1, TOP_WORD, TOP_WORD - 1] * 5
    return scores, ends - lengths, ends, words


@pytest.mark.parametrize("c", [0.0, 1e-6, 0.05, 1.0, 40.0, 1e300])
@pytest.mark.parametrize("weighted", [False, True])
def test_exponential_kernel_compiled_and_not_equals_the_slow_twin(c, weighted):
    scores, starts, ends, words = random_rows(2, 150)
    weights = np.random.default_rng(3).integers(0, 2**40, scores.size).astype(float)
    weights[::7] = 0
    weights = weights if weighted else NO_WEIGHTS
    compiled, plain = np.empty(150, dtype=np.int64), np.empty(150, dtype=np.int64)
    arguments = (scores, weights, starts, ends, c, words)
    kernels.select_exponential_rows(*arguments, compiled)
    with np.errstate(all="ignore"):
        kernels.select_exponential_rows.py_func(*arguments, plain)
    assert np.array_equal(compiled, plain)
    for i in np.flatnonzero(compiled != kernels.UNDECIDED):
        row = slice(starts[i], ends[i])
        own = weights[row].tolist() if weighted else None
        twin = finish_exponential(scores[row].tolist(), own, c, int(words[i]), SystemSource())
        assert compiled[i] == twin


@pytest.mark.parametrize("c", [0.0, 1e-6, 0.05, 1.0, 40.0, 1e300])
def test_noisy_maximum_kernel_compiled_and_not_equals_the_slow_twin(c):
    scores, starts, ends, _ = random_rows(4, 150)
    words = np.random.default_rng(5).integers(0, 2**64, scores.size, dtype=np.uint64)
    words[::11], words[5::13] = 0, TOP_WORD
    compiled, plain = np.empty(150, dtype=np.int64), np.empty(150, dtype=np.int64)
    kernels.select_noisy_maximum_rows(scores, starts, ends, c, words, compiled)
    with np.errstate(all="ignore"):
        kernels.select_noisy_maximum_rows.py_func(scores, starts, ends, c, words, plain)
    assert np.array_equal(compiled, plain)
    for i in np.flatnonzero(compiled != kernels.UNDECIDED):
        row = slice(starts[i], ends[i])
        twin = finish_noisy_maximum(scores[row].tolist(), c, words[row].tolist(), SystemSource())
        assert compiled[i] == twin


def exact_boundaries(scores, c, factors=None, digits=80):
    """Cumulated probabilities of a row, in decimals."""
    with localcontext() as context:
        context.prec = digits
        weights = [(Decimal(c) * Decimal(q - max(scores))).exp() for q in scores]
        if factors is not None:
            weights = [Decimal(m) * w for m, w in zip(factors, weights, strict=True)]
        sums = list(itertools.accumulate(weights))
        return [s / sums[-1] for s in sums[:-1]]


def bits_of(probability, words):
    """The first 64-bit words of a number in (0, 1)."""
    with localcontext() as context:
        context.prec = 120
        whole = int(probability * 2 ** (64 * words))
    return [(whole >> (64 * k)) & TOP_WORD for k in reversed(range(words))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_words_around_a_boundary_are_decided_as_the_exact_law_says(seed, weighted, grant):
    generator = np.random.default_rng(seed)
    scores = generator.integers(-40, 1, 6).astype(float)
    weights = generator.integers(1, 1000, 6) if weighted else None
    factors = weights.tolist() if weighted else None
    event = exponential(Fraction(1, 3))
    c = exponent(event.epsilon, event.score_range, ONE)
    for j, boundary in enumerate(exact_boundaries(scores.tolist(), c, factors)):
        first, second, third = bits_of(boundary, 3)
        # One unit of the second word, far below what doubles hold, decides.
        for words, expected in (
            ([first - 1], j), ([first + 1], j + 1),
            ([first, second - 1], j), ([first, second + 1], j + 1),
            ([first, second, third - 1], j), ([first, second, third + 1], j + 1),
        ):  # fmt: skip
            if all(0 <= word <= TOP_WORD for word in words):
                source = FixedWords([*words, 2**63, 2**63])
                chosen = select_exponential(scores, [0], [6], ONE, grant(event), source, weights)
                assert chosen[0] == expected
                assert source.used == len(words)


@pytest.mark.parametrize("seed", range(10))
def test_words_away_from_a_boundary_need_no_further_ones(seed, grant):
    scores = np.random.default_rng(seed).integers(-5, 1, 6).astype(float)
    for j, boundary in enumerate(exact_boundaries(scores.tolist(), 1.0)):
        (first,) = bits_of(boundary, 1)
        for distance, expected in ((-(2**26), j), (2**26, j + 1)):
            source = FixedWords([first + distance])
            chosen = select_exponential(scores, [0], [6], ONE, grant(exponential(1)), source)
            assert chosen[0] == expected


@pytest.mark.parametrize("gap", [5, 12, 20, 24, 27])
def test_small_weights_are_counted_where_doubles_decide(gap, grant):
    share = int(2**64 / (1 + math.exp(gap)))
    for distance, expected in ((-(2**24), 0), (2**24, 1)):
        source = FixedWords([share + distance])
        chosen = select_exponential([-gap, 0.0], [0], [2], ONE, grant(exponential(1)), source)
        assert chosen[0] == expected


@pytest.mark.parametrize(
    ("scores", "words", "expected"),
    [
        # Equal to 64 bits: the smaller uniform wins by the next word.
        ([0.0, 0.0], [2**63, 2**63, 1, 3], 0),
        ([0.0, 0.0], [2**63, 2**63, 3, 1], 1),
        ([0.0, 0.0], [2**63, 2**63, 2, 2, 7, 5], 1),
        # 2e = 5.44 lies between 5 and 6: fractions of the last place decide.
        ([0.0, -1.0], [5, 2, 2**62, 0], 0),
        ([0.0, -1.0], [5, 2, 3 * 2**62, 0], 1),
        ([-1.0, 0.0], [2, 5, 0, 3 * 2**62], 0),
        # 2e and 3e both lie above 5 or below 9.
        ([0.0, -1.0], [4, 2], 0),
        ([0.0, -1.0], [9, 2], 1),
    ],
)
def test_ties_of_permute_and_flip_are_decided_by_further_words(scores, words, expected, grant):
    source = FixedWords(words)
    chosen = select_permute_and_flip(scores, [0], [2], ONE, grant(permuting(1)), source)
    assert chosen[0] == expected
    assert source.used == len(words)


# -- every outcome stays possible ------------------------------------------------------------


@pytest.mark.parametrize("gap", [50, 100, 700, 800, 2_000])
def test_outcome_below_2_to_minus_60_is_reached_by_chosen_words(gap, grant):
    n = int(gap / math.log(2)) // 64 + 2
    for scores, word, rare in (([-gap, 0.0], 0, 0), ([0.0, -gap], TOP_WORD, 1)):
        chosen = select_exponential(
            scores, [0], [2], ONE, grant(exponential(1)), FixedWords([word] * n)
        )
        assert chosen[0] == rare
        # Half a word less extreme, long before the end: the likely one.
        chosen = select_exponential(
            scores, [0], [2], ONE, grant(exponential(1)), FixedWords([word, 2**63])
        )
        assert chosen[0] == 1 - rare


@pytest.mark.parametrize("gap", [50, 100, 700])
def test_permute_and_flip_reaches_outcomes_below_2_to_minus_60(gap, grant):
    n = int(gap / math.log(2)) // 64 + 2
    # Both candidates are refined in turn while either may win.
    words = [2**63, 0] + [5, 0] * n
    for scores, order in (([0.0, -gap], 1), ([-gap, 0.0], -1)):
        turns = [w for k in range(0, len(words), 2) for w in words[k : k + 2][::order]]
        chosen = select_permute_and_flip(
            scores, [0], [2], ONE, grant(permuting(1)), FixedWords(turns)
        )
        assert scores[chosen[0]] == -gap


# -- edges -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("select", "event", "_law"), LAWS)
def test_rows_without_an_available_candidate_choose_none(select, event, _law, grant):
    scores = [UNAVAILABLE, UNAVAILABLE, 5.0]
    chosen = select(scores, [0, 1, 2], [2, 1, 3], ONE, grant(event(1), 3), SystemSource())
    assert chosen.tolist() == [-1, -1, 0]
    assert chosen.dtype == np.int64


@pytest.mark.parametrize(("select", "event", "_law"), LAWS)
def test_no_rows_choose_nothing(select, event, _law, grant):
    chosen = select([], [], [], ONE, grant(event(1)), FixedWords([]))
    assert chosen.shape == (0,)


@pytest.mark.parametrize("word", [0, 1, 2**63, TOP_WORD])
@pytest.mark.parametrize(("select", "event", "_law"), LAWS)
def test_unavailable_candidates_are_never_chosen(select, event, _law, word, grant):
    scores = [UNAVAILABLE, UNAVAILABLE, 1.0, UNAVAILABLE, 0.0, UNAVAILABLE]
    for _ in range(20):
        words = np.append(np.full(6, word, dtype=np.uint64), SystemSource().words(100))
        chosen = select(scores, [0], [6], ONE, grant(event(1)), FixedWords(words))
        assert chosen[0] in (2, 4)


def test_exponential_takes_one_word_a_row_and_permute_and_flip_one_a_candidate(grant):
    scores, starts, ends = np.zeros(100), [10, 50], [13, 54]
    source = FixedWords(SeededSource(0).words(50))
    select_exponential(scores, starts, ends, ONE, grant(exponential(1), 2), source)
    assert source.used == 2
    select_permute_and_flip(scores, starts, ends, ONE, grant(permuting(1), 2), source)
    assert source.used == 2 + 3 + 4


def test_very_small_epsilon_draws_uniformly(grant, fits):
    event = exponential(Fraction(1, 10**400))
    counts = draw_many(select_exponential, event, np.array([0.0, -1e6, -1e9]), 30_000, grant)
    assert fits(counts, [1 / 3] * 3)


def test_same_words_give_the_same_draw(grant):
    scores, starts = np.random.default_rng(0).integers(0, 9, 500).astype(float), np.arange(50) * 10
    draws = [
        select_exponential(
            scores, starts, starts + 10, ONE, grant(exponential(1), 50), SeededSource(9)
        )
        for _ in range(2)
    ]
    assert np.array_equal(*draws)


# -- parameters and what doubles may do -------------------------------------------------------


@pytest.mark.parametrize("seed", range(50))
def test_exponent_is_the_largest_double_not_above_the_rational(seed):
    generator = np.random.default_rng(seed)
    epsilon, divisor, unit = (
        Fraction(int(n), int(d)) for n, d in generator.integers(1, 10**9, (3, 2))
    )
    c = exponent(epsilon, divisor, unit)
    assert Fraction(c) <= epsilon / divisor * unit < Fraction(math.nextafter(c, math.inf))


def ulps_off(values, results, function):
    with localcontext() as context:
        context.prec = 40
        return max(
            abs(Decimal(float(r)) - function(Decimal(float(v)))) / Decimal(math.ulp(r))
            for v, r in zip(values, results, strict=True)
        )


def test_exp_and_log_err_by_less_than_the_kernels_assume():
    generator = np.random.default_rng(8)
    exponents = -np.concatenate(
        [np.linspace(0, 700, 1501), generator.exponential(5, 1500), 2.0 ** np.arange(-60, 9)]
    )
    uniforms = 2.0 ** -np.concatenate([np.linspace(0, 64, 1501), generator.uniform(0, 1e-3, 500)])
    uniforms = uniforms[uniforms < 1]
    assert ulps_off(exponents, compiled(math.exp, exponents), Decimal.exp) < 4
    assert ulps_off(uniforms, compiled(math.log, uniforms), Decimal.ln) < 4


def compiled(function, values):
    @numba.njit
    def apply(array):
        out = np.empty_like(array)
        for i in range(array.size):
            out[i] = function(array[i])
        return out

    return apply(values)


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(("select", "event", "_law"), LAWS)
def test_nothing_is_drawn_without_a_fitting_grant(select, event, _law, grant):
    other = permuting(1) if event is exponential else exponential(1)
    source = FixedWords([])
    row = ([0.0, 1.0], [0], [2], ONE)
    with pytest.raises(GrantError, match="runs only with a Grant for"):
        select(*row, None, source)
    with pytest.raises(GrantError, match="does not cover"):
        select(*row, grant(other), source)
    with pytest.raises(GrantError, match="grant for 1 cells .* does not cover 2"):
        select([0.0, 1.0], [0, 1], [1, 2], ONE, grant(event(1)), source)


@pytest.mark.parametrize(("select", "event", "_law"), LAWS)
def test_grant_is_good_for_one_draw(select, event, _law, grant):
    permission = grant(event(1))
    select([0.0, 1.0], [0], [2], ONE, permission, SystemSource())
    with pytest.raises(GrantError, match="used before"):
        select([0.0, 1.0], [0], [2], ONE, permission, SystemSource())


@pytest.mark.parametrize(("select", "event", "_law"), LAWS)
@pytest.mark.parametrize(
    ("starts", "ends", "text"),
    [
        ([0], [4], "rows must satisfy 0 <= start <= end <= 3"),
        ([-1], [2], "rows must satisfy"),
        ([2], [1], "rows must satisfy"),
        ([0, 1], [3], "the last two alike"),
    ],
)
def test_rows_outside_the_scores_are_refused_before_the_grant_is_used(
    select, event, _law, starts, ends, text, grant
):
    permission = grant(event(1))
    with pytest.raises(ParameterError, match=text):
        select([0.0, 1.0, 2.0], starts, ends, ONE, permission, SystemSource())
    assert not permission.consumed


def test_weights_of_another_shape_are_refused(grant):
    with pytest.raises(ParameterError, match=r"must have the shape \(2,\)"):
        select_exponential(
            [0.0, 1.0], [0], [2], ONE, grant(exponential(1)), SystemSource(), weights=[1.0]
        )
