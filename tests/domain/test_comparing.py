"""Differences between two domains."""

from __future__ import annotations

import pytest

from dpforest.domain import Domain
from dpforest.exceptions import ParameterTypeError

ONE = Domain(
    features={
        "age": {"lower": 17, "upper": 90, "integer": True},
        "sex": ["Female", "Male"],
        "gone": (0, 1),
    },
    classes=["no", "yes"],
    approximate_rows=10,
)


def changes(first, second):
    return {(c.entry, c.field): (c.before, c.after) for c in first.diff(second).changes}


def test_every_field_that_differs_is_told():
    other = Domain(
        features={
            "sex": {"categories": ["Male", "Female", "X"], "missing": True, "source": "codebook"},
            "age": {"lower": 17, "upper": 95.5},
            "new": ["a"],
        },
        classes=["no", "maybe"],
        target=(0, 1),
        name="second",
        approximate_rows=20,
    )
    assert changes(ONE, other) == {
        ("domain", "name"): ("–", "second"),
        ("domain", "approximate_rows"): ("10", "20"),
        ("domain", "order of features"): ("age, sex", "sex, age"),
        ("age", "upper"): ("90", "95.5"),
        ("age", "integer"): ("yes", "no"),
        ("sex", "categories"): ("–", "X"),
        ("sex", "order of categories"): ("Female, Male", "Male, Female"),
        ("sex", "missing"): ("no", "yes"),
        ("sex", "source"): ("–", "codebook"),
        ("gone", "feature"): ("numbers from 0 to 1", "–"),
        ("new", "feature"): ("–", "1 category"),
        ("classes", "labels"): ("yes", "maybe"),
        ("target", "target"): ("–", "numbers from 0 to 1"),
    }
    diff = ONE.diff(other)
    assert not diff.same and diff.of("target") and not diff.of("nothing")
    text = str(diff)
    assert text.startswith("13 fields of 7 entries differ.") and "95.5" in text
    assert "<td" in diff._repr_html_() and diff.to_dict()["same"] is False


def test_a_kind_that_changes():
    other = Domain(features={"age": ["young", "old"], "sex": ["Female", "Male"], "gone": (0, 1)},
                   classes=["no", "yes"], approximate_rows=10)  # fmt: skip
    found = changes(ONE, other)
    assert found["age", "kind"] == ("numeric", "categorical")
    assert found["age", "lower"] == ("17", "–")


def test_domains_that_are_the_same():
    diff = ONE.diff(Domain.from_json(ONE.to_json()))
    assert diff.same and diff.changes == () and str(diff) == "The domains say the same."


def test_which_bounds_are_still_the_drafts_is_not_told():
    draft = Domain.draft([[3.0], [7.0]], [0, 1])
    sources = {"x0": "codebook", "classes": "codebook"}
    with pytest.warns(UserWarning, match="still the draft's"):
        left = draft.confirmed("A", sources=sources)
    widened = Domain.from_json(draft.to_json().replace("7.0", "9.0"))
    assert left.bounds_as_drafted
    assert left.diff(left.without_marks()).same
    assert changes(left, widened)["x0", "upper"] == ("7", "9")
    assert ("x0", "drafted") not in changes(left, widened)


def test_what_a_draft_takes_part_in_is_for_the_curator_alone():
    draft = Domain.draft([[3.0], [7.0]], [0, 1])
    declared = Domain(features={"x0": (0, 9)}, classes=[0, 1])
    for found in (draft.diff(declared), declared.diff(draft), draft.diff(draft)):
        assert found.to_dict()["for_the_curator_alone"]
        for text in (str(found), found._repr_html_()):
            assert "For the curator's eyes alone" in text.replace("&#x27;", "'")
    for found in (declared.diff(declared), declared.diff(ONE)):
        assert not found.for_the_curator_alone and "curator" not in str(found)


def test_other_objects_are_refused():
    with pytest.raises(ParameterTypeError, match="must be a Domain"):
        ONE.diff({"age": (0, 1)})
