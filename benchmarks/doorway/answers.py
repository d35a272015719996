"""What the package says of a table, and whether one record more changed what it says of others."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from doorway import readers as reading
from doorway.containers import NotMade, Way, made
from doorway.readers import Reader
from doorway.tables import Pair, Setting
from dpforest.domain import DomainEncoder
from dpforest.exceptions import DPForestError, ParameterError
from dpforest.records.streams import csv_files, csv_lines
from dpforest.records.table import Table

#: Everything that may be found wrong with a pair.
FAULTS = {
    "record decides on an error": "one of the two tables is refused, or ends in an error",
    "another error": "both end in an error, but not in the same one",
    "refused too late": "an error comes after the check, when budget is spent",
    "record decides on a warning": "a warning appears with one of the two tables only",
    "other records changed": "codes, kept records, labels or targets of other records differ",
    "predictions changed": "codes of other records differ when they are to be predicted",
    "masked cells are not missing": "a masked array is not read as a list with gaps is",
}


@dataclass(frozen=True)
class Answer:
    """What the package says of one table.

    Attributes
    ----------
    error : stage, class and text of an error, or None
    ours : whether it is one of the package's own
    records : codes, label and target of each record that is kept
    all_codes : codes of every record, for prediction; None where a reader gives none
    warned : kinds and texts of warnings
    """

    error: tuple[str, str, str] | None
    ours: bool
    records: list[bytes]
    all_codes: np.ndarray | None
    warned: tuple[tuple[str, str], ...]


class _Read:
    """A table that is handed to the package."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, y

    def check(self, encoder: DomainEncoder) -> None:
        encoder.check(self.X, self.y)

    def encoded(self, encoder: DomainEncoder) -> Iterator[Table]:
        yield Table.of(encoder.encode(self.X, self.y))

    def all_codes(self, encoder: DomainEncoder) -> np.ndarray:
        return encoder.encode_to_predict(self.X)[0]


class _Streamed:
    """A stream, with its blocks as a fit reads them."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def check(self, encoder: DomainEncoder) -> None:
        self.source.check(encoder.domain.feature_names)

    def encoded(self, encoder: DomainEncoder) -> Iterator[Table]:
        records = self.source.records(encoder, 1)
        for _ in range(2 if self.source.memory_limit == 0 else 1):
            found = [chunk.table for chunk in records._chunks()]
        yield from found

    def all_codes(self, encoder: DomainEncoder) -> None:
        return None


class _Spread:
    """Dask partitions, encoded by what workers run."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def check(self, encoder: DomainEncoder) -> None:
        if not isinstance(self.source, list):
            self.source.check(encoder.domain.feature_names)

    def encoded(self, encoder: DomainEncoder) -> Iterator[Table]:
        from dpforest.dask.workers import encode_part

        for number, part in enumerate(self._parts()):
            table = encode_part(part, encoder, f"partition {number}")
            if isinstance(table, DPForestError):
                raise table
            yield table

    def _parts(self) -> list[Any]:
        return self.source if isinstance(self.source, list) else self.source.computed

    def all_codes(self, encoder: DomainEncoder) -> None:
        return None


Case = Way | Reader


def opened(case: Case, rows: list[Any], labels: list[Any], setting: Setting) -> Any:
    """A table in a case's container, or `NotMade`."""
    if isinstance(case, Way):
        return _Read(made(case.table, rows, setting), made(case.labels, labels, setting))
    source = made(lambda both, s: case.opened(*both, s), (rows, labels), setting)
    return _Spread(source) if case.source == "DaskTable" else _Streamed(source)


def answer(table: Any, encoder: DomainEncoder) -> Answer:
    """Check and encode, as a fit does."""
    error, ours, stage, all_codes = None, True, "check", None
    records: list[bytes] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table.check(encoder)
            stage = "encoding"
            for part in table.encoded(encoder):
                records += _records_of(part)
            all_codes = _predicted(table, encoder)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as raised:  # polars' panics are no Exception
            ours = isinstance(raised, DPForestError)
            error = stage, type(raised).__name__, _without_numbers(str(raised))
    # Once each: how often one is shown is the filter's affair.
    warned = {(w.category.__name__, _without_numbers(str(w.message))) for w in caught}
    return Answer(error, ours, records, all_codes, tuple(sorted(warned)))


def _predicted(table: Any, encoder: DomainEncoder) -> np.ndarray | None:
    """Codes for prediction; None where rows of another width are refused, as there they may be."""
    try:
        found: np.ndarray | None = table.all_codes(encoder)
    except ParameterError:
        return None
    return found


def _records_of(table: Table) -> list[bytes]:
    columns = [table.codes.astype(np.int64), np.asarray(table.labels, np.int64)[:, None]]
    if table.targets is not None:
        columns.append(np.asarray(table.targets, np.int64)[:, None])
    return [row.tobytes() for row in np.hstack(columns)]


def _without_numbers(text: str) -> str:
    """Numbers of blocks and partitions follow from how many records there are before."""
    return re.sub(r"\d+", "#", text)[:300]


def fault_of(smaller: Answer, larger: Answer, place: int, most: int = 1) -> str | None:
    """What is wrong with a pair of answers, as in `FAULTS`, or None.

    Parameters
    ----------
    smaller, larger : answers without the record and with it
    place : row of the record in the larger table
    most : how many records it may be
    """
    if (smaller.error is None) != (larger.error is None):
        return "record decides on an error"
    if smaller.error is not None:
        if smaller.error != larger.error:
            return "another error"
        return None if smaller.error[0] == "check" and smaller.ours else "refused too late"
    if smaller.warned != larger.warned:
        return "record decides on a warning"
    if not is_with_records_more(smaller.records, larger.records, most):
        return "other records changed"
    if smaller.all_codes is not None and larger.all_codes is not None:
        others = np.delete(larger.all_codes, place, axis=0)
        if not np.array_equal(others, smaller.all_codes):
            return "predictions changed"
    return None


def is_with_records_more(smaller: list[bytes], larger: list[bytes], most: int) -> bool:
    """Whether one list is the other with at most so many items more, side by side."""
    more = len(larger) - len(smaller)
    if not 0 <= more <= most:
        return False
    same = next(
        (k for k, pair in enumerate(zip(smaller, larger, strict=False)) if pair[0] != pair[1]),
        len(smaller),
    )
    return larger[same + more :] == smaller[same:]


def judged(case: Case, pair: Pair, folder: Path) -> tuple[str | None, tuple[Answer, Answer]]:
    """What is wrong with a pair in a container, with both answers.

    Raises
    ------
    NotMade
        The container will not have one of the tables.
    """
    settings = pair.settings(folder)
    choice = settings[0].random
    with (
        mock.patch.object(csv_files, "BLOCK_BYTES", choice.choice(reading.BLOCKS)),
        mock.patch.object(csv_lines, "LONGEST_LINE", choice.choice(reading.LONGEST_LINES)),
    ):
        answers = []
        for values, setting in zip((pair.table, pair.larger), settings, strict=True):
            table = opened(case, *values, setting)
            answers.append(answer(table, pair.encoder))
            if not _masks_are_gaps(table, pair.encoder, answers[-1]):
                return "masked cells are not missing", (answers[0], answers[-1])
    smaller, larger = answers
    return fault_of(smaller, larger, pair.place), (smaller, larger)


def _masks_are_gaps(table: Any, encoder: DomainEncoder, found: Answer) -> bool:
    """Whether a masked array reads as a list does that has None in place of masked cells.

    A mask that is ignored is a fault of each record alone, which no pair shows.
    """
    both = getattr(table, "X", None), getattr(table, "y", None)
    if found.error is not None or not any(isinstance(one, np.ma.MaskedArray) for one in both):
        return True
    if any(getattr(one, "dtype", np.dtype("d")).kind in "mM" for one in both):
        return True  # as a list, spans of time may be numbers
    return found.records == answer(_Read(*map(_listed, both)), encoder).records


def _listed(values: Any) -> Any:
    if not isinstance(values, np.ma.MaskedArray):
        return values
    made = np.empty(values.shape, dtype=object)
    made[...] = values.data
    made[np.ma.getmaskarray(values)] = None
    return made


__all__ = ["FAULTS", "Answer", "NotMade", "answer", "fault_of", "judged", "opened"]
