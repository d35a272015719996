"""Names of the batches of one pass: frames that are read by their places must all have the same.

A batch by itself is read as a fit reads one table: by the declared names where it has them all, by
places where it has none of them. What a place means would change from one batch to the next where
their names do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpforest.domain.column_names import is_read_by_position, names_passed_over
from dpforest.domain.opening import read_table
from dpforest.domain.reading import placed
from dpforest.exceptions import StreamError
from dpforest.records.streams.base import EVERY_FRAME
from dpforest.records.streams.passes import Batch


class NamesInTurn:
    """Names of frames among the batches of one pass, one after the other.

    Parameters
    ----------
    feature_names : sequence of str
        What the domain declares.
    """

    def __init__(self, feature_names: Sequence[str]) -> None:
        self._declared = tuple(feature_names)
        # Of the first frame; none where it was read by the declared names.
        self._first: tuple[str, ...] | None = None

    def told(self, batch: Batch) -> Batch:
        """A batch with a mark where it is read by its places though its columns have names.

        Raises
        ------
        StreamError
            By their names these columns are not those that frames before them had. It tells no
            name: of a file without a header they are cells.
        """
        if isinstance(batch.X, (np.ndarray, list, tuple)):
            return batch
        with placed(batch.place):
            table = read_table(batch.X, self._declared)
        names = names_passed_over(table, self._declared)
        if not names and not set(self._declared) & set(table.names or ()):
            return batch  # without names, as an array
        if self._first is None:
            self._first = names
        if names != self._first:
            raise StreamError(batch.place, _OTHERS, EVERY_FRAME)
        return replace(batch, by_places=is_read_by_position(table, self._declared))


_OTHERS = (
    "its columns have other names than those of a batch before it, or another order, and those "
    "that have no declared name are read by their places"
)
