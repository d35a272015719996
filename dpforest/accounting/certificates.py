"""Certificates: (epsilon, delta) of a list of releases that is fixed beforehand, composed tightly.

Adding up rho gives away about 7 % of the noise of Gaussian releases at the usual (epsilon, delta).
Where every parameter is known before the first release, the whole list can be composed by its
privacy loss instead (``loss_curves``). That is a statement about the list: so a certificate names
it, release by release, and a certified scope (``certified``) grants that list and nothing else.

**Discrete Gaussian noise** is dominated by the normal law with a slightly smaller variance. Take
X ~ N(m, sigma^2 - tau^2) for an integer m, then the integer K drawn with probability proportional
to exp(-(K - X)^2 / 2 tau^2). By Poisson summation the sum that normalises this lies within
1 -+ h of sqrt(2 pi) tau for every X, with h = 2 sum_k exp(-2 pi^2 tau^2 k^2); so K has the law of
the discrete Gaussian around m with variance sigma^2, up to factors whose logarithm is at most
s = ln((1 + h) / (1 - h)). K is made from X without looking at the records, so a discrete Gaussian
release that moves by a vector v of integers is, up to e^(-+s) for each entry that moves, made from
a normal one that moves by v. At most |v|^2 entries move, since each moves by at least 1. Shifts
compose: mu^2 = sum of Delta^2 / (sigma^2 - tau^2). With S the sum of all s,
P(E) - e^eps Q(E) <= e^S (P'(E) - e^(eps - 2 S) Q'(E)) for the normal laws P', Q'.

Held by tests/accounting/test_certificates.py: against exact sums for the discrete Gaussian, against
``dp_accounting``, against the closed form of Balle and Wang, and against brute force.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Literal

import numpy as np

from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.loss_curves import curve_range, curve_work, selections_curve
from dpforest.accounting.losses import ZERO, Amount, PrivacyLoss
from dpforest.accounting.rationals import TooManyDigitsError, added_up, float_down, float_up
from dpforest.exceptions import ParameterError

METHOD = (
    "privacy loss of the whole fixed list of releases: normal shifts by Balle and Wang 2018, "
    "bounded range (Dong, Durfee, Rogers 2020) by backward recursion"
)

#: S over epsilon: what closeness to the normal law may cost. tau follows from it.
_CLOSENESS = Fraction(1, 10**6)
_LEAST_EPSILON = Fraction(1, 10**3)
#: Rounding of doubles: relative to the result, and to the terms it is a difference of. Each is many
#: times what some hundred steps with errors below 1e-11 come to.
_RELATIVE_SLACK = 1e-7
_TERM_SLACK = 1e-11
#: What is lost where doubles end: some thousand terms below 1e-307 count as nothing.
_BELOW = 1e-300
#: Below this the 1 - e^-epsilon of a selection has too few digits for the slack above.
_LEAST_SELECTION = 1e-8
#: Largest logarithm of a factor on a grid: its exponential, times a little, is a double.
_WIDEST = 600.0
#: Distinct atoms of pure releases are multiplied out, so there may not be many.
_MOST_PURE_ATOMS = 4096
#: Work (``loss_curves.curve_work``) beyond which a list is not composed by its loss: about a
#: second. Boosted forests of some 10,000,000 records come near; longer plans add up in rho.
MOST_WORK = 2**24

_PURE = (
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)


@dataclass(frozen=True, slots=True)
class Repeat:
    """A few releases in order, so many times over."""

    events: tuple[Event, ...]
    times: int = 1

    @property
    def n_releases(self) -> int:
        """Releases in all."""
        return len(self.events) * self.times


@dataclass(frozen=True, slots=True)
class Certificate:
    """Claim that a list of releases, fixed beforehand, is (epsilon, delta)-DP under add/remove.

    Made by :func:`certify`; one made by hand is checked by whoever opens a scope under it.

    Attributes
    ----------
    repeats : tuple of Repeat
        The list, in order.
    epsilon, delta : Fraction
    records_per_unit : int
        How many records are added or removed together.
    """

    repeats: tuple[Repeat, ...]
    epsilon: Fraction
    delta: Fraction
    records_per_unit: int = 1

    @property
    def n_releases(self) -> int:
        """Length of the list."""
        return sum(repeat.n_releases for repeat in self.repeats)

    @property
    def unit_repeats(self) -> tuple[Repeat, ...]:
        """The list as it looks to a unit."""
        return grouped(self.repeats, self.records_per_unit)

    @property
    def rho(self) -> Amount:
        """Zero-concentrated loss of the whole list, by addition."""
        return _summed(self.repeats, "rho") * self.records_per_unit**2

    @property
    def work(self) -> float:
        """Time that it takes to work the list out again, told beforehand; see ``curve_work``."""
        return _work(self.unit_repeats, self.epsilon, self.delta)

    @property
    def loss(self) -> PrivacyLoss:
        """Cost of the list: (epsilon, delta), and its rho."""
        return PrivacyLoss(self.epsilon, self.rho, self.delta)

    @property
    def additive(self) -> PrivacyLoss:
        """Cost of the list where it adds up with other spending: no delta, and the same rho.

        Its epsilon is that of its releases added up, which is infinite beside Gaussian noise.
        """
        return PrivacyLoss(_summed(self.repeats, "epsilon") * self.records_per_unit, self.rho)

    @property
    def method(self) -> str | None:
        """Way in which the list is shown to be (epsilon, delta)-DP, worked out again; or None."""
        if not 0 < self.delta < 1 or self.epsilon <= 0 or self.records_per_unit < 1:
            return None
        if any(event.loss.delta for repeat in self.repeats for event in repeat.events):
            return None  # it would add to the delta here, and neither way below counts it
        if delta_bound(self.unit_repeats, self.epsilon, self.delta) <= self.delta:
            return METHOD
        converted, conversion = epsilon_of_rho(self.rho, self.delta)
        return f"addition in rho, converted by {conversion}" if converted <= self.epsilon else None

    @property
    def holds(self) -> bool:
        """True if the list was worked out again to be (epsilon, delta)-DP."""
        return self.method is not None

    def releases(self) -> Iterator[Event]:
        """The list, release by release."""
        for repeat in self.repeats:
            for _ in range(repeat.times):
                yield from repeat.events


def certify(
    repeats: tuple[Repeat, ...], epsilon: Fraction, delta: Fraction, records_per_unit: int = 1
) -> Certificate:
    """Certify a list of releases.

    Parameters
    ----------
    repeats : tuple of Repeat
        In the order of their release; every parameter fixed before the first.
    epsilon, delta : Fraction
    records_per_unit : int
        How many records are added or removed together.

    Raises
    ------
    ParameterError
        If the list cannot be shown to be (epsilon, delta)-DP.
    """
    certificate = Certificate(repeats, epsilon, delta, records_per_unit)
    if not certificate.holds:
        raise ParameterError(
            "epsilon", float_up(epsilon), "is less than the list of releases is known to cost",
            "Give the releases more noise, or raise epsilon or delta",
        )  # fmt: skip
    return certificate


def delta_bound(
    repeats: tuple[Repeat, ...], epsilon: Fraction, target: Fraction, most_work: float = MOST_WORK
) -> float:
    """Upper bound of the delta at which a list of releases is (epsilon, delta)-DP.

    Parameters
    ----------
    repeats : tuple of Repeat
    epsilon : Fraction
        Not negative.
    target : Fraction
        The delta that is hoped for: where the curve is followed closely.
    most_work : float
        Work beyond which nothing is said.

    Returns
    -------
    float
        1 where nothing is known: an event of another kind, or without noise; or more work than any
        plan is; or factors that doubles do not hold.
    """
    parts = _parts_of(repeats, max(epsilon, _LEAST_EPSILON) * _CLOSENESS)
    reach = _reach(target)
    if parts is None or parts.work(reach) > most_work or parts.range(reach) > _WIDEST:
        return 1.0
    # What runs out of the doubles ends as no number, which is no bound: no need of a warning.
    with np.errstate(all="ignore"):
        curve = selections_curve(parts.selections, reach)
        for pure, times in parts.pure:
            curve = curve.with_pure(pure, times)
        delta, scale = curve.with_gaussian(parts.mu, float_down(epsilon) - 2 * parts.closeness)
    bound = delta * (1 + _RELATIVE_SLACK) + scale * _TERM_SLACK
    return min(math.exp(parts.closeness) * bound + _BELOW, 1.0) if math.isfinite(bound) else 1.0


def _reach(target: Fraction) -> int:
    """Standard deviations of the loss up to which the curve is followed."""
    return 3 + math.ceil(math.sqrt(2 * -math.log(max(float_down(target), 1e-300))))


def _work(repeats: tuple[Repeat, ...], epsilon: Fraction, delta: Fraction) -> float:
    parts = _parts_of(repeats, max(epsilon, _LEAST_EPSILON) * _CLOSENESS)
    return 0.0 if parts is None else parts.work(_reach(delta))


@lru_cache(maxsize=64)
def epsilon_bound(
    repeats: tuple[Repeat, ...], delta: Fraction, most_work: float = MOST_WORK
) -> Amount:
    """The smallest epsilon, within 1e-7 relative, at which a list is shown (epsilon, delta)-DP."""
    low, high = ZERO, Fraction(1)
    while delta_bound(repeats, high, delta, most_work) > delta:
        low, high = high, high * 2
        if high > 10**6:
            return math.inf
    while high - low > high / 10**7:
        middle = (low + high) / 2
        if delta_bound(repeats, middle, delta, most_work) <= delta:
            high = middle
        else:
            low = middle
    return high


def grouped(repeats: tuple[Repeat, ...], size: int) -> tuple[Repeat, ...]:
    """The same releases as they look to ``size`` additions and removals together.

    Replacing one record is one removal and one addition: 2. Shifts, ranges of scores and pure
    losses add up along the way, release by release, so each is ``size`` times as large.
    """
    if size == 1:
        return repeats
    return tuple(
        Repeat(tuple(_grouped_event(event, size) for event in repeat.events), repeat.times)
        for repeat in repeats
    )


def _grouped_event(event: Event, size: int) -> Event:
    if isinstance(event, DiscreteGaussianNoise):
        return replace(event, l2_sensitivity_squared=event.l2_sensitivity_squared * size**2)
    if isinstance(event, (ExponentialSelection, *_PURE)):
        return replace(event, epsilon=event.epsilon * size)
    raise ParameterError("event", event.mechanism, "has no certificate", "Compose it in epsilon")


@dataclass(frozen=True, slots=True)
class _Parts:
    """A list of releases by kind, in doubles on the private side.

    Attributes
    ----------
    mu : float
        Shift of the one normal law that dominates all Gaussian releases.
    closeness : float
        S of the module's text.
    selections, pure : tuple of (float, int)
        Epsilon and number; selections in their order.
    """

    mu: float
    closeness: float
    selections: tuple[tuple[float, int], ...]
    pure: tuple[tuple[float, int], ...]

    def work(self, reach: int) -> float:
        """Steps in which the list is composed."""
        atoms = math.prod(times + 1 for _, times in self.pure)
        return curve_work(self.selections, reach, atoms)

    def range(self, reach: int) -> float:
        """Largest loss at which the selections' curve is held."""
        return curve_range(self.selections, reach)


@lru_cache(maxsize=512)
def _parts_of(repeats: tuple[Repeat, ...], closeness: Fraction) -> _Parts | None:
    """None where a release is of no known kind, or without noise."""
    counts: Counter[Event] = Counter()
    for repeat in repeats:
        for event in repeat.events:
            counts[event] += repeat.times
    kinds = (DiscreteGaussianNoise, ExponentialSelection, *_PURE)
    if not all(isinstance(event, kinds) and _is_finite(event) for event in counts):
        return None
    gaussian = _gaussian(counts, closeness)
    pure = Counter[float]()
    for event, times in counts.items():
        if isinstance(event, _PURE) and event.epsilon:
            pure[_above(event.epsilon)] += times
    if gaussian is None or math.prod(times + 1 for times in pure.values()) > _MOST_PURE_ATOMS:
        return None
    selections = tuple(
        (epsilon, sum(times for _, times in group))
        for epsilon, group in groupby(_selected(repeats), key=itemgetter(0))
    )
    return _Parts(*gaussian, selections, tuple(sorted(pure.items())))


def _is_finite(event: Event) -> bool:
    return event.loss.rho != math.inf


def _selected(repeats: tuple[Repeat, ...]) -> Iterator[tuple[float, int]]:
    """Epsilons of the selections in order, each so many times in a row.

    What has a range of epsilon has any larger one, so a tiny epsilon is counted as the least one.
    """
    for repeat in repeats:
        own = [
            (max(_above(event.epsilon), _LEAST_SELECTION), 1)
            for event in repeat.events
            if isinstance(event, ExponentialSelection) and event.epsilon
        ]
        if len(set(own)) == 1:
            yield own[0][0], len(own) * repeat.times
        else:
            yield from chain.from_iterable(itertools.repeat(own, repeat.times if own else 0))


def _gaussian(counts: Counter[Event], closeness: Fraction) -> tuple[float, float] | None:
    """mu of the normal law that dominates all Gaussian releases, and S; None if there is none."""
    noises = {e: n for e, n in counts.items() if isinstance(e, DiscreteGaussianNoise)}
    if not noises:
        return 0.0, 0.0
    share = closeness / sum(noises.values())
    shifts = []
    for event, times in noises.items():
        tau_squared = smoothing(event.l2_sensitivity_squared, share)
        if event.sigma_squared <= tau_squared:
            return None
        shifts.append(times * event.l2_sensitivity_squared / (event.sigma_squared - tau_squared))
    mu_squared = _sum_or_infinity(shifts)
    if mu_squared == math.inf:
        return None
    return _above(math.sqrt(float_up(mu_squared))), float_up(closeness)


def smoothing(l2_sensitivity_squared: Fraction, closeness: Fraction) -> Fraction:
    """A tau^2 at which all entries that move cost at most ``closeness`` together.

    h < 2.1 exp(-2 pi^2 tau^2) and s < 2.1 h for tau^2 >= 1/4, so it is enough that
    5 n exp(-19 tau^2) <= closeness for n entries; rounded up to hundredths.
    """
    entries = max(math.floor(l2_sensitivity_squared), 1)
    needed = (math.log(5 * entries) - math.log(closeness)) / 19
    return max(Fraction(math.ceil(needed * 100) + 1, 100), Fraction(1, 4))


def _above(value: Amount) -> float:
    return math.nextafter(float_up(value), math.inf)


def _summed(repeats: tuple[Repeat, ...], currency: Literal["epsilon", "rho"]) -> Amount:
    return _sum_or_infinity(
        getattr(event.loss, currency) * repeat.times
        for repeat in repeats
        for event in repeat.events
    )


def _sum_or_infinity(amounts: Iterable[Amount]) -> Amount:
    """A sum; infinite where it has more digits than books hold, which is no less."""
    try:
        return added_up(amounts)
    except TooManyDigitsError:
        return math.inf
