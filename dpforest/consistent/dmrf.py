"""The Data-driven Multinomial Random Forest."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.checks import check_number
from dpforest.consistent.base import (
    ConsistentClassifier,
    ConsistentForest,
    ConsistentRegressor,
    DrawnFeatures,
    included,
)
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import BEST, Mixture, TwoStage


@dataclass(kw_only=True, eq=False, repr=False)
class DataDrivenForest(DrawnFeatures, ConsistentForest):
    """Base of both tasks.

    Parameters
    ----------
    B1, B2 : float, default=5.0
        Strengths of the feature draw and of the value draw.
    p : float, default=0.5
        Probability of taking the best split.
    inclusion : float, default=1 - 1/e
        Probability q with which a record enters a tree.
    """

    B1: float = 5.0
    B2: float = 5.0
    p: float = 0.5
    inclusion: float = 1 - 1 / math.e

    def _rules(self) -> ForestRules:
        B1, B2 = (check_number(getattr(self, name), name, 0.0, math.inf) for name in ("B1", "B2"))
        best = check_number(self.p, "p", 0.0, 1.0)
        return ForestRules(
            records=included(self.inclusion),
            candidates=self._candidates(),
            splits=Mixture(best, BEST, TwoStage(feature=B1, value=B2)),
            answers=self._answers(),
            stop=self._stop(split_from_size=True),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DMRFClassifier(DataDrivenForest, ConsistentClassifier):
    """Data-driven Multinomial Random Forest (Chen, Wang, Lei 2024), not private.

    Data-driven multinomial random forest: a new random forest variant with strong consistency,
    section "The proposed DMRF algorithm". Each record enters a tree with probability q and
    serves for splits and leaves. Of √D random features, with probability p the best split is
    taken, else a feature is drawn by ``softmax(B1 · Î)`` and one of its values by
    ``softmax(B2 · Î)`` (not halved as in MRF 2020). Leaves answer by majority,
    trees vote, ties are broken at random.

    The paper leaves open what happens if no drawn feature has two values (see ``redraw``), which
    of equal best splits is taken (one at random), and pure nodes (leaves).

    Parameters and attributes are described where forests share them: in ``DataDrivenForest``,
    and in ``DrawnFeatures`` and ``ConsistentForest`` of ``base``.
    """


@dataclass(kw_only=True, eq=False, repr=False)
class DMRFRegressor(DataDrivenForest, ConsistentRegressor):
    """Data-driven Multinomial Random Forest for regression, not private.

    As :class:`DMRFClassifier`, where its parameters are named too; leaves answer by their mean, and
    ``ConsistentRegressor`` has ``criterion``.
    """
