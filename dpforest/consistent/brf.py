"""The Bernoulli Random Forest."""

from __future__ import annotations

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
from dpforest.consistent.splits import BEST, RANDOM, Mixture


@dataclass(kw_only=True, eq=False, repr=False)
class BernoulliForest(DrawnRecords, DrawnFeatures, ConsistentForest):
    """Base of both tasks.

    Parameters
    ----------
    p1 : float, default=0.05
        Probability of a single candidate feature.
    p2 : float, default=0.05
        Probability of a random split.
    """

    p1: float = 0.05
    p2: float = 0.05

    def _rules(self) -> ForestRules:
        single, random = (
            check_number(getattr(self, name), name, 0.0, 1.0) for name in ("p1", "p2")
        )
        return ForestRules(
            records=self._records(),
            candidates=self._candidates(single),
            splits=Mixture(random, RANDOM, BEST),
            answers=self._answers(),
            stop=self._stop(split_from_size=self._serve_for_both),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class BRFClassifier(BernoulliForest, ConsistentClassifier):
    """Bernoulli Random Forest (Wang, Xia and others 2018), not private.

    As described in MRF 2019 (section 6), MRF 2020 (appendix D) and DMRF (section "Baselines"). With
    probability p1 a single random feature is the candidate, else √D are; with probability p2 the
    split is a random one of their values, else the best one. Leaves answer by
    majority, trees vote.

    Open there, and chosen here: the second Bernoulli is one a node, and its random split is
    uniform over candidate features and then over the midpoints of the feature; if no drawn
    feature has two values others are drawn; ties, pure nodes and empty children as in
    :class:`MRFClassifier`.

    Parameters and attributes are described where forests share them: in ``BernoulliForest``,
    and in ``DrawnFeatures``, ``DrawnRecords`` and ``ConsistentForest`` of ``base``.
    """


@dataclass(kw_only=True, eq=False, repr=False)
class BRFRegressor(BernoulliForest, ConsistentRegressor):
    """Bernoulli Random Forest for regression, not private.

    As :class:`BRFClassifier`, where its parameters are named too; leaves answer by their mean, and
    the errors of the children weigh by their shares of the records.

    Parameters
    ----------
    criterion : {"mse", "weighted_mse"}, default="weighted_mse"
        See ``ConsistentRegressor``.
    """

    criterion: str = "weighted_mse"
