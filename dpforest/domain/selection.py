"""Declared columns of a table, in the order of the domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.series import Column, Repeated
from dpforest.domain.table import ArrayTable, FrameTable, Table


class Selection:
    """The declared columns of a table, in the domain's order."""

    def __init__(self, table: Table, indices: tuple[int, ...]) -> None:
        self.table = table
        self._indices = indices

    def column(self, position: int) -> Column:
        """Values of one feature."""
        return self.table.column(self._indices[position])

    def repeated(self, position: int) -> Repeated:
        """Values of one feature, each of them once if the table can tell."""
        if isinstance(self.table, FrameTable):
            return self.table.repeated(self._indices[position])
        return Repeated(self.column(position))

    def numbers(self) -> NDArray[np.float64] | None:
        """All declared columns as doubles, where the table has plain numbers; else None."""
        if isinstance(self.table, ArrayTable | FrameTable):
            return self.table.numbers(self._indices)
        return None

    def of_times(self) -> list[int]:
        """Places of the features whose columns are of dates or times by their own type."""
        return [place for place, index in enumerate(self._indices) if self.table.is_of_times(index)]

    def check(self) -> None:
        """Refuse what the table's schema says of the declared columns."""
        for index in self._indices:
            self.table.check_column(index)
