"""Audits as a page shows them, as data that the page carries along."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from dpforest.accounting.frozen import Frozen
from dpforest.exceptions import ParameterTypeError, kind_of
from dpforest.report.record import ReportRecord

#: Fields that audits have in common, by which one is known.
_FIELDS = ("subject", "claimed_epsilon", "delta", "lower_bound", "confidence", "verdict",
           "largest_certifiable", "reason")  # fmt: skip
#: Fields that one kind of audit has.
_OWN = ("pair", "relation", "runs", "canaries", "guesses", "correct")
_EVENT = ("description", "hits_first", "hits_second", "runs")


class ShownEvent(Frozen):
    """The event that an audit tested."""

    description: str
    hits_first: int
    hits_second: int
    runs: int


class ShownAudit(Frozen):
    """One audit as a page shows it."""

    subject: str
    claimed_epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    verdict: Literal["violates", "consistent", "inconclusive"]
    largest_certifiable: float
    reason: str
    relation: str | None = None
    pair: str | None = None
    event: ShownEvent | None = None
    runs: int | None = None
    canaries: int | None = None
    guesses: int | None = None
    correct: int | None = None

    def is_of(self, report: ReportRecord) -> bool:
        """Say if it tested what a report claims, under its relation; a void one claims nothing."""
        if report.guarantee.status not in ("holds", "demonstration"):
            return False
        bound = report.guarantee.bounds[1 if self.relation == "replace_one" else 0]
        return math.isclose(self.claimed_epsilon, bound.epsilon, rel_tol=1e-9) and math.isclose(
            self.delta, bound.delta, rel_tol=1e-9
        )


def shown_audits(audit: Any) -> tuple[ShownAudit, ...]:
    """One audit's result, or several, as a page shows them."""
    if audit is None:
        return ()
    several = isinstance(audit, Iterable) and not hasattr(audit, "verdict")
    return tuple(_shown(result) for result in (audit if several else [audit]))


def _shown(result: Any) -> ShownAudit:
    if isinstance(result, ShownAudit):
        return result
    if not all(hasattr(result, name) for name in _FIELDS):
        raise ParameterTypeError(
            "audit", kind_of(result), "must be a result of dpforest.audit, or several",
            "Give what audit(...) or audit_one_run(...) returned",
        )  # fmt: skip
    event = getattr(result, "event", None)
    facts = {name: getattr(result, name) for name in _FIELDS}
    facts |= {name: getattr(result, name, None) for name in _OWN}
    if event is not None:
        facts["event"] = ShownEvent(**{name: getattr(event, name) for name in _EVENT})
    return ShownAudit(**facts)
