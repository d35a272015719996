"""Fourth choice: how a leaf answers, from its estimation points.

Classifiers vote with their leaves' labels, regressors average their leaves' means. A leaf without
estimation points can only be the root of a tree grown on a single record: its label is drawn
uniformly, its mean is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.consistent.kernels.cells import UNWEIGHTED, WEIGHTED


@dataclass(frozen=True, slots=True)
class Label:
    """A class drawn once a leaf by ``softmax(strength * share of the class)``.

    An infinite strength is the majority, ties at random.
    """

    strength: float = math.inf


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean target; splits by the decrease of the mean squared error.

    Parameters
    ----------
    criterion : str
        ``"mse"``: a node's minus the sum of its children's, as printed (MRF 2019, eq. 15; DMRF,
        eq. 5). ``"weighted_mse"``: children weigh by their share of the records, as in CART.
    """

    criterion: str = "mse"

    @property
    def code(self) -> int:
        """Number by which kernels know the criterion."""
        return REGRESSION_CRITERIA[self.criterion]


REGRESSION_CRITERIA = {"mse": UNWEIGHTED, "weighted_mse": WEIGHTED}
