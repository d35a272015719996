"""Training rules and a forest on the same records, and the private choice of their weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.grants import Grant
from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import add_geometric_noise
from dpforest.mechanisms.selection import select_exponential
from dpforest.records.base import Block, ClassCounts, Records
from dpforest.trees.base import LearnerBudget, PartDone, TableFacts
from dpforest.trees.combined.kernels.blends import add_blend_scores
from dpforest.trees.combined.model import CombinedModel
from dpforest.trees.combined.plan import (
    CombinedPlan,
    CombinedSettings,
    Role,
    build_plan,
    by_classes,
)
from dpforest.trees.training import train_on

#: Steps of the lattice on which log scores are summed; one record moves a sum by 0 to STEPS.
STEPS = 2**20
SCORE_UNIT = Fraction(1, STEPS)


@dataclass(frozen=True, slots=True)
class CombinedLearner:
    """Rules see what goes together, tables of many trees see what adds up: here are both.

    Parameters
    ----------
    settings : CombinedSettings
        The defaults are meant for all tables.
    """

    settings: CombinedSettings = field(default_factory=CombinedSettings)
    name: ClassVar[str] = "combined"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> CombinedPlan:
        """Make a plan that costs exactly epsilon, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(
        self,
        plan: CombinedPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> CombinedModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release.

        Notes
        -----
        **Claim**: what is returned costs ``plan.loss`` under add/remove of one record.
        **Proof**: class counts, rules, forest and weights are released one after the other, each
        under its own grants; the sensitivities are those of `add_geometric_noise`, of the two
        learners, and of `release_weights`. **Tests**: tests/trees/combined.
        """
        settings, classes = plan.settings, by_classes(facts)
        grant = scope.request(plan.prior, role=Role.PRIOR)
        noisy = add_geometric_noise(records.total(ClassCounts()), grant, source.spawn("prior"))
        prior = released_prior(noisy, float(plan.prior.epsilon))
        part_done()
        model = CombinedModel(
            train_on(
                settings.rules,
                plan.rules,
                scope,
                source.spawn("rules"),
                records,
                classes,
                part_done,
            ),
            train_on(
                settings.forest,
                plan.forest,
                scope,
                source.spawn("forest"),
                records,
                classes,
                part_done,
            ),
            np.log(prior),
            (0.0, 0.0),
        )
        grant = scope.request(plan.weights, role=Role.WEIGHTS)
        chosen = release_weights(model, plan, records, grant, source.spawn("weights"))
        part_done()
        return model.weighed(chosen)


def released_prior(noisy: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """Class shares from a noisy histogram, even where the noise drowns it, shape (K,)."""
    counts = np.maximum(noisy, 0) + 1.0 + 2**0.5 / epsilon
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class BlendTotals:
    """Log scores of pairs of weights in steps of a lattice, shape (J,)."""

    model: CombinedModel
    pairs: NDArray[np.float64]
    bound: float

    def count(self, block: Block) -> NDArray[np.int64]:
        """Totals of a block."""
        totals = np.zeros(len(self.pairs), dtype=np.int64)
        first, second = self.model.both(block.table.codes)
        add_blend_scores(
            first, second, block.table.labels, self.model.log_prior,
            self.pairs, self.bound, STEPS, totals,
        )  # fmt: skip
        return totals


def release_weights(
    model: CombinedModel, plan: CombinedPlan, records: Records, grant: Grant, source: RandomSource
) -> tuple[float, float]:
    """Pick the weights of rules and forest by the log score of the records under them.

    Notes
    -----
    **Claim**: the event's. **Relation**: add or remove one record. **Sensitivity**: the score of
    a pair is the sum over records of max(log p_y, -B) / B + 1, each part rounded down to a
    multiple of 1 / STEPS and kept in [0, 1] by force. A part follows from released values and its
    own record only (the leaf of the rules is told by whole numbers, the forest's sum goes from
    tree to tree, whatever stands beside the record), so one record more moves every pair's score
    by something in [0, 1]: range 1. **Tests**: tests/trees/combined/test_combined.py.
    """
    pairs = np.array(plan.settings.pairs)
    totals = records.total(BlendTotals(model, pairs, plan.log_bound)).astype(np.float64)
    starts, ends = np.array([0]), np.array([len(pairs)])
    chosen = int(select_exponential(totals, starts, ends, SCORE_UNIT, grant, source)[0])
    return plan.settings.pairs[chosen]
