"""The rules learner: draw whole decision trees at small R, where tables would drown in noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import add_geometric_noise
from dpforest.mechanisms.streamed import select_exponential_streamed
from dpforest.records.base import Records
from dpforest.records.table import TrainingTable
from dpforest.trees.base import PRIOR_ROLE, LearnerBudget, PartDone, TableFacts
from dpforest.trees.multinomial.heaps import geometric_variance
from dpforest.trees.rules.directions import Directions, draw_directions
from dpforest.trees.rules.family import BinnedRecords, Branch, FamilyWeights, TreeFamily
from dpforest.trees.rules.model import Node, RuleModel
from dpforest.trees.rules.plan import (
    COUNT_ROLE,
    LEAVES_OF_A_STAGE,
    RulesPlan,
    build_plan,
    stage_role,
)
from dpforest.trees.rules.probabilities import (
    counted_probabilities,
    prior_probabilities,
    uncounted_probabilities,
)
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

    def train(
        self,
        plan: RulesPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> RuleModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release."""
        table = records.whole()
        if not plan.stages:
            return _release_prior(plan, scope, source, table, part_done)
        tree = GrownTree(facts)
        for stage in range(len(plan.stages)):
            _draw_stage(tree, plan, stage, scope, source, table)
            part_done()
        labels = np.array(tree.labels, dtype=np.int64)
        if plan.counts is None:
            table_of_leaves = uncounted_probabilities(labels, plan.n_classes, plan.signal)
            return RuleModel(tuple(tree.nodes), table_of_leaves, labels, facts.n_features)
        model = RuleModel(
            tuple(tree.nodes), np.ones((labels.size, plan.n_classes)), labels, facts.n_features
        )
        grant = scope.request(plan.counts, role=COUNT_ROLE, cells=labels.size)
        leaves = model.leaves(table.codes)
        counts = np.zeros((labels.size, plan.n_classes), dtype=np.int64)
        np.add.at(counts, (leaves, table.labels), 1)
        noisy = add_geometric_noise(counts, grant, source)
        part_done()
        counted = _count_leaves(plan, tree, labels, noisy)
        masses = _masses(noisy, tree)
        return RuleModel(model.nodes, counted, labels, model.n_features, masses)


class GrownTree:
    """A released tree while it grows, stage by stage; holds released values only."""

    def __init__(self, facts: TableFacts) -> None:
        self.facts = facts
        self.nodes: list[Node | None] = []
        self.labels: list[int] = [0]
        #: Whether any record can reach a leaf, as the released cuts say.
        self.reachable: list[bool] = [True]

    def add(self, drawn: list[Branch | None], directions: Directions) -> None:
        """Put a tree of height two below every leaf; None for leaves that nothing reaches."""
        levels = [list(drawn)]
        for _ in range(_HEIGHT):
            self.nodes += [_node(branch, directions) for branch in levels[-1]]
            levels.append([half for branch in levels[-1] for half in _halves(branch)])
        self.labels = [branch.label if branch is not None else 0 for branch in levels[-1]]
        self.reachable = [branch is not None for branch in levels[-1]]


def _halves(branch: Branch | None) -> tuple[Branch | None, Branch | None]:
    """Children; a label passes itself on to the left, and nothing reaches the right."""
    if branch is None or branch.direction < 0:
        return branch, None
    return branch.left, branch.right


def _node(branch: Branch | None, directions: Directions) -> Node | None:
    if branch is None or branch.direction < 0:
        return None
    direction = directions.members[branch.direction]
    return Node(direction, int(direction.thresholds[branch.cut]))


def _draw_stage(
    tree: GrownTree,
    plan: RulesPlan,
    stage: int,
    scope: Scope,
    source: RandomSource,
    table: TrainingTable,
) -> None:
    """Draw one tree in each leaf that released cuts leave; the leaves' labels are redrawn."""
    facts, settings, size = tree.facts, plan.settings, plan.size
    directions = draw_directions(
        facts,
        size.n_sums,
        size.n_cuts,
        size.n_singles,
        settings.sum_share,
        source.spawn("structure", stage),
    )
    weights = FamilyWeights.of(
        directions.n_bins, directions.shares, plan.n_classes, settings.stop_share
    )
    cells = np.flatnonzero(tree.reachable)
    # As many cells as were planned: which of them the released tree leaves empty is public.
    grant = scope.request(
        plan.stages[stage], role=stage_role(stage), cells=LEAVES_OF_A_STAGE**stage
    )
    records = _Cells(tree, directions, table, plan.n_classes)
    makers = [TreeFamily.of(records.reader(int(cell)), weights) for cell in cells]
    drawn: list[Branch | None] = [None] * len(tree.reachable)
    branches = select_exponential_streamed(makers, plan.stages[stage].score_range, grant, source)
    for cell, branch in zip(cells, branches, strict=True):
        drawn[cell] = branch
    tree.add(drawn, directions)


class _Cells:
    """Records of each leaf of a tree, read when a family asks for them; secret."""

    def __init__(
        self, tree: GrownTree, directions: Directions, table: TrainingTable, n_classes: int
    ) -> None:
        self._tree, self._directions, self._table = tree, directions, table
        self._n_classes = n_classes
        self._nodes = tuple(tree.nodes)
        self._n_leaves = len(tree.labels)
        self._all: BinnedRecords | None = None
        self._leaves: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def reader(self, cell: int) -> Callable[[], BinnedRecords]:
        """A function that reads the records of a cell."""

        def read() -> BinnedRecords:
            if self._all is None:
                self._read_all()
            assert self._all is not None
            return self._all.where(self._leaves == cell)

        return read

    def _read_all(self) -> None:
        codes = self._table.codes
        labels = np.zeros(self._n_leaves, dtype=np.int64)
        values = np.ones((self._n_leaves, self._n_classes))
        tree = RuleModel(self._nodes, values, labels, codes.shape[1])
        self._leaves = tree.leaves(codes)
        self._all = BinnedRecords(
            self._directions.bins(codes), self._table.labels.astype(np.int64), self._n_classes
        )


def _count_leaves(
    plan: RulesPlan, tree: GrownTree, labels: NDArray[np.int64], noisy: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probabilities of all leaves from noisy counts; those that nothing reaches are uniform."""
    assert plan.counts is not None
    reached = np.flatnonzero(tree.reachable)
    table = np.full((labels.size, plan.n_classes), 1.0 / plan.n_classes)
    variance = geometric_variance(Fraction(plan.counts.epsilon) / plan.counts.l1_sensitivity)
    table[reached] = counted_probabilities(labels[reached], noisy[reached], variance, plan.signal)
    return table


def _masses(noisy: NDArray[np.int64], tree: GrownTree) -> NDArray[np.float64]:
    """Share of the records in each leaf by noisy counts; none where none can be."""
    sizes = np.where(tree.reachable, np.maximum(noisy.sum(axis=1), 0), 0).astype(np.float64)
    if not sizes.any():
        sizes[:] = tree.reachable
    shares: NDArray[np.float64] = sizes / sizes.sum()
    return shares


def _release_prior(
    plan: RulesPlan,
    scope: Scope,
    source: RandomSource,
    table: TrainingTable,
    part_done: PartDone,
) -> RuleModel:
    """Class shares alone."""
    assert plan.counts is not None
    grant = scope.request(plan.counts, role=PRIOR_ROLE)
    counts = np.bincount(table.labels, minlength=plan.n_classes).astype(np.int64)
    noisy = add_geometric_noise(counts, grant, source)
    part_done()
    variance = geometric_variance(Fraction(plan.counts.epsilon) / plan.counts.l1_sensitivity)
    shares = prior_probabilities(noisy, variance)
    return RuleModel((), shares[None, :], np.array([int(shares.argmax())]), table.n_codes.size)
