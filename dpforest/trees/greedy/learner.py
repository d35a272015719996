"""Training a greedy tree: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge import Bridge
from dpforest.records.base import Released
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.growth import Candidates, Growth
from dpforest.trees.boosted.parts import Workspace
from dpforest.trees.boosted.queries import LeafSums, LevelSums
from dpforest.trees.boosted.steps import in_score_steps
from dpforest.trees.greedy.model import GreedyModel
from dpforest.trees.greedy.plan import GreedyShape, Role, build_plan
from dpforest.trees.greedy.queries import CountScore, Memberships, NodeCounts
from dpforest.trees.greedy.settings import GreedySettings
from dpforest.trees.greedy.shares import leaf_shares, whole_shares
from dpforest.trees.prior import base_scores, released_prior
from dpforest.trees.random.bins import asked_bins


@dataclass(frozen=True, slots=True)
class GreedyTree:
    """One deep tree, its splits drawn by class counts.

    Parameters
    ----------
    settings : GreedySettings
        The defaults are meant for all tables.
    """

    settings: GreedySettings = field(default_factory=GreedySettings)
    name: ClassVar[str] = "tree"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[GreedyShape]:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(self, shape: GreedyShape, bridge: Bridge, facts: TableFacts) -> GreedyModel:
        """Ask for what was planned, and make a model of it.

        Notes
        -----
        **Claim**: what is returned costs what the bridge's list costs, under add/remove of one
        record. **Proof**: every value comes over the bridge. Sensitivities and ranges:
        ``queries``, ``records.base``. **Tests**: tests/trees/greedy.
        """
        prior = released_prior(bridge, facts.unit)
        bins = asked_bins(bridge, facts, shape.settings.max_bins)
        rows = Memberships(shape.n_classes)
        growth = CountedGrowth(rows, Candidates.of(bins, facts), Workspace(), shape.unit)
        released = _grown(shape, bridge, growth, prior)
        shares, sizes = leaf_shares(prior, *released, shape.unit, shape.settings)
        base = base_scores(prior)
        logs = np.log(shares)
        steps = (logs[:, 1:] - logs[:, :1] if shape.n_classes == 2 else logs) - base
        feature, low, high = growth.heap
        return GreedyModel(
            shape.n_classes, facts.n_features, base, feature[None], low[None], high[None],
            in_score_steps(steps)[None], sizes[None],
        )  # fmt: skip


class CountedGrowth(Growth):
    """A greedy tree as it grows.

    Parameters
    ----------
    rows : Memberships
    candidates : Candidates
    workspace : Workspace
    unit : int
    """

    def __init__(
        self, rows: Memberships, candidates: Candidates, workspace: Workspace, unit: int
    ) -> None:
        super().__init__(rows, candidates, workspace)
        self._n_columns, self._unit = rows.n_columns, unit

    def counts(self, query: LevelSums | LeafSums) -> NodeCounts:
        """The part of what was counted that gets noise."""
        return NodeCounts(query, self._siblings, self._n_columns, self._unit)

    def apart(self, query: LevelSums, shares: NDArray[np.int64]) -> CountScore:
        """Score of a level's splits, by released class shares."""
        return CountScore(query, shares, self._boxes, self._siblings)


def _grown(
    shape: GreedyShape, bridge: Bridge, growth: CountedGrowth, prior: NDArray[np.float64]
) -> tuple[list[Released], list[float]]:
    """Ask for one level after the other and then for the leaves: counts, and their variances."""
    released, variances = list[Released](), list[float]()
    shares = whole_shares(prior[None])
    for level in range(shape.depth):
        query = growth.level()
        counted = bridge.ask(query, *((Role.NODES, Role.SPLITS) if level else (Role.SPLITS,)))
        if level:
            released.append(counted.noised(Role.NODES, growth.counts(query)))
            variances.append(bridge.event(Role.NODES).variance)
            shares = whole_shares(released[-1])
        growth.split(counted.chosen(Role.SPLITS, growth.apart(query, shares)))
    leaves = growth.leaves()
    counted = bridge.ask(leaves, Role.LEAVES)
    released.append(counted.noised(Role.LEAVES, growth.counts(leaves)))
    variances.append(bridge.event(Role.LEAVES).variance)
    return released, variances
