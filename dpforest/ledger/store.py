"""Store of a ledger: rows that are only ever added, and one head for each data set.

A store knows no rules. It keeps bytes, lets one writer at a time at a data set, and makes durable
what was appended before it says so. What may be appended is decided above it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dpforest.exceptions import ParameterError, ParameterTypeError

#: Seconds for which a writer waits for its turn.
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Row:
    """One entry, as it is stored.

    Attributes
    ----------
    data_set : str
    number : int
        Place in the chain of its data set.
    id : str
        UUID that the client chose, unique in the ledger.
    kind : str
    text : str
        Canonical JSON of the entry without its signature.
    hash, signature, key : str
        Hexadecimal digits; empty where there is none.
    """

    data_set: str
    number: int
    id: str
    kind: str
    text: str
    hash: str
    signature: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """End of a chain.

    Attributes
    ----------
    data_set : str
    number : int
        That of the last row.
    hash : str
        That of the last row.
    state : str
        Canonical JSON of what all rows together come to.
    """

    data_set: str
    number: int
    hash: str
    state: str


class Locked(Protocol):
    """A data set of which nobody else can add rows until the context ends.

    Attributes
    ----------
    head : Head or None
        As it stands, with what was appended here; None where there is no such data set yet.
    """

    @property
    def head(self) -> Head | None: ...

    def find(self, entry_id: str) -> Row | None:
        """Row of a UUID, of any data set."""

    def rows(self, start: int = 0, end: int | None = None) -> tuple[Row, ...]:
        """Rows with ``start <= number < end``, in order."""

    def append(self, row: Row, head: Head) -> None:
        """Add the next row and move the head to it; durable when the context ends without error."""


class Store(Protocol):
    """Where a ledger is kept.

    Safe to be used by several threads. After a fork the child connects anew.

    Attributes
    ----------
    url : str
        Place of the ledger, without a password.
    ledger_id : str
        UUID of the ledger, made when it was created.
    """

    @property
    def url(self) -> str: ...

    @property
    def ledger_id(self) -> str: ...

    def data_sets(self) -> tuple[str, ...]:
        """Names of all data sets, sorted."""

    def head(self, data_set: str) -> Head | None:
        """End of a chain, or None where there is no such data set."""

    def rows(self, data_set: str, start: int = 0, end: int | None = None) -> tuple[Row, ...]:
        """Rows with ``start <= number < end``, in order."""

    def find(self, entry_id: str) -> Row | None:
        """Row of a UUID, of any data set."""

    def locked(self, data_set: str) -> AbstractContextManager[Locked]:
        """One transaction that holds the data set's head, or its absence.

        What was appended is durable once the context has ended without an error; an error leaves
        nothing. Where the store did not answer whether it committed, the rows are looked up.

        Raises
        ------
        LedgerUnreachable
            If the store cannot be reached or written to, or others write for too long.
        LedgerDamaged
            If what is stored cannot be read.
        """

    def backup(self, path: str | Path) -> None:
        """Write a whole copy of the ledger as it stands to a new file."""

    def close(self) -> None:
        """Let go of the store; it opens itself again when it is used again."""


def open_store(
    url: str,
    *,
    create: bool = False,
    network: bool = False,
    incomplete: bool = False,
    identity: str = "",
) -> Store:
    """Open the ledger at a place.

    Parameters
    ----------
    url : str
        ``sqlite:///file`` of this folder, ``sqlite:////whole/path/file``, or ``postgresql://…``
        as libpq takes it.
    create : bool
        Make the ledger if there is none.
    network : bool
        Take a file of SQLite on a network file system too. Where its locks do not hold, two
        writers can spend the same budget.
    incomplete : bool
        Take a file of SQLite that was copied without its ``-wal``. Its last entries are missing;
        only those who hold reports of them can say which.
    identity : str
        UUID of a ledger that is made, where it is to be a copy of another; else it is a new one.

    Raises
    ------
    ParameterError
        If the place is of no kind that is known here.
    LedgerUnreachable
        If there is no ledger at this place, or it cannot be written to.
    LedgerDamaged
        If it cannot be read, or is a copy without all of its parts.
    MissingExtraError
        If PostgreSQL is asked for and psycopg is not installed.
    """
    if not isinstance(url, str):
        raise ParameterTypeError(
            "url", url, "must be a text", 'Write "sqlite:///claims.ledger", or "postgresql://…"'
        )
    kind, _, place = url.partition("://")
    if kind == "sqlite":
        from dpforest.ledger.sqlite_store import SqliteStore

        return SqliteStore(
            _path_of(place, url),
            create=create,
            network=network,
            incomplete=incomplete,
            identity=identity,
        )
    if kind in ("postgresql", "postgres"):
        from dpforest.ledger.postgresql_store import PostgresqlStore

        return PostgresqlStore(url, create=create, identity=identity)
    raise ParameterError(
        "url",
        f"{kind}://…",
        "must begin with sqlite:/// or postgresql://",
        'Write "sqlite:///claims.ledger" for a file in this folder',
    )


def _path_of(place: str, url: str) -> Path:
    """Path of the file, from what stands behind ``sqlite://``."""
    name = place.removeprefix("/")
    if not place.startswith("/") or not name or "?" in name or "\0" in name or name == ":memory:":
        raise ParameterError(
            "url",
            url,
            "must name a file, without options",
            'Write "sqlite:///claims.ledger", or "sqlite:////" and a whole path',
        )
    return Path(name)
