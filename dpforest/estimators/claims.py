"""Claims of a released model about itself."""

from __future__ import annotations

from typing import NamedTuple


class ClaimedGain(NamedTuple):
    """Claims of a model.

    Attributes
    ----------
    gain : float
        Accuracy less the claimed share of the most frequent class; of a regression, the standard
        deviation of predictions, as a share of the range that the learner saw.
    most : float
        The most that there is to gain: 1 less that share, or 1.
    """

    gain: float
    most: float
