"""Training a learner, or asking in its place: a bridge that walks the plan's list to its end."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import Plan
from dpforest.accounting.scopes import Scope
from dpforest.bridge.bridge import Bridge
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Records
from dpforest.trees.base import Learner, PartDone, ReleasedModel, TableFacts
from dpforest.trees.transcript import RecordingBridge, Transcript


def train_on(
    learner: Learner,
    plan: Plan[Any],
    scope: Scope,
    source: RandomSource,
    records: Records,
    facts: TableFacts,
    part_done: PartDone,
    transcript: Transcript | None = None,
) -> ReleasedModel:
    """Ask for a plan's list in ``scope``, each step before its data is read, and release.

    Parameters
    ----------
    learner, plan, scope, source, records, facts, part_done
    transcript : Transcript, optional
        Notes what is released on the way.
    """
    bridge = Bridge(plan.rounds, scope, records, source, part_done)
    asked: Any = bridge if transcript is None else RecordingBridge(bridge, transcript.answers)
    model = learner.train(plan.shape, asked, facts)
    bridge.finish()
    return model


def ask_for_all(
    plan: Plan[Any], scope: Scope, source: RandomSource, records: Records, part_done: PartDone
) -> None:
    """Ask for a plan's list in ``scope`` as a training does, and count and release nothing.

    Parameters
    ----------
    plan, scope, source, records, part_done
    """
    bridge = Bridge(plan.rounds, scope, records, source, part_done)
    bridge.ask_for_all()
    bridge.finish()
