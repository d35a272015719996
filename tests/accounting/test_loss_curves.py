"""Hockey-stick curves: against closed forms, against brute force, and against dp_accounting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from dpforest.accounting import loss_curves
from dpforest.accounting.loss_curves import (
    KINK,
    gaussian_curve,
    gaussian_shift,
    selections_curve,
)

EPSILONS = (0.0, 0.1, 0.5, 1.0, 3.0)


def curve_at(selections, mu, epsilon, reach=9):
    return selections_curve(tuple(selections), reach).with_gaussian(mu, epsilon)[0]


def gaussian_at(mu, epsilon):
    return float(gaussian_curve(mu, np.array([epsilon]))[0][0])


def ends(t, epsilon):
    """Factors of a bounded-range release whose upper end is e^t, with their probabilities."""
    q = (math.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
    return (q, math.exp(t)), (1 - q, math.exp(t - epsilon))


def brute_force(epsilons, last, z=1.0, n=30):
    """sup over all adaptive choices of t on a grid of n: a lower bound, close to the truth."""
    if not epsilons:
        return last(z)
    first, *rest = epsilons
    choices = (
        sum(p * brute_force(rest, last, z * factor, n) for p, factor in ends(t, first))
        for t in np.linspace(0, first, n + 1)
    )
    return max(choices)


class TestGaussian:
    def test_a_probability_far_out_is_nothing_whatever_numpy_was_told(self):
        with np.errstate(all="raise"):
            assert gaussian_at(0.1, 50.0) == 0.0

    @pytest.mark.parametrize("error", [-4e-15, 4e-15])
    def test_a_guess_is_the_same_where_another_library_rounds_otherwise(self, monkeypatch, error):
        budgets = list(itertools.product((0.1, 1.0, 1.4, 3.5, 8.75), (1e-5, 5e-6, 1e-7, 1e-9)))
        here = [gaussian_shift.__wrapped__(*budget) for budget in budgets]
        library = loss_curves.log_ndtr
        monkeypatch.setattr(loss_curves, "log_ndtr", lambda x: library(x) * (1 + error))
        assert [gaussian_shift.__wrapped__(*budget) for budget in budgets] == here
        for budget, mu in zip(budgets, here, strict=True):
            assert gaussian_at(mu, budget[0]) == pytest.approx(budget[1], rel=1e-5)

    @pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 5.0])
    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_is_the_integral(self, mu, epsilon):
        # E_Q (l - e^eps)+ for N(0, 1) against N(mu, 1), integrated where it is positive.
        start = epsilon / mu + mu / 2

        def excess(x):
            return norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x)

        exact = quad(excess, start, start + 40, epsabs=0, epsrel=1e-10, limit=200)[0]
        assert gaussian_at(mu, epsilon) == pytest.approx(exact, rel=1e-7, abs=1e-300)

    def test_ends(self):
        curve, scale = gaussian_curve(0.5, np.array([-np.inf, -800.0, 800.0]))
        assert curve.tolist() == [1.0, 1.0, 0.0] and scale[0] == 1.0
        assert gaussian_at(0.0, -math.log(2)) == pytest.approx(0.5)
        assert gaussian_at(0.0, 0.1) == 0.0

    def test_no_selections_leave_the_gaussian(self):
        assert KINK.with_gaussian(0.4, 1.0)[0] == gaussian_at(0.4, 1.0)


class TestSelections:
    @pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
    def test_one_is_the_closed_form(self, epsilon):
        # (1 - e^((x - eps)/2))^2 / (1 - e^-eps): the worst t is (eps + x) / 2.
        for x in np.linspace(-epsilon, epsilon, 23):
            exact = (1 - math.exp((x - epsilon) / 2)) ** 2 / -math.expm1(-epsilon)
            bound = curve_at([(epsilon, 1)], 0.0, x)
            assert exact - 1e-12 <= bound <= exact + 2e-4 * epsilon
        assert curve_at([(epsilon, 1)], 0.0, epsilon * 1.0001) <= 1e-12

    @pytest.mark.parametrize("epsilons", [(0.5, 0.5), (1.0, 0.3), (0.3, 1.0), (0.4, 0.4, 0.4)])
    @pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
    def test_few_are_the_brute_force(self, epsilons, share):
        kink = math.exp(share * sum(epsilons))
        exact = brute_force(list(epsilons), lambda z: max(z - kink, 0.0))
        groups = [(e, len(list(g))) for e, g in itertools.groupby(epsilons)]
        bound = curve_at(groups, 0.0, math.log(kink))
        assert exact * (1 - 1e-9) <= bound <= exact * 1.01 + 1e-5

    @pytest.mark.parametrize("n", [1, 10, 100])
    def test_many_are_just_above_those_that_do_not_adapt(self, n):
        epsilon, mu, at = 0.15 / math.sqrt(n), 0.2, 1.0
        ups = np.arange(n + 1)
        q = 1 / (1 + math.exp(epsilon / 2))  # t = epsilon / 2, whatever was released before
        law, loss = binom.pmf(ups, n, q), (2 * ups - n) * epsilon / 2
        fixed = float(law @ (np.exp(loss) * gaussian_curve(mu, at - loss)[0]))
        bound = curve_at([(epsilon, n)], mu, at)
        assert fixed * (1 - 1e-9) <= bound
        # One selection is as bad as the t that fits each loss; many come to a normal law.
        assert bound <= fixed * {1: 1.7, 10: 1.2, 100: 1.06}[n]

    def test_a_gaussian_release_may_come_first_or_last(self):
        epsilon, mu, at = 0.6, 0.5, 0.8

        def after(z):  # E (z l - e^at)+
            return z * gaussian_at(mu, at - math.log(z))

        def before(x):  # the closed form of one selection, its kink moved by the loss x
            kink = at - x
            worst = (1 - math.exp((kink - epsilon) / 2)) ** 2 / -math.expm1(-epsilon)
            worst = worst if -epsilon < kink < epsilon else max(-math.expm1(kink), 0.0)
            return math.exp(x) * worst * norm.pdf(x, -(mu**2) / 2, mu)

        last = brute_force([epsilon], after, n=400)
        points = [at - epsilon, at + epsilon]
        first = quad(before, -6, 6, points=points, epsabs=1e-14, limit=400)[0]
        bound = curve_at([(epsilon, 1)], mu, at)
        assert last < first <= bound <= first * 1.001

    def test_groups_of_equals_are_one(self):
        together = curve_at([(0.1, 50)], 0.2, 0.8)
        assert curve_at([(0.1, 20), (0.1, 30)], 0.2, 0.8) == pytest.approx(together, rel=1e-9)

    def test_a_short_reach_bounds_from_above(self):
        bounds = [curve_at([(0.1, 60)], 0.2, 1.0, reach) for reach in (3, 4, 6, 9, 40)]
        assert all(a >= b * (1 - 1e-12) for a, b in itertools.pairwise(bounds))
        assert bounds[-2] == pytest.approx(bounds[-1], rel=1e-6)

    def test_monotone(self):
        grid = [(e, n, mu) for e in (0.05, 0.1) for n in (2, 20) for mu in (0.1, 0.3)]
        value = {key: curve_at([key[:2]], key[2], 0.4) for key in grid}
        for one, other in itertools.product(grid, repeat=2):
            if all(a <= b for a, b in zip(one, other, strict=True)):
                assert value[one] <= value[other]
        at = [curve_at([(0.1, 20)], 0.3, e) for e in np.linspace(0, 3, 40)]
        assert at == sorted(at, reverse=True)

    def test_weights_are_a_distribution(self):
        curve = selections_curve(((0.2, 30), (1.0, 2)), 9)
        assert (curve.weights >= 0).all()
        assert curve.weights.sum() == pytest.approx(1, abs=1e-10)


class TestPure:
    @pytest.mark.parametrize("times", [1, 2, 7])
    @pytest.mark.parametrize("epsilon", [0.1, 1.0])
    def test_is_randomised_response(self, epsilon, times):
        # The optimal composition of Kairouz, Oh, Viswanath: sums over (times - 2 i) epsilon.
        curve = KINK.with_pure(epsilon, times)
        p = 1 / (1 + math.exp(-epsilon))
        for at in np.linspace(0, times * epsilon, 9):
            exact = sum(
                math.comb(times, i)
                * max(
                    p ** (times - i) * (1 - p) ** i - math.exp(at) * p**i * (1 - p) ** (times - i),
                    0,
                )
                for i in range(times + 1)
            )
            assert curve.with_gaussian(0.0, at)[0] == pytest.approx(exact, rel=1e-9, abs=1e-12)

    def test_bounded_range_costs_less_than_pure(self):
        pure = KINK.with_pure(0.2, 10).with_gaussian(0.3, 1.0)[0]
        assert curve_at([(0.2, 10)], 0.3, 1.0) < pure < curve_at([(0.4, 10)], 0.3, 1.0)


def test_agrees_with_dp_accounting():
    distribution = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epsilon, n, sigma = 0.05, 40, 4.0
    (q, up), (rest, down) = ends(epsilon / 2, epsilon)
    lower = math.log(q), math.log(rest)
    upper = math.log(q * up), math.log(rest * down)
    make = distribution.from_two_probability_mass_functions
    one = make(
        dict(enumerate(lower)), dict(enumerate(upper)), pessimistic_estimate=False,
        value_discretization_interval=epsilon / 2000, symmetric=True,
    )  # fmt: skip
    noise = distribution.from_gaussian_mechanism(
        sigma, value_discretization_interval=epsilon / 2000, pessimistic_estimate=False
    )
    theirs = one.self_compose(n).compose(noise)
    for at in (0.3, 0.6, 1.0):
        assert theirs.get_delta_for_epsilon(at) <= curve_at([(epsilon, n)], 1 / sigma, at)
        ours = curve_at([(epsilon, n)], 1 / sigma, at)
        assert ours <= theirs.get_delta_for_epsilon(at) * 1.1
