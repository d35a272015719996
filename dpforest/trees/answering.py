"""Questions whose sums answer to values that were released before, as residuals answer to steps.

Other noise on those values would move the sums. By how much is counted over a made-up population
(:mod:`dpforest.trees.renoised`), so such a question says how it is counted once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk


class AnsweringQuery:
    """Base of queries whose sums follow from released values besides records."""

    __slots__ = ()

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk; each query has its own."""
        raise NotImplementedError

    def recount(self, chunk: Chunk, place: int | None) -> NDArray[np.int64]:
        """Sums that get noise again. Choices stay, so what only these are made by may be 0.

        Parameters
        ----------
        chunk : Chunk
        place : int or None
            The alternative that was released, where there are several.
        """
        sums = self.count(chunk)
        return sums if place is None else sums[place]


class AnsweringScore:
    """Base of scores that leave something of what they are made of to later questions."""

    __slots__ = ()

    def keep(self, counted: NDArray[Any]) -> None:
        """Leave it without a choice; each score has its own way."""
        raise NotImplementedError
