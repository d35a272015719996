"""Streams of batches that somebody else makes: Arrow record batches, frames, or pairs of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dpforest.domain.column_names import read_by_name, select_columns, table_names
from dpforest.domain.labels import check_lengths, open_labels
from dpforest.domain.opening import is_named, open_frame, read_table
from dpforest.domain.reading import placed, read_in_turn
from dpforest.exceptions import (
    Described,
    ParameterError,
    ParameterTypeError,
    StreamError,
    kind_of,
)
from dpforest.records.streams.base import (
    COUNTS_TWICE,
    EVERY_FRAME,
    MEMORY_LIMIT,
    ReadBy,
    Stream,
    check_columns,
)
from dpforest.records.streams.batch_names import NamesInTurn
from dpforest.records.streams.passes import Batch

#: Repair where a batch cannot be made.
_CALL_IT = "The code that makes the batches raised it: go through them without a fit to see why"


class BatchStream(Stream):
    """A table as batches.

    Parameters
    ----------
    batches : sequence, or callable that returns a fresh iterable
        Of pairs ``(X, y)``, or of frames or Arrow record batches that hold the target. A plain
        iterator is refused: it can be read once only.
    target : str, optional
        Column of the target, where batches are frames.
    memory_limit : int
        See :class:`Stream`.

    Examples
    --------
    >>> from dpforest.streams import BatchStream
    >>> stream = BatchStream([([[1.0], [2.0]], ["a", "b"]), ([[3.0]], ["b"])])
    >>> [len(batch.y) for batch in stream.batches()]
    [2, 1]
    """

    def __init__(
        self,
        batches: Sequence[Any] | Callable[[], Iterable[Any]],
        target: str | None = None,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        super().__init__(memory_limit)
        if not callable(batches) and not isinstance(batches, Sequence):
            raise ParameterTypeError(
                "batches", kind_of(batches),
                "must be a sequence, or a callable that returns a fresh iterable for each pass",
                "Give a function that opens the batches anew, such as lambda: "
                "pandas.read_csv(..., chunksize=...)",
            )  # fmt: skip
        self._batches = batches
        self.target = target

    def columns(self) -> Iterable[tuple[str, tuple[str, ...] | None]]:
        """Nothing is known before batches are made."""
        return ()

    def batches(self) -> Iterator[Batch]:
        """Batches in their order; an error of what makes them is told by its type alone."""
        parts = read_in_turn(self._parts, "batches", _CALL_IT, each="batch")
        for number, part in enumerate(parts):
            yield self._batch(part, f"batch {number}")

    def batches_of(self, feature_names: Sequence[str]) -> Iterator[Batch]:
        """Batches; none is read by its places where its names say something else.

        Frames that hold the target have all declared names. Of pairs, those without any have the
        names of all others.
        """
        in_turn = NamesInTurn(feature_names)
        for batch in self.batches():
            if self.target is None:
                batch = in_turn.told(batch)
            else:
                names = table_names(batch.X) or ()
                check_columns(batch.place, names, feature_names, EVERY_FRAME)
            yield batch

    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Look at the shapes and names of batches that are there; of others nothing is known."""
        super().check(feature_names)
        self._refuse_repeats()
        if not isinstance(self._batches, Sequence):
            return ReadBy(names=self.target is not None)
        found = [_checked(batch, feature_names) for batch in self.batches_of(feature_names)]
        return ReadBy(
            names=self.target is not None or bool(found) and all(one.names for one in found),
            places=any(one.places for one in found),
        )

    def _refuse_repeats(self) -> None:
        """Refuse a table that stands in the list twice: its records would count twice."""
        if not isinstance(self._batches, list | tuple):
            return
        parts = self._batches
        tables = [part[0] if self.target is None and _is_pair(part) else part for part in parts]
        if len(set(map(id, tables))) < len(tables):
            raise ParameterError(
                "batches", Described("a table of them"), COUNTS_TWICE, "Give each batch once"
            )

    def _parts(self) -> Iterable[Any]:
        """Batches that are there, or those that the callable makes for this pass."""
        if not callable(self._batches):
            return self._batches
        made = self._batches()
        # What has places alone can be gone through too.
        if not isinstance(made, Iterable) and not hasattr(type(made), "__getitem__"):
            raise StreamError(
                "batches", f"the callable returned {kind_of(made)}, which holds no batches",
                "Return or yield batches",
            )  # fmt: skip
        return made

    def _batch(self, part: Any, place: str) -> Batch:
        if self.target is None:
            if not _is_pair(part):
                raise StreamError(
                    place, "it is not a pair (X, y)", "Give pairs, or name the target"
                )
            return Batch(part[0], part[1], place)
        with placed(place):
            frame = open_frame(part)
        if frame is None:
            raise StreamError(
                place, "it is neither a data frame nor an Arrow record batch",
                "Give frames that hold the target, or pairs (X, y)",
            )  # fmt: skip
        if self.target not in list(frame.columns):
            raise StreamError(place, f"it has no column {self.target!r}", "Write the target too")
        return Batch(frame.drop(self.target).to_native(), frame[self.target].to_native(), place)


def _is_pair(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2


def _checked(batch: Batch, feature_names: tuple[str, ...]) -> ReadBy:
    """Way in which a batch is read; refused by its shape, its names and the kind of its labels."""
    with placed(batch.place):
        table = read_table(batch.X, feature_names)
        select_columns(table, feature_names, "the domain")
        features = read_by_name(table.names, feature_names)
        check_lengths(table, open_labels(batch.y, "the stream", features=features))
        return ReadBy(is_named(batch.X, feature_names), batch.by_places)
