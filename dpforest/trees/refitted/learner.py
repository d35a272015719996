"""Training a refitted forest: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge.bridge import Bridge
from dpforest.records.base import Released
from dpforest.trees.base import TableFacts
from dpforest.trees.prior import released_class_counts, start_scores
from dpforest.trees.random.bins import Bins, asked_bins
from dpforest.trees.random.trees import RandomTrees, declared_bins, draw_random_trees
from dpforest.trees.refitted.feature_weights import FeatureWeights
from dpforest.trees.refitted.linear_start import fit_linear_start
from dpforest.trees.refitted.model import RefittedModel
from dpforest.trees.refitted.plan import RefittedShape, Role, build_plan
from dpforest.trees.refitted.queries import (
    STEPS,
    LeafSums,
    LeafSumsOfAll,
    Residuals,
    TreeMove,
    TreeScore,
)
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings
from dpforest.trees.refitted.steps import curvature_at, curvature_per_record, shrunk_steps
from dpforest.trees.scored.claims import ConfidenceSums
from dpforest.trees.scored.columns import centred
from dpforest.trees.scored.confidence import asked_scale
from dpforest.trees.scored.queries import ScoreHistory

#: A tree, steps of its leaves, and their sizes.
Grown = tuple[RandomTrees, NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class RefittedForest:
    """Rounds of random trees, each fitted to the residuals of those before it.

    Parameters
    ----------
    settings, pure_settings : RefittedSettings
        With a delta, and in pure epsilon. The defaults are meant for all tables.
    """

    settings: RefittedSettings = field(default_factory=RefittedSettings)
    pure_settings: RefittedSettings = field(default_factory=PureRefittedSettings)
    name: ClassVar[str] = "refitted"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[RefittedShape]:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.settings if budget.delta else self.pure_settings)

    def train(self, shape: RefittedShape, bridge: Bridge, facts: TableFacts) -> RefittedModel:
        """Ask for what was planned, and make a model of it.

        Notes
        -----
        **Claim**: what is returned costs what the bridge's list costs, under add/remove of one
        record. **Proof**: every value comes over the bridge; scores of records are functions of
        released values and the record's own codes, so the residuals of one record change no
        other's. Sensitivities: ``queries``, ``records.base``. **Tests**: tests/trees/refitted.
        """
        base, code_values, history, bins = _beginning(shape, bridge, facts)
        rounds = _Rounds(shape, bridge, facts, bins, history)
        grown = [rounds.run() for _ in range(shape.n_rounds)]
        for places in shape.corrected_together:
            grown[places] = rounds.corrected(grown[places])
        trees, steps, sizes = zip(*grown, strict=True)
        lengths = _lengths(shape, bridge, facts, rounds.history)
        return RefittedModel(
            shape.n_classes, facts.offsets, lengths.base * base,
            None if code_values is None else lengths.code_values * code_values,
            RandomTrees.joined(list(trees)), lengths.steps * np.stack(steps), np.stack(sizes),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Factors of the base, of what codes are worth, and of the steps."""

    base: float
    code_values: float
    steps: float


def _lengths(
    shape: RefittedShape, bridge: Bridge, facts: TableFacts, history: ScoreHistory
) -> _Lengths:
    """Factors that scores are predicted with: rounds see them as they were released.

    Where the plan asks how often they are right, all of them follow that. Codes count as steps
    then, since both are in the scores that records have.
    """
    settings, of_means = shape.settings, facts.is_regression
    scale = settings.scaled(shape.n_classes, of_means)
    longer = scale * settings.stretched(shape.n_rounds, shape.n_classes, of_means)
    if not bridge.has(Role.CONFIDENCE):
        return _Lengths(scale, scale, longer)
    query = ConfidenceSums(history, longer, (scale - longer) * history.base)
    times = asked_scale(bridge, query, facts)
    return _Lengths(times * scale, times * longer, times * longer)


def _beginning(
    shape: RefittedShape, bridge: Bridge, facts: TableFacts
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, ScoreHistory, Bins]:
    """Base, values of codes where there are some, scores so far and bins, as they are released."""
    max_bins = shape.settings.max_bins
    if shape.curves is not None:
        curves = shape.curves.learnt(bridge, facts)
        bins = asked_bins(bridge, facts, max_bins)
        return curves.base, curves.code_values, curves.history, bins
    prior = released_class_counts(bridge, facts.unit)
    clip = 1.0 if shape.of_means else shape.lattice.most / STEPS
    base = start_scores(prior, clip, shape.lattice.norm(STEPS))
    code_values, history = None, ScoreHistory(base)
    bins = asked_bins(bridge, facts, max_bins)
    if bridge.has(Role.GRAM):
        code_values, history = fit_linear_start(shape, bridge, facts, bins, prior, history)
    return base, code_values, history, bins


def _curvature(shape: RefittedShape, base: NDArray[np.float64]) -> float:
    """Second derivative of a record's loss that steps count on: a public bound, or what it has."""
    if shape.n_classes == 2:
        own = curvature_at(base)
        if shape.settings.counts_on_its_own(own, shape.of_means):
            return own
    return curvature_per_record(shape.n_classes)


class _Rounds:
    """The rounds of one training: what was released so far, and public words for trees."""

    def __init__(
        self,
        shape: RefittedShape,
        bridge: Bridge,
        facts: TableFacts,
        bins: Bins,
        history: ScoreHistory,
    ) -> None:
        self.shape, self.bridge, self.facts, self.bins = shape, bridge, facts, bins
        self.declared = declared_bins(bins, facts)
        n_features = np.array(shape.settings.features_per_tree, dtype=np.int64)
        self.n_features = np.resize(n_features, shape.n_candidates)
        self.structure = bridge.public("structure")
        self.noise = bridge.event(Role.SUMS).zero_sum_variance ** 0.5
        self.size_noise = bridge.event(Role.SUMS).variance ** 0.5
        self.history, self.curvature = history, _curvature(shape, history.base)
        learnt_from = shape.settings.learnt_from(facts.n_features, facts.approximate_rows or 0.0)
        share = shape.settings.learnt_share if learnt_from < shape.n_rounds else 0.0
        self.weights = FeatureWeights(facts.n_features, learnt_from, share)

    @property
    def _residuals(self) -> Residuals:
        return Residuals(self.history, self.shape.lattice)

    def run(self) -> Grown:
        """One round: sums of all candidates, a pick, the picked one's sums released."""
        shape = self.shape
        trees = draw_random_trees(
            shape.n_candidates, shape.depth, self.bins, self.facts, self.structure,
            self.n_features, self.declared, self.weights.of_features(),
        )  # fmt: skip
        query = LeafSums(self._residuals, trees)
        sums = self.bridge.ask(query, *shape.round_roles)
        picked = int(sums.chosen(Role.SELECTION, TreeScore(query))[0]) if shape.selects else 0
        steps, sizes = self._steps(sums.at(picked).noised(Role.SUMS))
        tree = trees.take([picked])
        self.weights.learn(tree, sizes, steps)
        self.history = self.history.then(TreeMove(tree, steps))
        return tree, steps, sizes

    def corrected(self, grown: list[Grown]) -> list[Grown]:
        """Ask trees once more what is left in their leaves: those after them changed that."""
        trees = RandomTrees.joined([tree for tree, _, _ in grown])
        sums = self.bridge.ask(LeafSumsOfAll(self._residuals, trees), Role.CORRECTIONS)
        released, n_leaves = sums.noised(Role.CORRECTIONS), trees.n_leaves
        moved = []
        for place, (tree, steps, sizes) in enumerate(grown):
            own = slice(place * n_leaves, (place + 1) * n_leaves)
            more, _ = self._steps(released, own)
            self.history = self.history.then(TreeMove(tree, more))
            moved.append((tree, steps + more, sizes))
        return moved

    def _steps(
        self, released: Released, own: slice = slice(None)
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Steps and sizes of a tree's leaves, made of its noisy residual sums and sizes."""
        shape, settings = self.shape, self.shape.settings
        size = shape.lattice.size
        sizes = released[own, -1] / size
        steps = shrunk_steps(
            centred(released[own, :-1] / STEPS),
            sizes,
            self.noise / STEPS,
            self.size_noise / size,
            self.curvature,
            settings.target_spread if self.facts.is_regression else settings.spread,
            settings.step_clip,
        )
        step = settings.step_of(shape.n_rounds, shape.of_means)
        return step * steps, np.maximum(sizes, 0.0)
