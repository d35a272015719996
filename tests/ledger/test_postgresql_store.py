"""Hazards of a ledger on a server: its settings, its roles, connections that fall, crashes."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
import uuid
from urllib.parse import urlsplit

import pytest

from dpforest.exceptions import LedgerError, LedgerUnreachable, MissingExtraError
from dpforest.ledger import postgresql_store
from dpforest.ledger.opening import open_store
from dpforest.ledger.store import Head, Row


@pytest.fixture
def store(database):
    made = open_store(database, create=True)
    yield made
    made.close()


@pytest.fixture
def as_owner(database):
    """A connection that may do everything."""
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


def next_row(head):
    number = head.number + 1 if head else 0
    row = Row("claims", number, str(uuid.uuid4()), "note", "{}", f"{number:064x}")
    return row, Head("claims", number, row.hash, "{}")


def add(store):
    with store.locked("claims") as locked:
        row, head = next_row(locked.head)
        locked.append(row, head)
    return row


# -- settings ----------------------------------------------------------------------------


def setting(store, name):
    return postgresql_store._setting(store._connection(), name)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"),
     ("remote_apply", "remote_apply")],
)  # fmt: skip
def test_commits_are_forced_to_the_disk(database, store, as_owner, given, kept):
    try:
        as_owner.execute(f"ALTER DATABASE postgres SET synchronous_commit = {given}")
        again = open_store(database)
        assert setting(again, "synchronous_commit") == kept
        again.close()
    finally:
        as_owner.execute("ALTER DATABASE postgres RESET synchronous_commit")


def test_transactions_are_what_they_were_written_for(database, store, as_owner):
    others = {
        "default_transaction_isolation": "serializable",
        "default_transaction_read_only": "on",
    }
    try:
        for name, value in others.items():
            as_owner.execute(f"ALTER DATABASE postgres SET {name} = '{value}'")
        again = open_store(database)
        assert setting(again, "transaction_isolation") == "read committed"
        add(again)
        again.close()
    finally:
        as_owner.execute("ALTER DATABASE postgres RESET ALL")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("fsync", "off", "does not keep what is committed"),
        ("synchronous_commit", "off", "does not keep what is committed"),
        ("server_encoding", "LATIN1", "writes LATIN1"),
    ],
)
def test_a_server_that_does_not_keep_entries_is_refused(
    database, store, monkeypatch, name, value, rule
):
    real = postgresql_store._setting
    monkeypatch.setattr(
        postgresql_store, "_setting", lambda c, n: value if n == name else real(c, n)
    )
    with pytest.raises(LedgerUnreachable, match=rule):
        open_store(database)


def test_a_database_of_another_encoding_is_refused(cluster, as_owner):
    as_owner.execute("DROP DATABASE IF EXISTS latin")
    as_owner.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(LedgerUnreachable, match="encoding UTF8"):
        open_store(cluster.url("latin"), create=True)


def test_a_copy_that_may_only_be_read_is_refused(database, store, monkeypatch):
    real = postgresql_store._one
    monkeypatch.setattr(
        postgresql_store, "_one", lambda c, s: True if "in_recovery" in s else real(c, s)
    )
    with pytest.raises(LedgerUnreachable, match="primary"):
        open_store(database)


@pytest.mark.parametrize("set_", ["search_path = public", "synchronous_commit = off"])
def test_a_connection_that_others_share_is_not_written(store, set_):
    """A pooler may hand out another connection at every transaction. Nothing is damaged then."""
    add(store)
    store._connection().execute(f"SET {set_}")
    with pytest.raises(LedgerUnreachable, match="a pooler that shares connections"):
        add(store)
    if "path" in set_:
        with pytest.raises(LedgerUnreachable, match="a pooler that shares connections"):
            store.rows("claims")
    store._forget_connection()
    assert len(store.rows("claims")) == 1


# -- places ------------------------------------------------------------------------------


def test_the_password_is_never_shown(cluster, database, store):
    assert cluster.password not in store.url and store.url.startswith("postgresql://dpforest@127")
    wrong = database.replace(cluster.password, "hunter2")
    with pytest.raises(LedgerUnreachable) as caught:
        open_store(wrong)
    assert "hunter2" not in str(caught.value) and "password authentication" in str(caught.value)


def test_a_server_that_is_not_there(cluster):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(LedgerUnreachable, match="cannot be reached"):
            open_store(f"postgresql://dpforest@127.0.0.1:{port}/postgres")
        assert time.monotonic() - began < 10


def test_the_extra_is_named_where_the_driver_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"dpforest\[postgresql\]"):
        open_store("postgresql://dpforest@127.0.0.1/postgres")


def test_a_backup_is_left_to_the_server(store, tmp_path):
    with pytest.raises(LedgerError, match="pg_dump"):
        store.backup(tmp_path / "file")
    assert not list(tmp_path.iterdir())


# -- roles -------------------------------------------------------------------------------


@pytest.fixture
def role(cluster, as_owner, store):
    """Url of a role that has the rights that are granted to it."""

    def make(*grants):
        if as_owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'stranger'").fetchone():
            as_owner.execute("DROP OWNED BY stranger")
            as_owner.execute("DROP ROLE stranger")
        as_owner.execute("CREATE ROLE stranger LOGIN PASSWORD 'word'")
        for grant in grants:
            as_owner.execute(f"GRANT {grant} TO stranger")
        return cluster.url(user="stranger", password="word")

    return make


USAGE = "USAGE ON SCHEMA dpforest_ledger"
READ = "SELECT ON ALL TABLES IN SCHEMA dpforest_ledger"
WRITE = ("INSERT ON dpforest_ledger.entries", "INSERT, UPDATE ON dpforest_ledger.heads")


@pytest.mark.parametrize("grants", [(), (USAGE,)], ids=["nothing", "the schema alone"])
def test_a_role_without_rights_is_told(role, grants):
    with pytest.raises(LedgerUnreachable, match="this role may not do that"):
        open_store(role(*grants))


def test_a_role_that_may_read_only_reads(role, store):
    row = add(store)
    own = open_store(role(USAGE, READ))
    assert own.find(row.id) == row
    with pytest.raises(LedgerUnreachable, match="this role may not do that"):
        add(own)
    own.close()


def test_a_role_that_may_write_changes_nothing(role, store):
    own = open_store(role(USAGE, READ, *WRITE))
    add(own), add(own)
    for statement in ("DELETE FROM entries", "UPDATE entries SET kind = 'a'", "DELETE FROM heads"):
        with pytest.raises(LedgerUnreachable, match="this role may not do that"):
            own._ask(statement)
    assert len(own.rows("claims")) == 2
    own.close()


def test_a_role_that_may_not_make_tables_makes_none(role, cluster, as_owner, store):
    url = role()
    as_owner.execute("DROP SCHEMA dpforest_ledger CASCADE")
    with pytest.raises(LedgerUnreachable, match="this role may not do that"):
        open_store(url, create=True)


# -- connections that fall ---------------------------------------------------------------


def cut(store, as_owner):
    """End a store's connection at the server."""
    number = store._connection().info.backend_pid
    as_owner.execute("SELECT pg_terminate_backend(%s, 5000)", (number,))


def test_a_connection_that_fell_between_two_uses_is_made_anew(store, as_owner):
    row = add(store)
    cut(store, as_owner)
    assert store.find(row.id) == row
    cut(store, as_owner)
    assert add(store).number == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_that_falls_in_the_middle_leaves_nothing(store, as_owner, when):
    add(store)
    with pytest.raises(LedgerUnreachable), store.locked("claims") as locked:
        if when == "before":
            cut(store, as_owner)
        locked.append(*next_row(locked.head))
        cut(store, as_owner)
    assert len(store.rows("claims")) == 1
    add(store)


def test_a_silent_writer_does_not_stop_the_others(database, monkeypatch):
    monkeypatch.setattr(postgresql_store, "_IDLE_TIMEOUT", 0.2)
    silent, other = open_store(database, create=True), open_store(database)
    with pytest.raises(LedgerUnreachable), silent.locked("claims") as locked:
        locked.append(*next_row(None))
        assert add(other).number == 0
    assert len(other.rows("claims")) == 1
    silent.close(), other.close()


class Proxy(threading.Thread):
    """A way to the server that falls when a commit passes, before or behind it."""

    def __init__(self, url, forward):
        super().__init__(daemon=True)
        self.there = urlsplit(url)
        self.forward, self.armed, self.ended = forward, False, False
        self.door = socket.create_server(("127.0.0.1", 0))
        self.start()

    @property
    def url(self):
        port = self.door.getsockname()[1]
        return self.there._replace(
            netloc=f"{self.there.username}:{self.there.password}@127.0.0.1:{port}"
        ).geturl()

    def run(self):
        with self.door:
            while not self.ended:
                near, _ = self.door.accept()
                threading.Thread(target=self.pass_on, args=(near,), daemon=True).start()

    def pass_on(self, near):
        far = socket.create_connection((self.there.hostname, self.there.port))
        with near, far, contextlib.suppress(OSError):
            while True:
                for source in select.select([near, far], [], [])[0]:
                    data = source.recv(65536)
                    falls = self.armed and source is near and b"COMMIT" in data
                    if self.forward or not falls:
                        (far if source is near else near).sendall(data)
                    if falls or not data:
                        self.armed &= not falls
                        return

    def end(self):
        self.ended = True
        socket.create_connection(self.door.getsockname()).close()
        self.join()


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("forward", [True, False], ids=["it happened", "it did not"])
def test_a_commit_whose_answer_is_lost_on_the_way(database, forward, is_first):
    proxy = Proxy(database, forward)
    store = open_store(proxy.url, create=True)
    if not is_first:
        add(store)
    proxy.armed = True
    if forward:
        row = add(store)
        assert store.find(row.id) == row
    else:
        with pytest.raises(LedgerUnreachable) as caught:
            add(store)
        assert not caught.value.unanswered
    assert len(store.rows("claims")) == forward + (not is_first)
    assert not proxy.armed
    add(store)
    store.close()
    proxy.end()


def test_a_server_that_crashes_is_waited_for(cluster, store):
    row = add(store)
    cluster.kill()
    starting = threading.Thread(target=cluster.start)
    starting.start()
    assert store.find(row.id) == row
    assert add(store).number == 1
    starting.join()


def test_a_server_that_crashes_in_the_middle_leaves_nothing(cluster, store):
    add(store)
    with pytest.raises(LedgerUnreachable), store.locked("claims") as locked:
        locked.append(*next_row(locked.head))
        cluster.kill()
        cluster.start()
    assert len(store.rows("claims")) == 1
    add(store)


def test_a_server_that_stays_away_is_unreachable(cluster, store, monkeypatch):
    monkeypatch.setattr(postgresql_store, "_RESTART_TIMEOUT", 0.3)
    row = add(store)
    cluster.kill()
    try:
        with pytest.raises(LedgerUnreachable, match="cannot be reached"):
            store.find(row.id)
        with pytest.raises(LedgerUnreachable, match="cannot be reached"):
            add(store)
    finally:
        cluster.start()
    assert store.find(row.id) == row
