"""Growing all trees of a plan, in threads, each in a scope and with words of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction

from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Records
from dpforest.records.table import TrainingTable
from dpforest.trees.base import PartDone
from dpforest.trees.multinomial.cells import MEMORY_LIMIT
from dpforest.trees.multinomial.growth import CountRoot, SharedRoot, count_root, grow_tree
from dpforest.trees.multinomial.heaps import PrivateForest, PrivateTree, geometric_variance
from dpforest.trees.multinomial.levels import Level
from dpforest.trees.multinomial.lockstep import grow_together
from dpforest.trees.multinomial.plan import ForestPlan
from dpforest.trees.multinomial.segments import Segments


def grow_forest(
    plan: ForestPlan,
    scope: Scope,
    source: RandomSource,
    records: Records,
    part_done: PartDone,
) -> PrivateForest:
    """Make every request of the plan in ``scope`` and release the forest.

    Parameters
    ----------
    plan : ForestPlan
    scope : Scope
        Each tree opens a scope of its own in it.
    source : RandomSource
    records : Records
        In one table: trees are grown one by one, in threads. Elsewhere: level by level
        together, a pass over the records a level. The forest does not depend on which.
    part_done : callable () -> None
        Called after each level of each tree, and after its leaves; never told of records.
    """
    grow = _grow_alone if records.in_memory else _grow_in_passes
    trees = grow(plan, scope, source, records, part_done)
    return PrivateForest.stack(trees, records.schema.n_classes, noise_variance(plan))


def _grow_alone(
    plan: ForestPlan,
    scope: Scope,
    source: RandomSource,
    records: Records,
    part_done: PartDone,
) -> list[PrivateTree]:
    table = records.whole()
    counted_root = _root_counter(plan, table)

    def grow(number: int) -> PrivateTree:
        with scope.sequential(f"tree {number}") as tree_scope:
            words = source.spawn("tree", number)
            return grow_tree(table, plan.tree, tree_scope, words, counted_root, part_done)

    return _run(grow, plan.n_trees, records.n_threads)


def _grow_in_passes(
    plan: ForestPlan,
    scope: Scope,
    source: RandomSource,
    records: Records,
    part_done: PartDone,
) -> list[PrivateTree]:
    trees: list[PrivateTree] = []
    group = trees_at_once(plan, records.schema)
    for first in range(0, plan.n_trees, group):
        numbers = range(first, min(first + group, plan.n_trees))
        with ExitStack() as open_scopes:
            scopes: list[Scope] = [
                open_scopes.enter_context(scope.sequential(f"tree {n}")) for n in numbers
            ]
            sources = [source.spawn("tree", number) for number in numbers]
            trees += grow_together(plan.tree, scopes, sources, records, part_done)
    return trees


def trees_at_once(plan: ForestPlan, schema: TrainingTable) -> int:
    """How many trees' counts of their widest level fit in memory together; public."""
    return together(plan.tree.depth, schema)


def together(depth: int, schema: TrainingTable) -> int:
    """How many trees of so many levels of splits grow in one pass a level; public."""
    cells = 2 ** max(depth - 1, 0) * int(schema.offsets[-1])
    # Sums and a block's part of half the nodes in eight bytes, the level's own and its parents' in
    # four, and a score a cell.
    return max(1, MEMORY_LIMIT // (cells * (14 * schema.n_classes + 8)))


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
