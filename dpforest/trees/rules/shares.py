"""Shares of records in the leaves of a tree: by their distances to the cuts on their way.

A record shares in the leaves by its distances, and has the larger part in the one it lies in. What
a record has to the right of a cut follows from its value there alone, so of more records than
values it is worked out once for each value.
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
    fill_distances,
    soft_shares,
    values_at,
)

#: Where shares to the right of a node stand: by code, by value, or for each record.
_BY_CODE, _BY_VALUE, _OF_EACH = 0, 1, 2
#: Shares that are worked out by value, at most.
_MOST_VALUES = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class FlatCuts:
    """Cuts of a tree, one array for each fact of theirs, so that kernels can follow them.

    Attributes
    ----------
    parts : ndarray of int64, shape (n_nodes + 1,)
        Where the parts of each node begin; a node without parts sends every record left.
    features, starts : ndarray of int64
        Of each part: its feature, and where its table begins.
    tables : ndarray of int64
    thresholds, lowest, widths : ndarray of int64, shape (n_nodes,)
        Of each node: its cut, its least value, and how many values it may have.
    """

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
        directions = [() if node is None else node.direction.features for node in nodes]
        tables = [table for node in nodes if node is not None for table in node.direction.tables]
        parts, starts = _starts(map(len, directions)), _starts(map(len, tables))
        flat = np.concatenate([np.zeros(0, np.int64), *tables])
        least, most = (_by_part(edge, flat, starts) for edge in (np.minimum, np.maximum))
        lowest, highest = (_by_node(ends, parts) for ends in (least, most))
        return cls(
            parts,
            np.array([f for one in directions for f in one], dtype=np.int64),
            starts,
            flat,
            np.array([0 if node is None else node.threshold for node in nodes], dtype=np.int64),
            lowest,
            highest - lowest + 1,
        )

    @property
    def arrays(self) -> tuple[NDArray[np.int64], ...]:
        """What kernels find the value of a record by."""
        return self.parts, self.features, self.starts, self.tables

    @property
    def n_parts(self) -> NDArray[np.int64]:
        """Parts of each node."""
        return np.diff(self.parts)

    def n_codes(self) -> NDArray[np.int64]:
        """Codes of the feature of each node that has one part; 0 of others."""
        found = np.zeros(self.thresholds.size, dtype=np.int64)
        single = np.flatnonzero(self.n_parts == 1)
        found[single] = np.diff(self.starts)[self.parts[single]]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SoftCuts:
    """The cuts of a tree, with the shares to the right of those that are worked out once.

    Attributes
    ----------
    cuts : FlatCuts
    steepness : float
    kinds, firsts : ndarray of int64, shape (n_nodes,)
        Where each node's shares stand, and from where on.
    known : ndarray of float64
        Shares by code or by value.
    """

    cuts: FlatCuts
    steepness: float
    kinds: NDArray[np.int64]
    firsts: NDArray[np.int64]
    known: NDArray[np.float64]

    @classmethod
    def of(cls, cuts: FlatCuts, steepness: float, n_records: int) -> SoftCuts:
        """Work out what pays for some records."""
        n_parts, n_codes = cuts.n_parts, cuts.n_codes()
        by_code = (n_parts == 1) & (n_codes < n_records)
        by_value = (n_parts > 1) & (cuts.widths < n_records)
        by_value &= np.cumsum(np.where(by_value, cuts.widths, 0)) <= _MOST_VALUES
        of_each = (n_parts > 0) & ~by_code & ~by_value
        kinds = np.select([by_value, of_each], [_BY_VALUE, _OF_EACH], _BY_CODE)
        nodes = np.flatnonzero(by_code | by_value)
        begin = _starts(np.where(by_code, n_codes, cuts.widths)[nodes].tolist())
        known = np.empty(begin[-1])
        fill_distances(
            nodes, begin, kinds, cuts.parts, cuts.starts, cuts.tables, cuts.thresholds,
            cuts.lowest, cuts.widths, known,
        )  # fmt: skip
        firsts = np.zeros(kinds.size, dtype=np.int64)
        # A value's place is that many steps above the least one.
        firsts[nodes] = begin[:-1] - np.where(by_value, cuts.lowest, 0)[nodes]
        firsts[of_each] = np.arange(np.count_nonzero(of_each))
        return cls(cuts, steepness, kinds, firsts, _right(known, steepness))

    def shares(self, codes: NDArray[Any], weight: float) -> NDArray[np.float64]:
        """Shares of coded records in the leaves, shape (n_leaves, n).

        Parameters
        ----------
        codes : ndarray, shape (n, n_features)
        weight : float
            Of the leaf a record lies in, against its soft shares in all leaves.
        """
        columns = np.ascontiguousarray(codes.T)
        graded = np.empty((self.kinds.size + 1, columns.shape[1]))
        given = (
            columns, self.kinds, self.firsts, self.known, self._own(columns), *self.cuts.arrays
        )  # fmt: skip
        soft_shares(*given, weight, graded)
        add_hard_shares(*given, self.cuts.thresholds, weight, graded)
        return graded

    def _own(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        """Shares to the right of those nodes where each record has its own, shape (nodes, n)."""
        cuts, nodes = self.cuts, np.flatnonzero(self.kinds == _OF_EACH)
        values = values_at(columns, nodes, *cuts.arrays)
        distance = (values - cuts.thresholds[nodes, None] - 0.5) / cuts.widths[nodes, None]
        return _right(distance, self.steepness)


def _right(distance: NDArray[np.float64], steepness: float) -> NDArray[np.float64]:
    """Shares to the right by distances from cuts, which they take the place of."""
    distance *= -steepness
    with np.errstate(over="ignore"):  # nothing is beyond a steep cut that is far off
        np.exp(distance, out=distance)
    distance += 1.0
    return np.divide(1.0, distance, out=distance)


def _starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    """Places where some parts begin when they are joined, and where the last ends."""
    found: NDArray[np.int64] = np.cumsum([0, *sizes], dtype=np.int64)
    return found


def _by_part(
    edge: np.ufunc, flat: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Least or largest entry of each table."""
    if starts.size == 1:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(edge.reduceat(flat, starts[:-1]))


def _by_node(ends: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums over the parts of each node."""
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends)])
    return np.asarray(sums[parts[1:]] - sums[parts[:-1]])
