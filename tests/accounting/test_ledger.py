"""The books: order, JSON, frozen copies."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    FrozenLedger,
    GeometricNoise,
    PrivacyLoss,
)
from dpforest.accounting.ledger import LossRecord
from dpforest.exceptions import ModelFormatError


@pytest.fixture
def accountant():
    accountant = BudgetAccountant(4, delta="1e-6", name="demo")
    with accountant.open_scope("fit", reserve=PrivacyLoss(math.inf, F(1, 10))) as fit:
        for tree in (10, 2):  # out of order, as threads may open them
            sides = fit.parallel_records(f"tree {tree}", {"S": F(1, 3), "E": F(2, 3)})
            event = ExponentialSelection(F(1, 7), F(2))
            sides.side("S").request(event, role="selection", cells=8, level=3)
            noise = DiscreteGaussianNoise(F(100), F(1))
            sides.side("E").request(noise, role="histogram", cells=16, level=4)
    accountant.request(GeometricNoise(F(1, 10), F(1)), role="rows")
    return accountant


def test_entries_say_what_was_done(accountant):
    entries = accountant.ledger
    assert [entry.index for entry in entries] == list(range(5))
    assert entries[0].role == "rows"
    assert [entry.path[1] for entry in entries[1:]] == ["tree 2", "tree 2", "tree 10", "tree 10"]
    (selection,) = [e for e in entries if e.path == ("fit", "tree 2", "S")]
    assert selection.mechanism == "exponential mechanism"
    assert selection.parameters == {"epsilon": "1/7", "score_range": "2"}
    assert (selection.cells, selection.level) == (8, 3)
    assert selection.loss == PrivacyLoss.bounded_range(F(1, 7))


def test_composition_carries_totals(accountant):
    root = accountant.composition()
    assert root.composed.loss == accountant.loss
    assert root.composed.rho_float >= float(accountant.loss.rho)
    tree = root.children[0].children[0]
    assert (tree.label, tree.kind) == ("tree 2", "parallel records")
    assert tree.probabilities == {"S": "1/3", "E": "2/3"}
    assert root.ledger == accountant.ledger


def test_json_round_trip(accountant, tmp_path):
    path = tmp_path / "ledger.json"
    text = accountant.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    assert json.loads(text)["format"] == "dpforest-ledger"
    read = FrozenLedger.from_json(text)
    assert read == accountant.frozen()
    assert read.to_json() == text
    assert read.spent.exact == accountant.loss
    assert read.spent.exact.epsilon == math.inf


def test_frozen_books_read_like_the_accountant_and_can_be_pickled(accountant):
    frozen = pickle.loads(pickle.dumps(accountant.frozen()))
    assert frozen.total == accountant.total
    assert frozen.spent == accountant.spent
    assert frozen.remaining == accountant.remaining
    assert frozen.ledger == accountant.ledger
    assert frozen.composition() == accountant.composition()
    assert not hasattr(frozen, "request")
    before = frozen.spent
    accountant.request(GeometricNoise(F(1, 10), F(1)), role="later")
    assert frozen.spent == before


@pytest.mark.parametrize("text", ["{}", "nonsense", '{"format": "other"}'])
def test_other_text_is_refused(text):
    with pytest.raises(ModelFormatError, match="not a dpforest-ledger of version 2"):
        FrozenLedger.from_json(text)


def test_doubles_beside_rationals_are_never_below_them():
    for third in (F(1, 3), F(2, 3), F(1, 7), F(10**20 + 1, 3)):
        record = LossRecord.of(PrivacyLoss(third, third, third))
        shown = (record.epsilon_float, record.rho_float, record.delta_float)
        assert all(F(repr(number)) >= third for number in shown)
        assert F(repr(math.nextafter(shown[0], 0))) < third
