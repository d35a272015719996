"""Growing one tree: where counts of records meet grants.

``grow_tree`` is the only code in which raw counts and a mechanism stand side by side. All choices
of a tree are paid for before its first count; then scores and a grant go into a selection for
each level and role, and a released choice comes out; at the end leaf counts and a grant go into a
leaf rule, a released leaf comes out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.table import TrainingTable
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.heaps import PrivateTree
from dpforest.trees.multinomial.kernels.leaves import leaf_counts, route_records, routed_leaf_counts
from dpforest.trees.multinomial.lattice import LevelLattice
from dpforest.trees.multinomial.levels import Level
from dpforest.trees.multinomial.release import release_leaves, release_splits
from dpforest.trees.multinomial.segments import Segments, Splits
from dpforest.trees.multinomial.tree_plan import (
    TreePlan,
    request_leaves,
    request_structure,
    tree_scopes,
)

LevelDone = Callable[[], None]


class SharedRoot:
    """Counts of the root over all records, made once for all trees of a forest.

    Parameters
    ----------
    table : TrainingTable
    """

    def __init__(self, table: TrainingTable) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._root: Level | None = None

    def __call__(self, segments: Segments) -> Level:
        """The counted root that holds every record."""
        with self._lock:
            if self._root is None:
                self._root = count_root(self._table, segments)
            return self._root


def count_root(table: TrainingTable, segments: Segments) -> Level:
    """A root that holds the given records, counted as the table's kind of codes is."""
    if table.lattice is not None:
        return LevelLattice.of_root(table).count(segments)
    return LevelCells.of_root(table).count(segments)


CountRoot = Callable[[Segments], Level]


def grow_tree(
    table: TrainingTable,
    plan: TreePlan,
    scope: Scope,
    source: RandomSource,
    counted_root: CountRoot,
    level_done: LevelDone = lambda: None,
) -> PrivateTree:
    """Grow and release one tree.

    Parameters
    ----------
    table : TrainingTable
    plan : TreePlan
        Which events to ask for.
    scope : Scope
        The tree's scope in the accountant; every request is made in it or below it.
    source : RandomSource
        Words of this tree alone.
    counted_root : callable
        From the root's records to the counted root. Called after the first requests, so
        that no count is made before something was paid; trees on the same records share it.
    level_done : callable, optional
        Called after each level and after the leaves.

    Returns
    -------
    PrivateTree
        Released values only.

    Raises
    ------
    BudgetExceeded
        A request did not fit; what was granted before stays spent.
    """
    structure, estimation = draw_sides(table.n_records, plan, source)
    segments = Segments.of_root(structure)
    growing = grow_by_asking(plan, scope, source, level_done)
    levels, nodes = next(growing), None
    while True:
        if len(levels) < plan.depth:
            nodes = (
                counted_root(segments)
                if nodes is None
                else nodes.children(levels[-1]).count(segments)
            )
            levels = growing.send(nodes)
            segments = segments.split(table.codes, levels[-1])
            continue
        counts = count_leaves(table, levels, segments, estimation)
        return finished(growing, counts)


#: Yields the released levels so far, and is sent the next level, counted; after the last level
#: class counts of the leaves. Its value is the tree.
Growing = Generator[list[Splits], Any, PrivateTree]


def grow_by_asking(
    plan: TreePlan, scope: Scope, source: RandomSource, level_done: LevelDone = lambda: None
) -> Growing:
    """Grow a tree from counts that somebody else makes, each asked for after it was paid for.

    Whoever drives several trees at once answers a level of all of them with one pass over the
    records, wherever those are.

    Parameters
    ----------
    plan : TreePlan
    scope : Scope
        The tree's scope in the accountant.
    source : RandomSource
    level_done : callable, optional
        Called after each level and after the leaves.
    """
    levels: list[Splits] = []
    with tree_scopes(plan, scope) as (structure_scope, leaf_scope):
        for grants in request_structure(structure_scope, plan):
            nodes = yield levels
            levels.append(release_splits(nodes, plan, grants, source))
            level_done()
        grant = request_leaves(leaf_scope, plan)
        counts = yield levels
        labels, histograms = release_leaves(counts, plan, grant, source)
        level_done()
    return PrivateTree(*Splits.heap(levels), labels, histograms)


def finished(growing: Growing, counts: NDArray[np.int64]) -> PrivateTree:
    """Send the counts of the leaves and take the tree."""
    try:
        growing.send(counts)
    except StopIteration as end:
        tree: PrivateTree = end.value
        return tree
    raise AssertionError("a tree ends with its leaves")


def draw_sides(
    n_records: int, plan: TreePlan, source: RandomSource
) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
    """Records for the structure and, where the plan has a partition, those for the leaves.

    Each record is a structure point with the plan's probability by 64 random bits of its own,
    independently of all other records: adding or removing one moves no other. The draw is
    secret; it is forgotten with the tree.
    """
    everyone = np.arange(n_records, dtype=np.int32)
    if plan.partition is None:
        return everyone, None
    below = int(plan.partition * 2**64)
    is_structure = source.rows().words(0, n_records) < np.uint64(min(below, 2**64 - 1))
    return everyone[is_structure], everyone[~is_structure]


def count_leaves(
    table: TrainingTable,
    levels: list[Splits],
    segments: Segments,
    estimation: NDArray[np.int32] | None,
) -> NDArray[np.int64]:
    """Exact class counts of the leaves, shape (2**depth, n_classes): of the estimation points
    where there are any sides, else of all records."""
    counts = np.zeros((segments.starts.size - 1, table.n_classes), dtype=np.int64)
    if estimation is None:
        leaf_counts(table.labels, segments.order, segments.starts, table.n_classes, counts)
        return counts
    feature, low, high = Splits.heap(levels)
    leaves = np.empty(estimation.size, dtype=np.int32)
    route_records(table.codes, estimation, feature, low, high, len(levels), leaves)
    routed_leaf_counts(leaves, estimation, table.labels, table.n_classes, counts)
    return counts
