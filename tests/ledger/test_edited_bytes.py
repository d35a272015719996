"""An edited byte in any column of any row is found, in memory and in both stores.

The text of each entry is gone through byte by byte; in the stores, each column of each row of each
table is edited where whoever can write to the database would edit it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3

import pytest

from dpforest.exceptions import LedgerDamaged, LedgerError
from dpforest.ledger import Signer
from dpforest.ledger.bodies import NoteBody
from dpforest.ledger.chain import checked_chain, end_of, entry_of, head_of, row_of

COLUMNS = ("data_set", "number", "id", "kind", "text", "hash", "signature", "key")
HEAD_COLUMNS = ("data_set", "number", "hash", "state")
SCHEMA = "dpforest_ledger"
SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def whole(helpers):
    pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")
    return helpers.chain_of_every_kind(Signer(SECRET))


def edits(text):
    """A text with each of its bytes changed, left out or doubled, and one appended."""
    for place, character in enumerate(text):
        other = chr(ord(character) ^ 1)
        yield text[:place] + other + text[place + 1 :]
        yield text[:place] + text[place + 1 :]
    yield text + " "
    yield text + "0"
    if text:
        yield text + text[-1]
        yield text.upper() if text.upper() != text else text[::-1]


def test_every_byte_of_every_column(whole):
    n_edits = 0
    for entry in whole.entries:
        row = row_of(entry)
        assert entry_of(row, "claims") == entry
        for column in COLUMNS:
            value = getattr(row, column)
            others = [value + 1, value - 1] if column == "number" else edits(value)
            # A signature is checked with its key; that is the next test's.
            if column == "signature" and value:
                others = ["", value[:-2], value + "00", value.upper(), value[:-1] + "g"]
            for other in others:
                n_edits += 1
                with pytest.raises(LedgerDamaged):
                    entry_of(dataclasses.replace(row, **{column: other}), "claims")
    assert n_edits > 10_000


def test_every_byte_of_a_signature(whole, helpers):
    rows = [row_of(entry) for entry in whole.entries]
    head = head_of(whole.entries[-1], whole.state)
    first, good = rows[0], rows[0].signature
    assert good
    checked_chain(rows, head, helpers.LEDGER, "claims")
    for place in range(len(good)):
        bad = good[:place] + f"{int(good[place], 16) ^ 1:x}" + good[place + 1 :]
        rows[0] = dataclasses.replace(first, signature=bad)
        with pytest.raises(LedgerDamaged, match="not signed"):
            checked_chain(rows, head, helpers.LEDGER, "claims")


def test_every_byte_of_the_state_that_a_head_keeps(whole, helpers):
    rows = [row_of(entry) for entry in whole.entries]
    head = head_of(whole.entries[-1], whole.state)
    for other in edits(head.state):
        bad = dataclasses.replace(head, state=other)
        with pytest.raises(LedgerDamaged):
            end_of(bad, rows[-1:], helpers.LEDGER)


# -- in the stores ---------------------------------------------------------------------


class Intruder:
    """Somebody who can write to the database, by its own means."""

    def __init__(self, url: str) -> None:
        self.is_file = url.startswith("sqlite")
        if self.is_file:
            path = url.removeprefix("sqlite:///")
            self.connection = sqlite3.connect(path, isolation_level=None)
            found = self.run("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            changes = [f"DROP TRIGGER {name}" for (name,) in found]
        else:
            import psycopg

            place = f"-csearch_path={SCHEMA}"
            self.connection = psycopg.connect(url, autocommit=True, options=place)
            tables = ("entries", "heads", "ledger")
            changes = [f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in tables]
        for change in changes:
            self.run(change)

    def run(self, statement: str, *values) -> list:
        mark = "?" if self.is_file else "%s"
        found = self.connection.execute(statement.replace("?", mark), values)
        return found.fetchall() if found.description else []


def edited(value):
    """The value with one byte changed in its middle; a number plus something large."""
    if isinstance(value, int):
        return value + 1000
    if not value:
        return "0"
    place = len(value) // 2
    other = chr(ord(value[place]) ^ 1)
    return value[:place] + other + value[place + 1 :]


@pytest.fixture
def copied(url, whole, helpers):
    """The signed chain of every kind as a ledger of each store holds it."""
    ledger = helpers.ledger_at(url, actor="ana")
    signer = Signer(SECRET)
    chain = helpers.PureChain.__new__(helpers.PureChain)
    chain.name, chain.entries, chain.place = "claims", [], None
    body = whole.entries[0].body.model_copy(update={"ledger": ledger.id})
    chain.say(body, "olga", signer)
    with ledger._store.locked("claims") as locked:
        locked.append(row_of(chain.entries[0]), head_of(chain.entries[0], chain.state))
    for entry in whole.entries[1:]:
        with ledger._store.locked("claims") as locked:
            chain.say(_moved(entry, whole, chain), entry.actor, signer if entry.key else None)
            locked.append(row_of(chain.entries[-1]), head_of(chain.entries[-1], chain.state))
    assert len(ledger.chain("claims").entries) == len(whole.entries)
    intruder = Intruder(url)
    yield ledger, intruder
    intruder.connection.close()
    ledger.close()


def _moved(entry, whole, chain):
    """A body whose requests and reserves are those of the copy."""
    ids = {old.id: new.id for old, new in zip(whole.entries, chain.entries, strict=False)}
    named = {n: ids[v] for n, v in entry.body if isinstance(v, str) and v in ids}
    return entry.body.model_copy(update=named)


def test_every_column_of_every_row_of_a_store(copied):
    ledger, intruder = copied
    n_edits = 0
    for row in ledger._store.rows("claims"):
        for column in COLUMNS:
            value = getattr(row, column)
            intruder.run(f"UPDATE entries SET {column} = ? WHERE id = ?", edited(value), row.id)
            with pytest.raises(LedgerDamaged):
                ledger.chain("claims")
            key = edited(row.id) if column == "id" else row.id
            intruder.run(f"UPDATE entries SET {column} = ? WHERE id = ?", value, key)
            n_edits += 1
    ledger.chain("claims")
    assert n_edits == len(COLUMNS) * len(ledger.log("claims")) > 100


def test_every_column_of_a_head(copied):
    ledger, intruder = copied
    head = ledger._store.head("claims")
    for column in HEAD_COLUMNS:
        value = getattr(head, column)
        intruder.run(f"UPDATE heads SET {column} = ?", edited(value))
        for reads in (ledger.chain, ledger.status, ledger.log):
            with pytest.raises(LedgerDamaged):
                reads("claims")
        with pytest.raises(LedgerDamaged):
            ledger.note("claims", "what was not noticed")
        intruder.run(f"UPDATE heads SET {column} = ?", value)
    ledger.note("claims", "all is well")
    ledger.chain("claims")


def test_a_lowered_total_in_the_kept_state_is_found_before_the_next_entry(ledger, url, helpers):
    ledger.reserve("claims", helpers.charge("0.9"))
    state = ledger._store.head("claims").state
    less = state.replace('"spent":"', '"spent":"0" ,"was":"')
    assert less != state
    with contextlib.closing(Intruder(url).connection) as connection:
        connection.execute(f"UPDATE heads SET state = '{less}'")
    with pytest.raises(LedgerDamaged, match="edited"):
        ledger.reserve("claims", helpers.charge("0.9"))
    assert len(ledger._store.rows("claims")) == 2


def test_the_identity_of_a_ledger(copied):
    ledger, intruder = copied
    intruder.run("UPDATE ledger SET id = ?", edited(ledger.id))
    ledger.close()
    with pytest.raises(LedgerError):
        ledger.chain("claims")


@pytest.mark.parametrize("number", [0, 5, 17])
def test_a_deleted_row(copied, number):
    ledger, intruder = copied
    intruder.run("DELETE FROM entries WHERE number = ?", number)
    with pytest.raises(LedgerDamaged):
        ledger.chain("claims")


def test_a_deleted_head(copied):
    ledger, intruder = copied
    intruder.run("DELETE FROM heads")
    for does in (ledger.chain, ledger.status):
        with pytest.raises(LedgerDamaged, match="head is not there"):
            does("claims")
    with pytest.raises(LedgerDamaged, match="head is not there"):
        ledger.note("claims", "x")


def test_a_data_set_without_its_head_is_not_hidden(copied, helpers):
    ledger, intruder = copied
    helpers.registered(ledger, name="visits")
    intruder.run("DELETE FROM heads WHERE data_set = 'claims'")
    assert ledger.data_sets == ("claims", "visits")
    for does in (ledger.verify, ledger.export_json, ledger.page):
        with pytest.raises(LedgerDamaged, match="head is not there"):
            does()


def test_a_row_before_the_first(copied):
    ledger, intruder = copied
    row = ledger._store.rows("claims", 1, 2)[0]
    columns = "data_set, number, id, kind, text, hash, signature, key"
    values = (row.data_set, -3, "another", row.kind, row.text, row.hash, row.signature, row.key)
    intruder.run(f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *values)
    for does in (ledger.verify, ledger.export_json):
        with pytest.raises(LedgerDamaged):
            does()


def test_a_row_beyond_the_head(copied):
    """Such as a second last entry, which a head that was set back would hide."""
    ledger, intruder = copied
    before = ledger._store.head("claims")
    ledger.note("claims", "the last")
    intruder.run("UPDATE heads SET number = ?, hash = ?, state = ?",
                 before.number, before.hash, before.state)  # fmt: skip
    with pytest.raises(LedgerDamaged, match="of more"):
        ledger.chain("claims")
    with pytest.raises(LedgerDamaged):
        ledger.note("claims", "another last")


def test_bytes_that_are_no_text(copied, url):
    ledger, intruder = copied
    if not intruder.is_file:
        pytest.skip("PostgreSQL keeps nothing but text in a column of text")
    intruder.run("PRAGMA ignore_check_constraints = ON")
    intruder.run("UPDATE entries SET text = CAST(text AS BLOB) WHERE number = 3")
    with pytest.raises(LedgerDamaged):
        ledger.chain("claims")


@pytest.mark.parametrize("name", ["", "\x1bclaims", " claims", b"\xff"])
@pytest.mark.parametrize("table", ["heads", "entries"])
def test_a_name_that_is_none(copied, helpers, table, name):
    ledger, intruder = copied
    helpers.registered(ledger, name="visits")
    if isinstance(name, bytes):
        if not intruder.is_file:
            pytest.skip("PostgreSQL keeps nothing but text in a column of text")
        intruder.run("PRAGMA ignore_check_constraints = ON")
    intruder.run(f"UPDATE {table} SET data_set = ? WHERE data_set = 'visits'", name)
    for does in (ledger.verify, ledger.export_json, ledger.page, lambda: ledger.status("other")):
        with pytest.raises(LedgerDamaged):
            does()


@pytest.mark.parametrize("name", ["", "\x1b[2J", "ledger"])
def test_an_identity_that_is_none(copied, helpers, url, name):
    """It stands in errors, and so on terminals."""
    ledger, intruder = copied
    intruder.run("UPDATE ledger SET id = ?", name)
    with pytest.raises(LedgerDamaged, match="does not say which ledger it is") as caught:
        helpers.ledger_at(url)
    assert str(caught.value).isprintable()


def test_an_untouched_ledger_is_whole(copied):
    ledger, _ = copied
    assert isinstance(ledger.log("claims")[1].body, NoteBody)
    assert ledger.chain("claims").state.number == len(ledger.log("claims")) - 1
