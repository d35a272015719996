"""How often a training goes through its records, where these are read pass by pass."""

from __future__ import annotations

from typing import Protocol

from dpforest.accounting.certificates import Block
from dpforest.accounting.releases import Plan
from dpforest.accounting.releases import n_passes as n_passes_of
from dpforest.records.table import TrainingTable
from dpforest.trees.base import LearnerPlan
from dpforest.trees.multinomial.growing import together, trees_at_once
from dpforest.trees.multinomial.plan import ForestPlan


class ListedPlan(Protocol):
    """A plan that lists its releases."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every release in the order of training."""


def passes_of_trees(plan: ForestPlan, schema: TrainingTable) -> int:
    """Passes for trees: one a level and one for leaves, for as many as grow together; public."""
    groups = -(-plan.n_trees // trees_at_once(plan, schema))
    return groups * (plan.tree.depth + 1)


def n_passes(plan: LearnerPlan | ListedPlan, schema: TrainingTable) -> int:
    """Passes of a plan that is learnt pass by pass: one for each release of the others; public."""
    if isinstance(plan, Plan):
        return n_passes_of(plan.rounds, lambda one: together(len(one.steps) - 1, schema))
    if isinstance(plan, ForestPlan):
        return passes_of_trees(plan, schema)
    blocks: tuple[Block, ...] = plan.blocks  # type: ignore[union-attr]
    return sum(block.n_releases for block in blocks)
