"""The released multinomial forest as a model: log-odds of noisy counts, or votes of labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import ModelTraits, ScoreLink, ScoreParts, TableFacts
from dpforest.trees.multinomial.heaps import ReleasedTrees
from dpforest.trees.multinomial.kernels.predict import sum_leaf_values
from dpforest.trees.multinomial.leaf_values import PROBABILITY_FLOOR, LeafValues, leaf_values
from dpforest.trees.partial import partial_scores
from dpforest.trees.shown import codes_to_explain
from dpforest.trees.stored import forest_from_data, forest_to_data, reading, require


@dataclass(frozen=True, slots=True, eq=False)
class MultinomialModel(ModelTraits):
    """Released trees of a multinomial forest, and the leaf values made of them.

    Attributes
    ----------
    forest : ReleasedTrees
    n_features : int
    values : LeafValues
        What prediction adds up, classes in the domain's order.
    """

    forest: ReleasedTrees
    n_features: int
    values: LeafValues = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", leaf_values(self.forest))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.forest.n_classes

    @property
    def link(self) -> ScoreLink:
        """Scores are log-odds where leaves have counts, and shares of votes where labels."""
        return "softmax" if self.values.log_scale else "shares"

    def scores(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes), as ``link`` takes them."""
        total = np.empty((codes.shape[0], self.n_classes), dtype=np.float64)
        forest, values = self.forest, self.values
        sum_leaf_values(
            codes, forest.feature, forest.low, forest.high, forest.depth, values.values, total
        )
        return total + values.base

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Scores that softmax makes probabilities of; shares of votes are kept off 0 for that."""
        scores = self.scores(codes)
        if self.link == "softmax":
            return scores
        return np.asarray(np.log(np.maximum(scores, PROBABILITY_FLOOR)))

    def score_parts(self) -> ScoreParts:
        """Values of leaves."""
        return ScoreParts(self.forest, self.values.values)

    def noise_draws(
        self, generator: np.random.Generator, n_draws: int
    ) -> tuple[MultinomialModel, ...]:
        """Forests with fresh noise on the counts, which are all that was noised."""
        return tuple(self._recounted(generator) for _ in range(n_draws))

    def _recounted(self, generator: np.random.Generator) -> MultinomialModel:
        """The forest with fresh noise on its counts."""
        forest = self.forest
        if forest.counts is None:
            return self
        noise = forest.noise_variance**0.5 * generator.normal(size=forest.counts.shape)
        recounted = replace(forest, counts=forest.counts + noise)
        return MultinomialModel(recounted, self.n_features)

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the splits that drew each feature; a level weighs half the one above it."""
        level = np.floor(np.log2(np.arange(1, self.forest.feature.shape[1] + 1)))
        weights = np.broadcast_to(0.5**level, self.forest.feature.shape)
        used = self.forest.feature >= 0
        sums = np.zeros(self.n_features)
        np.add.at(sums, self.forest.feature[used], weights[used])
        return sums / sums.sum() if used.any() else sums

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean ``scores`` at every shown code of one feature, shape (codes, n_classes)."""
        forest, codes = self.forest, codes_to_explain(feature, facts)
        sent_left = forest.sent_left(codes)
        scores = partial_scores(
            feature, codes.size, forest.feature, sent_left, self._masses(), self.values.values
        )
        return scores + self.values.base

    def _masses(self) -> NDArray[np.float64]:
        """Released sizes of leaves, (n_trees, n_leaves); labels tell none, so all are alike."""
        if self.forest.counts is None:
            return np.ones(self.values.values.shape[:2])
        return np.maximum(self.forest.counts.sum(axis=2, dtype=np.float64), 0.0)

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
            # A mean is made of log-odds, which need counts.
            fits = forest.counts is not None or not facts.is_regression
            require(fits, "multinomial forest", "its leaves have no counts")
            return cls(forest, facts.n_features)
