"""A fitted boosted forest: released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import KnownSizes, LogOddsModel, ScoreParts, TableFacts
from dpforest.trees.importances import in_shares, spread_by_feature, spread_of_codes
from dpforest.trees.multinomial.kernels.predict import sum_leaf_values
from dpforest.trees.partial import (
    partial_code_values,
    partial_scores,
    with_both_classes,
)
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.kernels.code_values import add_code_values
from dpforest.trees.scored.score_steps import scores_from_steps, steps_to_data
from dpforest.trees.shown import codes_to_explain
from dpforest.trees.splits import RangeTrees
from dpforest.trees.stored import LARGEST, reading, real_numbers, require_alike, splits_from_data

_KIND = "boosted forest"


@dataclass(frozen=True, slots=True, eq=False)
class BoostedModel(LogOddsModel, RangeTrees):
    """Scores of a record: a base, what its codes are worth, and the steps of its leaves.

    Attributes
    ----------
    n_classes : int
    offsets : ndarray of int64, shape (D + 1,)
    base : ndarray of float64, shape (C,)
        C = 1 (log-odds of class 1) for two classes, else one a class.
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
        In heap order; -1 sends all left.
    low, high : ndarray of int64, shape (n_trees, 2**depth - 1)
        A record goes left if ``low <= code <= high``.
    steps : ndarray of float64, shape (n_trees, n_leaves, C)
        Multiples of 1 / SCORE_STEPS, so their sums are exact.
    sizes : ndarray of float64, shape (n_trees, n_leaves)
        Released sizes of leaves, nothing where the noise made them negative.
    code_values : ndarray of float64, shape (total codes, C), or None
        The curves that come first, in multiples of 1 / SCORE_STEPS.
    """

    n_classes: int
    offsets: NDArray[np.int64]
    base: NDArray[np.float64]
    feature: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    steps: NDArray[np.float64]
    sizes: NDArray[np.float64]
    code_values: NDArray[np.float64] | None = None

    def score_parts(self) -> ScoreParts:
        """Steps of leaves, and values of codes where curves come first."""
        return ScoreParts(self, self.steps, self.offsets, self.code_values)

    def known_sizes(self) -> KnownSizes:
        """Released sizes of leaves."""
        return KnownSizes(self.sizes, self)

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""
        flat = np.ascontiguousarray(codes)
        scores = np.empty((flat.shape[0], self.base.size), dtype=np.float64)
        sum_leaf_values(flat, self.feature, self.low, self.high, self.depth, self.steps, scores)
        if self.code_values is not None:
            add_code_values(flat, self.offsets, self.code_values, scores)
        return with_both_classes(scores + self.base)

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the spread of scores that each feature's splits and code values make.

        A split counts by how far apart its children's mean steps are and by the released sizes
        of both; a feature's code values by their variance over its codes.
        """
        n_features = self.offsets.size - 1
        spread = spread_by_feature(n_features, self.feature, self.sizes, self.steps)
        if self.code_values is not None:
            spread += spread_of_codes(self.offsets, self.code_values, self.sizes)
        return in_shares(spread)

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every shown code of one feature, shape (codes, n_classes).

        In the curves the other features count with the plain mean of their codes' values.
        """
        codes = codes_to_explain(feature, facts)
        sent_left = self.sent_left(codes)
        scores = partial_scores(
            feature, codes.size, self.feature, sent_left, self.sizes, self.steps
        )
        if self.code_values is not None:
            values = partial_code_values(feature, self.offsets, self.code_values)
            scores = scores + values[codes]
        return with_both_classes(scores + self.base)

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data; ``from_data`` reads it back."""
        values = (
            {} if self.code_values is None else {"code_values": steps_to_data(self.code_values)}
        )
        return {
            "kind": "boosted",
            "n_classes": self.n_classes,
            "base": self.base.tolist(),
            "feature": self.feature.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "steps": steps_to_data(self.steps),
            "sizes": self.sizes.tolist(),
            **values,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> BoostedModel:
        """Read what ``to_data`` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading(_KIND):
            n_classes = facts.n_classes
            require_alike(data, "boosted", n_classes, _KIND)
            feature, low, high = splits_from_data(data, facts.n_codes, _KIND)
            n_columns, leaves = n_score_columns(n_classes), (len(feature), feature.shape[1] + 1)
            values = None
            if "code_values" in data:
                wanted = int(facts.offsets[-1]), n_columns
                values = scores_from_steps(data["code_values"], wanted, _KIND)
            return cls(
                n_classes=n_classes,
                offsets=facts.offsets,
                base=real_numbers(data["base"], (n_columns,), "base of scores"),
                feature=feature,
                low=low,
                high=high,
                steps=scores_from_steps(data["steps"], (*leaves, n_columns), _KIND),
                sizes=real_numbers(data["sizes"], leaves, "sizes of leaves", 0.0, LARGEST),
                code_values=values,
            )
