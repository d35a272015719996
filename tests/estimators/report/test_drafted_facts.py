"""Facts that come from a draft: void until sources are named; bounds of one are a caution."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpforest import Domain, MultinomialForestClassifier, PrivacyLeakWarning, verify_report

EARLIER = Path(__file__).with_name("earlier")
X = [[20 + i % 60, ("red", "green")[i % 2]] for i in range(24)]
y = ["ill" if i % 3 else "well" for i in range(24)]
SOURCES = {"x0": "codebook p. 3", "x1": "codebook p. 4", "classes": "the law"}
BEGAN = (
    "The bounds of {} began as a draft of the records. If one of them is still the table's "
    "extreme, no budget has paid for it: compare them with the draft."
)
#: What the curator alone is told; tests/domain/test_confirmation.py holds it.
pytestmark = pytest.mark.filterwarnings("ignore::dpforest.DraftedBoundsWarning")


def reported(domain):
    model = MultinomialForestClassifier(epsilon=1, domain=domain, n_estimators=1, max_depth=1)
    report = model.fit(X, y).privacy_report()
    verify_report(report, model)
    verify_report(report.to_json(), model.to_json())
    return report


def cautions(report):
    return [notice.text for notice in report.notices if notice.severity == "caution"]


def test_a_draft_that_somebody_only_signed_has_no_guarantee_and_says_what_is_missing():
    signed = Domain.draft(X, y).confirmed(declared_by="me")
    with pytest.warns(PrivacyLeakWarning, match="x1: no source but the draft is named"):
        report = reported(signed)
    assert report.guarantee.status == "void"
    for name in ("x0", "x1", "classes"):
        assert f"{name}: no source but the draft is named" in report.sentence
        assert f"{name}: no source but the draft is named" in report.to_markdown()
    page = report.to_html()
    assert "Not all of these facts are public" in page
    assert "nobody looked them up" not in page


def test_each_entry_that_is_left_is_named():
    with pytest.warns(PrivacyLeakWarning):
        report = reported(Domain.draft(X, y).confirmed("me", sources={"x0": "codebook"}))
    assert "x0:" not in report.sentence
    assert "x1: no source but the draft is named, classes: no source" in report.sentence
    facts = json.loads(Domain.draft(X, y).to_json())
    facts["features"][0]["source"] = "codebook"
    with pytest.warns(PrivacyLeakWarning, match="x0: nobody confirmed it"):
        reported(Domain.from_json(json.dumps(facts)))


def test_bounds_that_began_as_a_draft_stay_a_caution_and_categories_may_be_right():
    report = reported(Domain.draft(X, y).confirmed("me", sources=SOURCES))
    assert report.guarantee.status == "holds"
    assert cautions(report) == [BEGAN.format("x0")]
    assert report.to_markdown().count("| declared, began as a draft |") == 1
    page = report.to_html()
    assert page.count("declared, began as a draft") == 1 and "compare them with the draft" in page
    assert "nobody looked them up" not in page and "as drafted" not in page
    mark = report.domain["features"][0]["drafted"]
    assert mark == {"lower": None, "upper": None, "codes": None}


def widened(**changes):
    facts = json.loads(Domain.draft(X, y).to_json())
    facts["features"][0] |= changes
    return Domain.from_json(json.dumps(facts)).confirmed("me", sources=SOURCES)


def test_the_caution_is_the_same_for_bounds_that_were_widened():
    """Were there none, its absence would tell that no bound is the table's extreme."""
    for changes in ({"lower": 0}, {"lower": 0, "upper": 110}):
        assert cautions(reported(widened(**changes))) == [BEGAN.format("x0")]
    assert "43" not in json.dumps(reported(widened(lower=0, upper=110)).domain)


def test_a_target_that_began_as_a_draft_is_a_caution_too():
    from dpforest import PrivateForestRegressor

    domain = Domain.draft(X, [i / 7 for i in range(24)])
    sources = {"x0": "codebook", "x1": "codebook", "target": "the device"}
    declared = domain.confirmed("me", sources=sources).model_copy(update={"approximate_rows": 5000})
    model = PrivateForestRegressor(epsilon=1, domain=declared).fit(X, [i / 7 for i in range(24)])
    report = model.privacy_report()
    assert BEGAN.format("x0 and target") in cautions(report)
    assert "(declared, began as a draft; declared by me)" in report.to_html()


def test_it_goes_by_the_marks_and_never_by_the_records():
    """The very extremes of the table, declared by hand, are a matter of whoever declared them."""
    by_hand = Domain(features={"x0": (20, 43), "x1": ["red", "green"]}, classes=["ill", "well"])
    assert cautions(reported(by_hand)) == []
    signed = Domain.draft(X, y).confirmed("me", sources=SOURCES)
    empty = MultinomialForestClassifier(epsilon=1, domain=signed, max_depth=1).fit([], [])
    assert BEGAN.format("x0") in cautions(empty.privacy_report())


def test_a_draft_of_before_is_read_and_needs_sources_too():
    old = Domain.from_json(EARLIER / "draft.json")
    assert old.confirmed("me").drafted_entries == ("x0", "x1", "classes")
    assert old.confirmed("me", sources=SOURCES).is_declared
