"""The rules learner: draw whole decision trees at small R, where tables would drown in noise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget
from dpforest.bridge.bridge import Bridge
from dpforest.records.base import Released
from dpforest.records.counts import ClassCounts
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.rules.directions import Directions, RuleNode
from dpforest.trees.rules.family import Branch, FamilyWeights
from dpforest.trees.rules.model import RuleModel
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.rules.plan import (
    COUNT_ROLE,
    LEAVES_OF_A_STAGE,
    RulesPlan,
    RulesShape,
    build_plan,
    cells_role,
    stage_role,
)
from dpforest.trees.rules.probabilities import (
    class_weights,
    counted_probabilities,
    prior_probabilities,
    uncounted_probabilities,
)
from dpforest.trees.rules.queries import LeafCells, RuleLeafCounts, TreesOfHeightTwo
from dpforest.trees.rules.settings import RulesSettings

_HEIGHT = 2


@dataclass(frozen=True, slots=True)
class RulesLearner:
    """Selected rules: pure epsilon-DP whatever delta is.

    Parameters
    ----------
    settings : RulesSettings
    """

    settings: RulesSettings = field(default_factory=RulesSettings)

    @property
    def name(self) -> str:
        """Name by which users ask for it."""
        return "rules"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> RulesPlan:
        """Make a plan that costs exactly epsilon, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(self, shape: RulesShape, bridge: Bridge, facts: TableFacts) -> RuleModel:
        """Ask for the plan's list, and make a model of what is released."""
        if not shape.n_stages:
            return _release_prior(bridge, facts)
        tree = GrownTree(facts, shape.n_classes)
        for stage in range(shape.n_stages):
            tree.class_weights = _class_weights(tree, shape, stage, bridge)
            _draw_stage(tree, shape, stage, bridge)
        grown, steepness = tree.model(), shape.settings.steepness_at(shape.n_stages)
        if not bridge.has(COUNT_ROLE):
            table = uncounted_probabilities(grown.labels, shape.n_classes, shape.signal)
            return replace(grown, probabilities=table, steepness=steepness)
        noisy = bridge.ask(RuleLeafCounts(grown), COUNT_ROLE).noised(COUNT_ROLE)
        reachable = np.array(tree.reachable)
        variance = bridge.event(COUNT_ROLE).variance
        table = counted_probabilities(
            grown.labels, noisy, reachable, variance, shape.signal, np.array(tree.class_weights)
        )
        masses = _masses(noisy, reachable)
        return replace(grown, probabilities=table, masses=masses, steepness=steepness)


class GrownTree:
    """A released tree while it grows, stage by stage; holds released values only."""

    def __init__(self, facts: TableFacts, n_classes: int) -> None:
        self.facts, self.n_classes = facts, n_classes
        self.nodes: list[RuleNode | None] = []
        self.labels: list[int] = [0]
        #: Whether any record can reach a leaf, as the released cuts say.
        self.reachable: list[bool] = [True]
        #: Steps that a record of each class was worth where a leaf's label was drawn.
        self.class_weights: list[tuple[int, ...]] = [(1,) * n_classes]

    def add(self, drawn: list[Branch | None], directions: Directions) -> None:
        """Put a tree of height two below every leaf; None for leaves that nothing reaches."""
        levels = [list(drawn)]
        for _ in range(_HEIGHT):
            self.nodes += [_node(branch, directions) for branch in levels[-1]]
            levels.append([half for branch in levels[-1] for half in _halves(branch)])
        self.labels = [branch.label if branch is not None else 0 for branch in levels[-1]]
        self.reachable = [branch is not None for branch in levels[-1]]
        self.class_weights = [w for w in self.class_weights for _ in range(LEAVES_OF_A_STAGE)]

    def model(self) -> RuleModel:
        """The tree as it is, with equal probabilities in all leaves."""
        labels = np.array(self.labels, dtype=np.int64)
        even = np.full((labels.size, self.n_classes), 1.0 / self.n_classes)
        return RuleModel(tuple(self.nodes), even, labels, self.facts.n_features)


def _halves(branch: Branch | None) -> tuple[Branch | None, Branch | None]:
    """Children; a label passes itself on to the left, and nothing reaches the right."""
    if branch is None or branch.direction < 0:
        return branch, None
    return branch.left, branch.right


def _node(branch: Branch | None, directions: Directions) -> RuleNode | None:
    if branch is None or branch.direction < 0:
        return None
    direction = directions.members[branch.direction]
    return RuleNode(direction, int(direction.thresholds[branch.cut]))


def _class_weights(
    tree: GrownTree, shape: RulesShape, stage: int, bridge: Bridge
) -> list[tuple[int, ...]]:
    """Weights of classes in each leaf, by bought counts; as before where none are bought."""
    settings, role = shape.settings, cells_role(stage) if stage else PRIOR_ROLE
    if not bridge.has(role):
        return tree.class_weights
    if not stage:
        odds = settings.rare_odds_at(shape.signal)
        return [class_weights(*_class_counts(bridge), settings, odds)]
    noisy = bridge.ask(RuleLeafCounts(tree.model()), role).noised(role)
    variance, odds = bridge.event(role).variance, settings.rare_odds_of_cell
    return [class_weights(counts, variance, settings, odds) for counts in noisy]


def _draw_stage(tree: GrownTree, shape: RulesShape, stage: int, bridge: Bridge) -> None:
    """Draw one tree in each leaf that released cuts leave; the leaves' labels are redrawn."""
    settings, size, role = shape.settings, shape.size_at(stage), stage_role(stage)
    directions = draw_directions(
        tree.facts,
        size.n_sums,
        size.n_cuts,
        size.n_singles,
        settings.sum_share,
        bridge.public("structure", stage),
        [node.direction for node in tree.nodes if node is not None],
        settings.near_share,
    )
    weights = FamilyWeights.of(
        directions.n_bins, directions.shares, shape.n_classes, settings.stop_share
    )
    # As many cells as were planned are paid for: which the released tree leaves empty is public.
    leaves = tuple(np.flatnonzero(tree.reachable).tolist())
    cells = bridge.ask(LeafCells(tree.model(), directions), role)
    worth = tuple(tree.class_weights[leaf] for leaf in leaves)
    branches = cells.drawn(role, TreesOfHeightTwo(weights, leaves, worth))
    drawn: list[Branch | None] = [None] * len(tree.reachable)
    for leaf, branch in zip(leaves, branches, strict=True):
        drawn[leaf] = branch
    tree.add(drawn, directions)


def _masses(noisy: Released, reachable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of the records in each leaf by noisy counts; none where none can be."""
    sizes = np.where(reachable, np.maximum(noisy.sum(axis=1), 0), 0).astype(np.float64)
    if not sizes.any():
        sizes[:] = reachable
    shares: NDArray[np.float64] = sizes / sizes.sum()
    return shares


def _release_prior(bridge: Bridge, facts: TableFacts) -> RuleModel:
    """Class shares alone."""
    shares = prior_probabilities(*_class_counts(bridge))
    return RuleModel((), shares[None, :], np.array([int(shares.argmax())]), facts.n_features)


def _class_counts(bridge: Bridge) -> tuple[Released, float]:
    """Noisy class counts, and the variance of their noise."""
    noisy = bridge.ask(ClassCounts(), PRIOR_ROLE).noised(PRIOR_ROLE)
    return noisy, bridge.event(PRIOR_ROLE).variance
