"""Number of times a training goes through its records, where these are read pass by pass."""

from __future__ import annotations

from typing import Any

from dpforest.accounting import releases
from dpforest.accounting.releases import Plan
from dpforest.records.table import Table
from dpforest.trees.multinomial.growth import trees_at_once


def n_passes(plan: Plan[Any], schema: Table) -> int:
    """Passes of a plan that is learnt pass by pass: one a step, of as many trees as fit; public."""
    return releases.n_passes(plan.rounds, lambda one: trees_at_once(len(one.steps) - 1, schema))
