"""A released combination: rules, a forest, the class shares, and what each of the two is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import KnownSizes, LogOddsModel, TableFacts
from dpforest.trees.one_shot.model import OneShotModel
from dpforest.trees.rules.model import RuleModel
from dpforest.trees.stored import reading, real_numbers, require

_KIND = "combined model"


@dataclass(frozen=True, slots=True, eq=False)
class CombinedModel(LogOddsModel):
    """Scores of classes: a rules + b forest + (1 - a - b) prior, all as log probabilities.

    Attributes
    ----------
    rules : RuleModel
    forest : OneShotModel
    log_prior : ndarray of float64, shape (K,)
    weights : tuple of two floats
        a and b.
    """

    cuts_sums: ClassVar[bool] = True
    knows_classes_alone: ClassVar[bool] = True

    rules: RuleModel
    forest: OneShotModel
    log_prior: NDArray[np.float64]
    weights: tuple[float, float]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.rules.n_classes

    def weighed(self, weights: tuple[float, float]) -> CombinedModel:
        """The same with other weights."""
        return replace(self, weights=weights)

    def both(self, codes: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores by rules and by forest, each of shape (n, K); a record's depend on it alone.

        Rules give the log probabilities of the leaf that a record lies in, which whole numbers
        tell: soft shares of leaves would be sums whose last bit goes by the record's place.
        """
        flat = np.ascontiguousarray(codes)
        by_rules = np.log(self.rules.probabilities)[self.rules.leaves(flat)]
        return np.ascontiguousarray(by_rules), np.ascontiguousarray(self.forest.log_odds(flat))

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""
        return self.mixed(*self.both(codes))

    def mixed(
        self, by_rules: NDArray[np.float64], by_forest: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Scores from those of both, by the weights, and of class shares."""
        a, b = self.weights
        return a * by_rules + b * by_forest + (1.0 - a - b) * self.log_prior

    def feature_importances(self) -> NDArray[np.float64]:
        """Those of rules and forest, by their weights; shape (D,), sum 1 or all 0."""
        a, b = self.weights
        shares = a * self.rules.feature_importances() + b * self.forest.feature_importances()
        total = shares.sum()
        mixed: NDArray[np.float64] = shares / total if total > 0 else shares
        return mixed

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes)."""
        rules, forest = self.rules, self.forest
        return self.mixed(
            rules.partial_scores(feature, facts), forest.partial_scores(feature, facts)
        )

    def known_sizes(self) -> KnownSizes:
        """Released sizes of the forest's leaves, as shares."""
        return self.forest.known_sizes()

    def partial_scores_of(
        self, models: Sequence[Any], feature: int, facts: TableFacts
    ) -> list[NDArray[np.float64]]:
        """``partial_scores`` of models that have the structure of this one."""
        by_rules = self.rules.partial_scores_of([model.rules for model in models], feature, facts)
        return [
            model.mixed(rules, model.forest.partial_scores(feature, facts))
            for model, rules in zip(models, by_rules, strict=True)
        ]

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data; ``from_data`` reads it back."""
        return {
            "kind": "combined",
            "rules": self.rules.to_data(),
            "forest": self.forest.to_data(),
            "log_prior": self.log_prior.tolist(),
            "weights": list(self.weights),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> CombinedModel:
        """Read what ``to_data`` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading(_KIND):
            require(data["kind"] == "combined", _KIND, "it is of another kind")
            weights = real_numbers(data["weights"], (2,), "weights", 0.0, 10.0).tolist()
            return cls(
                RuleModel.from_data(data["rules"], facts),
                OneShotModel.from_data(data["forest"], facts),
                real_numbers(data["log_prior"], (facts.n_classes,), "class shares", high=0.0),
                (weights[0], weights[1]),
            )
