"""From parameters and public facts to a plan, and from a noisy count to the rest of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.figures import figure_up
from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import SHARED, LearnerBudget, Plan, Release, once
from dpforest.accounting.scopes import Scope
from dpforest.accounting.tightening import in_epsilon_and_delta
from dpforest.accounting.units import group_loss
from dpforest.bridge.bridge import Bridge
from dpforest.display import page_of_docs
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.bought_rows import fewest_rows, likely_rows
from dpforest.estimators.fit_plan import (
    COUNT_ROLE,
    HOPELESS_SIGNAL,
    FitPlan,
    FitRequest,
    count_event,
    range_event,
    table_facts,
)
from dpforest.estimators.forecast import forecast, teaches
from dpforest.exceptions import LargeDeltaWarning, LargeEpsilonWarning, WeakSignalWarning
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Records
from dpforest.records.counts import RecordCount
from dpforest.report.guarantee import MOST_EPSILON
from dpforest.searches import warn_in_search
from dpforest.trees.base import Learner, TableFacts
from dpforest.trees.strategies import STRATEGIES, pick_strategy, spends_pure_epsilon

#: Chance of a hopeless table at which a bought number of records is not taken at its likeliest.
DOUBT = 0.15


def make_plan(
    strategy: str,
    facts: TableFacts,
    epsilon: Fraction,
    delta: Fraction,
    place: str = DIFFPRIVLIB,
    records_per_unit: int = 1,
    learner: Learner | None = None,
) -> FitPlan:
    """The plan of a fit; it waits for a noisy count where no number of rows is declared.

    A list that is composed as a whole gets the same noise whether its fit has a budget to itself
    or shares an accountant, where the list's rho is added to the rest. There are three exceptions:
    a list that is chosen by a number of records bought from a shared accountant, trees that are
    grown side by side, and charges that another library adds up. ``place`` says in words where the
    fit is charged. Epsilon and delta are those of a privacy unit. Without a ``learner`` the
    strategy's own is taken, with settings by the number of records.
    """
    alone, rows = place == OWN_BUDGET, facts.approximate_rows
    certifiable = delta > 0 and strategy != "multinomial"
    certified = certifiable and (alone or (rows is not None and place != DIFFPRIVLIB))
    budget = LearnerBudget.of_unit(epsilon, delta, records_per_unit, certified)
    if rows is None and learner is None:
        count = count_event(budget)
        caps = PrivacyLoss(epsilon, float("inf"), delta) if delta else PrivacyLoss.pure(epsilon)
        return FitPlan(strategy, None, None, count, caps, None, facts, budget)
    return replace(planned(strategy, facts, budget, learner=learner), shared=not alone)


def plan_of(
    wanted: FitRequest,
    encoder: DomainEncoder,
    rows: float | None,
    place: str,
    in_memory: bool = True,
) -> FitPlan:
    """The plan of a fit that is wanted on tables of a domain; see :func:`make_plan`."""
    facts, budget = table_facts(encoder, rows, in_memory), wanted.budget
    return make_plan(
        wanted.strategy, facts, budget.unit_epsilon, budget.delta, place, budget.records_per_unit,
        wanted.learner,
    )  # fmt: skip


def settle_plan(
    plan: FitPlan,
    source: RandomSource,
    scope: Scope,
    records: Records,
    search: str | None = None,
    counted: int | None = None,
) -> FitPlan:
    """Buy the noisy number of records where the plan waits for one, and plan the rest from it.

    Where ``counted`` is given, which another fit bought, the rest is planned from that.
    """
    if plan.count is None:
        return plan
    bought = once(SHARED, Release(COUNT_ROLE, plan.count))
    bridge = Bridge((bought,), scope, records, source)
    noisy = bridge.ask(RecordCount(), COUNT_ROLE).noised(COUNT_ROLE)
    settled = settled_by(plan, int(noisy[0]) if counted is None else counted)
    warn_if_hopeless(settled, _fewest_signal(settled), 6, search)
    return settled


def settled_by(plan: FitPlan, noisy: int) -> FitPlan:
    """Plan the rest of a fit that waited for a number of records, from the noisy one."""
    assert plan.count is not None
    rest = budget_after(plan.budget, plan.count)
    rows = trusted_rows(noisy, plan.count, rest)
    facts = replace(plan.facts, approximate_rows=rows)
    return replace(planned(plan.strategy, facts, rest, plan.count), counted=noisy)


def _fewest_signal(plan: FitPlan) -> float | None:
    """R of the fewest records that the noise of a bought number allows: a warning goes by it."""
    rows = plan.facts.approximate_rows
    if not plan.signal or plan.count is None or plan.counted is None or rows is None:
        return plan.signal
    return plan.signal * min(fewest_rows(plan.counted, plan.count) / rows, 1.0)


def trusted_rows(noisy: int, count: GeometricNoise, budget: LearnerBudget) -> float:
    """The likely number of records, or fewer where the budget may well be hopeless for them.

    A plan for more than class shares, made for a table that cannot teach them, is worse than
    they are: so it takes more than even odds.
    """
    doubtful = likely_rows(noisy, count, DOUBT)
    if LearnerBudget(budget.epsilon, Fraction(0)).signal(doubtful) < HOPELESS_SIGNAL:
        return doubtful
    return likely_rows(noisy, count)


def planned(
    strategy: str,
    facts: TableFacts,
    budget: LearnerBudget,
    count: GeometricNoise | None = None,
    learner: Learner | None = None,
) -> FitPlan:
    """The plan where a number of records is known, or where a given learner needs none.

    It is declared, or bought by ``count``.
    """
    target_range = range_event(facts, budget)
    bought = [event for event in (count, target_range) if event is not None]
    size = budget.records_per_unit
    if target_range is not None:
        budget = budget_after(budget, target_range)
    chosen = pick_strategy(facts, budget) if strategy == "auto" else strategy
    if chosen == "one_shot" and strategy == "auto":
        # Picked beside a delta only where the signal is small, and there pure noise is smaller.
        budget = LearnerBudget(budget.epsilon, Fraction(0), records_per_unit=size)
    # Rules are drawn at the pure epsilon, so with a delta too they learn from that. Of a stream
    # none are drawn: the R that is told is the one that was too small for a forest.
    draws = spends_pure_epsilon(chosen) and facts.in_memory
    own = LearnerBudget(budget.epsilon, Fraction(0)) if draws else budget
    rows = facts.approximate_rows
    signal = None if rows is None else own.signal(rows)
    if learner is None:
        learner = STRATEGIES[chosen].make()
    plan = learner.plan(facts, budget)
    if bought and budget.certified:
        plan = in_epsilon_and_delta(plan, budget)
    loss = sum((group_loss(e.loss, size) for e in bought), start=unit_loss(plan, size))
    return FitPlan(chosen, learner, plan, count, loss, signal, facts, budget, target_range)


def budget_after(budget: LearnerBudget, event: GeometricNoise) -> LearnerBudget:
    """Rest of a budget after an event, in either currency; a certified rest adds in epsilon."""
    if budget.certified:
        return replace(budget, epsilon=budget.epsilon - Fraction(event.loss.epsilon))
    left = budget.rho - Fraction(event.loss.rho) if budget.delta else None
    epsilon = budget.epsilon - Fraction(event.loss.epsilon)
    return replace(budget, epsilon=epsilon, concentrated=left)


def unit_loss(plan: Plan[Any], records_per_unit: int) -> PrivacyLoss:
    """Cost of a learner's plan for a privacy unit; a certificate says it already."""
    if plan.certificate is not None:
        return plan.loss
    return group_loss(plan.loss, records_per_unit)


def warn_if_hopeless(
    plan: FitPlan, signal: float | None, stacklevel: int, search: str | None = None
) -> None:
    """Warn where the budget can hardly teach anything; from a declared or released number."""
    if signal is not None and not teaches(plan, signal):
        text = forecast(plan, signal)
        # By its figures: a slight one must not hide a worse one.
        warn_in_search(text, WeakSignalWarning, search, key=text, stacklevel=stacklevel)


def warn_of_large_epsilon(epsilon: Fraction, stacklevel: int, search: str | None = None) -> None:
    """Warn where a report will have the caution that epsilon promises little."""
    if epsilon <= MOST_EPSILON:
        return
    warn_in_search(
        f"epsilon = {figure_up(epsilon)} promises little: the release may change anybody's odds "
        "about a record by a factor of up to e to the power of epsilon. Choose 1 or less where a "
        f"record is sensitive, and rarely above 5: {page_of_docs('choosing_epsilon.md')}.",
        LargeEpsilonWarning,
        search,
        key=str(epsilon),
        stacklevel=stacklevel,
    )


def warn_of_large_delta(
    delta: Fraction, rows: int | None, stacklevel: int, search: str | None = None
) -> None:
    """Warn where delta is 1 / n or more of the declared records; they are never counted."""
    if rows is None or delta * rows < 1:
        return
    warn_in_search(
        f"delta = {float(delta):.6g} is at least 1/n of the {rows:,} records that the domain "
        "declares: a mechanism that publishes one record at random would keep such a guarantee. "
        f"Choose a delta far below {1 / rows:.1g}, such as {1 / (100 * rows):.1g}, or 0.",
        LargeDeltaWarning,
        search,
        key=f"{delta} of {rows}",
        stacklevel=stacklevel,
    )
