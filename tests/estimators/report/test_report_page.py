"""The page: says what the report says, needs nothing else, and gives nobody's text any power."""

from __future__ import annotations

import html
import re
import sys
from fractions import Fraction
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from dpforest import Domain, UtilityFigure
from dpforest.accounting.events import EVENTS
from dpforest.accounting.figures import figure_up
from dpforest.audit import AuditResult, FoundEvent, OneRunResult
from dpforest.exceptions import MissingExtraError, ParameterTypeError
from dpforest.report import page as report_page
from dpforest.report.branches import branch_of
from dpforest.report.odds import percent, percent_down

pytest.importorskip("jinja2")

UTILITY = UtilityFigure(name="accuracy", value=0.8, origin="public holdout", source="a register")

#: Tags without an end.
EMPTY = {"meta", "link", "br", "img", "line", "rect", "polyline", "polygon", "hr", "input"}
#: Attributes by which a page reaches for something else, or runs something.
REACHING = {"src", "srcset", "data", "action", "poster", "background", "xlink:href", "formaction"}


class Page(HTMLParser):
    """Checks that tags are closed in order; gathers tags, headings, rows and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.headings: list[int] = []
        self.cell: list[str] | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.rows[-1].append(" ".join("".join(self.cell).split()))
            self.cell = None

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text += data
        if self.cell is not None:
            self.cell.append(data)

    def words(self) -> str:
        return " ".join(self.text.split())

    def row(self, first: str) -> list[str]:
        return next(row for row in self.rows if row and row[0] == first)


def audit_result(**changes):
    fields = {
        "subject": "the <forest>", "pair": "a lone record", "relation": "add_remove",
        "claimed_epsilon": 1.0, "delta": 0.0, "lower_bound": 0.6, "interval": (0.6, 0.9),
        "event": FoundEvent(description="leaf 3 is ill", likelier_on="first", hits_first=90,
                            hits_second=50, runs=500),
        "runs": 1000, "confidence": 0.95, "largest_certifiable": 5.0, "verdict": "consistent",
        "reason": "No violation found.",
    }  # fmt: skip
    return AuditResult(**(fields | changes))


# -- every kind of report ------------------------------------------------------------------------


def test_the_page_says_what_the_report_says(model, tmp_path):
    report = model.privacy_report()
    text = report.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == text
    page = Page(text)
    said = page.words()
    assert " ".join(report.sentence.split()) in said
    for bound in report.guarantee.bounds:
        row = page.row(bound.relation.value)
        assert row[1].startswith(figure_up(bound.epsilon).replace("inf", "∞"))
        assert row[2] == figure_up(bound.delta)
    for line in (*report.not_covered, *(n.text for n in report.notices), report.randomness):
        assert " ".join(line.split()) in said
    for digest in (report.digest, report.model_fingerprint, report.domain_fingerprint):
        assert digest in said
    for feature in report.domain["features"]:
        row = page.row(feature["name"])
        assert (feature["declared_by"] or "not said") in row
        assert (feature["source"] or "not said") in row
    for name, version in report.versions.items():
        assert [name, version] in page.rows
    total = report.composition.composed
    finite = total.epsilon if total.epsilon != "inf" else total.rho
    assert figure_up(Fraction(finite)) in said


def test_the_page_needs_nothing_else_and_can_be_read_by_anybody(model):
    text = model.privacy_report().to_html(audit=audit_result())
    page = Page(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert len(text.encode()) < 200_000
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "form"}
    # What is carried along is data, which no browser runs.
    carried = [attributes for tag, attributes in page.tags if tag == "script"]
    assert [a["id"] for a in carried] == ["dpforest-report", "dpforest-audits"]
    assert all(a.keys() == {"type", "id"} and a["type"] == "application/json" for a in carried)
    for tag, attributes in page.tags:
        assert not REACHING & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in text and "@import" not in text
    assert re.findall(r"https?://\S+", text) == []
    policy = next(a for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy["content"]
    # One title, headings without a gap, and every link inside the page leads somewhere.
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    steps = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for t, a in page.tags if t == "a"} <= set(ids)
    # Tables have heads; pictures have a text.
    assert {a.get("scope") for t, a in page.tags if t == "th"} == {"col", "row"}
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert pictures and all(a.get("role") == "img" for a in pictures)
    assert all(a.get("aria-label") or a.get("aria-labelledby") for a in pictures)


def test_each_cell_of_a_card_says_what_it_is(model):
    """On a telephone rows are cards without a head, so that nothing lies off the screen."""
    text = model.privacy_report(utility=UTILITY).to_html()
    tables = re.findall(r'<table class="cards">(.*?)</table>', text, re.DOTALL)
    assert len(tables) >= 7
    for table in tables:
        head, body = table.split("</thead>")
        columns = [html.unescape(name) for name in re.findall(r"<th [^>]*>([^<]*)<", head)]
        rows = re.findall("<tr>(.*?)</tr>", body.split("<tfoot>")[0], re.DOTALL)
        for row in rows:
            cells = re.findall("<td([^>]*)>", row)
            labels = [html.unescape(m) for m in re.findall('data-label="([^"]*)"', row)]
            bars = sum("bars" in cell for cell in cells)
            assert labels == columns[1 : len(columns) - bars] and len(labels) + bars == len(cells)
    facts = text[text.index("<caption>Features") :]
    first = facts[facts.index("<tbody>") : facts.index("</tr>", facts.index("<tbody>"))]
    labels = re.findall(r'data-label="([^"]*)"', first)
    assert labels == ["may be", "missing values", "status", "declared by", "source"]
    # Wide tables have a way to be narrow: as cards, or as pairs.
    assert all(re.search('class="(cards|pairs)', tag) for tag in re.findall("<table[^>]*>", text))
    assert "@media screen and (max-width: 45rem)" in text


def test_no_page_holds_a_time_or_a_count_of_records(fitted, fit_anew):
    report = fitted("multinomial").privacy_report()
    text = report.to_html()
    assert text == report.to_html()
    assert not re.search(r"\b20[2-9]\d-[01]\d|\b\d\d:\d\d\b", text)
    sizes = re.findall(r"Approximate number of rows[^<]*", text)
    assert sizes == ["Approximate number of rows, as declared: 40."]


# -- guarantees that do not hold -----------------------------------------------------------------


def test_void_claims_nothing(fitted):
    page = Page(fitted("void").privacy_report().to_html())
    said = page.words()
    assert "Void: no privacy guarantee" in said and "Nothing is promised." in said
    assert "no domain was declared" in said
    assert "This is no guarantee." in said
    assert "differs by at most the factor" not in said and "best guess" not in said
    assert "Nothing bounds an attacker's odds" in said
    assert not [a for _, a in page.tags if a.get("class") == "plot"]
    assert "drafted from the data" in said


def test_a_demonstration_is_marked(fitted):
    said = Page(fitted("demonstration").privacy_report().to_html()).words()
    assert "Demonstration only" in said and "fit again without them" in said
    assert said.count("the noise came from random_state") == 1


def test_a_guarantee_that_holds_says_what_it_means(fitted):
    page = Page(fitted("multinomial").privacy_report().to_html())
    assert "differs by at most the factor 2.71829" in page.words()
    assert page.row("best guess at even odds") == [
        "best guess at even odds", "73.11 % right", "88.08 % right",
    ]  # fmt: skip
    assert page.row("50 %") == ["50 %", "26.89 % to 73.11 %", "11.92 % to 88.08 %"]
    assert page.row("1 %")[1] in ("2.72 %", "0.37 % to 2.68 %")
    assert len([a for _, a in page.tags if a.get("class") == "plot"]) == 1


def test_shares_are_never_rounded_to_certainty():
    assert percent(1 - 1e-9) == "over 99.99 %"
    assert percent(1) == "100 %" and percent(0.12341) == "12.35 %"
    assert percent_down(1e-9) == "under 0.01 %"
    assert percent_down(0) == "0 %" and percent_down(0.12349) == "12.34 %"


# -- the composition -----------------------------------------------------------------------------


def walk(branch):
    yield branch
    for child in branch.branches:
        yield from walk(child)


def test_every_request_is_on_the_page(model):
    root = model.privacy_report().composition
    shown = branch_of(root)

    def requests(branch):
        own = sum(row.times for row in branch.rows if row.detail != "opened below")
        return own + sum(child.times * requests(child) for child in branch.branches)

    assert requests(shown) == len(root.ledger)
    assert shown.total.rho.text == figure_up(Fraction(root.composed.rho))


def test_sums_can_be_recomputed_from_what_is_shown(fitted):
    def value(figure):
        return Fraction(figure.ratio or figure.text)

    for name in ("multinomial", "rules", "one shot"):
        for branch in walk(branch_of(fitted(name).privacy_report().composition)):
            assert branch.kind == "sequential"
            for row in branch.rows:
                assert row.times * value(row.each.epsilon) == value(row.together.epsilon)
            parts = sum(value(row.together.epsilon) for row in branch.rows)
            assert parts == value(branch.total.epsilon)


def test_sides_show_their_probabilities_and_rule(fitted):
    page = Page(fitted("multinomial, sides of unequal cost").privacy_report().to_html())
    said = page.words()
    assert "Parallel over records." in said and "ln Σ p·e^ε" in said
    assert "structure points: 3/4, estimation points: 1/4" in said
    assert "mixture over the sides" in said


def test_large_forests_are_small_pages(fit_anew):
    report = fit_anew(n_estimators=100, max_depth=8).privacy_report()
    assert len(report.composition.ledger) == 1700
    text = report.to_html()
    read, _ = text.split("<script", 1)
    assert len(read) < 100_000 and len(text) < 1_000_000
    assert "tree 0 … tree 99" in Page(text).words() and "(100 alike, each)" in Page(text).words()


def test_forests_whose_trees_all_differ_are_bounded(fit_anew):
    report = fit_anew(n_estimators=100, max_depth=8).privacy_report()
    root = report.composition
    trees = tuple(
        tree.model_copy(update={"entries": tuple(
            e.model_copy(update={"role": f"{e.role} of {tree.label}"}) for e in tree.entries
        )})
        for tree in root.children
    )  # fmt: skip
    unlike = root.model_copy(update={"children": trees})
    assert len(report.model_copy(update={"composition": unlike}).to_html()) < 1_500_000


# -- audits --------------------------------------------------------------------------------------


def test_an_audit_stands_beside_the_claim(fitted):
    report = fitted("multinomial").privacy_report()
    one_run = OneRunResult(
        subject="one run", claimed_epsilon=1.0, delta=0.0, lower_bound=0.0, confidence=0.95,
        canaries=200, guesses=100, correct=51, largest_certifiable=3.1, verdict="inconclusive",
        reason="Too few.",
    )  # fmt: skip
    said = Page(report.to_html(audit=[audit_result(), one_run])).words()
    assert "the <forest>: No violation found" in said and "one run: Inconclusive" in said
    assert "ε ≥ 0.6 at confidence 0.95" in said and "200 in one run; 51 of 100" in said
    assert "leaf 3 is ill: 90 and 50 times in 500 runs on each table" in said
    assert "it cannot show that one is right" in said
    assert "this is not the claim of this report" not in said
    assert "No audit of this fit" in Page(report.to_html()).words()


def test_an_audit_of_another_claim_says_so(fitted):
    report = fitted("multinomial").privacy_report()
    for other in ({"claimed_epsilon": 2.0}, {"delta": 1e-6}, {"relation": "replace_one"}):
        said = Page(report.to_html(audit=audit_result(**other))).words()
        assert "this is not the claim of this report" in said
    agreeing = audit_result(claimed_epsilon=2.0, relation="replace_one")
    assert "not the claim" not in Page(report.to_html(audit=agreeing)).words()


def test_a_violated_claim_stands_at_the_top(fitted):
    found = audit_result(verdict="violates", lower_bound=3.0, reason="At least 3.")
    said = Page(fitted("multinomial").privacy_report().to_html(audit=found)).words()
    assert said.index("An audit contradicts a claim") < said.index("What it promises, and what")


@pytest.mark.parametrize("audit", ["passed", 3, {"verdict": "consistent"}, [SimpleNamespace()]])
def test_what_is_no_audit_is_refused(audit, fitted):
    with pytest.raises(ParameterTypeError, match="must be a result of dpforest.audit"):
        fitted("multinomial").privacy_report().to_html(audit=audit)


# -- texts of others -----------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>x</script>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;",
    "' style='x",
    "\u202ereversed",
    "x" * 500,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_have_no_power_over_the_page(name, fit_anew):
    def page(text):
        entry = {"declared_by": text, "source": text}
        domain = Domain(
            features=[
                {"kind": "numeric", "name": text, "lower": 0, "upper": 1, **entry},
                {"kind": "categorical", "name": "colour", "categories": (text, "no"), **entry},
                {"kind": "numeric", "name": "n", "lower": 0, "upper": 1, **entry},
            ],
            classes={"labels": ("ill", "well"), **entry}, name=text, note=text,
        )  # fmt: skip
        report = fit_anew(domain=domain).privacy_report()
        return report.to_html(audit=audit_result(subject=text, reason=text)), report._repr_html_()

    for plain, hostile in zip(page("plain"), page(name), strict=True):
        tags = [[(tag, sorted(a)) for tag, a in Page(text).tags] for text in (plain, hostile)]
        assert tags[0] == tags[1]
        assert "\u202e" not in hostile and "49" not in set(Page(hostile).words().split())
    # What can be printed is shown as it is.
    if name.isprintable():
        assert name in Page(page(name)[0]).text


# -- notebooks, and without the engine -----------------------------------------------------------


def test_notebooks_show_it_in_short(model):
    report = model.privacy_report()
    fragment = report._repr_html_()
    page = Page(fragment)
    assert " ".join(report.sentence.split()) in page.words()
    assert not {tag for tag, _ in page.tags} & {"html", "script", "style", "h1", "link"}
    assert len(fragment) < 8_000
    assert all(" ".join(notice.text.split()) in page.words() for notice in report.notices)


def test_without_the_engine(fitted, monkeypatch):
    report = fitted("multinomial").privacy_report()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    report_page.environment.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'dpforest\[report\]'"):
            report.to_html()
        assert report._repr_html_() is None
    finally:
        report_page.environment.cache_clear()


def test_how_rho_follows_is_said_of_every_mechanism():
    assert report_page._PRICES.keys() == EVENTS.keys()
