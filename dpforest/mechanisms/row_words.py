"""A secret word for every record, found by its number: whoever holds the key finds the same.

What each record draws (its side of a partition, its coin) must not depend on how a table is cut
into blocks, files or workers. So it comes from a counter-based cryptographic generator whose key
is drawn for one tree of one fit, and whose counter is the record's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RowWords:
    """Uniform 64-bit words by record number: ChaCha20 under a key of 256 bits.

    Workers that count get the key for the length of a fit; it tells which records went where, so
    it is as secret as the records, is never printed and never kept by a fitted model.

    Attributes
    ----------
    key : tuple of int
        Eight numbers of 32 bits.

    Notes
    -----
    **Claim**: to whoever does not know the key the words cannot be told from independent uniform
    ones (as far as ChaCha20 is secure, Bernstein 2008). **Tests**:
    tests/mechanisms/test_row_words.py.
    """

    key: tuple[int, ...] = field(repr=False)

    @classmethod
    def keyed(cls, words: NDArray[np.uint64]) -> RowWords:
        """With four words for a key, which nobody else has."""
        return cls(tuple(int(part) for part in words.view(np.uint32)))

    def words(self, first: int, n: int, number: int = 0) -> NDArray[np.uint64]:
        """Words of the records ``first … first + n - 1``, shape (n,): their first or further ones.

        Parameters
        ----------
        first, n : int
        number : int
            0 for the first word of each record, 1 for its second, and so on.
        """
        from dpforest.mechanisms.kernels.chacha import row_words

        out = np.empty(n, dtype=np.uint64)
        row_words(np.array(self.key, dtype=np.uint32), first, number, out)
        return out
