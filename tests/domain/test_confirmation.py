"""A drafted entry is declared once a source of its own is named; bounds as drafted keep a mark."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest

from dpforest.domain import CategoricalFeature, Classes, Domain, NumericFeature, NumericTarget
from dpforest.domain.marks import DRAFT_SOURCE, DraftMark
from dpforest.exceptions import DomainError, DraftedBoundsWarning

ROWS = [[20, "a"], [31, "b"]]
NO_SOURCE, UNCONFIRMED = "no source but the draft is named", "nobody confirmed it"


def drafted() -> Domain:
    return Domain.draft(ROWS, ["ill", "well"])


def edited(**changes):
    """A draft whose file was changed by hand: fields of its first feature."""
    facts = json.loads(drafted().to_json())
    facts["features"][0] |= changes
    facts["features"][0] = {k: v for k, v in facts["features"][0].items() if v is not None}
    return Domain.from_json(json.dumps(facts))


ALL = {"x0": "codebook p. 3", "x1": "codebook p. 4", "classes": "the law"}
#: Bounds that stay as drafted are warned of; what is said stands in a test of its own.
unwarned = pytest.mark.filterwarnings("ignore::dpforest.DraftedBoundsWarning")


def test_confirming_without_a_source_declares_nothing():
    confirmed = drafted().confirmed(declared_by="me")
    assert confirmed.drafted_entries == ("x0", "x1", "classes") and not confirmed.is_declared
    assert confirmed.lacking == tuple((name, NO_SOURCE) for name in ("x0", "x1", "classes"))
    assert confirmed == drafted()


@unwarned
def test_sources_declare_what_they_name():
    some = drafted().confirmed("me", sources={"x1": "codebook"})
    assert some.drafted_entries == ("x0", "classes")
    assert (some.features[1].source, some.features[1].declared_by) == ("codebook", "me")
    everything = some.confirmed("you", sources={k: ALL[k] for k in ("x0", "classes")})
    assert everything.is_declared and everything.lacking == ()
    assert [f.declared_by for f in everything.features] == ["you", "me"]
    assert drafted().confirmed("me", sources=ALL).classes.source == "the law"
    target = Domain.draft([[1], [2]], [0.5, 1]).confirmed(
        "me", sources={"x0": "a", "target": "the device"}
    )
    assert target.is_declared and target.target.source == "the device"


@unwarned
def test_the_drafts_note_goes_with_its_last_entry():
    some = drafted().confirmed("me", sources={"x1": "codebook"})
    assert some.note == drafted().note and some.note.startswith("Drafted from records")
    left = {name: ALL[name] for name in ("x0", "classes")}
    assert some.confirmed("me", sources=left).note is None
    own = some.model_copy(update={"note": "of the north"})
    assert own.confirmed("me", sources=left).note == "of the north"


def test_one_source_for_everything_is_refused():
    with pytest.raises(TypeError, match="source"):
        drafted().confirmed("me", source="codebook")
    for given in ({"sources": "codebook"}, {"sources": ["codebook"]}):
        with pytest.raises(DomainError, match="names no entry") as caught:
            drafted().confirmed("me", **given)
        assert caught.value.entry == "sources"


@pytest.mark.parametrize(
    ("sources", "entry", "rule"),
    [
        ({"x0": DRAFT_SOURCE}, "x0", "and not the draft"),
        ({"x0": f"  {DRAFT_SOURCE.upper()}."}, "x0", "and not the draft"),
        ({"x0": " "}, "x0", "must be a text"),
        ({"x0": None}, "x0", "must be a text"),
        ({"x0": 3}, "x0", "must be a text"),
        ({"age": "codebook"}, "age", "there is no such entry"),
        ({"target": "codebook"}, "target", "there is no such entry"),
    ],
)
def test_sources_that_name_nothing_are_refused(sources, entry, rule):
    with pytest.raises(DomainError, match=rule) as caught:
        drafted().confirmed("me", sources=sources)
    assert caught.value.entry == entry


@unwarned
def test_sources_of_declared_and_of_ambiguous_entries_are_refused():
    some = drafted().confirmed("me", sources={"x0": "codebook"})
    with pytest.raises(DomainError, match="is declared already"):
        some.confirmed("me", sources={"x0": "another"})
    frame = pytest.importorskip("pandas").DataFrame({"classes": [1, 2]})
    twice = Domain.draft(frame, ["a", "b"])
    with pytest.raises(DomainError, match="names two entries"):
        twice.confirmed("me", sources={"classes": "codebook"})
    facts = json.loads(twice.to_json())
    for entry in (facts["features"][0], facts["classes"]):
        entry["source"] = "codebook"
    assert Domain.from_json(json.dumps(facts)).confirmed("me").is_declared


# -- files that are edited by hand -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"status": "declared"}, NO_SOURCE),
        ({"status": "declared", "declared_by": "me", "lower": 0}, NO_SOURCE),
        ({"status": "declared", "source": None}, NO_SOURCE),
        ({"status": "declared", "source": DRAFT_SOURCE + " (checked)"}, NO_SOURCE),
        ({"status": "declared", "drafted": None}, NO_SOURCE),
        ({"source": "codebook"}, UNCONFIRMED),
        ({"status": "declared", "source": "codebook"}, ""),
        ({"status": "declared", "source": "codebook", "lower": 0}, ""),
    ],
)
def test_what_an_edited_file_says(changes, status):
    domain = edited(**changes)
    assert dict(domain.lacking).get("x0", "") == status
    assert domain.features[0].status == ("drafted" if status else "declared")
    assert Domain.from_json(domain.to_json()) == domain


@unwarned
def test_sources_in_the_file_are_enough_for_whoever_confirms():
    facts = json.loads(drafted().to_json())
    for entry in (*facts["features"], facts["classes"]):
        entry["source"] = "codebook"
    assert Domain.from_json(json.dumps(facts)).confirmed("me").is_declared
    assert edited(source="codebook").confirmed("me").drafted_entries == ("x1", "classes")


def test_facts_that_were_never_drafted_need_no_source():
    plain = Domain(features={"a": (0, 1)}, classes=["n", "y"])
    assert plain.is_declared and plain.confirmed("me") == plain
    assert "drafted" not in plain.to_json()


# -- marks -----------------------------------------------------------------------------------------


@unwarned
def test_bounds_as_drafted_are_told_by_marks():
    assert drafted().bounds_as_drafted == {"x0": ("lower", "upper")}
    assert drafted().confirmed("me", sources=ALL).bounds_as_drafted == {"x0": ("lower", "upper")}
    assert edited(lower=0).bounds_as_drafted == {"x0": ("upper",)}
    assert edited(lower=0, upper=99).bounds_as_drafted == {}
    assert Domain.draft([[1], [2]], [0.5, 1]).bounds_as_drafted["target"] == ("lower", "upper")
    assert Domain(features={"x0": (20, 31)}, classes=[0, 1]).bounds_as_drafted == {}


def test_a_mark_never_holds_a_number_that_the_bounds_do_not():
    """A widened bound must not carry the table's extreme into the file that is written next."""
    widened = edited(lower=0, upper=99, status="declared", source="codebook")
    for text in (widened.to_json(), widened.model_dump_json(), repr(widened)):
        assert "20" not in text and "31" not in text
    assert widened.features[0].drafted == DraftMark()
    feature = drafted().features[0]
    assert feature.model_copy(update={"upper": 99.0}).drafted == DraftMark(lower=20)
    assert NumericFeature(name="a", lower=0, upper=1, drafted={"lower": 5}).drafted == DraftMark()
    made = NumericTarget(lower=0, upper=2, drafted=DraftMark(lower=0.5, upper=2))
    assert made.drafted == DraftMark(upper=2)
    for entry in (
        CategoricalFeature(name="c", categories=("a",), drafted={"lower": 1}),
        Classes(labels=(1, 2), drafted={"upper": 2}),
    ):
        assert entry.drafted == DraftMark()


@unwarned
def test_marks_travel_in_the_curators_files():
    domain = drafted().confirmed("me", sources=ALL)
    again = Domain.from_json(domain.to_json())
    assert again == domain and again.bounds_as_drafted and again.is_declared
    assert pickle.loads(pickle.dumps(domain)) == domain


def same_facts(frame, target=None):
    """The same documented bounds, written over a draft of some table."""
    facts = json.loads(Domain.draft(frame, target).to_json())
    facts["features"][0] |= {"lower": 20.0, "upper": 90.0, "source": "codebook"}
    (facts.get("classes") or facts["target"])["source"] = "the law"
    if target is not None and "target" in facts:
        facts["target"] |= {"lower": 0.5, "upper": 9.0}
    return Domain.from_json(json.dumps(facts))


@unwarned
@pytest.mark.parametrize("target", [["a", "b", "a"], [0.5, 1.5, 2]], ids=["classes", "target"])
def test_without_marks_nothing_tells_which_bounds_are_the_drafts(target):
    """The first record is the one with the extremes."""
    values = [[20], [31], [40]]
    whole = same_facts(values, target).confirmed("me")
    without = same_facts(values[1:] * 2, target[1:] * 2).confirmed("me")
    assert whole.bounds_as_drafted and not without.bounds_as_drafted and whole != without
    bare = whole.without_marks()
    assert bare == without.without_marks() and not bare.bounds_as_drafted
    assert bare.to_json() == without.without_marks().to_json()
    assert bare.model_fields_set == without.without_marks().model_fields_set
    assert pickle.dumps(bare) == pickle.dumps(without.without_marks())
    assert bare.is_declared and bare.without_marks() == bare
    assert bare.fingerprint() == whole.fingerprint() == without.fingerprint()
    assert repr(whole) == repr(without)
    began = ("x0", "target") if whole.target else ("x0",)
    assert whole.began_as_drafts == without.began_as_drafts == bare.began_as_drafts == began


def test_that_an_entry_began_as_a_draft_is_a_fact_and_in_the_fingerprint():
    domain = edited(lower=0, upper=99)
    bare = [f.model_copy(update={"drafted": None}) for f in domain.features]
    assert domain.model_copy(update={"features": tuple(bare)}).fingerprint() != domain.fingerprint()
    by_hand = Domain(features={"x0": (20, 31)}, classes=[0, 1])
    assert by_hand.began_as_drafts == () and by_hand.without_marks() is by_hand
    assert drafted().began_as_drafts == ()  # not declared, which is said more loudly


def test_the_curator_is_warned_of_declared_bounds_that_are_still_the_drafts():
    with pytest.warns(DraftedBoundsWarning, match=r"draft's: x0 \(lower and upper\)\.") as caught:
        drafted().confirmed("me", sources=ALL)
    text = str(caught[0].message)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "seeing it is not covered by epsilon" in text and "x1" not in text
    assert "20" not in text and "31" not in text
    with pytest.warns(DraftedBoundsWarning, match=r"x0 \(upper\)\."):
        edited(lower=0).confirmed("me", sources=ALL)
    # Warnings are errors here: none of bounds that were changed, of categories, or of what stays
    # a draft.
    assert edited(lower=0, upper=99).confirmed("me", sources=ALL).is_declared
    drafted().confirmed("me", sources={"x1": "codebook", "classes": "the law"})
    with pytest.warns(DraftedBoundsWarning, match="target .lower and upper"):
        Domain.draft([["a"]], [0.5]).confirmed("me", sources={"target": "the device"})


def test_the_curator_is_warned_of_a_placeholder_among_declared_categories():
    draft = Domain.draft([["2020-01-01", "a"], ["2020-01-02", "b"]], ["ill", "well"])
    assert draft.features[0].categories == ("unreadable",)
    with pytest.warns(DraftedBoundsWarning, match=r"'unreadable' is still .* of: x0\. ") as caught:
        confirmed = draft.confirmed("me", sources=ALL)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "seeing it is not covered by epsilon" in str(caught[0].message)
    edited_by_hand = draft.model_dump()
    for categories, warned in ((("north", "unreadable"), 1), (("north", "south"), 0)):
        edited_by_hand["features"][0]["categories"] = categories
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Domain(**edited_by_hand).confirmed("me", sources=ALL)
        assert len(caught) == warned
    # By hand it is a word like others, and a draft that is not declared has its doubts.
    Domain(features={"x0": ["unreadable", "a"]}, classes=[0, 1]).confirmed("me")
    draft.confirmed("me", sources={"x1": "codebook"})
    assert "unreadable" in str(confirmed.features[0])


def test_no_record_is_looked_at_for_them():
    """The same bounds, declared by hand, carry no mark however the table lies."""
    table = np.array([[20.0], [31.0]])
    by_hand = Domain(features={"x0": (20, 31)}, classes=["ill", "well"])
    assert Domain.draft(table).bounds_as_drafted and not by_hand.bounds_as_drafted


# -- shapes that are no facts ------------------------------------------------------------------


@pytest.mark.parametrize("rows", [True, False, np.True_])
def test_a_boolean_is_no_number_of_records(rows):
    with pytest.raises(DomainError, match="boolean is not a number") as caught:
        Domain(features={"a": (0, 1)}, approximate_rows=rows)
    assert caught.value.entry == "approximate_rows"
    text = '{"format": "dpforest-domain", "version": 1, "features": [{"name": "a", "kind": '
    text += '"numeric", "lower": 0, "upper": 1}], "approximate_rows": true}'
    with pytest.raises(DomainError, match="boolean is not a number"):
        Domain.from_json(text)


@pytest.mark.parametrize("classes", [3, 2.5, True, b"ab"])
def test_classes_that_are_no_list(classes):
    with pytest.raises(DomainError, match="must be a list of labels") as caught:
        Domain(features={"a": (0, 1)}, classes=classes)
    assert caught.value.entry == "classes"


@pytest.mark.parametrize("bounds", [[0], [], [0, 1, 2], 3, "01", {"lower": 0, "upper": 1}, None])
def test_bounds_in_metadata_that_are_not_two_numbers(bounds):
    column = {"name": "a", "kind": "integer", "bounds": bounds}
    with pytest.raises(DomainError, match="bounds are two numbers") as caught:
        Domain.from_json(json.dumps({"columns": [column], "classes": ["0", "1"]}))
    assert caught.value.entry == "a"
    column["bounds"] = [0, 1]
    if bounds:
        with pytest.raises(DomainError, match="bounds are two numbers"):
            Domain.from_json(json.dumps({"columns": [column], "target_bounds": bounds}))
