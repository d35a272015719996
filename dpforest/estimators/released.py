"""What every private estimator can do with what it released: store it, and read it back."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.base import PrivateEstimator


class ReleasedEstimator(PrivateEstimator):
    """Base of private estimators whose released values can be written down.

    A subclass reads and writes what it released (``_released_to_data``, ``_released_from_data``).
    """

    @abstractmethod
    def _released_to_data(self) -> Any:
        """Released values as JSON-ready data."""

    @abstractmethod
    def _released_from_data(self, data: Any, encoder: DomainEncoder) -> None:
        """Take released values from data, checked so that prediction stays in bounds."""

    def to_json(self, path: str | Path | None = None) -> str:
        """The released model as JSON with a format version; :meth:`from_json` reads it back."""
        from dpforest.estimators.storage import model_to_json

        check_is_fitted(self)
        return model_to_json(self, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a model that :meth:`to_json` wrote; it predicts identically.

        Raises
        ------
        ModelFormatError
            Not such a file, damaged, or of an unknown version.
        """
        from dpforest.estimators.storage import model_from_json

        return model_from_json(cls, source)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.random_state is None
        return tags
