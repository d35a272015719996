"""The Multinomial Random Forest of 2020."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.checks import check_number
from dpforest.consistent.answers import Label
from dpforest.consistent.base import ConsistentClassifier, DrawnRecords
from dpforest.consistent.candidates import AllFeatures
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import TwoStage


@dataclass(kw_only=True, eq=False, repr=False)
class MRFClassifier(DrawnRecords, ConsistentClassifier):
    """Multinomial Random Forest (Li, Bai and others 2020), not private.

    Multinomial Random Forest: Toward Consistency and Privacy-Preservation, section 3 and appendix
    B. Structure points choose splits, estimation points answer. Every feature is a candidate:
    one is drawn by ``softmax(B1/2 · Î)`` over each feature's best decrease of the Gini impurity,
    then one of its values by ``softmax(B2/2 · Î)``. A leaf's label is drawn by
    ``softmax(B3/2 · η)``, once; trees vote.

    The paper leaves open: ties (drawn at random), features with one value (no candidates, and not
    part of the normalisation), nodes whose structure points are of one class (leaves), children
    without estimation points (the split is given up): as in the authors' public code.
    :class:`dpforest.MultinomialForestClassifier` is the private forest of this idea.

    Parameters
    ----------
    B1, B2 : float, default=10.0
        Strengths of the feature draw and of the value draw; 0 is uniform, infinite takes the best.
    B3 : float, default=inf
        Strength of the label draw; infinite is the majority.

    Notes
    -----
    The other parameters and the attributes are described where forests share them: in
    ``DrawnRecords`` and ``ConsistentForest`` of ``base``.
    """

    B1: float = 10.0
    B2: float = 10.0
    B3: float = math.inf

    def _rules(self) -> ForestRules:
        B1, B2, B3 = (
            check_number(getattr(self, name), name, 0.0, math.inf) for name in ("B1", "B2", "B3")
        )
        return ForestRules(
            records=self._records(),
            candidates=AllFeatures(),
            splits=TwoStage(feature=B1 / 2, value=B2 / 2),
            answers=Label(strength=B3 / 2),
            stop=self._stop(split_from_size=self._serve_for_both),
        )
