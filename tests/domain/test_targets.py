"""Targets as places between bounds: exact steps, clipped, each record by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpforest.domain.schema import NumericTarget
from dpforest.domain.targets import TARGET_STEPS, target_steps

finite = st.floats(-1e300, 1e300)


def steps_of(values, lower=0.0, upper=1.0):
    steps, absent = target_steps(np.array(values, float), NumericTarget(lower=lower, upper=upper))
    assert steps.dtype == np.int32 and absent.dtype == np.bool_
    return steps.tolist(), absent.tolist()


def exact_step(value: float, lower: float, upper: float) -> int:
    """The twin: rational numbers, rounded down."""
    share = (Fraction(value) - Fraction(lower)) / (Fraction(upper) - Fraction(lower))
    return min(max(int(share * TARGET_STEPS // 1), 0), TARGET_STEPS)


@pytest.mark.parametrize(
    ("value", "step"),
    [(0.0, 0), (1.0, 2**16), (0.5, 2**15), (-3.0, 0), (7.0, 2**16), (1.5 / 2**16, 1),
     (np.inf, 2**16), (-np.inf, 0)],
)  # fmt: skip
def test_places_that_are_known(value, step):
    assert steps_of([value]) == ([step], [False])


@given(st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=2, unique=True), st.data())
def test_places_are_those_of_rational_numbers(bounds, data):
    lower, upper = sorted(map(float, bounds))
    value = data.draw(st.floats(lower - 1e3, upper + 1e3))
    step = steps_of([value], lower, upper)[0][0]
    # A double's rounding can carry over one edge between steps.
    assert abs(step - exact_step(value, lower, upper)) <= 1


@given(st.lists(finite, min_size=1, max_size=20), finite, finite)
def test_any_numbers_stay_between_the_bounds_and_keep_their_order(values, lower, upper):
    assume(lower < upper and np.isfinite(upper - lower))
    ordered = sorted(values)
    steps = steps_of(ordered, lower, upper)[0]
    assert min(steps) >= 0 and max(steps) <= TARGET_STEPS
    assert steps == sorted(steps)


@pytest.mark.parametrize("bound", [8e307, 5e-324])
def test_the_widest_and_the_narrowest_bounds(bound):
    assert steps_of([-bound, 0.0, bound], -bound, bound)[0] == [0, 2**15, 2**16]
    assert steps_of([0.0, bound], 0.0, bound)[0] == [0, 2**16]


@given(st.lists(finite | st.just(np.nan), min_size=2, max_size=10), st.integers(0, 9))
def test_a_records_place_depends_on_its_own_target_alone(values, place):
    place %= len(values)
    together, absent = steps_of(values, -5.0, 3.0)
    assert ([together[place]], [absent[place]]) == steps_of([values[place]], -5.0, 3.0)


def test_what_is_no_number_is_marked():
    assert steps_of([np.nan, 0.25]) == ([0, 2**14], [True, False])
