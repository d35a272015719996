"""Public backgrounds: the records that a Shapley value compares a prediction with.

Averages over records of a background show in every Shapley value. Over private records they would
be a release that no budget paid for, so a background is drawn from the declared domain, or somebody
says in so many words where it is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.domain import Domain
from dpforest.domain.schema import NumericFeature
from dpforest.exceptions import ParameterError, ParameterTypeError, kind_of, printable
from dpforest.strict_json import is_writable

#: Records that are drawn from the domain, and where from.
_N_DRAWN, _SEED = 100, 0


@dataclass(frozen=True, eq=False)
class PublicBackground:
    """Records that are public, with the source that says so.

    Parameters
    ----------
    records : array-like or data frame of shape (m, n_features)
    source : str
        Where anybody can get them, in words, on one line: what a privacy officer would check.

    Raises
    ------
    ParameterError
        Without a source, or with one that holds characters that cannot be printed: they could turn
        the line around them.
    """

    records: Any
    source: str

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise ParameterError(
                "source", self.source, "must say where the records are public",
                'Name it, such as source="UCI repository, Adult"',
            )  # fmt: skip
        if not (self.source.isprintable() and is_writable(self.source)):
            raise ParameterError(
                "source", printable(self.source), "must be one line of printable characters",
                "Name it in plain words",
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"PublicBackground(source={self.source!r})"


def background_records(background: Any, domain: Domain) -> Any:
    """Records of a background: those declared public, or some drawn from the domain.

    Raises
    ------
    ParameterTypeError
        If it was not declared public. The error holds nothing of it: it may be a private table.
    """
    if background is None:
        return drawn_uniformly(domain)
    if isinstance(background, PublicBackground):
        return background.records
    raise ParameterTypeError(
        "background", kind_of(background),
        "must be declared public: averages over private records are a release that nobody paid for",
        "Leave it out to draw it from the domain, or wrap public records in "
        "PublicBackground(records, source=...)",
    )  # fmt: skip


def drawn_uniformly(domain: Domain) -> NDArray[Any]:
    """Records spread over the declared domain, each feature on its own; the same ones each time.

    A number is uniform between its bounds, a category among those declared; where a missing value
    is a value of its own, none is drawn.
    """
    generator = np.random.default_rng(_SEED)  # public, and nothing secret is drawn
    records = np.empty((_N_DRAWN, domain.n_features), dtype=object)
    for place, feature in enumerate(domain.features):
        if isinstance(feature, NumericFeature):
            drawn = generator.uniform(feature.lower, feature.upper, _N_DRAWN)
            records[:, place] = np.rint(drawn) if feature.integer else drawn
        else:
            places = generator.integers(0, len(feature.categories), _N_DRAWN)
            records[:, place] = [feature.categories[i] for i in places]
    return records
