"""A fitted additive model: released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import KnownSizes, LogOddsModel, ScoreParts, TableFacts
from dpforest.trees.importances import in_shares
from dpforest.trees.partial import with_both_classes
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.kernels.code_values import add_code_values
from dpforest.trees.scored.score_steps import scores_from_steps, steps_to_data
from dpforest.trees.stored import LARGEST, reading, real_numbers, require, require_alike

_KIND = "additive model"


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveModel(LogOddsModel):
    """Scores of a record: a base, and what each of its codes is worth.

    Attributes
    ----------
    n_classes : int
    offsets : ndarray of int64, shape (D + 1,)
    base : ndarray of float64, shape (C,)
        C = 1 (log-odds of class 1) for two classes, else one a class.
    code_values : ndarray of float64, shape (total codes, C)
        Multiples of 1 / SCORE_STEPS, so their sums are exact.
    sizes : ndarray of float64, shape (total codes,)
        Records of each code, about, from released counts of bins. Curves at once count nothing: the
        declared codes of a feature have an even part each then.
    """

    n_classes: int
    offsets: NDArray[np.int64]
    base: NDArray[np.float64]
    code_values: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def score_parts(self) -> ScoreParts:
        """Values of codes."""
        return ScoreParts(offsets=self.offsets, code_values=self.code_values)

    def known_sizes(self) -> KnownSizes:
        """Sizes of codes."""
        return KnownSizes(self.sizes)

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""
        flat = np.ascontiguousarray(codes)
        scores = np.zeros((flat.shape[0], self.base.size))
        add_code_values(flat, self.offsets, self.code_values, scores)
        return with_both_classes(scores + self.base)

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the spread of scores that each feature's curve makes over ``sizes``.

        So over the records, about; where none were counted, over declared codes that all weigh
        alike.
        """
        means = np.repeat(self._means(), np.diff(self.offsets), axis=0)
        spread = self.sizes[:, None] * (self.code_values - means) ** 2
        return in_shares(np.add.reduceat(spread, self.offsets[:-1]).sum(axis=1))

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes)."""
        means = self._means()
        first, end = self.offsets[feature], self.offsets[feature + 1]
        others = self.base + np.delete(means, feature, axis=0).sum(axis=0)
        return with_both_classes(self.code_values[first:end] + others)

    def _means(self) -> NDArray[np.float64]:
        """Mean of each curve over ``sizes``, shape (D, C)."""
        firsts, sizes = self.offsets[:-1], self.sizes[:, None]
        totals = np.maximum(np.add.reduceat(sizes, firsts), 1e-300)
        means: NDArray[np.float64] = np.add.reduceat(sizes * self.code_values, firsts) / totals
        return means

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data; ``from_data`` reads it back."""
        return {
            "kind": "additive",
            "n_classes": self.n_classes,
            "offsets": self.offsets.tolist(),
            "base": self.base.tolist(),
            "code_values": steps_to_data(self.code_values),
            "sizes": self.sizes.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> AdditiveModel:
        """Read what ``to_data`` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading(_KIND):
            n_classes, offsets = facts.n_classes, facts.offsets
            require_alike(data, "additive", n_classes, _KIND)
            require(data["offsets"] == offsets.tolist(), _KIND, "its codes are not the domain's")
            total, n_columns = int(offsets[-1]), n_score_columns(n_classes)
            return cls(
                n_classes=n_classes,
                offsets=offsets,
                base=real_numbers(data["base"], (n_columns,), "base of scores"),
                code_values=scores_from_steps(data["code_values"], (total, n_columns), _KIND),
                sizes=real_numbers(data["sizes"], (total,), "sizes of codes", 0.0, LARGEST),
            )
