"""A fitted refitted forest: released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import KnownSizes, LogOddsModel, ScoreParts, TableFacts
from dpforest.trees.importances import in_shares, spread_by_feature, spread_of_codes
from dpforest.trees.partial import (
    partial_code_values,
    partial_scores,
    with_both_classes,
)
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.kernels.code_values import add_code_values
from dpforest.trees.stored import reading, real_numbers, require, require_alike

_KIND = "refitted forest"


@dataclass(frozen=True, slots=True, eq=False)
class RefittedModel(LogOddsModel):
    """Scores of a record: a base, what its codes are worth, and the steps of its leaves.

    Attributes
    ----------
    n_classes : int
    offsets : ndarray of int64, shape (D + 1,)
    base : ndarray of float64, shape (C,)
        C = 1 (log-odds of class 1) for two classes, else one a class.
    code_values : ndarray of float64, shape (total codes, C), or None
        What comes before the trees: the linear start of classes, the curves of a regression.
    trees : RandomTrees
    steps : ndarray of float64, shape (n_trees, n_leaves, C)
    sizes : ndarray of float64, shape (n_trees, n_leaves)
        Released sizes of leaves, nothing where the noise made them negative.
    """

    n_classes: int
    offsets: NDArray[np.int64]
    base: NDArray[np.float64]
    code_values: NDArray[np.float64] | None
    trees: RandomTrees
    steps: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def score_parts(self) -> ScoreParts:
        """Steps of leaves, and values of codes where something comes before the trees."""
        return ScoreParts(self.trees, self.steps, self.offsets, self.code_values)

    def known_sizes(self) -> KnownSizes:
        """Released sizes of leaves."""
        return KnownSizes(self.sizes, self.trees)

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""
        flat = np.ascontiguousarray(codes)
        scores = np.tile(self.base, (flat.shape[0], 1))
        if self.code_values is not None:
            add_code_values(flat, self.offsets, self.code_values, scores)
        self.trees.add_values(flat, self.steps, scores)
        return with_both_classes(scores)

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the spread of scores that each feature's splits and code values make.

        A split counts by how far apart its children's mean steps are and by the released sizes
        of both; a feature's code values by their variance over its codes.
        """
        n_features, released = self.offsets.size - 1, (self.sizes, self.steps)
        spread = spread_by_feature(n_features, self.trees.splits, *released)
        if self.code_values is not None:
            spread += spread_of_codes(self.offsets, self.code_values, self.sizes)
        return in_shares(spread)

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes).

        In what comes before the trees the other features count with the plain mean of their codes'
        values.
        """
        n_codes, trees = int(facts.n_codes[feature]), self.trees
        sent_left = trees.sent_left(np.arange(n_codes))
        scores = partial_scores(feature, n_codes, trees.feature, sent_left, self.sizes, self.steps)
        scores = scores + self.base
        if self.code_values is not None:
            scores = scores + partial_code_values(feature, self.offsets, self.code_values)
        return with_both_classes(scores)

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data; ``from_data`` reads it back."""
        values = None if self.code_values is None else self.code_values.tolist()
        return {
            "kind": "refitted",
            "n_classes": self.n_classes,
            "offsets": self.offsets.tolist(),
            "base": self.base.tolist(),
            "code_values": values,
            "trees": self.trees.to_data(),
            "steps": self.steps.tolist(),
            "sizes": self.sizes.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> RefittedModel:
        """Read what ``to_data`` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading(_KIND):
            n_classes, offsets = facts.n_classes, facts.offsets
            require_alike(data, "refitted", n_classes, _KIND)
            require(data["offsets"] == offsets.tolist(), _KIND, "its codes are not the domain's")
            trees = RandomTrees.from_data(data["trees"], facts)
            n_columns, leaves = n_score_columns(n_classes), (trees.n_trees, trees.n_leaves)
            values = data["code_values"]
            if values is not None:
                values = real_numbers(values, (int(offsets[-1]), n_columns), "code values")
            return cls(
                n_classes=n_classes,
                offsets=offsets,
                base=real_numbers(data["base"], (n_columns,), "base of scores"),
                code_values=values,
                trees=trees,
                steps=real_numbers(data["steps"], (*leaves, n_columns), "steps of leaves"),
                sizes=real_numbers(data["sizes"], leaves, "sizes of leaves", low=0.0),
            )
