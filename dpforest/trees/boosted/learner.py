"""Training a boosted forest: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge import Bridge
from dpforest.records.base import Released
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.counts import Memberships
from dpforest.trees.boosted.growth import Candidates, Growth
from dpforest.trees.boosted.model import BoostedModel
from dpforest.trees.boosted.parts import Workspace
from dpforest.trees.boosted.plan import BoostedShape, Role, build_plan
from dpforest.trees.boosted.queries import STEPS, BoostedMove, Gradients
from dpforest.trees.boosted.settings import BoostedSettings, PureSettings
from dpforest.trees.boosted.shares import leaf_shares, whole_shares
from dpforest.trees.boosted.steps import (
    Scales,
    centres,
    combined_levels,
    in_score_steps,
    newton_steps,
)
from dpforest.trees.multinomial.segments import Heap
from dpforest.trees.prior import base_scores, released_prior
from dpforest.trees.random.bins import asked_bins
from dpforest.trees.refitted.queries import ScoreHistory

#: A tree's splits, steps of its leaves, and their sizes.
Grown = tuple[Heap, NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class BoostedForest:
    """Rounds of trees whose splits are drawn by the residuals of those before them.

    Parameters
    ----------
    settings, pure_settings : BoostedSettings
        With a delta, and in pure epsilon. The defaults are meant for all tables.
    """

    settings: BoostedSettings = field(default_factory=BoostedSettings)
    pure_settings: BoostedSettings = field(default_factory=PureSettings)
    name: ClassVar[str] = "boosted"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[BoostedShape]:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.settings if budget.delta else self.pure_settings)

    def train(self, shape: BoostedShape, bridge: Bridge, facts: TableFacts) -> BoostedModel:
        """Ask for what was planned, and make a model of it.

        Notes
        -----
        **Claim**: what is returned costs what the bridge's list costs, under add/remove of one
        record. **Proof**: every value comes over the bridge; scores of records are functions of
        released values and the record's own codes, so the residuals of one record change no
        other's. Sensitivities and ranges: ``queries``, ``records.base``. **Tests**:
        tests/trees/boosted.
        """
        prior = released_prior(bridge, facts.unit)
        history = ScoreHistory(base_scores(prior))
        bins = asked_bins(bridge, facts, shape.settings.max_bins)
        candidates, workspace, grown = Candidates.of(bins, facts), Workspace(), list[Grown]()
        for number in range(shape.first + shape.n_rounds):
            if number < shape.first:
                growth = Growth(Memberships(shape.n_classes), candidates, workspace)
                tree = _counted(shape, bridge, growth, prior)
            else:
                growth = Growth(Gradients(history, shape.lattice), candidates, workspace)
                tree = _grown(shape, bridge, growth)
            history = history.then(BoostedMove(number, tree[0], tree[1]))
            grown.append(tree)
        heaps, steps, sizes = zip(*grown, strict=True)
        # Rounds see the scores as they were released; what is predicted with is longer.
        feature, low, high = (np.stack(part) for part in zip(*heaps, strict=True))
        return BoostedModel(
            shape.n_classes, facts.n_features, history.base, feature, low, high,
            in_score_steps(shape.settings.stretch(shape.n_classes) * np.stack(steps)),
            np.stack(sizes),
        )  # fmt: skip


def _counted(
    shape: BoostedShape, bridge: Bridge, growth: Growth, prior: NDArray[np.float64]
) -> Grown:
    """Grow a tree on class counts: its steps lead from the prior to the shares of its leaves."""
    released, shares = list[tuple[Released, float]](), whole_shares(prior[None])
    for level in range(shape.depth):
        query = growth.level()
        roles = (Role.COUNTED_NODES, Role.COUNTED_SPLITS) if level else (Role.COUNTED_SPLITS,)
        counted = bridge.ask(query, *roles)
        if level:
            counts = counted.noised(Role.COUNTED_NODES, growth.counts(query))
            released.append((counts, bridge.event(Role.COUNTED_NODES).variance))
            shares = whole_shares(counts)
        growth.split(counted.chosen(Role.COUNTED_SPLITS, growth.apart(query, shares)))
    leaves = growth.leaves()
    counts = bridge.ask(leaves, Role.COUNTED_LEAVES).noised(
        Role.COUNTED_LEAVES, growth.counts(leaves)
    )
    released.append((counts, bridge.event(Role.COUNTED_LEAVES).variance))
    found, sizes = leaf_shares(prior, [c for c, _ in released], [v for _, v in released])
    return growth.heap, in_score_steps(np.log(found) - base_scores(prior)), sizes


def _grown(shape: BoostedShape, bridge: Bridge, growth: Growth) -> Grown:
    """Ask for one level after the other and then for the leaves, and release each."""
    lattice, released = shape.lattice, list[tuple[Released, float]]()
    own = np.zeros((1, lattice.n_columns), dtype=np.int64)
    for level in range(shape.depth):
        query = growth.level()
        roles = (Role.NODES, Role.SPLITS) if level else (Role.SPLITS,)
        counted = bridge.ask(query, *roles)
        if level:
            sums = counted.noised(Role.NODES, growth.sums(query))
            released.append((sums, bridge.event(Role.NODES).variance))
            own = centres(sums, lattice.most, lattice.mass)
        growth.split(counted.chosen(Role.SPLITS, growth.score(query, own)))
    leaves = growth.leaves()
    sums = bridge.ask(leaves, Role.LEAVES).noised(Role.LEAVES, growth.sums(leaves))
    released.append((sums, bridge.event(Role.LEAVES).variance))
    return growth.heap, *_leaves(shape, released)


def _leaves(
    shape: BoostedShape, released: list[tuple[Released, float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps and sizes of the leaves, made of all that was released of a tree."""
    settings, lattice = shape.settings, shape.lattice
    estimates = combined_levels([s for s, _ in released], [v for _, v in released])
    scales = Scales(STEPS, lattice.bend, lattice.mass)
    steps = newton_steps(estimates, scales, settings.spread, settings.step_clip)
    sizes = np.maximum(estimates[-1][0][:, -1] / lattice.mass, 0.0)
    return in_score_steps(settings.step / shape.n_rounds**0.5 * steps), sizes
