"""Changes of records with targets before they are counted: rescaled, or turned to classes."""

from __future__ import annotations

from dataclasses import dataclass

from dpforest.mechanisms.row_words import RowWords
from dpforest.records.base import Chunk
from dpforest.records.table import Table


@dataclass(frozen=True, slots=True)
class Rescaled:
    """Targets between released bounds, in steps of the declared ones."""

    low: int
    high: int

    def table(self, chunk: Chunk) -> Table:
        """The same records with clipped and rescaled targets."""
        return chunk.table.rescaled(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Tossed:
    """A class for each target by the record's own coin."""

    rows: RowWords

    def table(self, chunk: Chunk) -> Table:
        """The same records with classes."""
        return chunk.table.tossed(self.rows.words(chunk.first, chunk.table.n_records))
