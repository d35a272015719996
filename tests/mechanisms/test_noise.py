"""Geometric and discrete Gaussian noise: exact laws, chosen tails, refusals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
)
from dpforest.exceptions import GrantError, ParameterError, ParameterTypeError
from dpforest.mechanisms.base import variance
from dpforest.mechanisms.entropy import FixedWords, SeededSource, SystemSource
from dpforest.mechanisms.kernels import noise as kernels
from dpforest.mechanisms.noise import (
    add_discrete_gaussian_noise,
    add_geometric_noise,
    discrete_gaussian_gamma,
    geometric_constant,
)
from dpforest.mechanisms.slow import finish_acceptance, finish_two_sided_geometric

TOP_WORD = 2**64 - 1
N = 60_000


def geometric(epsilon, l1=1):
    return GeometricNoise(Fraction(epsilon), Fraction(l1))


def gaussian(sigma_squared, l2=1):
    return DiscreteGaussianNoise(Fraction(sigma_squared), Fraction(l2))


def geometric_law(values, a):
    law = np.exp(-a * np.abs(values))
    return law / law.sum()


def gaussian_law(values, sigma_squared):
    law = np.exp(-(values**2) / (2 * sigma_squared))
    return law / law.sum()


def histogram(noise, reach):
    assert np.abs(noise).max() <= reach
    return np.bincount(noise + reach, minlength=2 * reach + 1)


# -- distributions ---------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "l1"), [(1, 1), (Fraction(1, 4), 1), (5, 1), (3, 6)])
def test_geometric_noise_follows_its_law_and_not_one_30_percent_off(epsilon, l1, grant, fits):
    noise = add_geometric_noise(np.zeros(N, int), grant(geometric(epsilon, l1)), SeededSource(1))
    a = float(Fraction(epsilon, l1))
    reach = int(40 / a) + 1
    values, counts = np.arange(-reach, reach + 1), histogram(noise, reach)
    assert fits(counts, geometric_law(values, a))
    assert not fits(counts, geometric_law(values, a * 1.3))
    assert not fits(counts, geometric_law(values, a / 1.3))


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 3), 1, Fraction(29, 3), 400])
def test_discrete_gaussian_noise_follows_its_law_and_not_one_30_percent_off(
    sigma_squared, grant, fits
):
    event = gaussian(sigma_squared)
    noise = add_discrete_gaussian_noise(np.zeros(N, int), grant(event), SeededSource(1))
    s = float(sigma_squared)
    reach = int(9 * math.sqrt(s)) + 2
    values, counts = np.arange(-reach, reach + 1), histogram(noise, reach)
    assert fits(counts, gaussian_law(values, s))
    assert not fits(counts, gaussian_law(values, s * 1.3**2))
    assert not fits(counts, gaussian_law(values, s / 1.3**2))


def test_geometric_noise_agrees_with_diffprivlib(grant, same_law):
    oracle = pytest.importorskip("diffprivlib.mechanisms", exc_type=ImportError)
    other = oracle.Geometric(epsilon=0.5, sensitivity=1, random_state=4)
    theirs = np.array([other.randomise(0) for _ in range(20_000)])
    ours = add_geometric_noise(
        np.zeros(20_000, int), grant(geometric(Fraction(1, 2))), SeededSource(1)
    )
    sharper = add_geometric_noise(
        np.zeros(20_000, int), grant(geometric(Fraction(13, 20))), SeededSource(1)
    )
    assert same_law(ours, theirs)
    assert not same_law(sharper, theirs)


@pytest.mark.parametrize("add", [add_geometric_noise, add_discrete_gaussian_noise])
def test_neighbouring_values_of_a_table_get_independent_noise(add, grant):
    event = geometric(1) if add is add_geometric_noise else gaussian(1)
    table = add(np.zeros((30_000, 2), int), grant(event, 30_000), SeededSource(6))
    # Under independence the correlation has standard deviation 1/sqrt(30000); 6.2 of them.
    assert abs(np.corrcoef(table.T)[0, 1]) < 6.2 / math.sqrt(30_000)


# -- twins -----------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [1e-9, 1e-3, 0.3, 1.0, 17.0, 1e6])
def test_geometric_kernel_compiled_and_not_equals_the_slow_twin(a):
    words = np.append(SeededSource(3).words(300), np.arange(20, dtype=np.uint64))
    words = np.append(words, np.uint64(TOP_WORD) - np.arange(4, dtype=np.uint64))
    compiled, plain = np.empty(words.size, dtype=np.int64), np.empty(words.size, dtype=np.int64)
    kernels.two_sided_geometric_values(a, geometric_constant(a), words, compiled)
    kernels.two_sided_geometric_values.py_func(a, geometric_constant(a), words, plain)
    assert np.array_equal(compiled, plain)
    decided = compiled != kernels.UNDECIDED
    assert decided[:300].mean() > 0.9
    for word, value in zip(words[decided].tolist(), compiled[decided], strict=True):
        assert value == finish_two_sided_geometric(a, word, SystemSource())


@pytest.mark.parametrize("sigma_squared", [0.01, 0.7, 50.0, 1e12])
def test_gaussian_kernel_compiled_and_not_equals_the_slow_twin(sigma_squared):
    a = 1 / math.sqrt(sigma_squared)
    words = SeededSource(3).words(600).reshape(-1, 2)
    words[:5, 1], words[5:10, 1], words[10:15, 0] = 0, TOP_WORD, 1
    results = []
    for attempts in (
        kernels.discrete_gaussian_attempts,
        kernels.discrete_gaussian_attempts.py_func,
    ):
        noise, state = np.empty(300, dtype=np.int64), np.empty(300, dtype=np.int64)
        attempts(sigma_squared, a, geometric_constant(a), words, noise, state)
        results.append((noise, state))
    assert np.array_equal(results[0], results[1])
    noise, state = results[0]
    decided = np.flatnonzero(state <= kernels.REJECTED)
    assert decided.size > 250
    for i in decided:
        first, second = words[i].tolist()
        assert noise[i] == finish_two_sided_geometric(a, first, SystemSource())
        gamma = discrete_gaussian_gamma(int(noise[i]), a, sigma_squared)
        accepted = finish_acceptance(gamma, second, SystemSource())
        assert accepted == (state[i] == kernels.ACCEPTED)


def bits_of(probability, words, width):
    """First word of the given width, then 64-bit words, of a number in (0, 1)."""
    whole = int(probability * 2 ** (width + 64 * (words - 1)))
    shifts = [64 * k for k in reversed(range(words))]
    return [whole >> shifts[0]] + [(whole >> shift) & TOP_WORD for shift in shifts[1:]]


@pytest.mark.parametrize("m", [1, 2, 3, 20])
@pytest.mark.parametrize("sign", [0, 1])
def test_words_at_a_boundary_of_the_geometric_law_are_decided_exactly(m, sign, grant):
    with localcontext() as context:
        context.prec = 100
        r = (-Decimal(1) / 2).exp()
        # P(|k| >= m) as the first bits of V: below it |k| >= m, above it |k| < m.
        first, second = bits_of(2 * r**m / (1 + r), 2, 63)
    for step, magnitude in ((-1, m), (1, m - 1)):
        source = FixedWords([2 * first + sign, second + step])
        (noisy,) = add_geometric_noise([0], grant(geometric(Fraction(1, 2))), source)
        assert noisy == (-magnitude if sign else magnitude)
        assert source.used == 2


def test_acceptance_at_its_boundary_is_decided_exactly():
    with localcontext() as context:
        context.prec = 100
        words = bits_of((-Decimal(7) / 3).exp(), 3, 64)
    gamma = Fraction(7, 3)
    assert finish_acceptance(gamma, words[0], FixedWords([words[1], words[2] - 1]))
    assert not finish_acceptance(gamma, words[0], FixedWords([words[1], words[2] + 1]))


#: How far from a boundary words are tried: to a double of 64 bits they are alike over some 2^11.
NEAR = np.arange(-(2**12), 2**12, 5)


def near_and_far(first, width):
    """Words around a boundary, and words that are so far from it that doubles tell them apart."""
    steps = [*NEAR.tolist(), *(sign * 2 ** (width - 20) for sign in (-1, 1))]
    return [first + step for step in steps]


@pytest.mark.parametrize("a", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_doubles_decide_no_word_so_near_a_geometric_boundary_that_they_may_err(a, m):
    with localcontext() as context:
        context.prec = 60
        r = (-Decimal(a)).exp()
        boundary = 2 * r**m / (1 + r) * 2**63
        places = near_and_far(int(boundary), 63)
        words = np.array([2 * place for place in places], dtype=np.uint64)
        # All of V in [place, place + 1]: below the boundary |k| >= m, above it |k| < m.
        exact = [place + 1 <= boundary for place in places]
        crossed = [place <= boundary < place + 1 for place in places]
    found = np.empty(words.size, dtype=np.int64)
    kernels.two_sided_geometric_values(a, geometric_constant(a), words, found)
    decided = found != kernels.UNDECIDED
    assert not decided[crossed].any()
    assert np.array_equal((found >= m)[decided], np.array(exact)[decided])
    # The margin is what it has to be and not much more: far words are decided.
    assert decided[-2:].all() and not decided[NEAR.size // 2]


@pytest.mark.parametrize("sigma_squared", [0.7, 50.0, 1e6])
@pytest.mark.parametrize("gamma_at_most", [1.0, 5.0])
def test_doubles_decide_no_word_so_near_an_acceptance_that_they_may_err(
    sigma_squared, gamma_at_most
):
    a = 1 / math.sqrt(sigma_squared)
    with localcontext() as context:
        context.prec = 60
        # The largest proposal whose gamma is no more than that, and words that propose it.
        k = int(a * sigma_squared + math.sqrt(2 * gamma_at_most * sigma_squared))
        gamma = discrete_gaussian_gamma(k, a, sigma_squared)
        r = (-Decimal(a)).exp()
        middle = int(2 * r ** (Decimal(k) + Decimal("0.5")) / (1 + r) * 2**63)
        boundary = (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp() * 2**64
        seconds = [place for place in near_and_far(int(boundary), 64) if 0 < place < 2**64]
        exact = [place + 1 <= boundary for place in seconds]
        crossed = [place <= boundary < place + 1 for place in seconds]
    words = np.array([(2 * middle, second) for second in seconds], dtype=np.uint64)
    noise, state = (np.empty(len(seconds), dtype=np.int64) for _ in range(2))
    constant = geometric_constant(a)
    kernels.discrete_gaussian_attempts(sigma_squared, a, constant, words, noise, state)
    assert (noise == k).all()
    decided = state != kernels.OPEN_ACCEPTANCE
    assert not decided[crossed].any()
    assert np.array_equal((state == kernels.ACCEPTED)[decided], np.array(exact)[decided])
    assert decided[-2:].all() and not decided.all()


# -- tails and edges -------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [0, 1])
def test_geometric_noise_below_2_to_minus_120_is_reached_by_chosen_words(sign, grant):
    (noisy,) = add_geometric_noise(
        np.array([10]), grant(geometric(1)), FixedWords([sign, 0, 2**63])
    )
    # V = 2^-128: |k| = floor(128 ln 2 + ln 2 - ln(1 + 1/e)).
    assert noisy == 10 + (-89 if sign else 89)


def test_gaussian_noise_takes_further_words_where_attempts_fail(grant):
    # sigma^2 = 1, a = 1: first proposal 5 (gamma 8) with U = 1/2 fails, then 1 (gamma 0) passes.
    five = 2 * int(2**63 * math.exp(-5.2) * 2 / (1 + math.exp(-1)))
    one = 2 * int(2**63 * math.exp(-1.2) * 2 / (1 + math.exp(-1)))
    source = FixedWords([five, 2**63, one, 2**63])
    assert add_discrete_gaussian_noise([0], grant(gaussian(1)), source).tolist() == [1]
    source = FixedWords([five, 2**63])
    with pytest.raises(ParameterError, match="only 0 fixed words are left"):
        add_discrete_gaussian_noise([0], grant(gaussian(1)), source)


def test_gaussian_noise_of_a_dozen_sigmas_is_reached_by_chosen_words(grant):
    # |k| = 12 has gamma 60.5: accepted where U < 2^-87.
    twelve = 2 * int(2**63 * math.exp(-12.2) * 2 / (1 + math.exp(-1))) + 1
    source = FixedWords([twelve, 0, 2**40])
    assert add_discrete_gaussian_noise([0], grant(gaussian(1)), source).tolist() == [-12]
    # And a proposal of 89, gamma 3872, both finished in decimals.
    source = FixedWords([0, 0, 0, 2**63] + [0] * 100)
    (noisy,) = add_discrete_gaussian_noise([0], grant(gaussian(1)), source)
    assert noisy == 89


@pytest.mark.parametrize("add", [add_geometric_noise, add_discrete_gaussian_noise])
def test_enormous_noise_is_clipped_not_wrapped(add, grant):
    event = geometric(Fraction(1, 10**40)) if add is add_geometric_noise else gaussian(10**80)
    noisy = add(np.zeros(20, int), grant(event), SeededSource(2))
    assert np.abs(noisy).max() == 2**62
    assert {-(2**62), 2**62} == set(noisy.tolist())


@pytest.mark.parametrize("add", [add_geometric_noise, add_discrete_gaussian_noise])
@pytest.mark.parametrize("shape", [(0,), (5,), (3, 2), (0, 2), (2, 3, 4)])
def test_noise_keeps_shape_dtype_and_the_callers_counts(add, shape, grant):
    event = geometric(1) if add is add_geometric_noise else gaussian(1)
    counts = np.arange(math.prod(shape)).reshape(shape)
    kept = counts.copy()
    cells = max(shape[0], 1) if len(shape) == 2 else 1
    noisy = add(counts, grant(event, cells), SystemSource())
    assert noisy.shape == shape
    assert noisy.dtype == np.int64
    assert np.array_equal(counts, kept)


@pytest.mark.parametrize("add", [add_geometric_noise, add_discrete_gaussian_noise])
def test_nearly_no_noise_leaves_counts_as_they_are(add, grant):
    event = geometric(900) if add is add_geometric_noise else gaussian(Fraction(1, 900))
    counts = np.arange(100)
    assert np.array_equal(add(counts, grant(event), SeededSource(0)), counts)


def test_same_words_add_the_same_noise_to_other_counts(grant):
    for add, event in (
        (add_geometric_noise, geometric(1)),
        (add_discrete_gaussian_noise, gaussian(4)),
    ):
        zeros = add(np.zeros(50, int), grant(event), SeededSource(8))
        tens = add(np.full(50, 10), grant(event), SeededSource(8))
        assert np.array_equal(tens - zeros, np.full(50, 10))


@pytest.mark.parametrize("seed", range(30))
def test_variance_is_the_smallest_double_not_below_the_rational(seed):
    n, d = np.random.default_rng(seed).integers(1, 10**12, 2)
    exact = Fraction(int(n), int(d))
    rounded = variance(exact)
    assert Fraction(math.nextafter(rounded, 0)) < exact <= Fraction(rounded)


# -- refusals --------------------------------------------------------------------------------


def test_noise_is_not_added_without_a_fitting_grant(grant):
    table = np.zeros((3, 2), int)
    for add, event, name in (
        (add_geometric_noise, geometric(1), "GeometricNoise"),
        (add_discrete_gaussian_noise, gaussian(1), "DiscreteGaussianNoise"),
    ):
        with pytest.raises(GrantError, match=f"runs only with a Grant for {name}"):
            add(table, None, SystemSource())
        with pytest.raises(GrantError, match="grant for 2 cells .* does not cover 3"):
            add(table, grant(event, 2), SystemSource())
        with pytest.raises(GrantError, match=f"does not cover {name}"):
            add(table, grant(ExponentialSelection(Fraction(1), Fraction(1)), 3), SystemSource())
        used = grant(event, 3)
        add(table, used, SystemSource())
        with pytest.raises(GrantError, match="used before"):
            add(table, used, SystemSource())


def test_grant_for_a_smaller_sensitivity_is_refused(grant):
    with pytest.raises(GrantError, match="needs l1_sensitivity >= 1, but the grant is for 1/2"):
        add_geometric_noise([0], grant(geometric(1, Fraction(1, 2))), SystemSource())
    with pytest.raises(GrantError, match="needs l2_sensitivity_squared >= 1"):
        add_discrete_gaussian_noise([0], grant(gaussian(1, Fraction(1, 2))), SystemSource())


@pytest.mark.parametrize(
    "counts", [[0.6, 2.1], np.array([2**63], np.uint64), np.array([1, 2**70]), ["1"], [None]]
)
@pytest.mark.parametrize(
    ("add", "event"),
    [
        (add_geometric_noise, geometric(1, Fraction(3, 2))),
        (add_discrete_gaussian_noise, gaussian(1)),
    ],
)
def test_sums_that_are_no_whole_numbers_are_refused(counts, add, event, grant):
    """Cut to whole numbers, .6 and 2.1 are 2 apart, and 3 / 2 was paid for."""
    unused = grant(event)
    with pytest.raises(ParameterTypeError, match="must be whole numbers of 64 bits"):
        add(counts, unused, SystemSource())
    assert not unused.consumed
    for fine in ([], [True], np.array([7], np.uint32), np.array([3], np.int8)):
        assert add(fine, grant(event), SystemSource()).dtype == np.int64


def test_noise_that_no_double_can_scale_is_refused(grant):
    with pytest.raises(ParameterError, match="must be positive as a double"):
        add_geometric_noise([0], grant(geometric(Fraction(1, 10**400))), SystemSource())
    with pytest.raises(ParameterError, match="must round to a finite positive double"):
        add_discrete_gaussian_noise([0], grant(gaussian(10**400)), SystemSource())
