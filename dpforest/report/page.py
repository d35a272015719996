"""The privacy report as one page of HTML, for somebody who has nothing else of this library.

The page needs no network and runs no script. Whatever stands in a report (names of a domain, who
declared it) is escaped by the template engine, and characters that cannot be printed are dropped.
"""

from __future__ import annotations

import functools
import json
import math
from fractions import Fraction
from typing import Any

from dpforest.accounting.figures import figure_up
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import float_up, parse_amount
from dpforest.accounting.verify import possible_claims
from dpforest.display import one_line
from dpforest.domain.domain import Domain
from dpforest.exceptions import MissingExtraError, ReportError
from dpforest.report.audits import shown_audits
from dpforest.report.branches import Amounts, branch_of
from dpforest.report.budget import picture_of
from dpforest.report.carried import AUDITS_ID, REPORT_ID
from dpforest.report.decision import claims, decision_of
from dpforest.report.guarantee import RelationBound
from dpforest.report.header import header_rows
from dpforest.report.odds import (
    belief_after,
    best_guess,
    corners,
    largest_true_positive_rate,
    percent,
    percent_down,
)
from dpforest.report.places import place_rows
from dpforest.report.record import LedgerPlace, ReportRecord

#: Of the templates and of what they are given. Only a release that writes pages of a version can
#: say whether the words of one are those of the JSON that it carries. A test holds such a page.
PAGE_VERSION = 1
_RATES = (0.001, 0.01, 0.05, 0.1, 0.25)
_PRIORS = (0.01, 0.1, 0.5, 0.9)
#: How rho follows from epsilon, by mechanism, for whoever recomputes by hand.
_PRICES = {
    "exponential mechanism": "ε as requested; ρ = ε²/8 (it is ε-bounded-range)",
    "permute-and-flip": "ε as requested; ρ = ε²/2",
    "two-sided geometric noise": "ε as requested; ρ = ε²/2",
    "two-sided geometric noise that adds up to nothing": "ε as requested; ρ = ε²/2",
    "discrete Gaussian noise": "no finite ε; ρ = l2 sensitivity squared / (2 · sigma squared)",
    "objective perturbation": "ε as requested; ρ = ε²/2",
    "external": "ε and δ as its source says; ρ = ε²/2 where δ = 0, else none",
}


def report_html(report: ReportRecord, audit: Any = None) -> str:
    """The whole page; see :meth:`PrivacyReport.to_html`."""
    guarantee, audits = report.guarantee, shown_audits(audit)
    claimed = _claimed(report)
    domain = Domain._of_record(report.domain)
    mechanisms = dict.fromkeys(entry.mechanism for entry in report.composition.ledger)
    return _render(
        "report.html",
        report=report,
        guarantee=guarantee,
        one_record=report.facts.records_per_unit == 1,
        gone=_gone(report.facts.records_per_unit),
        holds=claims(report),
        decision=decision_of(report),
        header=header_rows(report.header),
        page_version=PAGE_VERSION,
        carried={
            REPORT_ID: _carried(report.model_dump_json()),
            AUDITS_ID: _carried(f"[{','.join(one.model_dump_json() for one in audits)}]"),
        },
        drafted=domain.drafted_entries,
        began_as_drafts=domain.began_as_drafts,
        place=_place(report.basis.ledger),
        audits=[(one, one.is_of(report)) for one in audits],
        odds=_odds(report),
        picture=picture_of(report),
        root=branch_of(report.composition),
        claimed=Amounts.of(claimed),
        realised=claimed == report.composition.composed.loss,
        prices={name: _PRICES.get(name, "as its entry says") for name in mechanisms},
    )


def summary_html(report: ReportRecord) -> str:
    """The guarantee in short, as a fragment for notebooks."""
    decision = decision_of(report)
    return _render("summary.html", report=report, notices=decision.cautions + decision.notes)


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
    environment.filters |= {"up": _up, "percent": percent, "percent_down": percent_down}
    return environment


def _printable(value: Any) -> Any:
    """Text without characters that could turn the line around them; escaped markup as it is."""
    if type(value) is not str:
        return value
    return one_line(value)


def _up(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else figure_up(value)


# -- what the page shows --------------------------------------------------------------------------


def _carried(text: str) -> str:
    """JSON as it may stand in an element of a page: ASCII, and no character that ends it.

    Keys stay in their order: tables of the page are in it.
    """
    safe = json.dumps(json.loads(text), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        safe = safe.replace(character, f"\\u{ord(character):04x}")
    return safe


def _place(place: LedgerPlace | None) -> dict[str, str]:
    """Lines about the fit's place in a ledger; none where it stands in none."""
    return {} if place is None else place_rows(place)


def _gone(records_per_unit: int) -> str:
    """Name what a neighbouring table lacks, in words."""
    if records_per_unit == 1:
        return "one record"
    return f"the records (up to {records_per_unit}) of one privacy unit, such as a person,"


def _claimed(report: ReportRecord) -> PrivacyLoss:
    """Loss that the guarantee is of; a file's entries may be ones of which nothing follows."""
    books, delta = report.composition, Fraction(parse_amount(report.basis.delta))
    written = [bound.epsilon for bound in report.guarantee.bounds[:1]]
    try:
        claims = possible_claims(books, delta)
        said = (claim for claim in claims if [float_up(claim.epsilon)] == written)
        return next(said, claims[0])
    except (ValueError, ArithmeticError, LookupError):
        raise ReportError(("what was spent does not follow from its entries",)) from None


def _odds(report: ReportRecord) -> dict[str, Any] | None:
    """The best attacker's odds; None where no guarantee was earned, or it bounds nothing."""
    bounds = [b for b in report.guarantee.bounds if math.isfinite(b.epsilon) and b.delta < 1]
    if not claims(report) or not bounds:
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
