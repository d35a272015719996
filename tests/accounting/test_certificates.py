"""Certificates: never below what a list of releases really costs, and close to it."""

from __future__ import annotations

import itertools
import math
import warnings
from decimal import Context, Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpforest.accounting import certificates
from dpforest.accounting.certificates import (
    METHOD,
    Certificate,
    Repeat,
    certify,
    delta_bound,
    epsilon_bound,
    grouped,
    smoothing,
)
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.losses import PrivacyLoss
from dpforest.exceptions import ParameterError

MILLIONTH = F(1, 10**6)


def gaussian(sigma_squared, sensitivity_squared=1):
    return DiscreteGaussianNoise(F(sigma_squared), F(sensitivity_squared))


def discrete_law(sigma_squared, width=80):
    points = np.arange(-width, width + 1)
    weights = np.exp(-(points**2) / (2.0 * sigma_squared))
    return points, weights / weights.sum()


def exact_delta(sigma_squared, shift, epsilon):
    """P(S) - e^eps Q(S) for independent discrete Gaussian entries that move by ``shift``."""
    losses, law = np.zeros(1), np.ones(1)
    points, weights = discrete_law(sigma_squared)
    for move in shift:
        # Under Q the entry is y, and its loss is (2 y move - move^2) / (2 sigma^2).
        step = (2 * points * move - move**2) / (2.0 * sigma_squared)
        losses = (losses[:, None] + step).ravel()
        law = (law[:, None] * weights).ravel()
    return float(law @ np.maximum(np.exp(losses) - math.exp(epsilon), 0.0))


def analytic_mu(epsilon, delta):
    """Balle and Wang 2018, Theorem 8, solved for mu."""

    def excess(mu):
        tail = math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return norm.cdf(mu / 2 - epsilon / mu) - tail - delta

    return brentq(excess, 1e-4, 50, xtol=1e-14)


class TestDiscreteGaussian:
    @pytest.mark.parametrize("sigma_squared", [4, 20, 100])
    @pytest.mark.parametrize("shift", [(1,), (2,), (1, 1), (2, 1), (3,)])
    def test_is_above_the_exact_sum_and_near_it(self, sigma_squared, shift):
        squared = sum(move**2 for move in shift)
        repeats = (Repeat((gaussian(sigma_squared, squared),)),)
        for epsilon in (0.0, 0.1, 0.37, 1.0):
            exact = exact_delta(sigma_squared, shift, epsilon)
            bound = delta_bound(repeats, F(str(epsilon)), MILLIONTH)
            assert exact <= bound
            # As a normal release with a variance that is smaller by tau^2 < 1.3.
            assert bound <= exact_delta(sigma_squared - 1.4, shift, epsilon) * 1.02 + 1e-6

    def test_several_releases_are_the_sum_of_their_shifts(self):
        events = gaussian(30), gaussian(40, 4), gaussian(30)
        repeats = Repeat((events[0],)), Repeat(events[1:])
        exact = 0.0
        losses, law = np.zeros(1), np.ones(1)
        for sigma_squared, move in ((30, 1), (40, 2), (30, 1)):
            points, weights = discrete_law(sigma_squared, 45)
            step = (2 * points * move - move**2) / (2.0 * sigma_squared)
            losses, law = (losses[:, None] + step).ravel(), (law[:, None] * weights).ravel()
        exact = float(law @ np.maximum(np.exp(losses) - math.exp(0.5), 0.0))
        bound = delta_bound(repeats, F(1, 2), MILLIONTH)
        assert exact <= bound <= exact * 1.1

    @pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
    @pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-10"])
    def test_much_noise_is_the_closed_form(self, epsilon, delta):
        mu = analytic_mu(float(epsilon), float(delta))
        step = F(10**4)  # counted in steps of a lattice, so the lattice plays no part
        repeats = (Repeat((gaussian(F(step**2 * 10) / F(mu) ** 2, step**2),), 10),)
        found = epsilon_bound(repeats, F(delta))
        assert float(epsilon) <= found <= float(epsilon) * (1 + 5e-6) + 1e-6

    @pytest.mark.parametrize(("sigma_squared", "epsilon"), [(50, "1/2"), (400, "1/4"), (4, "3")])
    def test_is_above_the_dominating_normal_law_worked_out_with_fifty_digits(
        self, sigma_squared, epsilon
    ):
        mpmath = pytest.importorskip("mpmath")
        with mpmath.workdps(50):
            closeness = max(F(epsilon), F(1, 1000)) / 10**6
            tau_squared = smoothing(F(1), closeness)
            variance = F(sigma_squared) - tau_squared
            mu = mpmath.sqrt(mpmath.mpf(variance.denominator) / variance.numerator)
            s = mpmath.mpf(closeness.numerator) / closeness.denominator
            x = mpmath.mpf(F(epsilon).numerator) / F(epsilon).denominator - 2 * s
            exact = mpmath.ncdf(mu / 2 - x / mu) - mpmath.exp(x) * mpmath.ncdf(-mu / 2 - x / mu)
            exact *= mpmath.exp(s)
        found = delta_bound((Repeat((gaussian(sigma_squared),)),), F(epsilon), MILLIONTH)
        assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -5) + mpmath.mpf(10) ** -9

    def test_agrees_with_dp_accounting(self):
        distribution = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        one = distribution.from_discrete_gaussian_mechanism(
            20.0, sensitivity=4, value_discretization_interval=1e-4, pessimistic_estimate=False
        )
        theirs = one.self_compose(12)
        repeats = (Repeat((gaussian(400, 16),), 12),)
        for epsilon in (0.5, 1.0, 3.0):
            lower = theirs.get_delta_for_epsilon(epsilon)
            assert lower <= delta_bound(repeats, F(epsilon), MILLIONTH) <= lower * 1.06

    @pytest.mark.parametrize("entries", [1, 30, 2**32])
    @pytest.mark.parametrize("closeness", [F(1, 10**6), F(1, 10**10)])
    def test_the_smoothing_is_as_close_as_it_says(self, entries, closeness):
        tau_squared = float(smoothing(F(entries), closeness))
        h = 2 * sum(math.exp(-2 * math.pi**2 * tau_squared * k**2) for k in range(1, 5))
        assert entries * (math.log1p(h) - math.log1p(-h)) <= float(closeness)
        # And h bounds how far the sum over a shifted lattice is from its integral.
        for shift in (0.0, 0.25, 0.5):
            points = np.arange(-60, 61) - shift
            total = np.exp(-(points**2) / (2 * tau_squared)).sum()
            assert abs(total / math.sqrt(2 * math.pi * tau_squared) - 1) <= h + 1e-14

    def test_the_integers_drawn_around_a_normal_are_the_discrete_gaussian(self):
        # The step of the proof, by integration: tau^2 = 1/2 leaves a difference that can be seen.
        sigma_squared, tau_squared, centre = 3.0, 0.5, 2
        h = 2 * sum(math.exp(-2 * math.pi**2 * tau_squared * k**2) for k in range(1, 5))
        x = np.linspace(centre - 25, centre + 25, 200_001)
        density = norm.pdf(x, centre, math.sqrt(sigma_squared - tau_squared))
        normaliser = sum(np.exp(-((x - j) ** 2) / (2 * tau_squared)) for j in range(-40, 45))
        points, law = discrete_law(sigma_squared, 12)
        for k, probability in zip(points + centre, law, strict=True):
            drawn = np.exp(-((k - x) ** 2) / (2 * tau_squared)) / normaliser
            mass = float((density * drawn).sum() * (x[1] - x[0]))
            assert abs(math.log(probability / mass)) <= math.log1p(h) - math.log1p(-h) + 1e-9


class TestMixedLists:
    repeats = (
        Repeat((gaussian(1200),)),
        Repeat((gaussian(F(10**6), F(100)),), 6),
        Repeat((ExponentialSelection(F("0.02"), F(2)), gaussian(F(10**7), F(1000))), 60),
    )

    def test_is_between_a_fixed_choice_and_the_zcdp_conversion(self):
        rho = Certificate(self.repeats, F(1), MILLIONTH).rho
        found = epsilon_bound(self.repeats, MILLIONTH)
        assert found < epsilon_of_rho(rho, MILLIONTH)[0] * F(97, 100)
        # A normal law with the same rho, to which all of it comes closest.
        mu = math.sqrt(2 * float(rho))
        lower = brentq(lambda e: analytic_mu(e, 1e-6) - mu, 0.01, 10)
        assert lower * 0.99 <= found <= lower * 1.01

    def test_monotone_in_noise_length_and_epsilon(self):
        def bound(noise, n, selection, epsilon=F(1)):
            events = (ExponentialSelection(F(selection), F(2)), gaussian(noise))
            return delta_bound((Repeat(events, n),), epsilon, MILLIONTH)

        base = bound(2000, 40, "0.05")
        assert base < bound(1900, 40, "0.05") and base < bound(2000, 41, "0.05")
        assert base < bound(2000, 40, "0.051") and base < bound(2000, 40, "0.05", F("0.99"))

    def test_every_selection_of_a_list_is_counted(self):
        one, other = (Repeat((ExponentialSelection(F(e), F(1)),), 4) for e in ("1/2", "1/4"))
        noise = Repeat((gaussian(10**6),))
        for first, second in ((one, other), (other, one)):
            both = delta_bound((noise, first, second), F(1), MILLIONTH)
            assert both > 1.1 * delta_bound((noise, first), F(1), MILLIONTH)
            assert both > 1.1 * delta_bound((noise, second), F(1), MILLIONTH)

    def test_pure_releases_are_counted(self):
        gaussian_alone = epsilon_bound(self.repeats, MILLIONTH)
        for event in (
            GeometricNoise(F("0.1"), F(1)),
            PermuteAndFlipSelection(F("0.1"), F(1)),
            ObjectivePerturbation(F("0.1"), F("0.02"), F(1, 2), F(1, 4), F(3)),
            ZeroSumGeometricNoise(F("0.1"), F(4), F(3)),
        ):
            found = epsilon_bound((*self.repeats, Repeat((event,))), MILLIONTH)
            assert gaussian_alone < found < gaussian_alone + F("0.1")
        nothing = GeometricNoise(F(0), F(1)), ExponentialSelection(F(0), F(1))
        assert epsilon_bound((*self.repeats, Repeat(nothing)), MILLIONTH) == gaussian_alone

    @pytest.mark.parametrize(
        "event",
        [
            ExternalSpend(F(1, 10), F(0), "elsewhere"),
            gaussian(0),
            gaussian(F(1, 2)),
            GeometricNoise(math.inf, F(1)),
            ExponentialSelection(math.inf, F(1)),
        ],
        ids=["another kind", "no noise", "little noise", "endless", "endless selection"],
    )
    def test_nothing_is_known_of_some(self, event):
        assert delta_bound((*self.repeats, Repeat((event,))), F(100), MILLIONTH) == 1.0

    def test_a_group_is_shifted_as_often(self):
        twice = grouped(self.repeats, 2)
        events = [e for repeat in twice for e in repeat.events]
        assert events[0] == gaussian(1200, 4) and events[2].epsilon == F("0.04")
        assert [b.times for b in twice] == [1, 6, 60]
        two = epsilon_bound(twice, MILLIONTH)
        rho = 4 * Certificate(self.repeats, F(1), MILLIONTH).rho
        assert 2 * epsilon_bound(self.repeats, MILLIONTH) < two < epsilon_of_rho(rho, MILLIONTH)[0]
        with pytest.raises(ParameterError, match="has no certificate"):
            grouped((Repeat((ExternalSpend(F(1), F(0), "x"),)),), 2)


class TestCertificate:
    repeats = TestMixedLists.repeats

    def test_is_given_from_the_bound_on(self):
        least = epsilon_bound(self.repeats, MILLIONTH)
        certificate = certify(self.repeats, least, MILLIONTH)
        assert certificate.loss == PrivacyLoss(least, certificate.rho, MILLIONTH)
        assert certificate.method == METHOD
        with pytest.raises(ParameterError, match="less than the list of releases"):
            certify(self.repeats, least * F(999, 1000), MILLIONTH)
        for epsilon, delta in ((F(0), MILLIONTH), (F(1), F(0)), (F(1), F(1))):
            assert not Certificate(self.repeats, epsilon, delta).holds

    def test_the_conversion_of_rho_will_do_too(self):
        # So little noise that the normal law is no guide.
        repeats = (Repeat((gaussian(F(1, 2)),)),)
        assert delta_bound(repeats, F(20), MILLIONTH) == 1.0
        rho = Certificate(repeats, F(1), MILLIONTH).rho
        certificate = certify(repeats, epsilon_of_rho(rho, MILLIONTH)[0], MILLIONTH)
        assert certificate.holds and "converted by" in certificate.method

    def test_lists_its_releases_in_order(self):
        certificate = certify(self.repeats, F(2), MILLIONTH)
        listed = [*certificate.releases()]
        expected = [e for r in self.repeats for e in itertools.chain(*[r.events] * r.times)]
        assert listed == expected and len(listed) == 1 + 6 + 120
        assert certificate.rho == sum(event.loss.rho for event in listed)

    def test_the_method_has_a_name(self):
        assert "Balle and Wang" in METHOD and "Dong, Durfee, Rogers" in METHOD


@pytest.mark.parametrize("epsilon", [F(9, 10), F(5), F(50)])
def test_a_delta_below_the_doubles_is_not_nothing(epsilon):
    """At epsilon = 5 the sum of a curve's terms is 0.0 in doubles, and 1e-545 in truth."""
    repeats = (Repeat((gaussian(100),)),)
    assert delta_bound(repeats, epsilon, F(1, 10**900)) >= 1e-300
    certificate = Certificate(repeats, epsilon, F(1, 10**900))
    assert certificate.method != METHOD


def test_a_release_with_a_delta_of_its_own_has_no_certificate():
    """Its delta would come on top, whichever way the list is composed."""

    class Slack(ExternalSpend):
        @property
        def loss(self) -> PrivacyLoss:
            return PrivacyLoss(F(0), F(1, 1000), self.delta)

    without, with_delta = (Repeat((Slack(F(0), delta, "slack"),)) for delta in (F(0), F(1, 10**7)))
    assert Certificate((without,), F(1), F(1, 10**6)).holds
    assert not Certificate((without, with_delta), F(1), F(1, 10**6)).holds


class TestRangeOfDoubles:
    """A selection's epsilon may be tiny or huge: the bound is no less than the truth."""

    DIGITS = Context(prec=800)

    def exact(self, epsilon, threshold):
        """Largest delta at a threshold of one bounded-range selection.

        With u = e^-t, c = e^-epsilon and k = e^threshold it is the largest
        (u - c) / (1 - c) (1 / u - k), which lies at u = sqrt(c / k).
        """
        wide = self.DIGITS
        e, x = (
            wide.divide(Decimal(v.numerator), Decimal(v.denominator)) for v in (epsilon, threshold)
        )
        c, k = wide.exp(-e), wide.exp(x)
        u = wide.sqrt(wide.divide(c, k))
        share = wide.divide(wide.subtract(u, c), wide.subtract(Decimal(1), c))
        return F(wide.multiply(share, wide.subtract(wide.divide(Decimal(1), u), k)))

    @pytest.mark.parametrize("power", [1, 3, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 17, 30, 150, 330])
    @pytest.mark.parametrize("digit", [1, 3])
    def test_no_tiny_selection_is_understated(self, power, digit):
        epsilon = F(digit, 10**power)
        repeat = (Repeat((ExponentialSelection(epsilon, F(1)),)),)
        for part in (1, 5, 16, 31, 47, 60):
            threshold = epsilon * part / 64
            bound = delta_bound(repeat, threshold, F(1, 10**12))
            assert self.exact(epsilon, threshold) <= F(bound) <= 1

    @pytest.mark.parametrize("power", [2, 4, 6, 7])
    def test_what_is_not_tiny_is_not_overstated(self, power):
        epsilon = F(1, 10**power)
        bound = delta_bound(
            (Repeat((ExponentialSelection(epsilon, F(1)),)),), epsilon / 2, MILLIONTH
        )
        assert F(bound) < self.exact(epsilon, epsilon / 2) * F(102, 100)

    def test_a_tiny_selection_counts_as_the_least_one(self):
        least, tiny = (
            delta_bound((Repeat((ExponentialSelection(F(1, 10**n), F(1)),), 3),), F(0), MILLIONTH)
            for n in (9, 40)
        )
        assert 0 < tiny == least < 1e-7

    @pytest.mark.parametrize("epsilon", [50, 300, 700, 720, 1000, 10**5, 10**300])
    @pytest.mark.parametrize("times", [1, 5, 40])
    def test_huge_selections_give_no_warning_of_others(self, epsilon, times):
        repeat = (Repeat((ExponentialSelection(F(epsilon), F(1)),), times),)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for threshold in (F(1), F(epsilon * times * 9, 10), F(epsilon * times + 1)):
                bound = delta_bound(repeat, threshold, F(1, 10**12))
                assert 0 <= bound <= 1
                if epsilon > 600:
                    assert bound == 1.0
                elif times == 1 and threshold < epsilon:
                    assert self.exact(F(epsilon), threshold) <= F(bound)

    def test_factors_that_no_double_holds_are_not_worked_out(self, monkeypatch):
        monkeypatch.setattr(certificates, "selections_curve", None)
        repeat = (Repeat((ExponentialSelection(F(720), F(1)),)),)
        assert delta_bound(repeat, F(1), MILLIONTH) == 1.0
