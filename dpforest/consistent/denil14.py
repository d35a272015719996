"""The random forest of Denil, Matheson and de Freitas."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpforest.checks import check_integer, check_number
from dpforest.consistent.base import ConsistentClassifier, DrawnRecords
from dpforest.consistent.candidates import PoissonFeatures
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import BEST

#: Poisson numbers are made of products of uniforms, which must not underflow.
_LARGEST_MEAN = 500.0


@dataclass(kw_only=True, eq=False, repr=False)
class Denil14Classifier(DrawnRecords, ConsistentClassifier):
    """Denil14 (Denil, Matheson, de Freitas 2014), not private.

    As described in MRF 2019 (section 6), MRF 2020 (appendix D) and DMRF (section "Baselines").
    ``min(1 + Poisson(λ), D)`` random features are candidates. In a node, m structure points are
    drawn, and the best split is searched in the range that they span: all observed values of
    the node within that range are candidates, scored on all of its structure points. A value of a
    categorical feature is in the range if one of the m points has it. Leaves answer by majority,
    trees vote.

    The papers leave open what happens if no drawn feature has a split in the range (others are
    drawn); ties, pure nodes and empty children are as in :class:`MRFClassifier`.

    Parameters
    ----------
    poisson_mean : float, default=10.0
        The paper's λ, at most 500.
    search_points : int, default=100
        The paper's m.
    redraw : bool, default=True
        Whether other features are drawn if none of those drawn has two values in the node.
        Otherwise the node is a leaf, which is what DMRF's printed figures agree with.

    Notes
    -----
    The other parameters and the attributes are described where forests share them: in
    ``DrawnRecords`` and ``ConsistentForest`` of ``base``.
    """

    poisson_mean: float = 10.0
    search_points: int = 100
    redraw: bool = True

    def _rules(self) -> ForestRules:
        points = check_integer(self.search_points, "search_points", 1)
        mean = check_number(self.poisson_mean, "poisson_mean", 0.0, _LARGEST_MEAN)
        return ForestRules(
            records=self._records(),
            candidates=PoissonFeatures(mean, bool(self.redraw)),
            splits=replace(BEST, search_points=points),
            answers=self._answers(),
            stop=self._stop(split_from_size=self._serve_for_both),
        )
