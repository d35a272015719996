"""Store of a ledger: rows that are only ever added, and one head for each data set.

A store knows no rules. It keeps bytes, lets one writer at a time at a data set, and makes durable
what was appended before it says so. What may be appended is decided above it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

#: Seconds for which a writer waits for its turn.
WAIT_TIMEOUT = 60.0


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
    """Place that a ledger is kept at.

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

    @property
    def lacks_entries(self) -> bool:
        """True if it lost its last entries, as its place shows, and nothing was made good since."""

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

    def freezing(self) -> AbstractContextManager[None]:
        """Keep a mark that entries are missing until all is written that is written inside.

        It stays where the process ends before, or an error leaves the context.
        """

    def backup(self, path: str | Path) -> None:
        """Write a whole copy of the ledger as it stands to a new file."""

    def close(self) -> None:
        """Let go of the store; it opens itself again when it is used again."""
