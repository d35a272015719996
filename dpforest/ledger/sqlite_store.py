"""Ledger in one file of SQLite: for one machine, and any number of processes on it."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpforest.display import page_of_docs
from dpforest.exceptions import LedgerDamaged, LedgerError, LedgerUnreachable
from dpforest.ledger.places import check_place, is_network
from dpforest.ledger.queue import FairQueue, QueueTimeout
from dpforest.ledger.sql_store import HEAD, ConnectionHandle, SqlStore
from dpforest.ledger.steps import passed
from dpforest.ledger.store import WAIT_TIMEOUT, Head
from dpforest.processes import this_process
from dpforest.whole_files import see_to_disk

#: Marks a file of SQLite as one of ours: "dpfl".
APPLICATION = 0x6470666C
_FULL = 2
#: What ``in_use`` is while all data sets of a file that lost its ``-wal`` are frozen.
_FREEZING = 2
#: Files that were open in the middle of a write when this process was forked.
_inherited: set[tuple[int, int]] = set()
#: Files that a connection of this process is never closed to; see :func:`_give_up`.
_kept: set[tuple[int, int]] = set()

#: Codes of SQLite, without the details that its extended codes add; rule and repair of each.
_UNREACHABLE = {
    sqlite3.SQLITE_FULL: ("the disk is full", "Make room; nothing was written"),
    sqlite3.SQLITE_IOERR: ("the file cannot be read or written", "See to the disk"),
    sqlite3.SQLITE_READONLY: ("the file may only be read", "Give this user the right to write"),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        "Give this user the right to write the file and its folder, or name a shorter path: SQLite "
        "opens none of 500 bytes and more",
    ),
    sqlite3.SQLITE_PERM: ("the file may not be opened", "Give this user the right to write"),
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class SqliteStore(SqlStore):
    """A ledger in one file, in WAL mode with every commit forced to the disk.

    Beside the file stand its ``-wal`` and ``-shm`` while it is in use, and its ``-queue``. Who
    copies the file alone while it is in use leaves its last entries behind; such a copy is refused,
    and :meth:`backup` makes a whole one.

    Parameters
    ----------
    path : Path
        The file.
    create, network, incomplete, identity : bool, bool, bool, str
        See ``dpforest.ledger.opening.open_store``.
    """

    dialect = "sqlite"

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        network: bool = False,
        incomplete: bool = False,
        identity: str = "",
    ) -> None:
        super().__init__(f"sqlite:///{path}", identity)
        # Of the file itself: SQLite names what stands beside it after that.
        self._path = Path(os.path.realpath(path))
        self._incomplete, self._network = incomplete, network
        self._queue = FairQueue(self._with_ending("-queue"), self._path)
        self._handle.queue, self._handle.path = self._queue, self._path
        check_place(self._path, create, self.url)
        if is_network(self._path.parent) and not network:
            raise LedgerUnreachable(
                "the file is on a network file system, whose locks may not hold",
                "Keep it on a disk of this machine, or use PostgreSQL for several machines",
                self.url,
            )
        passed("connecting")
        with self._lock, self._translated_errors():
            self._check_kind(create)
            if create:
                self._create()
            self.ledger_id = self._named(self._connection())
        passed("opened")

    # -- opening ------------------------------------------------------------------------

    def _check_kind(self, create: bool) -> None:
        """Refuse a file that is no ledger before the queue of one is made beside it.

        SQLite opens the file, as one that nobody changes: it takes no lock and makes no log, and
        the mark that is read stays as it was made. Whoever opened it past SQLite would let the
        locks that this process has fall.
        """
        if self._with_ending("-journal").exists() or (create and _size(self._path) == 0):
            return  # its making was cut short, or is to come
        self._check_fork()
        connection = self._raw("ro&immutable=1")
        try:
            found = _pragma(connection, "application_id")
        except sqlite3.Error as error:
            if _code(error) == sqlite3.SQLITE_NOTADB:
                raise
            return  # others write at this moment; it is opened in turn, and told then
        finally:
            connection.close()
        if found != APPLICATION:
            raise self._not_ours()

    def _create(self) -> None:
        """Make the tables where there are none, all at once."""
        try:
            with self._queue.exclusive(self.timeout):
                # A file that has something in it is a ledger or not ours, unless its making was
                # cut short: then a journal tells what to take back.
                if _size(self._path) == 0 or self._with_ending("-journal").exists():
                    self._make_tables()
        except QueueTimeout:
            raise self._too_busy("another process has") from None

    def _make_tables(self) -> None:
        connection = self._raw("rwc")
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                self._migrate(connection)
            passed("creating")
            connection.execute("COMMIT")
        finally:
            connection.close()
        see_to_disk(self._path.parent)

    def _connect(self) -> sqlite3.Connection:
        """A connection that makes every commit durable, to a file that is whole."""
        try:
            with self._queue.exclusive(self.timeout):
                check_place(self._path, False, self.url)
                self._check_fork()
                connection = self._raw("rw")
                try:
                    self._check_file(connection)
                    self._named(connection)  # nothing is written to a file that took its place
                    self._make_durable(connection)
                except BaseException:
                    _give_up(connection, _place(self._path), self._handle.lacks_log)
                    raise
        except QueueTimeout:
            raise self._too_busy("another process has") from None
        self._handle.file = _place(self._path)
        return connection

    def _check_fork(self) -> None:
        """Refuse a file on which SQLite believes to hold locks that are the parent's."""
        if _place(self._path) in _inherited:
            raise LedgerUnreachable(
                "this process was forked while its parent was writing to the ledger",
                "Fork outside of a lock, or start the process anew (the method spawn)",
                self.url,
            )

    def _raw(self, mode: str) -> sqlite3.Connection:
        """A connection as SQLite gives it."""
        return sqlite3.connect(
            f"{self._path.as_uri()}?mode={mode}",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    def _check_file(self, connection: sqlite3.Connection) -> None:
        """Refuse what is no ledger, of a newer release, or a copy without its last entries."""
        if _pragma(connection, "application_id") != APPLICATION or not self._has_tables(connection):
            raise self._not_ours()
        if self._version(connection) < 1:
            raise self._not_ours()
        in_use, lost_log = self._marks(connection)
        self._handle.is_freezing = in_use == _FREEZING
        self._handle.lacks_log = self._handle.is_freezing or (bool(in_use) and lost_log)
        if self._handle.lacks_log and not self._incomplete:
            raise LedgerDamaged(
                "its -wal is missing, as in a copy of this file alone that was made while the "
                "ledger was in use, so its last entries may be missing",
                "Copy the ledger with its backup. If there is nothing else, an owner recovers it "
                "with the reports that people hold: `dpforest ledger recover DATA_SET "
                "--incomplete --witness FILE`, or BudgetLedger.open(url, actor=…, "
                f"incomplete=True).recover(…) ({page_of_docs('ledger.md')})",
                self.url,
            )

    def _marks(self, connection: sqlite3.Connection) -> tuple[int, bool]:
        """The mark of use, and whether a file in log mode stands alone, both at one moment.

        While something is read nobody changes the mode or takes a log away, so this needs no turn.
        SQLite makes an empty log as soon as it reads.
        """
        connection.execute("BEGIN")
        (in_use,) = connection.execute("SELECT in_use FROM ledger").fetchone()
        in_log_mode = _pragma(connection, "journal_mode") == "wal"
        lost_log = in_log_mode and _size(self._with_ending("-wal")) == 0
        connection.execute("COMMIT")
        return in_use, lost_log

    def _make_durable(self, connection: sqlite3.Connection) -> None:
        """Set what a commit must be, and see that it is.

        ``in_use`` reaches the file itself only after its ``-wal`` is there, and a file that was
        left whole is in another mode, or not marked. So a file in this mode that is marked and
        stands alone has lost its ``-wal``.
        """
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA checkpoint_fullfsync = 1")
        if _pragma(connection, "journal_mode") != "wal":
            connection.execute("UPDATE ledger SET in_use = 0 WHERE in_use <> 0")
            connection.execute("PRAGMA journal_mode = WAL")
        self._bring_up(connection)
        _mark_in_use(connection)
        mode, forced = _pragma(connection, "journal_mode"), _pragma(connection, "synchronous")
        if mode != "wal" or forced != _FULL:
            raise LedgerUnreachable(
                f"SQLite does not keep what is committed here (journal {mode}, synchronous "
                f"{forced})",
                "Keep the ledger on a disk of this machine",
                self.url,
            )

    def _bring_up(self, connection: sqlite3.Connection) -> None:
        """Migrate a ledger of an earlier release."""
        if self._is_newest(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._migrate(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _with_ending(self, ending: str) -> Path:
        return self._path.with_name(self._path.name + ending)

    def _has_tables(self, connection: sqlite3.Connection) -> bool:
        found = connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ledger'"
        )
        return bool(found.fetchone()[0])

    def _not_ours(self) -> LedgerUnreachable:
        return LedgerUnreachable(
            "the file is of SQLite, but holds no ledger",
            "Name the ledger's own file, or create one in a new file with `dpforest ledger init`",
            self.url,
        )

    # -- writing ------------------------------------------------------------------------

    @contextmanager
    def _turn(self) -> Iterator[None]:
        passed("queueing")
        turn = self._queue.turn(self.timeout)
        try:
            turn.__enter__()
        except QueueTimeout:
            raise self._too_busy("others have") from None
        try:
            yield
        finally:
            turn.__exit__(None, None, None)

    def _begun(self, data_set: str) -> Head | None:
        with self._translated_errors():
            connection = self._connection()
            self._check_same_file()
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT in_use FROM ledger").fetchone()[0]:
                # Another process left, and took the mark with it.
                connection.execute("ROLLBACK")
                _mark_in_use(connection)
                connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(HEAD, (data_set,)).fetchone()
            return Head(*self._checked(found, Head)) if found else None

    def _check_same_file(self) -> None:
        """Refuse to write a file that others do not see at its place any more."""
        if _place(self._path) != self._handle.file:
            raise LedgerUnreachable(
                "its file was moved, deleted or replaced while it was open",
                "Close the ledger, put the right file at its place, and open it again",
                self.url,
            )

    def _commit(self) -> None:
        with self._translated_errors():
            self._handle.connection.execute("COMMIT")
        self._handle.lacks_log &= self._handle.is_freezing

    @contextmanager
    def freezing(self) -> Iterator[None]:
        """Keep the mark that entries are missing until all is written that is written inside.

        A first entry would give the file a ``-wal`` again, and take the mark away with it.
        """
        if not self._handle.lacks_log:
            yield
            return
        self._ask("UPDATE ledger SET in_use = ?", _FREEZING)
        self._handle.is_freezing = True
        yield
        self._ask("UPDATE ledger SET in_use = 1")
        self._handle.is_freezing = self._handle.lacks_log = False

    def _roll_back(self) -> None:
        connection = self._handle.connection
        if connection is not None:
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _execute(self, connection: Any, statement: str, values: tuple[Any, ...]) -> Any:
        return connection.execute(statement, values)

    def _execute_script(self, connection: Any, text: str) -> None:
        statement = ""
        for line in text.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                connection.execute(statement)
                statement = ""

    def backup(self, path: str | Path) -> None:
        """Write a whole copy of the ledger as it stands to a new file.

        Parameters
        ----------
        path : str or Path
            A file that is not there yet.

        Raises
        ------
        LedgerUnreachable
            If there is a file at this place, or it cannot be written.
        """
        try:
            target = Path(path)
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except (OSError, ValueError, TypeError) as error:  # a null character is a ValueError
            reason = getattr(error, "strerror", None) or "this is no path"
            raise LedgerUnreachable(
                f"the backup cannot be written ({reason})",
                "Name a new file in a folder that this user may write",
                self.url,
            ) from None
        logs = (Path(f"{target}{ending}") for ending in ("-wal", "-shm", "-journal"))
        own_logs = [log for log in logs if not os.path.lexists(log)]  # else of another ledger
        try:
            self._copy_to(target)
        except BaseException:
            # What is not a whole copy is nothing to restore, and stands in the way of the next try.
            for one in (target, *own_logs):
                with suppress(OSError):
                    one.unlink(missing_ok=True)
            raise
        see_to_disk(target.parent)

    def _copy_to(self, target: Path) -> None:
        """Fill an empty file with a whole copy, which is on the disk then."""
        copy = sqlite3.connect(target, isolation_level=None)
        try:
            with self._lock, self._translated_errors():
                self._connection().backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
                mark = _FREEZING if self._handle.lacks_log else 0  # a copy lacks them, too
                copy.execute("UPDATE ledger SET in_use = ?", (mark,))
        finally:
            copy.close()
        see_to_disk(target)

    # -- errors, ending -----------------------------------------------------------------

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> LedgerError:
        """Our own error for one of SQLite's."""
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._too_busy("another process has")
        if code == sqlite3.SQLITE_CONSTRAINT:
            return LedgerError(
                "an entry of this id or number is there already, or one would be changed",
                "Look the entry up by its id; entries are only ever added",
                self.url,
            )
        if code in _UNREACHABLE:
            return LedgerUnreachable(*_UNREACHABLE[code], self.url)
        kind = "is no ledger, or is damaged" if code in _DAMAGED else "cannot be read"
        return LedgerDamaged(
            f"its file {kind} ({error})",
            "Restore it from a backup, and verify it with the reports that people hold",
            self.url,
        )

    @staticmethod
    def _close_connection(handle: ConnectionHandle) -> None:
        """Close the connection; whoever is last leaves one whole file."""
        connection, handle.connection = handle.connection, None
        if connection is None or handle.process != this_process():
            return
        if _is_replaced(handle):
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            _keep(connection, handle.file)
            return
        try:
            with suppress(QueueTimeout, sqlite3.Error), handle.queue.exclusive(WAIT_TIMEOUT):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.execute("PRAGMA busy_timeout = 0")
                if not handle.lacks_log:  # else who only looked would hide that entries are missing
                    _checkpoint_and_unmark(connection)
                connection.close()
        finally:
            _give_up(connection, handle.file, handle.lacks_log)

    def _before_fork(self) -> None:
        """Close the file: SQLite cannot be taken along, and would believe in locks it has not."""
        super()._before_fork()
        if self._held and not self._handle.is_begun:
            type(self)._close_connection(self._handle)

    def _in_child(self) -> None:
        if self._handle.connection is not None and self._handle.file is not None:
            _inherited.add(self._handle.file)
        super()._in_child()


def _mark_in_use(connection: sqlite3.Connection) -> None:
    """Say in the file itself that its ``-wal`` belongs to it."""
    if connection.execute("UPDATE ledger SET in_use = 1 WHERE in_use = 0").rowcount:
        with suppress(sqlite3.OperationalError):  # on a full disk it can still be read
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _checkpoint_and_unmark(connection: sqlite3.Connection) -> None:
    """Bring all into the file and unmark it, before its ``-wal`` goes.

    Where others have it open they mark it again before they write. If they are no ledgers but look
    at it with another program, they leave a file behind that is whole without a ``-wal``.
    """
    try:
        connection.execute("UPDATE ledger SET in_use = 0")
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_BUSY:
            raise
        return  # whoever writes has it open, and does not leave before this one has
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _give_up(connection: sqlite3.Connection, file: tuple[int, int] | None, lacks_log: bool) -> None:
    """Close a connection whose file could not be left as it is to be, if that harms nothing.

    The last to close takes the ``-wal`` away. Where the file is still marked, as on a full disk,
    it would look like a copy that lost its last entries. So it is left open then, and what stands
    on the disk is what a process that was killed leaves behind: the file, and its ``-wal``.
    """
    if lacks_log or file in _kept or not _is_marked(connection):
        connection.close()
    else:
        _keep(connection, file)


def _is_replaced(handle: ConnectionHandle) -> bool:
    """True if another file stands where the open one stood.

    SQLite finds what stands beside a file by its name. So whoever closed the old one would bring
    the new one's log into the old one and take it away, with what others were granted.
    """
    return handle.path is not None and _place(handle.path) not in (None, handle.file)


def _keep(connection: sqlite3.Connection, file: tuple[int, int] | None) -> None:
    """Leave a connection open until the process ends, as if it were killed."""
    if file is not None:
        _kept.add(file)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # never collected, so never closed


def _is_marked(connection: sqlite3.Connection) -> bool:
    """True if a ledger's file says that its ``-wal`` belongs to it, and nothing is being written.

    A transaction that could not be taken back would keep everybody else from writing.
    """
    with suppress(sqlite3.Error):  # closed already, or no ledger
        found = connection.execute("SELECT in_use FROM ledger").fetchone()
        return bool(found and found[0]) and not connection.in_transaction
    return False


def _inherit() -> None:
    """Know in a child what SQLite believes to hold locks on, which are the parent's."""
    _inherited.update(_kept)
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)


def _place(path: Path) -> tuple[int, int] | None:
    """Identity of the file at a path."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _code(error: sqlite3.Error) -> int:
    """Code of SQLite, without the details that its extended codes add."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) & 0xFF


def _size(path: Path) -> int:
    """Bytes of a file, 0 where there is none. It is not opened: that would let locks fall."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
