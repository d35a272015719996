"""The first release of a forest of residuals: class shares, or the mean of a target."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import Release, Round, once
from dpforest.bridge.bridge import Bridge
from dpforest.records.counts import ClassCounts
from dpforest.trees.base import PRIOR_ROLE, prior_text
from dpforest.trees.priced_events import count_noise

#: Of the interval in which `start_scores` looks.
_HALVINGS = 60
#: Until what is left of a norm's sums is of no matter; most are done after thirty.
_STEPS = 300


def prior_round(owner: str, unit: int, share: Fraction, pure: bool = False) -> Round:
    """Ask for class counts, for at most a share: of epsilon where it is pure, else of rho."""
    event = count_noise(ClassCounts(unit).sensitivity, share, pure)
    return once(owner, Release(PRIOR_ROLE, event, says=prior_text(unit > 1)))


def released_class_counts(bridge: Bridge, unit: int) -> NDArray[np.float64]:
    """Class counts with noise, none below the noise, shape (K,); a record counts for ``unit``."""
    counts = bridge.ask(ClassCounts(unit), PRIOR_ROLE).noised(PRIOR_ROLE)
    variance = bridge.event(PRIOR_ROLE).variance / unit**2
    return np.maximum(counts / unit, max(1.0, (variance * counts.size) ** 0.5))


def base_scores(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of the released prior: of class 1 alone where there are two."""
    logs = np.log(prior / prior.sum())
    return logs[1:] - logs[:1] if prior.size == 2 else logs


def start_scores(
    prior: NDArray[np.float64], clip: float, norm: float | None = None
) -> NDArray[np.float64]:
    """Scores at which clipped residuals of records in the prior's shares add up to nothing.

    A record of class k has its residual times s_k = min(1, clip / (1 - p_k)), so what is fitted
    is no longer log loss but a loss whose best p has shares pi_k in proportion to p_k / s_k. That
    rises with p_k for a clip of a half or more, and below a half no p is the only one: a half is
    taken then. The factor of proportion lies between 1, where the p add up to at most 1, and
    1 / max(pi), where one of them is 1. Where residuals have a largest L2 too, s_k is
    norm / |e_k - p| where that is less, and the p are those that are met from the others on.

    Parameters
    ----------
    prior : ndarray of float64, shape (K,)
        Released class counts, all above 0.
    clip : float
    norm : float, optional

    Returns
    -------
    ndarray of float64, shape (C,)
        As `base_scores`, which it is where clip is 1.
    """
    share, clip = prior / prior.sum(), max(clip, 0.5)
    low, high = 1.0, 1.0 / float(share.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (
            (middle, high) if _unclipped(middle * share, clip).sum() < 1.0 else (low, middle)
        )
    found = _unclipped(low * share, clip)
    return base_scores(found if norm is None else _shortened(share, found, clip, norm))


def _shortened(
    share: NDArray[np.float64], start: NDArray[np.float64], clip: float, norm: float
) -> NDArray[np.float64]:
    """The p in proportion to shares times s, from a start on, half a step at a time."""
    p = start / start.sum()
    for _ in range(_STEPS):
        length = np.sqrt(1.0 - 2.0 * p + (p * p).sum())
        kept = share / np.maximum(1.0, np.maximum((1.0 - p) / clip, length / norm))
        p = (p + kept / kept.sum()) / 2.0
    return p


def _unclipped(shares: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """The p for which p max(1, (1 - p) / clip) is a share."""
    root = np.sqrt(np.maximum(1.0 - 4.0 * clip * shares, 0.0))
    return np.where(shares < 1.0 - clip, 2.0 * clip * shares / (1.0 + root), shares)
