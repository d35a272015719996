"""The privacy report as one page of HTML, for somebody who has nothing else of this library.

The page needs no network and runs no script. Whatever stands in a report (names of a domain, who
declared it) is escaped by the template engine, and characters that cannot be printed are dropped.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from dpforest.accounting.figures import figure_up
from dpforest.accounting.rationals import parse_amount
from dpforest.accounting.verify import claimed_loss
from dpforest.domain.domain import Domain
from dpforest.exceptions import MissingExtraError, ParameterTypeError
from dpforest.report.branches import Amounts, branch_of
from dpforest.report.budget import picture_of
from dpforest.report.guarantee import RelationBound
from dpforest.report.odds import belief_after, best_guess, corners, largest_true_positive_rate
from dpforest.report.places import place_rows
from dpforest.report.record import LedgerPlace, ReportRecord

#: Fields that audits have in common, by which one is known.
_AUDIT_FIELDS = ("subject", "claimed_epsilon", "delta", "lower_bound", "confidence", "verdict")
_SEVERITIES = ("void", "caution", "note")
_RATES = (0.001, 0.01, 0.05, 0.1, 0.25)
_PRIORS = (0.01, 0.1, 0.5, 0.9)
#: How rho follows from epsilon, by mechanism, for whoever recomputes by hand.
_PRICES = {
    "exponential mechanism": "ε as requested; ρ = ε²/8 (it is ε-bounded-range)",
    "permute-and-flip": "ε as requested; ρ = ε²/2",
    "two-sided geometric noise": "ε as requested; ρ = ε²/2",
    "discrete Gaussian noise": "no finite ε; ρ = l2 sensitivity squared / (2 · sigma squared)",
    "external": "ε and δ as its source says; ρ = ε²/2 where δ = 0, else none",
}


def report_html(report: ReportRecord, audit: Any = None) -> str:
    """The whole page; see :meth:`PrivacyReport.to_html`."""
    guarantee = report.guarantee
    claimed = claimed_loss(report.composition, _delta(report))
    domain = Domain.model_validate(report.domain)
    mechanisms = dict.fromkeys(entry.mechanism for entry in report.composition.ledger)
    return _render(
        "report.html",
        report=report,
        guarantee=guarantee,
        one_record=report.facts.records_per_unit == 1,
        gone=_gone(report.facts.records_per_unit),
        holds=guarantee.status in ("holds", "demonstration"),
        notices=_by_severity(report),
        drafted=domain.drafted_entries,
        began_as_drafts=domain.began_as_drafts,
        place=_place(report.basis.ledger),
        audits=_audits(report, audit),
        odds=_odds(report),
        picture=picture_of(report),
        root=branch_of(report.composition),
        claimed=Amounts.of(claimed),
        realised=claimed == report.composition.composed.loss,
        prices={name: _PRICES.get(name, "as its entry says") for name in mechanisms},
    )


def summary_html(report: ReportRecord) -> str:
    """The guarantee in short, as a fragment for notebooks."""
    return _render("summary.html", report=report, notices=_by_severity(report))


# -- templates ------------------------------------------------------------------------------------


def _render(name: str, **context: Any) -> str:
    text: str = environment().get_template(name).render(**context)
    return text


@functools.cache
def environment(room: str = "dpforest.report") -> Any:
    """Engine for the templates of a room and of the report: all that it is given is escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "report", "a page of HTML") from None
    rooms = dict.fromkeys((room, "dpforest.report"))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in rooms]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters |= {"up": _up, "percent": _percent, "percent_down": _percent_down}
    return environment


def _printable(value: Any) -> Any:
    """Text without characters that could turn the line around them; escaped markup as it is."""
    if type(value) is not str:
        return value
    return "".join(c if c.isprintable() else " " for c in value)


def _up(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else figure_up(value)


def _percent(share: float) -> str:
    """A share in per cent, rounded up; never 100 for what is less."""
    text = f"{math.ceil(share * 1e4 - 1e-9) / 100:.4g}"
    return "over 99.99 %" if text == "100" and share < 1 else f"{text} %"


def _percent_down(share: float) -> str:
    text = f"{math.floor(share * 1e4 + 1e-9) / 100:.4g}"
    return "under 0.01 %" if text == "0" and share > 0 else f"{text} %"


# -- what the page shows --------------------------------------------------------------------------


def _place(place: LedgerPlace | None) -> dict[str, str]:
    """Lines about the fit's place in a ledger; none where it stands in none."""
    return {} if place is None else place_rows(place)


def _gone(records_per_unit: int) -> str:
    """Name what a neighbouring table lacks, in words."""
    if records_per_unit == 1:
        return "one record"
    return f"the records (up to {records_per_unit}) of one privacy unit, such as a person,"


def _delta(report: ReportRecord) -> Any:
    return parse_amount(report.basis.delta)


def _by_severity(report: ReportRecord) -> list[Any]:
    return sorted(report.notices, key=lambda notice: _SEVERITIES.index(notice.severity))


def _odds(report: ReportRecord) -> dict[str, Any] | None:
    """The best attacker's odds; None where no guarantee was earned, or it bounds nothing."""
    bounds = [b for b in report.guarantee.bounds if math.isfinite(b.epsilon) and b.delta < 1]
    if report.guarantee.status not in ("holds", "demonstration") or not bounds:
        return None
    return {
        "bounds": bounds,
        "lines": [_line(bound) for bound in bounds],
        "guesses": [best_guess(b.epsilon, b.delta) for b in bounds],
        "rates": [
            (rate, [largest_true_positive_rate(b.epsilon, b.delta, rate) for b in bounds])
            for rate in _RATES
        ],
        "beliefs": [
            (prior, [belief_after(prior, b.epsilon, b.delta) for b in bounds]) for prior in _PRIORS
        ],
        "factors": [_factor(bound) for bound in bounds],
        "has_delta": any(bound.delta for bound in bounds),
    }


def _factor(bound: RelationBound) -> str:
    """e^epsilon, rounded up, for people."""
    if bound.epsilon > 30:
        return f"e^{figure_up(bound.epsilon)}"
    return figure_up(math.nextafter(math.exp(bound.epsilon), math.inf))


def _line(bound: RelationBound) -> str:
    """The bound as points of a picture that is 300 wide and high, with (0, 0) at the top left."""
    points = corners(bound.epsilon, bound.delta)
    return " ".join(f"{300 * x:.2f},{300 * (1 - y):.2f}" for x, y in points)


def _audits(report: ReportRecord, audit: Any) -> list[dict[str, Any]]:
    if audit is None:
        return []
    several = isinstance(audit, Iterable) and not hasattr(audit, "verdict")
    return [_audit(report, result) for result in (audit if several else [audit])]


def _audit(report: ReportRecord, result: Any) -> dict[str, Any]:
    if not all(hasattr(result, name) for name in _AUDIT_FIELDS):
        raise ParameterTypeError(
            "audit", type(result).__name__, "must be a result of dpforest.audit, or several",
            "Give what audit(...) or audit_one_run(...) returned",
        )  # fmt: skip
    event = getattr(result, "event", None)
    return {
        "result": result,
        "runs": getattr(result, "runs", None),
        "canaries": getattr(result, "canaries", None),
        "pair": getattr(result, "pair", None),
        "event": event,
        "of_this_claim": _same_claim(report, result),
    }


def _same_claim(report: ReportRecord, result: Any) -> bool:
    """Say if an audit tested what this report claims, under its relation."""
    relation = getattr(result, "relation", "add_remove")
    place = 1 if relation == "replace_one" else 0
    bound = report.guarantee.bounds[place]
    return math.isclose(result.claimed_epsilon, bound.epsilon, rel_tol=1e-9) and math.isclose(
        result.delta, bound.delta, rel_tol=1e-9
    )
