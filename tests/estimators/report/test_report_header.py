"""What people type in: shown as it is typed, said to be missing where it is, read from nothing."""

from __future__ import annotations

import datetime
import html
import json
import pickle
from unittest import mock

import pytest

from dpforest import (
    BudgetAccountant,
    PrivacyReport,
    ReportError,
    ReportHeader,
    UtilityFigure,
    verify_report,
)
from dpforest.accounting.events import GeometricNoise
from dpforest.estimators import engine
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.report.decision import decision_of
from dpforest.report.digests import digest_of
from dpforest.report.header import LABELS
from dpforest.report.text import cell
from dpforest.report.utility import GROUPS

TEN = ("title", "data set", "people concerned", "curator", "purpose", "why this ε", "date",
       "trust model", "access", "retention")  # fmt: skip
FULL = {name: f"the {label}" for name, label in LABELS.items()} | {
    "sector": "Healthcare", "curator_type": "Nonprofit", "data_source": "Static",
    "date": datetime.date(2026, 11, 23), "authors": ("Ana", "Ben"),
    "evidence": ("https://example.org/paper",),
}  # fmt: skip
PUBLIC = UtilityFigure(
    name="accuracy", value=0.8123, origin="public holdout", source="census of 2020", records=900,
    lower=0.79, upper=0.83, baseline=0.7,
)  # fmt: skip


def paid_entry():
    """An entry of the books of somebody who bought a noisy count."""
    accountant = BudgetAccountant(1, name="the survey")
    with accountant.open_scope("how well it does") as scope:
        scope.request(GeometricNoise(epsilon="1/10", l1_sensitivity=1), role="right and wrong")
    return accountant.ledger[0]


def paid(**changes):
    given = {"name": "accuracy", "value": 0.78, "origin": "paid release", "charged_to": "a survey",
             "source": "noisy counts of right and wrong", "grant": paid_entry()}  # fmt: skip
    return UtilityFigure(**(given | changes))


# -- the header ----------------------------------------------------------------------------------


def test_without_a_header_every_form_says_that_nothing_was_stated(fitted):
    report = fitted("multinomial").privacy_report()
    assert report.header == ReportHeader() and report.header.stated == {}
    text = report.to_markdown()
    for label in TEN:
        assert f"| {label} | not stated |" in text
    (rest,) = [line for line in text.splitlines() if line.startswith("| also not stated | ")]
    assert set(rest.split(" | ")[1].strip(" |").split(", ")) == set(LABELS.values()) - set(TEN)


def test_what_was_typed_in_is_shown_and_travels(fitted):
    report = fitted("multinomial").privacy_report(header=ReportHeader(**FULL))
    text, page = report.to_markdown(), report.to_html()
    for name, label in LABELS.items():
        value = report.header.stated[name]
        assert f"| {label} | {cell(value)} |" in text
        assert f'<th scope="row">{label}</th><td>{value}</td>' in page
    assert report.header.date == "2026-11-23" and "also not stated" not in text
    assert "<h1>the title</h1>" in page and "# Privacy report: the title\n" in text
    again = PrivacyReport.from_json(report.to_json())
    assert again == report and pickle.loads(pickle.dumps(report)) == report
    found = verify_report(report, fitted("multinomial"))
    assert "typed into its header" in str(found)


def test_a_header_changes_nothing_else(fitted):
    model = fitted("multinomial")
    plain, typed = model.privacy_report(), model.privacy_report(ReportHeader(**FULL))
    assert typed.guarantee == plain.guarantee and typed.notices == plain.notices
    assert typed.model_fingerprint == plain.model_fingerprint and typed.digest != plain.digest
    assert model.privacy_report() == plain
    assert {change.section for change in plain.diff(typed).changes} == {"header"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", ""), ("title", "  "), ("title", "two\nlines"), ("title", "\u202eturned"),
     ("title", "x" * 4001), ("title", "\ud800"), ("title", 3), ("date", "yesterday"),
     ("date", "2026-02-30"), ("date", datetime.datetime(2026, 1, 1)), ("sector", "Sports"),
     ("curator_type", "me"), ("data_source", "static"), ("authors", "Ana"), ("titel", "x")],
)  # fmt: skip
def test_what_is_no_header_is_refused_in_our_words(field, value):
    with pytest.raises(ParameterError) as caught:
        ReportHeader(**{field: value})
    assert caught.value.parameter.startswith(field) and caught.value.rule
    assert not [word for word in ("input", "valid", "string") if word in caught.value.rule]
    if field == "titel":
        assert "title" in caught.value.repair


@pytest.mark.parametrize("header", [{"title": "x"}, "x", 3])
def test_another_kind_of_header_is_refused(header, fitted):
    with pytest.raises(ParameterTypeError, match="must be a ReportHeader"):
        fitted("multinomial").privacy_report(header)


@pytest.mark.parametrize("name", ["multinomial", "void", "a ledger", "regression"])
def test_typed_texts_have_no_power(name, fitted):
    hostile = "</script><script>alert(1)</script> | `x` <b> &lt; ]]> {{ 7 * 7 }}"
    words = {k: v for k, v in FULL.items() if isinstance(v, str) and k not in _CHOICES}
    header = ReportHeader(**dict.fromkeys(words, hostile), authors=(hostile,))
    report = fitted(name).privacy_report(header)
    page, text = report.to_html(), report.to_markdown()
    assert "<script>" not in page and page.count("</script>") == 2
    assert "<script>" not in text and "<script>" not in report.to_model_card()
    verify_report(page)


_CHOICES = {"sector", "curator_type", "data_source", "date"}


# -- utility -------------------------------------------------------------------------------------


def test_public_figures_are_shown_with_their_origin_and_a_caution(fitted):
    report = fitted("multinomial").privacy_report(utility=PUBLIC)
    assert [n.text for n in report.notices if n.severity == "caution"] == [GROUPS]
    for text in (report.to_markdown(), report.to_html()):
        assert "0.8123 (0.79 to 0.83)" in text and GROUPS in text
        assert "public holdout (900 records): census of 2020" in text
    assert "no other figure" not in report.to_markdown()
    verify_report(report, fitted("multinomial"))


def test_a_paid_figure_shows_what_paid_for_it(fitted):
    report = fitted("multinomial").privacy_report(utility=[PUBLIC, paid()])
    cautions = [n.text for n in report.notices if n.severity == "caution"]
    assert len(cautions) == 2 and "charged to a survey (epsilon = 0.1, rho = " in cautions[0]
    assert "is no part of the guarantee of this fit" in cautions[0]
    assert PrivacyReport.from_json(report.to_json()) == report
    found = verify_report(report.to_html(), fitted("multinomial"))
    assert "figures of utility" in str(found)


def test_a_grant_that_contradicts_itself_is_found(fitted):
    report = fitted("multinomial").privacy_report(utility=paid())
    data = json.loads(report.to_json())
    data["utility"][0]["grant"]["epsilon"] = "1/1000"
    rest = {key: value for key, value in data.items() if key != "digest"}
    # The caution names the price, so a careful forger changes that too.
    rest["notices"][-2]["text"] = rest["notices"][-2]["text"].replace("= 0.1,", "= 0.001,")
    with pytest.raises(ReportError, match="does not follow from its mechanism"):
        verify_report(json.dumps(rest | {"digest": digest_of(rest)}))


def test_a_grant_of_the_fit_pays_for_no_figure(fitted):
    forest = fitted("multinomial")
    report = forest.privacy_report(utility=paid())
    for own in (report.composition.ledger[0], report.composition.ledger[-1]):
        for entry in (own, own.model_copy(update={"index": 0})):
            with pytest.raises(ParameterError, match="that a fit used") as caught:
                forest.privacy_report(utility=[PUBLIC, paid(grant=entry)])
            assert caught.value.parameter == "grant"
    # One who writes the figure into a report by hand is found too.
    forged = UtilityFigure(**paid().model_dump(exclude={"grant"}), grant=own)
    with mock.patch.object(engine, "checked_figures", lambda *_: (forged,)):
        text = forest.privacy_report(utility=forged).to_json()
    with pytest.raises(ReportError, match="names a grant that a fit used"):
        verify_report(text)


def test_a_grant_of_another_fit_pays_for_no_figure(fitted, fit_anew):
    accountant = BudgetAccountant(9, name="the survey")
    fit_anew(accountant=accountant)
    forest = fit_anew(accountant=accountant, max_depth=2)
    others = [entry for entry in accountant.ledger if entry.path[0] != forest._composition().label]
    assert others and len(others) < len(accountant.ledger)
    for grant in (others[0], others[-1], fitted("rules")._composition().ledger[0]):
        with pytest.raises(ParameterError, match="that a fit used"):
            forest.privacy_report(utility=paid(grant=grant))
    with mock.patch.object(engine, "checked_figures", lambda *_: (paid(grant=others[0]),)):
        text = forest.privacy_report().to_json()
    with pytest.raises(ReportError, match="names a grant that a fit used"):
        verify_report(text)
    with accountant.open_scope("fitness") as scope:
        scope.request(GeometricNoise(epsilon="1/10", l1_sensitivity=1), role="right and wrong")
    verify_report(forest.privacy_report(utility=paid(grant=accountant.ledger[-1])))


@pytest.mark.parametrize(
    "changes",
    [{"grant": None}, {"charged_to": None}, {"origin": "public holdout"}, {"records": 20},
     {"value": float("nan")}, {"value": float("inf")}, {"lower": 0.1}, {"upper": 0.1},
     {"lower": 0.9, "upper": 0.8}, {"origin": "the training records"}, {"source": ""}],
)  # fmt: skip
def test_a_figure_without_its_origin_is_refused(changes):
    with pytest.raises(ParameterError):
        paid(**changes)


def test_a_public_figure_has_no_grant():
    with pytest.raises(ParameterError, match="only that has them"):
        UtilityFigure(name="a", value=1, origin="public holdout", source="b", grant=paid_entry())


@pytest.mark.parametrize("utility", [0.8, "0.8", {"accuracy": 0.8}, [0.8]])
def test_another_kind_of_figure_is_refused(utility, fitted):
    with pytest.raises(ParameterTypeError, match="must be a UtilityFigure"):
        fitted("multinomial").privacy_report(utility=utility)


# -- the top -------------------------------------------------------------------------------------


#: What Markdown would read as markup, and the report writes with a backslash.
_ESCAPED = str.maketrans({c: "\\" + c for c in "\\|`*[]~"})


def test_the_top_answers_what_a_person_asks_who_decides(model):
    report = model.privacy_report(ReportHeader(people="patients of the clinic"), PUBLIC)
    top = report.to_markdown().split("## Header")[0]
    assert report.sentence in top and "patients of the clinic" in top
    for question in ("What that means", "To whom", "Not covered", "Spent on this data set in all"):
        assert f"**{question}**" in top
    for notice in report.notices:
        shown = notice.text.translate(_ESCAPED) in top
        assert shown == (notice.severity != "note"), notice
    claims = report.guarantee.status in ("holds", "demonstration")
    assert ("a coin comes to 50 %" in top) == claims
    assert ("Nobody: no guarantee was earned" in top) == (not claims)


def test_the_top_says_what_a_ledger_knows_and_that_nothing_else_knows_it(fitted):
    place = fitted("a ledger").privacy_report().basis.ledger
    spent = decision_of(fitted("a ledger").privacy_report()).spent
    assert spent.startswith(f"{place.currency} = ") and "of a cap of" in spent
    assert "remains" in spent
    shared = decision_of(fitted("shared accountant").privacy_report()).spent
    assert "accountant 'the survey', which grants no more than (3, 0) in all" in shared
    alone = decision_of(fitted("multinomial").privacy_report()).spent
    assert alone == "No ledger keeps the total of this data set."


def test_units_and_the_best_guess(fitted):
    decision = decision_of(fitted("units of three records").privacy_report())
    assert (
        "up to 3 records" in decision.to_whom and "records of one certain person" in decision.guess
    )
    assert "at most 73.11 %" in decision_of(fitted("multinomial").privacy_report()).guess


def test_nothing_is_said_twice(fitted):
    """Cautions stand on top alone, notes further down alone; reasons, lists and digests once."""
    report = fitted("void").privacy_report(utility=PUBLIC)
    page = html.unescape(report.to_html().split("<script")[0])
    assert {notice.severity for notice in report.notices} == {"void", "caution", "note"}
    for form, text in {"page": page, "words": report.to_markdown()}.items():
        for notice in report.notices:
            assert text.count(notice.text) == 1, (form, notice.text)
        for line in (*report.not_covered, report.domain_fingerprint, report.model_fingerprint):
            written = cell(line) if form == "words" else line
            assert text.count(written) == 1, (form, line)


def test_a_header_prints_what_is_set_alone():
    assert (
        str(ReportHeader(title="x")) == repr(ReportHeader(title="x")) == ("ReportHeader(title='x')")
    )
    assert str(ReportHeader(authors=("Ana",))) == "ReportHeader(authors=('Ana',))"
    assert str(ReportHeader()) == "ReportHeader()"
