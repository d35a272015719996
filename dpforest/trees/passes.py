"""How often a training goes through its records, where these are read pass by pass."""

from __future__ import annotations

from typing import Protocol

from dpforest.accounting.certificates import Block
from dpforest.accounting.releases import Plan
from dpforest.accounting.releases import n_passes as n_passes_of
from dpforest.records.table import TrainingTable
from dpforest.trees.base import LearnerPlan
from dpforest.trees.multinomial.growth import trees_at_once
from dpforest.trees.refitted.plan import RefittedPlan


class ListedPlan(Protocol):
    """A plan that lists its releases."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every release in the order of training."""


def n_passes(plan: LearnerPlan | ListedPlan, schema: TrainingTable) -> int:
    """Passes of a plan that is learnt pass by pass: one for each release of the others; public.

    A round of the refitted forest picks a tree and releases its sums after one pass.
    """
    if isinstance(plan, Plan):
        return n_passes_of(plan.rounds, lambda one: trees_at_once(len(one.steps) - 1, schema))
    blocks: tuple[Block, ...] = plan.blocks  # type: ignore[union-attr]
    n_releases = sum(block.n_releases for block in blocks)
    if isinstance(plan, RefittedPlan) and plan.selection is not None:
        return n_releases - plan.n_rounds
    return n_releases
