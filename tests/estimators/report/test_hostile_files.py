"""Files of reports that somebody made to mislead: read or refused, and never in power."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dpforest import PrivacyReport, ReportError, ReportHeader, UtilityFigure, verify_report
from dpforest.audit import OneRunResult
from dpforest.exceptions import ModelFormatError
from dpforest.report.audits import shown_audits
from dpforest.report.making import report_digest

pytest.importorskip("jinja2")

#: Clears a terminal, and turns a line around.
STEERS = "\x1b[2J\u202e"
FORMS = ("to_markdown", "to_html", "to_model_card", "to_registry", "_repr_html_")


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where texts and keys stand in a report; of a list its first members."""
    if isinstance(data, dict):
        for key, part in data.items():
            yield (*path, key, "key")
            yield from places(part, (*path, key))
    elif isinstance(data, list):
        for number, part in enumerate(data[:2]):
            yield from places(part, (*path, number))
    elif isinstance(data, str):
        yield (*path, "text")


def changed(data: Any, place: tuple[Any, ...], added: str) -> str:
    """The text of a report with something added to a text or a key of it."""
    whole = inside = copy.deepcopy(data)
    *way, last, kind = place
    for step in way:
        inside = inside[step]
    if kind == "key":
        inside[last + added] = inside.pop(last)
    else:
        inside[last] += added
    return json.dumps(whole)


def with_value(report: PrivacyReport, value: Any, *way: Any) -> str:
    data = inside = json.loads(report.to_json())
    for step in way[:-1]:
        inside = inside[step]
    inside[way[-1]] = value
    return json.dumps(data)


def texts_of(report: PrivacyReport, other: PrivacyReport) -> Iterator[tuple[str, str]]:
    for form in FORMS:
        try:
            made = getattr(report, form)()
        except ReportError as refusal:  # entries of which nothing follows
            made = str(refusal)
        yield form, made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
    yield "diff", str(other.diff(report))
    yield "diff the other way", str(report.diff(other))


@pytest.mark.parametrize("kind", ["one shot in rho", "diffprivlib accountant", "void"])
def test_no_text_of_a_file_steers_a_terminal(fitted, kind):
    own = fitted(kind).privacy_report()
    data, read = json.loads(own.to_json()), 0
    alike = {tuple("*" if isinstance(step, int) else step for step in p): p for p in places(data)}
    for place in alike.values():
        try:
            report = PrivacyReport.from_json(changed(data, place, STEERS))
        except ModelFormatError as refusal:
            assert "\x1b" not in str(refusal), place
            continue
        read += 1
        for form, text in texts_of(report, own):
            assert not {"\x1b", "\u202e"} & set(text), (place, form)
        report = report.model_copy(update={"digest": report_digest(report)})
        try:
            verify_report(report.to_json())
        except ReportError as refusal:
            assert "\x1b" not in f"{refusal} {refusal.problems}", place
    assert read > 40


@pytest.mark.parametrize(
    ("value", "way"),
    [
        ({}, ("domain",)),
        (5, ("domain", "features")),
        ("low", ("domain", "features", 0, "lower")),
        ({}, ("domain", "classes")),
        ([{"library": "x"}], ("external",)),
    ],
)
def test_parts_of_which_no_page_can_be_made_are_refused_as_they_are_read(fitted, value, way):
    text = with_value(fitted("rules").privacy_report(), value, *way)
    with pytest.raises(ModelFormatError, match="its parts are not those of one"):
        PrivacyReport.from_json(text)


def test_reports_of_one_digest_are_not_the_same_for_it(fitted):
    own = fitted("rules").privacy_report()
    for value, way in (
        ("Nothing was spent.", ("sentence",)),
        ("another", ("composition", "children", 0, "label")),
    ):
        forged = PrivacyReport.from_json(with_value(own, value, *way))
        assert forged.digest == own.digest
        found = own.diff(forged)
        assert not found.same and "details that no section names" in str(found)


def test_of_figures_with_one_name_each_change_is_told(fitted):
    def report(*values: float) -> PrivacyReport:
        figures = [
            UtilityFigure(name="accuracy", value=v, origin="public holdout", source="open")
            for v in values
        ]
        return fitted("rules").privacy_report(utility=figures)

    texts = [change.text for change in report(0.9, 0.8).diff(report(0.7, 0.8)).of("utility")]
    assert texts == ["accuracy, public holdout: open changed from '0.9' to '0.7'"]
    assert len(report(0.9, 0.8).diff(report(0.9)).of("utility")) == 1


def test_a_dash_that_was_typed_in_is_no_absence(fitted):
    one = fitted("rules").privacy_report()
    other = fitted("rules").privacy_report(ReportHeader(purpose="-"))
    assert [change.text for change in one.diff(other).of("header")] == ["purpose is new: '-'"]
    assert "purpose is gone" in str(other.diff(one))


def test_figures_of_a_void_report_are_compared_as_no_guarantee(fitted, fit_anew):
    one = fitted("void").privacy_report()
    other = fit_anew(domain=None, epsilon=2).privacy_report()
    rows = [c.what for c in one.diff(other).of("guarantee") if "epsilon" in c.what]
    assert rows and all("of the paid part alone, no guarantee" in what for what in rows)


def test_an_infinite_figure_is_compared_and_stays_out_of_the_registry(fitted):
    own = fitted("rules").privacy_report()
    text = with_value(own, "Infinity", "guarantee", "bounds", 0, "epsilon")
    endless = PrivacyReport.from_json(text)
    assert "rose from 0.9 to inf" in str(own.diff(endless)).replace("∞", "inf")
    loss = endless.to_registry()["deployment"]["privacy_loss"]
    assert (
        "privacy_parameters" not in loss
        and "privacy_parameters" in own.to_registry()["deployment"]["privacy_loss"]
    )


def test_no_audit_is_of_the_claim_of_a_void_report(fitted):
    report = fitted("void").privacy_report()
    audit = OneRunResult(
        subject="s", claimed_epsilon=report.guarantee.bounds[0].epsilon, delta=0.0,
        lower_bound=0.0, confidence=0.95, verdict="consistent", largest_certifiable=1.0,
        reason="r", canaries=10, guesses=5, correct=3,
    )  # fmt: skip
    (shown,) = shown_audits(audit)
    assert not shown.is_of(report)
    held = fitted("multinomial").privacy_report()
    assert shown.is_of(held)
    assert "this is not the claim of this report" in report.to_html(audit=audit)


BARE = "see HTTPS://evil.example/a|b, www.evil.example, ftp://evil.example and me@evil.example `x"


def test_texts_of_others_make_no_links_in_markdown(fitted):
    header = ReportHeader(title=BARE, description=BARE, purpose=BARE, data_set=BARE, access=BARE)
    report = fitted("rules").privacy_report(header)
    for text in (report.to_model_card().partition("\n---\n")[2], report.to_markdown()):
        assert text.count("`HTTPS://`evil.example/a\\|b") > 1
        for sign in ("HTTPS://", "www.", "ftp://", "@"):
            assert text.count(sign) == text.count(f"`{sign}`") > 1, sign


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("# Approved by the regulator", r"\# Approved"),
        ("> said", r"\> said"),
        ("- one", r"\- one"),
        ("12. one", r"12\. one"),
        ("12) one", r"12\) one"),
        ("--- ", r"\---"),
        ("2025 was a year", "2025 was"),
        ("A forest - of trees #1", "A forest - of trees #1"),
    ],
)
def test_what_begins_a_line_of_a_card_is_no_markup(fitted, typed, shown):
    header = ReportHeader(title="t", description=typed)
    card = fitted("rules").privacy_report(header).to_model_card()
    assert f"\n{shown}" in card


def test_only_an_address_of_the_web_is_one_in_the_registry(fitted):
    header = ReportHeader(evidence=("httpx:evil", "https://example.org"))
    entry = fitted("rules").privacy_report(header).to_registry()
    sources = entry["deployment"]["administrative"]["evidence_sources"]
    assert [list(source["misc"]) for source in sources.values()] == [["note"], ["url"]]
