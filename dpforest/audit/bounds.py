"""Lower bounds on epsilon, from how often an event happened on two neighbouring datasets.

An event E that has probability p on one dataset and q on its neighbour shows that no
(epsilon, delta) holds with epsilon < ln((p - delta) / q). From counts, p is bounded below and q
above by Clopper and Pearson (1934), each at a share of the permitted error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

#: Shares of the error that may go to the lower limit of p; the rest goes to the upper limit of q.
SHARES = (0.5, 0.1, 0.25, 0.75, 0.9)


def lower_limit(hits: ArrayLike, runs: float, alpha: float) -> NDArray[np.float64]:
    """One-sided lower Clopper-Pearson limit of a probability; wrong with probability <= alpha."""
    k = np.asarray(hits, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        limit = beta.ppf(alpha, k, runs - k + 1)
    return np.where(k > 0, limit, 0.0)


def upper_limit(hits: ArrayLike, runs: float, alpha: float) -> NDArray[np.float64]:
    """One-sided upper Clopper-Pearson limit of a probability; wrong with probability <= alpha."""
    k = np.asarray(hits, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        limit = beta.ppf(1 - alpha, k + 1, runs - k)
    # beta.ppf near 1 loses digits of a tiny alpha; none is lost where no hit was seen.
    limit = np.where(k == 0, -np.expm1(np.log(alpha) / runs), limit)
    return np.where(k < runs, limit, 1.0)


def certified_epsilon(
    hits_more: ArrayLike,
    hits_less: ArrayLike,
    runs_more: float,
    runs_less: float,
    delta: float,
    alpha: float,
    share: float = 0.5,
) -> NDArray[np.float64]:
    """Lower bound on epsilon that is wrong with probability at most ``alpha``.

    Parameters
    ----------
    hits_more, hits_less : array-like
        How often the event happened on the dataset where it is more, and less, likely.
    runs_more, runs_less : float
        Runs on each.
    delta : float
    alpha : float
        Error of the bound; ``share * alpha`` goes to the first limit, the rest to the second.
    share : float

    Returns
    -------
    ndarray of float64
        At least 0.
    """
    p = lower_limit(hits_more, runs_more, share * alpha) - delta
    q = upper_limit(hits_less, runs_less, (1 - share) * alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > q, np.log(np.maximum(p, q) / q), 0.0)


def largest_epsilon(hits_more: int, hits_less: int, runs: int, delta: float, alpha: float) -> float:
    """Upper end of the interval for the epsilon that this one event shows; may be infinite.

    It bounds what the event shows, not what the subject does: other events may show more.
    """
    p = float(upper_limit(hits_more, runs, alpha / 2)) - delta
    q = float(lower_limit(hits_less, runs, alpha / 2))
    if p <= q:
        return 0.0
    return float("inf") if q == 0 else float(np.log(p / q))


def largest_certifiable(runs: int, delta: float, alpha: float) -> float:
    """The bound where the event always happens on one dataset, never on the other."""
    return max(
        float(certified_epsilon(runs, 0, runs, runs, delta, alpha, share)) for share in SHARES
    )
