"""PublicFacts: a domain as the encoder and the check need it."""

from __future__ import annotations

from typing import Protocol

from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget


class PublicFacts(Protocol):
    """Declared facts of a table; see ``Domain``, which imports the check of tables itself."""

    @property
    def features(self) -> tuple[NumericFeature | CategoricalFeature, ...]:
        """Features, in the order of their codes."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def classes(self) -> Classes | None:
        """Labels, for classification."""

    @property
    def target(self) -> NumericTarget | None:
        """Bounds, for regression."""
