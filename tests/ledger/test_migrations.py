"""Ledgers of every earlier version of the tables open, and what was released is never changed."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from dpforest.ledger.migrating import _FOLDER, migrations
from dpforest.ledger.opening import open_store

HERE = Path(__file__).parent
#: SHA-256 of each migration as it was released; a new one is added here, with a frozen ledger.
RELEASED = {
    "0001_first.postgresql.sql": "e384c339ed946d7f1c5bb1b34f2984e89e42274e6580b82b652961023d6b955a",
    "0001_first.sqlite.sql": "30bb665febabf032ab792aa335cc841d52de6111b7b9e78808aa70a9900a9a75",
}


def test_released_migrations_are_never_changed():
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in _FOLDER.glob("*.sql")}
    assert found == RELEASED


def test_both_stores_have_every_version():
    assert len(migrations("sqlite")) == len(migrations("postgresql")) == len(RELEASED) // 2


@pytest.mark.parametrize("version", range(1, len(migrations("sqlite")) + 1))
def test_a_file_of_every_version_opens(version, tmp_path):
    path = tmp_path / "old.ledger"
    connection = sqlite3.connect(path)
    connection.executescript((HERE / f"store_version_{version}.sql").read_text(encoding="utf-8"))
    connection.close()
    store = open_store(f"sqlite:///{path}")
    assert store.ledger_id == "c3e4d7aa-0f5a-4d0e-9c3f-0123456789ab"
    rows = store.rows("claims")
    assert [row.text for row in rows] == ['{"text":"entry 0"}', '{"text":"entry 1"}']
    assert (rows[0].id, rows[1].hash) == ("00000000-0000-4000-8000-000000000000", f"{1:064x}")
    assert {(row.kind, row.signature, row.key) for row in rows} == {("note", "ab", "cd")}
    assert (store.head("claims").number, store.head("claims").state) == (1, '{"number":1}')
    assert store._is_newest(store._connection())
    store.close()


@pytest.mark.parametrize("names", [["0002_b"], ["0001_a", "0003_c"], ["0001_a", "0001_b"]])
def test_numbers_have_no_gap(names, tmp_path):
    for name in names:
        (tmp_path / f"{name}.sqlite.sql").write_text("SELECT 1;")
        (tmp_path / f"{name}.postgresql.sql").write_text("SELECT 1;")
    with pytest.raises(AssertionError, match="a number"):
        migrations("sqlite", tmp_path)
