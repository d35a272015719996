"""What a level of a growing tree offers to a selection, whatever its candidates are.

Two kinds of level play this part: :class:`~dpforest.trees.level.LevelCells` (public cells, counted
one by one) and :class:`~dpforest.trees.lattice_level.LevelLattice` (points of a fine lattice,
scored in intervals). ``trees/release.py`` knows this interface only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.criteria import Criterion
from dpforest.trees.records import Segments, Splits, TrainingTable


@dataclass(frozen=True, slots=True)
class Offer:
    """Scored candidates of one feature in each node; secret.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
        In steps of the criterion's lattice; -inf where the box has no candidate.
    starts, ends : ndarray of int64, shape (n_nodes,)
        Node i has the candidates ``starts[i]:ends[i]``.
    firsts, lengths : ndarray of int64, shape (m,), or None
        A candidate stands for the codes ``firsts[j] … firsts[j] + lengths[j] - 1``, all with its
        score. None: it stands for one code, its place in the row.
    """

    scores: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    firsts: NDArray[np.int64] | None = None
    lengths: NDArray[np.int64] | None = None


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
