"""The store at a place, by the kind of the place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.ledger.places import FILE_ENDINGS
from dpforest.ledger.store import Store
from dpforest.strict_json import name_of


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
        only those who hold reports of them can say which. Until an entry is written it stays
        marked as such a copy.
    identity : str
        UUID of a ledger that is made, where it is to be a copy of another; else it is a new one.

    Raises
    ------
    ParameterTypeError
        If the place is no text.
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
        # Of what else it is, no more than its kind: it may hold a password.
        f"{kind}://…" if "://" in url else "…" if set(url) & set(":@=") else name_of(url),
        "must begin with sqlite:/// or postgresql://",
        'Write "sqlite:///claims.ledger" for a file in this folder',
    )


def ledger_files(url: str | None) -> tuple[Path, ...]:
    """Files of a ledger in SQLite, and those that stand beside it in use; nothing is opened.

    Parameters
    ----------
    url : str or None
        As :func:`open_store` takes it. Of other kinds, and of none, there are no files.

    Raises
    ------
    ParameterError
        If it names no file, as :func:`open_store` would.
    """
    kind, _, place = (url or "").partition("://")
    if kind != "sqlite":
        return ()
    path = Path(os.path.realpath(_path_of(place, str(url))))
    return (path, *(path.with_name(path.name + ending) for ending in FILE_ENDINGS))


def _path_of(place: str, url: str) -> Path:
    """Path of the file, from what stands behind ``sqlite://``."""
    name = place.removeprefix("/")
    odd = "?" in name or name == ":memory:" or not _may_be_a_path(name)
    if not place.startswith("/") or not name or odd:
        raise ParameterError(
            "url",
            # A password may stand before the first slash, or among options.
            f"sqlite://{place.partition('?')[0]}" if place.startswith("/") else "sqlite://…",
            "must name a file, without options",
            'Write "sqlite:///claims.ledger", or "sqlite:////" and a whole path',
        )
    return Path(name)


def _may_be_a_path(name: str) -> bool:
    """Say if the system takes a name at all: no null, no half of a character, not too long."""
    try:
        os.stat(name)
    except ValueError:
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True
