"""The multinomial forest as a learner: sizes from public quantities, trees grown over a bridge.

A tree that grows over a table and trees that grow together, a pass over the records a level, run
one loop, `growing`: it yields a question with the roles that pay for it and is sent a sealed
count. In memory a tree's own bridge answers it, in passes `ask_together` answers a group of trees
with one query.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.allocation import UniformAllocation
from dpforest.accounting.events import DiscreteGaussianNoise, Event, GeometricNoise
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge.bridge import Bridge, BridgeCopy, Sealed, ask_together
from dpforest.threads import thread_pool
from dpforest.trees.base import TableFacts
from dpforest.trees.multinomial.criteria import GINI_COUNT_CRITERION
from dpforest.trees.multinomial.growth import (
    CountRoot,
    Growth,
    GrowthInMemory,
    GrowthInPasses,
    SharedRoot,
    count_root,
    trees_at_once,
)
from dpforest.trees.multinomial.heaps import ReleasedTree, ReleasedTrees
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.multinomial.model import MultinomialModel
from dpforest.trees.multinomial.plan import (
    FEATURE,
    LEAF_RULES,
    SPLIT,
    VALUE,
    ForestSettings,
    ForestShape,
    build_plan,
)
from dpforest.trees.multinomial.queries import LabelByCount, LabelByFrequency
from dpforest.trees.multinomial.uniform import uniform_codes, uniform_features, uniform_splits

#: Trees and levels that serve at which R; more of either divides the budget further. Forests that
#: were made as a strategy of private ones have them, and their reports are planned again by them.
SIZES = ((100.0, 3, 3), (1000.0, 5, 5), (float("inf"), 10, 8))

#: Yields a question and its roles, and is sent the sealed count; its value is the tree.
Growing = Generator[tuple[Any, tuple[str, ...]], Sealed[Any], ReleasedTree]


@dataclass(frozen=True, slots=True)
class MultinomialForest:
    """Two-stage multinomial splits by count-weighted Gini, noisy histograms in the leaves.

    Parameters
    ----------
    selection_share : Fraction
        Share of a tree's budget for its splits.
    settings : ForestSettings, optional
        Somebody's own; None takes ``SIZES`` by R.
    """

    selection_share: Fraction = Fraction(35, 100)
    settings: ForestSettings | None = None
    name: ClassVar[str] = "multinomial"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[ForestShape]:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(self.settings or self._settings_of(facts, budget), budget)

    def _settings_of(self, facts: TableFacts, budget: LearnerBudget) -> ForestSettings:
        n_trees, depth = sizes_at(budget.signal(facts.approximate_rows or 1.0))
        return ForestSettings(
            n_trees=n_trees,
            depth=depth,
            allocation=UniformAllocation(selection_share=self.selection_share),
            criterion=GINI_COUNT_CRITERION,
        )

    def train(self, shape: ForestShape, bridge: Bridge, facts: TableFacts) -> MultinomialModel:
        """Ask for all that was planned, each before it is counted, and release the model."""
        return MultinomialModel(grow_forest(shape, bridge), facts.n_features)


def sizes_at(signal: float) -> tuple[int, int]:
    """Trees and levels that serve at R."""
    return next((trees, levels) for limit, trees, levels in SIZES if signal < limit)


def grow_forest(shape: ForestShape, bridge: Bridge) -> ReleasedTrees:
    """Grow and release all trees of a list.

    Parameters
    ----------
    shape : ForestShape
    bridge : Bridge
        To records in one table: trees are grown one by one, in threads. Elsewhere: level by
        level together, a pass over the records a level. The forest does not depend on which.
    """
    variance = noise_variance(bridge.event(shape.leaf_role))
    grow = _grown_alone if bridge.in_memory else _grown_in_passes
    trees = grow(shape, bridge)
    return ReleasedTrees.stack(trees, bridge.schema.n_classes, variance)


def noise_variance(event: Event) -> float:
    """Variance of the noise on one leaf count, a public number; 0 where leaves are labels."""
    noisy = isinstance(event, GeometricNoise | DiscreteGaussianNoise)
    return event.variance if noisy else 0.0


# -- trees in memory, in threads -----------------------------------------------------------------


def _grown_alone(shape: ForestShape, bridge: Bridge) -> list[ReleasedTree]:
    # Trees that draw sides of their own share no count.
    root: CountRoot = count_root if shape.partition is not None else SharedRoot()
    room = LevelMemory()

    def grow(copy: BridgeCopy) -> ReleasedTree:
        with copy as tree:
            return grown(shape, tree, GrowthInMemory(tree.side, root, room))

    return _in_threads(grow, bridge.copies(), bridge.n_threads)


def grown(shape: ForestShape, tree: Bridge, growth: GrowthInMemory) -> ReleasedTree:
    """Grow and release one tree over a table."""
    steps = growing(shape, tree, growth)
    question, roles = next(steps)
    while True:
        try:
            question, roles = steps.send(tree.ask(question, *roles))
        except StopIteration as end:
            finished: ReleasedTree = end.value
            return finished


def _in_threads(
    grow: Callable[[BridgeCopy], ReleasedTree], copies: Sequence[BridgeCopy], n_threads: int
) -> list[ReleasedTree]:
    """Grow trees in threads; the list is in the order of their numbers whatever finished first."""
    if n_threads == 1:
        return [grow(copy) for copy in copies]
    with thread_pool(n_threads) as pool:
        return list(map(grow, copies) if pool is None else pool.map(grow, copies))


# -- trees in passes, together -------------------------------------------------------------------


def _grown_in_passes(shape: ForestShape, bridge: Bridge) -> list[ReleasedTree]:
    trees: list[ReleasedTree] = []
    copies, size = bridge.copies(), trees_at_once(shape.depth, bridge.schema)
    for first in range(0, len(copies), size):
        with ExitStack() as opened:
            group = [opened.enter_context(copy) for copy in copies[first : first + size]]
            trees += grown_together(shape, group)
    return trees


def grown_together(shape: ForestShape, group: Sequence[Bridge]) -> list[ReleasedTree]:
    """Grow and release a group of trees level by level, one query a level for all of them."""
    steps = [growing(shape, tree, GrowthInPasses(tree.side, tree.schema)) for tree in group]
    asked, finished = [next(one) for one in steps], list[ReleasedTree]()
    while asked:
        (first, roles), *others = asked
        query = first.together([question for question, _ in others])
        sealed, asked = ask_together(group, query, *roles), []
        for one, own in zip(steps, sealed, strict=True):
            try:
                asked.append(one.send(own))
            except StopIteration as end:
                finished.append(end.value)
    return finished


# -- one tree ------------------------------------------------------------------------------------


def growing(shape: ForestShape, tree: Bridge, growth: GrowthInMemory | GrowthInPasses) -> Growing:
    """Ask for one level after the other and then for the leaves, and release each.

    Parameters
    ----------
    shape : ForestShape
    tree : Bridge
        The tree's own: where nothing was paid for, splits take public words from it.
    growth : GrowthInMemory or GrowthInPasses
    """
    for roles in shape.level_roles:
        counted = yield growth.level(), roles
        growth.split(*released_splits(shape, tree, growth, counted, roles))
    counted = yield growth.leaves(), (shape.leaf_role,)
    return ReleasedTree(*growth.heap, *released_leaves(shape, counted))


def released_splits(
    shape: ForestShape, tree: Bridge, growth: Growth, counted: Sealed[Any], paid: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the split of every node of a level: feature then code, or both at once.

    Parameters
    ----------
    shape : ForestShape
    tree : Bridge
    growth : Growth
    counted : Sealed
        The level.
    paid : tuple of str
        Roles of what was paid for. Others are drawn uniformly from what the public boxes leave,
        without a look at any record.

    Returns
    -------
    features, codes : ndarray of int64, shape (n_nodes,)
        -1 where public facts left no candidate.
    """
    criterion = shape.criterion
    if shape.joint:
        if SPLIT not in paid:
            return uniform_splits(growth, tree.public("splits"))
        return growth.cells(counted.chosen(SPLIT, growth.jointly(criterion)))
    if FEATURE in paid:
        features = counted.chosen(FEATURE, growth.best(criterion))
    else:
        features = uniform_features(growth, tree.public("features"))
    if VALUE in paid:
        return features, counted.chosen(VALUE, growth.values(criterion, features))
    return features, uniform_codes(growth, features, tree.public("values"))


def released_leaves(
    shape: ForestShape, counted: Sealed[NDArray[np.int64]]
) -> tuple[NDArray[np.int32] | None, NDArray[np.int64] | None]:
    """Draw labels or noisy counts for all leaves of a tree: (labels, None) or (None, counts)."""
    if LEAF_RULES[shape.leaves].releases == "counts":
        return None, counted.noised(shape.leaf_role)
    score = LabelByFrequency() if shape.leaves == "label" else LabelByCount()
    return counted.chosen(shape.leaf_role, score).astype(np.int32), None
