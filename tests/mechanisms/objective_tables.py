"""Tables and events of noisy objectives, for tests, with slow twins and exact gradients."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy import special

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.k_norm import k_norm_noise
from dpforest.mechanisms.noisy_objective import NoisyObjective
from dpforest.mechanisms.objective import Calibration, ClippedLosses

DIGITS = 80
QUARTER = Fraction(1, 4)
CLIPS = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1)]
WIDTHS = [(1,), (1, 1), (2, 1), (3, 1, 2, 1), (6,) * 4 + (1,)]


def event_of(epsilon, widths, clip=Fraction(1, 2), determinant=None):
    epsilon = Fraction(epsilon)
    part = min(epsilon / 5, Fraction(3)) if determinant is None else Fraction(determinant)
    return ObjectivePerturbation(epsilon, part, Fraction(clip), QUARTER, Fraction(len(widths)))


def calibrated(epsilon, widths, clip=Fraction(1, 2), determinant=None):
    return Calibration.of(event_of(epsilon, widths, clip, determinant), widths)


def table(widths, n, clip=Fraction(1, 2), seed=0, n_codes=6, start=0.25):
    """Records of which each code has one or two columns of its feature, or one of them twice."""
    random, n_features = np.random.default_rng(seed), len(widths) - 1
    ends = np.cumsum((0, *widths))
    columns = [random.integers(a, b, (n_codes, 2)) for a, b in itertools.pairwise(ends[:-1])]
    shares = random.integers(0, 2**20 + 1, (n_features * n_codes, 1)) / 2**20
    values = np.hstack([shares, 1.0 - shares]) * random.choice([-1.0, 1.0], (shares.size, 2))
    values[::3] = [1.0, 0.0]  # a category
    values[1::3, 1] *= random.random()  # no round number
    codes = random.integers(0, n_codes, (n, n_features)).astype(np.uint8)
    targets = random.choice([0.0, 1.0, 0.5, random.random()], n)
    return ClippedLosses(
        codes, targets, np.arange(n_features) * n_codes,
        np.concatenate([np.empty((0, 2), dtype=np.int64), *columns]).astype(np.int64),
        values, start, float(clip),
    )  # fmt: skip


def of_constant(targets, clip=Fraction(1, 2), start=0.0):
    """Records of no feature: their score is the constant's weight."""
    targets = np.asarray(targets, dtype=np.float64)
    none = np.zeros((0, 2))
    return ClippedLosses(
        np.zeros((targets.size, 0), dtype=np.uint8), targets, np.zeros(0, dtype=np.int64),
        none.astype(np.int64), none, start, float(clip),
    )  # fmt: skip


def design(losses, n_columns):
    """Columns of all records, the constant's last, shape (n, d)."""
    rows = np.zeros((losses.targets.size, n_columns))
    for i, codes in enumerate(losses.codes):
        for offset, code in zip(losses.offsets, codes, strict=True):
            for column, value in zip(
                losses.columns[offset + code], losses.values[offset + code], strict=True
            ):
                rows[i, column] += value
    rows[:, -1] = 1.0
    return rows


def slopes_of(scores, targets, clip):
    """Slopes of losses and how fast they grow, as the docstring of `ClippedLosses` has them."""
    p = special.expit(scores)
    u = np.clip((p - targets) / clip, -1.5, 1.5)
    return clip * (u - 4.0 / 27.0 * u**3), (1.0 - 4.0 / 9.0 * u**2) * p * (1.0 - p)


def ridge_of(calibration):
    return np.array([calibration.ridge[0]] * (calibration.n_columns - 1) + [calibration.ridge[1]])


def slow_minimum(losses, calibration, noise):
    """Newton's method with halved steps, on the whole design; noise is a vector of doubles."""
    rows, ridge = design(losses, calibration.n_columns), ridge_of(calibration)

    def gradient(weights):
        slopes, curvatures = slopes_of(rows @ weights + losses.start, losses.targets, losses.clip)
        return rows.T @ slopes + ridge * weights + noise, curvatures

    weights = np.zeros(calibration.n_columns)
    found, curvatures = gradient(weights)
    for _ in range(300):
        step = np.linalg.solve((rows.T * curvatures) @ rows + np.diag(ridge), -found)
        for times in 0.5 ** np.arange(50):
            next_, next_curvatures = gradient(weights + times * step)
            if np.linalg.norm(next_) < np.linalg.norm(found):
                break
        else:
            return weights
        weights, found, curvatures = weights + times * step, next_, next_curvatures
    raise AssertionError("the slow twin found no minimum")


def exact(number):
    return Decimal(number.numerator) / Decimal(number.denominator)


def exact_slope(score, target, clip):
    """Slope of one record's loss, by decimals; all are read as they stand."""
    p = 1 / (1 + (-score).exp()) if abs(score) < 10**5 else Decimal(int(score > 0))
    u = max(min((p - Decimal(target)) / Decimal(clip), Decimal("1.5")), Decimal("-1.5"))
    return Decimal(clip) * (u - 4 * u**3 / 27)


def exact_gradient(losses, calibration, draw, weights):
    """Gradient of the noisy objective by decimals; to be called with many digits."""
    ridge = map(Decimal, ridge_of(calibration).tolist())
    exact_weights = [Fraction(weight) for weight in weights]
    total = [
        r * exact(weight) + z * Decimal(calibration.noise_step)
        for r, weight, z in zip(ridge, exact_weights, draw, strict=True)
    ]
    for codes, target in zip(losses.codes.tolist(), losses.targets.tolist(), strict=True):
        flat = [int(offset) + code for offset, code in zip(losses.offsets, codes, strict=True)]
        parts = [
            (column, Fraction(value))
            for place in flat
            for column, value in zip(
                losses.columns[place].tolist(), losses.values[place].tolist(), strict=True
            )
        ]
        parts.append((calibration.n_columns - 1, Fraction(1)))
        score = Fraction(losses.start) + sum(exact_weights[c] * value for c, value in parts)
        slope = exact_slope(exact(score), target, losses.clip)
        for column, value in parts:
            total[column] += slope * exact(value)
    return total


def length(vector):
    return sum(x * x for x in vector).sqrt()


def noise_draws(calibration, n, seed=1):
    source = SeededSource(seed)
    exponent = calibration.noise_exponent
    return [k_norm_noise(calibration.widths, exponent, source) for _ in range(n)]


def objective_of(losses, calibration, draw):
    return NoisyObjective(losses, calibration.ridges, calibration.noise_step, draw)
