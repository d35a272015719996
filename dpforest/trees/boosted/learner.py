"""Training a boosted forest: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import Event
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge.bridge import Bridge
from dpforest.records.base import Released
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.corrections import Grown, corrected, steps_of
from dpforest.trees.boosted.counts import Memberships
from dpforest.trees.boosted.growth import Candidates, CountedGrowth, Growth
from dpforest.trees.boosted.model import BoostedModel
from dpforest.trees.boosted.plan import (
    BY_COUNTS,
    BY_RESIDUALS,
    BoostedShape,
    TreeRoles,
    build_plan,
)
from dpforest.trees.boosted.queries import BoostedMove
from dpforest.trees.boosted.settings import BoostedSettings, PureSettings
from dpforest.trees.boosted.shares import leaf_shares, whole_shares
from dpforest.trees.boosted.split_weights import SplitWeights
from dpforest.trees.boosted.steps import centres, combined_levels
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.prior import base_scores, released_class_counts, start_scores
from dpforest.trees.random.bins import asked_bins
from dpforest.trees.scored.confidence import scale_of_scores
from dpforest.trees.scored.gradients import GRADIENT_STEPS, Gradients
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.scored.score_steps import in_score_steps


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
        prior, code_values, history = _beginning(shape, bridge, facts)
        bins = asked_bins(bridge, facts, shape.settings.max_bins)
        candidates, grown = Candidates.of(bins, facts), list[Grown]()
        tools = candidates, LevelMemory(np.int64), SplitWeights(bins.starts, facts.ordered)
        for number in range(shape.first + shape.n_rounds):
            if number < shape.first:
                growth: Growth = CountedGrowth(Memberships(shape.n_classes), *tools)
                tree = _counted(shape, bridge, growth, prior)
            else:
                growth = Growth(Gradients(history, shape.lattice), *tools)
                tree = _grown(shape, bridge, growth)
            again = number >= shape.first and shape.n_corrections > 0
            history = history.then(BoostedMove(len(history.moves), *tree[:2], again))
            grown.append(tree)
        grown, history = corrected(shape, bridge, history, grown)
        heaps, steps, sizes = zip(*grown, strict=True)
        times = scale_of_scores(bridge, history, facts)
        feature, low, high = (np.stack(part) for part in zip(*heaps, strict=True))
        return BoostedModel(
            shape.n_classes, facts.offsets, times * history.base, feature, low, high,
            in_score_steps(times * np.stack(steps)), np.stack(sizes), code_values,
        )  # fmt: skip


def _beginning(
    shape: BoostedShape, bridge: Bridge, facts: TableFacts
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, ScoreHistory]:
    """Released prior, or the curves in its place: what codes are worth; and scores so far."""
    if shape.curves is not None:
        curves = shape.curves.learnt(bridge, facts)
        return np.empty(0), in_score_steps(curves.code_values), curves.history
    prior = released_class_counts(bridge, facts.unit)
    return prior, None, ScoreHistory(_start(shape, prior))


def _start(shape: BoostedShape, prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores to begin with."""
    if not shape.starts_clipped:
        return base_scores(prior)
    lattice = shape.lattice
    return start_scores(prior, lattice.most / GRADIENT_STEPS, lattice.norm(GRADIENT_STEPS))


def _counted(
    shape: BoostedShape, bridge: Bridge, growth: Growth, prior: NDArray[np.float64]
) -> Grown:
    """Grow a tree on class counts: its steps lead from the prior to the shares of its leaves."""
    start = whole_shares(prior[None])
    released, noise = _released(shape, bridge, growth, BY_COUNTS, start, whole_shares)
    found, sizes = leaf_shares(prior, released, [one.variance for one in noise])
    return growth.heap, in_score_steps(np.log(found) - base_scores(prior)), sizes


def _grown(shape: BoostedShape, bridge: Bridge, growth: Growth) -> Grown:
    """Grow a tree on residuals: its steps are shrunk Newton steps."""
    lattice = shape.lattice
    start = np.zeros((1, lattice.n_columns), dtype=np.int64)
    centre = partial(centres, most=lattice.most, record=lattice.mass)
    released, noise = _released(shape, bridge, growth, BY_RESIDUALS, start, centre)
    estimates = combined_levels(released, [one.variance for one in noise])
    sizes = np.maximum(estimates[-1][0][:, -1] / lattice.mass, 0.0)
    step = shape.settings.step / shape.n_rounds**0.5
    return growth.heap, in_score_steps(step * steps_of(shape, estimates, noise[-1])), sizes


def _released(
    shape: BoostedShape,
    bridge: Bridge,
    growth: Growth,
    roles: TreeRoles,
    own: NDArray[np.int64],
    centre: Callable[[Released], NDArray[np.int64]],
) -> tuple[list[Released], list[Event]]:
    """Ask for one level after the other and then for the leaves: released sums, and their noise.

    Parameters
    ----------
    shape, bridge, growth
    roles : TreeRoles
        What is asked for.
    own : ndarray of int64, shape (1, C)
        Centre of the root.
    centre : callable
        From the released sums of a level's nodes to their centres.
    """
    released, noise = list[Released](), list[Event]()
    for level in range(shape.depth):
        query = growth.level()
        counted = bridge.ask(query, *((roles.nodes, roles.splits) if level else (roles.splits,)))
        if level:
            released.append(counted.noised(roles.nodes, growth.sums(query)))
            noise.append(bridge.event(roles.nodes))
            growth.learn(released[-1], noise[-1].zero_sum_variance)
            own = centre(released[-1])
        epsilon = float(bridge.event(roles.splits).loss.epsilon)
        growth.split(counted.chosen(roles.splits, growth.score(query, own, epsilon)))
    leaves = growth.leaves()
    counted = bridge.ask(leaves, roles.leaves)
    released.append(counted.noised(roles.leaves, growth.sums(leaves)))
    noise.append(bridge.event(roles.leaves))
    growth.learn(released[-1], noise[-1].zero_sum_variance)
    return released, noise
