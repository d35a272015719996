"""Shares of records in the leaves of a tree: by their distances to the cuts on their way.

A record shares in the leaves by its distances, and has the larger part in the one it lies in. Many
nodes have the same cut, which is followed once. What a record has to the right of it goes by its
value there alone, so of more records than values it is worked out once for each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.rules.directions import RuleNode
from dpforest.trees.rules.kernels.shares import (
    add_hard_shares,
    distances,
    soft_shares,
    take_shares,
    values_at,
)

#: Shares that are worked out by value, at most.
_MOST_VALUES = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class FlatCuts:
    """Cuts of a tree, each once, one array for each fact of theirs, so that kernels follow them.

    Attributes
    ----------
    cut_of : ndarray of int64, shape (n_nodes,)
        Cut of each node, -1 where it sends every record left.
    parts : ndarray of int64, shape (n_cuts + 1,)
        Where the parts of each cut begin.
    features, starts : ndarray of int64
        Of each part: its feature, and where its table begins.
    tables : ndarray of int64
    thresholds, lowest, widths : ndarray of int64, shape (n_cuts,)
        Of each cut: the last value to the left, the least one, and how many there may be.
    """

    cut_of: NDArray[np.int64]
    parts: NDArray[np.int64]
    features: NDArray[np.int64]
    starts: NDArray[np.int64]
    tables: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    lowest: NDArray[np.int64]
    widths: NDArray[np.int64]

    @classmethod
    def of_nodes(cls, nodes: Sequence[RuleNode | None]) -> FlatCuts:
        """Lay the cuts of nodes flat."""
        places: dict[Any, int] = {None: -1}
        cut_of: list[int] = []
        cuts: list[RuleNode] = []
        for node in nodes:
            key = None if node is None else _key(node)
            if node is not None and key not in places:
                places[key] = len(cuts)
                cuts.append(node)
            cut_of.append(places[key])
        tables = [table for cut in cuts for table in cut.direction.tables]
        return cls(
            np.array(cut_of, dtype=np.int64),
            _starts(len(cut.direction.features) for cut in cuts),
            np.array([f for cut in cuts for f in cut.direction.features], dtype=np.int64),
            _starts(map(len, tables)),
            np.concatenate([np.zeros(0, np.int64), *tables]),
            np.array([cut.threshold for cut in cuts], dtype=np.int64),
            np.array([cut.direction.lowest for cut in cuts], dtype=np.int64),
            np.array([cut.direction.width for cut in cuts], dtype=np.int64),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SoftCuts:
    """The cuts of a tree, with the shares to the right of those that are worked out once.

    Attributes
    ----------
    cuts : FlatCuts
    steepness : float
    by_value : ndarray of bool, shape (n_cuts,)
        Whether shares to the right of a cut are in ``known``.
    firsts : ndarray of int64
        Of those cuts: where the share of the value 0 is, or would be.
    known : ndarray of float64
    """

    cuts: FlatCuts
    steepness: float
    by_value: NDArray[np.bool_]
    firsts: NDArray[np.int64]
    known: NDArray[np.float64]

    @classmethod
    def of(cls, cuts: FlatCuts, steepness: float, n_records: int) -> SoftCuts:
        """Work out what pays for some records."""
        by_value = cuts.widths < n_records
        by_value &= np.cumsum(np.where(by_value, cuts.widths, 0)) <= _MOST_VALUES
        own = np.flatnonzero(by_value)
        begin = _starts(cuts.widths[own].tolist())
        distance = distances(own, begin, cuts.lowest, cuts.thresholds, cuts.widths)
        known = _right(distance, steepness)
        return cls(cuts, steepness, by_value, begin[:-1] - cuts.lowest[own], known)

    def shares(self, codes: NDArray[Any], weight: float) -> NDArray[np.float64]:
        """Shares of coded records in the leaves, shape (n_leaves, n).

        Parameters
        ----------
        codes : ndarray, shape (n, n_features)
        weight : float
            Of the leaf a record lies in, against its soft shares in all leaves.
        """
        cuts = self.cuts
        columns = np.ascontiguousarray(codes.T)
        values = values_at(columns, cuts.parts, cuts.features, cuts.starts, cuts.tables)
        rights = self._rights(values)
        graded = np.empty((cuts.cut_of.size + 1, columns.shape[1]))
        soft_shares(cuts.cut_of, rights, weight, graded)
        add_hard_shares(cuts.cut_of, rights, values, cuts.thresholds, weight, graded)
        return graded

    def _rights(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Shares to the right of each cut, shape (n_cuts, n)."""
        cuts, rights = self.cuts, np.empty(values.shape)
        take_shares(np.flatnonzero(self.by_value), self.firsts, self.known, values, rights)
        if not self.by_value.all():
            left = np.flatnonzero(~self.by_value)
            steps = values[left] - cuts.thresholds[left, None]
            rights[left] = _right((steps - 0.5) / cuts.widths[left, None], self.steepness)
        return rights


def _right(distance: NDArray[np.float64], steepness: float) -> NDArray[np.float64]:
    """Shares to the right by distances from cuts, which they take the place of."""
    distance *= -steepness
    with np.errstate(over="ignore"):  # nothing is beyond a steep cut that is far off
        np.exp(distance, out=distance)
    distance += 1.0
    return np.divide(1.0, distance, out=distance)


def _key(node: RuleNode) -> tuple[Any, ...]:
    """Key that nodes have in common if their cut is the same."""
    direction = node.direction
    tables = tuple(table.tobytes() for table in direction.tables)
    return direction.features, node.threshold, tables


def _starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    """Places where some parts begin when they are joined, and where the last ends."""
    found: NDArray[np.int64] = np.cumsum([0, *sizes], dtype=np.int64)
    return found
