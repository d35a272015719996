"""A report's plan and requests, compared with those that its settings and domain lead to."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

from dpforest.accounting.conversion import LIBRARY, conversion_method
from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import parse_finite
from dpforest.domain.domain import Domain
from dpforest.estimators.charge import fit_price
from dpforest.estimators.earlier import GONE, LEFT_IN
from dpforest.exceptions import (
    ParameterError,
)
from dpforest.ledger.amounts import cap_in_units, to_units
from dpforest.ledger.pricing import FitPrice
from dpforest.report.record import LedgerPlace
from dpforest.report.report import PrivacyReport
from dpforest.report.versions import CODE, NOT_INSTALLED, UNKNOWN, library_versions
from dpforest.trees.base import MEDIAN_ROLE
from dpforest.verify.contents import differences
from dpforest.verify.replan import Remade, remade_plan

#: Roles that were renamed, as reports of this version name them that were written before.
_RENAMED = {"middle of the target": MEDIAN_ROLE}
#: Where a plan waited for a released number of records.
_COUNTED = "that the noisy count of records, from which the rest was planned, came out as it says"
#: Plans convert rho in doubles of another library, whose releases may differ by this much.
_PLAN_TOLERANCE = 1e-6

#: What is said of a plan: problems, what held, what is taken at its word.
Said = tuple[list[str], list[str], list[str]]


def plan_problems(record: PrivacyReport) -> Said:
    """Compare a report with its plan made anew: contradictions, what was shown, what was not."""
    written_by = record.versions.get("dpforest")
    today = library_versions()["dpforest"]
    gone = _strategy_that_left(record)
    if gone is not None:
        left = f"{gone!r} left the package in version {LEFT_IN}"
        if written_by == today:
            return [f"its strategy {left}, and it is said to be of version {today}"], [], []
        return [], [], [f"the plan (its strategy {left})"]
    if written_by not in (today, NOT_INSTALLED):
        return [], [], ["the plan (made by another version of dpforest)"]
    if not _planned_by_same_means(record):
        return [], [], ["the plan (its conversions are of other means)"]
    said = _compared_with_remade(record)
    if said[0] and not _made_by_this_code(record):
        # Between releases a version stays while its code changes, and what it plans with it.
        return [], [], ["the plan (made by other code of dpforest, and this makes another)"]
    return said


def _compared_with_remade(record: PrivacyReport) -> Said:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        remade = remade_plan(record)
        if remade is None:
            return [], [], ["the plan (a part of it is not dpforest's)"]
        if isinstance(remade, str):
            return [remade], [], []
        problems = list(_planned(record, remade.plan))
        if remade.settled.describe() != record.plan:
            problems.append("its plan is not the one that its settings and domain lead to")
        problems += _charged_for(record, remade)
        problems = problems or list(_requested(record, remade.requests(record)))
        return problems, ["plan and settings"], [_COUNTED] if _waits(remade.plan) else []


def _made_by_this_code(record: PrivacyReport) -> bool:
    """True if a report says so: earlier ones, and those of code without a source, do not."""
    this = library_versions()[CODE]
    return this != UNKNOWN and record.versions.get(CODE) == this


def _planned_by_same_means(record: PrivacyReport) -> bool:
    """True if a fit with a delta was planned with the accounting library, as plans are made here.

    Its bounds say so where they were converted; a list that was composed as a whole does not. Nor
    do reports of before the library was among the versions: a plan that cannot be made again
    without it is then no contradiction.
    """
    if record.facts.delta == "0":
        return True
    converted = [b.derivation for b in record.guarantee.bounds if "converted by" in b.derivation]
    if not all(text.endswith(conversion_method()) for text in converted):
        return False
    installed = record.versions.get("dp-accounting", "unknown") != NOT_INSTALLED
    return installed == (conversion_method() == LIBRARY)


def _strategy_that_left(record: PrivacyReport) -> str | None:
    """A strategy that is no more, whether it was asked for or picked by ``auto``."""
    named = (record.facts.settings.get("strategy"), record.plan.get("strategy"))
    return next((name for name in GONE if name in named), None)


def _waits(plan: Any) -> bool:
    """Say if a part of a plan is made from a released number of records."""
    return getattr(plan, "count", None) is not None


def _requested(record: PrivacyReport, requests: ScopeRecord) -> Iterator[str]:
    for place in differences(record.composition, requests, _with_roles_of_today):
        yield f"composition.{place} is not what such a fit asks for"


def _with_roles_of_today(scope: dict[str, Any]) -> dict[str, Any]:
    """A scope's requests and those inside it, by the names that roles have today."""
    roles = [_RENAMED.get(entry["role"], entry["role"]) for entry in scope["entries"]]
    return scope | {
        "entries": [e | {"role": role} for e, role in zip(scope["entries"], roles, strict=True)],
        "children": [_with_roles_of_today(child) for child in scope["children"]],
    }


def _planned(record: PrivacyReport, plan: Any) -> Iterator[str]:
    root = record.composition
    if plan.adaptive:
        written = root.caps or ((root.reserve,) if root.reserve is not None else ())
        if root.adaptive == bool(plan.caps):
            yield "its composition is not adaptive in the way that its plan is"
        expected = plan.caps or (plan.loss,)
    else:
        if root.adaptive or root.caps:
            yield "its composition is adaptive, and its plan is not"
        written = (root.reserve,) if root.reserve is not None else ()
        expected = (_set_aside(record, plan),)
    if len(written) != len(expected) or not all(
        record_ is not None and _alike(record_.loss, loss)
        for record_, loss in zip(written, expected, strict=True)
    ):
        yield "what was set aside is not what its plan costs"


def _charged_for(record: PrivacyReport, remade: Remade) -> Iterator[str]:
    """The plan that a ledger was charged for is this one, at its price."""
    place, facts = record.basis.ledger, record.facts
    if place is None:
        return
    domain = Domain._of_record(record.domain)
    wanted = remade.model._wanted(done=True)
    price = fit_price(remade.model, remade.plan, wanted, facts.settings, domain)
    if price.plan != place.plan:
        yield "the plan that the ledger was charged for is another one"
    if place.parts == 1 and not _is_price(place, price):
        yield "what the ledger was charged is not the price of its plan"


def _is_price(place: LedgerPlace, price: FitPrice) -> bool:
    """Say if a reserve of one fit was charged its price, rounded up as a ledger does."""
    try:
        return to_units(price.amount(place.currency)) == cap_in_units(parse_finite(place.charged))
    except ParameterError:  # no price in such a currency, or an amount beyond all books
        return False


def _set_aside(record: PrivacyReport, plan: Any) -> PrivacyLoss:
    """Loss that a fit reserves: its own if it is charged alone, else what its pieces add up to."""
    reserve = record.composition.reserve
    stands_alone = reserve is not None and reserve.loss.delta > 0
    alone = record.basis.charged_to in (OWN_BUDGET, DIFFPRIVLIB) or stands_alone
    loss: PrivacyLoss = plan.loss if alone else plan.additive
    return loss


def _alike(one: PrivacyLoss, other: PrivacyLoss) -> bool:
    """Equal, apart from what another release of the converting library makes of a plan's rho."""
    pairs = ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.delta, other.delta))
    return all(a == b or math.isclose(a, b, rel_tol=_PLAN_TOLERANCE) for a, b in pairs)
