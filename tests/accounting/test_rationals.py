"""Numbers at the door, doubles on the private side, transcendental bounds against mpmath."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.accounting.rationals import (
    exact_text,
    exp_up,
    float_down,
    float_up,
    log_up,
    mixture_epsilon,
    parse_amount,
    shortest_down,
    sqrt_down,
    sqrt_in_steps,
    to_rational,
)
from dpforest.exceptions import ParameterError, ParameterTypeError

POSITIVE = st.fractions(min_value=F(1, 10**30), max_value=F(10**30))
GRID = F(1, 10**39)


@pytest.mark.parametrize(
    "value",
    [0.1, "0.1", "1/10", F(1, 10), Decimal("0.1"), np.float64(0.1), np.float32(0.1)],
    ids=lambda v: type(v).__name__,
)
def test_every_kind_of_tenth_is_one_tenth(value):
    assert to_rational(value, "epsilon") == F(1, 10)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), 3.0, "3"])
def test_integers_are_read(value):
    assert to_rational(value, "epsilon") == 3


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "x", "nan", "1/0", Decimal("NaN"), np.float64("inf")]
)
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ParameterError, match="epsilon=.*must be a finite number"):
        to_rational(value, "epsilon")


@pytest.mark.parametrize("value", [True, None, [1], 1j, np.bool_(True), np.array([0.1])])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ParameterTypeError, match="epsilon=.*must be a number"):
        to_rational(value, "epsilon")


@settings(derandomize=True, max_examples=200, deadline=None)
@given(POSITIVE)
def test_float_down_is_the_largest_double_below(value):
    down = float_down(value)
    assert F(down) <= value < F(math.nextafter(down, math.inf))


@settings(derandomize=True, max_examples=200, deadline=None)
@given(POSITIVE)
def test_shortest_decimals_enclose(value):
    assert F(repr(shortest_down(value))) <= value <= F(repr(float_up(value)))


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.floats(min_value=1e-300, max_value=1e300))
def test_a_float_survives_the_way_in_and_out(value):
    assert float_up(to_rational(value, "x")) == value == shortest_down(to_rational(value, "x"))


def test_floats_at_the_ends_of_the_range():
    assert float_up(math.inf) == float_down(math.inf) == shortest_down(math.inf) == math.inf
    assert float_up(F(10) ** 400) == math.inf
    assert float_down(F(10) ** 400) == shortest_down(F(10) ** 400) == 1.7976931348623157e308
    assert float_down(-(F(10) ** 400)) == -math.inf
    assert float_up(F(0)) == float_down(F(0)) == 0.0
    assert float_up(F(1, 10**400)) == 5e-324


@settings(derandomize=True, max_examples=100, deadline=None)
@given(POSITIVE)
def test_square_root_ends_below(value):
    root = sqrt_down(value)
    assert root * root <= value < (root * (1 + F(1, 2**99))) ** 2


@settings(derandomize=True, max_examples=100, deadline=None)
@given(POSITIVE, st.sampled_from([1, 2**40, 10**24]))
def test_square_root_in_steps_is_the_largest_below(value, steps):
    root = sqrt_in_steps(value, steps)
    assert (root * steps).denominator == 1
    assert root * root <= value < (root + F(1, steps)) ** 2


def test_amounts_survive_as_text():
    for amount in (F(1, 3), F(0), math.inf):
        assert parse_amount(exact_text(amount)) == amount


class TestMixture:
    def test_equal_sides_give_exactly_their_epsilon(self):
        assert mixture_epsilon([F(1, 3), F(2, 3)], [F(1, 7), F(1, 7)]) == F(1, 7)
        assert mixture_epsilon([F(1)], [F(1, 7)]) == F(1, 7)

    def test_nothing_and_infinity(self):
        assert mixture_epsilon([F(1, 3), F(1, 3)], [F(0), F(0)]) == 0
        assert mixture_epsilon([F(1, 3), F(1, 3)], [F(1), math.inf]) == math.inf
        assert mixture_epsilon([], []) == 0

    def test_the_contracts_example(self):
        """Rate 0.1, ten uses at epsilon 1 that share one draw: 7.7."""
        assert float(mixture_epsilon([F(1, 10)], [F(10)])) == pytest.approx(7.6979, abs=1e-3)

    @pytest.mark.parametrize("epsilon", [F(10) ** 7, F(1, 10**25)], ids=["huge", "tiny"])
    def test_extreme_sides(self, epsilon):
        bound = mixture_epsilon([F(1, 2)], [epsilon])
        assert epsilon / 2 <= bound <= epsilon

    @pytest.mark.parametrize("seed", range(60))
    def test_bounds_both_ways_against_mpmath(self, seed):
        mpmath = pytest.importorskip("mpmath")
        chance = random.Random(seed)
        weights = [chance.randint(1, 50) for _ in range(chance.randint(1, 5))]
        whole = sum(weights) + chance.choice([0, 7])
        probabilities = [F(w, whole) for w in weights]
        epsilons = [F(chance.randint(0, 10**6), 10 ** chance.randint(3, 8)) for _ in weights]
        bound = mixture_epsilon(probabilities, epsilons)
        with mpmath.workdps(90):
            up, down = _both_terms(mpmath, probabilities, epsilons)
            exact = mpmath.mpf(bound.numerator) / bound.denominator
            assert exact - up >= -(mpmath.mpf(10) ** -80)
            assert exact - up <= mpmath.mpf(10) ** -39
            assert down <= up + mpmath.mpf(10) ** -80
        assert bound <= max(epsilons)

    def test_monotone_in_every_side(self):
        probabilities = [F(1, 5), F(1, 3)]
        bounds = [mixture_epsilon(probabilities, [F(k, 10), F(1)]) for k in range(30)]
        assert bounds == sorted(bounds)


def _both_terms(mpmath, probabilities, epsilons):
    sides = [*zip(probabilities, epsilons, strict=True), (1 - sum(probabilities), F(0))]
    as_mpf = [(mpmath.mpf(p.numerator) / p.denominator, mpmath.mpf(e.numerator) / e.denominator)
              for p, e in sides]  # fmt: skip
    up = mpmath.log(mpmath.fsum(p * mpmath.exp(e) for p, e in as_mpf))
    down = -mpmath.log(mpmath.fsum(p * mpmath.exp(-e) for p, e in as_mpf))
    return up, down


@pytest.mark.parametrize("value", [F(1, 10**6), F(1, 3), F(1), F(7, 2), F(500)])
def test_exp_and_log_end_above_mpmath(value):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(90):
        x = mpmath.mpf(value.numerator) / value.denominator
        power, log = mpmath.mpf(str(exp_up(value))), log_up(value)
        assert 0 <= power / mpmath.exp(x) - 1 <= mpmath.mpf(10) ** -57
        assert 0 <= mpmath.mpf(log.numerator) / log.denominator - mpmath.log(x) <= float(GRID)


@pytest.mark.parametrize("value", [None, "1e-6%", math.nan])
def test_half_is_no_advice_for_a_delta(value):
    with pytest.raises(ParameterError, match="Give 0, or a number such as 1e-6") as refused:
        to_rational(value, "delta")
    assert "0.5" not in refused.value.repair
    with pytest.raises(ParameterError, match="Give a number such as 0.5"):
        to_rational(value, "epsilon")
