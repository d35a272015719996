"""Models, reports and pages between machines that convert rho by other means.

One machine has the accounting library, the other has the closed form alone. Every kind of fit goes
both ways: a model claims what can be shown where it is read, and a report or a page that claims
less than can be shown is refused in those words and no others.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import pytest

from dpforest import load_model, verify_report
from dpforest.accounting import conversion
from dpforest.accounting.conversion import CLOSED_FORM
from dpforest.estimators import fitting
from dpforest.exceptions import ModelFormatError, ReportError
from dpforest.report.making import report_digest
from dpforest.report.versions import NOT_INSTALLED, library_versions
from tests.estimators.report.conftest import MAKERS, TABLE, fit, private

pytest.importorskip("dp_accounting")
SAID = "its epsilon cannot be shown here"
NOTED = {"dp-accounting": NOT_INSTALLED}
#: Fits of which a claim follows from caps that are alternatives, the second of them in rho.
CAPPED = "waits for a count, beside other fits"


@contextmanager
def without_library(monkeypatch):
    """As on a machine that has the closed form alone."""
    caches = (conversion._epsilon_of_rho, conversion.rho_of_epsilon)
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "_library_bound", lambda *_: None)
        patch.setattr(conversion, "_has_library", lambda: False)
        for cache in caches:
            cache.cache_clear()
        patch.setattr(fitting, "library_versions", lambda: library_versions() | NOTED)
        yield
    for cache in caches:
        cache.cache_clear()


def problems_of(report, model=None):
    try:
        verify_report(report, model)
    except ReportError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("name", MAKERS)
def test_a_model_goes_there_and_back(name, fitted, monkeypatch):
    model = fitted(name)
    text = model.to_json()
    with without_library(monkeypatch):
        there = load_model(text)
        assert there.fingerprint_ == model.fingerprint_
        assert there.guarantee_.status == model.guarantee_.status
        assert there.guarantee_.epsilon >= model.guarantee_.epsilon
        again = there.to_json()
        assert load_model(again).guarantee_ == there.guarantee_
    assert load_model(again).guarantee_ == model.guarantee_


@pytest.mark.parametrize("name", MAKERS)
def test_a_report_is_shown_there_or_cannot_be(name, fitted, monkeypatch):
    model = fitted(name)
    text, report = model.to_json(), model.privacy_report()
    page = report.to_html()
    with without_library(monkeypatch):
        made = load_model(text).privacy_report()
        for written in (report, page):
            problems = problems_of(written)
            assert bool(problems) == (made.guarantee != report.guarantee)
            assert all(text.startswith(SAID) for text in problems)
        shown = made.to_html()
        assert problems_of(made, text) == problems_of(shown) == ()
    for written in (made, shown):
        assert problems_of(written) == problems_of(written, model) == ()


@pytest.mark.parametrize("name", [name for name in MAKERS if "diffprivlib" not in name])
def test_what_was_fitted_there_is_shown_here(name, monkeypatch):
    with without_library(monkeypatch):
        model = fit(name)
        text, report = model.to_json(), model.privacy_report()
        page = report.to_html()
        assert problems_of(report) == problems_of(page) == ()
    assert problems_of(report, text) == problems_of(page) == ()
    assert load_model(text).guarantee_.epsilon <= model.guarantee_.epsilon


@pytest.mark.parametrize("epsilon", [4, 20])
def test_few_releases_on_a_large_budget(epsilon, monkeypatch):
    # rho is converted for one relation or both, where a list as a whole says less.
    def fitted_one():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return private("one_shot", delta=1e-6, epsilon=epsilon).fit(*TABLE)

    here = fitted_one()
    text, report = here.to_json(), here.privacy_report()
    with without_library(monkeypatch):
        there = fitted_one()
        assert load_model(text).guarantee_.epsilon >= here.guarantee_.epsilon
        assert all(problem.startswith(SAID) for problem in problems_of(report))
        stored, made = there.to_json(), there.privacy_report()
        assert problems_of(made, stored) == ()
    assert any("converted by" in bound.derivation for bound in here.guarantee_.bounds)
    assert problems_of(made, stored) == ()


def test_a_certificate_that_rests_on_rho_is_refused_in_those_words(monkeypatch):
    # Few releases and a bought count on a large budget: the list is certified by its rho.
    text = private("one_shot", rows=None, delta=1e-6, epsilon=20).fit(*TABLE).to_json()
    assert load_model(text).to_json() == text
    with without_library(monkeypatch), pytest.raises(ModelFormatError) as caught:
        load_model(text)
    assert f"as it can be shown here, where rho is converted by {CLOSED_FORM}" in str(caught.value)


def test_a_claim_by_caps_is_larger_there(fitted, monkeypatch):
    model = fitted(CAPPED)
    assert model._scope.record().caps
    text = model.to_json()
    with without_library(monkeypatch):
        there = load_model(text)
        assert there.guarantee_.epsilon > model.guarantee_.epsilon
        assert there.spent_.exact.epsilon > model.spent_.exact.epsilon


def test_older_reports_that_do_not_say_how_they_were_planned(fitted, monkeypatch):
    report = fitted("refitted").privacy_report()
    versions = {k: v for k, v in report.versions.items() if k != "dp-accounting"}
    older = report.model_copy(update={"versions": versions})
    older = older.model_copy(update={"digest": report_digest(older)})
    with without_library(monkeypatch):
        assert problems_of(older) == ()
        assert any("of other means" in text for text in verify_report(older).taken_at_its_word)
    assert "plan and settings" in verify_report(older).held
