"""The number of records to plan for, from a noisy count and a public guess at tables' sizes."""

from __future__ import annotations

import math

import numpy as np

from dpforest.accounting.events import GeometricNoise

#: Sizes between which tables are assumed to lie, every logarithm of a size equally likely.
#: A public assumption, which matters where the noise is larger than the number.
FEWEST_ROWS, MOST_ROWS = 100.0, 1e6
#: With little noise smaller tables are considered too: from this multiple of its scale.
_FEWEST_SCALES = 5.0
#: This many scales above the fewest rows the noisy number is used as it is.
_CLEAR_SCALES = 30.0
_PLACES = 1000


def fewest_rows(noisy: int, count: GeometricNoise) -> float:
    """The noisy number of records minus about one standard deviation of its noise, at least 1."""
    return max(noisy - 2**0.5 * float(count.l1_sensitivity / count.epsilon), 1.0)


def likely_rows(noisy: int, count: GeometricNoise, share: float = 0.5) -> float:
    """A quantile of the table's size, given a noisy number of records; by default the median.

    Beforehand every logarithm of a size is equally likely (``FEWEST_ROWS`` to ``MOST_ROWS``).
    Where the noise is small the quantile is nearly the noisy number. Where the noise is larger
    than the number, that assumption decides: small tables are likelier than large ones, so a
    plan seldom counts on too many records, nor does it take the table for empty.

    Parameters
    ----------
    noisy : int
        Released, with noise of P(k) proportional to exp(-a |k|), a = epsilon / sensitivity.
    count : GeometricNoise
    share : float, default=0.5
        Probability that the table is smaller than what is returned.

    Returns
    -------
    float
        At least 1.

    Notes
    -----
    **Claim**: post-processing of a released value, so it costs nothing. **Tests**:
    tests/estimators/test_bought_rows.py.
    """
    scale = float(count.l1_sensitivity / count.epsilon)
    fewest = max(min(FEWEST_ROWS, _FEWEST_SCALES * scale), 1.0)
    if noisy > fewest + _CLEAR_SCALES * scale:
        return float(noisy)
    rows = np.exp(np.linspace(math.log(fewest), math.log(MOST_ROWS), _PLACES))
    # Below the fewest rows all noisy numbers say the same: the noise has no memory.
    distance = np.abs(rows - max(float(noisy), fewest))
    shares = np.cumsum(np.exp((distance.min() - distance) / scale))
    return float(rows[np.searchsorted(shares, shares[-1] * share)])
