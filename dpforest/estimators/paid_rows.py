"""What a bought number of records says: the noisy count, read with what tables are like."""

from __future__ import annotations

import math

import numpy as np

from dpforest.accounting.events import GeometricNoise

#: Numbers of records between which tables are taken to lie, the logarithm of a size as likely
#: here as there. A public assumption that serves where the noise drowns the number.
FEWEST_ROWS, MOST_ROWS = 100.0, 1e6
#: With little noise smaller tables are thought of too: from this multiple of its scale.
_FEWEST_SCALES = 5.0
#: Scales above the fewest rows from which the noisy number is taken at its word.
_CLEAR_SCALES = 30.0
_PLACES = 1000


def fewest_rows(noisy: int, count: GeometricNoise) -> float:
    """A noisy number of records less about the standard deviation of its noise, at least 1."""
    return max(noisy - 2**0.5 * float(count.l1_sensitivity / count.epsilon), 1.0)


def likely_rows(noisy: int, count: GeometricNoise, share: float = 0.5) -> float:
    """Number of records below which a ``share`` of what a noisy one speaks for lies; the median.

    Where the noise is small that is nearly the noisy number. Where it drowns the number, what
    is left is what tables are like: small ones are far likelier than the noise is wide, so too
    many records are seldom taken for granted, but a table is not taken for empty either.

    Parameters
    ----------
    noisy : int
        Released, with noise of P(k) proportional to exp(-a |k|), a = epsilon / sensitivity.
    count : GeometricNoise
    share : float, default=0.5

    Returns
    -------
    float
        At least 1.

    Notes
    -----
    **Claim**: post-processing of a released value, so it costs nothing. **Tests**:
    tests/estimators/test_paid_rows.py.
    """
    scale = float(count.l1_sensitivity / count.epsilon)
    fewest = max(min(FEWEST_ROWS, _FEWEST_SCALES * scale), 1.0)
    if noisy > fewest + _CLEAR_SCALES * scale:
        return float(noisy)
    rows = np.exp(np.linspace(math.log(fewest), math.log(MOST_ROWS), _PLACES))
    # Below the fewest rows all numbers say the same: the noise has no memory.
    distance = np.abs(rows - max(float(noisy), fewest))
    shares = np.cumsum(np.exp((distance.min() - distance) / scale))
    return float(rows[np.searchsorted(shares, shares[-1] * share)])
