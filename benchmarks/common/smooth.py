"""A distribution whose best possible errors are known exactly, for showing consistency.

Features are uniform on [0, 1]^4; only the first two count. With s(x) = sin 2πx₁ + sin 2πx₂,

* classes: P(y = 1 | x) = η(x) = 1/2 + s(x)/4. By s = 2 sin(π(x₁ + x₂)) cos(π(x₁ − x₂)), in which
  the two angles are independent and uniform over whole half turns, E|2η − 1| = E|s|/2 = (2/π)².
  So the Bayes risk is 1/2 − E|2η − 1|/2 = 1/2 − 2/π² = 0.297358…
* targets: y = s(x) + normal noise of variance 1/4, so the least mean squared error is 1/4.

A tree of axis-aligned cuts cannot hold the boundary x₁ + x₂ = 1, |x₁ − x₂| = 1/2: it must be
approached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_FEATURES = 4
BAYES_RISK = 0.5 - 2.0 / math.pi**2
NOISE_VARIANCE = 0.25
#: Excess of a classifier that always gives the same class: E|2η − 1|/2.
EXCESS_OF_A_CONSTANT = 2.0 / math.pi**2
#: Excess of the best constant in regression: the variance of s.
EXCESS_OF_THE_MEAN = 1.0


@dataclass(frozen=True)
class Sample:
    """Records with what is known of them.

    Attributes
    ----------
    X : ndarray of shape (n, 4)
    labels : ndarray of int, shape (n,)
    targets : ndarray of shape (n,)
    signal : ndarray of shape (n,)
        s(x).
    """

    X: NDArray[np.float64]
    labels: NDArray[np.int64]
    targets: NDArray[np.float64]
    signal: NDArray[np.float64]


def draw(n: int, seed: int) -> Sample:
    """Draw n records."""
    generator = np.random.default_rng([n, seed])
    X = generator.random((n, N_FEATURES))
    signal = np.sin(2 * np.pi * X[:, :2]).sum(axis=1)
    labels = (generator.random(n) < 0.5 + signal / 4).astype(np.int64)
    noise = generator.normal(scale=math.sqrt(NOISE_VARIANCE), size=n)
    return Sample(X, labels, signal + noise, signal)


def excess_risk(predicted: NDArray[np.int64], sample: Sample) -> float:
    """Error above the Bayes risk: the mean of |2η − 1| where the better class is not chosen.

    Labels are not used, so only the draw of the records adds noise.
    """
    wrong = predicted != (sample.signal > 0)
    return float((np.abs(sample.signal) / 2 * wrong).mean())


def excess_error(predicted: NDArray[np.float64], sample: Sample) -> float:
    """Mean squared error above the variance of the noise."""
    return float(((predicted - sample.signal) ** 2).mean())
