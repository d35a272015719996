"""Both stores' common part: fifteen statements, and one transaction at a time in a process."""

from __future__ import annotations

import ctypes
import os
import threading
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from dpforest.exceptions import LedgerDamaged, LedgerError, LedgerUnreachable
from dpforest.ledger.migrating import migrations
from dpforest.ledger.steps import passed
from dpforest.ledger.store import WAIT_TIMEOUT, Head, Row
from dpforest.processes import this_process

_ROW = "data_set, number, id, kind, text, hash, signature, key"
_HEAD = "data_set, number, hash, state"
# A head that somebody deleted hides nothing.
DATA_SETS = "SELECT data_set FROM heads UNION SELECT data_set FROM entries"
HEAD = f"SELECT {_HEAD} FROM heads WHERE data_set = ?"
ROWS = (
    f"SELECT {_ROW} FROM entries WHERE data_set = ? AND number >= ? AND number < ? ORDER BY number"
)
FIND = f"SELECT {_ROW} FROM entries WHERE id = ?"
ADD_ROW = f"INSERT INTO entries ({_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
ADD_HEAD = "INSERT INTO heads (number, hash, state, data_set) VALUES (?, ?, ?, ?)"
MOVE_HEAD = "UPDATE heads SET number = ?, hash = ?, state = ? WHERE data_set = ?"
LEDGER = "SELECT id, schema_version FROM ledger"
NAME_LEDGER = "INSERT INTO ledger (only_row, id, schema_version) VALUES (1, ?, 0)"
SET_VERSION = "UPDATE ledger SET schema_version = ?"
_LAST = 2**62

_stores: weakref.WeakSet[SqlStore] = weakref.WeakSet()
_forking = threading.Lock()


class SqlLocked:
    """A data set inside one transaction; see :class:`dpforest.ledger.store.Locked`."""

    def __init__(self, store: SqlStore, data_set: str) -> None:
        self.head: Head | None = None
        self.added: list[Row] = []
        self._store, self._data_set = store, data_set
        self._process, self._is_open, self._is_whole = this_process(), True, True

    def find(self, entry_id: str) -> Row | None:
        """Row of a UUID, of any data set."""
        self.check()
        return self._store.find(entry_id)

    def rows(self, start: int = 0, end: int | None = None) -> tuple[Row, ...]:
        """Rows with ``start <= number < end``, in order."""
        self.check()
        return self._store.rows(self._data_set, start, end)

    def append(self, row: Row, head: Head) -> None:
        """Add the next row and move the head to it; durable when the context ends without error."""
        self.check()
        fits = row.data_set == head.data_set == self._data_set
        follows = self.head is None or row.number == self.head.number + 1
        if not fits or not follows or (row.number, row.hash) != (head.number, head.hash):
            raise LedgerError(
                "an entry must be the next one of its data set, and the head its own",
                "Make it from the head that is locked",
                self._store.url,
                self._data_set,
            )
        self._is_whole = False
        self._store._add(row, head, is_first=self.head is None)
        self._is_whole = True
        self.added.append(row)
        self.head = head

    def check(self) -> None:
        """Refuse to go on outside the context, or in a child of the process that opened it."""
        if not self._is_open or not self._is_whole or self._process != this_process():
            raise LedgerError(
                "this lock has ended, has failed, or is another process's",
                "Lock the data set again, in the process that writes",
                self._store.url,
                self._data_set,
            )

    def end(self) -> None:
        """Nothing can be added any more."""
        self._is_open = False


class SqlStore(ABC):
    """A store that speaks SQL; see :class:`dpforest.ledger.store.Store`.

    One connection a process, which threads use in turn: a reader waits while another thread of its
    process writes, and never for other processes.
    """

    dialect: str
    url: str
    ledger_id: str

    def __init__(self, url: str, identity: str = "") -> None:
        self.url = url
        self._identity = identity
        self.ledger_id = ""
        self.timeout = WAIT_TIMEOUT
        self._lock = threading.RLock()
        self._held = False
        self._handle = ConnectionHandle()
        self._closing = weakref.finalize(self, type(self)._close_connection, self._handle)
        with _forking:
            _stores.add(self)

    # -- reading ------------------------------------------------------------------------

    @property
    def lacks_entries(self) -> bool:
        """True if it lost its last entries, as its place shows, and nothing was made good since."""
        return self._handle.lacks_log

    def data_sets(self) -> tuple[str, ...]:
        """Names of all data sets, sorted."""
        names = [name for (name,) in self._ask(DATA_SETS)]
        if not all(type(name) is str for name in names):
            raise self._no_value("data_set")
        return tuple(sorted(names))

    def head(self, data_set: str) -> Head | None:
        """End of a chain, or None where there is no such data set."""
        found = self._ask(HEAD, data_set)
        return Head(*self._checked(found[0], Head)) if found else None

    def rows(self, data_set: str, start: int = 0, end: int | None = None) -> tuple[Row, ...]:
        """Rows with ``start <= number < end``, in order."""
        # From the start on: whatever somebody wrote before entry 0 is looked at too.
        first, last = start or -_LAST, _LAST if end is None else end
        found = self._ask(ROWS, data_set, first, last)
        return tuple(Row(*self._checked(values, Row)) for values in found)

    def find(self, entry_id: str) -> Row | None:
        """Row of a UUID, of any data set."""
        found = self._ask(FIND, entry_id)
        return Row(*self._checked(found[0], Row)) if found else None

    # -- writing ------------------------------------------------------------------------

    @contextmanager
    def locked(self, data_set: str) -> Iterator[SqlLocked]:
        """One transaction that holds the data set's head, or its absence."""
        with self._alone(), self._turn():
            locked = SqlLocked(self, data_set)
            try:
                locked.head = self._begun(data_set)
                self._handle.is_begun = True
                passed("locked")
                yield locked
                locked.check()
                self._end_transaction(locked)
            except BaseException:
                self._undo(locked)
                raise
            finally:
                self._handle.is_begun = False
                locked.end()
        passed("released")

    def freezing(self) -> AbstractContextManager[None]:
        """Keep a mark that entries are missing until all is written that is written inside."""
        return nullcontext()

    def _add(self, row: Row, head: Head, is_first: bool) -> None:
        """Write a row and its head inside the open transaction."""
        values = [getattr(row, name) for name in Row.__slots__]
        self._ask(ADD_ROW, *values)
        passed("inserted")
        self._ask(
            ADD_HEAD if is_first else MOVE_HEAD, head.number, head.hash, head.state, head.data_set
        )
        passed("moved")

    def _end_transaction(self, locked: SqlLocked) -> None:
        """Commit, and where no answer comes see what became of it."""
        if not locked.added:
            self._undo(locked)
            return
        passed("committing")
        try:
            self._commit()
        except LedgerError as error:
            self._look_up(locked, error)
        passed("committed")

    def _look_up(self, locked: SqlLocked, error: LedgerError) -> None:
        """Find out whether a commit happened that was not answered.

        A new transaction waits for the data set's head until the old one is decided, so what is
        not there then will never be.
        """
        self._forget_connection()
        self._handle.is_begun = False
        try:
            self._begun(locked.added[0].data_set)
            stand = all(self.find(row.id) == row for row in locked.added)
        except LedgerError as second:
            raise LedgerUnreachable(
                f"it did not answer whether an entry was written ({second.rule})",
                "Look the entry up by its id when the store can be reached; it may stand",
                self.url,
                locked.added[0].data_set,
                unanswered=True,
            ) from error
        finally:
            self._undo(None)
        if not stand:
            raise error

    def _undo(self, locked: SqlLocked | None) -> None:
        """Roll back, if this process began; a connection that is gone has done so."""
        if locked is None or locked._process == this_process():
            self._roll_back()

    # -- opening ------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Turn of this thread among those of its process."""
        lock = self._lock
        if not lock.acquire(timeout=self.timeout):
            raise self._too_busy("another thread of this process has")
        try:
            if self._handle.is_busy:
                raise LedgerError(
                    "a data set is locked inside another lock",
                    "End the first one before",
                    self.url,
                )
            self._handle.is_busy = True
            try:
                yield
            finally:
                self._handle.is_busy = False
        finally:
            lock.release()

    def _connection(self) -> Any:
        """The connection of this process, made where there is none."""
        if self._handle.connection is None:
            self._handle.connection = self._connect()
            self._handle.process = this_process()
        return self._handle.connection

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows that a statement gives."""
        with self._lock, self._translated_errors():
            return list(self._execute(self._connection(), statement, values))

    def _migrate(self, connection: Any) -> None:
        """Bring the tables to the newest version, in the open transaction."""
        known = migrations(self.dialect)
        version = self._version(connection)
        for number, text in enumerate(known[version:], start=version + 1):
            self._execute_script(connection, text)
            if number == 1:
                self._execute(connection, NAME_LEDGER, (self._identity or str(uuid.uuid4()),))
            self._execute(connection, SET_VERSION, (number,))

    def _is_newest(self, connection: Any) -> bool:
        """Say if the tables are of the newest version."""
        return self._version(connection) == len(migrations(self.dialect))

    def _version(self, connection: Any) -> int:
        """Version of the tables, 0 where there are none.

        Raises
        ------
        LedgerUnreachable
            If they are of a newer release.
        LedgerDamaged
            If they do not say which ledger they are of.
        """
        if not self._has_tables(connection):
            return 0
        found = list(self._execute(connection, LEDGER, ()))
        if len(found) != 1 or not isinstance(found[0][1], int):
            raise LedgerDamaged(
                "it does not say which ledger it is", "Restore it from a backup", self.url
            )
        version = found[0][1]
        if version > len(migrations(self.dialect)):
            raise LedgerUnreachable(
                f"it was written by a newer release (schema {version}, and this release knows "
                f"{len(migrations(self.dialect))})",
                "Install a newer dpforest",
                self.url,
            )
        return version

    def _named(self, connection: Any) -> str:
        """Identity of the ledger; it never becomes another one while this store is open."""
        found = str(list(self._execute(connection, LEDGER, ()))[0][0])
        if self.ledger_id and found != self.ledger_id:
            raise LedgerUnreachable(
                "another ledger stands at this place now", "Open it anew", self.url
            )
        return found

    def _checked(self, values: tuple[Any, ...], kind: type[Row] | type[Head]) -> tuple[Any, ...]:
        """Refuse what is not of the types that were written."""
        for name, value in zip(kind.__slots__, values, strict=True):
            if type(value) is not (int if name == "number" else str):
                raise self._no_value(name, values[0] if isinstance(values[0], str) else "")
        return values

    def _no_value(self, name: str, data_set: str = "") -> LedgerDamaged:
        return LedgerDamaged(
            f"the {name} of a row is no {'number' if name == 'number' else 'text'}",
            "Restore it from a backup, and verify it with the reports that people hold",
            self.url,
            data_set,
        )

    def _too_busy(self, who: str) -> LedgerUnreachable:
        return LedgerUnreachable(
            f"{who} been writing for more than {self.timeout:g} seconds",
            "Try again, and see what it waits for",
            self.url,
        )

    # -- ending -------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the store; it opens itself again when it is used again."""
        with self._lock:
            if self._handle.connection is not None:
                passed("closing")
            type(self)._close_connection(self._handle)
            passed("closed")

    def _forget_connection(self) -> None:
        """Drop a connection that may be broken."""
        type(self)._close_connection(self._handle)

    # -- forks --------------------------------------------------------------------------

    def _before_fork(self) -> None:
        """Wait until no other thread is in the middle of something."""
        self._held = self._lock.acquire(timeout=self.timeout)

    def _after_fork(self) -> None:
        """Go on in the parent."""
        if self._held:
            self._lock.release()

    def _in_child(self) -> None:
        """Begin anew in a child: connections and locks are the parent's."""
        self._lock = threading.RLock()
        if self._handle.connection is not None:
            # Not even closed: that would end the parent's. So it is never collected.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handle.connection))
        self._handle.connection, self._handle.is_busy, self._handle.is_begun = None, False, False

    def __reduce__(self) -> Any:
        raise TypeError("a store cannot be pickled: open it again by its url")

    # -- of each store ------------------------------------------------------------------

    @abstractmethod
    def backup(self, path: str | Path) -> None:
        """Write a whole copy of the ledger as it stands to a new file."""

    @abstractmethod
    def _connect(self) -> Any:
        """A new connection, checked, to tables of the newest version."""

    @abstractmethod
    def _turn(self) -> AbstractContextManager[None]:
        """Turn of this process among those that write."""

    @abstractmethod
    def _begun(self, data_set: str) -> Head | None:
        """Begin to write, and return the head that nobody else can move until the end."""

    @abstractmethod
    def _commit(self) -> None:
        """Make durable; a LedgerError says that no answer came, or a refusal."""

    @abstractmethod
    def _roll_back(self) -> None:
        """End an open transaction, if there is one; never fails."""

    @abstractmethod
    def _translated_errors(self) -> AbstractContextManager[None]:
        """Errors of the driver as our own."""

    @abstractmethod
    def _execute(self, connection: Any, statement: str, values: tuple[Any, ...]) -> Any:
        """Run one statement of this module; return what can be gone through."""

    @abstractmethod
    def _execute_script(self, connection: Any, text: str) -> None:
        """Run the statements of a migration inside the open transaction."""

    @abstractmethod
    def _has_tables(self, connection: Any) -> bool:
        """Say if a ledger's tables are there."""

    @staticmethod
    @abstractmethod
    def _close_connection(handle: ConnectionHandle) -> None:
        """Close the connection, if it is this process's."""


class ConnectionHandle:
    """Parts that outlive a store until its connection is closed."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.process = this_process()
        self.is_busy = self.is_begun = self.lacks_log = self.is_freezing = False
        self.queue: Any = None
        self.path: Path | None = None
        self.file: tuple[int, int] | None = None


def _before_fork() -> None:
    """Let nobody be in the middle of something, and no store be made, until all is copied."""
    _forking.acquire()
    for store in _stores:
        store._before_fork()


def _after_fork() -> None:
    for store in _stores:
        store._after_fork()
    _forking.release()


def _in_child() -> None:
    for store in _stores:
        store._in_child()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
