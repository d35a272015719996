"""The top of a report, for the person who decides: half a page of words, whatever its form.

What is promised, to whom, what is not covered, what was spent on the data set in all, and cautions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.accounting.figures import figure_down, figure_up, figures_beside
from dpforest.accounting.rationals import parse_finite
from dpforest.report.header import NOT_STATED
from dpforest.report.odds import best_guess, percent
from dpforest.report.record import LedgerPlace, Notice, ReportRecord

_GUESS = (
    "Whoever knows all other records, sees all that was released and has to guess at even odds "
    "whether {gone} in the table, is right at most {share} of the time; a coin comes to 50 %."
)
_NO_GUESS = "Nothing bounds what an attacker can find out."
_RECORD = "Each record. Whoever has several records in the table is less protected."
_UNIT = (
    "Whoever owns up to {k} records in the table, such as a person. Nothing checked that number; "
    "whoever owns more is less protected."
)
_NOBODY = "Nobody: no guarantee was earned."
_NOT_COVERED = (
    "Choices made and scores computed on the same records, the time that the fit took, whatever "
    "else is published about the same people, and what the model teaches about a person because it "
    "is true of people like them."
)
_NO_LEDGER = "No ledger keeps the total of this data set."
_CEILING = (
    "No ledger keeps the total of this data set. This fit was charged to {place}, which grants no "
    "more than ({epsilon}, {delta}) in all."
)
_LEDGER = (
    "{name} = {in_all} of a cap of {name} = {cap}, which was declared as ({epsilon}, {delta}); "
    "{name} = {left} remains."
)
#: Where one certified list stands for all: what its cap is in rho is not what the list has.
_ALONE = (
    "The whole cap, which was declared as ({epsilon}, {delta}), by the certificate of one list of "
    "releases; nothing remains."
)


@dataclass(frozen=True, slots=True)
class Decision:
    """Words of the half page on top.

    Attributes
    ----------
    guess : str
        What the guarantee means, as the best attacker's odds.
    to_whom : str
        The privacy unit, and the people concerned as typed in.
    not_covered : str
        In short; the whole list stands below.
    spent : str
        On the data set in all, as far as anything knows.
    known : str
        Which fits are known of, and which cannot be.
    cautions : tuple of Notice
        Beside the reasons that the guarantee's sentence gives.
    notes : tuple of Notice
        What is said further below.
    """

    guess: str
    to_whom: str
    not_covered: str
    spent: str
    known: str
    cautions: tuple[Notice, ...]
    notes: tuple[Notice, ...]

    @property
    def lines(self) -> dict[str, str]:
        """The lines under the sentence, by what they answer."""
        return {
            "What that means": self.guess,
            "To whom": self.to_whom,
            "Not covered": self.not_covered,
            "Spent on this data set in all": f"{self.spent} {self.known}",
        }


def decision_of(report: ReportRecord) -> Decision:
    """Put the most important of a report into few words."""
    said = report.guarantee.reasons  # in the sentence, above
    notices = [notice for notice in report.notices if notice.text not in said]
    return Decision(
        guess=_guess(report),
        to_whom=_to_whom(report),
        not_covered=_NOT_COVERED,
        spent=_spent(report),
        known=report.known_fits,
        cautions=tuple(notice for notice in notices if notice.severity != "note"),
        notes=tuple(notice for notice in notices if notice.severity == "note"),
    )


def claims(report: ReportRecord) -> bool:
    """Say if a report claims anything: a guarantee, or one for a demonstration."""
    return report.guarantee.status in ("holds", "demonstration")


def _guess(report: ReportRecord) -> str:
    if not claims(report):
        return _NO_GUESS
    native = report.guarantee.bounds[0]
    if not math.isfinite(native.epsilon) or native.delta >= 1:
        return _NO_GUESS
    one = report.facts.records_per_unit == 1
    gone = "one certain record is" if one else "the records of one certain person are"
    return _GUESS.format(gone=gone, share=percent(best_guess(native.epsilon, native.delta)))


def _to_whom(report: ReportRecord) -> str:
    people = f" People concerned: {report.header.people or NOT_STATED}."
    if not claims(report):
        return _NOBODY + people
    k = report.facts.records_per_unit
    return (_RECORD if k == 1 else _UNIT.format(k=k)) + people


def _spent(report: ReportRecord) -> str:
    place, ceiling = report.basis.ledger, report.basis.ceiling
    if place is not None:
        return _in_ledger(place)
    if ceiling is None:
        return _NO_LEDGER
    epsilon, delta = map(figure_up, ceiling.total)
    return _CEILING.format(place=report.basis.charged_to, epsilon=epsilon, delta=delta)


def _in_ledger(place: LedgerPlace) -> str:
    left, in_all, cap = place.remaining, parse_finite(place.in_all), parse_finite(place.cap)
    declared = {
        "epsilon": figure_up(parse_finite(place.cap_epsilon)),
        "delta": figure_up(parse_finite(place.cap_delta)),
    }
    if place.alone:
        return _ALONE.format(**declared)
    spent, whole = figures_beside(in_all, cap)
    return _LEDGER.format(
        name=place.currency,
        in_all=spent,
        cap=whole,
        left=figure_down(left) if left else "0",
        **declared,
    )
