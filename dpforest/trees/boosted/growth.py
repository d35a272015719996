"""A boosted tree as it grows: its boxes and splits, which are public.

Of two siblings the one with fewer records, as far as is public, is counted; the other one has
what its parent has more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.bridge.protocols import Part, Score
from dpforest.records.base import Released
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.counts import CountScore, NodeCounts
from dpforest.trees.boosted.parts import NodeSums, Siblings, SplitScore
from dpforest.trees.boosted.queries import Additions, LeafSums, LevelSums
from dpforest.trees.boosted.split_weights import SplitWeights, sibling_distances
from dpforest.trees.multinomial.cells import Boxes
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.multinomial.segments import Heap, Splits
from dpforest.trees.random.bins import Bins


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Bins that trees may be split at: public.

    Attributes
    ----------
    bins : Bins
    ordered : ndarray of bool, shape (D,)
    last_code : ndarray of int64, shape (total bins,)
        Largest code of each bin.
    edge : ndarray of float64, shape (total bins,)
        Share of the records up to the end of each bin of an ordered feature, roughly.
    declared : ndarray of bool, shape (total bins,)
        Whether a declared value can be in it.
    """

    bins: Bins
    ordered: NDArray[np.bool_]
    last_code: NDArray[np.int64]
    edge: NDArray[np.float64]
    declared: NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins, facts: TableFacts) -> Candidates:
        """Make them of bins."""
        last_code = np.empty(int(bins.starts[-1]), dtype=np.int64)
        edge, declared = np.ones(last_code.size), np.ones(last_code.size, dtype=np.bool_)
        offsets, starts = facts.offsets, bins.starts
        for f in range(facts.n_features):
            own = bins.of_code[offsets[f] : offsets[f + 1]]
            last_code[starts[f] + own] = np.arange(own.size)
            if facts.ordered[f]:
                place = bins.place[offsets[f] : offsets[f + 1]][: _n_values(facts, f)]
                between = np.append((place[1:] + place[:-1]) / 2.0, 1.0)
                edge[starts[f] + own[: between.size]] = between
            elif (unknown := facts.unknown_code(f)) >= 0:
                declared[starts[f] + unknown] = False
        return cls(bins, facts.ordered, last_code, edge, declared)

    def root(self) -> Boxes:
        """The whole domain; what no declared value can have is never singled out."""
        starts = self.bins.starts
        boxes = Boxes.of_root(np.diff(starts), starts, self.ordered)
        boxes.alive[0] &= self.declared
        return boxes


def _n_values(facts: TableFacts, feature: int) -> int:
    """Codes of an ordered feature's values."""
    return int(facts.n_codes[feature]) - int(facts.has_missing_code[feature])


class Growth:
    """A growing tree.

    Parameters
    ----------
    gradients : Additions
    candidates : Candidates
    memory : LevelMemory
        Of this tree and those before it.
    weights : SplitWeights
        Learnt from those before it, and from this one as it grows.
    """

    #: What gets noise, and what splits are drawn by.
    _sums: ClassVar[type[NodeSums | NodeCounts]] = NodeSums
    _score: ClassVar[type[SplitScore | CountScore]] = SplitScore

    def __init__(
        self,
        gradients: Additions,
        candidates: Candidates,
        memory: LevelMemory,
        weights: SplitWeights,
    ) -> None:
        self._gradients, self._candidates, self._weights = gradients, candidates, weights
        self._siblings, self._boxes = Siblings(gradients, memory), candidates.root()
        self._splits: list[Splits] = []
        self._counted = np.zeros(1, dtype=np.int64)
        self._drawn = np.empty(0, dtype=np.int64)

    @property
    def heap(self) -> Heap:
        """Released splits so far, in heap order."""
        return Splits.heap(self._splits)

    def level(self) -> LevelSums:
        """The next level, to be counted."""
        bins, level = self._candidates.bins, len(self._splits)
        return LevelSums(self._gradients, bins, self.heap, level, self._counted)

    def leaves(self) -> LeafSums:
        """The leaves, to be counted."""
        return LeafSums(self._gradients, self.heap, len(self._splits), self._counted)

    def sums(self, query: LevelSums | LeafSums) -> Part[NDArray[np.int64]]:
        """The part of what was counted that gets noise."""
        return self._sums(query, self._siblings)

    def score(
        self, query: LevelSums, centres: NDArray[np.int64], epsilon: float
    ) -> Score[NDArray[np.int64]]:
        """Score of a level's splits, by released centres; ``epsilon`` is the price of the draw."""
        preference = self._weights.preference(epsilon)
        return self._score(query, centres, self._boxes, self._siblings, preference)

    def learn(self, released: Released, variance: float) -> None:
        """Learn from released sums, with noise of such a variance, what splits set apart."""
        sums, sizes = self._parted(released)
        self._weights.learn(self._drawn, sibling_distances(sums, sizes, variance**0.5))

    def _parted(self, released: Released) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Residual sums of nodes, and numbers of their records."""
        lattice = self._gradients.lattice
        return released[:, : lattice.n_columns], released[:, -1] / lattice.mass

    def split(self, places: NDArray[np.int64]) -> None:
        """Split the nodes at released bins, -1 where there was no candidate; public."""
        candidates, starts = self._candidates, self._candidates.bins.starts
        found, self._drawn = places >= 0, places
        cells = np.where(found, places, 0)
        features = np.where(found, np.searchsorted(starts, cells, side="right") - 1, -1)
        bins = np.where(found, cells - starts[features], -1)
        in_bins = Splits.drawn(candidates.ordered, features, bins)
        codes = np.where(found, candidates.last_code[cells], -1)
        self._splits.append(Splits.drawn(candidates.ordered, features, codes))
        self._counted = self._smaller(features, cells)
        self._boxes = self._boxes.children(in_bins)

    def _smaller(self, features: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Child of each node that is to be counted: the smaller one, as far as is public."""
        candidates, nodes, known = self._candidates, np.arange(features.size), features >= 0
        split = np.where(known, features, 0)
        first, edge = candidates.bins.starts[split], candidates.edge
        ordered = known & candidates.ordered[split]
        low = np.where(ordered, self._boxes.low[nodes, split], 0)
        high = np.where(ordered, self._boxes.high[nodes, split], 0)
        before = np.where(low > 0, edge[first + low - 1], 0.0)
        large_left = ordered & (2.0 * edge[cells] > before + edge[first + high])
        # Where there is no split all records go left.
        return 2 * nodes + (large_left | ~known)


class CountedGrowth(Growth):
    """A tree on class counts as it grows; its centres are class shares."""

    _sums, _score = NodeCounts, CountScore

    def _parted(self, released: Released) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Class counts of nodes, and numbers of their records."""
        return released, released.sum(axis=1).astype(np.float64)
