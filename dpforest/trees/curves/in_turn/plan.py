"""The plan of curves in turn: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from dpforest.accounting.releases import LearnerBudget, Release, Round, Step, once
from dpforest.bridge.bridge import Bridge
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.base import LearntCurves
from dpforest.trees.curves.in_turn.queries import counts_sensitivity
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.curves.in_turn.sizes import InTurnSizes, Role
from dpforest.trees.curves.in_turn.training import learnt_in_turn
from dpforest.trees.priced_events import count_noise, noise_name
from dpforest.trees.prior import prior_round
from dpforest.trees.random.bins import public_bins
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.gradients import GradientLattice
from dpforest.trees.scored.queries import residual_sensitivity

#: Curvatures and records are not summed with residuals here: they count for the least there is.
_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class CurvesInTurn(InTurnSizes):
    """Curves that features take turns for."""

    at_once: ClassVar[bool] = False

    @classmethod
    def of(cls, facts: TableFacts, budget: LearnerBudget, settings: InTurnSettings) -> Self:
        """Sizes by the public signal of a budget.

        Parameters
        ----------
        facts : TableFacts
        budget : LearnerBudget
            Pure epsilon pays for geometric, (epsilon, delta) for discrete Gaussian noise.
        settings : InTurnSettings
        """
        pure, of_means = budget.is_pure, facts.is_regression
        signal = facts.signal(budget)
        clip = settings.clips(settings.strength(signal, facts.n_features, pure), of_means)
        norm = None if pure else settings.norm_of_many
        lattice = GradientLattice.of(
            n_score_columns(facts.n_classes), clip, _NOTHING, _NOTHING, norm=norm
        )
        max_bins = settings.n_bins(signal, facts.n_features, pure)
        n_bins = int(np.diff(public_bins(facts, max_bins).starts).max())
        n_cycles = settings.n_cycles(signal, facts.n_features, pure)
        return cls(max_bins, n_bins, n_cycles, lattice, settings)

    def rounds(
        self, facts: TableFacts, budget: LearnerBudget, total: Fraction, owner: str
    ) -> tuple[Round, ...]:
        """Ask for the prior, for counts of bins and for sums, as `PlannedCurves.rounds` says."""
        pure, settings = budget.is_pure, self.settings
        signal = facts.signal(budget)
        prior = total * settings.prior(signal, facts.is_regression, pure)
        counts = total * (settings.pure_count_share if pure else settings.count_share)
        return (
            prior_round(owner, facts.unit, prior, pure),
            once(owner, _counts(facts, counts, pure)),
            self._sums(facts, total - prior - counts, pure, owner),
        )

    def learnt(self, bridge: Bridge, facts: TableFacts) -> LearntCurves:
        """Ask for what `rounds` lists, and make curves of the answers."""
        return learnt_in_turn(self, bridge, facts)

    def words(self, facts: TableFacts, budget: LearnerBudget) -> dict[str, str]:
        """Words of a plan that has nothing but curves, for the report."""
        pure = budget.is_pure
        noise, currency = noise_name(self.lattice.residuals, pure), "epsilon" if pure else "rho"
        times = "once" if self.n_cycles == 1 else f"{self.n_cycles} times"
        return {
            "rounds": f"one curve a feature, corrected {times}",
            "structure": "no trees: a sum of curves of single features",
            "thresholds": f"merged public cells, at most {self.max_bins} bins a feature",
            "start": "log-odds of the noisy prior",
            "leaves": f"clipped residuals rounded toward zero to a lattice, {noise} noise",
            "budget shares add up in": currency,
            "composed by": f"addition in {currency}",
        }

    def phrase(self) -> str:
        """The curves in half a sentence, for the plan of a forest that begins with them."""
        return (
            f"curves of single features over at most {self.n_bins} merged public "
            f"cells or categories, corrected {self.n_cycles} times"
        )

    def _sums(self, facts: TableFacts, share: Fraction, pure: bool, owner: str) -> Round:
        """Sums over the bins of each feature in turn, all with the same noise.

        They are asked for alike, for as many bins as any feature has, so that lists stay short.
        """
        lattice = self.lattice
        moved = residual_sensitivity(lattice.n_columns, lattice.most, lattice.square)
        times = self.n_cycles * facts.n_features
        event = count_noise(moved, share / times, pure)
        text = f"noisy residual sums over the bins of each feature, {self.n_cycles} times"
        release = Release(Role.SUMS, event, self.n_bins, says=text)
        return Round(owner, (Step((release,)),), times)


def _counts(facts: TableFacts, share: Fraction, pure: bool) -> Release:
    """One noisy histogram of each feature, over its bins."""
    event = count_noise(counts_sensitivity(facts.n_features), share, pure)
    return Release(Role.COUNTS, event, says="noisy counts of records in the bins of each feature")
