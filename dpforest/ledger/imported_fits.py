"""Charges of fits that were made without the ledger, or under another: from the report of each.

Held by tests/ledger/test_imported_fits.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from os import PathLike
from typing import Any

from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import parse_finite
from dpforest.accounting.verify import claimed_loss, verify_composition
from dpforest.domain.domain import Domain
from dpforest.exceptions import ModelFormatError, ParameterError
from dpforest.ledger.amounts import to_units
from dpforest.ledger.bodies import OpenBody
from dpforest.ledger.facts import domain_digest
from dpforest.report.carried import report_text
from dpforest.report.guarantee import Status
from dpforest.report.header import ReportHeader
from dpforest.report.making import report_digest
from dpforest.report.report import PrivacyReport
from dpforest.report.utility import utility_cautions
from dpforest.strict_json import Refuse, name_of

_REPAIR = "Charge it by hand, with ledger.charge_elsewhere(...) and what it cost"


@dataclass(frozen=True)
class ImportedFit:
    """A fit without the ledger, as its report says.

    Attributes
    ----------
    units : int
        Its price in the currency of the data set.
    digest : str
        Of the report without what was typed in, so that the fit is charged once.
    words : str
    guarantee : {"holds", "demonstration", "void", "none"}
        Status of the guarantee that it earned.
    """

    units: int
    digest: str
    words: str
    guarantee: Status


def imported_fit(given: str | PathLike[str], facts: OpenBody) -> ImportedFit:
    """The price of a fit whose report is at hand, in the currency of a data set.

    Parameters
    ----------
    given : str or path
        The report's JSON or page, or the file of either.
    facts : OpenBody
        Of the data set.

    Raises
    ------
    ParameterError
        If it is no report, does not hold, is of another domain or unit, is in this ledger already,
        or has no price in this currency.
    """
    refuse = partial(_refused, name_of(given))
    report = _read(given, refuse)
    _check(report, facts, refuse)
    loss = claimed_loss(report.composition, _delta(report, refuse))
    if report.facts.judge(loss).status != report.guarantee.status:
        raise refuse("the status of its guarantee does not follow from its own facts")
    amount = _amount(report, loss, facts.currency, refuse)
    units = to_units(amount, facts.currency)
    words = f"{report.estimator}, fitted {_elsewhere(report)}."
    return ImportedFit(units, _digest(report), words, report.guarantee.status)


def _elsewhere(report: PrivacyReport) -> str:
    """Words for the book that a fit was charged to."""
    place = report.basis.ledger
    return f"under ledger {place.ledger}" if place is not None else "without the ledger"


def _digest(report: PrivacyReport) -> str:
    """Digest that all reports of a fit have, whatever was typed into each."""
    added = utility_cautions(report.utility)
    notices = tuple(one for one in report.notices if one.text not in added)
    untyped = {"header": ReportHeader(), "utility": (), "notices": notices}
    return report_digest(report.model_copy(update=untyped))


def _read(given: Any, refuse: Refuse) -> PrivacyReport:
    try:
        report = PrivacyReport.from_json(report_text(given, refuse))
    except ModelFormatError as error:
        raise refuse(str(error)) from None
    if report.digest != report_digest(report) or verify_composition(report.composition):
        raise refuse("it does not follow from its own entries")
    return report


def _refused(file: str, rule: str) -> ParameterError:
    return ParameterError("file", file, f"cannot be charged: {rule}", _REPAIR)


def _check(report: PrivacyReport, facts: OpenBody, refuse: Refuse) -> None:
    place = report.basis.ledger
    if place is not None and place.ledger == facts.ledger:
        raise refuse("its fit stands in this ledger (give it to recover as a witness)")
    if domain_digest(_domain(report, refuse)) != facts.domain:
        raise refuse("its domain is not the data set's")
    if report.facts.records_per_unit != facts.max_records_per_unit:
        raise refuse("its privacy unit is not the data set's")


def _domain(report: PrivacyReport, refuse: Refuse) -> Domain:
    try:
        return Domain._of_record(report.domain)
    except ValueError:
        raise refuse("its domain is none") from None


def _delta(report: PrivacyReport, refuse: Refuse) -> Fraction:
    try:
        return parse_finite(report.basis.delta)
    except ValueError:
        raise refuse("its delta is no amount") from None


def _amount(report: PrivacyReport, loss: PrivacyLoss, currency: str, refuse: Refuse) -> Fraction:
    """Price of the fit beside others."""
    caps = [cap.loss for cap in report.composition.caps] or [loss]
    # Which of its caps a fit kept to may follow from released values: the larger one counts.
    counted = max(one.rho if currency == "rho" else one.epsilon for one in caps)
    if math.isinf(counted) or (currency == "epsilon" and loss.delta):
        raise refuse(f"it has no price in {currency}")
    return Fraction(counted)
