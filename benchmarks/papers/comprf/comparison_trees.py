"""Growing comparison trees: all open nodes of a block of trees take one step at a time.

A node draws two pivots among its records and sends each record to the closer one. Only two parts
differ between forests: who may be a pair of pivots, and which records answer in the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from papers.comprf.kernels import (
    count_classes,
    draw_pairs,
    draw_pairs_of_different_classes,
    first_side_first,
)


@dataclass(frozen=True, slots=True)
class Members:
    """Records of several nodes: node v holds ``rows[starts[v]:starts[v + 1]]``.

    Attributes
    ----------
    rows : int32 array of record numbers
    starts : int64 array of shape (m + 1,)
    """

    rows: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Sequence[NDArray[np.int32]]) -> Members:
        """One node for each group of records."""
        sizes = [0, *(group.size for group in groups)]
        return cls(np.concatenate(groups).astype(np.int32), np.cumsum(sizes, dtype=np.int64))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each node."""
        return np.diff(self.starts)

    def sums(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Number of flagged records of each node."""
        running = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
        return np.diff(running[self.starts])

    def counts(self, labels: NDArray[np.int32], n_classes: int) -> NDArray[np.int64]:
        """Records of each class in each node, shape (m, K)."""
        counts = np.empty((self.starts.size - 1, n_classes), dtype=np.int64)
        count_classes(self.rows, self.starts, labels, counts)
        return counts

    def divided(self, sides: NDArray[np.bool_], split: NDArray[np.bool_]) -> Members:
        """Each split node gives way to its two sides; the others stay as they are."""
        rows = np.empty_like(self.rows)
        first_side_first(self.rows, self.starts, sides | ~np.repeat(split, self.sizes), rows)
        sizes = np.repeat(self.sizes, 1 + split)
        first = np.flatnonzero(split) + np.arange(split.sum())
        on_first = self.sums(sides)[split]
        sizes[first] = on_first
        sizes[first + 1] -= on_first
        return Members(rows, np.concatenate([[0], np.cumsum(sizes)]))

    def only(self, kept: NDArray[np.bool_]) -> Members:
        """The nodes that are kept."""
        sizes = self.sizes
        return Members(
            self.rows[np.repeat(kept, sizes)], np.concatenate([[0], np.cumsum(sizes[kept])])
        )


class Compare(Protocol):
    """Side of each member: True where it is at least as close to its node's first pivot."""

    def __call__(self, members: Members, pivots: NDArray[np.int32]) -> NDArray[np.bool_]: ...


@dataclass(frozen=True, slots=True)
class ComparisonRule:
    """How nodes are split and when they are not.

    Attributes
    ----------
    supervised : bool
        Pivots must be of different classes, and a node of one class is a leaf.
    min_samples_leaf : int
        Answering records that each side of a split must keep.
    max_leaf : int
        A node of at most so many answering records is a leaf.
    attempts : int
        Pairs drawn before a node that no pair has divided becomes a leaf.
    """

    supervised: bool
    min_samples_leaf: int
    max_leaf: int
    attempts: int = 10


@dataclass(frozen=True, slots=True)
class TreeRecords:
    """Records of one tree: those that make its structure, and those that answer in its leaves."""

    structure: NDArray[np.int32]
    answering: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ComparisonTrees:
    """Trees as arrays.

    Attributes
    ----------
    pivots : int32 array of shape (nodes, 2)
        Training records compared with; -1 in leaves.
    child : int64 array of shape (nodes,)
        First child of an inner node (the second is the next); ``-1 - leaf number`` for a leaf.
    roots : int64 array of shape (T,)
    leaf_counts : int64 array of shape (leaves, K)
        Answering records of each class.
    """

    pivots: NDArray[np.int32]
    child: NDArray[np.int64]
    roots: NDArray[np.int64]
    leaf_counts: NDArray[np.int64]

    @classmethod
    def joined(cls, blocks: Sequence[ComparisonTrees]) -> ComparisonTrees:
        """Blocks one after the other."""
        nodes = np.cumsum([0, *(block.child.size for block in blocks)])
        leaves = np.cumsum([0, *(block.leaf_counts.shape[0] for block in blocks)])
        child = [
            np.where(block.child >= 0, block.child + node, block.child - leaf)
            for block, node, leaf in zip(blocks, nodes, leaves, strict=False)
        ]
        return cls(
            pivots=np.concatenate([block.pivots for block in blocks]),
            child=np.concatenate(child),
            roots=np.concatenate(
                [block.roots + node for block, node in zip(blocks, nodes, strict=False)]
            ),
            leaf_counts=np.concatenate([block.leaf_counts for block in blocks]),
        )


class BlockGrower:
    """Grows a block of trees in rounds; a tree does not depend on the others of its block.

    Parameters
    ----------
    compare : callable
        Answers the comparisons.
    labels : int32 array of shape (n,)
    n_classes : int
    rule : ComparisonRule
    sources : sequence of RandomSource
        One a tree. Each round takes two words for each open node of the tree.
    """

    def __init__(
        self,
        compare: Compare,
        labels: NDArray[np.int32],
        n_classes: int,
        rule: ComparisonRule,
        sources: Sequence[RandomSource],
    ) -> None:
        self._compare, self._labels, self._n_classes = compare, labels, n_classes
        self._rule, self._sources = rule, sources

    def grow(self, records: Sequence[TreeRecords]) -> ComparisonTrees:
        """Grow one tree on each set of records."""
        shared = all(tree.structure is tree.answering for tree in records)
        self._structure = Members.of([tree.structure for tree in records])
        self._answering = (
            self._structure if shared else Members.of([tree.answering for tree in records])
        )
        n_trees = len(records)
        self._node = self._tree = np.arange(n_trees, dtype=np.int64)
        self._failures = np.zeros(n_trees, dtype=np.int64)
        self._n_nodes, self._n_leaves = n_trees, 0
        self._splits: list[tuple[NDArray, NDArray, NDArray]] = []
        self._leaves: list[tuple[NDArray, NDArray]] = []
        self._close(np.zeros(n_trees, dtype=np.bool_))
        while self._node.size:
            self._take_round()
        return self._assembled(n_trees)

    def _take_round(self) -> None:
        """Every open node draws pivots once; it splits, tries again next time, or is a leaf."""
        pivots = self._draw_pivots()
        answering = sides = self._compare(self._structure, pivots)
        if self._answering is not self._structure:
            answering = self._compare(self._answering, pivots)
        split = (pivots[:, 0] >= 0) & self._divides(sides, answering)
        self._failures = np.where(split, 0, self._failures + 1)
        given_up = (pivots[:, 0] < 0) | (self._failures >= self._rule.attempts)
        self._divide(split, pivots, sides, answering)
        self._close(np.repeat(given_up, 1 + split))

    def _draw_pivots(self) -> NDArray[np.int32]:
        open_nodes = np.bincount(self._tree, minlength=len(self._sources))
        words = np.concatenate(
            [
                source.words(2 * int(n))
                for source, n in zip(self._sources, open_nodes, strict=True)
                if n
            ]
        ).reshape(-1, 2)
        pivots = np.empty((self._node.size, 2), dtype=np.int32)
        rows, starts = self._structure.rows, self._structure.starts
        if self._rule.supervised:
            counts = self._structure.counts(self._labels, self._n_classes)
            draw_pairs_of_different_classes(words, rows, starts, self._labels, counts, pivots)
        else:
            draw_pairs(words, rows, starts, pivots)
        return pivots

    def _divides(self, sides: NDArray[np.bool_], answering: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether both sides keep enough answering records (and structure ones: at least one)."""
        enough = _smaller_side(self._answering, answering) >= self._rule.min_samples_leaf
        if self._answering is self._structure:
            return enough
        return enough & (_smaller_side(self._structure, sides) >= 1)

    def _divide(
        self,
        split: NDArray[np.bool_],
        pivots: NDArray[np.int32],
        sides: NDArray[np.bool_],
        answering: NDArray[np.bool_],
    ) -> None:
        n_split = int(split.sum())
        children = self._n_nodes + 2 * np.arange(n_split, dtype=np.int64)
        self._splits.append((self._node[split], pivots[split], children))
        self._n_nodes += 2 * n_split
        times = 1 + split
        self._node, self._tree = np.repeat(self._node, times), np.repeat(self._tree, times)
        self._failures = np.repeat(self._failures, times)
        first = np.flatnonzero(split) + np.arange(n_split)
        self._node[first], self._node[first + 1] = children, children + 1
        shared = self._answering is self._structure
        self._structure = self._structure.divided(sides, split)
        self._answering = self._structure if shared else self._answering.divided(answering, split)

    def _close(self, given_up: NDArray[np.bool_]) -> None:
        """Turn nodes that will not be split into leaves, and drop them from the open ones."""
        counts = self._answering.counts(self._labels, self._n_classes)
        leaf = given_up | (counts.sum(axis=1) <= self._rule.max_leaf)
        leaf |= self._structure.sizes < 2
        if self._rule.supervised:
            own = counts
            if self._answering is not self._structure:
                own = self._structure.counts(self._labels, self._n_classes)
            leaf |= (own > 0).sum(axis=1) < 2
        self._leaves.append((self._node[leaf], counts[leaf]))
        self._node, self._tree = self._node[~leaf], self._tree[~leaf]
        self._failures = self._failures[~leaf]
        shared = self._answering is self._structure
        self._structure = self._structure.only(~leaf)
        self._answering = self._structure if shared else self._answering.only(~leaf)

    def _assembled(self, n_trees: int) -> ComparisonTrees:
        pivots = np.full((self._n_nodes, 2), -1, dtype=np.int32)
        child = np.empty(self._n_nodes, dtype=np.int64)
        for nodes, pairs, children in self._splits:
            pivots[nodes], child[nodes] = pairs, children
        leaves = np.concatenate([nodes for nodes, _ in self._leaves])
        child[leaves] = -1 - np.arange(leaves.size)
        counts = np.concatenate([counts for _, counts in self._leaves])
        return ComparisonTrees(pivots, child, np.arange(n_trees, dtype=np.int64), counts)


def _smaller_side(members: Members, sides: NDArray[np.bool_]) -> NDArray[np.int64]:
    on_first = members.sums(sides)
    return np.minimum(on_first, members.sizes - on_first)
