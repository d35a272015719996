"""The privacy report: the run as data and in words, and nothing that others can bend."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivacyReport,
    PrivateForestClassifier,
)
from dpforest.accounting.figures import figure_up
from dpforest.exceptions import ModelFormatError
from dpforest.report.text import cell

KINDS = [
    {},
    {"delta": 1e-6},
    {"delta": 1e-6, "leaves": "geometric", "selection": "permute_and_flip"},
    {"partition_rate": "1/3", "leaves": "label"},
    {"random_state": 5},
    {"thresholds": "lattice"},
]


@pytest.fixture
def report_of(make_forest, table):
    def make(**parameters):
        return make_forest(**parameters).fit(*table()).privacy_report()

    return make


@pytest.mark.parametrize("parameters", KINDS)
def test_round_trip(parameters, report_of, tmp_path):
    report = report_of(**parameters)
    text = report.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("utf-8") == text
    assert PrivacyReport.from_json(text) == report
    json.loads(text, parse_constant=pytest.fail)  # strict JSON: no Infinity, no NaN
    assert json.loads(text)["format"] == "dpforest-report"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "dpforest-model"}', "words"])
def test_text_that_is_no_report(text):
    with pytest.raises(ModelFormatError, match="not a dpforest-report"):
        PrivacyReport.from_json(text)


def test_reports_of_other_versions_are_refused(report_of):
    content = json.loads(report_of().to_json())
    for change in ({"version": 1}, {"extra": 1}, {"format": "dpforest-ledger"}):
        with pytest.raises(ModelFormatError):
            PrivacyReport.from_json(json.dumps(content | change))


def test_what_it_says(report_of, domain):
    report = report_of(epsilon="0.8", n_estimators=4, max_depth=3)
    native, replaced = report.guarantee.bounds
    assert (native.relation.value, native.epsilon, native.delta) == (
        "add or remove one record", 0.8, 0.0,
    )  # fmt: skip
    assert (replaced.relation.value, replaced.epsilon) == ("replace one record", 1.6)
    assert report.guarantee.unit == "one record"
    assert report.guarantee.status == "holds" and report.guarantee.reasons == ()
    assert report.sentence == report.guarantee.sentence
    assert "(0.8, 0)-differentially private when one record is added or removed" in report.sentence
    assert report.estimator == "MultinomialForestClassifier"
    assert report.parameters["epsilon"] == "'0.8'" and report.parameters["max_depth"] == "3"
    assert not {"domain", "accountant", "random_state"} & set(report.parameters)
    assert report.domain_fingerprint == domain.fingerprint()
    assert [entry["name"] for entry in report.domain["features"]] == list(domain.feature_names)
    assert "os.urandom" in report.randomness
    assert {"python", "numpy", "numba", "scikit-learn", "dpforest"} <= set(report.versions)
    assert len(report.not_covered) >= 4


def test_spending_adds_up(report_of):
    report = report_of(n_estimators=4, max_depth=3)
    rows = {group: [row for row in report.spending if row.group == group]
            for group in ("tree", "level", "role", "mechanism")}  # fmt: skip
    assert [row.name for row in rows["tree"]] == [f"tree {n}" for n in range(4)]
    assert {row.name for row in rows["level"]} == {"0", "1", "2", "3"}
    assert {row.name for row in rows["role"]} == {
        "feature selection", "value selection", "leaf histogram",
    }  # fmt: skip
    assert {row.name for row in rows["mechanism"]} == {
        "exponential mechanism", "two-sided geometric noise",
    }  # fmt: skip
    for group in rows.values():
        assert sum(row.requests for row in group) == 4 * 7
        assert sum(row.cells for row in group) == 4 * (2 * 7 + 8)
        assert sum(Fraction(row.loss.epsilon) for row in group) == 1
    assert sum(Fraction(row.composed.epsilon) for row in rows["tree"]) == 1
    assert Fraction(report.composition.composed.epsilon) == 1


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
def test_levels_are_listed_where_there_are_any(report_of, domain, table):
    assert "| level | level 0 |" in report_of().to_markdown()
    forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="rules").fit(*table())
    text = forest.privacy_report().to_markdown()
    assert "| role | " in text and "| level |" not in text


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("rows", [None, 500])
def test_the_composition_says_what_was_planned_by_released_values(delta, rows, domain, table):
    facts = domain.model_copy(update={"approximate_rows": rows})
    forest = PrivateForestClassifier(epsilon=1, delta=delta, domain=facts, strategy="one_shot")
    text = forest.fit(*table()).privacy_report().to_markdown()
    assert ("within caps that were fixed before" in text) == (rows is None)
    assert ("decided by that noisy count" in text) == (rows is None)


def test_sides_in_parallel_are_not_added(report_of):
    report = report_of(leaves="label", partition_rate=1, allocation="theorem2")
    trees = [row for row in report.spending if row.group == "tree"]
    for row in trees:
        assert Fraction(row.composed.epsilon) == Fraction(1, 2)
        assert Fraction(row.loss.epsilon) == 1  # both sides added up, and said so
    assert "counted as if it had run in sequence" in report.to_markdown()
    assert "parallel records, sides" in report.to_markdown()


def test_a_report_speaks_of_its_own_fit_only(make_forest, table):
    accountant = BudgetAccountant(10)
    forest = make_forest(accountant=accountant)
    texts = [forest.fit(*table()).privacy_report() for _ in range(2)]
    assert [Fraction(t.composition.composed.epsilon) for t in texts] == [1, 1]
    assert [t.composition.label for t in texts] == [
        "fit: MultinomialForestClassifier", "fit: MultinomialForestClassifier #2",
    ]  # fmt: skip
    assert accountant.spent.epsilon == 2


def test_a_report_does_not_change_when_the_accountant_goes_on(make_forest, table):
    accountant = BudgetAccountant(10)
    forest = make_forest(accountant=accountant).fit(*table())
    before = forest.privacy_report().to_json()
    make_forest(accountant=accountant, epsilon=3).fit(*table())
    assert forest.privacy_report().to_json() == before
    assert forest.spent_.epsilon == 1


# -- guarantees that do not hold -------------------------------------------------------------


def test_a_demonstration(report_of):
    report = report_of(random_state=1)
    assert report.guarantee.status == "demonstration"
    assert report.sentence.startswith("DEMONSTRATION ONLY")
    assert "neither know the seed nor can search for it" in report.sentence
    assert "for one fit" in report.sentence
    assert report.guarantee.epsilon == 1
    assert any(n.severity == "caution" and "random_state" in n.text for n in report.notices)
    assert "random_state given by the caller" in report.randomness


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning")
def test_void(report_of, table):
    undeclared = report_of(domain=None)
    drafted = report_of(domain=Domain.draft(*table()), random_state=1)
    for report, reason in ((undeclared, "no domain was declared"), (drafted, "not confirmed")):
        assert report.guarantee.status == "void"
        assert report.sentence.startswith("VOID, no privacy guarantee: ")
        assert reason in report.sentence
        assert report.guarantee.epsilon == float("inf") and report.guarantee.delta == 1
        assert any(n.severity == "void" and reason in n.text for n in report.notices)
        text = report.to_markdown()
        assert "## Guarantee" not in text and "What the paid part alone would give" in text
    assert all(entry["status"] == "drafted" for entry in undeclared.domain["features"])
    assert "random_state" in drafted.sentence


def test_unsigned_facts_are_pointed_out(report_of):
    signed = Domain(
        features=[{"kind": "numeric", "name": name, "lower": 0, "upper": 1, "declared_by": "us",
                   "source": "codebook"} for name in ("age", "colour", "size")],
        classes={"labels": ("ill", "well"), "declared_by": "us"},
    )  # fmt: skip
    assert any("do not say who declared" in notice.text for notice in report_of().notices)
    report = report_of(domain=signed)
    assert report.notices == ()
    assert "| us | codebook |" in report.to_markdown()
    assert "declared by us" in report.to_markdown()


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.LargeDeltaWarning")
@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
def test_guarantees_that_promise_little_are_pointed_out(table):
    facts = {
        "features": {"age": (0, 1), "colour": (0, 1), "size": (0, 1)},
        "classes": ["ill", "well"],
    }

    def cautions(epsilon, delta, rows):
        domain = Domain(**facts, approximate_rows=rows)
        forest = PrivateForestClassifier(
            epsilon=epsilon,
            delta=delta,
            domain=domain,
            strategy="refitted" if delta else "one_shot",
        )
        notices = forest.fit(*table()).privacy_report().notices
        return [n.text.split(":")[0] for n in notices if n.severity == "caution"]

    assert cautions(1, 1e-6, 800) == cautions(10, 0, 800) == cautions(1, 1e-6, None) == []
    assert cautions(1, "0.01", 800) == [
        "delta = 0.01 is not below one over the 800 records declared"
    ]
    assert cautions(1, "0.01", None) == ["delta = 0.01 is not below one over 100"]
    assert cautions(12, 0, 800) == ["epsilon = 12 promises little"]


def test_a_printed_report_is_read_by_people(report_of):
    report = report_of()
    assert str(report) == report.to_markdown()


def test_raising_is_told_of_but_is_no_part_of_the_guarantee(report_of):
    report = report_of(invalid="raise")
    assert report.guarantee.status == "holds"
    (notice,) = [n for n in report.notices if "invalid='raise'" in n.text]
    assert notice.severity == "caution" and "refit with invalid='drop'" in notice.text
    assert not any("refit with" in n.text for n in report_of().notices)


def test_what_is_taken_for_granted_is_said(report_of):
    assert any("2**31 records" in line for line in report_of().not_covered)


def test_what_other_readers_made_of_values_is_said_not_to_be_covered(report_of):
    (line,) = [line for line in report_of().not_covered if "another reader" in line]
    assert "frame or an array" in line and "unless columns were read as text" in line


# -- Markdown --------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", KINDS)
def test_markdown_holds_what_matters(parameters, report_of, tmp_path):
    report = report_of(**parameters)
    text = report.to_markdown(tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text("utf-8") == text
    assert f"**{report.sentence}**" in text
    for heading in ("Public facts", "Plan", "Spending", "Composition", "Randomness", "Not covered"):
        assert f"## {heading}\n" in text
    for bound in report.guarantee.bounds:
        assert f"| {bound.relation.value} | {figure_up(bound.epsilon)} |" in text
    for line in report.not_covered:
        assert f"- {cell(line)}" in text
    assert report.domain_fingerprint in text
    assert rows_are_whole(text)


def test_many_trees_are_cut_short_in_words_only(report_of):
    report = report_of(n_estimators=9, max_depth=1)
    assert "… and 6 more trees in the JSON report" in report.to_markdown()
    assert len([row for row in report.spending if row.group == "tree"]) == 9
    [trees] = report.composition.children
    assert len(trees.children) == 9


HOSTILE = [
    "a|b",
    "a\\|b",
    "x\n# Guaranteed",
    "x\r# Guaranteed",
    "x\u2028# Guaranteed",
    "<script>alert(1)</script>",
    "&lt;script&gt;",
    "![pixel](https://example.org/p.png)",
    "[text](javascript:alert(1))",
    "`code`",
    "**bold**",
    "~~gone~~",
    "\u202ereversed",
    "x" * 500,
]


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("status", ["declared", "drafted"])
@pytest.mark.parametrize("name", HOSTILE)
def test_names_have_no_power_over_the_page(name, status, table):
    plain, hostile = (markdown_with(text, status, table) for text in ("plain", name))
    # What would be a link is code of our own.
    hostile = hostile.replace("`https://`", "https://")
    assert rows_are_whole(hostile)
    for pattern in (
        r"^#.*$",
        r"(?<!\\)!?(?<!\\)\[",
        r"(?<!\\)`",
        r"(?<!\\)\*\*",
        r"(?<!\\)~~",
        "<",
    ):
        found = [len(re.findall(pattern, text, re.MULTILINE)) for text in (plain, hostile)]
        assert found[0] == found[1], pattern
    for separator in ("\r", "\u2028", "\u202e", "&lt;script&gt;alert(1)&lt;/script>\n"):
        assert separator not in hostile
    assert len(hostile.splitlines()) == len(plain.splitlines())


def markdown_with(name, status, table):
    """A report with a text of somebody else's in every place that takes one."""
    entry = {"declared_by": name, "source": name, "status": status}
    domain = Domain(
        features=[
            {"kind": "numeric", "name": name, "lower": 0, "upper": 1, **entry},
            {"kind": "categorical", "name": "c", "categories": (name, "no"), **entry},
            {"kind": "numeric", "name": "n", "lower": 0, "upper": 1, **entry},
        ],
        classes={"labels": (name, "well"), **entry},
        name=name,
        note=name,
    )
    forest = MultinomialForestClassifier(
        epsilon=1,
        domain=domain,
        n_estimators=1,
        max_depth=1,
        accountant=BudgetAccountant(1, name=name),
    )
    return forest.fit([[0, name, 1]], [name]).privacy_report().to_markdown()


def rows_are_whole(text: str) -> bool:
    """Every table has as many cells in each row as in its head."""
    width = None
    for line in text.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
        if width is not None and cells != width:
            return False
        width = cells
    return True
