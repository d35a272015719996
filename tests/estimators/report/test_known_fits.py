"""A report says in its first lines which fits it knows of, and which it cannot: never "first"."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate

from dpforest import (
    BudgetAccountant,
    MultinomialForestClassifier,
    PrivacyReport,
    RepeatedFitWarning,
    ReportError,
    verify_report,
)

EARLIER = Path(__file__).with_name("earlier")
ONLY = "This report knows only of fits of this object and its clones, made in the process of"
NOT = "It does not know of fits of other objects, of those in other processes"
X = [[20 + i % 60, ("red", "green", "blue")[i % 3], (i % 7) / 7] for i in range(24)]
y = ["ill" if i % 2 else "well" for i in range(24)]

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.RepeatedFitWarning")


def shown(report: PrivacyReport) -> dict[str, str]:
    """The report in each of its forms, from the top."""
    pytest.importorskip("jinja2")
    page = report.to_html()
    return {
        "text": str(report),
        "markdown": report.to_markdown(),
        "HTML": page[page.index("<body>") :].replace("&#39;", "'"),
        "notebook": report._repr_html_().replace("&#39;", "'"),
        "JSON": report.to_json(),
    }


#: How far down the statement may begin: lines, by form. What stands above it is the title, the
#: status, the sentence, and what that means to whom: all of it is on the first half page.
FIRST_LINES = {"text": 10, "markdown": 10, "HTML": 20, "notebook": 4, "JSON": 5}


def assert_said_first(report: PrivacyReport, count: str) -> None:
    for form, text in shown(report).items():
        above, found, below = text.partition(ONLY)
        assert found, form
        assert len(above.splitlines()) <= FIRST_LINES[form], form
        line = below.splitlines()[0]
        assert count in line and NOT in line, form
        assert "first fit" not in text, form


def test_separate_objects_are_not_linked_and_no_report_says_otherwise(fit_anew):
    """Three objects, the same records: nobody can add them up, so none claims to be the first."""
    for _ in range(3):
        report = fit_anew().privacy_report()
        assert_said_first(report, "1 fit, this one, charged to a budget of its own")
        verify_report(report)


@pytest.mark.parametrize("name", ["void", "demonstration", "shared accountant", "regression"])
def test_every_kind_of_report_says_so(name, fitted):
    report = fitted(name).privacy_report()
    assert_said_first(report, "1 fit, this one, charged to ")
    assert report.other_fits == report.known_fits
    keys = list(json.loads(report.to_json()))
    assert keys[:4] == ["format", "version", "sentence", "other_fits"]


def search(n_jobs: int) -> PrivacyReport:
    from dpforest import Domain

    domain = Domain(
        features={"age": (0, 100), "colour": ["red", "green", "blue"], "size": (0, 1)},
        classes=["ill", "well"],
    )
    forest = MultinomialForestClassifier(epsilon="0.5", domain=domain, n_estimators=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            GridSearchCV(forest, {"max_depth": [1, 2]}, cv=3, n_jobs=n_jobs)
            .fit(X, y)
            .best_estimator_.privacy_report()
        )


def test_a_grid_search_in_this_process_is_known():
    """Two depths, three folds, and the best once more."""
    assert_said_first(search(1), "7 fits (7 charged to a budget of its own), this one the last")
    assert "epsilon = 3.5" in search(1).other_fits


def test_a_grid_search_in_other_processes_is_not_and_the_report_says_that_it_cannot_be():
    report = search(2)
    assert_said_first(report, "1 fit, this one, charged to a budget of its own")
    assert "a search or cross-validation with n_jobs starts some" in report.other_fits


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds(n_jobs, fit_anew):
    model = clone(fit_anew())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cross_validate(model, X, y, cv=3, n_jobs=n_jobs, return_estimator=True)
    reports = [fold.privacy_report() for fold in found["estimator"]]
    # The object was fitted once before. A fold in another process knows of that one, of itself,
    # and of what else that process happened to fit.
    counts = ["2 fits", "3 fits", "4 fits"] if n_jobs == 1 else [" fits "] * 3
    for report, count in zip(reports, counts, strict=True):
        assert_said_first(report, count)
    # Those that were handed back are known here from now on.
    assert_said_first(model.fit(X, y).privacy_report(), "5 fits")


SESSION = """
import sys, pickle
model = pickle.load(sys.stdin.buffer)
report = model.fit({X!r}, {y!r}).privacy_report()
sys.stdout.buffer.write(pickle.dumps((report.other_fits, model)))
"""


def test_another_session_is_known_only_by_what_comes_back(fit_anew):
    model = fit_anew()
    run = [sys.executable, "-W", "ignore", "-c", SESSION.format(X=X[:4], y=y[:4])]
    done = subprocess.run(run, input=pickle.dumps(model), capture_output=True, check=True)
    there = pickle.loads(done.stdout)[0]
    assert there.startswith(ONLY) and "2 fits" in there and NOT in there
    # Unpickling brought the other session's fit along: one there, one before, one now.
    assert_said_first(model.fit(X, y).privacy_report(), "3 fits")


@pytest.mark.parametrize("again", [clone, lambda model: model, pickle.dumps])
def test_clones_refits_and_copies_are_known_here(again, fit_anew):
    model = fit_anew()
    copied = again(model)
    copied = pickle.loads(copied) if isinstance(copied, bytes) else copied
    assert_said_first(copied.fit(X, y).privacy_report(), "2 fits")


def test_a_shared_accountant_is_named_beside_the_count(fit_anew):
    accountant = BudgetAccountant(9, name="survey")
    fit_anew(accountant=accountant)
    report = fit_anew(accountant=accountant).privacy_report()
    assert_said_first(report, "1 fit, this one, charged to accountant 'survey'")


# -- what earlier releases wrote ------------------------------------------------------------------


def test_reports_of_before_are_read_and_shown_without_their_claim():
    text = (EARLIER / "report_2.json").read_text("utf-8")
    assert "first fit of this object" in text
    report = PrivacyReport.from_json(text)
    assert report.version == 2 and report.other_fits.startswith("first fit")
    assert json.loads(report.to_json())["sentence"] == report.sentence
    forms = shown(report)
    del forms["JSON"]  # the old text stays what it was
    for form, words in forms.items():
        read, _, _ = words.partition("<script")  # the page carries the old text as its data
        assert ONLY in read and "first fit" not in read, form
    assert report.diff(report).changes == ()
    with pytest.raises(ReportError, match="format version 2.* that wrote it can verify it"):
        verify_report(report)
    with pytest.raises(ReportError, match="format version 2"):
        verify_report(text, EARLIER / "model.json")


def test_reports_of_version_3_are_read_and_shown_and_their_models_go_on():
    text = (EARLIER / "report_3.json").read_text("utf-8")
    report = PrivacyReport.from_json(text)
    assert report.version == 3 and json.loads(report.to_json()) == json.loads(text)
    for words in shown(report).values():
        assert report.guarantee.sentence in words or "4" in words
    with pytest.raises(ReportError, match="format version 3.* that wrote it can verify it"):
        verify_report(report, EARLIER / "model_of_report_3.json")
    model = MultinomialForestClassifier.from_json(EARLIER / "model_of_report_3.json")
    again = model.privacy_report()
    assert again.version == 5 and again.guarantee == report.guarantee
    found = verify_report(again, model)
    assert "the plan (made by another version of dpforest)" in found.taken_at_its_word
    assert again.versions["dpforest"].endswith(", model format 2")


def test_reports_of_version_4_are_verified_as_they_were_written():
    text = (EARLIER / "report_4.json").read_text("utf-8")
    report = PrivacyReport.from_json(text)
    assert report.version == 4 and json.loads(report.to_json()) == json.loads(text)
    assert "header" not in json.loads(text) and not report.header.stated
    found = verify_report(text, EARLIER / "model_of_report_4.json")
    assert "everything against the model and its fingerprint" in found.held
    verify_report(report.to_html())
    for words in shown(report).values():
        assert "(0.9, 0)-differentially private" in words
    data = json.loads(text)
    for change in ({"sentence": "Perfectly private."}, {"header": {}}, {"utility": []}):
        with pytest.raises(ReportError):
            verify_report(json.dumps(data | change))


def test_models_of_before_are_read_unless_their_facts_were_only_drafted():
    model = MultinomialForestClassifier.from_json(EARLIER / "model.json")
    assert model.guarantee_.status == "holds"
    verify_report(model.privacy_report(), model)
    with pytest.raises(ValueError, match="where a source other than the draft is named for each"):
        MultinomialForestClassifier.from_json(EARLIER / "model_confirmed.json")


def test_a_sum_of_certified_fits_names_its_delta():
    """Their epsilon holds at a delta only: without it the sum would read as a pure epsilon."""
    from dpforest.accounting.fits import register_fit
    from dpforest.accounting.losses import PrivacyLoss
    from dpforest.report.known_fits import counted_fits

    certified = PrivacyLoss(Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6))
    register_fit("certified", "Forest", certified)
    with pytest.warns(RepeatedFitWarning, match="epsilon = 1 with delta = 2e-06 so far"):
        listing = register_fit("certified", "Forest", certified)
    assert re.search("epsilon = 1 with delta = 2e-06, rho = 0.02", counted_fits(listing))
    pure = PrivacyLoss(Fraction(1, 2), Fraction(1, 8), Fraction(0))
    register_fit("pure", "Forest", pure)
    with pytest.warns(RepeatedFitWarning):
        assert "delta" not in counted_fits(register_fit("pure", "Forest", pure))
