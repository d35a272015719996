"""Reading what is to be verified: a report, its JSON or its page, to the letter."""

from __future__ import annotations

import json
from pathlib import Path

from dpforest.exceptions import EarlierReportError, ModelFormatError, ReportError
from dpforest.report.digests import canonical_bytes
from dpforest.report.report import PrivacyReport
from dpforest.strict_json import json_text, parse_object
from dpforest.verify.page import carried_report, is_page

#: Versions of which everything is worked out again: version 4 lacks what people typed in.
_VERIFIED = (4, 5)


def read_report(report: PrivacyReport | str | Path) -> tuple[PrivacyReport, str | None]:
    """The report as its text says it, and the page that carried it.

    Nothing is coerced, ignored or read twice.

    Raises
    ------
    EarlierReportError
        If it is of an earlier format, which says less than what is worked out again here.
    ReportError
        If it is none.
    """
    if isinstance(report, PrivacyReport):
        return _record(report.model_dump_json()), None
    text = report if isinstance(report, str) and is_page(report) else json_text(report, _refused)
    return (_record(carried_report(text)), text) if is_page(text) else (_record(text), None)


def _record(text: str) -> PrivacyReport:
    data = parse_object(text, _refused)
    try:
        record = PrivacyReport.from_json(text)
        same = canonical_bytes(data) == canonical_bytes(json.loads(record.model_dump_json()))
    except (ModelFormatError, ValueError, RecursionError):
        raise ReportError(("it is not a dpforest-report of this version",)) from None
    if record.version not in _VERIFIED:
        raise EarlierReportError(record.version)
    if same:
        return record
    raise ReportError(("it is not written as a dpforest-report is",))


def _refused(rule: str) -> ReportError:
    return ReportError((rule,))
