"""Records grouped by the nodes of a growing tree, and the released splits that group them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.multinomial.kernels.routing import apply_splits
from dpforest.trees.multinomial.kernels.scoring import chosen_splits

#: Released splits of a tree's finished levels in heap order: feature, low and high.
Heap = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Splits:
    """Released splits of one level: left if ``low <= code <= high``; feature -1 sends all left."""

    feature: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def empty(cls, n_nodes: int) -> Splits:
        """Splits yet to be filled."""
        return cls(
            np.empty(n_nodes, dtype=np.int32),
            np.empty(n_nodes, dtype=np.int64),
            np.empty(n_nodes, dtype=np.int64),
        )

    @classmethod
    def drawn(
        cls,
        ordered: NDArray[np.bool_],
        features: NDArray[np.int64],
        codes: NDArray[np.int64],
    ) -> Splits:
        """Splits at drawn codes: ordered features cut after it, categorical ones single it out."""
        splits = cls.empty(features.size)
        chosen_splits(ordered, features, codes, splits.feature, splits.low, splits.high)
        return splits

    @staticmethod
    def heap(levels: list[Splits]) -> Heap:
        """Levels one after the other, which is heap order."""
        if not levels:
            nothing = np.empty(0, dtype=np.int64)
            return nothing.astype(np.int32), nothing, nothing
        return (
            np.concatenate([level.feature for level in levels]),
            np.concatenate([level.low for level in levels]),
            np.concatenate([level.high for level in levels]),
        )


@dataclass(frozen=True, slots=True, repr=False)
class Segments:
    """Records grouped by node: ``order[starts[i] : starts[i + 1]]`` are those of node i."""

    order: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def of_root(cls, records: NDArray[np.int32]) -> Segments:
        """All given records in one node."""
        return cls(records, np.array([0, records.size], dtype=np.int64))

    def split(self, codes: NDArray, splits: Splits) -> Segments:
        """Records grouped by the children of the split nodes, left before right."""
        order = np.empty_like(self.order)
        starts = np.empty(2 * splits.feature.size + 1, dtype=np.int64)
        apply_splits(
            codes, self.order, self.starts, splits.feature, splits.low, splits.high, order, starts
        )
        return Segments(order, starts)
