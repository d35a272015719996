"""What every store promises: the same cases on a file of SQLite and on a PostgreSQL server."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import threading
import time
import uuid

import pytest

from dpforest.exceptions import (
    LedgerDamaged,
    LedgerError,
    LedgerUnreachable,
    ParameterError,
    ParameterTypeError,
)
from dpforest.ledger import sql_store, steps
from dpforest.ledger.opening import open_store
from dpforest.ledger.store import Head, Row

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
FORK = multiprocessing.get_context("fork")
OTHER = "Fälle, 2026 ☂"


@pytest.fixture(autouse=True)
def nobody_watches():
    yield
    steps.watch(None)


def next_row(head, data_set="claims", **changed):
    """A row that follows, and the head that goes with it."""
    number = head.number + 1 if head else 0
    values = {"id": str(uuid.uuid4()), "kind": "note", "text": "{}", "hash": f"{number:064x}"}
    row = Row(data_set, number, **(values | changed))
    return row, Head(data_set, number, row.hash, f'{{"n":{number}}}')


def add(store, data_set="claims", **changed):
    with store.locked(data_set) as locked:
        row, head = next_row(locked.head, data_set, **changed)
        locked.append(row, head)
    return row


def in_child(action):
    """Run something in a forked child; return its exit code."""
    child = FORK.Process(target=action)
    child.start()
    child.join(60)
    return child.exitcode


def test_a_new_ledger_is_empty(store):
    assert store.data_sets() == ()
    assert store.head("claims") is None
    assert store.rows("claims") == ()
    assert store.find("nothing") is None
    assert uuid.UUID(store.ledger_id).version == 4


def test_rows_come_back_as_they_were_written(store, url):
    first = add(store, text='{"ä":"\\u0000"}', signature="ab", key="cd")
    other = add(store, OTHER, text="☂" * 1000)
    second = add(store)
    store.close()
    again = open_store(url)
    assert again.ledger_id == store.ledger_id
    assert again.data_sets() == tuple(sorted(["claims", OTHER]))
    assert again.rows("claims") == (first, second)
    assert again.rows("claims", 1) == (second,) and again.rows("claims", 0, 1) == (first,)
    assert again.rows(OTHER) == (other,)
    assert again.find(other.id) == other
    assert again.head("claims") == Head("claims", 1, second.hash, '{"n":1}')
    again.close()


def test_an_error_inside_leaves_nothing(store):
    kept = add(store)
    with pytest.raises(ZeroDivisionError), store.locked("claims") as locked:
        locked.append(*next_row(locked.head))
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), store.locked("new") as locked:
        locked.append(*next_row(None, "new"))
        raise ZeroDivisionError
    assert store.rows("claims") == (kept,) and store.head("claims").number == 0
    assert store.data_sets() == ("claims",)
    add(store)


def test_several_rows_are_written_together(store):
    with store.locked("claims") as locked:
        assert locked.head is None
        for number in range(3):
            locked.append(*next_row(locked.head))
            assert locked.head.number == number and len(locked.rows()) == number + 1
        assert locked.find(locked.rows()[2].id).number == 2
    assert store.head("claims").number == 2


def test_nothing_appended_writes_nothing(store):
    with store.locked("claims") as locked:
        assert locked.head is None and locked.rows() == ()
    assert store.data_sets() == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda row, head: (Row("other", *row_values(row)[1:]), head),
        lambda row, head: (row, Head("other", head.number, head.hash, head.state)),
        lambda row, head: (row, Head(head.data_set, head.number, "00", head.state)),
        lambda row, head: (row, Head(head.data_set, head.number + 1, head.hash, head.state)),
        lambda row, head: next_row(head),
    ],
    ids=["row of another", "head of another", "other hash", "other number", "a gap"],
)
def test_what_does_not_follow_is_refused(store, change):
    add(store)
    with (
        pytest.raises(LedgerError, match="must be the next one"),
        store.locked("claims") as locked,
    ):
        locked.append(*change(*next_row(locked.head)))
    assert len(store.rows("claims")) == 1


def row_values(row):
    return [getattr(row, name) for name in Row.__slots__]


def test_an_id_is_taken_once_in_all_of_a_ledger(store):
    row = add(store)
    for data_set in ("claims", "other"):
        with pytest.raises(LedgerError, match="is there already"):
            add(store, data_set, id=row.id)
    assert store.data_sets() == ("claims",) and len(store.rows("claims")) == 1


def test_a_failed_append_cannot_be_committed(store):
    row = add(store)
    with (
        pytest.raises(LedgerError, match="has failed"),
        store.locked("claims") as locked,
        contextlib.suppress(LedgerError),
    ):
        locked.append(*next_row(locked.head, id=row.id))
    assert len(store.rows("claims")) == 1 and store.head("claims").number == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET text = '{\"a\":1}'",
        "DELETE FROM entries",
        "DELETE FROM heads",
        "UPDATE heads SET number = number - 1",
        "UPDATE heads SET data_set = 'other', number = number + 1",
    ],
)
def test_rows_are_only_ever_added(store, statement):
    add(store), add(store)
    with pytest.raises(LedgerError, match="only ever added"):
        store._ask(statement)
    assert store.head("claims").number == 1 and len(store.rows("claims")) == 2


def test_a_lock_that_has_ended_is_of_no_use(store):
    with store.locked("claims") as locked:
        row, head = next_row(locked.head)
    for use in (lambda: locked.append(row, head), lambda: locked.find(row.id), locked.rows):
        with pytest.raises(LedgerError, match="has ended"):
            use()


def test_a_lock_inside_a_lock_is_refused(store):
    with (
        pytest.raises(LedgerError, match="inside another"),
        store.locked("a"),
        store.locked("b"),
    ):
        pass
    add(store)


def test_stores_are_not_pickled(store):
    with pytest.raises(TypeError, match="open it again"):
        pickle.dumps(store)


# -- several at once ---------------------------------------------------------------------


def test_threads_take_turns(store):
    def work():
        for _ in range(5):
            add(store)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert [row.number for row in store.rows("claims")] == [*range(20)]


def test_processes_take_turns_from_the_first_entry_on(store, url):
    def work():
        own = open_store(url)
        for _ in range(5):
            add(own)
        own.close()

    children = [FORK.Process(target=work) for _ in range(4)]
    [child.start() for child in children], [child.join(60) for child in children]
    assert [child.exitcode for child in children] == [0] * 4
    assert [row.number for row in store.rows("claims")] == [*range(20)]


def test_another_writer_waits_for_the_end(store, url):
    other, seen = open_store(url), []
    with store.locked("claims") as locked:
        thread = threading.Thread(target=lambda: seen.append(add(other).number))
        thread.start()
        thread.join(0.3)
        assert not seen
        locked.append(*next_row(None))
    thread.join(30)
    assert seen == [1]
    other.close()


def test_a_reader_sees_what_is_committed_and_does_not_wait(store, url):
    add(store)
    other = open_store(url)
    with store.locked("claims") as locked:
        locked.append(*next_row(locked.head))
        assert other.head("claims").number == 0 and len(other.rows("claims")) == 1
    assert other.head("claims").number == 1
    other.close()


def test_whoever_waits_too_long_is_told(store, url):
    other = open_store(url)
    other.timeout = 0.2
    other.close()  # the server is told how long to wait as a connection begins
    with store.locked("claims"):
        began = time.monotonic()
        with pytest.raises(LedgerUnreachable, match="more than 0.2 seconds"):
            add(other)
        assert time.monotonic() - began < 10
    other.close()
    other.timeout = 60  # whoever gave up leaves the queue when its thread gets its turn
    add(other)
    other.close()


# -- forks -------------------------------------------------------------------------------


def test_a_child_connects_anew(store):
    add(store)

    def child():
        assert store._handle.connection is None
        assert add(store).number == 1
        store.close()

    assert in_child(child) == 0
    assert add(store).number == 2


def test_a_fork_while_other_threads_write_harms_nobody(store):
    stop = threading.Event()

    def work():
        while not stop.is_set():
            add(store)

    threads = [threading.Thread(target=work) for _ in range(2)]
    [thread.start() for thread in threads]
    try:
        assert [in_child(lambda: add(store)) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        [thread.join() for thread in threads]
    numbers = [row.number for row in store.rows("claims")]
    assert numbers == [*range(len(numbers))] and len(numbers) > 5


def test_a_child_cannot_use_its_parents_lock(store):
    add(store)
    with store.locked("claims") as locked:
        row, head = next_row(locked.head)

        def child():
            try:
                locked.append(row, head)
            except LedgerError:
                os._exit(7)

        assert in_child(child) == 7
        locked.append(row, head)
    assert store.find(row.id) == row


def test_a_child_that_leaves_its_parents_lock_ends_nothing(store):
    with store.locked("claims") as locked:
        row, head = next_row(locked.head)
        locked.append(row, head)
        number = os.fork()
        if not number:
            try:
                locked.check()
            except LedgerError:
                # As an error that goes up through the child's own copy of this context.
                store._undo(locked), store.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 7
    assert store.find(row.id) == row


# -- commits without an answer -----------------------------------------------------------


@pytest.fixture
def unanswered(store, monkeypatch):
    """Let commits fail after they happened, or before."""

    def let(happens, times=1):
        commit, left = store._commit, [times]

        def fails():
            if left[0]:
                left[0] -= 1
                if happens:
                    commit()
                raise LedgerUnreachable("no answer", "Try again", store.url)
            commit()

        monkeypatch.setattr(store, "_commit", fails)

    return let


@pytest.mark.parametrize("is_first", [True, False])
def test_a_commit_that_happened_without_an_answer_is_found(store, unanswered, is_first):
    if not is_first:
        add(store)
    unanswered(happens=True)
    row = add(store)
    assert store.find(row.id) == row and store.head("claims").number == row.number
    add(store)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_commit_that_did_not_happen_is_said(store, unanswered, is_first):
    if not is_first:
        add(store)
    unanswered(happens=False)
    with pytest.raises(LedgerUnreachable, match="no answer") as caught:
        add(store)
    assert not caught.value.unanswered
    assert len(store.rows("claims")) == (0 if is_first else 1)
    add(store)


def test_what_cannot_be_looked_up_may_stand(store, unanswered, monkeypatch):
    unanswered(happens=True)
    begun = store._begun

    def never(data_set):
        raise LedgerUnreachable("gone", "Try again", store.url)

    with (
        monkeypatch.context() as patch,
        pytest.raises(LedgerUnreachable) as caught,
        store.locked("claims") as locked,
    ):
        row, head = next_row(locked.head)
        locked.append(row, head)
        patch.setattr(store, "_begun", never)
    assert caught.value.unanswered and "may stand" in str(caught.value)
    assert begun.__self__.find(row.id) == row


# -- places ------------------------------------------------------------------------------


def test_no_ledger_is_made_by_opening_one(url):
    with pytest.raises(LedgerUnreachable, match="create=True"):
        open_store(url)


def test_creating_twice_keeps_the_first(store, url):
    row = add(store)
    again = open_store(url, create=True)
    assert again.ledger_id == store.ledger_id and again.find(row.id) == row
    again.close()


def test_several_processes_create_one_ledger(url):
    start = FORK.Barrier(4)

    def work():
        start.wait()
        own = open_store(url, create=True)
        add(own)
        own.close()

    children = [FORK.Process(target=work) for _ in range(4)]
    [child.start() for child in children], [child.join(60) for child in children]
    assert [child.exitcode for child in children] == [0] * 4
    store = open_store(url)
    assert len(store.rows("claims")) == 4
    store.close()


def test_a_newer_schema_is_refused(store, url):
    store._ask("UPDATE ledger SET schema_version = 99")
    store.close()
    with pytest.raises(LedgerUnreachable, match="newer release.*schema 99"):
        open_store(url)


def test_an_earlier_schema_is_brought_up(store, url, monkeypatch):
    row = add(store)
    store.close()
    known = sql_store.migrations(store.dialect)
    more = (*known, "CREATE TABLE added (a TEXT);\nINSERT INTO added VALUES ('b');\n")
    monkeypatch.setattr(sql_store, "migrations", lambda dialect: more)
    newer = open_store(url)
    assert newer._ask("SELECT a FROM added") == [("b",)]
    assert newer.find(row.id) == row and newer._is_newest(newer._connection())
    add(newer), newer.close()
    newer = open_store(url)
    assert newer._ask("SELECT a FROM added") == [("b",)]
    newer.close()


def test_a_migration_that_fails_changes_nothing(store, url, monkeypatch):
    row = add(store)
    store.close()
    more = (*sql_store.migrations(store.dialect), "CREATE TABLE added (a TEXT);\n")
    broken = (*more, "INSERT INTO missing VALUES (1);\n")
    with monkeypatch.context() as patch:
        patch.setattr(sql_store, "migrations", lambda dialect: broken)
        with pytest.raises(LedgerError):
            open_store(url)
    again = open_store(url)
    assert again.find(row.id) == row and again._is_newest(again._connection())
    with pytest.raises(LedgerError):
        again._ask("SELECT a FROM added")
    again.close()
    monkeypatch.setattr(sql_store, "migrations", lambda dialect: more)
    mended = open_store(url)
    assert mended._ask("SELECT a FROM added") == [] and mended.find(row.id) == row
    mended.close()


def test_another_ledger_at_the_place_is_noticed(store):
    row = add(store)
    store._ask("UPDATE ledger SET id = 'another'")
    store.close()
    with pytest.raises(LedgerUnreachable, match="another ledger"):
        store.find(row.id)


def test_a_value_of_another_type_is_damage(store, monkeypatch):
    row = add(store)
    for name in Row.__slots__:
        with pytest.raises(LedgerDamaged, match=f"the {name} of a row"):
            store._checked(
                tuple(b"\xff" if n == name else getattr(row, n) for n in Row.__slots__), Row
            )


@pytest.mark.parametrize(
    "url",
    [
        "claims.ledger", "", "sqlite:claims", "sqlite://claims", "sqlite://", "sqlite:///",
        "sqlite:///:memory:", "sqlite:///a?mode=ro", "mysql://a/b", "postgresql://u:secret@[::1/a",
        "postgresql://u:sec/secret@127.0.0.1:1/a", "postgresql://u:sec@secret@127.0.0.1:1/a",
        "postgresql://u:sec/ret@x/secret@127.0.0.1:1/a", "postgresql;//u:secret@127.0.0.1",
        "jdbc:postgresql:secret@a", "host=a password=secret", "sqlite://u:secret@a/b",
        "sqlite:///a?key=secret", "postgresql://u:secret@127.0.0.1:1/a?connect_timeout=soon",
    ],
)  # fmt: skip
def test_places_of_no_kind_are_refused(url):
    if url.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="psycopg is not installed")
    with pytest.raises(ParameterError, match="^url=") as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", [None, 3, b"sqlite:///a"])
def test_places_are_texts(url):
    with pytest.raises(ParameterTypeError, match="must be a text"):
        open_store(url)


def test_steps_are_passed_in_their_order(url):
    seen = []
    steps.watch(seen.append)
    store = open_store(url, create=True)
    add(store)
    store.close()
    assert sorted(seen) == sorted(steps.STEPS)
    assert [s for s in seen if s in steps.STEPS[3:]] == [*steps.STEPS[3:]]
