"""Training a learner: a bridge that walks the plan's list to its end."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import Plan
from dpforest.accounting.scopes import Scope
from dpforest.bridge import Bridge
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Records
from dpforest.trees.base import Learner, PartDone, ReleasedModel, TableFacts


def train_on(
    learner: Learner,
    plan: Plan[Any],
    scope: Scope,
    source: RandomSource,
    records: Records,
    facts: TableFacts,
    part_done: PartDone,
) -> ReleasedModel:
    """Ask for a plan's list in ``scope``, each step before its data is read, and release."""
    bridge = Bridge(plan.rounds, scope, records, source, part_done)
    model = learner.train(plan.shape, bridge, facts)
    bridge.finish()
    return model
