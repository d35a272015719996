"""Ledger in a database of PostgreSQL: for several machines and several roles."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpforest.exceptions import (
    LedgerDamaged,
    LedgerError,
    LedgerUnreachable,
    MissingExtraError,
    ParameterError,
)
from dpforest.ledger.places import CREATE
from dpforest.ledger.sql_store import HEAD, ConnectionHandle, SqlStore
from dpforest.ledger.steps import passed
from dpforest.ledger.store import Head
from dpforest.processes import this_process

if TYPE_CHECKING:
    import psycopg

#: All tables are in one schema of this name.
SCHEMA = "dpforest_ledger"
#: Of the lock under which tables are made; the hash of a data set's name locks its absence.
_CREATION_LOCK = 0x6470666C
_LOCK_ABSENCE = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"
_LOCK_TABLES = f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"
_HAS_TABLES = f"SELECT to_regclass('{SCHEMA}.ledger') IS NOT NULL"
#: Seconds after which the server ends a writer that has gone silent; below the others' timeout.
_IDLE_TIMEOUT = 30
#: Seconds for which a server is waited for that was there before.
_RESTART_TIMEOUT = 30.0
_SAFE_COMMITS = ("on", "remote_apply")
_RESTORE = "Restore it from a backup, and verify it with the reports that people hold"
#: Names are looked up where the tables are, and nowhere else that others may write.
_SEARCH_PATH = f"{SCHEMA}, pg_temp"
#: One way there and back: what is set may be gone where others share the connection.
_BEGIN = "BEGIN; SELECT current_setting('search_path'), current_setting('synchronous_commit')"


class PostgresqlStore(SqlStore):
    """A ledger in the schema ``dpforest_ledger`` of a database.

    Writers of a data set wait for its row of ``heads``, in the order in which they came. What is
    committed is on the server's disk, whatever its defaults: ``synchronous_commit`` is set here,
    and a server that runs without ``fsync`` is refused.

    Parameters
    ----------
    url : str
        As libpq takes it.
    create : bool
        Make the tables where there are none.
    identity : str
        UUID of a ledger that is made, where it is to be a copy of another.
    """

    dialect = "postgresql"

    def __init__(self, url: str, *, create: bool = False, identity: str = "") -> None:
        self._psycopg = _driver()
        self._conninfo, shown = self._parsed(url)
        super().__init__(shown, identity)
        self._was_open = False
        passed("connecting")
        with self._lock, self._translated_errors():
            if create:
                self._create()
            self.ledger_id = self._named(self._connection())
        self._was_open = True
        passed("opened")

    # -- opening ------------------------------------------------------------------------

    def _parsed(self, url: str) -> tuple[str, str]:
        """Words for libpq, and the url without a password."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        try:
            given = conninfo_to_dict(url)
            is_read = True
        except (self._psycopg.Error, UnicodeError):
            given, is_read = {}, False
        # Where an @ or a / of a password was not escaped, the rest of it was read as a place.
        misread = any("@" in str(given.get(name, "")) for name in ("host", "port", "dbname"))
        if not is_read or misread:
            raise _unread()
        own: dict[str, str | int] = {
            "connect_timeout": 10,
            "application_name": "dpforest ledger",
            "client_encoding": "utf8",
            "keepalives_idle": 20,
            "keepalives_interval": 5,
            "keepalives_count": 3,
        }
        return make_conninfo(url, **{k: v for k, v in own.items() if k not in given}), _shown(given)

    def _create(self) -> None:
        """Make the tables where there are none, all at once."""
        connection = self._connect(create=True)
        try:
            connection.execute("BEGIN")
            connection.execute(_LOCK_TABLES)
            if not self._has_tables(connection):
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                self._migrate(connection)
            passed("creating")
            connection.execute("COMMIT")
        finally:
            connection.close()

    def _connect(self, create: bool = False) -> psycopg.Connection:
        """A connection that makes every commit durable, to tables of the newest version."""
        connection = self._reached()
        try:
            self._make_durable(connection)
            if not create:
                self._bring_up(connection)
                self._named(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _reached(self) -> psycopg.Connection:
        """A connection; a server that was there before is given time to start again."""
        end = time.monotonic() + (_RESTART_TIMEOUT if self._was_open else 0)
        while True:
            try:
                return self._psycopg.connect(
                    self._conninfo, autocommit=True, prepare_threshold=None
                )
            except self._psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
            except self._psycopg.ProgrammingError:  # an option that is none, before any server
                raise _unread() from None

    def _make_durable(self, connection: psycopg.Connection) -> None:
        """Set what a commit and a wait must be, and see that the server keeps to it."""
        connection.execute(f"SET search_path = {_SEARCH_PATH}")
        connection.execute("SET default_transaction_isolation = 'read committed'")
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"SET lock_timeout = {int(self.timeout * 1000)}")
        connection.execute(f"SET idle_in_transaction_session_timeout = {int(_IDLE_TIMEOUT * 1000)}")
        if _setting(connection, "synchronous_commit") not in _SAFE_COMMITS:
            connection.execute("SET synchronous_commit = on")
        commits, forced = (_setting(connection, name) for name in ("synchronous_commit", "fsync"))
        if commits not in _SAFE_COMMITS or forced != "on":
            raise LedgerUnreachable(
                f"the server does not keep what is committed (synchronous_commit={commits}, "
                f"fsync={forced})",
                "Switch both on in the server's settings",
                self.url,
            )
        encoding = _setting(connection, "server_encoding")
        if encoding != "UTF8":
            raise LedgerUnreachable(
                f"the database writes {encoding}, which cannot hold every name",
                "Make a database with the encoding UTF8",
                self.url,
            )
        if _one(connection, "SELECT pg_is_in_recovery()"):
            raise LedgerUnreachable(
                "the server is a copy that may only be read", "Name the primary server", self.url
            )

    def _bring_up(self, connection: psycopg.Connection) -> None:
        """Refuse a database without a ledger; migrate one of an earlier release."""
        if not self._has_tables(connection):
            raise LedgerUnreachable("there is no ledger in this database", CREATE, self.url)
        if not self._is_newest(connection):
            connection.execute("BEGIN")
            connection.execute(_LOCK_TABLES)
            self._migrate(connection)
            connection.execute("COMMIT")

    def _has_tables(self, connection: Any) -> bool:
        return bool(_one(connection, _HAS_TABLES))

    # -- writing ------------------------------------------------------------------------

    @contextmanager
    def _turn(self) -> Iterator[None]:
        passed("queueing")
        yield

    def _begun(self, data_set: str) -> Head | None:
        with self._translated_errors():
            connection = self._connection()
            try:
                self._begin(connection)
            except self._psycopg.Error:
                if not connection.closed:
                    raise
                # It was lost since it was used last; nothing was under way.
                self._forget_connection()
                connection = self._connection()
                self._begin(connection)
            return self._locked_head(connection, data_set)

    def _begin(self, connection: psycopg.Connection) -> None:
        """Begin, on a connection that still is what it was made."""
        cursor = connection.execute(_BEGIN)
        cursor.nextset()
        searched, commits = cursor.fetchone() or ("", "")
        if searched != _SEARCH_PATH or commits not in _SAFE_COMMITS:
            raise self._shared()

    def _shared(self) -> LedgerUnreachable:
        return LedgerUnreachable(
            "its tables are out of sight, or commits are not kept as they were set: as behind a "
            "pooler that shares connections",
            "Name the server itself, or a pooler that keeps sessions. If there is none, see who "
            "dropped the tables",
            self.url,
        )

    def _locked_head(self, connection: psycopg.Connection, data_set: str) -> Head | None:
        """Lock the row of a head; where there is none, its absence, and look again."""
        statement = f"{_percent(HEAD)} FOR UPDATE"
        found = connection.execute(statement, (data_set,)).fetchone()
        if found is None:
            connection.execute(_LOCK_ABSENCE, (_CREATION_LOCK, data_set))
            found = connection.execute(statement, (data_set,)).fetchone()
        return Head(*self._checked(found, Head)) if found else None

    def _connection(self) -> Any:
        if self._is_lost():
            if self._handle.is_begun:
                raise LedgerUnreachable(
                    "the server ended the connection, and undid what was not committed",
                    "Try again",
                    self.url,
                )
            self._forget_connection()
        return super()._connection()

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows that a statement gives; asked again where a connection fell between transactions."""
        try:
            return super()._ask(statement, *values)
        except LedgerUnreachable:
            if self._handle.is_begun or not self._is_lost():
                raise
        return super()._ask(statement, *values)

    def _commit(self) -> None:
        with self._translated_errors():
            answer = self._handle.connection.execute("COMMIT").statusmessage
        if answer != "COMMIT":
            raise LedgerError("the server undid the transaction", "Try again", self.url)

    def _roll_back(self) -> None:
        connection = self._handle.connection
        if connection is not None:
            with suppress(self._psycopg.Error):
                if connection.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
                    connection.execute("ROLLBACK")

    def _execute(self, connection: Any, statement: str, values: tuple[Any, ...]) -> Any:
        cursor = connection.execute(_percent(statement), values)
        return cursor if cursor.description else ()

    def _execute_script(self, connection: Any, text: str) -> None:
        connection.execute(text)

    def backup(self, path: str | Path) -> None:
        """Refuse: the server's own means back a database up.

        Raises
        ------
        LedgerError
            Always.
        """
        raise LedgerError(
            "a ledger on PostgreSQL is backed up with the server's own means",
            f"Use pg_dump, for example pg_dump --schema={SCHEMA}",
            self.url,
        )

    # -- errors, ending -----------------------------------------------------------------

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            raise self._error(error) from error

    def _error(self, error: psycopg.Error) -> LedgerError:
        """Our own error for one of the server's, by its code."""
        errors, said = self._psycopg.errors, _first_line(error)
        if isinstance(error, errors.LockNotAvailable):
            return self._too_busy("another process has")
        if isinstance(error, errors.InsufficientPrivilege):
            return LedgerUnreachable(
                f"this role may not do that ({said})",
                "Ask the ledger's owner for the right, or connect as a role that has it",
                self.url,
            )
        if isinstance(error, errors.IntegrityError | errors.RaiseException):
            return LedgerError(
                "an entry of this id or number is there already, or one would be changed",
                "Look the entry up by its id; entries are only ever added",
                self.url,
            )
        if isinstance(error, errors.DiskFull):
            return LedgerUnreachable(
                "the server's disk is full", "Make room; nothing was written", self.url
            )
        if isinstance(error, errors.UndefinedTable):
            return self._shared()
        broken = (errors.ProgrammingError, errors.DataError, *_broken(errors))
        if isinstance(error, broken) and not self._is_lost():
            return LedgerDamaged(f"its tables cannot be read ({said})", _RESTORE, self.url)
        return LedgerUnreachable(
            f"the server cannot be reached, or ended the connection ({said})",
            "Try again when it runs",
            self.url,
        )

    def _is_lost(self) -> bool:
        """Say if there was a connection, and it fell."""
        connection = self._handle.connection
        return connection is not None and bool(connection.closed)

    @staticmethod
    def _close_connection(handle: ConnectionHandle) -> None:
        connection, handle.connection = handle.connection, None
        if connection is not None and handle.process == this_process():
            connection.close()


def _broken(errors: Any) -> tuple[type[Exception], ...]:
    """Errors of a server whose files are damaged."""
    return errors.DataCorrupted, errors.IndexCorrupted


def _driver() -> Any:
    """The driver, where it is installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("psycopg", "postgresql", "A ledger on PostgreSQL") from None
    return psycopg


def _unread() -> ParameterError:
    """The error of an url without the url and the driver's words: a password may be in them."""
    return ParameterError(
        "url",
        "postgresql://…",
        "cannot be read",
        'Write "postgresql://user@host:5432/database", and %40 and %2F for an @ and a / in a '
        "password",
    )


def _shown(given: dict[str, Any]) -> str:
    """The url of a place without a password and without options."""
    user = f"{given['user']}@" if given.get("user") else ""
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{given.get('host') or ''}{port}/{given.get('dbname') or ''}"


def _percent(statement: str) -> str:
    return statement.replace("?", "%s")


def _one(connection: Any, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]


def _setting(connection: Any, name: str) -> str:
    return str(_one(connection, f"SHOW {name}"))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
