"""Sides of a table: each record's own secret draw, which the bridge makes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.row_words import RowWords
from dpforest.records.base import Chunk

#: Values that a word has.
_WORDS = 2**64


@dataclass(frozen=True, slots=True)
class Side:
    """Records that serve a tree for its structure, each by its own secret word.

    A record is a structure point with just the plan's probability, by random words of its own,
    independently of all others: adding or removing one moves no other. The key is the tree's own
    and is forgotten with it.

    Attributes
    ----------
    rows : RowWords or None
        None where all records serve for structure and leaves.
    structure : Fraction
        Probability of the structure.
    """

    rows: RowWords | None = None
    structure: Fraction = Fraction(1)

    def both(self, n_records: int) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
        """Records of a whole table for the structure and, where there are sides, for the leaves."""
        everyone = np.arange(n_records, dtype=np.int32)
        if self.rows is None:
            return everyone, None
        chosen = self._chosen(self.rows, 0, n_records)
        return everyone[chosen], everyone[~chosen]

    def members(self, chunk: Chunk, structure: bool) -> NDArray[np.int32]:
        """Records of a chunk that serve for the structure, or for the leaves."""
        n = chunk.table.n_records
        if self.rows is None:
            return np.arange(n, dtype=np.int32)
        chosen = self._chosen(self.rows, chunk.first, n) == structure
        return np.flatnonzero(chosen).astype(np.int32)

    def _chosen(self, rows: RowWords, first: int, n: int) -> NDArray[np.bool_]:
        """Compare a uniform number of each record with the probability, exactly.

        Its first word nearly always decides.
        """
        steps, rest = divmod(self.structure * _WORDS, 1)
        if steps == _WORDS:
            return np.ones(n, dtype=np.bool_)
        words, below = rows.words(first, n), np.uint64(steps)
        chosen: NDArray[np.bool_] = words < below
        for place in np.flatnonzero(words == below).tolist():
            chosen[place] = _is_below(rest, rows, first + place)
        return chosen


def _is_below(rest: Fraction, rows: RowWords, record: int) -> bool:
    """Compare what follows a record's first word with what the probability has beyond it."""
    number = 0
    while rest:
        number += 1
        steps, rest = divmod(rest * _WORDS, 1)
        word = int(rows.words(record, 1, number)[0])
        if word != steps:
            return word < steps
    return False
