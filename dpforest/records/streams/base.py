"""Base of streams: a table in parts, in one order, that can be read as often as a fit needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dpforest.domain.column_names import words_on_alike, written_alike
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import ParameterError, ParameterTypeError, StreamError, kind_of
from dpforest.records.base import Records
from dpforest.records.streams.passes import Batch, StreamedRecords

#: Bytes of encoded records that a stream keeps between passes, where nobody says.
MEMORY_LIMIT = 2**31
#: Why a part of a stream that is given twice is refused.
COUNTS_TWICE = "is given twice: each of its records would count twice, and is paid for once"
#: Repairs where a file, or a frame that is a part of a table, lacks a declared column.
EVERY_FILE = "Every file needs a header with all declared columns, and for a fit with the target"
EVERY_FRAME = "Name the columns of every frame as the domain declares them"


@dataclass(frozen=True, slots=True)
class ReadBy:
    """Facts on how columns are read that are known before a fit is charged.

    Attributes
    ----------
    names : bool
        True if all are read by the domain's names.
    places : bool
        True if some have names of which none is declared, so that their places count.
    """

    names: bool = False
    places: bool = False


class Source(ABC):
    """Records that ``fit`` takes in place of a table, wherever they are.

    Whatever they are, they are not read before the fit was charged.

    Attributes
    ----------
    in_passes : bool
        False for a table that is read whole, once.
    """

    in_passes: bool = True

    @abstractmethod
    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Refuse before anything is spent what can be told without a look at records."""

    def reach(self) -> None:  # noqa: B027  (most need nothing)
        """Refuse before anything is spent if what hands out the records is not there."""

    @abstractmethod
    def records(self, encoder: DomainEncoder, n_threads: int) -> Records:
        """The records as codes, counted where they are; secret."""


class Stream(Source):
    """A table in parts.

    Parameters
    ----------
    memory_limit : int
        Bytes. Records are encoded in the first pass and kept, a few bytes each, while they fit;
        the rest is read again in every pass. The fitted model does not depend on it.
    """

    def __init__(self, memory_limit: int = MEMORY_LIMIT) -> None:
        if isinstance(memory_limit, bool) or not isinstance(memory_limit, int):
            raise ParameterTypeError(
                "memory_limit", kind_of(memory_limit), "must be a number of bytes",
                "Give an int, such as 2**31",
            )  # fmt: skip
        if memory_limit < 0:
            raise ParameterError(
                "memory_limit", memory_limit, "must not be negative", "Give bytes, or 0"
            )
        self.memory_limit = memory_limit

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Read the table from its beginning, in an order that is always the same.

        Raises
        ------
        StreamError
            A part cannot be read.
        """

    def batches_of(self, feature_names: Sequence[str]) -> Iterator[Batch]:
        """Read the table with these features at least; files leave other columns unread.

        Parameters
        ----------
        feature_names : sequence of str
            What the domain declares.
        """
        return self.batches()

    @abstractmethod
    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Column names of every part, as far as they can be told without reading records."""

    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Refuse before anything is spent what can be told without a look at records.

        Raises
        ------
        StreamError
            A part cannot be opened, lacks a declared column, or has two of one name.
        """
        for place, names in self.columns():
            if names is not None:
                check_columns(place, names, feature_names)
        return ReadBy()

    def left_out(self, n_records: int) -> int:
        """Lines or rows that are no record, and read by no fit; ``n_records`` are records."""
        return 0

    def records(self, encoder: DomainEncoder, n_threads: int) -> Records:
        """Records that are read pass by pass."""
        return StreamedRecords(self, encoder, n_threads)


def check_columns(
    place: str, names: Sequence[str], needed: Iterable[str], repair: str = EVERY_FILE
) -> None:
    """Refuse a part that lacks a column, or has two of one name.

    ``repair`` is for a column that is absent, where no name says more.
    """
    found = set(names)
    if len(found) < len(names):
        raise StreamError(place, "its column names must differ", "Rename columns")
    absent = [name for name in needed if name not in found]
    if absent:
        raise StreamError(
            place, f"it has no column {absent[0]!r}", _repair_of(absent[0], names, repair)
        )


def _repair_of(absent: str, names: Sequence[str], otherwise: str) -> str:
    """Repair where a column is absent; a header may be a record, so no name of it is told."""
    signs = [sign for sign in ";\t|" if len(names) == 1 and sign in names[0]]
    if signs:
        return (
            "Its first line has no comma: write the file anew with commas between cells and "
            f"points in numbers, such as by pandas.read_csv(file, sep={signs[0]!r}, decimal=',', "
            "dtype={'code': str}): decimal is the sign that its numbers have, dtype keeps "
            "zeros at the beginning of codes"
        )
    alike = written_alike(absent, names)
    if alike is not None:
        return words_on_alike(absent, alike)
    return otherwise
