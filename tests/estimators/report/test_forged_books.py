"""A report that somebody made to keep a reader busy is refused before its tables are added up.

No test here takes a time: what would be worked out is counted.
"""

from __future__ import annotations

import json
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from dpforest import ReportError, verify_report
from dpforest.accounting import rationals
from dpforest.accounting.ledger import LossRecord, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.verify import verify_composition
from dpforest.report.digests import digest_of
from dpforest.report.making import spending_rows
from dpforest.verify import contents

TOO_LONG = "a row of its tables would add up to an amount of more digits than books hold"
#: Amounts that share no divisor, each as long as books allow.
AMOUNTS = [f"1/{10**3900 + 2 * i + 1}" for i in range(20)]


@pytest.fixture(scope="module")
def written(fitted: Any) -> Any:
    """A report's data, and one entry of its books."""
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    scope = data["composition"]
    while not scope["entries"]:
        scope = scope["children"][0]
    return data, scope["entries"][0]


def loss(epsilon: str) -> Any:
    record = LossRecord.of(PrivacyLoss(Fraction(epsilon), Fraction(0), Fraction(0)))
    return json.loads(record.model_dump_json())


def foreign(entry: Any, index: int, epsilon: str, **given: Any) -> Any:
    return entry | {"mechanism": "theirs", "parameters": {}, "index": index, "rho": "0",
                    "delta": "0", "epsilon": epsilon} | given  # fmt: skip


def scope(blank: Any, kind: str, epsilon: str, **given: Any) -> Any:
    whole = loss(epsilon)
    empty = {"entries": [], "children": [], "caps": [], "certificate": None, "reserve": None}
    return blank | {"kind": kind, "composed": whole, "charged": whole} | empty | given


def cells(written: Any) -> Any:
    """Books whose scopes are all within bounds: one long amount in each of many parallel cells."""
    data, entry = written
    blank, (top, *_) = data["composition"], entry["path"]
    children = [
        scope(blank, "sequential", amount, label=f"cell {i}",
              entries=[foreign(entry, i, amount, path=[top, "cells", f"cell {i}"])])
        for i, amount in enumerate(AMOUNTS)
    ]  # fmt: skip
    parallel = scope(blank, "parallel cells", AMOUNTS[0], label="cells", children=children)
    return scope(blank, "sequential", AMOUNTS[0], children=[parallel])


def refused(data: Any, composition: Any) -> tuple[str, ...]:
    rest = {key: value for key, value in data.items() if key != "digest"}
    rest["composition"] = composition
    with pytest.raises(ReportError) as caught:
        verify_report(json.dumps(rest | {"digest": digest_of(rest)}))
    return caught.value.problems


def test_nothing_is_made_again_from_books_that_contradict_themselves(written, monkeypatch):
    begun: list[Any] = []
    monkeypatch.setattr(contents, "_remade_problems", lambda record: begun.append(1) or ())
    data, entry = written
    entries = [foreign(entry, i, amount) for i, amount in enumerate(AMOUNTS)]
    problems = refused(data, data["composition"] | {"entries": entries})
    assert any("add up to one of more digits than books hold" in text for text in problems)
    assert begun == []


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sums that were looked at, since they may be too long; a sum beside those fails."""
    looked: list[int] = []
    is_long = rationals.is_long

    def added(*_: Any) -> Any:
        raise AssertionError("losses are added up without a limit")

    monkeypatch.setattr(rationals, "is_long", lambda *given: looked.append(1) or is_long(*given))
    monkeypatch.setattr(PrivacyLoss, "__add__", added)
    return looked


def test_tables_of_consistent_books_end_where_they_become_too_long(written, sums):
    record = ScopeRecord.model_validate(cells(written))
    assert verify_composition(record) == ()
    sums.clear()
    with pytest.raises(ReportError) as caught:
        spending_rows(record)
    assert caught.value.problems == (TOO_LONG,)
    assert len(sums) == 1  # the second, where the first two share no divisor


def test_a_report_of_consistent_books_is_refused_in_our_words(written):
    data, _ = written
    assert TOO_LONG in refused(data, cells(written))


class Counted:
    """An entry that counts how often it is asked for its role."""

    mechanism, cells, loss = "theirs", 1, NO_LOSS

    def __init__(self, number: int, asked: list[int]) -> None:
        self.level, self.number, self.asked = number, number % 50, asked

    @property
    def role(self) -> str:
        self.asked.append(self.number)
        return f"role {self.number}"


def test_each_entry_is_asked_once_for_each_table():
    asked: list[int] = []
    entries = tuple(Counted(i, asked) for i in range(200))
    books: Any = SimpleNamespace(walk=lambda: [], children=(), ledger=entries)
    rows = spending_rows(books)
    assert len(asked) == 200
    own = [(row.name, row.requests) for row in rows if row.group == "role"]
    assert own == [(f"role {i}", 4) for i in range(50)]
    assert [row.group for row in rows] == ["level"] * 200 + ["role"] * 50 + ["mechanism"]
