"""A fit without the ledger is charged afterwards what it would have been charged in it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    ReportHeader,
    UtilityFigure,
)
from dpforest.__main__ import main
from dpforest.exceptions import ParameterError
from dpforest.ledger.imported_fits import imported_fit
from dpforest.report.digests import digest_of

HERE = Path(__file__).parent
NOBODY = np.empty((0, 2)), np.empty(0)
FACTS = {"features": {"a": (0, 9), "b": (0, 9)}, "classes": [0, 1]}
KNOWN, UNKNOWN = Domain(**FACTS, approximate_rows=4000), Domain(**FACTS)
WITH_DELTA = {
    "a list that is known beforehand": PrivateForestClassifier(epsilon=1, delta=1e-6, domain=KNOWN),
    "refitted": PrivateForestClassifier(epsilon=1, delta=1e-6, domain=KNOWN, strategy="refitted"),
    "a count that is bought": PrivateForestClassifier(
        epsilon=1, delta=1e-6, domain=UNKNOWN, accountant=BudgetAccountant(epsilon=9, delta=1e-6)
    ),
}
PURE = {
    "rules": PrivateForestClassifier(epsilon=1, domain=KNOWN, strategy="rules"),
    "curves at once": PrivateForestClassifier(epsilon=1, domain=KNOWN, strategy="additive"),
    "one shot, a count that is bought": PrivateForestClassifier(epsilon=1, domain=UNKNOWN),
    "trees": MultinomialForestClassifier(epsilon=1, domain=KNOWN, n_estimators=2, max_depth=1),
}
pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(HERE / "helpers.py")


@pytest.fixture(scope="module")
def ledger(helpers, tmp_path_factory):
    """Data sets of both currencies, with and without a domain that says how many rows there are."""
    made = helpers.ledger_at(tmp_path_factory.mktemp("elsewhere") / "claims.ledger")
    made.register("rho", domain=KNOWN, rho=10, delta=1e-6)
    made.register("pure", domain=KNOWN, currency="epsilon", epsilon=10)
    yield made
    made.close()


def facts(ledger, name):
    return ledger.status(name).facts


@cache
def report_of(forest):
    """Report of a forest, which is fitted once."""
    return forest.fit(*NOBODY).privacy_report()


@pytest.mark.parametrize("name", [*WITH_DELTA, *PURE])
@pytest.mark.parametrize("currency", ["rho", "pure"])
def test_it_costs_what_it_would_have_cost_in_the_ledger(ledger, name, currency):
    forest = (WITH_DELTA | PURE)[name]
    report = report_of(forest).to_json()
    if currency == "pure" and name in WITH_DELTA:
        with pytest.raises(ParameterError, match="it has no price in epsilon"):
            imported_fit(report, facts(ledger, currency))
        return
    price = ledger.charge(currency, forest).units
    assert imported_fit(report, facts(ledger, currency)).units == price > 0


def test_the_command_charges_a_report_once(ledger, helpers, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DPFOREST_LEDGER", f"sqlite:///{tmp_path}/claims.ledger")
    monkeypatch.setenv("DPFOREST_ACTOR", "olga")
    with helpers.ledger_at(tmp_path / "claims.ledger") as made:
        made.register("claims", domain=KNOWN, rho=10, delta=1e-6)
        report_of(PURE["trees"]).to_json(tmp_path / "report.json")
        command = ["ledger", "import", str(tmp_path / "report.json"), "--into", "claims"]
        assert main([*command, "--reason", "in a notebook"]) == 0
        price = made.charge("claims", PURE["trees"]).units
        assert made.status("claims").spent == price
        said = made.log("claims")[-1].body.source
        assert said == "MultinomialForestClassifier, fitted without the ledger. in a notebook"
        assert main(command) == 2 and "was imported before" in capsys.readouterr().err
        assert main([*command[:-1], "other"]) == 2
        assert made.status("claims").spent == price


def test_a_fit_of_another_ledger_is_charged_as_one_without_any(ledger, helpers, tmp_path):
    """Somebody kept a second book of the table, and its fits come home."""
    with helpers.ledger_at(tmp_path / "second.ledger") as second:
        second.register("rho", domain=KNOWN, rho=10, delta=1e-6)
        forest = MultinomialForestClassifier(
            epsilon=1,
            domain=KNOWN,
            n_estimators=2,
            max_depth=1,
            accountant=second.accountant("rho"),
        )
        fit = imported_fit(report_of(forest).to_json(), facts(ledger, "rho"))
        assert fit.units == second.status("rho").spent and fit.guarantee == "holds"
        assert fit.words == f"MultinomialForestClassifier, fitted under ledger {second.id}."


def test_a_fit_is_charged_once_whatever_was_typed_into_its_reports(ledger, helpers, tmp_path):
    """As the JSON of one and the page of another, whose header came later."""
    known, forest = facts(ledger, "rho"), PURE["trees"]
    plain = report_of(forest)
    figure = UtilityFigure(
        name="accuracy", value=0.8, origin="public holdout", source="another clinic"
    )
    header = ReportHeader(title="Who comes back", date="2026-11-29")
    later = forest.privacy_report(header, figure)
    assert plain.digest != later.digest
    fit = imported_fit(plain.to_json(), known)
    assert fit == imported_fit(later.to_json(), known)
    assert fit.digest == plain.digest, "as it stands in ledgers that earlier releases wrote"
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    assert imported_fit(later.to_html(), known) == fit
    plain.to_html(tmp_path / "report.html")
    assert imported_fit(tmp_path / "report.html", known) == fit


def test_what_is_of_another_kind_is_refused(ledger, helpers):
    known = facts(ledger, "rho")
    forest = PURE["trees"]
    other = MultinomialForestClassifier(
        epsilon=1, n_estimators=1, max_depth=1,
        domain=Domain(features={"a": (0, 9), "b": (0, 8)}, classes=[0, 1]),
    )  # fmt: skip
    unit = MultinomialForestClassifier(
        epsilon=1, domain=KNOWN, n_estimators=1, max_depth=1, max_records_per_unit=2
    )
    in_it = MultinomialForestClassifier(
        epsilon=1, domain=KNOWN, n_estimators=1, max_depth=1, accountant=ledger.accountant("rho")
    )
    # What it keeps to is its (epsilon, delta), whatever it releases first: no rho bounds it.
    bought = PrivateForestClassifier(epsilon=1, delta=1e-6, domain=UNKNOWN)
    text = report_of(forest).to_json()
    for given, said in [
        (report_of(other).to_json(), "its domain is not the data set's"),
        (report_of(unit).to_json(), "its privacy unit is not the data set's"),
        (report_of(bought).to_json(), "it has no price in rho"),
        (report_of(in_it).to_json(), "its fit stands in this ledger"),
        (text.replace('"MultinomialForestClassifier"', '"AnotherClassifier"', 1), "own entries"),
        ("{}", "not a dpforest-report"),
        ("absent.json", "there is none"),
    ]:
        name = "a text" if given.startswith("{") else given
        with pytest.raises(ParameterError, match=f"^file='{name}': .*{said}"):
            imported_fit(given, known)


@pytest.mark.parametrize(
    ("place", "value"), [(("domain", "classes"), ["x"]), (("basis", "delta"), "inf")]
)
def test_a_report_of_no_domain_or_delta_is_an_error_of_ours(ledger, place, value):
    data = json.loads(report_of(PURE["rules"]).to_json())
    del data["digest"]
    data[place[0]][place[1]] = value
    with pytest.raises(ParameterError, match="cannot be charged"):
        imported_fit(json.dumps(data | {"digest": digest_of(data)}), facts(ledger, "pure"))
