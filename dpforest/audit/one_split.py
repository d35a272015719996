"""Many one-split trees of one small table at once, made of the library's own parts.

A forest makes a few thousand fits in ten seconds; an audit of a small epsilon wants a hundred
thousand. So each run is a node of one wide level: the same boxes, counts, selections and leaf
rules as in a forest, in one call each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.lists import ESTIMATION, SIDES, STRUCTURE
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import Plan, Round, Step
from dpforest.accounting.scopes import Scope
from dpforest.audit.neighbours import DatasetPair
from dpforest.bridge.bridge import Bridge
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.matrix import EncodedTable
from dpforest.mechanisms.entropy import RandomSource, SystemSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial.cells import Boxes, LevelCells
from dpforest.trees.multinomial.growth import GrowthInMemory, LeafLook
from dpforest.trees.multinomial.learner import released_leaves, released_splits
from dpforest.trees.multinomial.plan import ForestShape
from dpforest.trees.multinomial.queries import Side
from dpforest.trees.multinomial.segments import Segments, Splits


class OneSplitTrees:
    """Released one-split trees: feature, low and high of the split, then both leaves.

    A subject of audits. Each step is a method, so that a planted fault replaces one of them.

    Parameters
    ----------
    domain : Domain
    plan : Plan
        Of one tree of depth 1.
    name : str
    source : RandomSource, optional
    """

    def __init__(
        self, domain: Domain, plan: Plan[ForestShape], name: str, source: RandomSource | None = None
    ) -> None:
        self.domain = domain
        self.plan = plan
        self.name = name
        self.source = source or SystemSource()

    @property
    def loss(self) -> PrivacyLoss:
        """Loss of one tree, by its list."""
        return self.plan.loss

    def sample(self, dataset: Any, runs: int, pair: DatasetPair) -> NDArray:
        """One tree a run."""
        table = Table.of(self.read(dataset))
        with BudgetAccountant._unlimited().open_scope("many trees") as scope:
            return self.grow(table, runs, scope)

    def read(self, dataset: Any) -> EncodedTable:
        """Records as codes, by the declared domain."""
        return DomainEncoder(self.domain).encode(*dataset)

    def grow(self, table: Table, runs: int, scope: Scope) -> NDArray:
        """Released values of ``runs`` trees."""
        structure, estimation = self.sides(table.n_records, runs)
        with self.scopes(scope) as (structure_scope, leaf_scope):
            splits = self.split(table, structure, structure_scope)
            leaves = self.leaves(table, estimation, splits, leaf_scope)
        return np.column_stack([splits.feature, splits.low, splits.high, leaves])

    @contextmanager
    def scopes(self, scope: Scope) -> Iterator[tuple[Scope, Scope]]:
        """Scopes of structure and leaves: in parallel over records where there are sides."""
        partition = self.plan.shape.partition
        if partition is None:
            yield scope, scope
            return
        shares = {STRUCTURE: partition, ESTIMATION: 1 - partition}
        with scope.parallel_records(SIDES, shares) as both:
            yield both.side(STRUCTURE), both.side(ESTIMATION)

    def sides(self, n_records: int, runs: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Draw the records of the split and those of the leaves, shapes (runs, n_records)."""
        structure, estimation = self.drawn_side().both(n_records * runs)
        flat = np.zeros(n_records * runs, dtype=np.bool_)
        flat[structure] = True
        chosen = flat.reshape(runs, n_records)
        return chosen, chosen if estimation is None else ~chosen

    def drawn_side(self) -> Side:
        """The draw that tells all records of all runs apart."""
        partition = self.plan.shape.partition
        return Side() if partition is None else Side(self.source.rows(), partition)

    def split(self, table: Table, members: NDArray[np.bool_], scope: Scope) -> Splits:
        """Draw the split of every tree."""
        step = self.wide(0, members.shape[0])
        bridge = self.bridge(step, scope, table)
        growth = GrowthInMemory(Side(), lambda own, _: self.level(own, members))
        counted = bridge.ask(growth.level(), *step.roles)
        drawn = released_splits(self.plan.shape, bridge, growth, counted, step.roles)
        return Splits.drawn(table.ordered, *drawn)

    def level(self, table: Table, members: NDArray[np.bool_]) -> LevelCells:
        """The roots of all trees as the nodes of one level."""
        return many_roots(table, cell_counts(table, members))

    def leaves(
        self, table: Table, members: NDArray[np.bool_], splits: Splits, scope: Scope
    ) -> NDArray:
        """Released leaves of every tree, shape (runs, values of both leaves)."""
        runs = members.shape[0]
        # Leaves of all runs are one wide tree; each run's two are what one tree asks for.
        step = self.wide(1, runs)
        look = LeafLook(lambda own: leaf_counts(own, members, splits))
        counted = self.bridge(step, scope, table).ask(look, *step.roles)
        labels, histograms = released_leaves(self.plan.shape, counted)
        released = labels if histograms is None else histograms
        assert released is not None
        return np.asarray(released).reshape(runs, -1)

    def wide(self, number: int, runs: int) -> Step:
        """A step of the plan for so many trees at once, as cells."""
        step = self.plan.rounds[0].steps[number]
        return Step(tuple(replace(one, cells=one.cells * runs) for one in step.releases))

    def bridge(self, step: Step, scope: Scope, table: Table) -> Bridge:
        """A bridge for one step."""
        owner = self.plan.rounds[0].owner
        return Bridge((Round(owner, (step,)),), scope, MemoryRecords(table), self.source)


def cell_counts(table: Table, members: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Class counts of every cell in each run, shape (runs, total codes, n_classes)."""
    runs = members.shape[0]
    counts = np.zeros((runs, int(table.offsets[-1]), table.n_classes), dtype=np.int32)
    for record in range(table.n_records):
        cells = table.offsets[:-1] + table.codes[record]
        counts[:, cells, table.labels[record]] += members[:, record, None]
    return counts


def many_roots(table: Table, counts: NDArray[np.int32]) -> LevelCells:
    """A level whose nodes are all the whole domain, with these counts."""
    runs = counts.shape[0]
    root = LevelCells.of_root(table).boxes
    boxes = Boxes(
        np.repeat(root.low, runs, axis=0),
        np.repeat(root.high, runs, axis=0),
        np.repeat(root.alive, runs, axis=0),
        table.offsets,
        table.ordered,
    )
    nobody = Segments(np.empty(0, dtype=np.int32), np.zeros(runs + 1, dtype=np.int64))
    return LevelCells(table, boxes, nobody, counts)


def leaf_counts(table: Table, members: NDArray[np.bool_], splits: Splits) -> NDArray[np.int64]:
    """Class counts of both leaves in each run, shape (2 * runs, n_classes), left before right."""
    runs = members.shape[0]
    counts = np.zeros((runs, 2, table.n_classes), dtype=np.int64)
    for record in range(table.n_records):
        # Feature -1 is no split: everything goes left.
        codes = table.codes[record].astype(np.int64)[splits.feature]
        inside = (splits.low <= codes) & (codes <= splits.high)
        left = inside | (splits.feature < 0)
        counts[np.arange(runs), (~left).astype(np.intp), table.labels[record]] += members[:, record]
    return counts.reshape(2 * runs, -1)


__all__ = ["OneSplitTrees", "cell_counts", "leaf_counts", "many_roots"]
