"""Categories, classes and names of a domain that look the same and are not."""

from __future__ import annotations

import json
import sys
import warnings

import pytest

from dpforest import (
    CategoricalFeature,
    Domain,
    LookAlikesWarning,
    PrivacyReport,
    PrivateForestClassifier,
    verify_report,
)
from dpforest.__main__ import main
from dpforest.domain.looks import look_of
from dpforest.domain.marks import DraftMark

#: Pairs that nobody can tell apart by looking at them.
ALIKE = [
    ("caf\xe9", "cafe\u0301"),
    ("New York", "New\xa0York"),
    ("New York", "New  York"),
    ("a b", "a\u2009b"),
    ("north", "nor\u200bth"),
    ("north", "\ufeffnorth"),
    ("north", "nor\xadth"),
    ("north", "north\u200e"),
    ("north", "nor\x08th"),
    ("north", "nor\u200dth"),
    ("north", "north\u200c"),
    ("\u2764", "\u2764\ufe0f"),
    ("\u212b", "\xc5"),
]
APART = [
    ("A", "a"),
    ("1.0x", "10x"),
    ("x\xb2", "x2"),
    ("e", "\xe9"),
    ("ab", "a b"),
    # Letters of two alphabets: not told.
    ("\u0430", "a"),
    # Joined and not, which is seen: in Persian and in Hindi, and of emoji.
    (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645",
    ),
    ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u0937"),
    ("\U0001f469\u200d\U0001f4bb", "\U0001f469\U0001f4bb"),
    # Flags of England and of Scotland.
    (
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    ),
    ("\u0600\u0661", "\u0661"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_each_is_told_with_its_place_and_its_signs_once(one, other):
    both = f"{ascii(one)} and {ascii(other)}"
    for given, place in (
        ({"features": {"ward": [one, "b", other]}, "classes": [0, 1]}, "categories of 'ward'"),
        ({"features": {"age": (0, 1)}, "classes": [one, other]}, "classes"),
        ({"features": {one: (0, 1), other: (0, 2)}, "classes": [0, 1]}, "features"),
    ):
        with pytest.warns(LookAlikesWarning) as caught:
            domain = Domain(**given)
        (told,) = caught
        assert f"looks the same: {place}: {both}. A record" in str(told.message)
        assert told.filename == __file__
        with pytest.warns(LookAlikesWarning) as caught:
            assert Domain.from_json(domain.to_json()) == domain
        assert [str(again.message) for again in caught] == [str(told.message)]


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_looks_otherwise_is_left_in_peace(one, other):
    Domain(features={"ward": [one, other], one: (0, 1), other: (0, 1)}, classes=[one, other])
    assert look_of(one) != look_of(other)


def test_many_are_told_in_one_warning_of_some_length():
    categories = [text for k in range(20) for text in (f"{k} x", f"{k}\xa0x")]
    with pytest.warns(
        LookAlikesWarning, match=r"'4 x' and '4\\xa0x'; 15 other pairs\. A"
    ) as caught:
        Domain(features={"ward": categories}, classes=[0, 1])
    assert len(caught) == 1 and "'5 x'" not in str(caught[0].message)


def drafted(*names):
    """A draft of two columns of cells that look the same; some of them were given a source."""
    rows = [[a, b] for a, b in (("x y", "u v"), ("x\xa0y", "u\xa0v"), ("z", "w"))] * 5
    draft = Domain.draft(rows, [0, 1, 1] * 5)
    return draft.confirmed("ana", sources=dict.fromkeys(names, "codebook")) if names else draft


def test_a_draft_is_doubted_and_its_warning_comes_once_an_entry_is_declared():
    """Whether a table holds both is a fact about its records until somebody says otherwise."""
    draft = drafted()
    assert all("look the same" in draft.doubts[name] for name in ("x0", "x1"))
    assert Domain.from_json(draft.to_json()) == draft
    with pytest.warns(LookAlikesWarning, match=r"of 'x0': 'x y' and 'x\\xa0y'\. A") as caught:
        once = drafted("x0", "classes")
    assert len(caught) == 1
    with pytest.warns(LookAlikesWarning, match=r"same: categories of 'x1': 'u v'") as caught:
        once.confirmed("ana", sources={"x1": "codebook"})
    assert len(caught) == 1


def test_names_of_a_draft_may_be_cells_of_a_record():
    features = [
        CategoricalFeature(name=name, categories=["a"], status="drafted", drafted=DraftMark())
        for name in ("a b", "a\xa0b")
    ]
    Domain(features=features, classes=[0, 1])


def test_models_and_reports_are_read_without_a_warning():
    """Whoever reads them declares nothing."""
    with pytest.warns(LookAlikesWarning):
        domain = Domain(features={"ward": ["a b", "a\xa0b"]}, classes=[0, 1], approximate_rows=200)
    forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="one_shot")
    forest.fit([["a b"], ["a\xa0b"]] * 50, [0, 1] * 50)
    text = forest.to_json()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LookAlikesWarning)
        read = PrivateForestClassifier.from_json(text)
        assert read.domain_ == domain
        report = PrivacyReport.from_json(forest.privacy_report().to_json())
        assert verify_report(report, read) and str(report.to_markdown())


def test_facts_of_a_report_are_refused_as_those_that_are_declared():
    facts = json.loads(Domain(features={"age": (0, 1)}, classes=[0, 1]).model_dump_json())
    facts["features"][0]["upper"] = -1
    for read in (Domain._of_record, lambda given: Domain(**given)):
        with pytest.raises(ValueError, match=r"'age': lower \(0\) must be below upper \(-1\)"):
            read(facts)


def test_a_value_with_a_sign_of_no_width_is_told_apart():
    check = Domain(features={"a": ["coffee", "tea"]}, classes=[0, 1]).check([["tea\u200b"]], [0])
    (finding,) = check.of("a")
    assert finding.values[0].near == "tea" and "look the same" in finding.values[0].because
    assert r"tea\u200b" in str(check)


def test_a_confirmation_tells_it_in_a_log_and_a_draft_does_not(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\nx y,n\nx\xa0y,m\nz,n\n", encoding="utf-8")
    assert main(["domain", "draft", "t.csv", "--target", "y", "--output", "d.json"]) == 0
    assert "look the same" not in capsys.readouterr().err
    told = "dpforest: warning: the domain declares as two what looks the same: categories of 'a'"
    line = "domain confirm d.json --by ana --source a=book --source classes=book --output e.json"
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        assert main([*line.split(), "--force"]) == 0
        assert capsys.readouterr().err.count(told) == 1
