"""A fit's place in a ledger, as every form of its report says it, and reports that have none."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest import (
    BudgetLedger,
    Domain,
    PrivacyReport,
    PrivateForestClassifier,
    ReportError,
    diff_reports,
    verify_report,
)
from dpforest.accounting.rationals import exact_text, parse_amount
from dpforest.report.decision import decision_of
from dpforest.report.making import report_digest
from dpforest.report.places import place_rows, promise
from dpforest.report.record import LedgerPlace

EARLIER = Path(__file__).with_name("earlier")
NAME = "claims <script>alert(1)</script> | of `all` years"
X, Y = [[i] for i in range(60)], ["a", "b"] * 30


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Reports of two fits of one data set, whose name is meant to be shown as it is."""
    domain = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=6000)
    path = tmp_path_factory.mktemp("place") / "book"
    with BudgetLedger.open(f"sqlite:///{path}", actor="ana", create=True) as ledger:
        ledger.register(NAME, domain=domain, epsilon="1.66", delta="1e-5", max_records_per_unit=2)
        made = [
            PrivateForestClassifier(
                epsilon="0.5", delta="1e-6", domain=domain, strategy="one_shot",
                max_records_per_unit=2, accountant=ledger.accountant(NAME),
            ).fit(X, Y)
            for _ in range(2)
        ]  # fmt: skip
        return [forest.privacy_report() for forest in made]


def test_the_first_lines_say_what_everybody_spent(two):
    first, second = two
    place = second.basis.ledger
    each = parse_amount(place.charged)
    assert parse_amount(place.in_all) == 2 * each and parse_amount(place.before) == each
    spent = f"rho = {float(2 * each):.3f}"[:-1]
    said = f"The ledger knows of every fit that was charged to data set {NAME!r}, by whomever: "
    assert second.other_fits.startswith(said + spent)
    assert second.known_fits == second.other_fits and first.other_fits != second.other_fits
    assert "This report knows only of fits of this object" in second.other_fits


def test_every_form_shows_the_place(two):
    pytest.importorskip("jinja2")
    report = two[1]
    place = report.basis.ledger
    page, words = report.to_html(), report.to_markdown()
    assert "<script>" not in page and not re.search(r"(?<!\\)\| of", words)
    rows = {name: value for name, value in place_rows(place).items() if NAME not in value}
    assert rows
    for name, value in rows.items():
        assert f'<th scope="row">{name}</th><td>{value}</td>' in page, name
        assert f"| {name} | {value} |" in words, name
    for digest in (place.hash, place.plan, place.reserve, place.ledger):
        assert digest in page and digest in words
    assert json.loads(report.to_json())["basis"]["ledger"] == place.model_dump(mode="json")
    assert PrivacyReport.from_json(report.to_json()) == report


def test_amounts_are_rounded_to_the_side_that_promises_less(two):
    rows = place_rows(two[1].basis.ledger)
    place = two[1].basis.ledger
    for name, exact, over in [
        ("charged in all", parse_amount(place.in_all), True),
        ("charged to this data set before", parse_amount(place.before), True),
        ("remaining", place.remaining, False),
        ("cap", parse_amount(place.cap), False),
    ]:
        shown = Fraction(re.match(r"rho = ([0-9.e-]+)", rows[name])[1].rstrip("."))
        assert (shown >= exact) == over and abs(shown - exact) <= exact / 10**5, name
    assert "declared as (1.66, 1e-05)" in rows["cap"]
    assert place.remaining == parse_amount(place.cap) - parse_amount(place.in_all)


def test_what_was_spent_is_not_shown_above_a_cap_that_holds_it(two):
    """A cap is kept as a multiple of 2^-128 below what was declared, and charges above."""
    place = two[0].basis.ledger
    cap, spent = Fraction(1, 100) - Fraction(1, 2**128), Fraction(1, 200) + Fraction(1, 2**128)
    given = {"cap": exact_text(cap), "in_all": exact_text(spent)}
    for changed, said in (
        (given, "rho = 0.005 of a cap of rho = 0.01, "),
        (given | {"in_all": given["cap"]}, "rho = 0.01 of a cap of rho = 0.01, "),
        (given | {"in_all": "1/100"}, "rho = 0.01 of a cap of rho = 0.00999999, "),
    ):
        basis = two[0].basis.model_copy(update={"ledger": place.model_copy(update=changed)})
        assert decision_of(two[0].model_copy(update={"basis": basis})).spent.startswith(said)


@pytest.mark.parametrize("elsewhere", ["0.1", "0.3", "0.5"])
def test_ledger_and_report_write_a_spending_beside_its_cap_alike(elsewhere, tenth, tmp_path):
    """Also one that an import made pass its cap by less than six digits tell."""
    pytest.importorskip("jinja2")
    place, passed = tenth.privacy_report().basis.ledger, elsewhere != "0.1"
    with BudgetLedger.open(f"sqlite:///{tmp_path / 'b'}", actor="ana", create=True) as ledger:
        ledger.register("claims", domain=tenth.domain_, epsilon="0.3", currency="epsilon")
        ledger.charge_elsewhere("claims", math.ceil(Fraction(elsewhere) * 2**128), "elsewhere")
        status, page = ledger.status("claims"), ledger.page()
    in_all, cap = (Fraction(units, 2**128) for units in (status.spent, status.cap))
    assert (in_all > cap) == passed
    changed = {"in_all": exact_text(in_all), "cap": exact_text(cap)}
    found = place.model_copy(update=changed)
    spent, whole = status.figures["spent"], status.figures["cap"]
    assert (whole, f"of {whole} is left" in str(status)) == ("0.299999" if passed else "0.3", True)
    assert Fraction(spent) >= Fraction(elsewhere) and (Fraction(spent) > Fraction(whole)) == passed
    assert f"epsilon = {spent} in all" in found.sentence and f"epsilon = {whole}." in found.sentence
    assert f"ε = {spent} of ε = {whole} is spent" in page
    basis = tenth.privacy_report().basis.model_copy(update={"ledger": found})
    report = tenth.privacy_report().model_copy(update={"basis": basis})
    assert decision_of(report).spent.startswith(f"epsilon = {spent} of a cap of epsilon = {whole},")
    assert (
        not passed
        or f"{spent} in all, which is more than its cap, epsilon = {whole}:"
        in promise(found, "one record")
    )


@pytest.fixture(scope="module")
def tenth(tmp_path_factory):
    """A forest that cost .1 and .7 before it, of which no multiple of 2^-128 is one."""
    domain = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=6000)
    path = tmp_path_factory.mktemp("tenth") / "book"
    with BudgetLedger.open(f"sqlite:///{path}", actor="ana", create=True) as ledger:
        ledger.register("tenth", domain=domain, epsilon=2, currency="epsilon")
        for epsilon in ("0.7", "0.1"):
            forest = PrivateForestClassifier(
                epsilon=epsilon, domain=domain, strategy="one_shot",
                accountant=ledger.accountant("tenth"),
            ).fit(X, Y)  # fmt: skip
    return forest


def test_every_place_shows_one_figure_of_what_was_spent(tenth):
    report = tenth.privacy_report()
    assert "epsilon = 0.8 in all when this fit ended, 0.7 of it before" in report.other_fits
    assert decision_of(report).spent.startswith("epsilon = 0.8 of a cap of epsilon = 2, ")
    assert report.known_fits == report.other_fits and "0.800001" not in report.to_markdown()


def test_a_report_that_wrote_what_units_add_is_verified_as_it_was_written(tenth):
    pytest.importorskip("jinja2")
    report = tenth.privacy_report()
    written = json.loads(report.to_json())
    place = report.basis.ledger
    written["other_fits"] = report.other_fits.replace(place.sentence, place.earlier_sentence)
    assert "epsilon = 0.800001 in all" in written["other_fits"]
    written["digest"] = report_digest(PrivacyReport.model_validate(written))
    earlier = PrivacyReport.model_validate(written)
    assert verify_report(earlier, tenth) and verify_report(earlier.to_html(), tenth)
    written["other_fits"] = written["other_fits"].replace("0.800001", "0.7")
    written["digest"] = report_digest(PrivacyReport.model_validate(written))
    with pytest.raises(ReportError, match="other_fits does not follow"):
        verify_report(json.dumps(written))


def test_the_promise_is_the_caps_and_names_the_unit(two):
    report = two[1]
    (note,) = [n for n in report.notices if "given its cap before" in n.text]
    assert note.severity == "note" and note.text == promise(
        report.basis.ledger, report.guarantee.unit
    )
    assert "together (1.66, 1e-05)-differentially private" in note.text
    assert "owns up to 2 records is added or removed" in note.text
    assert "is not converted to a smaller one" in note.text


def test_no_promise_where_imports_passed_the_cap(two):
    place = two[0].basis.ledger
    full = place.model_copy(update={"in_all": place.cap})
    assert "is together (1.66, 1e-05)-differentially private" in promise(full, "one record")
    passed = place.model_copy(update={"in_all": "4", "cap": "373/1000"})
    text = promise(passed, "one record")
    assert "rho = 4 in all, which is more than its cap, rho = 0.373" in text
    assert "no guarantee of all that was released" in text and "is together" not in text


def test_a_seeded_or_void_fit_is_promised_nothing(fitted, two):
    place = two[0].basis.ledger
    for name in ("demonstration", "void"):
        model = fitted(name)
        facts = model._facts.model_copy(update={"ledger": place})
        from dpforest.report.making import make_report

        report = make_report(
            facts, model.domain_, model.guarantee_, model._composition(), model.fingerprint_
        )
        assert not any("given its cap before" in notice.text for notice in report.notices)
        assert report.basis.ledger == place and "## Ledger" in report.to_markdown()


def test_a_campaign_that_stands_alone_and_an_unsettled_fit_say_so(two):
    place = two[0].basis.ledger
    alone = place.model_copy(update={"alone": True, "parts": 4, "part": 2, "entry": "start"})
    rows = place_rows(alone)
    whole = "the whole cap, by the certificate of one list"
    assert rows["charged for this fit"] == (
        f"{whole}, for all 4 fits of a campaign (this is number 3)"
    )
    # What a certified list is charged is the cap, and not its own rho.
    assert rows["charged in all"] == whole
    assert "the whole cap when this fit ended" in alone.sentence and "rho" not in alone.sentence
    basis = two[0].basis.model_copy(update={"ledger": alone})
    spent = decision_of(two[0].model_copy(update={"basis": basis})).spent
    assert spent.startswith("The whole cap, which was declared as (1.66, 1e-05)")
    assert "rho" not in spent
    passed = promise(alone.model_copy(update={"in_all": "4"}), "one record")
    assert "used up by one list of releases" in passed and "rho" not in passed
    assert rows["remaining"] == "rho = 0" and rows["entry"].endswith("(not settled)")
    assert "nothing else is ever charged" in promise(alone, "one record")
    blocks = place_rows(place.model_copy(update={"blocks": ("2024", "2025")}))
    assert blocks["blocks"] == "2024, 2025" and "blocks" not in place_rows(place)


def test_a_difference_names_what_is_in_the_ledger(two):
    found = diff_reports(*two)
    changes = {change.what: change for change in found.of("budget")}
    assert changes["in the ledger, number"].text == "in the ledger, number rose from 3 to 6"
    in_all = changes["in the ledger, in all"]
    assert in_all.text.startswith("in the ledger, in all rose from 0.0")
    assert "in the ledger, cap" not in changes
    plain = two[0].model_copy(update={"basis": two[0].basis.model_copy(update={"ledger": None})})
    gone = {c.what for c in diff_reports(two[0], plain).of("budget")}
    names = {f"in the ledger, {name.replace('_', ' ')}" for name in LedgerPlace.model_fields}
    # An amount of nothing, no signature and no blocks are said too.
    assert gone == names


def test_a_report_of_no_ledger_has_no_word_of_one(fitted):
    report = fitted("multinomial").privacy_report()
    data = json.loads(report.to_json())
    assert "ledger" not in data["basis"] and report.basis.ledger is None
    assert "## Ledger" not in report.to_markdown() and "The ledger knows" not in report.other_fits
    pytest.importorskip("jinja2")
    assert 'id="ledger"' not in report.to_html()


@pytest.mark.parametrize("name", ["report_2.json", "report_3.json", "report_4.json"])
def test_reports_from_before_there_were_ledgers_are_read(name):
    report = PrivacyReport.from_json((EARLIER / name).read_text(encoding="utf-8"))
    assert report.basis.ledger is None and "ledger" not in json.loads(report.to_json())["basis"]


@pytest.mark.parametrize(
    ("part", "value"),
    [("hash", "x"), ("plan", ""), ("charged", "0.5"), ("entry", "reserve"), ("number", 0),
     ("currency", "delta"), ("part", -1), ("cap", "-1"), ("unheard of", 1)],
)  # fmt: skip
def test_the_schema_knows_what_a_place_is(part, value, two):
    jsonschema = pytest.importorskip("jsonschema")
    from dpforest import report_schema

    validator = jsonschema.Draft202012Validator(report_schema())
    data = json.loads(two[0].to_json())
    validator.validate(data)
    data["basis"]["ledger"][part] = value
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(data)
    data["basis"]["ledger"] = None
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(data)
