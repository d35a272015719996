"""Tables in parts, as a domain knows them: by what their class can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeGuard


class Part(Protocol):
    """A part of a table, as :class:`dpforest.streams.Batch` is."""

    X: Any
    y: Any
    place: str


class Parts(Protocol):
    """A table in parts, as :class:`dpforest.streams.Stream` gives it."""

    def check(self, feature_names: tuple[str, ...]) -> None:
        """Refuse what can be told without a look at records."""

    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Column names of every part, as far as they are known beforehand."""

    def batches_of(self, feature_names: Sequence[str]) -> Iterator[Part]:
        """Read the table from its beginning."""

    def left_out(self, n_records: int) -> int:
        """Lines or rows that are no record, where ``n_records`` are records."""


def is_in_parts(X: Any) -> TypeGuard[Parts]:
    """Say if a table is read in parts, by its class."""
    return all(callable(getattr(type(X), name, None)) for name in ("batches_of", "columns"))
