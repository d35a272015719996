"""Levels of a growing tree, whatever their candidates are.

Two kinds play this part: :class:`~dpforest.trees.multinomial.cells.LevelCells` (public cells,
counted one by one) and :class:`~dpforest.trees.multinomial.lattice.LevelLattice` (points of a fine
lattice, scored in intervals). ``trees/multinomial/release.py`` knows this interface only.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.rows import Offer
from dpforest.records.table import TrainingTable
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.segments import Segments, Splits


class ScoredLevel(Protocol):
    """Scores of a counted level under one criterion; secret."""

    def best(self) -> NDArray[np.float64]:
        """Score of each feature in each node, the largest that it offers, shape (n_nodes, D).

        In lattice steps, normalised over the node's features where the criterion says so; -inf
        for a feature without candidates.
        """

    def offer(self, features: NDArray[np.int64]) -> Offer:
        """Candidates of the feature that each node drew; none where that is -1. Call once."""


class Level(Protocol):
    """Nodes of one level: public boxes and, once counted, their records."""

    @property
    def table(self) -> TrainingTable:
        """The records."""

    @property
    def n_nodes(self) -> int:
        """Nodes of this level."""

    def n_candidates(self) -> NDArray[np.int64]:
        """How many candidates each box leaves of each feature, shape (n_nodes, D); public."""

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places of the boxes; -1 without feature; public."""

    def count(self, segments: Segments) -> Level:
        """The level with its records."""

    def scored(self, criterion: Criterion) -> ScoredLevel:
        """Its scores, once counted."""

    def children(self, splits: Splits) -> Level:
        """The next level, not yet counted."""
