"""Ridge regression from noisy second moments, as a peer for benchmarks.

AdaSSP (Wang, "Revisiting differentially private linear regression: optimal and adaptive prediction
and estimation in unbounded domain", UAI 2018): the smallest eigenvalue of the second moments, the
moments themselves and the products with the target are released with Gaussian noise, and the ridge
is as large as the noise on the moments may be. As in our forests the mean of the target is bought
first, and the releases are composed as one of Gaussian differential privacy. Noise is in doubles:
good for comparing accuracy, not for releasing anything.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

#: Of the probability that the ridge is too small for the noise.
_FAILURE = 0.05


def shift_of(epsilon: float, delta: float) -> float:
    """mu of Gaussian differential privacy that converts to (epsilon, delta)."""

    def over(mu: float) -> float:
        far = norm.cdf(-epsilon / mu - mu / 2)
        return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * far - delta)

    return float(brentq(over, 1e-4, 50.0))


def design(
    ordinal: np.ndarray, kinds: list[str], lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Records as numbers from -1 to 1, categories one-hot, and a 1; at most 1 a feature.

    Parameters
    ----------
    ordinal : ndarray of float64, shape (n, D)
        Values, or places of categories.
    kinds : list of str
        ``"numeric"``, or anything else for categories.
    lower, upper : ndarray of float64, shape (D,)
        Public.
    """
    columns = [np.ones(ordinal.shape[0])]
    for values, kind, low, high in zip(ordinal.T, kinds, lower, upper, strict=True):
        if kind == "numeric":
            columns.append(2 * (values - low) / max(high - low, 1e-12) - 1)
        else:
            places = np.arange(math.floor(low), math.floor(high) + 1)
            columns += list((values[None, :] == places[:, None]).astype(float))
    return np.column_stack(columns)


def private_ridge(
    X: np.ndarray,
    y: np.ndarray,
    rows: float,
    largest: float,
    epsilon: float,
    delta: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Coefficients, shape (d,); the first column of X is 1.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        Rows of a squared norm of at most ``largest``.
    y : ndarray of float64, shape (n,)
        From -1 to 1.
    rows : float
        Declared number of records.
    largest : float
    epsilon, delta : float
    generator : numpy Generator
    """
    # Four releases of equal shares: one record moves the sum of targets by 1, the eigenvalue and
    # the moments by `largest`, and the products by its root times the largest rest of a target.
    scale, d = math.sqrt(4) / shift_of(epsilon, delta), X.shape[1]
    mean = float(np.clip((y.sum() + scale * generator.normal()) / rows, -1, 1))
    largest_rest = math.sqrt(largest) * (1 + abs(mean))
    moments = X.T @ X
    least = float(np.linalg.eigvalsh(moments)[0]) + scale * largest * generator.normal()
    noise = np.triu(generator.normal(0, scale * largest, (d, d)))
    noisy = moments + noise + np.triu(noise, 1).T
    products = X.T @ (y - mean) + generator.normal(0, scale * largest_rest, d)
    sure = max(least - 1.6 * scale * largest, 0.0)
    ridge = max(0.0, math.sqrt(d * math.log(2 * d**2 / _FAILURE)) * scale * largest - sure)
    coefficients = np.linalg.solve(noisy + ridge * np.eye(d), products)
    coefficients[0] += mean
    return coefficients
