"""Faults that somebody found who had the documents alone: each stays mended."""

from __future__ import annotations

import enum
import json

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    NumericTarget,
    PrivateForestClassifier,
    ReportError,
    verify_report,
)
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.exceptions import DomainError, ModelFormatError, ParameterError, ScopeError

DOMAIN = Domain(features={"n": (0, 100), "c": ["a", "b"]}, classes=["x", "y"], approximate_rows=60)
TABLE = ([[i, "a"] for i in range(60)], ["x", "y"] * 30)
HALF = "\ud800"


def fitted(**parameters):
    given = {"epsilon": 1, "strategy": "one_shot", "domain": DOMAIN, **parameters}
    return PrivateForestClassifier(**given).fit(*TABLE)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("text", ["0.4", "0.5", "0.7"])
def test_a_budget_of_any_width_is_stored_as_it_is_charged(kind, text):
    forest = fitted(epsilon=kind(text), delta=kind("0.001"))
    verify_report(forest.privacy_report(), forest)
    assert PrivateForestClassifier.from_json(forest.to_json()).guarantee_ == forest.guarantee_


def ledger_of(change):
    accountant = BudgetAccountant(2)
    fitted(accountant=accountant)
    books = json.loads(accountant.to_json())
    change(books)
    return json.dumps(books)


LIES = {
    "spent": lambda books: books["spent_record"].update(epsilon=0.001),
    "remaining": lambda books: books["remaining_record"].update(epsilon=1000.0),
    "format": lambda books: books.pop("format"),
    "charged": lambda books: books["scopes"]["charged"].update(epsilon="1/7"),
    "entries": lambda books: books["scopes"]["children"].clear(),
}


@pytest.mark.parametrize("lie", LIES)
def test_books_that_contradict_themselves_are_not_read(lie):
    assert FrozenLedger.from_json(ledger_of(lambda books: None)).spent.epsilon == 1
    with pytest.raises(ModelFormatError, match="not a dpforest-ledger"):
        FrozenLedger.from_json(ledger_of(LIES[lie]))


@pytest.mark.parametrize("unit", [None, {}, [], "1", True, 0, 1.5])
def test_a_report_of_no_privacy_unit_is_refused(unit):
    facts = json.loads(fitted().privacy_report().to_json())
    facts["basis"]["settings"]["max_records_per_unit"] = unit
    with pytest.raises(ReportError):
        verify_report(json.dumps(facts))


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Domain(features={"c": ["a", HALF]}),
        lambda: Domain(features={"n": (0, 1)}, classes=["x", HALF]),
        lambda: Domain(features={"n": (0, 1)}, note=HALF),
        lambda: NumericTarget(lower=0, upper=1, source=HALF),
    ],
)
def test_half_of_a_character_is_refused_where_it_is_declared(declare):
    with pytest.raises(DomainError, match="half of a character"):
        declare()


def test_an_accountants_name_is_whole_and_a_draft_leaves_out_what_is_not():
    with pytest.raises(ParameterError, match="half of a character"):
        BudgetAccountant(1, name=HALF)
    draft = Domain.draft([["a"], [HALF], ["b"]], ["x", "y", "x"])
    assert draft.features[0].categories == ("a", "b")


def test_books_are_not_begun_anew():
    accountant = BudgetAccountant(2)
    fitted(accountant=accountant)
    with pytest.raises(ScopeError, match="begun anew"):
        accountant.__init__(100)
    assert (accountant.total.epsilon, accountant.spent.epsilon) == (2, 1)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_a_boolean_is_no_bound(end):
    with pytest.raises(DomainError, match="not a boolean"):
        NumericTarget(**{"lower": 0, "upper": 5, end: True})


class Unit(enum.IntEnum):
    PAIR = 2


def test_a_unit_may_be_a_member_of_an_enumeration_and_no_larger_than_anybody():
    forest = fitted(max_records_per_unit=Unit.PAIR)
    verify_report(forest.privacy_report(), forest)
    accountant = BudgetAccountant(2)
    with pytest.raises(ParameterError, match="at most 1000000000"):
        fitted(max_records_per_unit=10**10, accountant=accountant)
    assert accountant.spent.epsilon == 0
