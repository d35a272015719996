"""Training curves in turn: what it asks the bridge for, and what it makes of the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.bridge.bridge import Bridge
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.base import LearntCurves
from dpforest.trees.curves.in_turn.queries import BinCounts, FeatureMove, ResidualSums
from dpforest.trees.curves.in_turn.sizes import InTurnSizes, Role
from dpforest.trees.curves.in_turn.smoothing import Posterior, covariance, likely_counts, shares_of
from dpforest.trees.prior import base_scores, released_class_counts
from dpforest.trees.random.bins import Bins, public_bins
from dpforest.trees.scored.columns import centred
from dpforest.trees.scored.gradients import GRADIENT_STEPS, Gradients
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.scored.score_steps import in_score_steps

#: Floor of p (1 - p) in a class's curvature, so that rare classes take no wild steps.
_CURVATURE_FLOOR = 0.02


def learnt_in_turn(shape: InTurnSizes, bridge: Bridge, facts: TableFacts) -> LearntCurves:
    """Ask for the prior, for records by bins, and for what is left in each feature in turn."""
    curves = _corrected(shape, bridge, facts)
    return LearntCurves(curves.base, curves.by_code(), curves.sizes_by_code(), curves.history)


def _corrected(shape: InTurnSizes, bridge: Bridge, facts: TableFacts) -> Curves:
    """Curves once all cycles are done."""
    prior = released_class_counts(bridge, facts.unit)
    bins = public_bins(facts, shape.max_bins)
    counts = bridge.ask(BinCounts(bins), Role.COUNTS).noised(Role.COUNTS).astype(np.float64)
    rows = facts.approximate_rows or float(prior.sum())
    variance, least = bridge.event(Role.COUNTS).variance, shape.settings.least
    sizes = [
        likely_counts(part, rows, variance, least) for part in np.split(counts, bins.starts[1:-1])
    ]
    curves = Curves(shape, bridge, facts, bins, prior, sizes)
    for cycle in range(shape.n_cycles):
        for feature in range(facts.n_features):
            curves.correct(feature, weight=cycle + 1.0)
    return curves


class Curves:
    """Curves of all features as they were released so far, and what was measured of each.

    A measurement of H t is the noisy sum of residuals plus H times the curve that they were left
    by. Later ones weigh more: the other curves were further along.
    """

    def __init__(
        self,
        shape: InTurnSizes,
        bridge: Bridge,
        facts: TableFacts,
        bins: Bins,
        prior: NDArray[np.float64],
        sizes: list[NDArray[np.float64]],
    ) -> None:
        self.shape, self.bridge, self.facts, self.bins = shape, bridge, facts, bins
        self.sizes, self.base = sizes, base_scores(prior)
        self.history = ScoreHistory(self.base)
        self.variance = bridge.event(Role.SUMS).zero_sum_variance / GRADIENT_STEPS**2
        curvature = _curvature(prior, shape, facts.is_regression)
        scale = shape.settings.scale_of_means if facts.is_regression else shape.settings.scale
        self.scales = scale * np.array(shape.settings.factors)
        self.evidence = np.zeros((len(sizes), self.scales.size))
        self.posteriors = [self._posteriors(f, size, curvature) for f, size in enumerate(sizes)]
        self.values = [np.zeros((size.size, curvature.size)) for size in sizes]
        self.measured = [np.zeros_like(values) for values in self.values]
        self.weights = np.zeros((len(sizes), 2))

    def _posteriors(
        self, feature: int, size: NDArray[np.float64], curvature: NDArray[np.float64]
    ) -> list[Posterior]:
        """Posterior means of one feature's curves, by class where there are several."""
        settings, facts = self.shape.settings, self.facts
        if not facts.ordered[feature]:
            return [Posterior.of_alone(size * one) for one in curvature]
        n_values = size.size - int(facts.has_missing_code[feature])
        before = covariance(size.size, n_values, settings)
        return [Posterior.of(before, size * one) for one in curvature]

    def correct(self, feature: int, weight: float) -> None:
        """Ask for the residuals of one feature's bins, and move its curve by what they say."""
        query = ResidualSums(
            Gradients(self.history, self.shape.lattice), self.bins, self.facts.offsets, feature
        )
        sums = centred(self.bridge.ask(query, Role.SUMS).noised(Role.SUMS) / GRADIENT_STEPS)
        posteriors, old = self.posteriors[feature], self.values[feature]
        seen = np.column_stack([one.curvature for one in posteriors]) * old
        self.measured[feature] += weight * (sums + seen)
        self.weights[feature] += weight, weight**2
        total, squares = self.weights[feature]
        variance = self.variance * squares / total**2
        measured = self.measured[feature] / total
        self.evidence[feature] = sum(
            one.evidence(measured[:, k], variance, self.scales) for k, one in enumerate(posteriors)
        )
        shares = self.scales, shares_of(self.evidence, feature)
        wanted = np.column_stack(
            [one.mean(measured[:, k], variance, *shares) for k, one in enumerate(posteriors)]
        )
        most = self.shape.settings.most
        self.values[feature] = in_score_steps(np.clip(centred(wanted), -most, most))
        step = _by_code(self.bins, self.facts, feature, self.values[feature] - old)
        self.history = self.history.then(FeatureMove(feature, step))

    def by_code(self) -> NDArray[np.float64]:
        """Curves at all codes, one feature after the other, shape (total codes, C)."""
        facts, values = self.facts, self.values
        return np.concatenate([_by_code(self.bins, facts, f, v) for f, v in enumerate(values)])

    def sizes_by_code(self) -> NDArray[np.float64]:
        """Records at all codes, an equal share of each bin's, shape (total codes,)."""
        bins, facts = self.bins, self.facts
        return np.concatenate([_by_code(bins, facts, f, s, True) for f, s in enumerate(self.sizes)])


def _curvature(
    prior: NDArray[np.float64], shape: InTurnSizes, of_means: bool
) -> NDArray[np.float64]:
    """Curvature of one record's loss in each column of scores, as the prior has it.

    p (1 - p), by as much less as the clip takes from residuals at the start. Targets have smaller
    residuals, which are mostly left whole.
    """
    share = prior / prior.sum()
    curvature = np.maximum(share * (1.0 - share), _CURVATURE_FLOOR)
    if of_means:
        return curvature[1:]
    clip = shape.lattice.most / GRADIENT_STEPS
    kept = float((share * np.minimum(1.0, clip / np.maximum(1.0 - share, clip))).sum())
    return kept * (curvature[1:] if share.size == 2 else curvature)


def _by_code(
    bins: Bins,
    facts: TableFacts,
    feature: int,
    of_bins: NDArray[np.float64],
    shared: bool = False,
) -> NDArray[np.float64]:
    """Each code's part of what its feature's bins have: all of it, or an equal share."""
    of_code = bins.of_code[facts.offsets[feature] : facts.offsets[feature + 1]]
    found: NDArray[np.float64] = of_bins[of_code]
    return found / np.bincount(of_code)[of_code] if shared else found
