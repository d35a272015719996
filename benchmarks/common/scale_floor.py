"""What a fit has to do at least, counted, and how fast this machine does it.

Two kinds of work: an update adds to one cell of a table, a step takes a record one level down a
tree. A floor is both counts over the rates of one core, measured in the same run on records in
order, with tables that lie in the cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.scale_data import FEATURES, encoded
from common.timing import least_seconds
from dpforest.records.kernels.histogram import level_histogram
from dpforest.trees.random.kernels.random_trees import descend

_RATED = 1_000_000
_BLOCK = 512


@dataclass(frozen=True)
class Work:
    """Updates and steps of a record, over a whole fit."""

    updates: float
    steps: float

    def seconds(self, n: int, rates: dict[str, float]) -> float:
        """The floor on one core."""
        return n * (self.updates / rates["updates"] + self.steps / rates["steps"])


def work_of(kind: str, plan: Any) -> Work:
    """Work of a record in a fit of the plan."""
    return {"one_shot": _one_shot, "refitted": _refitted, "multinomial": _multinomial}[kind](plan)


def _one_shot(plan: Any) -> Work:
    """Codes for quantiles; leaf tables; a bin of the calibration, for which trees are walked anew.

    A tree that looks at three features at most needs one step a feature: its leaf is looked up.
    """
    size = plan.shape.size
    trees, own = size.n_trees, size.features_per_tree
    walked = trees * min(size.depth, sum(own) / len(own))
    passes = 1 + _buys(plan, "calibration")
    quantiles = FEATURES * _buys(plan, "quantiles")
    return Work(quantiles + trees + (passes - 1) * (trees + 1), passes * walked)


def _refitted(plan: Any) -> Work:
    """A round: residual, a sum for each candidate, sum, size and step of the chosen one's leaf."""
    shape = plan.shape
    used = shape.settings.features_per_tree
    walked = shape.n_candidates * min(shape.depth, sum(used) / len(used))
    updates = FEATURES * _buys(plan, "quantiles") + shape.n_rounds * (shape.n_candidates + 4)
    return Work(updates, shape.n_rounds * (walked + shape.depth))


def _buys(plan: Any, role: str) -> bool:
    """Whether a plan has a role on its list."""
    return any(release.role == role for one in plan.rounds for release in one.releases)


def _multinomial(plan: Any) -> Work:
    """The root once for all trees, below it half of the records: siblings are subtracted."""
    trees, depth = plan.shape.n_trees, plan.shape.depth
    updates = FEATURES + trees * ((depth - 1) * FEATURES / 2 + 1)
    return Work(updates, trees * depth)


def rates() -> dict[str, float]:
    """Updates and steps a second of processor time on one core: the best of five."""
    table = encoded(_RATED)
    order, starts = np.arange(_RATED, dtype=np.int32), np.array([0, _RATED])
    cells = np.empty((1, int(table.offsets[-1]), 2), np.int32)
    depth = 6
    feature = (np.arange((1 << depth) - 1) % FEATURES).astype(np.int32)
    half = np.array([~np.uint64(0), ~np.uint64(0), np.uint64(0), np.uint64(0)])
    mask = np.tile(half, (feature.size, 1))
    node = np.empty(_BLOCK, np.int32)

    def count() -> None:
        level_histogram(table.codes, table.labels, order, starts, table.offsets, 2, cells)

    def walk() -> None:
        for first in range(0, _RATED - _BLOCK, _BLOCK):
            descend(table.codes, first, _BLOCK, feature, mask, depth, node)

    return {
        "updates": _RATED * FEATURES / _best(count),
        "steps": _RATED * depth / _best(walk),
    }


def _best(action: Callable[[], None]) -> float:
    action()
    return least_seconds({"action": action}, 5, time.process_time)["action"]
