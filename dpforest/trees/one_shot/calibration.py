"""Private calibration: what the summed scores are worth as probabilities.

Summed log-odds of trees that look at the same records say the same thing many times. For two
classes a logistic curve is fitted to one noisy histogram of the score; for more, one exponential
mechanism picks the scale of the score and the power of the prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.grants import Grant
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.selection import select_exponential
from dpforest.records.base import Block, Records, rows_of
from dpforest.records.table import TrainingTable
from dpforest.trees.one_shot.kernels.score_tables import (
    add_pair_scores,
    add_score_histogram,
    add_target_histogram,
)
from dpforest.trees.one_shot.leaf_scores import LeafScores
from dpforest.trees.one_shot.noise import add_count_noise, noise_variance
from dpforest.trees.random.trees import RandomTrees

Floats = NDArray[np.float64]

#: How far off the expected slope and intercept may be.
SPREAD = 2.0, 1.0
#: The same for targets where R is small: their noise is larger beside what there is to learn, and
#: their mean is bought for itself. It grows with R, up to so many times.
TARGET_SPREAD = 0.4, 0.25
_MOST_SPREADS = 5.0
#: Shares of ones between which a bin's sampling variance is taken.
SHARE_BOUNDS = (0.05, 0.95)
#: Slopes are tried from 0 to this many spreads above what is expected.
_REACH = 4.0
#: Interior edges of the histogram, in units of the score's expected spread.
_POSITIVE_EDGES = np.array([0.3, 0.6, 1.0, 1.5, 2.2, 3.2, 4.5])
EDGES = np.concatenate([-_POSITIVE_EDGES[::-1], [0.0], _POSITIVE_EDGES])
_GRID_POINTS = 41
#: Records whose scores are held at a time.
_ROWS_AT_ONCE = 2**18
_STAGES = 4

#: Steps of the lattice on which log scores are summed; one record moves a sum by 0 to STEPS.
STEPS = 2**20
SCORE_UNIT = Fraction(1, STEPS)
_SLOPES = np.concatenate([[0.0], 0.15 * 1.55 ** np.arange(11.0)])
_POWERS = np.array([0.25, 0.5, 0.75, 1.0, 1.5])


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores of classes become ``slope * score + base``.

    Attributes
    ----------
    slope : float
        Of the summed scores times ``LeafScores.scale``.
    base : ndarray of float64, shape (K,)
    """

    slope: float
    base: Floats


class Scoring(Protocol):
    """What released values make of a record: scores that calibration will bend."""

    def scores(self, codes: NDArray[Any]) -> Floats:
        """Scores of coded records, shape (n, C): C = 1 for two classes."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafScoring:
    """Sums of released values of leaves.

    Attributes
    ----------
    trees : RandomTrees
    values : ndarray of float64, shape (n_trees, n_leaves, C)
    """

    trees: RandomTrees
    values: Floats

    def scores(self, codes: NDArray[Any]) -> Floats:
        """Scores of coded records, shape (n, C)."""
        scores = np.zeros((codes.shape[0], self.values.shape[2]))
        self.trees.add_values(codes, self.values, scores)
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistogram:
    """Class counts by bins of the score, shape (B, 2)."""

    scoring: Scoring
    edges: Floats

    def count(self, block: Block) -> NDArray[np.int64]:
        """Class counts of a block."""
        counts = np.zeros((self.edges.size + 1, 2), dtype=np.int64)
        for table in parts_of(block.table):
            scores = np.ascontiguousarray(self.scoring.scores(table.codes)[:, 0])
            if table.targets is None:
                add_score_histogram(scores, table.labels, self.edges, counts)
            else:
                add_target_histogram(scores, table.targets, table.unit, self.edges, counts)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class PairTotals:
    """Log scores of softmax pairs in steps of a lattice, shape (S P,), slopes slowest."""

    scoring: Scoring
    log_prior: Floats
    slopes: Floats
    powers: Floats
    bound: float

    def count(self, block: Block) -> NDArray[np.int64]:
        """Totals of a block."""
        totals = np.zeros(self.slopes.size * self.powers.size, dtype=np.int64)
        for table in parts_of(block.table):
            add_pair_scores(
                self.scoring.scores(table.codes), table.labels, self.log_prior,
                self.slopes, self.powers, self.bound, STEPS, totals,
            )  # fmt: skip
        return totals


def parts_of(table: TrainingTable) -> Iterator[TrainingTable]:
    """The records in parts whose scores take little memory; each one's score is its own."""
    for first in range(0, table.n_records, _ROWS_AT_ONCE):
        yield rows_of(table, first, min(first + _ROWS_AT_ONCE, table.n_records))


def uncalibrated(leaves: LeafScores, slope: float) -> Calibration:
    """The released prior, and the slope that is expected."""
    return Calibration(slope, np.log(leaves.prior))


def target_spread(share_of_full: float) -> tuple[float, float]:
    """How far off the expected slope and intercept may be for targets, at R over a full one."""
    times = min(max(share_of_full, 1.0), _MOST_SPREADS)
    return TARGET_SPREAD[0] * times, TARGET_SPREAD[1] * times


def release_histogram_calibration(
    leaves: LeafScores,
    records: Records,
    scoring: Scoring,
    slope: float,
    unit: int,
    grant: Grant,
    source: RandomSource,
    spread: tuple[float, float] = SPREAD,
) -> Calibration:
    """Fit a logistic curve to a noisy histogram of the score; two classes.

    Parameters
    ----------
    leaves : LeafScores
        Released; the edges come from it.
    records : Records
        Secret.
    scoring : Scoring
        Scaled log-odds of class 1: a function of released values and a record's own codes.
    slope : float
        Expected.
    unit : int
        What a record adds to class counts in all, u.
    grant : Grant
        For count noise with sensitivity u.
    source : RandomSource
    spread : tuple of two floats
        How far off slope and intercept may be from what is expected.

    Notes
    -----
    **Claim**: the event's. **Relation**: add or remove one record. **Sensitivity**: a record
    adds 1 to one count, or parts a + b = u to the two of a bin, which depends on no other
    record. **Tests**:
    tests/trees/one_shot/test_calibration.py.
    """
    edges = expected_spread(leaves) * EDGES
    raw_counts = records.total(ScoreHistogram(scoring, edges))
    counts = add_count_noise(raw_counts, grant, source) / unit
    centres = np.concatenate([[1.15 * edges[0]], (edges[1:] + edges[:-1]) / 2, [1.15 * edges[-1]]])
    start = float(np.log(leaves.prior[1] / leaves.prior[0]))
    noise = noise_variance(grant.event, unit)
    expected = np.array([slope, start])
    slope, intercept = fit_logistic(centres, counts, noise, expected, np.array(spread))
    return Calibration(slope, np.array([0.0, intercept]))


def expected_spread(leaves: LeafScores) -> float:
    """Standard deviation of the scaled log-odds: between trees that agree and that do not."""
    difference = leaves.scores[:, :, 1] - leaves.scores[:, :, 0]
    spreads = np.sqrt((leaves.masses * difference**2).sum(axis=1))
    agreeing, independent = spreads.sum(), float(np.sqrt((spreads**2).sum()))
    return max(leaves.scale * math.sqrt(agreeing * independent), 1e-6)


def fit_logistic(
    centres: Floats, counts: Floats, noise: float, expected: Floats, spread: Floats
) -> tuple[float, float]:
    """Slope and intercept of log-odds over a score, from noisy counts.

    Posterior means under a normal prior on both, slopes not negative, on a grid that closes in.
    In a bin, ones less p times all is normal around nothing, with the variance of sampling (at
    the last stage's p) and of the noise: where that drowns the counts the prior is left.

    Parameters
    ----------
    centres : ndarray of float64, shape (B,)
    counts : ndarray of float64, shape (B, 2)
    noise : float
        Variance of the noise on one count.
    expected : ndarray of float64, shape (2,)
        Slope and intercept, before the counts are looked at.
    spread : ndarray of float64, shape (2,)
        How far off each may be.
    """
    low, high = expected - _REACH * spread, expected + _REACH * spread
    low[0] = 0.0
    mean = expected
    for _ in range(_STAGES):
        slopes, intercepts = np.linspace(low, high, _GRID_POINTS).T
        prior = ((slopes - expected[0]) / spread[0]) ** 2 / 2
        prior = prior[:, None] + ((intercepts - expected[1]) / spread[1]) ** 2 / 2
        fit = _log_likelihood(slopes, intercepts, centres, counts, noise, mean) - prior
        weights = np.exp(fit - fit.max())
        weights /= weights.sum()
        sides = weights.sum(axis=1), weights.sum(axis=0)
        mean = np.array([sides[0] @ slopes, sides[1] @ intercepts])
        apart = [sides[0] @ (slopes - mean[0]) ** 2, sides[1] @ (intercepts - mean[1]) ** 2]
        # Never narrower than two steps of this grid.
        width = np.maximum(4.0 * np.sqrt(apart), 2.0 * (high - low) / _GRID_POINTS)
        low, high = np.maximum(low, mean - width), np.minimum(high, mean + width)
    return float(mean[0]), float(mean[1])


def _log_likelihood(
    slopes: Floats, intercepts: Floats, centres: Floats, counts: Floats, noise: float, mean: Floats
) -> Floats:
    """Of every slope and intercept, shape (slopes, intercepts)."""
    totals = np.maximum(counts.sum(axis=1), 0.0)
    share = np.clip(expit(mean[0] * centres + mean[1]), *SHARE_BOUNDS)
    variance = share * (1.0 - share) * totals + noise * (share**2 + (1.0 - share) ** 2) + 1e-9
    p = expit(slopes[:, None, None] * centres + intercepts[:, None])
    # counts[1] (1 - p) - counts[0] p, in place: the grid is large beside all that is counted.
    p *= -counts.sum(axis=1)
    p += counts[:, 1]
    np.square(p, out=p)
    likelihood: Floats = p @ (-0.5 / variance)
    return likelihood


def expit(log_odds: Floats) -> Floats:
    """Probability of log-odds."""
    odds = np.clip(log_odds, -30.0, 30.0)
    np.exp(np.negative(odds, out=odds), out=odds)
    odds += 1.0
    return np.reciprocal(odds, out=odds)


def release_pair_calibration(
    leaves: LeafScores,
    records: Records,
    scoring: Scoring,
    bound: float,
    grant: Grant,
    source: RandomSource,
) -> Calibration:
    """Pick (slope, power) of softmax(slope * score + power * log prior) by its log score.

    Parameters
    ----------
    leaves : LeafScores
        Released.
    records : Records
        Secret.
    scoring : Scoring
        Scaled scores of all classes: a function of released values and a record's own codes.
    bound : float
        B, from the plan.
    grant : Grant
        For an ``ExponentialSelection`` of score range 1.
    source : RandomSource

    Notes
    -----
    **Claim**: the event's. **Relation**: add or remove one record. **Sensitivity**: the score of
    a pair is sum over records of max(log p_y, -B) / B + 1, each part rounded down to a multiple
    of 1 / STEPS. A part lies in [0, 1] after rounding and depends on its own record only, so a
    record more moves every pair's score by something in [0, 1]: range 1.
    **Tests**: tests/trees/one_shot/test_calibration.py.
    """
    log_prior = np.log(leaves.prior)
    raw_totals = records.total(PairTotals(scoring, log_prior, _SLOPES, _POWERS, bound))
    starts, ends = np.array([0]), np.array([raw_totals.size])
    totals = raw_totals.astype(np.float64)
    chosen = int(select_exponential(totals, starts, ends, SCORE_UNIT, grant, source)[0])
    slope, power = divmod(chosen, _POWERS.size)
    return Calibration(float(_SLOPES[slope]), _POWERS[power] * log_prior)
