"""An export holds every entry to the byte, and is read back into a ledger of the same identity."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpforest.exceptions import LedgerDamaged, ParameterError
from dpforest.ledger import BudgetLedger
from dpforest.ledger.exporting import read_export
from dpforest.ledger.opening import open_store


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(Path(__file__).parent / "helpers.py")


@pytest.fixture
def ledger(helpers, tmp_path):
    made = helpers.registered(helpers.ledger_at(tmp_path / "origin.ledger"))
    helpers.registered(made, "ünïts", currency="epsilon", epsilon="2")
    made.reserve("claims", helpers.charge("1/8", purpose='a "purpose" </script> – ü'))
    reserve = made.reserve("ünïts", helpers.charge("1/4", "epsilon"))
    made.start("ünïts", reserve.id)
    yield made
    made.close()


@pytest.fixture(scope="module")
def text(helpers, tmp_path_factory):
    """An export of a small ledger, for tests of what is refused."""
    made = helpers.registered(helpers.ledger_at(tmp_path_factory.mktemp("one") / "one.ledger"))
    made.reserve("claims", helpers.charge("1/8"))
    yield made.export_json()
    made.close()


def read_into(export, url):
    """A ledger at a new place with what an export has."""
    found = read_export(export)
    ledger = BudgetLedger(open_store(url, create=True, identity=found.ledger), "olga")
    return ledger, ledger.import_json(export)


def test_another_store_holds_the_same_chains(ledger, url, tmp_path):
    path = tmp_path / "export.json"
    assert ledger.export_json(path) == path.read_text("utf-8")
    copy, added = read_into(path, url)
    with copy:
        assert added == {"claims": 2, "ünïts": 3} and copy.id == ledger.id
        for name in ledger.data_sets:
            assert copy.chain(name) == ledger.chain(name)
        assert copy.export_json() == ledger.export_json()
        assert copy.verify([path]).entries == {"claims": 2, "ünïts": 3}
        # It goes on where the other stopped, and a second import finds nothing to do.
        assert copy.import_json(path) == {"claims": 0, "ünïts": 0}
        copy.note("claims", "moved here")
        with pytest.raises(ParameterError, match="other entries"):
            copy.import_json(path)


def test_what_is_missing_at_the_end_is_added(helpers, ledger, tmp_path):
    copy, _ = read_into(ledger.export_json(), f"sqlite:///{tmp_path}/copy.ledger")
    ledger.note("claims", "one more")
    assert copy.import_json(ledger.export_json()) == {"claims": 1, "ünïts": 0}
    assert copy.chain("claims") == ledger.chain("claims")
    copy.close()


def test_an_export_of_another_ledger_is_refused(helpers, ledger, tmp_path):
    other = helpers.ledger_at(tmp_path / "other.ledger")
    with pytest.raises(ParameterError, match="is an export of another ledger than this one"):
        other.import_json(ledger.export_json())
    assert other.data_sets == ()
    other.close()


def edits(text):
    """Every character that an entry, hash or name of an export could be changed by, sampled."""
    start = text.index("data_sets")
    for place in range(start, len(text), 5):
        old = text[place]
        if old.isalnum():
            yield place, "1" if old != "1" else "2"


def test_an_edited_byte_is_found(text):
    count = 0
    for place, new in edits(text):
        with pytest.raises((LedgerDamaged, ParameterError)):
            read_export(text[:place] + new + text[place + 1 :])
            raise AssertionError(text[place - 20 : place + 20])
        count += 1
    assert count > 200


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d | {"version": 2}, "no dpforest-ledger of version 1"),
        (lambda d: d | {"format": "x"}, "no dpforest-ledger of version 1"),
        (lambda d: d | {"more": 1}, "no dpforest-ledger of version 1"),
        (lambda d: d | {"ledger": 1}, "its parts are not those of one"),
        (lambda d: d | {"data_sets": []}, "its parts are not those of one"),
        (lambda d: d | {"data_sets": {"claims": {}}}, "its entries are no list"),
        (lambda d: d | {"data_sets": {"claims": [1]}}, "an entry has other parts"),
        (lambda d: d | {"data_sets": {"claims": [{"hash": "", "signature": "", "entry": 1}]}},
         "an entry is no object"),
    ],
)  # fmt: skip
def test_another_form_is_refused(text, change, said):
    with pytest.raises(ParameterError, match=said):
        read_export(json.dumps(change(json.loads(text))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1:], "entry 0 is not there"),
        (lambda rows: rows[::-1], "is not there"),
        (lambda rows: [], "it has no entries"),
        (lambda rows: [rows[0], rows[1] | {"hash": "00" * 32}], "has not the hash"),
    ],
)
def test_a_chain_that_is_not_whole_is_refused(text, change, said):
    data = json.loads(text)
    data["data_sets"]["claims"] = change(data["data_sets"]["claims"])
    with pytest.raises(LedgerDamaged, match=said):
        read_export(json.dumps(data))


def test_entries_stand_on_lines_of_their_own(text):
    lines = [line for line in text.splitlines() if '"entry": ' in line]
    assert len(lines) == 2 and all(re.search(r'"kind":"(open|reserve)"', line) for line in lines)
