"""A fitted one-shot forest: released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import KnownSizes, LogOddsModel, ScoreParts, TableFacts
from dpforest.trees.importances import in_shares, spread_by_feature
from dpforest.trees.partial import partial_scores, with_both_classes
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.stored import reading, real_numbers, require, require_alike

_KIND = "one-shot forest"


@dataclass(frozen=True, slots=True, eq=False)
class OneShotModel(LogOddsModel):
    """Scores of a record: a base, and the values of its leaves.

    Attributes
    ----------
    n_classes, n_features : int
    base : ndarray of float64, shape (C,)
        C = 1 (log-odds of class 1) for two classes, else one a class.
    trees : RandomTrees
    values : ndarray of float64, shape (n_trees, n_leaves, C)
    masses : ndarray of float64, shape (n_trees, n_leaves)
        Released share of the records in each leaf.
    """

    n_classes: int
    n_features: int
    base: NDArray[np.float64]
    trees: RandomTrees
    values: NDArray[np.float64]
    masses: NDArray[np.float64]

    def score_parts(self) -> ScoreParts:
        """Values of leaves."""
        return ScoreParts(self.trees, self.values)

    def known_sizes(self) -> KnownSizes:
        """Released sizes of leaves, as shares."""
        return KnownSizes(self.masses, self.trees, in_records=False)

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""
        scores = np.tile(self.base, (codes.shape[0], 1))
        self.trees.add_values(np.ascontiguousarray(codes), self.values, scores)
        return with_both_classes(scores)

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the spread of scores that each feature's splits make, shape (D,).

        A split counts by how far apart its children's mean values are and by the released
        masses of both.
        """
        released = self.masses, self.values
        return in_shares(spread_by_feature(self.n_features, self.trees.splits, *released, 1e-12))

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes)."""
        n_codes, trees = int(facts.n_codes[feature]), self.trees
        sent_left = trees.sent_left(np.arange(n_codes))
        scores = partial_scores(
            feature, n_codes, trees.feature, sent_left, self.masses, self.values
        )
        return with_both_classes(scores + self.base)

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data; ``from_data`` reads it back."""
        return {
            "kind": "one_shot",
            "n_classes": self.n_classes,
            "n_features": self.n_features,
            "base": self.base.tolist(),
            "trees": self.trees.to_data(),
            "values": self.values.tolist(),
            "masses": self.masses.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> OneShotModel:
        """Read what ``to_data`` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading(_KIND):
            n_classes, n_features = facts.n_classes, facts.n_features
            require_alike(data, "one_shot", n_classes, _KIND)
            require(data["n_features"] == n_features, _KIND, "its features are not the domain's")
            trees = RandomTrees.from_data(data["trees"], facts)
            n_columns = n_score_columns(n_classes)
            leaves = trees.n_trees, trees.n_leaves
            return cls(
                n_classes=n_classes,
                n_features=n_features,
                base=real_numbers(data["base"], (n_columns,), "base of scores"),
                trees=trees,
                values=real_numbers(data["values"], (*leaves, n_columns), "values of leaves"),
                masses=real_numbers(data["masses"], leaves, "masses of leaves", low=0.0),
            )
