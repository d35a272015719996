"""Accountants of a ledger and the life of a reserve, on each store."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest

from dpforest import (
    BudgetLedger,
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
    verify_report,
)
from dpforest.accounting.fits import LastingCeiling, charged_to
from dpforest.accounting.rationals import parse_amount
from dpforest.accounting.releases import LearnerBudget
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError
from dpforest.ledger.accountant import Reserve
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.ceilings import NO_RESERVATION

DOMAIN = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=60)
X, Y = [[i] for i in range(60)], ["a", "b"] * 30


@pytest.fixture
def book(url):
    with BudgetLedger.open(url, actor="ana", create=True) as opened:
        opened.register("claims", domain=DOMAIN, epsilon=90, delta="1e-6")
        yield opened


def forest_of(ledger, **parameters):
    given = {"epsilon": 1, "domain": DOMAIN, "strategy": "one_shot", **parameters}
    return PrivateForestClassifier(accountant=ledger.accountant("claims"), **given)


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_a_fit_on_each_store(book):
    first, second = (forest_of(book).fit(X, Y).privacy_report() for _ in range(2))
    each = parse_amount(first.basis.ledger.charged)
    assert parse_amount(second.basis.ledger.in_all) == 2 * each
    for report in (first, second):
        verify_report(report, ledger=book)
    campaign = book.campaign("claims", [forest_of(book)] * 2)
    third = forest_of(book).set_params(accountant=campaign).fit(X, Y).privacy_report()
    assert parse_amount(third.basis.ledger.in_all) == 4 * each
    assert parse_amount(third.basis.ledger.charged) == 2 * each
    verify_report(third, ledger=book)
    # Another connection, as another machine has one.
    with BudgetLedger.open(book.url, actor="olga") if "sqlite" in book.url else book as other:
        assert fraction_of(other.chain("claims").state.total) == 4 * each


def test_a_ledger_given_for_its_accountant_is_told_what_to_write(book):
    forest = forest_of(book).set_params(accountant=book)
    with pytest.raises(ParameterTypeError, match=r"ledger\.accountant\(data_set\)"):
        forest.fit(X, Y)


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_a_second_outcome_is_of_the_same_data_set_where_the_domain_is_the_same(tmp_path):
    both = Domain(features=DOMAIN.features, classes=["a", "b"], target=(0, 9), approximate_rows=60)
    with BudgetLedger.open(f"sqlite:///{tmp_path}/both", actor="ana", create=True) as ledger:
        ledger.register("claims", domain=both, epsilon=90, delta="1e-6")
        forest_of(ledger, domain=both).fit(X, Y)
        forest_of(ledger, domain=both).fit(X, Y[::-1])  # another question, the same answers
        mean = PrivateForestRegressor(epsilon=1, domain=both, strategy="one_shot")
        mean.set_params(accountant=ledger.accountant("claims")).fit(X, [3.0] * 60)
        assert sum(entry.kind == "settle" for entry in ledger.log("claims")) == 3
        refused = forest_of(ledger)
        with pytest.raises(ParameterError, match="another data set, whose cap adds to this one's"):
            refused.fit(X, Y)


def test_an_accountant_says_where_it_charges(book):
    accountant = book.accountant("claims", purpose="churn", blocks=("2024",), request="")
    words = f"data set 'claims' of ledger {book.id}"
    assert isinstance(accountant, LastingCeiling) and charged_to(accountant) == words
    assert words in repr(accountant) and accountant.blocks == ("2024",)
    assert copy.copy(accountant) is accountant is copy.deepcopy(accountant)
    with pytest.raises(ParameterTypeError, match="BudgetLedger.open"):
        pickle.dumps(accountant)
    assert [entry.kind for entry in book.log("claims")] == ["open"]


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_an_accountant_says_what_remains(tmp_path):
    at = f"sqlite:///{tmp_path}/left"
    with BudgetLedger.open(at, actor="ana", create=True) as ledger:
        for currency in ("rho", "epsilon"):
            cap = {"epsilon": 2} | ({"delta": "1e-6"} if currency == "rho" else {})
            ledger.register(currency, domain=DOMAIN, currency=currency, **cap)
            accountant = ledger.accountant(currency)
            status = ledger.status(currency)
            assert getattr(accountant.remaining.exact, currency) == fraction_of(status.remaining)
            ledger.policy(currency, quotas={"ana": "0.01"})
            assert getattr(accountant.remaining.exact, currency) <= Fraction(1, 100)
            assert getattr(accountant.remaining.exact, currency) > Fraction(1, 101)
            left = getattr(accountant.remaining, currency)
            assert repr(accountant.remaining) == f"Budget({currency}={left!r})"
            assert "inf" not in f"{accountant.remaining} {accountant.remaining!r} {accountant!r}"
            # Where nothing is left the other currency says nothing either.
            ledger.policy(currency, quotas={"ana": 0})
            assert str(accountant.remaining) == f"({currency}=0)"
            charged = PrivateForestClassifier(epsilon="0.1", domain=DOMAIN, accountant=accountant)
            with pytest.raises(BudgetExceeded, match=rf"only \({currency}=0\) is left"):
                charged.fit(X, Y)


def test_a_ceiling_refuses_before_anything_is_planned(book):
    accountant = book.accountant("claims")
    budget = LearnerBudget.of_unit(Fraction(1), Fraction("1e-6"), 1)
    accountant.check(DOMAIN, budget)
    for domain in (None, "a path", DOMAIN.model_dump()):
        with pytest.raises(ParameterError, match="claims.*that very domain"):
            accountant.check(domain, budget)
    with pytest.raises(ParameterError, match="unit=1 where nobody owns more of the records"):
        accountant.check(DOMAIN, LearnerBudget.of_unit(Fraction(1), Fraction(0), 2))


def test_a_reserve_knows_what_was_spent_before_it(book):
    charge = book.charge("claims", forest_of(book))
    first, second = (Reserve.made(book, "claims", charge) for _ in range(2))
    each = fraction_of(charge.units)
    assert (first.snapshot.before, second.snapshot.before) == (0, each)
    assert first.start(0).in_all == first.settle(0, "failed").in_all
    second.void("never begun")
    assert fraction_of(book.chain("claims").state.total) == each
    third = Reserve.made(book, "claims", charge)
    place = third.start(0)
    assert parse_amount(place.before) == each and parse_amount(place.in_all) == 2 * each
    assert (place.number, place.entry, place.part, place.parts) == (7, "start", 0, 1)


def test_a_fit_of_no_ledger_has_a_reservation_that_does_nothing():
    with NO_RESERVATION as none:
        none.start()
        none.settle("holds")
    none.warn()
    assert none.place is None and none.failure == ""
    with pytest.raises(ZeroDivisionError), NO_RESERVATION:
        _ = 1 / 0
