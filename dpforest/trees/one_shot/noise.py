"""Noise on counts in the currency that was paid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import DiscreteGaussianNoise, Event, GeometricNoise
from dpforest.accounting.grants import Grant
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise


def add_count_noise(
    raw_counts: NDArray[np.int64], grant: Grant, source: RandomSource
) -> NDArray[np.int64]:
    """Add the noise that the grant was given for."""
    if isinstance(grant.event, GeometricNoise):
        return add_geometric_noise(raw_counts, grant, source)
    return add_discrete_gaussian_noise(raw_counts, grant, source)


def noise_variance(event: Event, unit: int = 1) -> float:
    """Variance of the noise on one count, where a record counts for ``unit`` parts.

    P(k) proportional to r^|k| has variance 2 r / (1 - r)^2, and 1 - r = -expm1(-a).
    """
    if isinstance(event, DiscreteGaussianNoise):
        return float(event.sigma_squared) / unit**2
    if not isinstance(event, GeometricNoise):
        raise AssertionError("noise on counts is geometric or Gaussian")
    a = float(event.epsilon / event.l1_sensitivity)
    return 2.0 * math.exp(-a) / math.expm1(-a) ** 2 / unit**2
