"""Private calibration: what the summed scores are worth as probabilities.

Summed log-odds of trees that look at the same records say the same thing many times. For two
classes a logistic curve is fitted to one noisy histogram of the score; for more, one exponential
mechanism picks the scale of the score and the power of the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.bridge.bridge import Bridge
from dpforest.records.rows import Totals
from dpforest.trees.one_shot.leaf_scores import LeafScores
from dpforest.trees.one_shot.plan import Role
from dpforest.trees.one_shot.queries import PairTotals, ScoreHistogram, Scoring

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
_STAGES = 4

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


def uncalibrated(leaves: LeafScores, slope: float, tempering: float) -> Calibration:
    """The released prior, and the slope that is expected, both times a factor."""
    return Calibration(tempering * slope, tempering * np.log(leaves.prior))


def target_spread(share_of_full: float) -> tuple[float, float]:
    """Expected errors of slope and intercept for targets, at R over a full one."""
    times = min(max(share_of_full, 1.0), _MOST_SPREADS)
    return TARGET_SPREAD[0] * times, TARGET_SPREAD[1] * times


def histogram_calibration(
    bridge: Bridge,
    leaves: LeafScores,
    scoring: Scoring,
    slope: float,
    unit: int,
    spread: tuple[float, float] = SPREAD,
) -> Calibration:
    """Fit a logistic curve to a noisy histogram of the score; two classes.

    Parameters
    ----------
    bridge : Bridge
    leaves : LeafScores
        Released; the edges come from it.
    scoring : Scoring
        Scaled log-odds of class 1.
    slope : float
        Expected.
    unit : int
        What a record adds to class counts in all.
    spread : tuple of two floats
        How far off slope and intercept may be from what is expected.
    """
    edges = expected_spread(leaves) * EDGES
    asked = bridge.ask(ScoreHistogram(scoring, edges, unit), Role.CALIBRATION)
    counts = asked.noised(Role.CALIBRATION) / unit
    centres = np.concatenate([[1.15 * edges[0]], (edges[1:] + edges[:-1]) / 2, [1.15 * edges[-1]]])
    start = float(np.log(leaves.prior[1] / leaves.prior[0]))
    noise = bridge.event(Role.CALIBRATION).variance / unit**2
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
        variances = [sides[0] @ (slopes - mean[0]) ** 2, sides[1] @ (intercepts - mean[1]) ** 2]
        # Never narrower than two steps of this grid.
        width = np.maximum(4.0 * np.sqrt(variances), 2.0 * (high - low) / _GRID_POINTS)
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


def pair_calibration(
    bridge: Bridge, leaves: LeafScores, scoring: Scoring, bound: float
) -> Calibration:
    """Pick (slope, power) of softmax(slope * score + power * log prior) by its log score.

    Parameters
    ----------
    bridge : Bridge
    leaves : LeafScores
        Released.
    scoring : Scoring
        Scaled scores of all classes.
    bound : float
        B, from the plan.
    """
    log_prior = np.log(leaves.prior)
    query = PairTotals(scoring, log_prior, _SLOPES, _POWERS, bound)
    totals = bridge.ask(query, Role.CALIBRATION)
    chosen = int(totals.chosen(Role.CALIBRATION, Totals(query))[0])
    slope, power = divmod(chosen, _POWERS.size)
    return Calibration(float(_SLOPES[slope]), _POWERS[power] * log_prior)
