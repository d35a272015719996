"""Growing all trees of a plan, in threads, each in a scope and with words of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Protocol

from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.scopes import Scope
from dpforest.learners.multinomial.plan import ForestPlan
from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.grower import CountRoot, SharedRoot, count_root, grow_tree
from dpforest.trees.offers import Level
from dpforest.trees.private_tree import PrivateForest, PrivateTree, geometric_variance
from dpforest.trees.records import Segments, TrainingTable


class GrowingProgress(Protocol):
    """Told of each finished level and tree; never of records."""

    def level_done(self) -> None:
        """One level of one tree is finished."""

    def tree_done(self) -> None:
        """One tree is finished."""


def grow_forest(
    plan: ForestPlan,
    scope: Scope,
    source: RandomSource,
    table: TrainingTable,
    progress: GrowingProgress,
    n_threads: int = 1,
) -> PrivateForest:
    """Make every request of the plan in ``scope`` and release the forest.

    Parameters
    ----------
    plan : ForestPlan
    scope : Scope
        Each tree opens a scope of its own in it.
    source : RandomSource
    table : TrainingTable
    progress : GrowingProgress
    n_threads : int
        The forest does not depend on it.
    """
    counted_root = _root_counter(plan, table)

    def grow(number: int) -> PrivateTree:
        with scope.sequential(f"tree {number}") as tree_scope:
            words = source.spawn("tree", number)
            tree = grow_tree(table, plan.tree, tree_scope, words, counted_root, progress.level_done)
        progress.tree_done()
        return tree

    trees = _run(grow, plan.n_trees, n_threads)
    return PrivateForest.stack(trees, table.n_classes, noise_variance(plan))


def _root_counter(plan: ForestPlan, table: TrainingTable) -> CountRoot:
    """Counts of the root: shared by all trees, or each tree's own where each has its own sides."""
    if plan.tree.partition is None:
        return SharedRoot(table)

    def count_own_root(segments: Segments) -> Level:
        return count_root(table, segments)

    return count_own_root


def noise_variance(plan: ForestPlan) -> float:
    """Variance of the noise on one leaf count, a public number; 0 where leaves are labels."""
    event = plan.tree.leaf_event
    if isinstance(event, GeometricNoise):
        return geometric_variance(Fraction(event.epsilon / event.l1_sensitivity))
    if isinstance(event, DiscreteGaussianNoise):
        return float(event.sigma_squared)
    return 0.0


def _run(grow: Callable[[int], PrivateTree], n_trees: int, n_threads: int) -> list[PrivateTree]:
    """Grow trees in threads; the list is in the order of their numbers whatever finished first."""
    if n_threads == 1:
        return [grow(number) for number in range(n_trees)]
    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        return list(pool.map(grow, range(n_trees)))
