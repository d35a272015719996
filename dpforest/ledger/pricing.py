"""Prices of fits: what a data set is charged for a plan, and the digest by which it is named.

**A fit** is charged what its list of releases adds up to. In rho that is the list's own rho, which
needs no delta, also where the list's guarantee is a certificate's (epsilon, delta): beside other
fits a certificate says nothing (:mod:`dpforest.accounting.certified`). A fit whose spending
depends on a released value is charged the most that it may come to: the larger rho of its caps.
In pure epsilon it is charged its epsilon, and a fit with a delta is refused.

**Claim.** Fits that are chosen one after the other, by whatever was released before, are together
rho-zCDP for the sum of what they were charged, while that sum stays below a cap that was fixed
beforehand (Whitehouse, Ramdas, Rogers, Wu 2023), and so in pure epsilon. What the *cap* converts
to holds for all of them; what was charged so far is no cap, and is not converted.

**A campaign** is several plans that were announced together, each of them fixed. It is charged
what its fits add up to, or, where that does not fit and nothing was ever charged to the data set,
it stands alone by a certificate of all its releases (:func:`campaign_epsilon`).

Held by tests/ledger/test_pricing.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Protocol

from dpforest.accounting.certificate_record import EventRecord
from dpforest.accounting.certificates import (
    MOST_WORK,
    Repeat,
    delta_bound,
    epsilon_bound,
    grouped,
)
from dpforest.accounting.events import Event, ExponentialSelection, read_event
from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.accounting.losses import NO_LOSS, Amount, PrivacyLoss
from dpforest.accounting.rationals import exact_text, parse_amount
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round
from dpforest.domain.domain import Domain
from dpforest.exceptions import ParameterError
from dpforest.ledger.amounts import to_units
from dpforest.ledger.facts import domain_digest
from dpforest.ledger.plan_files import MOST_PARTS, Charge, Part, Repeated
from dpforest.ledger.words import checked_blocks, checked_purpose
from dpforest.report.digests import canonical_bytes, digest_of

Currency = Literal["rho", "epsilon"]

#: Work in which a campaign is composed (``certificates.MOST_WORK``): some seconds, once.
MOST_CAMPAIGN_WORK = 8 * MOST_WORK

#: Steps of one in which listed releases are added up, fine beside the units of a ledger.
_FINE = 2**256

#: Parameters that decide nothing of what is released, and those that stand in a plan exactly.
_NOT_PLANNED = frozenset({"n_jobs", "verbose", "epsilon", "delta", "max_records_per_unit"})


class Planned(Protocol):
    """A plan of a fit, as far as its price goes; ``FitPlan`` says what its parts are."""

    @property
    def strategy(self) -> str: ...
    @property
    def plan(self) -> Plan[Any] | None: ...
    @property
    def count(self) -> Event | None: ...
    @property
    def target_range(self) -> Event | None: ...
    @property
    def loss(self) -> PrivacyLoss: ...
    @property
    def additive(self) -> PrivacyLoss: ...
    @property
    def adaptive(self) -> bool: ...
    @property
    def caps(self) -> tuple[PrivacyLoss, ...]: ...


@dataclass(frozen=True, slots=True)
class FitPrice:
    """Price of one fit.

    Attributes
    ----------
    plan : str
        Digest of the plan, by which a campaign or an approval names it.
    domain : str
        Fingerprint of the domain that it was planned for.
    records_per_unit : int
        Most records of a unit.
    epsilon, delta : Fraction
        What the fit promises by itself, of a unit.
    loss : PrivacyLoss
        What it counts as beside other fits, of a unit: no delta.
    releases : tuple of Repeat
        Every release in order; empty where a released value decides about the list.
    composable : bool
        Whether these are the whole fit, and may be composed with those of others.
    waits : bool
        Whether the plan follows from a released value.
    """

    plan: str
    domain: str
    records_per_unit: int
    epsilon: Fraction
    delta: Fraction
    loss: PrivacyLoss
    releases: tuple[Repeat, ...]
    composable: bool
    waits: bool

    def amount(self, currency: Currency) -> Fraction:
        """The charge to a data set, exactly.

        Raises
        ------
        ParameterError
            In pure epsilon for a fit with a delta; in either where there is no finite amount.
        """
        if currency == "epsilon" and self.delta:
            raise ParameterError(
                "delta", exact_text(self.delta),
                "the data set is kept in pure epsilon, where nothing with a delta fits",
                "Use delta=0, or register a data set with currency='rho' before anything is fitted",
            )  # fmt: skip
        amount = self.loss.rho if currency == "rho" else self.loss.epsilon
        if amount == math.inf or self.loss.delta:
            raise ParameterError(
                "epsilon", exact_text(self.epsilon),
                f"the plan has no finite {currency}, so no data set can be charged for it",
                "Ask for less epsilon, or for another strategy",
            )  # fmt: skip
        return Fraction(amount)


def price_of(plan: Planned, budget: LearnerBudget, fit: dict[str, Any], domain: Domain) -> FitPrice:
    """The price of a plan.

    Parameters
    ----------
    plan : FitPlan
    budget : LearnerBudget
        What the whole fit may cost, of which the plan's own is a part.
    fit : dict
        Estimator and settings, as JSON can hold them.
    domain : Domain
    """
    fingerprint = domain_digest(domain)
    listed = None if plan.adaptive or plan.plan is None else _listed(plan, plan.plan)
    return FitPrice(
        plan=digest_of(_named(plan, budget, fit, fingerprint)),
        domain=fingerprint,
        records_per_unit=budget.records_per_unit,
        epsilon=budget.unit_epsilon,
        delta=budget.delta,
        loss=_beside_others(plan),
        releases=listed or (),
        composable=listed is not None,
        waits=plan.adaptive or plan.plan is None,
    )


def _beside_others(plan: Planned) -> PrivacyLoss:
    """Loss that a fit counts as: of alternative caps, the larger in each currency."""
    if plan.caps:
        worst = NO_LOSS
        for cap in plan.caps:
            worst = worst.maximum(cap)
        return worst
    return plan.loss if plan.adaptive else plan.additive


def _listed(plan: Planned, own: Plan[Any]) -> tuple[Repeat, ...] | None:
    """Every release of a fit in order; None where records of a tree are on either of two sides."""
    if any(one.partition is not None for one in own.rounds):
        return None
    bought = (Repeat((event,)) for event in (plan.count, plan.target_range) if event is not None)
    return *bought, *(Repeat(_events(one), one.times) for one in own.rounds if _events(one))


def _events(one: Round) -> tuple[Event, ...]:
    return tuple(release.event for release in one.releases)


# -- the digest of a plan -------------------------------------------------------------------------


def _named(
    plan: Planned, budget: LearnerBudget, fit: dict[str, Any], fingerprint: str
) -> dict[str, Any]:
    """Everything that makes a plan the one that it is: a change of any of it is another plan."""
    settings = {k: v for k, v in fit["settings"].items() if k not in _NOT_PLANNED}
    bought = [event for event in (plan.count, plan.target_range) if event is not None]
    return {
        "format": "dpforest-plan",
        "version": 1,
        "estimator": fit["estimator"],
        "settings": settings,
        "domain": fingerprint,
        "epsilon": exact_text(budget.unit_epsilon),
        "delta": exact_text(budget.delta),
        "records_per_unit": budget.records_per_unit,
        "strategy": plan.strategy,
        "charge": _amounts(_beside_others(plan)),
        "caps": [_amounts(cap) for cap in plan.caps],
        "bought": [_event(event) for event in bought],
        "rounds": [_round(one) for one in (plan.plan.rounds if plan.plan is not None else ())],
    }


def _amounts(loss: PrivacyLoss) -> list[str]:
    return [exact_text(amount) for amount in (loss.epsilon, loss.rho, loss.delta)]


def _event(event: Event) -> dict[str, Any]:
    return EventRecord.of(event).model_dump()


def _round(one: Round) -> dict[str, Any]:
    return {
        "owner": one.owner,
        "times": one.times,
        "label": one.label,
        "partition": None if one.partition is None else exact_text(one.partition),
        "steps": [[_release(release) for release in step.releases] for step in one.steps],
    }


def _release(release: Release) -> dict[str, Any]:
    place = {"role": release.role, "cells": release.cells, "level": release.level}
    return place | _event(release.event)


# -- charges --------------------------------------------------------------------------------------


def charge_of(
    prices: Sequence[FitPrice],
    currency: Currency,
    purpose: str = "",
    blocks: Sequence[str] = (),
    alone: tuple[Fraction, Fraction] | None = None,
) -> Charge:
    """The charge of one fit or a campaign, as a data set is asked for it.

    Parameters
    ----------
    prices : sequence of FitPrice
        Of the fits, for one domain and units of one size.
    currency : {"rho", "epsilon"}
    purpose : str
    blocks : sequence of str
    alone : (Fraction, Fraction), optional
        Epsilon and delta of the certificate that the whole stands by, beside which nothing else is
        ever charged.

    Raises
    ------
    ParameterError
        If a fit has no price in this currency, or what is said of it cannot stand in a ledger.
    """
    if len(prices) > MOST_PARTS:
        raise ParameterError(
            "forests", len(prices), f"are more than the {MOST_PARTS} fits of one reserve",
            "Announce several campaigns, or fit them one by one",
        )  # fmt: skip
    amounts = [price.amount(currency) for price in prices]
    parts = tuple(
        Part(plan=price.plan, units=to_units(amount, currency))
        for price, amount in zip(prices, amounts, strict=True)
    )
    epsilon, rho, delta = _for_people(prices, alone)
    return Charge(
        domain=prices[0].domain,
        records_per_unit=prices[0].records_per_unit,
        parts=parts,
        units=sum(part.units for part in parts),
        epsilon=exact_text(epsilon),
        rho=exact_text(rho),
        delta=exact_text(delta),
        blocks=checked_blocks(blocks),
        alone=alone is not None,
        purpose=checked_purpose(purpose),
        releases=tuple(one for price in prices for one in repeated(price)),
    )


def _for_people(
    prices: Sequence[FitPrice], alone: tuple[Fraction, Fraction] | None
) -> tuple[Amount, Amount, Fraction]:
    """Epsilon, rho and delta of all fits: pure where they are, else one fit's own promise."""
    loss = sum((price.loss for price in prices), NO_LOSS)
    if alone is not None:
        return alone[0], loss.rho, alone[1]
    if len(prices) == 1 and prices[0].delta:
        return prices[0].epsilon, loss.rho, prices[0].delta
    return loss.epsilon, loss.rho, Fraction(0)


def repeated(price: FitPrice) -> tuple[Repeated, ...]:
    """The list of a fit as a charge holds it."""
    return tuple(
        Repeated(releases=tuple(map(EventRecord.of, repeat.events)), times=repeat.times)
        for repeat in price.releases
    )


# -- several fits ---------------------------------------------------------------------------------


def campaign_epsilon(prices: Sequence[FitPrice], delta: Fraction) -> Amount:
    """The epsilon at which all releases of several fixed plans are (epsilon, delta)-DP together.

    Parameters
    ----------
    prices : sequence of FitPrice
        For units of the same size.
    delta : Fraction

    Returns
    -------
    Fraction or math.inf
        Of a unit; infinite where no certificate speaks for the whole list.

    Notes
    -----
    The fits may run in any order, side by side too, and the order may follow from what was
    released: see :func:`levelled`.
    """
    if not delta or not all(price.composable for price in prices):
        return math.inf
    repeats = tuple(levelled([one for price in prices for one in price.releases]))
    return epsilon_bound(grouped(repeats, prices[0].records_per_unit), delta, MOST_CAMPAIGN_WORK)


def stands_alone(charge: Charge) -> bool:
    """Say if the certificate that a charge stands by follows from its own list of releases.

    That may take seconds, so the answers to the last few are kept: a ledger asks before it holds
    its store's lock, and once more under it.
    """
    return _certified(charge.model_dump_json(include=_CERTIFIED), charge.records_per_unit)


#: Parts of a charge that its certificate follows from, beside the number of records of a unit.
_CERTIFIED = {"releases", "epsilon", "delta"}


class _Listed(Frozen):
    """A list of releases, and the certificate that it is said to have."""

    epsilon: ExactText
    delta: ExactText
    releases: tuple[Repeated, ...]


@lru_cache(maxsize=8)
def _certified(text: str, records_per_unit: int) -> bool:
    said = _Listed.model_validate_json(text)
    repeats = tuple(_read_repeat(one) for one in said.releases)
    listed = tuple(repeat for repeat in repeats if repeat is not None)
    if not listed or len(listed) < len(repeats):
        return False
    unit = grouped(tuple(levelled(listed)), records_per_unit)
    epsilon, delta = parse_amount(said.epsilon), parse_amount(said.delta)
    if isinstance(epsilon, float) or isinstance(delta, float) or not 0 < delta < 1:
        return False
    return delta_bound(unit, epsilon, delta, MOST_CAMPAIGN_WORK) <= delta


def listed_amount(charge: Charge, currency: Currency) -> Amount:
    """Sum of the releases that a charge lists, of a unit: no price is below it.

    Each is rounded down, so that whoever writes a plan file cannot make the sum a long one.
    A fit whose plan waits for a released value, or whose records are on sides, lists nothing.
    """
    scale = charge.records_per_unit ** (2 if currency == "rho" else 1) * _FINE
    known = (repeat for repeat in map(_read_repeat, charge.releases) if repeat is not None)
    # What is there no times costs nothing, also where one time would cost without end.
    events = [(event, repeat.times) for repeat in known if repeat.times for event in repeat.events]
    steps = 0
    for event, times in events:
        amount = event.loss.rho if currency == "rho" else event.loss.epsilon
        if isinstance(amount, float):
            return math.inf
        steps += math.floor(amount * times * scale)
    return Fraction(steps, _FINE)


def lines_of(releases: Iterable[Repeated]) -> Counter[bytes]:
    """Lines of a list, and how often each stands there: their order says nothing."""
    # A store gives parameters back in the order of their names.
    return Counter(canonical_bytes(one.model_dump(mode="json")) for one in releases)


def _read_repeat(one: Repeated) -> Repeat | None:
    """Releases of a charge; None where one is of no kind that is known here."""
    try:
        events = [read_event(event.mechanism, event.parameters) for event in one.releases]
    except (ValueError, ZeroDivisionError):
        return None
    known = tuple(event for event in events if event is not None)
    return Repeat(known, one.times) if len(known) == len(events) else None


def levelled(repeats: Iterable[Repeat]) -> Iterator[Repeat]:
    """The same releases, with every exponential mechanism at the largest epsilon of all of them.

    A certificate works selections through in their order, and a campaign has none: which fit comes
    next may be chosen by what was released. Any selection is also one of a larger epsilon
    (``loss_curves``: the factors that it may have lie among that one's), and selections of one
    epsilon have no order. All other releases have one law of factors that dominates them, and
    those are put first wherever they stand. So the certificate of this list holds in any order.
    """
    repeats = [repeat for repeat in repeats if repeat.events]
    selections = [e for one in repeats for e in one.events if isinstance(e, ExponentialSelection)]
    largest = max((event.epsilon for event in selections), default=Fraction(0))

    def level(event: Event) -> Event:
        selects = isinstance(event, ExponentialSelection) and event.epsilon > 0
        return replace(event, epsilon=largest) if selects else event  # type: ignore[call-arg]

    for repeat in repeats:
        yield Repeat(tuple(map(level, repeat.events)), repeat.times)
