"""Geometric noise that adds up to nothing: exact law, chosen tails, refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import GeometricNoise, ZeroSumGeometricNoise
from dpforest.exceptions import GrantError, ParameterError, ParameterTypeError
from dpforest.mechanisms.entropy import FixedWords, SeededSource, SystemSource
from dpforest.mechanisms.kernels import noise as kernels
from dpforest.mechanisms.noise import geometric_constant
from dpforest.mechanisms.zero_sum_noise import add_zero_sum_geometric_noise, finished_row

N = 60_000


def zero_sum(epsilon, columns=3, l1=1):
    return ZeroSumGeometricNoise(Fraction(epsilon), Fraction(l1), columns)


def noise_of(event, n, grant, others=0, seed=1):
    table = np.zeros((n, int(event.columns) + others), int)
    return add_zero_sum_geometric_noise(table, grant(event, n), SeededSource(seed))


def law(a, columns, reach):
    """P of all rows that add up to nothing and whose numbers but the last are within reach."""
    values = range(-reach, reach + 1)
    rows = [(*row, -sum(row)) for row in itertools.product(values, repeat=columns - 1)]
    weights = np.exp(-a * np.abs(rows).sum(axis=1))
    return rows, weights / weights.sum()


# -- distributions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "l1", "columns", "reach"),
    [(1, 1, 2, 12), (1, 1, 3, 16), (3, 6, 3, 30), (2, 1, 4, 8)],
)
def test_noise_follows_its_law_and_not_one_30_percent_off(epsilon, l1, columns, reach, grant, fits):
    noise = noise_of(zero_sum(epsilon, columns, l1), N, grant)
    a = float(Fraction(epsilon, l1))
    rows, expected = law(a, columns, reach)
    place = {row: i for i, row in enumerate(rows)}
    counts = np.bincount([place[tuple(row)] for row in noise.tolist()], minlength=len(rows))
    assert fits(counts, expected)
    assert not fits(counts, law(a * 1.3, columns, reach)[1])
    assert not fits(counts, law(a / 1.3, columns, reach)[1])


def test_other_columns_have_geometric_noise_of_their_own(grant, fits):
    noise = noise_of(zero_sum(1), N, grant, others=2)
    values = np.arange(-40, 41)
    expected = np.exp(-np.abs(values))
    for column in noise[:, 3:].T:
        assert fits(np.bincount(column + 40, minlength=81), expected / expected.sum())
    correlations = np.corrcoef(noise.T)[np.ix_([0, 1, 2, 3], [3, 4])]
    # Under independence a correlation has standard deviation 1 / sqrt(N); 6.2 of them.
    assert np.abs(np.delete(correlations.ravel(), 6)).max() < 6.2 / math.sqrt(N)


def test_neighbouring_rows_get_independent_noise(grant):
    noise = noise_of(zero_sum(1), N, grant)
    assert abs(np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]) < 6.2 / math.sqrt(N)


@pytest.mark.parametrize("columns", [2, 3, 4, 7, 10, 26])
def test_the_variance_is_the_one_that_the_event_says(columns, grant):
    event = zero_sum(Fraction(1, 50), columns)
    noise = noise_of(event, 20_000, grant, seed=columns)
    expected = event.zero_sum_variance * (columns - 1) / columns
    # A square's own standard deviation is below 3 times its mean.
    assert abs(np.mean(noise**2.0) / expected - 1) < 6 * 3 / math.sqrt(20_000)
    assert np.mean(noise**2.0) < event.variance * (columns - 1) / columns


@pytest.mark.parametrize("a", [0.05, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_the_variance_is_never_more_than_the_event_says(a, columns):
    reach = min(80, int(40 / a)) if columns < 4 else min(25, int(30 / a))
    rows, weights = law(max(a, 0.3) if columns == 4 else a, columns, reach)
    exact = (np.array([row[0] for row in rows]) ** 2.0 * weights).sum()
    event = zero_sum(Fraction(max(a, 0.3) if columns == 4 else a), columns)
    said = event.zero_sum_variance * (columns - 1) / columns
    assert exact <= said * (1 + 1e-9)
    assert a > 0.5 or exact > 0.9 * said


# -- twins -----------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [1e-9, 1e-3, 0.3, 1.0, 17.0])
@pytest.mark.parametrize("columns", [2, 3, 5])
def test_kernel_compiled_and_not_equals_the_slow_twin(a, columns):
    words = SeededSource(3).words(300 * columns).reshape(-1, columns)
    words[:5, -1], words[5:10, -1], words[10:15, 0] = 0, 2**64 - 1, 1
    results = []
    for attempts in (kernels.zero_sum_attempts, kernels.zero_sum_attempts.py_func):
        noise, state = np.zeros(words.shape, dtype=np.int64), np.empty(300, dtype=np.int64)
        attempts(a, geometric_constant(a), words, noise, state)
        results.append((noise, state))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    noise, state = results[0]
    decided = np.flatnonzero(state <= kernels.REJECTED)
    assert decided.size > 250
    for i in decided:
        row = finished_row(a, words[i].tolist(), SystemSource())
        assert (row is not None) == (state[i] == kernels.ACCEPTED)
        assert row is None or row == noise[i].tolist()


# -- tails and edges -------------------------------------------------------------------------

#: A word that proposes nothing, and one that keeps every row whose last number is small.
NOTHING, KEEP = 2**64 - 2, 2**64 - 1


def test_tails_are_reached_by_chosen_words(grant):
    # V = 2^-128: floor(128 ln 2 + ln 2 - ln(1 + 1/e)) = 89; its opposite is drawn beside it.
    source = FixedWords([0, 1, 2**63, 0, 2**63, 0, 2**63])
    (row,) = add_zero_sum_geometric_noise([[5, 6, -11]], grant(zero_sum(1)), source)
    assert row.tolist() == [5 + 89, 6 - 89, -11]


def test_rows_that_are_not_kept_are_drawn_anew(grant):
    five = 2 * int(2**63 * math.exp(-5.2) * 2 / (1 + math.exp(-1)))
    # exp(-10) is below a half.
    source = FixedWords([five, five, 2**63, NOTHING, NOTHING, 2**63])
    assert add_zero_sum_geometric_noise([[0, 0, 0]], grant(zero_sum(1)), source).tolist() == [
        [0, 0, 0]
    ]
    source = FixedWords([five, five, 2**63])
    with pytest.raises(ParameterError, match="only 0 fixed words are left"):
        add_zero_sum_geometric_noise([[0, 0, 0]], grant(zero_sum(1)), source)


def test_a_row_is_kept_by_further_words_where_one_does_not_decide(grant):
    # exp(-178) is between 2^-257 and 2^-256, so five words of it are needed.
    source = FixedWords([0, 0, 0, 0, 2**63, 0, 2**63, 0, 0, 0, 2**58, 2**63])
    (row,) = add_zero_sum_geometric_noise([[0, 0, 0]], grant(zero_sum(1)), source)
    assert row.tolist() == [89, 89, -178]


def test_enormous_noise_is_clipped_not_wrapped(grant):
    noisy = noise_of(zero_sum(Fraction(1, 10**40)), 20, grant, others=1)
    assert np.abs(noisy).max() == 2**62
    assert {-(2**62), 2**62} == set(noisy.ravel().tolist())


def test_nearly_no_noise_leaves_counts_as_they_are(grant):
    counts = np.array([[1, 2, -3, 7], [5, -5, 0, 8]])
    noisy = add_zero_sum_geometric_noise(counts, grant(zero_sum(900), 2), SeededSource(0))
    assert np.array_equal(noisy, counts)


def test_what_does_not_add_up_is_not_shown(grant):
    counts = np.array([[1, 2, 100, 7]])
    noisy = add_zero_sum_geometric_noise(counts, grant(zero_sum(1), 1), SeededSource(0))
    assert noisy[0, :3].sum() == 0 and counts[0, 2] == 100


@pytest.mark.parametrize("shape", [(0, 3), (3, 3), (3, 5)])
def test_noise_keeps_shape_dtype_and_the_callers_counts(shape, grant):
    counts = np.arange(math.prod(shape)).reshape(shape)
    counts[:, 2] = -counts[:, :2].sum(axis=1)
    kept = counts.copy()
    noisy = add_zero_sum_geometric_noise(counts, grant(zero_sum(1), 3), SystemSource())
    assert noisy.shape == shape and noisy.dtype == np.int64
    assert (noisy[:, :3].sum(axis=1) == 0).all() and np.array_equal(counts, kept)


# -- refusals --------------------------------------------------------------------------------


def test_noise_is_not_added_without_a_fitting_grant(grant):
    table = np.zeros((3, 3), int)
    with pytest.raises(GrantError, match="runs only with a Grant for ZeroSumGeometricNoise"):
        add_zero_sum_geometric_noise(table, None, SystemSource())
    with pytest.raises(GrantError, match="grant for 2 cells .* does not cover 3"):
        add_zero_sum_geometric_noise(table, grant(zero_sum(1), 2), SystemSource())
    other = grant(GeometricNoise(Fraction(1), Fraction(1)), 3)
    with pytest.raises(GrantError, match="does not cover ZeroSumGeometricNoise"):
        add_zero_sum_geometric_noise(table, other, SystemSource())
    used = grant(zero_sum(1), 3)
    add_zero_sum_geometric_noise(table, used, SystemSource())
    with pytest.raises(GrantError, match="used before"):
        add_zero_sum_geometric_noise(table, used, SystemSource())
    small = grant(zero_sum(1, l1=Fraction(1, 2)), 3)
    with pytest.raises(GrantError, match="needs l1_sensitivity >= 1, but the grant is for 1/2"):
        add_zero_sum_geometric_noise(table, small, SystemSource())


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 3, 3)])
def test_tables_without_such_rows_are_refused(shape, grant):
    paid = grant(zero_sum(1), 3)
    with pytest.raises(ParameterError, match="must have rows of 3 columns at least"):
        add_zero_sum_geometric_noise(np.zeros(shape, int), paid, SystemSource())
    assert not paid.consumed


def test_fractions_are_refused(grant):
    with pytest.raises(ParameterTypeError, match="must be whole numbers"):
        add_zero_sum_geometric_noise(np.zeros((3, 3)), grant(zero_sum(1), 3), SystemSource())


def test_an_epsilon_that_is_nothing_in_doubles_is_refused(grant):
    with pytest.raises(ParameterError, match="must be positive as a double"):
        noise_of(zero_sum(0), 3, grant)
