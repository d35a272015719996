"""Numbers of two doubles: arithmetic against fractions, exp and the logistic against decimals."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.mechanisms.kernels import double_double as kernels

#: An operation errs by less than this of what goes into it.
OF_ONE = Fraction(1, 2**100)
WITHIN, OF_EXP = Decimal(2) ** -80, Decimal(2) ** -95
DIGITS = 70


def doubles(largest=60):
    """Zero, or a double whose size lies between powers of two far from the ends of doubles."""
    sizes = st.builds(math.ldexp, st.floats(0.5, 1.0), st.integers(-largest, largest))
    return st.one_of(st.just(0.0), sizes, sizes.map(lambda x: -x))


def pair(hi, share):
    """A number of two doubles: the second is at most half of the first's last digit."""
    return hi, share * math.ulp(hi) / 2.0 if hi else 0.0


PAIRS = st.builds(pair, doubles(), st.floats(-1.0, 1.0))


def exact(number):
    return Fraction(number[0]) + Fraction(number[1])


def twice(kernel, *numbers):
    """What a kernel makes, compiled and not."""
    compiled, plain = kernel(*numbers), kernel.py_func(*numbers)
    assert compiled == plain
    return compiled


# -- arithmetic --------------------------------------------------------------------------------


@given(doubles(), doubles())
def test_a_sum_of_doubles_loses_nothing(a, b):
    s, lost = twice(kernels.two_sum, a, b)
    assert s == a + b and Fraction(s) + Fraction(lost) == Fraction(a) + Fraction(b)


@given(doubles(), doubles())
def test_a_product_of_doubles_loses_nothing(a, b):
    p, lost = twice(kernels.two_product, a, b)
    assert p == a * b and Fraction(p) + Fraction(lost) == Fraction(a) * Fraction(b)


@given(PAIRS, PAIRS)
def test_a_sum_errs_in_the_last_digits_of_what_goes_in(a, b):
    found = exact(twice(kernels.add, *a, *b))
    assert abs(found - exact(a) - exact(b)) <= OF_ONE * (abs(exact(a)) + abs(exact(b)))


@given(PAIRS)
def test_a_number_and_its_opposite_add_up_to_nothing(a):
    assert exact(kernels.add(*a, -a[0], -a[1])) == 0
    # What is left of a sum that goes away has no digits of its own, and errs as the sum itself.
    near = kernels.add(*a, -a[0], 0.0)
    assert exact(near) == Fraction(a[1])


@given(PAIRS, PAIRS)
def test_a_product_errs_in_its_last_digits(a, b):
    found = exact(twice(kernels.multiply, *a, *b))
    assert abs(found - exact(a) * exact(b)) <= OF_ONE * abs(exact(a) * exact(b))


@given(PAIRS, PAIRS.filter(lambda b: b[0]))
def test_a_quotient_errs_in_its_last_digits(a, b):
    found = exact(twice(kernels.divide, *a, *b))
    assert abs(found - exact(a) / exact(b)) <= OF_ONE * abs(exact(a) / exact(b))


@given(PAIRS, PAIRS.filter(lambda b: b[0]))
def test_results_are_numbers_of_two_doubles_again(a, b):
    for kernel in (kernels.add, kernels.multiply, kernels.divide):
        hi, lo = kernel(*a, *b)
        assert hi + lo == hi


@given(st.lists(doubles(20), min_size=1, max_size=200))
def test_a_long_sum_errs_by_no_more_than_its_steps(terms):
    hi, lo, most = 0.0, 0.0, Fraction(0)
    for term in terms:
        hi, lo = kernels.add(hi, lo, term, 0.0)
        most += OF_ONE * (abs(Fraction(hi)) + abs(Fraction(term)))
    assert abs(exact((hi, lo)) - sum(map(Fraction, terms))) <= most


# -- exp and the logistic ----------------------------------------------------------------------


def decimal(number):
    return Decimal(number[0]) + Decimal(number[1])


def logistic_of(z):
    """1 / (1 + exp(-z)) by decimals; no z is so large that its power of e is none."""
    return 1 / (1 + (-max(min(z, Decimal(10**6)), Decimal(-(10**6)))).exp())


def near(x):
    """A double and those beside it."""
    return [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]


#: Where the power of two changes: odd multiples of half a logarithm of two.
TURNS = [k * math.log(2.0) / 2.0 for k in range(-173, 174)]
EDGES = [
    *(0.0, 5e-324, 1e-300, 2.0**-60, 2.0**-53, 1e-9, 0.5, 1.0, 36.7, 36.8, 59.99, 60.0),
    *(-5e-324, -1e-300, -(2.0**-60), -(2.0**-53), -1e-9, -0.5, -1.0, -36.7, -36.8, -59.99, -60.0),
]


def check_exponential(hi, lo):
    with localcontext() as context:
        context.prec = DIGITS
        right = decimal((hi, lo)).exp()
        found = decimal(twice(kernels.exponential, hi, lo))
        assert abs(found - right) < right * OF_EXP


def check_logistic(hi, lo):
    with localcontext() as context:
        context.prec = DIGITS
        found = decimal(twice(kernels.logistic, hi, lo))
        assert abs(found - logistic_of(decimal((hi, lo)))) < WITHIN
        assert 0 <= found <= 1


def test_the_logarithm_of_two_has_digits_to_spare():
    with localcontext() as context:
        context.prec = DIGITS
        off = decimal((kernels._LN2_HI, kernels._LN2_LO)) - Decimal(2).ln()
    assert abs(off) < Decimal(2) ** -106


@pytest.mark.parametrize("edges", [EDGES, TURNS], ids=["edges", "turns"])
def test_exp_and_logistic_are_right_at_their_edges(edges):
    for x in itertools.chain.from_iterable(map(near, edges)):
        for share in (-1.0, 0.0, 1.0):
            if abs(x) <= 60.0:
                check_exponential(*pair(x, share))
            check_logistic(*pair(x, share))


@given(st.floats(-60.0, 60.0), st.floats(-1.0, 1.0))
def test_exp_and_logistic_are_right(hi, share):
    check_exponential(*pair(hi, share))
    check_logistic(*pair(hi, share))


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1.0, 1.0))
def test_the_logistic_takes_every_score(hi, share):
    check_logistic(*pair(hi, share if abs(hi) < 1e300 else 0.0))


def test_the_logistic_of_no_end_is_an_end():
    assert twice(kernels.logistic, math.inf, 0.0) == (1.0, 0.0)
    assert twice(kernels.logistic, -math.inf, 0.0) == (0.0, 0.0)


def test_the_logistic_of_what_is_no_number_is_none():
    """An error would tell that a sum overflowed."""
    for lo in (0.0, math.nan):
        assert all(map(math.isnan, kernels.logistic(math.nan, lo)))
        assert all(map(math.isnan, kernels.logistic.py_func(math.nan, lo)))


def test_beyond_the_largest_score_it_is_full():
    assert kernels.LARGEST_SCORE == 60.0
    for z in (math.nextafter(60.0, 61.0), 60.01, 61.0, 1e300, math.inf):
        assert kernels.logistic(z, 0.0) == (1.0, 0.0)
        assert kernels.logistic(-z, 0.0) == (0.0, 0.0)
    # What is cut off is small, and not nothing: a score within is worked out.
    with localcontext() as context:
        context.prec = DIGITS
        assert 1 - logistic_of(Decimal(60)) < WITHIN / 2**6
    assert kernels.logistic(-59.99, 0.0)[0] > 0.0
    assert exact(kernels.logistic(59.99, 0.0)) < 1


def test_two_scores_of_opposite_sign_add_up_to_one():
    for z in np.linspace(0.0, 59.0, 200):
        both = exact(kernels.logistic(z, 0.0)) + exact(kernels.logistic(-z, 0.0))
        assert abs(both - 1) < Fraction(1, 2**95)
