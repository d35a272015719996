"""Reading what is to be verified: a report, its JSON or its page, to the letter."""

from __future__ import annotations

import json
from pathlib import Path

from dpforest.exceptions import (
    Described,
    EarlierReportError,
    ModelFormatError,
    NewerReportError,
    ParameterError,
    ReportError,
)
from dpforest.report.carried import is_page
from dpforest.report.digests import canonical_bytes
from dpforest.report.report import PrivacyReport, newer_version
from dpforest.report.text import BEGINS
from dpforest.strict_json import json_text, other_file, parse_object
from dpforest.verify.page import carried_report

#: What programs that read JSON and write it anew do to numbers.
_OTHER_NUMBERS = (
    "its numbers are written otherwise than a dpforest-report writes them, as by a program that "
    "formatted the file anew, such as jq (1 for 1.0: ask for the file as it was written)"
)
#: Versions of which everything is worked out again: version 4 lacks what people typed in.
_VERIFIED = (4, 5)


def read_report(report: PrivacyReport | str | Path) -> tuple[PrivacyReport, str | None]:
    """The report as its text says it, and the page that carried it.

    Nothing is coerced, ignored or read twice.

    Raises
    ------
    EarlierReportError
        If it is of an earlier format, which says less than what is worked out again here.
    NewerReportError
        If it is of a format that only a newer release knows.
    ReportError
        If it is none.
    ParameterError
        If no file is there that can be read, or it is a report in Markdown or another file of ours,
        such as a model. Nothing is said against the report.
    """
    if isinstance(report, PrivacyReport):
        return _record(report.model_dump_json()), None
    whole = isinstance(report, str) and (is_page(report) or is_markdown(report))
    text = str(report) if whole else json_text(report, _unread)
    if is_markdown(text):
        raise _unread("it is Markdown, which carries no figures to check")
    return (_record(carried_report(text)), text) if is_page(text) else (_record(text), None)


def _record(text: str) -> PrivacyReport:
    data = parse_object(text, _refused)
    if other := other_file(data, "dpforest-report"):
        raise _unread(f"it is no report but {other}")
    if version := newer_version(data):
        raise NewerReportError(version)
    try:
        record = PrivacyReport.from_data(data)
        own = json.loads(record.model_dump_json())
        same = canonical_bytes(data) == canonical_bytes(own)
    except (ModelFormatError, ValueError, RecursionError):
        raise ReportError(("it is not a dpforest-report of this version",)) from None
    if record.version not in _VERIFIED:
        raise EarlierReportError(record.version)
    if same:
        return record
    # To Python 1 and 1.0 are equal.
    raise ReportError(
        (_OTHER_NUMBERS if data == own else "it is not written as a dpforest-report is",)
    )


def is_markdown(text: str) -> bool:
    """Say if a text is a report in Markdown."""
    return text.startswith(BEGINS)


def _unread(rule: str) -> ParameterError:
    """Error of a file that was not read, so that nothing in it is called false."""
    return ParameterError(
        "report", Described("what was given"), rule, "Give the page (.html) or the JSON"
    )


def _refused(rule: str) -> ReportError:
    return ReportError((rule,))
