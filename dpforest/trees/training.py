"""Training a learner on its plan: by a bridge where the plan is a list, else as it was."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import Plan
from dpforest.accounting.scopes import Scope
from dpforest.bridge import Bridge
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Records
from dpforest.trees.base import LearnerPlan, PartDone, TableFacts


def train_on(
    learner: Any,
    plan: LearnerPlan | Plan[Any],
    scope: Scope,
    source: RandomSource,
    records: Records,
    facts: TableFacts,
    part_done: PartDone,
) -> Any:
    """Make a plan's requests in ``scope``, each before its data is read, and release."""
    if not isinstance(plan, Plan):
        return learner.train(plan, scope, source, records, facts, part_done)
    bridge = Bridge(plan.rounds, scope, records, source, part_done)
    model = learner.train(plan.shape, bridge, facts)
    bridge.finish()
    return model
