"""Minima of noisy objectives are found whatever records and noise are, and are certified exactly.

Where doubles do not reach, numbers of more digits do; how near they come is worked out again by
decimals of far more digits than either takes.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from objective_tables import (
    CLIPS,
    calibrated,
    exact_gradient,
    length,
    noise_draws,
    objective_of,
    of_constant,
    table,
)

from dpforest.mechanisms import minimum
from dpforest.mechanisms.decimal_weights import Decimals
from dpforest.mechanisms.minimum import certified_minimum, newton, shortest
from dpforest.mechanisms.noisy_objective import NoisyObjective, length_of, nearest_double
from dpforest.mechanisms.objective import lattice_places
from dpforest.mechanisms.two_doubles import TwoDoubles

KINDS = {"two doubles": TwoDoubles, "decimals": lambda objective: Decimals(objective, 60)}


class _Read:
    """Losses, ridge and noise of an objective by the names that its exact gradient reads."""

    def __init__(self, objective):
        self.noise_step, self.n_columns = objective.noise_step, objective.ridge.size
        self.ridge = objective.ridge[0], objective.ridge[-1]


def real_length(objective, weights):
    """Length of the gradient at exact weights, by decimals."""
    with localcontext() as context:
        context.prec = 200 + max(z.bit_length() for z in objective.draw) // 3
        read = _Read(objective)
        return Fraction(length(exact_gradient(objective.losses, read, objective.draw, weights)))


@pytest.fixture
def taken(monkeypatch):
    """Kinds of numbers that were needed."""
    found = []
    kinds = minimum._ever_more

    def ever_more(objective):
        for numbers in kinds(objective):
            found.append(getattr(numbers, "digits", 2))
            yield numbers

    monkeypatch.setattr(minimum, "_ever_more", ever_more)
    return found


def check(objective, largest):
    """The certificate, worked out exactly."""
    weights = certified_minimum(objective, largest)
    assert len(weights) == objective.ridge.size
    assert real_length(objective, weights) <= Fraction(largest)
    return weights


# -- whatever records and noise are ----------------------------------------------------------------


def tables(data, widths, clip):
    """Any table: few records or many alike, duplicated columns, separated classes, none at all."""
    n, seed = data.draw(st.sampled_from([0, 1, 2, 7, 30])), data.draw(st.integers(0, 99))
    losses = table(
        widths, n, clip, seed, start=data.draw(st.sampled_from([0.0, 0.25, -100.0, 100.0]))
    )
    kind = data.draw(st.sampled_from(["any", "alike", "separated", "duplicated", "tiny"]))
    codes = losses.codes
    if kind == "alike":
        losses = replace(losses, codes=np.zeros_like(codes), targets=np.ones(n))
    elif kind == "separated" and codes.shape[1]:
        losses = replace(losses, targets=(codes[:, 0] > 2).astype(np.float64))
    elif kind == "duplicated":
        losses = replace(losses, codes=np.repeat(codes[:, :1], codes.shape[1], axis=1))
    elif kind == "tiny":
        losses = replace(losses, values=losses.values * 2.0**-40)
    return losses


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_minimum_of_any_table_with_any_noise_is_certified(data):
    widths = data.draw(st.sampled_from([(1,), (1, 1), (2, 2, 1), (2, 1, 3, 1)]))
    clip = data.draw(st.sampled_from(CLIPS))
    epsilon, share = data.draw(
        st.sampled_from([("1/100", 0.2), (1, 0.2), (9, 8 / 9), (10**6, 1e-6)])
    )
    calibration = calibrated(epsilon, widths, clip, Fraction(epsilon) * Fraction(share))
    sizes = st.sampled_from([0, 2**20, 2**60, 2**110, 2**1100])
    draw = [data.draw(sizes) * data.draw(st.integers(-2, 2)) for _ in range(sum(widths))]
    losses = tables(data, widths, clip)
    nearness = 2.0 ** data.draw(st.sampled_from([0, 0, -20, -45, -90]))
    check(objective_of(losses, calibration, draw), calibration.largest_gradient * nearness)


@pytest.mark.parametrize(("bits", "needed"), [(0, []), (-45, [2]), (-90, [2, 60])])
def test_digits_are_as_many_as_it_takes(bits, needed, taken):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 100), calibration, noise_draws(calibration, 1)[0])
    check(objective, math.ldexp(calibration.largest_gradient, bits))
    assert taken == needed


@pytest.mark.parametrize("power", [110, 1100, 2000])
def test_noise_that_no_double_holds_has_its_minimum_too(power, taken):
    calibration = calibrated(1, (3, 2, 1))
    # Noise of columns that a record has at once goes away, or nearly.
    draws = (
        [2**power, -(2**power), 2**80 + 1, 3, 7, 1],
        [2**power] * 6,
        [0, 0, 0, 0, 0, -(2**power)],
    )
    for draw in draws:
        weights = check(
            objective_of(table((3, 2, 1), 60), calibration, draw), calibration.largest_gradient
        )
        ends = lattice_places(weights, calibration.step)
        for z, end in zip(draw, ends, strict=True):
            if abs(z) == 2**power:
                assert end == -int(math.copysign(2**52, 1 if z > 0 else -1))
    assert max(taken) >= 60


def test_a_table_that_doubles_do_not_reach_needs_no_more_than_two_of_them(taken):
    # Of ridges of the largest determinant doubles next to each other have gradients too far apart.
    calibration = calibrated(9, (6, 6, 6, 6, 1), determinant=8)
    losses = table((6, 6, 6, 6, 1), 5000, Fraction(1), seed=3, start=100.0)
    draw = noise_draws(calibration, 1)[0]
    objective = objective_of(replace(losses, clip=0.5), calibration, [100 * z for z in draw])
    check_quickly(objective, calibration.largest_gradient / 64.0)
    assert taken == [2]


def check_quickly(objective, largest):
    """The certificate, by numbers of two doubles that were checked elsewhere."""
    weights = certified_minimum(objective, largest)
    numbers = TwoDoubles(objective)
    assert numbers.place(numbers.of(weights)).most <= largest


# -- each part may fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("nearness", [1.0, 2.0**-90])
@pytest.mark.parametrize("what", ["newton", "rough", "no rough", "step", "solve", "length"])
def test_an_end_is_found_without_newtons_method(what, nearness, monkeypatch):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 12), calibration, noise_draws(calibration, 1)[0])
    if what == "newton":
        monkeypatch.setattr(minimum, "newton", lambda *_: (np.zeros(3), False))
    elif what == "rough":
        monkeypatch.setattr(NoisyObjective, "rough_gradient", lambda *_: np.array([3.0, -2.0, 1.0]))
    elif what == "no rough":
        monkeypatch.setattr(NoisyObjective, "rough_gradient", lambda *_: np.full(3, math.nan))
    elif what == "step":
        monkeypatch.setattr(NoisyObjective, "newton_step", lambda *_: None)
    elif what == "solve":

        def singular(*_):
            raise np.linalg.LinAlgError("Singular matrix")

        monkeypatch.setattr(np.linalg, "solve", singular)
    else:
        monkeypatch.setattr(minimum, "_zero_near", lambda *_: 0.0)
    check(objective, calibration.largest_gradient * nearness)


@pytest.mark.parametrize("share", [2, 30, 500])
def test_what_is_certified_is_as_near_as_was_asked_for_wherever_it_begins(share, monkeypatch):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 12), calibration, noise_draws(calibration, 1)[0])
    start = np.zeros(3)
    monkeypatch.setattr(minimum, "_roughly", lambda *_: start)
    hi, lo = objective.gradient(start, np.zeros(3))
    largest = math.hypot(*(hi + lo)) / share
    weights, is_certified = newton(objective, largest)
    exact = [Fraction(weight) for weight in weights.tolist()]
    assert is_certified and real_length(objective, exact) <= Fraction(largest)


def test_gradients_of_two_doubles_are_asked_for_near_the_minimum_alone(monkeypatch):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 300), calibration, noise_draws(calibration, 1)[0])
    asked, exact = [], NoisyObjective.gradient
    monkeypatch.setattr(NoisyObjective, "gradient", lambda *a: asked.append(a[1]) or exact(*a))
    weights, is_certified = newton(objective, calibration.largest_gradient)
    assert is_certified and len(asked) <= 2 and np.array_equal(asked[-1], weights)


def test_newtons_method_ends_where_it_goes_round_in_circles(monkeypatch):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 12), calibration, noise_draws(calibration, 1)[0])
    asked = []
    step = NoisyObjective.newton_step
    monkeypatch.setattr(NoisyObjective, "newton_step", lambda *a: asked.append(a) or step(*a))
    # There and back again: from zero to twice as far, and so on.
    monkeypatch.setattr(minimum, "_length", lambda *_: 2.0)
    weights, is_certified = newton(objective, calibration.largest_gradient)
    assert not is_certified and np.isfinite(weights).all()
    assert minimum._PATIENCE <= len(asked) < 3 * minimum._PATIENCE


def test_a_step_of_half_the_slope_may_go_up():
    """Why Newton's method here need not end: a slope that soon turns, and stays below a half."""

    def slope(times):
        return min(-1.0 + 140.0 * times, 0.4)

    times = minimum._zero_near(slope, -1.0)
    path = np.linspace(0.0, times, 10_001)
    assert times == 1.0 and np.mean([slope(t) for t in path]) * times > 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_by_its_steepest_is_an_end_by_itself(kind, monkeypatch):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 12), calibration, noise_draws(calibration, 1)[0])
    monkeypatch.setattr(NoisyObjective, "newton_step", lambda *_: None)
    numbers = KINDS[kind](objective)
    place, largest = numbers.place(numbers.of([Fraction(0)] * 3)), calibration.largest_gradient
    share = Fraction(objective.convexity) / 2**objective.steepness_bits
    while place.most > largest:
        (offer,) = minimum._offers(numbers, place)
        assert offer[0] == share / 4
        following = numbers.place(offer[1])
        # As is proved, of real numbers; what is rounded is little beside.
        assert following.least <= (1 - share) * place.most
        place = following
    assert real_length(objective, numbers.exactly(place.weights)) <= Fraction(largest)


def test_no_place_is_taken_that_is_not_nearer_by_its_share():
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 12), calibration, noise_draws(calibration, 1)[0])
    numbers = TwoDoubles(objective)
    place = numbers.place(numbers.of([Fraction(3)] * 3))
    for _ in range(40):
        following = next(minimum._following(numbers, place), None)
        if following is None:
            break
        assert following.most < place.least
        place = following
    else:
        raise AssertionError("numbers of two doubles have an end")
    # And there the search stays, whatever is asked for.
    assert shortest(numbers, place, 1e-300) is place


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_is_no_shorter_is_not_taken(kind, monkeypatch):
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 12), calibration, noise_draws(calibration, 1)[0])
    numbers = KINDS[kind](objective)
    place = numbers.place(numbers.of([Fraction(3)] * 3))
    # Up the slope, however short.
    monkeypatch.setattr(NoisyObjective, "newton_step", lambda self, scores, gradient: gradient)
    following = next(minimum._following(numbers, place))
    lowered = numbers.exactly(numbers.lowered(place))
    assert numbers.exactly(following.weights) == lowered and following.most < place.least
    largest = calibration.largest_gradient
    assert real_length(objective, certified_minimum(objective, largest)) <= Fraction(largest)


def test_a_gradient_that_overflows_is_never_short_enough():
    calibration = calibrated(1, (2, 1))
    objective = objective_of(table((2, 1), 5), calibration, [2**2000, 0, 0])
    with np.errstate(all="ignore"):
        weights, is_certified = newton(objective, 1e308)
        assert not is_certified and np.isfinite(weights).all()
        numbers = TwoDoubles(objective)
        for start in ([Fraction(0)] * 3, [Fraction(10) ** 400] * 3):
            place = numbers.place(numbers.of(start))
            assert place.most == math.inf and place.least == 0
            assert shortest(numbers, place, 1e308) is place


@pytest.mark.parametrize("kind", ["doubles", "two doubles"])
def test_a_gradient_that_is_as_open_as_it_may_be_is_not_short_enough(kind, monkeypatch):
    calibration = calibrated(1, (1,))
    objective, largest = objective_of(of_constant([]), calibration, [0]), 1e-3
    monkeypatch.setattr(NoisyObjective, "gradient_error", lambda *_: 1.01 * largest)
    if kind == "doubles":
        assert not newton(objective, largest)[1]
    else:
        numbers = TwoDoubles(objective)
        assert numbers.place(numbers.of([Fraction(0)])).most > largest
        # Decimals have an error of their own.
        assert certified_minimum(objective, largest) == [0]


@pytest.mark.parametrize("largest", [0.0, -1.0, math.nan])
def test_nothing_is_shorter_than_nothing(largest):
    calibration = calibrated(1, (1,))
    with pytest.raises(ValueError, match="no gradient is shorter"):
        certified_minimum(objective_of(of_constant([]), calibration, [0]), largest)


def test_neither_warnings_nor_numpys_settings_tell_of_noise():
    calibration, losses = calibrated(1, (2, 2, 1)), table((2, 2, 1), 20)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for power, sign in itertools.product((0, 500, 890, 1000, 1400), (-1, 1)):
            draw = [sign * 2**power, 2**power, -(2**power), 0, 2**power]
            certified_minimum(objective_of(losses, calibration, draw), calibration.largest_gradient)


# -- numbers ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.data())
@pytest.mark.parametrize("kind", ["two doubles", 8, 20, 60])
def test_lengths_lie_between_their_bounds(kind, data):
    clip = data.draw(st.sampled_from(CLIPS))
    losses = tables(data, (2, 1, 1), clip)
    size = 10.0 ** data.draw(st.integers(-12, 12))
    calibration = calibrated(1, (2, 1, 1), clip)
    draw = data.draw(st.lists(st.integers(-(2**90), 2**90), min_size=4, max_size=4))
    objective = objective_of(losses, calibration, draw)
    numbers = TwoDoubles(objective) if kind == "two doubles" else Decimals(objective, kind)
    starts = st.lists(st.fractions(-1, 1, max_denominator=10**9), min_size=4, max_size=4)
    weights = numbers.of([Fraction(size) * weight for weight in data.draw(starts)])
    place = numbers.place(weights)
    real = real_length(objective, numbers.exactly(weights))
    assert place.least <= real <= place.most < Fraction(2) ** place.power
    if kind != 8:
        assert place.most - place.least < place.most * Fraction(1, 10**6) + Fraction(1, 10**3)


@pytest.mark.parametrize("kind", ["two doubles", 8, 20])
@pytest.mark.parametrize(("n", "noise"), [(0, 10**9), (5, 10**9), (1500, 10**9), (1500, 0)])
def test_at_a_minimum_lengths_lie_between_their_bounds_too(kind, n, noise):
    """There all that is left of a gradient in few digits is its error."""
    calibration = calibrated(1, (2, 1))
    losses = table((2, 1), n)
    losses = replace(losses, codes=np.zeros_like(losses.codes), targets=np.ones(n))
    objective = objective_of(losses, calibration, [noise + 7, -noise - 9, noise // 10 + 1])
    weights = certified_minimum(objective, math.ldexp(calibration.largest_gradient, -150))
    numbers = TwoDoubles(objective) if kind == "two doubles" else Decimals(objective, kind)
    place = numbers.place(numbers.of(weights))
    real = real_length(objective, numbers.exactly(place.weights))
    assert place.least <= real <= place.most


def test_bounds_of_decimals_are_not_met_by_sums_of_fewer_digits():
    calibration = calibrated(1, (2, 1, 1))
    objective = objective_of(table((2, 1, 1), 200), calibration, noise_draws(calibration, 1)[0])
    weights = [Fraction(1, 3), Fraction(-2, 7), Fraction(5, 11), Fraction(1, 13)]
    real = real_length(
        objective, Decimals(objective, 30).exactly(Decimals(objective, 30).of(weights))
    )
    few = Decimals(objective, 12).place([Decimal(0)] * 4)
    many = Decimals(objective, 30).place(Decimals(objective, 30).of(weights))
    assert many.least <= real <= many.most and few.most - few.least > many.most - many.least


@pytest.mark.parametrize("kind", KINDS)
def test_steps_and_gradients_move_weights_by_as_much_as_they_say(kind):
    calibration = calibrated(1, (2, 1))
    draw = [2**70, -(2**69), 3]
    objective = objective_of(table((2, 1), 20), calibration, draw)
    numbers = KINDS[kind](objective)
    start = [Fraction(1, 3), Fraction(-1, 7), Fraction(2)]
    place = numbers.place(numbers.of(start))
    before, gradient = numbers.exactly(place.weights), numbers.exactly(place.gradient)
    scaled, step = numbers.scaled(place), np.array([0.5, -0.25, 3.0])
    for at, real in zip(scaled.tolist(), gradient, strict=True):
        assert abs(Fraction(at) * Fraction(2) ** place.power - real) <= abs(real) / 2**52
    for halvings in (0, 3):
        moved = numbers.exactly(numbers.moved(place, step, halvings))
        by = Fraction(2) ** (place.power - halvings)
        for a, b, s in zip(before, moved, step.tolist(), strict=True):
            assert abs(b - a - Fraction(s) * by) <= (abs(a) + abs(b)) / 2**100
    lowered = numbers.exactly(numbers.lowered(place))
    for a, b, g in zip(before, lowered, gradient, strict=True):
        assert abs(b - a + g / 2**objective.steepness_bits) <= (abs(a) + abs(b)) / 2**100


def test_second_derivatives_lie_between_their_ends():
    for seed, widths in enumerate([(1,), (2, 1), (3, 1, 2, 1)]):
        calibration, n = calibrated(1, widths), 50
        losses, d = table(widths, n, seed=seed), sum(widths)
        objective = objective_of(losses, calibration, [0] * d)
        hessian = losses.gram(np.full(n, 0.25), d) + np.diag(calibration.ridges)
        ends = np.linalg.eigvalsh(hessian)
        assert objective.convexity <= ends[0] * (1 + 1e-12)
        assert ends[-1] <= 2.0**objective.steepness_bits
        # Of records that all have the largest sizes it is not far above.
        alike = replace(losses, codes=np.zeros_like(losses.codes))
        top = np.linalg.eigvalsh(alike.gram(np.full(n, 0.25), d) + np.diag(calibration.ridges))[-1]
        assert top <= 2.0**objective.steepness_bits <= 8.0 * top


def test_weights_of_two_doubles_are_rounded_down_as_they_are():
    numbers = TwoDoubles(objective_of(of_constant([]), calibrated(1, (1,)), [0]))
    step = 2.0**-20
    for rest, place in ((-(2.0**-80), 4), (0.0, 5), (2.0**-80, 5)):
        (weight,) = numbers.exactly((np.array([5 * step]), np.array([rest])))
        assert lattice_places([weight], step) == [place]
    (weight,) = numbers.exactly((np.array([-5 * step]), np.array([-(2.0**-80)])))
    assert lattice_places([weight], step) == [-6]
    assert lattice_places([Fraction(10) ** 400, -(Fraction(10) ** 400)], step) == [2**52, -(2**52)]


@given(st.integers(-(2**950), 2**950))
def test_noise_is_the_sum_of_its_doubles_or_endless(z):
    nearest = nearest_double(z)
    if abs(z) < 2**900:
        assert abs(Fraction(nearest) - z) <= abs(Fraction(z)) / 2**53
    else:
        assert nearest == math.copysign(math.inf, nearest) and (nearest > 0) == (z > 0)


def test_lengths_of_the_smallest_and_largest_doubles_are_not_lost():
    assert length_of(np.array([3e-300, 4e-300])) == pytest.approx(5e-300, rel=1e-15)
    assert length_of(np.array([3e300, 4e300])) == pytest.approx(5e300, rel=1e-15)
    assert math.isnan(length_of(np.array([1.0, math.nan])))
