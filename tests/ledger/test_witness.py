"""Places of fits, worked out of the chain again: whatever was changed in a report is found."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from dpforest import BudgetLedger, Domain, PrivacyReport, PrivateForestClassifier, verify_report
from dpforest.exceptions import ParameterError, ParameterTypeError, ReportError
from dpforest.ledger.accountant import Reserve
from dpforest.ledger.pricing import campaign_epsilon, charge_of
from dpforest.ledger.witness import witness_problems
from dpforest.report.making import make_report
from dpforest.report.record import LedgerPlace
from dpforest.report.versions import CODE

DOMAIN = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=60)
X, Y = [[i] for i in range(60)], ["a", "b"] * 30


def open_at(path, **options):
    return BudgetLedger.open(f"sqlite:///{path}", actor="ana", **options)


def forest_of(ledger, **parameters):
    given = {"epsilon": 1, "domain": DOMAIN, "strategy": "one_shot", **parameters}
    accountant = ledger.accountant("claims")
    return PrivateForestClassifier(accountant=accountant, **given)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("witness") / "book"


@pytest.fixture(scope="module")
def ledger(path):
    with open_at(path, create=True) as opened:
        opened.register("claims", domain=DOMAIN, epsilon=9, delta="1e-6")
        yield opened


@pytest.fixture(scope="module")
def fitted(ledger):
    """Two fits, with the words of the first one's report changed by nobody."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = forest_of(ledger).fit(X, Y)
        forest_of(ledger).fit(X, Y)
    return first


CHANGED = {
    "ledger": "5f0c6f5e-8c5e-4b57-9ac2-1f4de1b1f0a3",
    "data_set": "other",
    "reserve": "5f0c6f5e-8c5e-4b57-9ac2-1f4de1b1f0a3",
    "part": 1,
    "parts": 2,
    "plan": "ab" * 32,
    "entry": "start",
    "number": 4,
    "hash": "ab" * 32,
    "signature": "ab" * 64,
    "key": "ab" * 32,
    "currency": "epsilon",
    "charged": "1/3",
    "before": "1/3",
    "in_all": "100",
    "cap": "100",
    "cap_epsilon": "8",
    "cap_delta": "0",
    "blocks": ("2024",),
    "alone": True,
}


def forged(model, **changes) -> PrivacyReport:
    """A whole report with another place, and whatever follows from it in a report."""
    place = model._facts.ledger.model_copy(update=changes)
    facts = model._facts.model_copy(update={"ledger": place})
    return make_report(
        facts, model.domain_, model.guarantee_, model._composition(), model.fingerprint_
    )


def test_every_part_of_a_place_is_changed_below():
    assert CHANGED.keys() == LedgerPlace.model_fields.keys()


def test_a_report_is_found_in_its_ledger(fitted, ledger):
    report = fitted.privacy_report()
    place = report.basis.ledger
    assert list(witness_problems(ledger.chain("claims"), place)) == []
    for given in (report, report.to_json()):
        held = verify_report(given, fitted, ledger=ledger)
        assert "its place in the ledger, and what was spent there" in held.held
        assert not any("ledger was given" in words for words in held.taken_at_its_word)
    alone = verify_report(report, fitted)
    assert any("no ledger was given" in words for words in alone.taken_at_its_word)


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_place_is_found(name, fitted, ledger):
    report = forged(fitted, **{name: CHANGED[name]})
    with pytest.raises(ReportError):
        verify_report(report, ledger=ledger)


@pytest.mark.parametrize("name", ["ledger", "data_set", "plan", "charged", "currency"])
def test_some_of_it_is_found_without_a_ledger(name, fitted):
    with pytest.raises(ReportError):
        verify_report(forged(fitted, **{name: CHANGED[name]}))


@pytest.mark.parametrize("version", [{}, {"dpforest": "0.0.1"}, {CODE: "0123456789abcdef"}])
def test_less_in_all_than_for_the_fit_is_found_whatever_code_planned_it(version, fitted):
    """What a ledger was charged is known without the plan."""
    facts = fitted._facts.model_copy(update={"versions": fitted._facts.versions | version})
    place = fitted._facts.ledger.model_copy(update={"in_all": "1/1000000", "before": "0"})
    of = (fitted.domain_, fitted.guarantee_, fitted._composition(), fitted.fingerprint_)
    assert verify_report(make_report(facts, *of)).held
    with pytest.raises(ReportError, match="less was spent in all than for this fit"):
        verify_report(make_report(facts.model_copy(update={"ledger": place}), *of))


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_a_price_that_no_ledger_has_is_found(ledger):
    model = forest_of(ledger, delta="1e-7").fit(X, Y)
    for changes in ({"currency": "epsilon"}, {"charged": "9" * 60, "in_all": "9" * 61}):
        with pytest.raises(ReportError, match="is not the price of its plan"):
            verify_report(forged(model, **changes))
    text = model.privacy_report().to_json()
    charged = json.dumps(model._facts.ledger.charged)
    assert text.count(f'"charged": {charged}') == 1
    with pytest.raises(ReportError, match="not a dpforest-report"):
        verify_report(text.replace(f'"charged": {charged}', '"charged": "inf"'))


def test_a_place_that_was_taken_away_is_found(fitted):
    facts = fitted._facts.model_copy(update={"ledger": None})
    report = make_report(
        facts, fitted.domain_, fitted.guarantee_, fitted._composition(), fitted.fingerprint_
    )
    with pytest.raises(ReportError, match="ceiling"):
        verify_report(report)


def test_the_place_of_another_fit_is_found(fitted, ledger):
    other = ledger.chain("claims").entries[6]
    report = forged(
        fitted, number=6, hash=other.hash, reserve=ledger.log("claims")[4].id,
        before=fitted._facts.ledger.in_all,
    )  # fmt: skip
    with pytest.raises(ReportError, match="another in all"):
        verify_report(report, ledger=ledger)


def test_an_entry_of_no_fit_is_found(fitted, ledger):
    first = ledger.log("claims")[1]
    with pytest.raises(ReportError, match="is none of a fit"):
        verify_report(forged(fitted, number=1, hash=first.hash), ledger=ledger)


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_a_restored_backup_is_behind_and_a_copy_that_went_on_is_forked(tmp_path, fitted, ledger):
    pytest.importorskip("dp_accounting")  # figures are those of its conversion
    backup = tmp_path / "backup"
    ledger.backup(backup)
    late = forest_of(ledger).fit(X, Y)
    with open_at(backup) as restored:
        verify_report(fitted.privacy_report(), ledger=restored)
        with pytest.raises(ReportError, match="ends at entry \\d+, before the entry \\d+ .*behind"):
            verify_report(late.privacy_report(), ledger=restored)
        forest_of(restored).fit(X, Y)
        with pytest.raises(ReportError, match="entry \\d+ of the ledger is another one"):
            verify_report(late.privacy_report(), ledger=restored)


def test_a_certificate_that_does_not_follow_is_refused(tmp_path):
    with open_at(tmp_path / "book", create=True) as book:
        forest = PrivateForestClassifier(
            epsilon=1, delta="1e-7", domain=DOMAIN, strategy="one_shot"
        )
        book.register("claims", domain=DOMAIN, epsilon=4, delta="1e-6")
        accountant = book.accountant("claims")
        prices = [forest._priced(accountant)] * 9
        epsilon, delta = Fraction(campaign_epsilon(prices, Fraction("1e-6"))), Fraction("1e-6")
        with pytest.raises(ParameterError, match="certificate that the charge stands by"):
            Reserve.made(book, "claims", charge_of(prices, "rho", alone=(epsilon / 2, delta)))
        place = Reserve.made(
            book, "claims", charge_of(prices, "rho", alone=(epsilon, delta))
        ).start(0)
        assert place.alone and not list(witness_problems(book.chain("claims"), place))


def test_another_ledger_and_what_is_none_are_refused(tmp_path, fitted):
    report = fitted.privacy_report()
    with open_at(tmp_path / "other", create=True) as other:
        with pytest.raises(ReportError, match="which is not in this one"):
            verify_report(report, ledger=other)
        own = PrivateForestClassifier(epsilon=9, domain=DOMAIN, strategy="one_shot").fit(X, Y)
        with pytest.raises(ReportError, match="charged to no ledger"):
            verify_report(own.privacy_report(), ledger=other)
    with pytest.raises(ParameterTypeError, match="BudgetLedger"):
        verify_report(report, ledger="sqlite:///somewhere")
