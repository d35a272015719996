"""The first release of a forest of residuals: class shares, or the mean of a target."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.releases import Release, Round, once, priced_noise
from dpforest.bridge import Bridge
from dpforest.records.base import ClassCounts, Sensitivity
from dpforest.trees.base import PRIOR_ROLE, prior_text

#: Noise on counts, in either currency.
CountNoise = GeometricNoise | DiscreteGaussianNoise


def count_noise(sensitivity: Sensitivity, share: Fraction, pure: bool) -> CountNoise:
    """Noise that costs at most a share: of epsilon where it is pure, else of rho.

    A variance is rounded up.
    """
    if pure:
        return GeometricNoise(share, sensitivity.l1)
    return priced_noise(sensitivity.l2_squared, share)


def prior_round(owner: str, unit: int, share: Fraction, pure: bool = False) -> Round:
    """Ask for class counts, for at most a share: of epsilon where it is pure, else of rho."""
    event = count_noise(ClassCounts(unit).sensitivity, share, pure)
    return once(owner, Release(PRIOR_ROLE, event, says=prior_text(unit > 1)))


def released_prior(bridge: Bridge, unit: int) -> NDArray[np.float64]:
    """Class counts with noise, none below the noise, shape (K,); a record counts for ``unit``."""
    counts = bridge.ask(ClassCounts(unit), PRIOR_ROLE).noised(PRIOR_ROLE)
    variance = bridge.event(PRIOR_ROLE).variance / unit**2
    return np.maximum(counts / unit, max(1.0, (variance * counts.size) ** 0.5))


def base_scores(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of the released prior: of class 1 alone where there are two."""
    logs = np.log(prior / prior.sum())
    return logs[1:] - logs[:1] if prior.size == 2 else logs
