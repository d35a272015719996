"""JSON of a report that its page carries.

Held by tests/ledger/test_recovery.py and tests/estimators/report/test_report_carried.py.
"""

from __future__ import annotations

from os import PathLike

from dpforest.strict_json import LIMITS, Limits, Refuse, json_text

#: Where a page carries its report, and the audits that it shows.
REPORT_ID, AUDITS_ID = "dpforest-report", "dpforest-audits"
NO_REPORT = "it is a page that carries no dpforest-report"
_BEGINS = "<!DOCTYPE html>"


def is_page(text: str) -> bool:
    """Say if a text is a page of HTML and no JSON."""
    return text[: len(_BEGINS)].lower() == _BEGINS.lower()


def carried_text(page: str, name: str) -> str | None:
    """JSON that a page carries under a name; None where it carries none, or two."""
    begin = f'<script type="application/json" id="{name}">'
    _, found, rest = page.partition(begin)
    text, ended, _ = rest.partition("</script>")
    return text if found and ended and begin not in rest else None


def report_text(given: str | PathLike[str], refuse: Refuse, limits: Limits = LIMITS) -> str:
    """JSON of a report, from its text, its file or its page; nothing else of a page is looked at.

    Parameters
    ----------
    given : str or path
        The JSON, the page, or the path of either.
    refuse : callable
        Makes the caller's error of what is wrong.
    limits : Limits, optional
    """
    whole = isinstance(given, str) and is_page(given)
    text = str(given) if whole else json_text(given, refuse, limits)
    if not is_page(text):
        return text
    carried = carried_text(text, REPORT_ID)
    if carried is None:
        raise refuse(NO_REPORT)
    return carried
