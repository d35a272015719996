"""Shapley values of predictions, from a released model and a public background alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ParameterError
from dpforest.trees.base import ReleasedModel


@dataclass(frozen=True, slots=True, eq=False)
class ShapleyValues:
    """Worth of each feature, which it adds to the score of each record, beside a public background.

    ``shap.Explanation(**found.arguments())`` is what the plots of shap take.

    Attributes
    ----------
    values : ndarray of float64, shape (n, D), or (n, D, n_classes)
        In log-odds; of more than two classes a column each, as ``classes_``. Where a forest votes,
        in shares of votes.
    base_values : ndarray of float64, shape (n,), or (n, n_classes)
        Mean score of the background. With a record's values it adds up to the record's score.
    data : ndarray, shape (n, D)
        The records as they were given, in the order of ``feature_names``.
    feature_names : list of str
    output_names : list of str
        Class of each column; of two classes the second alone; ``"mean"`` of a regression.
    background : str
        Where the background is from.
    """

    values: NDArray[np.float64]
    base_values: NDArray[np.float64]
    data: NDArray[Any]
    feature_names: list[str]
    output_names: list[str]
    background: str

    def arguments(self) -> dict[str, Any]:
        """Arguments of ``shap.Explanation``."""
        names = ("values", "base_values", "data", "feature_names")
        found = {name: getattr(self, name) for name in names}
        return found if self.values.ndim == 2 else found | {"output_names": self.output_names}


def check_enumerable(model: ReleasedModel, n_features: int, strategy: str) -> None:
    """Refuse models whose coalitions would have to be counted and are too many.

    Raises
    ------
    ParameterError
    """
    from dpforest.trees.shapley import MOST_ENUMERATED

    if model.score_parts() is None and n_features > MOST_ENUMERATED:
        raise ParameterError(
            "strategy", strategy,
            f"has Shapley values of up to {MOST_ENUMERATED} features, and there are {n_features}: "
            "its cuts look at sums of features",
            "Fit another strategy, or read explain()",
        )  # fmt: skip
