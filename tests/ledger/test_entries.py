"""Texts of entries: each is read back to the byte, and nothing else is read."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from dpforest.exceptions import LedgerDamaged, ParameterError
from dpforest.ledger.bodies import BODIES, Kind, NoteBody
from dpforest.ledger.entries import Entry, read_entry
from dpforest.ledger.fields import is_id, is_name
from dpforest.ledger.plan_files import Charge
from dpforest.report.digests import canonical_bytes


@pytest.fixture(scope="module")
def entries(helpers):
    return helpers.chain_of_every_kind().entries


def test_every_kind_has_a_body():
    assert BODIES.keys() == set(Kind)


def test_a_text_is_read_back_to_the_byte(entries):
    for entry in entries:
        again = read_entry(entry.text, entry.hash, entry.signature)
        assert again == entry and again.hashed() == entry.hash
        assert entry.text.isascii()


def test_a_text_holds_no_float(entries):
    for entry in entries:
        json.loads(entry.text, parse_float=lambda text: pytest.fail(f"a float: {text}"))


def test_what_has_its_default_is_not_written(entries):
    # So that a release which adds a field writes the texts of earlier ones as they were.
    note = next(entry for entry in entries if entry.kind is Kind.NOTE)
    assert json.loads(note.text).keys() == {
        "actor", "body", "data_set", "id", "kind", "number", "previous", "state", "time",
    }  # fmt: skip


CHANGES = {
    "another order": lambda data: json.dumps(dict(reversed(data.items()))),
    "spaces": lambda data: json.dumps(data, sort_keys=True),
    "a field more": lambda data: canonical({**data, "colour": "red"}),
    "a default": lambda data: canonical({**data, "clock_behind": False}),
    "a field less": lambda data: canonical({k: v for k, v in data.items() if k != "time"}),
    "a number as text": lambda data: canonical({**data, "number": "1"}),
    "another kind": lambda data: canonical({**data, "kind": "open"}),
    "no kind": lambda data: canonical({**data, "kind": "gift"}),
    "a list as kind": lambda data: canonical({**data, "kind": ["note"]}),
    "no body": lambda data: canonical({**data, "body": None}),
    "a hash inside": lambda data: canonical({**data, "hash": "00" * 32}),
    "no object": lambda data: "[]",
    "nothing": lambda data: "",
    "twice a key": lambda data: canonical(data)[:-1] + ',"number":1}',
}


def canonical(data) -> str:
    return canonical_bytes(data).decode()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_other_text_is_read(change, entries):
    entry = next(entry for entry in entries if entry.kind is Kind.NOTE)
    assert canonical(json.loads(entry.text)) == entry.text
    with pytest.raises(LedgerDamaged):
        read_entry(change(json.loads(entry.text)))


@pytest.mark.parametrize("name", ["a", "Größe", "a b", "x" * 100, "数据"])
def test_names(name):
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "x" * 101, "a\nb", "a\x00", "\u202ea", "\ud800", 1, None, b"a"]
)
def test_no_names(name):
    assert not is_name(name)


def test_ids_have_one_text():
    assert is_id("6b5f0f95-d66d-4549-afde-09bfeb94e118")
    for other in (
        "6B5F0F95-D66D-4549-AFDE-09BFEB94E118",
        "6b5f0f95d66d4549afde09bfeb94e118",
        "",
        1,
    ):
        assert not is_id(other)


def test_an_entry_is_never_changed(entries):
    with pytest.raises(ValidationError):
        entries[0].number = 7
    assert isinstance(entries[1], Entry) and isinstance(entries[1].body, NoteBody)


def test_what_somebody_wrote_steers_no_terminal(entries, helpers):
    """An officer reads plan files and exports that others wrote."""
    steers = "\x1b[2J\x1b]0;owned\x07\n\u202e"
    opening = json.loads(entries[0].text)
    opening["body"]["owners"] = {steers: ""}
    plan = json.loads(helpers.charge("1/16").to_json())
    plan["charge"][steers] = 1
    with pytest.raises(LedgerDamaged) as of_entry:
        read_entry(canonical(opening))
    with pytest.raises(ParameterError) as of_plan:
        Charge.from_json(json.dumps(plan))
    for caught in (of_entry, of_plan):
        assert "owned" in str(caught.value) and str(caught.value).isprintable()
