"""The model that a private selection keeps: one of its candidates, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import ReleasedModel, TableFacts
from dpforest.trees.stored import reading, require
from dpforest.trees.strategies import LEARNERS

_KIND = "selected model"


@dataclass(frozen=True, slots=True, eq=False)
class SelectedModel:
    """The chosen candidate.

    Attributes
    ----------
    strategy : str
        Which one it is.
    model : ReleasedModel
        What it learnt from the training side.
    """

    strategy: str
    model: ReleasedModel

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.model.n_classes

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""
        return self.model.log_odds(codes)

    def feature_importances(self) -> NDArray[np.float64]:
        """Those of the chosen one, shape (D,), sum 1 or all 0."""
        return self.model.feature_importances()

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes)."""
        return self.model.partial_scores(feature, facts)

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data; ``from_data`` reads it back."""
        return {"kind": "selected", "strategy": self.strategy, "model": self.model.to_data()}

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> SelectedModel:
        """Read what ``to_data`` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
        """
        with reading(_KIND):
            require(data["kind"] == "selected", _KIND, "it is of another kind")
            name = data["strategy"]
            known = name in LEARNERS and name != "private_selection"
            require(known, _KIND, "it is of no known strategy")
            return cls(name, LEARNERS[name].read(data["model"], facts))
