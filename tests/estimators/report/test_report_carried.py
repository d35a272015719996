"""Pages that carry their report: whatever a person reads is what was written."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from dpforest import BudgetLedger, ReportError, ReportHeader, verify_report
from dpforest.audit import AuditResult, FoundEvent
from dpforest.exceptions import MissingExtraError, ParameterError
from dpforest.report import page as report_page
from dpforest.report.digests import digest_of
from dpforest.verify.page import LINE_ENDS, NO_REPORT, NOT_THE_SAME

pytest.importorskip("jinja2")

AUDIT = AuditResult(
    subject="the <forest>", pair="a lone record", relation="add_remove", claimed_epsilon=1.0,
    delta=0.0, lower_bound=0.6, interval=(0.6, 0.9), runs=1000, confidence=0.95,
    event=FoundEvent(description="leaf 3 is ill", likelier_on="first", hits_first=90,
                     hits_second=50, runs=500),
    largest_certifiable=float("inf"), verdict="consistent", reason="No violation found.",
)  # fmt: skip


def refused(problem, *given, **options):
    with pytest.raises(ReportError) as caught:
        verify_report(*given, **options)
    assert any(problem in text for text in caught.value.problems), caught.value.problems


# -- pages ---------------------------------------------------------------------------------------


def test_every_page_holds_with_its_model(model, tmp_path):
    report = model.privacy_report()
    page = report.to_html(tmp_path / "report.html")
    found = verify_report(tmp_path / "report.html", model)
    assert "every byte of the page" in found.held
    assert "everything against the model and its fingerprint" in found.held
    assert (tmp_path / "report.html").read_bytes() == page.encode()


def test_what_carries_no_report_is_not_called_false(fitted, tmp_path):
    """A file that is not there, one that is no text, a report in words, and files of others."""
    model = fitted("multinomial")
    words = model.privacy_report().to_markdown(tmp_path / "report.md")
    model.to_json(tmp_path / "model.json")
    (tmp_path / "report.bin").write_bytes(b"\xff\xfe")
    place = f"sqlite:///{tmp_path}/book.ledger"
    with BudgetLedger.open(place, actor="olga", create=True) as ledger:
        exported = ledger.export_json()
    for given, said in (
        (str(tmp_path / "nope.json"), "cannot be read (there is none)"),
        (tmp_path, "it is a folder"),
        (tmp_path / "report.bin", "no text in UTF-8"),
        (tmp_path / "report.md", "Markdown, which carries no figures to check"),
        (words, "Markdown, which carries no figures to check"),
        (tmp_path / "model.json", "it is no report but a stored model. Give the page"),
        (model.domain.to_json(), "it is no report but a domain"),
        (exported, "it is no report but an export of a ledger"),
    ):
        with pytest.raises(ParameterError) as caught:
            verify_report(given)
        assert said in str(caught.value) and "does not hold" not in str(caught.value)


@pytest.fixture(scope="module")
def page(fitted):
    """A page with everything on it."""
    header = ReportHeader(title="Severity <of> masses", date="2026-11-23")
    return fitted("multinomial").privacy_report(header).to_html(audit=AUDIT)


@pytest.fixture(scope="module")
def read(page):
    """Every tenth piece of what a person reads on the page, by where it begins."""
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    return list(re.finditer(r">\s*([^<>\s][^<>]*)<", body))[::10]


def test_a_change_of_any_word_is_found(page, read):
    start = page.index("<body>")
    assert len(read) > 20
    for match in read:
        place = start + match.start(1)
        letter = "x" if page[place] != "x" else "y"
        refused(NOT_THE_SAME, page[:place] + letter + page[place + 1 :])


EDITS = {
    "a figure": ("73.11 %", "53.11 %"),
    "what hides a line": ("<style>", "<style>.decide { display: none }"),
    "a line of style": (".decide dt {", ".decide dt { color: white;"),
    "a script": ("</body>", "<script>alert(1)</script></body>"),
    "an attribute": ('data-label="source"', 'data-label="from"'),
    "a blank": ("</main>", "</main> "),
    "the end": ("</html>", "</html>\n"),
    "the policy": ("default-src 'none'; ", ""),
    "the audit, on the page": ("No violation found.", "All is proven."),
    "the picture": ('stroke-width="2.4"', 'stroke-width="0"'),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_a_page_are_found(edit, page):
    old, new = EDITS[edit]
    assert old in page
    refused(NOT_THE_SAME, page.replace(old, new, 1))


def test_line_ends_and_marks_of_another_system_are_found(page, tmp_path):
    path = tmp_path / "report.html"
    path.write_bytes(page.replace("\n", "\r\n").encode())
    refused(LINE_ENDS, path)
    path.write_bytes(page.replace("73.11 %", "53.11 %").replace("\n", "\r\n").encode())
    refused(NOT_THE_SAME, path)


def test_a_changed_json_is_found_as_any_report_is(page):
    refused("belongs to another text", page.replace('"verbose":0', '"verbose":7', 1))
    changed = page.replace('\\u003cof\\u003e masses","', 'of masses","')
    assert changed != page
    refused("belongs to another text", changed)


def carried(page):
    begin, end = '<script type="application/json" id="dpforest-report">', "</script>"
    before, _, rest = page.partition(begin)
    text, _, after = rest.partition(end)
    return before + begin, text, end + after


def test_a_forged_json_needs_a_page_that_it_makes(page):
    """Who makes the digest anew must write the page anew too, and then people read the forgery."""
    before, text, after = carried(page)
    data = json.loads(text)
    data["header"]["title"] = "Another title"
    rest = {key: value for key, value in data.items() if key != "digest"}
    forged = json.dumps(rest | {"digest": digest_of(rest)}, separators=(",", ":"))
    refused(NOT_THE_SAME, before + forged + after)


def test_the_json_of_a_page_is_the_report(page, fitted):
    _, text, _ = carried(page)
    report = fitted("multinomial").privacy_report(
        ReportHeader(title="Severity <of> masses", date="2026-11-23")
    )
    assert json.loads(text) == json.loads(report.to_json())
    assert text.isascii() and not set("<>&") & set(text)


def test_audits_on_a_page_are_taken_at_its_word(page, fitted):
    assert "what the audits on the page found" in verify_report(page).taken_at_its_word
    assert "what the audits on the page found" in str(verify_report(page, fitted("multinomial")))
    plain = fitted("multinomial").privacy_report().to_html()
    assert "what the audits" not in str(verify_report(plain))
    for old, new in (('id="dpforest-audits">[{', 'id="dpforest-audits">[7,{'), ('"pair":', '"x":')):
        assert old in page
        refused(NOT_THE_SAME, page.replace(old, new, 1))


def test_pages_that_carry_no_report_or_two(page, tmp_path):
    before, text, _ = carried(page)
    refused(NO_REPORT, "<!DOCTYPE html>\n<p>hello</p>")
    (tmp_path / "page.html").write_text(before, "utf-8")
    refused(NO_REPORT, str(tmp_path / "page.html"))
    refused(NO_REPORT, page.replace("dpforest-report", "another"))
    begin = '<script type="application/json" id="dpforest-report">'
    refused(NO_REPORT, page.replace("</body>", f"{begin}{text}</script></body>"))


def test_a_stored_page_of_this_version_is_written_again():
    """Whoever changes what a page says or how it looks raises PAGE_VERSION in report/page.py.

    Then this page becomes one of an earlier version, and a page of the new one is stored beside it.
    """
    page = (Path(__file__).with_name("earlier") / "page_1.html").read_text("utf-8")
    assert "every byte of the page" in verify_report(page).held


def test_a_page_of_another_version_says_who_can_compare_it(page):
    later = page.replace("page version 1", "page version 2")
    refused("it is of page version 2", later)
    refused("it is of page version 0", page.replace('name="generator"', 'name="made by"'))


def test_a_page_without_the_engine(page, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    report_page.environment.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match="report"):
            verify_report(page)
    finally:
        report_page.environment.cache_clear()
