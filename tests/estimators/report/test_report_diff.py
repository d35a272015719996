"""Differences between two reports, in words and as data."""

from __future__ import annotations

import pytest

from dpforest import Domain, diff_reports
from dpforest.report.diff import ReportDiff


@pytest.fixture
def before(fitted):
    return fitted("multinomial").privacy_report()


def test_a_report_does_not_differ_from_itself(model):
    report = model.privacy_report()
    assert report.diff(report).same and str(report.diff(report)) == "The reports say the same."


def test_another_fit_of_the_same_plan_is_another_model(before, fit_anew):
    found = before.diff(fit_anew().privacy_report())
    assert {change.section for change in found.changes} == {"model"}
    assert not found.same and "fingerprint of the model changed" in str(found)


def test_a_larger_budget(before, fit_anew):
    after = fit_anew(epsilon=2).privacy_report()
    found = diff_reports(before, after)
    texts = [change.text for change in found.of("guarantee")]
    assert "epsilon (add or remove one record) rose from 1 to 2" in texts
    assert "epsilon (replace one record) rose from 2 to 4" in texts
    (total,) = [c for c in found.of("budget") if c.what == "epsilon in all"]
    assert (total.before, total.after) == ("1", "2")
    assert any(c.what == "epsilon of each of 2 trees" for c in found.of("budget"))
    assert [c.text for c in found.of("estimator")] == ["parameter epsilon rose from 1 to 2"]
    back = diff_reports(after, before)
    assert "epsilon (add or remove one record) fell from 2 to 1" in str(back)
    assert {(c.what, c.after, c.before) for c in back.changes} == {
        (c.what, c.before, c.after) for c in found.changes
    }


def test_another_domain(before, fit_anew):
    features = [*before.domain["features"][:2], {"kind": "numeric", "name": "weight", "lower": 0,
                                                 "upper": 9}]  # fmt: skip
    features[0] = features[0] | {"upper": 120, "declared_by": None}
    domain = Domain(features=features, classes=before.domain["classes"], approximate_rows=40)
    found = before.diff(fit_anew(domain=domain).privacy_report())
    texts = "\n".join(change.text for change in found.of("domain"))
    assert "feature 'size' is gone" in texts and "feature 'weight' is new" in texts
    assert "feature 'age' changed" in texts and "order of features" in texts
    assert "feature 'colour'" not in texts


def test_a_void_guarantee(before, fitted):
    found = before.diff(fitted("void").privacy_report())
    assert "status changed from 'holds' to 'void'" in str(found)
    assert any("no domain was declared" in change.after for change in found.of("notices"))


def test_versions_plan_and_other_estimators(before, fitted):
    other = before.model_copy(update={"versions": before.versions | {"numpy": "0.1", "x": "1"}})
    texts = [change.text for change in before.diff(other).of("versions")]
    assert len(texts) == 2 and "x is new: 1" in texts
    found = before.diff(fitted("rules").privacy_report())
    assert found.of("plan") and "'PrivateForestClassifier'" in str(found)


def test_details_that_no_section_names(before):
    other = before.model_copy(update={"digest": "0" * 64})
    (change,) = before.diff(other).changes
    assert "details that no section names" in change.text


def test_it_is_data(before, fit_anew):
    found = before.diff(fit_anew(epsilon=2).privacy_report())
    assert ReportDiff.model_validate_json(found.model_dump_json()) == found
