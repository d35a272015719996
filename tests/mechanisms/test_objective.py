"""Objective perturbation: kernels against slow twins, the certificate exactly, the law by numbers.

Statistical tests accept the truth with an error rate of 1e-9 each, on words that are fixed, and
that they reject noise of another scale is asserted.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from objective_tables import (
    CLIPS,
    DIGITS,
    QUARTER,
    WIDTHS,
    calibrated,
    design,
    event_of,
    exact,
    exact_gradient,
    length,
    noise_draws,
    objective_of,
    of_constant,
    ridge_of,
    slopes_of,
    slow_minimum,
    table,
)
from scipy import stats

from dpforest.accounting import BudgetAccountant, GeometricNoise
from dpforest.accounting.events import ObjectivePerturbation
from dpforest.exceptions import GrantError, ParameterError
from dpforest.mechanisms import objective
from dpforest.mechanisms.entropy import SeededSource, SystemSource
from dpforest.mechanisms.k_norm import k_norm_noise
from dpforest.mechanisms.kernels import double_double
from dpforest.mechanisms.kernels import objective as kernels
from dpforest.mechanisms.objective import (
    LARGEST_CURVATURE,
    SHARPEST,
    Calibration,
    ClippedLosses,
    certified_weights,
    lattice_places,
    release_minimum,
)
from dpforest.observation import Observer, set_observer

ALPHA = 1e-9


# -- kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_scores_and_curvatures_are_those_of_the_whole_design(widths):
    losses, d = table(widths, 60, seed=3), sum(widths)
    rows, random = design(losses, d), np.random.default_rng(4)
    weights, curvatures = random.normal(size=d), random.random(60)
    curvatures[:5] = 0.0
    assert np.allclose(losses.scores(weights), rows @ weights, rtol=0, atol=1e-12)
    gram = losses.gram(curvatures, d)
    assert np.allclose(gram, (rows.T * curvatures) @ rows, rtol=0, atol=1e-12)
    assert np.array_equal(gram, gram.T)
    slopes, _ = losses.slopes(losses.scores(weights))
    gradient = losses.rough_gradient(losses.scores(weights), d)
    assert np.allclose(gradient, rows.T @ slopes, rtol=0, atol=1e-12)
    plain = np.zeros(60), np.full((60, d), np.nan), np.zeros(d)
    arrays = losses.codes, losses.offsets, losses.columns, losses.values
    kernels.add_scores.py_func(*arrays, weights, plain[0])
    kernels.fill_rows.py_func(*arrays, curvatures, plain[1])
    kernels.add_slopes.py_func(*arrays, slopes, plain[2])
    assert np.allclose(plain[0], losses.scores(weights), rtol=0, atol=1e-13)
    assert np.allclose(plain[1].T @ rows, gram, rtol=0, atol=1e-13)
    assert np.allclose(plain[2], gradient, rtol=0, atol=1e-12)


def test_rows_of_a_block_are_forgotten_by_the_next(monkeypatch):
    losses, d = table(WIDTHS[0], 60, seed=3), sum(WIDTHS[0])
    curvatures = np.random.default_rng(4).random(60)
    curvatures[20:25] = 0.0
    whole = losses.gram(curvatures, d)
    monkeypatch.setattr("dpforest.mechanisms.clipped_losses._BLOCK", 7)
    assert np.allclose(losses.gram(curvatures, d), whole, rtol=0, atol=1e-13)


def test_two_values_in_one_column_count_as_their_sum():
    for values in ([0.25, 0.75], [0.5, -0.5], [0.0, 1.0], [1.0, 0.0]):
        one = ClippedLosses(
            np.zeros((1, 1), dtype=np.uint8), np.ones(1), np.array([0]), np.array([[0, 0]]),
            np.array([values]), 0.0, 0.5,
        )  # fmt: skip
        x = sum(values)
        assert one.gram(np.array([4.0]), 2).tolist() == [[4 * x * x, 4 * x], [4 * x, 4.0]]
        assert one.scores(np.array([2.0, 1.0])).tolist() == [2 * x + 1]


@pytest.mark.parametrize("clip", [float(clip) for clip in CLIPS])
@pytest.mark.parametrize("target", [0.0, 0.3, 0.5, 1.0])
def test_slopes_rise_within_the_clip_and_grow_by_at_most_a_quarter(clip, target):
    scores = np.concatenate([[-1e300, -800.0], np.linspace(-40, 40, 4001), [800.0, 1e300]])
    losses = of_constant(np.full(scores.size, target), Fraction(clip))
    slopes, curvatures = losses.slopes(scores)
    assert np.abs(slopes).max() <= clip
    assert (np.diff(slopes) >= -1e-15).all()
    assert curvatures.min() >= 0.0 and curvatures.max() <= float(LARGEST_CURVATURE)
    right, growth = slopes_of(np.clip(scores, -500, 500), target, clip)
    assert np.allclose(slopes, right, rtol=0, atol=1e-15)
    assert np.allclose(curvatures, growth, rtol=0, atol=1e-15)
    # The growth is the derivative: by differences over 2e-4, which are off by 1e-8 at most.
    near = scores[2:-2]
    after, before = (slopes_of(near + sign * 1e-4, target, clip)[0] for sign in (1, -1))
    assert np.allclose((after - before) / 2e-4, curvatures[2:-2], rtol=0, atol=3e-8)


def test_a_slope_is_at_its_clip_and_flat_from_the_knee_on():
    # With a clip of 1/8 the knee of a target of 1 is where p is 1 - 3/16.
    knee = math.log((13 / 16) / (3 / 16))
    losses = of_constant(np.ones(4), Fraction(1, 8))
    slopes, curvatures = losses.slopes(np.array([-50.0, knee - 1.0, knee, knee + 1e-3]))
    assert slopes[:2].tolist() == [-0.125, -0.125] and curvatures[:2].tolist() == [0.0, 0.0]
    assert abs(slopes[2] + 0.125) < 1e-15 and curvatures[2] < 1e-14
    assert slopes[3] > -0.125 and curvatures[3] > 0.0


def test_the_constant_of_a_slope_has_digits_to_spare():
    off = Fraction(kernels._THIRD_HI) + Fraction(kernels._THIRD_LO) - Fraction(4, 27)
    assert abs(off) < Fraction(1, 2**107)
    # At the knee the slope is 1 and flat.
    assert kernels.KNEE - 4.0 / 27.0 * kernels.KNEE**3 == 1.0


def is_within(losses, calibration, draw, weights, rests=None):
    """Whether a gradient of two doubles is off by no more than it says."""
    problem = objective_of(losses, calibration, draw)
    rests = np.zeros_like(weights) if rests is None else rests
    hi, lo = problem.gradient(weights, rests)
    with localcontext() as context:
        context.prec = DIGITS
        exact_weights = [Fraction(a) + Fraction(b) for a, b in zip(weights, rests, strict=True)]
        right = exact_gradient(losses, calibration, draw, exact_weights)
        found = [Decimal(a) + Decimal(b) for a, b in zip(hi.tolist(), lo.tolist(), strict=True)]
        off = length([a - b for a, b in zip(found, right, strict=True)])
        return off <= Decimal(problem.gradient_error(weights))


@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_the_gradient_is_off_by_no_more_than_it_says(widths, clip):
    calibration, random = calibrated(1, widths, clip), np.random.default_rng(5)
    losses = table(widths, 40, clip, seed=6)
    for scale, draw in zip((0.0, 1.0, 30.0, 1e6), noise_draws(calibration, 4), strict=True):
        weights = scale * random.normal(size=sum(widths))
        assert is_within(losses, calibration, draw, weights)
    for start in (-700.0, 59.99, 60.01, 1e9):
        moved = replace(losses, start=start)
        assert is_within(moved, calibration, draw, random.normal(size=sum(widths)))


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_the_gradient_at_weights_of_two_doubles_is_off_by_no_more_than_it_says(widths):
    calibration, random = calibrated(1, widths), np.random.default_rng(5)
    losses = table(widths, 40, seed=6)
    (draw,) = noise_draws(calibration, 1)
    for scale in (1e-3, 1.0, 30.0):
        weights = scale * random.normal(size=sum(widths))
        rests = np.spacing(weights) * random.uniform(-0.5, 0.5, weights.size)
        assert is_within(losses, calibration, draw, weights, rests)


def test_the_gradient_is_right_where_noise_is_large_and_records_are_many():
    # 3,000 sums that all hold the noise: each loses some of its last digits.
    widths = (1, 1)
    calibration = calibrated("1/1000", widths)
    losses = table(widths, 3000, seed=7)
    draw = [10**17 + 1, -(10**16) - 3]
    weights = np.array([0.3, -0.7])
    assert is_within(losses, calibration, draw, weights)
    # The bound holds for sums that lose as much as they can, which is some 2^-104 each.
    problem = objective_of(losses, calibration, draw)
    assert problem.gradient_error(weights) > 3000 * 2.0**-104 * np.abs(problem.noise).max()


def test_noise_of_more_bits_than_a_double_keeps_them():
    calibration = calibrated(1, (1, 1))
    draw = [2**90 + 1, -(2**60) - 1]
    problem = objective_of(of_constant([]), calibration, draw)
    for z, hi, lo in zip(draw, problem.noise, problem.noise_rest, strict=True):
        assert Fraction(hi) + Fraction(lo) == z * Fraction(calibration.noise_step)
    assert problem.noise_rest.tolist() == [calibration.noise_step, -calibration.noise_step]


@given(st.data())
def test_the_gradient_of_any_small_table_is_off_by_no_more_than_it_says(data):
    clip = data.draw(st.sampled_from(CLIPS))
    weight = st.floats(-100.0, 100.0)
    n = data.draw(st.integers(0, 4))
    losses = replace(
        table((2, 1), n, clip, seed=data.draw(st.integers(0, 99))),
        targets=np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n))),
        start=data.draw(st.floats(-80.0, 80.0)),
    )
    weights = np.array(data.draw(st.lists(weight, min_size=3, max_size=3)))
    draw = data.draw(st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=3))
    assert is_within(losses, calibrated(1, (2, 1), clip), draw, weights)


# -- what becomes of epsilon -----------------------------------------------------------------------


def parts_of(calibration, event):
    """Parts of epsilon, by decimals: noise, determinant and lattice; upper bounds of each."""
    a, e = Decimal(calibration.noise_exponent), Decimal(calibration.step_exponent)
    steps = exact(event.clip) / Decimal(calibration.noise_step)
    of_columns, of_constant = map(Decimal, calibration.ridge)
    bent = Decimal(int(event.blocks - 1)) / of_columns + 1 / of_constant
    return (
        a * (steps + max(calibration.widths)),
        (1 + bent * exact(event.curvature)).ln(),
        2 * calibration.n_columns * e,
    )


def check_calibration(event, widths):
    calibration = Calibration.of(event, widths)
    with localcontext() as context:
        context.prec = DIGITS
        noise, determinant, lattice = parts_of(calibration, event)
        assert determinant <= exact(event.determinant)
        assert noise + exact(event.determinant) + lattice <= exact(event.epsilon)
        # What is there is spent: all of what is left, and of the determinant what two parts of it
        # lose, which is little where they are small. No noise is sharper than SHARPEST.
        left = exact(event.epsilon - event.determinant)
        if calibration.noise_exponent < SHARPEST / max(calibration.widths):
            assert noise + lattice >= left * Decimal("0.9999")
        if len(widths) > 1:
            assert determinant >= exact(event.determinant) * (1 - exact(event.determinant) / 5)
        # Weights whose gradient is no longer are within a step of the minimum, wherever in its
        # cell the noise is.
        cell = Decimal(sum(widths)).sqrt() * Decimal(calibration.noise_step) / 2
        reach = (Decimal(calibration.largest_gradient) + cell) / Decimal(min(calibration.ridge))
        assert reach <= Decimal(calibration.step)
        assert calibration.largest_gradient > 0
    for step in (calibration.step, calibration.noise_step):
        assert math.frexp(step)[0] == 0.5
    assert calibration.noise_step <= event.clip
    assert calibration.step * 2**0.5 / calibration.step_exponent <= 0.002
    return calibration


@pytest.mark.parametrize("epsilon", ["1/1000", "1/100", "1/10", "1/3", 1, 3, 10, 30, 100])
@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("widths", [*WIDTHS, (1000, 1)], ids=lambda w: f"{len(w)}-{sum(w)}")
def test_the_parts_of_epsilon_are_all_of_it_and_no_more(epsilon, clip, widths):
    check_calibration(event_of(epsilon, widths, clip), widths)


@given(
    st.fractions(Fraction(1, 1000), 100),
    st.fractions(Fraction(1, 100), Fraction(9, 10)),
    st.integers(-10, 1),
    st.lists(st.integers(1, 9), max_size=6),
    st.fractions(QUARTER, 4),
)
def test_the_parts_of_any_epsilon_are_no_more(epsilon, share, power, widths, curvature):
    part = min(share * epsilon, Fraction(3))
    event = ObjectivePerturbation(
        epsilon, part, Fraction(2) ** power, curvature, Fraction(len(widths) + 1)
    )
    check_calibration(event, (*widths, 1))


def test_ridges_are_as_the_determinant_says_and_not_much_more():
    determinant = Fraction(1, 5)
    for n_features in (1, 3, 50):
        widths = (4,) * n_features + (1,)
        of_columns, of_constant = calibrated(1, widths, determinant=determinant).ridge
        assert np.isclose(of_columns, n_features / 4 / (0.75 * math.expm1(0.2)))
        assert np.isclose(of_constant, 1 / 4 / (0.25 * math.expm1(0.2)))
        # All of it is used: sizes of a record in its blocks may be 1 each.
        most = 1 + (n_features / of_columns + 1 / of_constant) / 4
        assert 0.2 * (1 - 1e-9) < math.log(most) <= 0.2


def test_a_huge_epsilon_makes_no_sharper_noise_than_attempts_can_find():
    for epsilon in (10**4, 10**9):
        calibration = calibrated(epsilon, (6, 3, 1))
        assert calibration.noise_exponent <= 0.5 / 6
        assert calibration.step <= 0.002
        assert len(noise_draws(calibration, 200)) == 200


@pytest.mark.parametrize("clip", ["1/3", "3/4", "3", Fraction(2) ** -1100, Fraction(2) ** 2000])
def test_a_clip_that_is_no_power_of_two_is_refused(clip):
    with pytest.raises(ParameterError, match="clip=.*must be a power of two"):
        calibrated(1, (2, 1), Fraction(clip))


@pytest.mark.parametrize("power", [-1000, -61, 61, 900])
def test_a_clip_whose_steps_doubles_cannot_keep_is_refused(power):
    """With a clip of next to nothing hardly any epsilon is left to find: squares underflow."""
    event = event_of(1 + Fraction(1, 2**600), (2, 1), Fraction(2) ** power, determinant=1)
    with pytest.raises(ParameterError, match="clip=.*must be from"):
        Calibration.of(event, (2, 1))


@pytest.mark.parametrize("widths", [(), (1,), (2, 2), (2, 1, 1), (0, 1), (-1, 1)])
def test_blocks_that_are_not_the_events_are_refused(widths):
    with pytest.raises(ParameterError, match="widths=.*which is 2, with a constant last"):
        Calibration.of(event_of(1, (2, 1)), widths)


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1, 10), 0, math.inf])
def test_a_determinant_of_all_of_epsilon_is_refused(epsilon):
    event = ObjectivePerturbation(epsilon, Fraction(1, 5), Fraction(1, 2), QUARTER, Fraction(2))
    with pytest.raises(ParameterError, match="epsilon=.*more than its part for the determinant"):
        Calibration.of(event, (2, 1))


@pytest.mark.parametrize("start", [-101.0, 1e5, math.inf, math.nan])
def test_a_start_near_which_doubles_lie_too_far_apart_is_refused(grants, start):
    event, losses = event_of(1, (2, 1)), table((2, 1), 5, start=start)
    grant = grants(event)
    with pytest.raises(ParameterError, match="start=.*must be from -100 to 100"):
        release_minimum(losses, Calibration.of(event, (2, 1)), grant, None)


@pytest.mark.parametrize("power", [-9, -12, -30, -300, -330, -1000])
def test_an_epsilon_that_doubles_cannot_keep_is_refused(power):
    epsilon = Fraction(10) ** power
    with pytest.raises(ParameterError, match="doubles could not find the minimum|must be from"):
        calibrated(epsilon, (2, 1))
    with pytest.raises(ParameterError, match="epsilon=.*must leave more for the noise"):
        calibrated(1 + epsilon, (2, 1), determinant=1)


@pytest.mark.parametrize("determinant", [Fraction(1, 10**300), Fraction(1, 2**61), 9, 20, 1000])
def test_a_determinant_whose_ridge_doubles_cannot_keep_is_refused(determinant):
    with pytest.raises(ParameterError, match="determinant=.*must be from"):
        calibrated(2000, (2, 1), determinant=determinant)


@pytest.mark.parametrize("start", [-100.0, -20.0, 0.3, 100.0])
@pytest.mark.parametrize("widths", [(2, 1), (2, 2, 2, 2, 1)], ids=str)
def test_the_minimum_is_found_at_the_largest_determinant_too(widths, start):
    """Of ridges of a determinant of 20 it was not, for some tables: an error told which."""
    calibration = calibrated(9, widths, determinant=8)
    for seed in range(4):
        losses = table(widths, 2000, seed=seed, start=start)
        minimum_of(losses, calibration, [0] * sum(widths))


def test_a_curvature_beyond_doubles_is_refused():
    event = replace(event_of(1, (2, 1)), curvature=Fraction(10) ** 400)
    with pytest.raises(ParameterError, match="curvature=.*must be from"):
        Calibration.of(event, (2, 1))


# -- the minimum -----------------------------------------------------------------------------------


def minimum_of(losses, calibration, draw):
    """Weights in doubles, each the nearest to an exact one."""
    return np.array([float(w) for w in certified_weights(losses, calibration, draw)])


def check_minimum(losses, calibration, draw):
    """The certificate, worked out exactly, and the slow twin."""
    exact_weights = certified_weights(losses, calibration, draw)
    weights = np.array([float(weight) for weight in exact_weights])
    assert np.isfinite(weights).all()
    with localcontext() as context:
        context.prec = DIGITS
        gradient = length(exact_gradient(losses, calibration, draw, exact_weights))
        assert gradient <= Decimal(calibration.largest_gradient)
    noise = np.array(draw, dtype=np.float64) * calibration.noise_step
    slow = slow_minimum(losses, calibration, noise)
    assert np.linalg.norm(weights - slow) <= calibration.step
    return weights


@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_the_minimum_is_certified_and_that_of_the_slow_twin(widths, clip):
    for n, epsilon in ((0, 1), (1, "1/10"), (40, 1), (40, 8)):
        calibration = calibrated(epsilon, widths, clip)
        losses = table(widths, n, clip, seed=n)
        for draw in noise_draws(calibration, 3):
            check_minimum(losses, calibration, draw)


@given(st.data())
def test_the_minimum_of_any_small_table_is_certified(data):
    clip = data.draw(st.sampled_from(CLIPS))
    n = data.draw(st.integers(0, 5))
    target = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.0, 1.0))
    losses = replace(
        table((2, 1), n, clip, seed=data.draw(st.integers(0, 99))),
        targets=np.array(data.draw(st.lists(target, min_size=n, max_size=n))),
        start=data.draw(st.floats(-30.0, 30.0)),
    )
    calibration = calibrated(data.draw(st.sampled_from(["1/100", 1, 20])), (2, 1), clip)
    (draw,) = noise_draws(calibration, 1, data.draw(st.integers(0, 99)))
    check_minimum(losses, calibration, draw)


@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("epsilon", ["1/1000", 1, 50])
def test_nothing_that_data_hold_is_ever_raised(clip, epsilon):
    widths = (3, 1, 1)
    calibration = calibrated(epsilon, widths, clip)
    draws = noise_draws(calibration, 2)
    targets, starts = (0.0, 1.0, 0.5, 5e-324), (0.0, 25.0, -25.0)
    for n, target, start in itertools.product((1, 300), targets, starts):
        losses = table(widths, n, clip, seed=n, start=start)
        alike = replace(losses, codes=np.zeros_like(losses.codes), targets=np.full(n, target))
        for one in (alike, replace(alike, codes=losses.codes)):
            for draw in draws:
                assert np.isfinite(minimum_of(one, calibration, draw)).all()


@pytest.mark.parametrize("target", [0.0, 0.5])
def test_the_minimum_of_200_000_equal_records_is_found(target):
    n, widths = 200_000, (2, 1, 1)
    losses = table(widths, n, seed=8)
    alike = replace(losses, codes=np.zeros_like(losses.codes), targets=np.full(n, target))
    calibration = calibrated(1, widths)
    (draw,) = noise_draws(calibration, 1)
    weights = minimum_of(alike, calibration, draw)
    # One record, so many times over: by its slope alone, in doubles.
    row = design(replace(alike, codes=alike.codes[:1], targets=alike.targets[:1]), 4)[0]
    slope = n * slopes_of(row @ weights + alike.start, target, alike.clip)[0]
    gradient = slope * row + ridge_of(calibration) * weights
    gradient += np.array(draw, dtype=np.float64) * calibration.noise_step
    assert np.linalg.norm(gradient) <= calibration.largest_gradient + n * 1e-14


@pytest.mark.parametrize("widths", [(1, 1), (3, 2, 1)], ids=str)
@pytest.mark.parametrize("clip", [Fraction(1, 8), Fraction(1)], ids=str)
def test_wherever_noise_is_in_its_cell_the_minimum_is_at_most_a_step_away(widths, clip):
    calibration, random = calibrated(2, widths, clip), np.random.default_rng(9)
    for draw in noise_draws(calibration, 6):
        losses = table(widths, 12, clip, seed=int(random.integers(99)))
        weights = minimum_of(losses, calibration, draw)
        corners = random.choice([-0.5, 0.5], (4, sum(widths)))
        for u in (*corners, *random.uniform(-0.5, 0.5, (4, sum(widths)))):
            noise = (np.array(draw, dtype=np.float64) + u) * calibration.noise_step
            real = slow_minimum(losses, calibration, noise)
            assert np.linalg.norm(weights - real) <= calibration.step
            places, others = (np.floor(w / calibration.step) for w in (weights, real))
            assert np.abs(places - others).max() <= 1


# -- the release -----------------------------------------------------------------------------------


@pytest.fixture
def grants():
    """Grants for as many releases as one likes."""
    accountant = BudgetAccountant(epsilon=10**9)
    return lambda event: accountant.request(event, role="test")


def test_places_are_those_of_the_minimum_with_noise_on_each(grants, fits):
    widths, event = (2, 1), event_of(400, (2, 1))
    calibration, losses = Calibration.of(event, widths), table((2, 1), 10)
    found = []
    for seed in range(2500):
        released = release_minimum(losses, calibration, grants(event), SeededSource(seed))
        draw = k_norm_noise(widths, calibration.noise_exponent, SeededSource(seed))
        weights = certified_weights(losses, calibration, draw)
        found += (released - lattice_places(weights, calibration.step)).tolist()
    assert released.dtype == np.int64 and released.shape == (3,)
    places = np.arange(-60, 61)
    counts = np.bincount(np.array(found) + 60, minlength=121)

    def geometric(a):
        law = np.exp(-a * np.abs(places))
        return law / law.sum()

    assert 0.5 < calibration.step_exponent < 2.0
    assert fits(counts, geometric(calibration.step_exponent))
    assert not fits(counts, geometric(calibration.step_exponent * 1.3))
    assert not fits(counts, geometric(calibration.step_exponent / 1.3))


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_what_is_released_ends_at_the_same_place_whatever_the_data_are(target, grants, monkeypatch):
    event = event_of(1, (1,))
    calibration = Calibration.of(event, (1,))
    for noise, ended in ((2**62, 2**61), (-(2**80), -(2**61)), (2**2000, 2**61)):
        monkeypatch.setattr(objective, "two_sided_geometric", lambda n, *_, k=noise: [k] * n)
        losses = of_constant(np.full(9, target))
        found = release_minimum(losses, calibration, grants(event), SeededSource(0))
        assert found.tolist() == [ended]


@pytest.mark.parametrize("sign", [-1, 1])
def test_weights_beyond_the_lattice_are_at_its_end(sign, grants, monkeypatch):
    event = event_of(1, (1,))
    calibration = Calibration.of(event, (1,))
    monkeypatch.setattr(objective, "two_sided_geometric", lambda n, *_: [3] * n)
    monkeypatch.setattr(objective, "certified_minimum", lambda *_: [sign * Fraction(10) ** 500])
    found = release_minimum(of_constant([]), calibration, grants(event), SeededSource(0))
    assert found.tolist() == [sign * 2**52 + 3]


def test_the_observer_is_told_of_nothing_but_widths(grants):
    seen = []

    class Looker(Observer):
        def release(self, name, grant, public, draw):
            seen.append((name, grant.role, public))
            return draw()

    event = event_of(1, (2, 1))
    before = set_observer(Looker())
    try:
        calibration = Calibration.of(event, (2, 1))
        release_minimum(table((2, 1), 5), calibration, grants(event), SeededSource(0))
    finally:
        set_observer(before)
    assert seen == [("release_minimum", "test", (2, 1))]


def test_a_minimum_is_not_released_without_a_fitting_grant(grants):
    event, losses = event_of(1, (2, 1)), table((2, 1), 5)
    calibration = Calibration.of(event, (2, 1))
    with pytest.raises(GrantError, match="runs only with a Grant for ObjectivePerturbation"):
        release_minimum(losses, calibration, None, SystemSource())
    other = grants(GeometricNoise(1, 1))
    with pytest.raises(GrantError, match="does not cover ObjectivePerturbation"):
        release_minimum(losses, calibration, other, SystemSource())
    assert not other.consumed
    used = grants(event)
    release_minimum(losses, calibration, used, SystemSource())
    assert used.consumed
    with pytest.raises(GrantError, match="used before"):
        release_minimum(losses, calibration, used, SystemSource())


def refused(losses, calibration, grant, match):
    """What is refused takes no word and leaves the grant as it was."""
    with pytest.raises(ParameterError, match=match):
        release_minimum(losses, calibration, grant, None)
    assert not grant.consumed


def test_a_calibration_of_another_event_is_refused_and_the_grant_stays_usable(grants):
    event, losses = event_of(1, (2, 1)), table((2, 1), 5)
    own, given = Calibration.of(event, (2, 1)), grants(event)
    names = ("noise_step", "noise_exponent", "step", "step_exponent")
    others = [replace(own, **{name: getattr(own, name) * 2.0}) for name in names]
    others.append(replace(own, ridge=(own.ridge[0] / 2.0, own.ridge[1])))
    others.append(replace(own, ridge=(own.ridge[0], own.ridge[1] / 2.0)))
    others.append(calibrated(2, (2, 1)))
    for calibration in others:
        refused(losses, calibration, given, "must be that of the event")
    refused(losses, calibrated(1, (1, 1, 1)), given, "must be as many as the event has")
    refused(losses, calibrated(1, (1, 1)), given, "in their blocks")
    assert release_minimum(losses, own, given, SeededSource(0)).shape == (3,)
    # Wider blocks than there are columns are of the event too, and cost no more.
    wider = calibrated(1, (3, 1))
    assert release_minimum(losses, wider, grants(event), SeededSource(0)).shape == (4,)


@pytest.mark.parametrize("clip", [0.25, 1.0, 0.5 + 2.0**-52])
def test_losses_of_another_clip_are_refused_and_the_grant_stays_usable(clip, grants):
    event, losses = event_of(1, (2, 1)), table((2, 1), 5)
    calibration, given = Calibration.of(event, (2, 1)), grants(event)
    refused(replace(losses, clip=clip), calibration, given, "must have the event's clip, 1/2")
    assert release_minimum(losses, calibration, given, SeededSource(0)).shape == (3,)


def test_a_curvature_that_losses_exceed_is_refused(grants):
    event = replace(event_of(1, (2, 1)), curvature=QUARTER - Fraction(1, 10**30))
    calibration, given = Calibration.of(event, (2, 1)), grants(event)
    refused(table((2, 1), 5), calibration, given, "and curvature")
    more = replace(event, curvature=Fraction(1, 3))
    calibration = Calibration.of(more, (2, 1))
    release_minimum(table((2, 1), 5), calibration, grants(more), SeededSource(0))


def test_columns_that_are_not_as_the_noise_was_made_for_are_refused(grants):
    widths = (2, 3, 1)
    event, losses = event_of(1, widths), table(widths, 5)
    calibration, given = Calibration.of(event, widths), grants(event)

    def changed(name, place, value):
        array = getattr(losses, name).copy()
        array[place] = value
        return replace(losses, **{name: array})

    outside = [(0, 0, 2), (5, 1, 2), (6, 0, 1), (11, 1, 5), (0, 1, -1), (8, 0, 6)]
    for row, side, column in outside:
        refused(changed("columns", (row, side), column), calibration, given, "in their blocks")
    large = [
        *([1.0, 5e-324], [0.5, math.nextafter(0.5, 1.0)], [-0.75, -0.75], [2.0, 0.0]),
        *([1.0 - 2.0**-53, 2.0**-52], [math.nan, 0.0], [math.inf, 0.0], [0.0, -1.5]),
    ]
    for row, values in itertools.product((0, 11), large):
        refused(changed("values", row, values), calibration, given, "add up to at most 1")
    for fine in ([0.5, -0.5], [1.0 - 2.0**-53, 2.0**-53], [0.0, -1.0], [0.3, 0.7 - 2.0**-53]):
        assert changed("values", 3, fine).has_blocks(widths)
    for broken in (
        replace(losses, values=losses.values[:-1]),
        replace(losses, columns=losses.columns[:, :1]),
        replace(losses, codes=losses.codes[:, :1]),
        replace(losses, codes=losses.codes[:-1]),
        replace(losses, offsets=losses.offsets[:1]),
        replace(losses, offsets=np.array([1, 6])),
        replace(losses, offsets=np.array([0, 13])),
    ):
        refused(broken, calibration, given, "in their blocks")
    assert release_minimum(losses, calibration, given, SeededSource(0)).shape == (6,)


# -- the law, and what one record changes ----------------------------------------------------------


def tail(place, calibration):
    """P(b > place) of noise of one block of one column, for a place that is not below 0."""
    a, h = calibration.noise_exponent, calibration.noise_step
    cells = np.asarray(place) / h + 0.5
    k = np.floor(cells)
    beyond = np.exp(-a * (k + 1)) / (1.0 + math.exp(-a))
    return beyond + (k + 1.0 - cells) * math.tanh(a / 2.0) * np.exp(-a * k)


def shares_between(noises, calibration):
    """Probability that the noise lies between neighbours of a falling list; all digits count."""
    high, low = noises[:-1], noises[1:]
    above = tail(np.maximum(low, 0.0), calibration) - tail(np.maximum(high, 0.0), calibration)
    below = tail(np.maximum(-high, 0.0), calibration) - tail(np.maximum(-low, 0.0), calibration)
    return above + below


def noise_at(weights, targets, calibration, clip, start=0.0):
    """b(w): the noise that makes each weight of the constant the minimum."""
    slopes = [slopes_of(weights + start, target, clip)[0] for target in targets]
    return -(np.sum(slopes, axis=0) + calibration.ridge[1] * weights)


def shares_of(edges, targets, calibration, clip):
    """Probability that the real minimum lies between neighbouring edges, which rise."""
    return shares_between(noise_at(edges, targets, calibration, clip), calibration)


TABLES = [[], [1.0], [0.0] * 4, [0.5] * 3, [0.0, 1.0, 0.3], [1.0] * 20]
RECORDS = [0.0, 1.0, 0.5, 0.2]


def largest_ratio(calibration, used, clip):
    """Largest logarithm of a ratio that one record makes, over tables and places.

    The ridge is that of one calibration, the noise that of another.
    """
    drawn = replace(used, ridge=calibration.ridge)
    reach = 40.0 * used.noise_step / used.noise_exponent / calibration.ridge[1]
    far = np.geomspace(12.01, reach + 30.0, 2000)
    edges = np.concatenate([-far[::-1], np.linspace(-12.0, 12.0, 6001), far])
    largest = 0.0
    for targets, record in itertools.product(TABLES, RECORDS):
        one, other = (
            shares_of(edges, records, drawn, clip) for records in (targets, [*targets, record])
        )
        seen = (one > 1e-200) & (other > 1e-200)
        largest = max(largest, np.abs(np.log(one[seen] / other[seen])).max())
    return largest


@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("epsilon", ["1/2", 2, 8])
def test_one_record_changes_the_law_of_the_minimum_by_no_more_than_epsilon(epsilon, clip):
    event = event_of(epsilon, (1,), clip)
    calibration = Calibration.of(event, (1,))
    priced = float(event.epsilon) - 2.0 * calibration.step_exponent
    found = largest_ratio(calibration, calibration, float(clip))
    # Nearly all of the noise's part is used, by a slope of the whole clip; no residual exceeds 1.
    steepest = slopes_of(1e3, 0.0, float(clip))[0] / float(clip)
    noise_part = (priced - float(event.determinant)) * steepest
    assert 0.99 * noise_part < found < priced * (1.0 + 1e-9)
    # Noise of half the scale, or hardly any ridge, is more than was paid for.
    sharper = replace(calibration, noise_exponent=2.0 * calibration.noise_exponent)
    assert largest_ratio(calibration, sharper, float(clip)) > 1.1 * priced
    flatter = replace(calibration, ridge=(1.0, calibration.ridge[1] / 10_000.0))
    assert largest_ratio(flatter, calibration, float(clip)) > priced


def log_density(weights, losses, calibration):
    """Logarithm of the real minimum's density, up to a constant, at weights."""
    rows, ridge = design(losses, weights.size), ridge_of(calibration)
    slopes, curvatures = slopes_of(rows @ weights + losses.start, losses.targets, losses.clip)
    steps = np.rint(-(rows.T @ slopes + ridge * weights) / calibration.noise_step)
    blocks = np.split(np.abs(steps), np.cumsum(calibration.widths)[:-1])
    hessian = (rows.T * curvatures) @ rows + np.diag(ridge)
    return (
        -calibration.noise_exponent * max(block.sum() for block in blocks)
        + np.linalg.slogdet(hessian)[1]
    )


@pytest.mark.parametrize("widths", [(1, 1), (2, 1), (2, 1, 1), (3, 2, 1)], ids=str)
@pytest.mark.parametrize("clip", [Fraction(1, 8), Fraction(1, 2)], ids=str)
def test_one_record_changes_the_density_by_no_more_than_epsilon_anywhere(widths, clip):
    event = event_of(1, widths, clip)
    calibration, random = Calibration.of(event, widths), np.random.default_rng(10)
    priced = 1.0 - 2.0 * sum(widths) * calibration.step_exponent
    draws = iter(np.array(noise_draws(calibration, 200)) * calibration.noise_step)
    ratios, without = [], []
    for seed in range(40):
        more = table(widths, 1 + seed % 4, clip, seed=seed)
        less = replace(more, codes=more.codes[1:], targets=more.targets[1:])
        for _ in range(5):
            noise = next(draws) * random.choice([0.1, 1.0, 5.0])
            weights = slow_minimum(random.choice([more, less]), calibration, noise)
            ratios.append(
                log_density(weights, more, calibration) - log_density(weights, less, calibration)
            )
            sharper = replace(calibration, noise_exponent=2.0 * calibration.noise_exponent)
            without.append(
                log_density(weights, more, sharper) - log_density(weights, less, sharper)
            )
    assert np.abs(ratios).max() < priced
    assert np.abs(ratios).max() > 0.7 * priced
    assert np.abs(without).max() > priced


@pytest.mark.parametrize("targets", [[], [1.0, 1.0, 0.0], [0.5] * 4], ids=str)
def test_the_constants_weight_has_the_law_of_the_minimum_and_not_that_of_other_noise(
    targets, grants, fits
):
    event, clip = event_of(2, (1,)), Fraction(1, 2)
    calibration = Calibration.of(event, (1,))
    losses = of_constant(targets, clip)
    source = SeededSource(11)
    released = np.concatenate(
        [release_minimum(losses, calibration, grants(event), source) for _ in range(2500)]
    )
    # The lattice's noise, of 0.002, is of no account in bins of 0.1 and more.
    edges = np.concatenate([[-1e4], np.linspace(-6, 6, 61), [1e4]])
    counts = np.histogram(released * calibration.step, edges)[0]
    assert fits(counts, shares_of(edges, targets, calibration, float(clip)))
    for times in (2.0, 1.3, 1.0 / 1.3, 0.5):
        other = replace(calibration, noise_exponent=times * calibration.noise_exponent)
        assert not fits(counts, shares_of(edges, targets, other, float(clip)))


def test_weights_of_no_records_are_noise_over_ridge(grants):
    widths = (2, 1, 1)
    event = event_of(1, widths)
    calibration, none = Calibration.of(event, widths), table(widths, 0)
    source = SeededSource(12)
    released = np.array(
        [release_minimum(none, calibration, grants(event), source) for _ in range(1500)]
    )
    noise = np.abs(released * calibration.step * ridge_of(calibration))
    radii = np.maximum(noise[:, :2].sum(axis=1), noise[:, 2:].max(axis=1))
    scaled = radii * calibration.noise_exponent / calibration.noise_step
    # Kolmogorov and Smirnov: an error rate of 1e-9. Four columns, so the radius is a gamma number.
    assert stats.kstest(scaled, stats.gamma(4).cdf).pvalue > ALPHA
    for times in (1.3, 1.0 / 1.3):
        assert stats.kstest(scaled * times, stats.gamma(4).cdf).pvalue < ALPHA


def test_the_largest_score_is_that_of_the_kernels():
    # The gradient's error counts 2^-78 for it.
    assert math.exp(-double_double.LARGEST_SCORE) < 2.0**-86
