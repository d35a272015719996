"""The Multinomial Random Forests of 2019."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.checks import check_number
from dpforest.consistent.base import (
    ConsistentClassifier,
    ConsistentForest,
    ConsistentRegressor,
    DrawnFeatures,
    DrawnRecords,
)
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import Joint


@dataclass(kw_only=True, eq=False, repr=False)
class MultinomialForest2019(DrawnRecords, DrawnFeatures, ConsistentForest):
    """Base of both tasks.

    Parameters
    ----------
    p : float, default=0.05
        Probability of a single candidate feature.
    B : float, default=10.0
        Strength of the draw.
    """

    p: float = 0.05
    B: float = 10.0

    def _rules(self) -> ForestRules:
        return ForestRules(
            records=self._records(),
            candidates=self._candidates(check_number(self.p, "p", 0.0, 1.0)),
            splits=Joint(check_number(self.B, "B", 0.0, math.inf)),
            answers=self._answers(),
            stop=self._stop(split_from_size=self._serve_for_both),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class MRF2019Classifier(MultinomialForest2019, ConsistentClassifier):
    """Multinomial Random Forests of 2019, not private.

    Multinomial Random Forests: Fill the Gap between Theoretical Consistency and Empirical
    Soundness, section 3. N(D) random features are candidates, with probability p a single
    one; one of all their splits is drawn by ``softmax(B · Î)``, Î the decrease of the Gini impurity
    normalised over all of them. Leaves answer by majority, trees vote.

    The paper leaves open what happens if no drawn feature has two values (others are drawn), and
    ties, pure nodes and empty children (as in :class:`MRFClassifier`).

    Parameters and attributes are described where forests share them: in
    ``MultinomialForest2019``, and in ``DrawnFeatures``, ``DrawnRecords`` and
    ``ConsistentForest`` of ``base``.
    """


@dataclass(kw_only=True, eq=False, repr=False)
class MRF2019Regressor(MultinomialForest2019, ConsistentRegressor):
    """Multinomial Random Forests of 2019 for regression (section 5), not private.

    As :class:`MRF2019Classifier`, where its parameters are named too, with the decrease of the mean
    squared error. Leaves answer by their mean, and ``ConsistentRegressor`` has ``criterion``.
    """
