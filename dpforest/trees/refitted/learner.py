"""Training a refitted forest: every request before its data, every value from a mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.grants import Grant
from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import add_discrete_gaussian_noise
from dpforest.mechanisms.selection import select_exponential
from dpforest.records.base import ClassCounts, Records
from dpforest.trees.base import LearnerBudget, PartDone, TableFacts
from dpforest.trees.random.bins import Bins, public_bins, release_quantiles
from dpforest.trees.random.trees import RandomTrees, draw_random_trees
from dpforest.trees.refitted.lattice import (
    SCORE_UNIT,
    SIZE_STEPS,
    STEPS,
    n_score_columns,
)
from dpforest.trees.refitted.linear_start import fit_linear_start
from dpforest.trees.refitted.model import RefittedModel
from dpforest.trees.refitted.plan import RefittedPlan, Role, build_plan
from dpforest.trees.refitted.queries import LeafSums, ScoreHistory, TreeMove
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.refitted.steps import centred, curvature_per_record, shrunk_steps


@dataclass(frozen=True, slots=True)
class RefittedForest:
    """Rounds of random trees, each fitted to the residuals of those before it.

    Parameters
    ----------
    settings : RefittedSettings
        The defaults are meant for all tables.
    """

    settings: RefittedSettings = field(default_factory=RefittedSettings)
    name: ClassVar[str] = "refitted"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> RefittedPlan:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(
        self,
        plan: RefittedPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> RefittedModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release.

        Notes
        -----
        **Claim**: what is returned costs ``plan.loss`` under add/remove of one record.
        **Proof**: every value comes from a mechanism under a grant; scores of records are
        functions of released values and the record's own codes, so the residuals of one record
        change no other's. Sensitivities: ``lattice``, ``design``, ``quantiles``. **Tests**:
        tests/trees/refitted.
        """
        grant = scope.request(plan.prior, role=Role.PRIOR)
        prior = _release_prior(records, facts.unit, grant, source)
        bins = public_bins(facts, plan.settings.max_bins)
        if plan.quantiles is not None:
            grant = scope.request(plan.quantiles, role=Role.QUANTILES)
            words = source.spawn("quantiles")
            bins = release_quantiles(records, facts, grant, words, plan.settings.max_bins)
        base = _base_scores(prior)
        history = ScoreHistory(base)
        code_values = None
        if plan.start is not None:
            code_values, history = fit_linear_start(
                plan.start, scope, source, records, facts, bins, prior, history
            )
            part_done()
        rounds = _Rounds(plan, source, records, facts, bins, history)
        fitted = []
        for _ in range(plan.n_rounds):
            fitted.append(rounds.run(scope))
            part_done()
        trees, steps, sizes = zip(*fitted, strict=True)
        # Rounds see the scores as they were released; what is predicted with is longer.
        longer = plan.settings.stretched(plan.n_rounds, plan.n_classes, facts.unit > 1)
        return RefittedModel(
            plan.n_classes,
            facts.offsets,
            base,
            code_values,
            RandomTrees.joined(list(trees)),
            longer * np.stack(steps),
            np.stack(sizes),
        )


class _Rounds:
    """The rounds of one training: what was released so far, and the streams of words."""

    def __init__(
        self,
        plan: RefittedPlan,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        bins: Bins,
        history: ScoreHistory,
    ) -> None:
        self.plan, self.records, self.facts, self.bins = plan, records, facts, bins
        n_features = np.array(plan.settings.features_per_tree, dtype=np.int64)
        self.n_features = np.resize(n_features, plan.n_candidates)
        self.structure = source.spawn("structure")
        self.selection = source.spawn("selection")
        self.noise = source.spawn("sums")
        self.history = history

    def run(self, scope: Scope) -> tuple[RandomTrees, NDArray[np.float64], NDArray[np.float64]]:
        """One round: sums of all candidates, a pick, the picked one's sums released."""
        plan = self.plan
        trees = draw_random_trees(
            plan.n_candidates, plan.depth, self.bins, self.facts, self.structure, self.n_features
        )
        selection = None
        if plan.selection is not None:
            selection = scope.request(plan.selection, role=Role.SELECTION)
        grant = scope.request(plan.sums, role=Role.SUMS, cells=trees.n_leaves)
        raw_sums = self.records.total(LeafSums(self.history, trees))
        picked = 0 if selection is None else self._select(raw_sums, selection)
        tree = trees.take([picked])
        steps, sizes = self._release_steps(raw_sums[picked], grant)
        self.history = self.history.then(TreeMove(tree, steps))
        return tree, steps, sizes

    def _select(self, raw_sums: NDArray[np.int64], grant: Grant) -> int:
        """Pick the tree whose leaves the residuals lean in most."""
        raw_scores = candidate_scores(raw_sums[:, :, :-1])
        starts, ends = np.array([0]), np.array([raw_scores.size])
        return int(
            select_exponential(raw_scores, starts, ends, SCORE_UNIT, grant, self.selection)[0]
        )

    def _release_steps(
        self, raw_sums: NDArray[np.int64], grant: Grant
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Noisy residual sums and sizes of every leaf, and the steps made of them."""
        plan = self.plan
        raw_sums = np.column_stack([raw_sums[:, :-1], SIZE_STEPS * raw_sums[:, -1]])
        released = add_discrete_gaussian_noise(raw_sums, grant, self.noise)
        sizes = released[:, -1] / SIZE_STEPS
        noise = float(plan.sums.sigma_squared) ** 0.5
        steps = shrunk_steps(
            centred(released[:, :-1] / STEPS),
            sizes,
            noise / STEPS,
            noise / SIZE_STEPS,
            curvature_per_record(plan.n_classes),
            plan.settings.spread if self.facts.unit == 1 else plan.settings.target_spread,
            plan.settings.clip,
        )
        return plan.settings.step * steps, np.maximum(sizes, 0.0)


def candidate_scores(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """Score of every candidate in lattice steps: the sum over leaves of |G|, or half its L1.

    Parameters
    ----------
    sums : ndarray of int64, shape (m, n_leaves, C)

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 2 STEPS; see ``lattice.SCORE_RANGE``.
    Half the L1 is a whole number, since over classes the sums add up to nothing.
    """
    if sums.shape[2] == 1:
        return np.abs(sums).sum(axis=(1, 2)).astype(np.float64)
    return np.maximum(sums, 0).sum(axis=(1, 2)).astype(np.float64)


def _release_prior(
    records: Records, unit: int, grant: Grant, source: RandomSource
) -> NDArray[np.float64]:
    """Class counts with noise, none below the noise, shape (K,); a record counts for ``unit``."""
    raw_counts = records.total(ClassCounts())
    counts = add_discrete_gaussian_noise(raw_counts, grant, source.spawn("class prior"))
    variance = float(grant.event.sigma_squared) / unit**2  # type: ignore[attr-defined]
    return np.maximum(counts / unit, max(1.0, (variance * counts.size) ** 0.5))


def _base_scores(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of the released prior."""
    logs = np.log(prior / prior.sum())
    return logs[1:] - logs[:1] if n_score_columns(prior.size) == 1 else logs
