"""Reading a report from its page: the JSON that the page carries, and every byte around it.

Whoever reads a page reads its words, not its JSON. So the page is written again from the JSON that
it carries, and compared byte by byte: what is changed in words, in tables, in style or in a picture
is found, and so is what is added.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from dpforest.exceptions import ReportError
from dpforest.report.audits import ShownAudit
from dpforest.report.carried import AUDITS_ID, NO_REPORT, REPORT_ID, carried_text
from dpforest.report.page import PAGE_VERSION, report_html
from dpforest.report.report import PrivacyReport
from dpforest.strict_json import parse_object

_VERSION = re.compile(r'<meta name="generator" content="dpforest, page version ([0-9]{1,6})">')

NOT_THE_SAME = (
    "the page is not the one that its JSON makes: its words or its markup were changed (by a "
    "browser that saved it, or by somebody: ask for the file as it was written)"
)
LINE_ENDS = (
    "the page has other line ends than it was written with, as mail programs and editors make them "
    "(nothing else differs: ask for the file as it was written, such as in an archive)"
)
_OTHER_VERSION = (
    "it is of page version {version}, so only the release of dpforest that wrote it can compare "
    "its words with its JSON (this one writes version {own}); a signature of the page holds all of "
    "it"
)


def carried_report(page: str) -> str:
    """The text of the report that a page carries.

    Raises
    ------
    ReportError
        If it carries none, or two.
    """
    return _carried(page, REPORT_ID)


def page_problems(page: str, report: PrivacyReport, all_signed: bool) -> list[str]:
    """Say in what a page differs from the one that its report makes.

    Parameters
    ----------
    page : str
    report : PrivacyReport
        What it carries.
    all_signed : bool
        Whether a trusted signature holds every byte of it, so that a page of another version need
        not be written again.

    Raises
    ------
    MissingExtraError
        Without ``jinja2``, which the extra ``report`` brings.
    """
    version = _version(page)
    if version != PAGE_VERSION:
        problem = _OTHER_VERSION.format(version=version, own=PAGE_VERSION)
        return [] if all_signed else [problem]
    remade = report_html(report, _carried_audits(page))
    if remade == page:
        return []
    return [LINE_ENDS if remade == page.replace("\r\n", "\n") else NOT_THE_SAME]


def _version(page: str) -> int:
    """Version of a page; 0 where it names none, or several."""
    found = _VERSION.findall(page)
    return int(found[0]) if len(found) == 1 else 0


def shows_audits(page: str) -> bool:
    """Say if a page shows audits beside its report."""
    return _carried(page, AUDITS_ID) != "[]"


def _carried(page: str, name: str) -> str:
    text = carried_text(page, name)
    if text is None:
        raise ReportError((NO_REPORT,))
    return text


def _carried_audits(page: str) -> tuple[ShownAudit, ...]:
    text = f'{{"audits":{_carried(page, AUDITS_ID)}}}'
    audits: Any = parse_object(text, _refused)["audits"]
    try:
        return tuple(ShownAudit.model_validate(audit) for audit in audits)
    except (ValidationError, TypeError):
        raise ReportError((NOT_THE_SAME,)) from None


def _refused(rule: str) -> ReportError:
    return ReportError((rule,))
