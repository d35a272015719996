"""The composition tree of a report as a page shows it: branches alike once, every rule named."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpforest.accounting.certificates import METHOD
from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeRecord
from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import exact_text, parse_amount
from dpforest.accounting.verify import stands_by_certificate

#: A rational longer than this is shown rounded up only.
_SHORT = 16

RULES = {
    "sequential": "Sequential. One record may meet all of it, so the losses add up.",
    "certified": (
        "Sequential, of releases that were all fixed beforehand. One record may meet all of them; "
        "they are composed as a whole to (ε, δ), which is less than the losses added up."
    ),
    "parallel cells": (
        "Parallel over cells of the domain. A record lies in one of them, so the largest counts."
    ),
    "parallel records": (
        "Parallel over records. Each record enters one side, by a secret draw of its own. "
        "ε = ln Σ p·e^ε over the sides, where being left out counts with ε = 0, and never more "
        "than the largest side. ρ = the largest side's, or ε²/2 if that is smaller and all "
        "spending was fixed beforehand. δ = the largest side's."
    ),
    "poisson": (
        "Sampled. Each record takes part with probability q, by a secret draw of its own. What is "
        "inside adds up to (ε', ρ', δ'); then ε = ln(1 + q·(e^ε' − 1)), ρ = ρ', or ε²/2 if that is "
        "smaller and all spending was fixed beforehand, δ = q·δ'."
    ),
    "units": (
        "Sequential, by privacy units. Amounts inside are composed for one record; a privacy unit "
        "of up to k records pays k·ε and k²·ρ for each row, and these add up. A row that was "
        "certified for privacy units counts as it is."
    ),
}
TOTALS = {
    "sequential": "sum",
    "certified": "composed as a whole",
    "parallel cells": "largest",
    "parallel records": "mixture over the sides",
    "poisson": "sampled",
    "units": "for a privacy unit",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """An amount for people: six digits rounded up, the ratio beside them where it is short."""

    text: str
    ratio: str
    rounded: bool

    @classmethod
    def of(cls, amount: Amount) -> Figure:
        """Write an amount down."""
        if isinstance(amount, float) and math.isinf(amount):
            return cls("∞", "", False)
        exact, text = Fraction(amount), figure_up(amount)
        if Fraction(text) == exact:
            return cls(text, "", False)
        ratio = exact_text(exact)
        return cls(text, ratio if len(ratio) <= _SHORT else "", True)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Epsilon, rho and delta as figures."""

    epsilon: Figure
    rho: Figure
    delta: Figure

    @classmethod
    def of(cls, loss: PrivacyLoss) -> Amounts:
        """Write a loss down."""
        return cls(*map(Figure.of, (loss.epsilon, loss.rho, loss.delta)))


@dataclass(frozen=True, slots=True)
class Row:
    """Entries that are alike, or branches that are alike, in a scope's table."""

    name: str
    detail: str
    levels: str
    cells: str
    times: int
    probability: str
    each: Amounts
    together: Amounts


@dataclass(frozen=True, slots=True)
class Branch:
    """A scope, or several that are alike, as a page shows it."""

    name: str
    times: int
    kind: str
    rule: str
    total_word: str
    probabilities: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    total: Amounts
    counts: Amounts
    branches: tuple[Branch, ...]
    has_levels: bool
    has_delta: bool


def branch_of(root: ScopeRecord) -> Branch:
    """The whole tree."""
    return _branch([root], 1)


def _branch(members: list[ScopeRecord], times: int) -> Branch:
    """A branch from all scopes of the fit that are alike; ``times`` of them are siblings."""
    first = members[0]
    kind = first.kind if first.certificate is None else "certified"
    runs = _runs([_shape(child, outermost=True) for child in first.children], first.kind)
    branches = tuple(
        _branch([member.children[i] for member in members for i in run], len(run)) for run in runs
    )
    rows = [*_entry_rows(members), *_branch_rows(first, runs)]
    delta = Amounts.of(first.composed.loss).delta
    return Branch(
        name=_joined([child.label for child in _siblings(members, times)]),
        times=times,
        kind=first.kind,
        rule=RULES.get(kind, kind),
        total_word=TOTALS.get(kind, "total"),
        probabilities=_here(first),
        notes=tuple(_notes(first)),
        rows=tuple(rows),
        total=Amounts.of(first.composed.loss),
        counts=Amounts.of(first.charged.loss),
        branches=branches,
        has_levels=any(row.levels for row in rows),
        has_delta=any(f.text != "0" for f in (*(row.each.delta for row in rows), delta)),
    )


def _here(scope: ScopeRecord) -> str:
    """The numbers in a scope's rule."""
    if scope.kind == "units":
        return f"k = {scope.records_per_unit}"
    return ", ".join(f"{k}: {_share(p)}" for k, p in scope.probabilities.items())


def _rule(scope: ScopeRecord) -> str:
    if scope.certificate is None:
        return RULES.get(scope.kind, scope.kind)
    return (
        "Certified. These releases, in this order and no other, were fixed beforehand and shown "
        f"together to be (ε, δ)-DP with less than their sum: {scope.certificate.method}. That "
        "cannot be recomputed by hand; verify_report does it. ρ adds up."
    )


def _siblings(members: list[ScopeRecord], times: int) -> list[ScopeRecord]:
    """Those under the first parent, whose names stand for the others'."""
    return members[:times]


def _shape(scope: ScopeRecord, outermost: bool = False) -> tuple[Any, ...]:
    """Everything about a scope but its own name, places in the ledger and numbers of cells."""
    return (
        "" if outermost else scope.label,
        scope.kind,
        tuple(scope.probabilities.items()),
        *(_exact(r) for r in (scope.composed, scope.charged, scope.reserve, *scope.caps)),
        scope.adaptive,
        scope.certificate is None,
        scope.closed,
        scope.reserve_kept,
        scope.records_per_unit,
        tuple((entry.level, *_entry_kind(entry)) for entry in scope.entries),
        tuple(_shape(child) for child in scope.children),
    )


def _exact(record: LossRecord | None) -> tuple[str, ...]:
    return () if record is None else (record.epsilon, record.rho, record.delta)


def _entry_kind(entry: LedgerEntry) -> tuple[Any, ...]:
    amounts = (entry.epsilon, entry.rho, entry.delta)
    return entry.role, entry.mechanism, tuple(entry.parameters.items()), *amounts


def _runs(kinds: list[tuple[Any, ...]], rule: str = "") -> list[list[int]]:
    """Positions of what is alike, in the order in which it first stands."""
    if rule == "parallel records":  # sides have probabilities of their own
        return [[i] for i in range(len(kinds))]
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, kind in enumerate(kinds):
        found.setdefault(kind, []).append(place)
    return list(found.values())


def _entry_rows(members: list[ScopeRecord]) -> Iterable[Row]:
    first = members[0]
    for run in _runs([_entry_kind(entry) for entry in first.entries]):
        entry = first.entries[run[0]]
        cells = [member.entries[i].cells for member in members for i in run]
        levels = [level for i in run if (level := first.entries[i].level) is not None]
        yield Row(
            name=entry.role,
            detail=f"{entry.mechanism} ({_parameters(entry)})",
            levels=_ranges(sorted(set(levels))),
            cells=_span(cells),
            times=len(run),
            probability="",
            each=Amounts.of(entry.loss),
            together=Amounts.of(_times(entry.loss, len(run))),
        )


def _branch_rows(scope: ScopeRecord, runs: list[list[int]]) -> Iterable[Row]:
    for run in runs:
        child = scope.children[run[0]]
        share = scope.probabilities.get(child.label, "")
        yield Row(
            name=_joined([scope.children[i].label for i in run]),
            detail="opened below",
            levels="",
            cells="",
            times=len(run),
            probability=_share(share) if share else "",
            each=Amounts.of(child.charged.loss),
            together=Amounts.of(_times(child.charged.loss, len(run))),
        )


def _times(loss: PrivacyLoss, n: int) -> PrivacyLoss:
    return PrivacyLoss(loss.epsilon * n, loss.rho * n, loss.delta * n)


def _parameters(entry: LedgerEntry) -> str:
    return ", ".join(f"{k} {_parameter(v)}" for k, v in entry.parameters.items())


def _parameter(text: str) -> str:
    try:
        figure = Figure.of(parse_amount(text))
    except ValueError:
        return text
    return figure.ratio or figure.text + ("↑" if figure.rounded else "")


def _share(text: str) -> str:
    share = Fraction(text)
    return text if len(text) <= _SHORT else f"{float(share):.6g}"


def _notes(scope: ScopeRecord) -> Iterable[str]:
    if scope.caps:
        caps = " or ".join(_cap(cap.loss) for cap in scope.caps)
        yield (
            f"What is spent here depends on released values, so it was kept within {caps}, and "
            "this limit is the claim."
        )
    if scope.adaptive and scope.reserve is not None:
        yield (
            "What is spent here depends on released values, so it was kept within what was set "
            f"aside, {_cap(scope.reserve.loss)}, and this limit is the claim."
        )
    if scope.certificate is not None:
        yield f"The method: {METHOD}."
        yield from _shared_note(scope)
    elif scope.charged.loss != scope.composed.loss:
        yield "In the scope around it, it counts as more than its total: as what was set aside."
    if scope.reserve_kept:
        yield "All that was set aside stays spent, because a run inside it failed."


def _shared_note(scope: ScopeRecord) -> Iterable[str]:
    """Write what a certificate says of its own list where the list is charged by its rho."""
    if scope.certificate is None or stands_by_certificate(scope):
        return
    own = scope.certificate.certificate
    yield (
        f"By itself it is ({figure_up(own.epsilon)}, {figure_up(own.delta)})-DP. Its accountant is "
        "shared, so there it counts as its ρ, beside whatever else is charged."
    )


def _cap(loss: PrivacyLoss) -> str:
    if loss.epsilon != math.inf:
        return f"ε = {figure_up(loss.epsilon)}"
    return f"ρ = {figure_up(loss.rho)}"


def _joined(names: list[str]) -> str:
    if len(names) <= 2:
        return " and ".join(names)
    return f"{names[0]} … {names[-1]}"


def _span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def _ranges(levels: list[int]) -> str:
    if len(levels) > 2 and levels[-1] - levels[0] == len(levels) - 1:
        return f"{levels[0]}–{levels[-1]}"
    return ", ".join(map(str, levels))
