"""A plan as one list of releases, and all that follows from the list once for every learner.

What training asks for, what that costs, what a certificate composes and what people read come from
the same list, so they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, TypeVar

from dpforest.accounting.certificates import Certificate, Repeat
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.events import DiscreteGaussianNoise, Event
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.mixtures import mixed
from dpforest.accounting.rationals import shortened_down
from dpforest.accounting.requests import Request

Shape = TypeVar("Shape")

#: Owner of what learners share: a bought number of records, a range of targets.
SHARED = "forest"
#: Significant bits of a release's rho: noise is more than asked by at most 2**-40 of itself.
_RHO_BITS = 40


class PlanError(AssertionError):
    """A plan that is none, or that is not kept to: a fault of the learner, never of the data."""


@dataclass(frozen=True, slots=True)
class LearnerBudget:
    """Budget of a learner under add/remove: pure epsilon, or (epsilon, delta) by its rho.

    Attributes
    ----------
    epsilon : Fraction
        For one record, as is every amount here: a unit of k records pays k times as much.
    delta : Fraction
        With k times epsilon.
    concentrated : Fraction or None
        The rho, where it is less than what converts to (epsilon, delta).
    certified : bool
        Whether a plan whose releases are fixed beforehand may be composed as a whole, to
        (epsilon, delta), rather than in rho. Nothing else may then be spent with that delta.
    records_per_unit : int
        k: epsilon is divided by k, rho by k squared.
    """

    epsilon: Fraction
    delta: Fraction
    concentrated: Fraction | None = None
    certified: bool = False
    records_per_unit: int = 1

    @classmethod
    def of_unit(
        cls, epsilon: Fraction, delta: Fraction, records_per_unit: int, certified: bool = False
    ) -> LearnerBudget:
        """Budget for a record where a unit that owns so many may cost (epsilon, delta)."""
        own = epsilon / records_per_unit
        return cls(own, delta, certified=certified, records_per_unit=records_per_unit)

    @property
    def unit_epsilon(self) -> Fraction:
        """Budget for a unit."""
        return self.epsilon * self.records_per_unit

    @property
    def is_pure(self) -> bool:
        """True where nothing but pure epsilon may be spent."""
        return not self.delta

    @property
    def total(self) -> Fraction:
        """Budget in the currency that a plan divides: epsilon where it is pure, else rho."""
        return self.epsilon if self.is_pure else self.rho

    @property
    def rho(self) -> Fraction:
        """Budget in zero-concentrated differential privacy; 0 where delta is 0."""
        if self.concentrated is not None:
            return self.concentrated
        return rho_of_epsilon(self.unit_epsilon, self.delta) / self.records_per_unit**2

    def signal(self, approximate_rows: float) -> float:
        """R = n / sigma_1: rows over the noise of one class histogram on the whole budget.

        sigma_1 is sqrt(2) / epsilon in pure epsilon-DP and 1 / sqrt(2 rho) otherwise.
        """
        if self.delta:
            return approximate_rows * float(2 * self.rho) ** 0.5
        return approximate_rows * float(self.epsilon) / 2**0.5


@dataclass(frozen=True, slots=True)
class Release:
    """One request.

    Attributes
    ----------
    role : str
        What for, in the ledger's words.
    event : Event
    cells : int
        On how many disjoint cells of a public partition.
    level : int or None
        Of the tree, for the ledger.
    says : str
        What people read of all releases of that role.
    """

    role: str
    event: Event
    cells: int = 1
    level: int | None = None
    says: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Releases that one question pays for: one pass over the records.

    A step without releases counts something that later steps need; nothing of it is released.

    Attributes
    ----------
    releases : tuple of Release
    roles : tuple of str
        Theirs, in order.
    requests : tuple of Request
        Theirs, in order.
    """

    releases: tuple[Release, ...]
    # Made once: a hundred trees ask for the same steps.
    roles: tuple[str, ...] = field(init=False, repr=False, compare=False)
    requests: tuple[Request, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        requests = [Request(r.event, r.role, r.cells, r.level) for r in self.releases]
        object.__setattr__(self, "roles", tuple([release.role for release in self.releases]))
        object.__setattr__(self, "requests", tuple(requests))


@dataclass(frozen=True, slots=True)
class Round:
    """Steps in order, so many times.

    Attributes
    ----------
    owner : str
        Whose they are: a learner's name, or ``"forest"`` for what learners share.
    steps : tuple of Step
    times : int
    label : str
        ``"tree"``: each time in a scope of its own, in threads or in lockstep. Empty: one time
        after the other.
    partition : Fraction or None
        Probability with which a record serves for all steps but the last; the others serve for
        the last one. None: all records serve for all steps.
    """

    owner: str
    steps: tuple[Step, ...]
    times: int = 1
    label: str = ""
    partition: Fraction | None = None

    def __post_init__(self) -> None:
        if type(self.times) is not int or self.times < 0:
            raise PlanError(f"a round is made a whole number of times, not {self.times!r}")
        if self.partition is None:
            return
        if not self.label or not 0 < self.partition < 1:
            raise PlanError("sides are of a round with a label, and each record is on either")

    @property
    def releases(self) -> tuple[Release, ...]:
        """Releases of one time, in order."""
        return tuple(release for step in self.steps for release in step.releases)


def once(owner: str, *releases: Release) -> Round:
    """A round of one step."""
    return Round(owner, (Step(releases),))


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One line of a plan for people: what is released, and what that costs a record."""

    name: str
    says: str
    loss: PrivacyLoss


@dataclass(frozen=True, slots=True)
class Plan(Generic[Shape]):
    """Everything a learner will ask for, and what it needs to ask.

    Attributes
    ----------
    rounds : tuple of Round
        In the order of training.
    shape : object
        Frozen sizes and settings of the learner.
    words : mapping of str to str
        What ``describe`` says beyond the list.
    certificate : Certificate or None
        Of the whole list, where it does not add up in epsilon or rho.
    """

    rounds: tuple[Round, ...]
    shape: Shape
    words: Mapping[str, str] = field(default_factory=dict)
    certificate: Certificate | None = None

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole: a certificate's of a unit, else the sum for a record."""
        return self.certificate.loss if self.certificate is not None else loss_of(self.rounds)

    @property
    def repeats(self) -> tuple[Repeat, ...]:
        """Every release in the order of training, as certificates take them."""
        return repeats(self.rounds)

    @property
    def parts(self) -> tuple[PlanLine, ...]:
        """Releases, role by role."""
        return lines(self)

    @property
    def n_steps(self) -> int:
        """Number of steps that a training makes."""
        return n_steps(self.rounds)

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        words = dict(self.words)
        if self.certificate is not None:
            words["composed by"] = str(self.certificate.method)
        return words

    def with_variances(self, factor: Fraction) -> Plan[Shape]:
        """The same plan with the variances of all Gaussian noise times a factor."""
        return replace(self, rounds=scaled(self.rounds, factor))

    def with_certificate(self, certificate: Certificate) -> Plan[Shape]:
        """The same plan under a certificate of its releases."""
        return replace(self, certificate=certificate)


def loss_of(rounds: tuple[Round, ...], adaptive: bool = False) -> PrivacyLoss:
    """Sum of the releases of a list for one record, as the accountant's scopes compose it.

    Parameters
    ----------
    rounds : tuple of Round
    adaptive : bool
        Whether parameters may depend on what was released: then no rho of records' sides rests on
        their pure epsilon.
    """
    return sum((_loss_of_one(r, adaptive) * r.times for r in rounds), NO_LOSS)


def _loss_of_one(one: Round, adaptive: bool) -> PrivacyLoss:
    """A round's loss, once through it."""
    if one.partition is None:
        return _added_up(one.steps)
    sides = [_added_up(one.steps[:-1]), _added_up(one.steps[-1:])]
    return mixed((one.partition, 1 - one.partition), sides, adaptive)


def _added_up(steps: tuple[Step, ...]) -> PrivacyLoss:
    return sum((r.event.loss for step in steps for r in step.releases), NO_LOSS)


def repeats(rounds: tuple[Round, ...]) -> tuple[Repeat, ...]:
    """A list as certificates take it: events in order, so many times over.

    Raises
    ------
    AssertionError
        For rounds in scopes of their own, which no certificate speaks of.
    """
    if any(one.label or one.partition is not None for one in rounds):
        raise AssertionError("rounds in scopes of their own are not composed as one list")
    return tuple(Repeat(tuple(r.event for r in one.releases), one.times) for one in rounds)


def scaled(rounds: tuple[Round, ...], factor: Fraction) -> tuple[Round, ...]:
    """The same list with the variances of all Gaussian noise times a factor, rounded up."""

    def release(one: Release) -> Release:
        if not isinstance(one.event, DiscreteGaussianNoise):
            return one
        return replace(one, event=scaled_noise(one.event, factor))

    def step(one: Step) -> Step:
        return Step(tuple(map(release, one.releases)))

    return tuple(replace(one, steps=tuple(map(step, one.steps))) for one in rounds)


def scaled_noise(event: DiscreteGaussianNoise, factor: Fraction) -> DiscreteGaussianNoise:
    """Noise with its variance times a factor, rounded up; see :func:`priced_noise`."""
    sensitivity = event.l2_sensitivity_squared
    return priced_noise(sensitivity, sensitivity / (2 * event.sigma_squared * factor))


def priced_noise(l2_sensitivity_squared: Fraction, rho: Fraction) -> DiscreteGaussianNoise:
    """Discrete Gaussian noise that costs at most ``rho``, a dyadic amount.

    Parameters
    ----------
    l2_sensitivity_squared, rho : Fraction
        Positive.

    Returns
    -------
    DiscreteGaussianNoise
        Its rho is ``rho`` rounded down to 40 significant bits, and its variance follows from that:
        at least what was asked for, and at most 2**-40 of it more.

    Notes
    -----
    Were the variance the rounded one, every plan's rho would have a denominator of its own, and
    books that hundreds of fits share would hold sums of thousands of digits. Dyadic amounts add up
    to one whose denominator is the finest one's. Held by tests/trees/test_short_sums.py.
    """
    dyadic = shortened_down(rho, _RHO_BITS)
    return DiscreteGaussianNoise(l2_sensitivity_squared / (2 * dyadic), l2_sensitivity_squared)


def n_steps(rounds: tuple[Round, ...]) -> int:
    """Number of steps in all."""
    return sum(one.times * len(one.steps) for one in rounds)


def n_passes(rounds: tuple[Round, ...], together: Callable[[Round], int] = lambda _: 1) -> int:
    """Number of times that records are gone through; ``together``: labelled rounds at once."""
    return sum(
        -(-one.times // (together(one) if one.label else 1)) * len(one.steps) for one in rounds
    )


def lines(plan: Plan[Shape]) -> tuple[PlanLine, ...]:
    """Lines for people: one a role, in order, with what all its releases cost a record.

    Releases of a round with a partition cost less than their sum; each is shown at its own price.
    """
    found: dict[tuple[str, str], PlanLine] = {}
    for one in plan.rounds:
        for release in one.releases:
            key, cost = (one.owner, release.role), release.event.loss * one.times
            known = found.get(key, PlanLine(release.role, "", NO_LOSS))
            found[key] = PlanLine(release.role, known.says or release.says, known.loss + cost)
    return tuple(found.values())
