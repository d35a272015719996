"""The released multinomial forest as a model of log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.bare_storage import forest_from_data, forest_to_data
from dpforest.trees.base import TableFacts
from dpforest.trees.multinomial.heaps import PrivateForest
from dpforest.trees.multinomial.kernels.predict import sum_leaf_values
from dpforest.trees.multinomial.leaf_values import leaf_values
from dpforest.trees.partial import partial_scores, range_sends_left
from dpforest.trees.stored import reading, require


@dataclass(frozen=True, slots=True, eq=False)
class MultinomialModel:
    """Released trees of a multinomial forest, and the log-odds made of them.

    Attributes
    ----------
    forest : PrivateForest
    n_features : int
    """

    forest: PrivateForest
    n_features: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.forest.n_classes

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes)."""
        values = leaf_values(self.forest)
        total = np.empty((codes.shape[0], self.n_classes), dtype=np.float64)
        forest = self.forest
        sum_leaf_values(
            codes, forest.feature, forest.low, forest.high, forest.depth, values.values, total
        )
        return total + values.base

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the splits that drew each feature; a level weighs half the one above it."""
        level = np.floor(np.log2(np.arange(1, self.forest.feature.shape[1] + 1)))
        weights = np.broadcast_to(0.5**level, self.forest.feature.shape)
        used = self.forest.feature >= 0
        sums = np.zeros(self.n_features)
        np.add.at(sums, self.forest.feature[used], weights[used])
        return sums / sums.sum() if used.any() else sums

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes)."""
        forest, n_codes = self.forest, int(facts.n_codes[feature])
        values = leaf_values(forest)
        assert forest.counts is not None
        masses = np.maximum(forest.counts.sum(axis=2, dtype=np.float64), 0.0)
        sent_left = range_sends_left(forest.low, forest.high, n_codes)
        scores = partial_scores(feature, n_codes, forest.feature, sent_left, masses, values.values)
        return scores + values.base

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data."""
        return forest_to_data(self.forest)

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> MultinomialModel:
        """Read what :meth:`to_data` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading("multinomial forest"):
            forest = forest_from_data(data, facts.n_codes, facts.n_classes)
            require(forest.counts is not None, "multinomial forest", "its leaves have no counts")
            return cls(forest, facts.n_features)
