"""Meaning of a feature's codes, and the exact doubles between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.cells import Cells, Lattice, PublicCells
from dpforest.domain.codes import midpoint_code
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature

#: Every bit of a double but its sign.
_MAGNITUDE = np.int64(2**63 - 1)


@dataclass(frozen=True, slots=True)
class FeatureCodes:
    """Codes of a feature and their meaning.

    Attributes
    ----------
    cells : Cells or None
        The grid of a numeric feature.
    n_places : int
        Cells of a numeric feature, categories of a categorical one: the codes below this.
    unknown, missing : int
        Codes of what is not known, and of what is missing.
    n_codes : int
    """

    cells: Cells | None
    n_places: int
    unknown: int
    missing: int
    n_codes: int

    @property
    def has_missing(self) -> bool:
        """True if a missing value is a value of its own."""
        return self.missing != self.unknown

    @classmethod
    def of(cls, encoder: DomainEncoder, place: int) -> FeatureCodes:
        """Codes of one feature of an encoder."""
        feature, cells = encoder.domain.features[place], encoder.cells[place]
        n_codes = int(encoder.n_codes[place])
        if isinstance(feature, CategoricalFeature):
            n_places = len(feature.categories)
            other = feature.other
            unknown = n_places if other is None else feature.categories.index(other)
        else:
            assert cells is not None
            n_places = n_codes - cells.has_missing_code
            unknown = midpoint_code(feature, cells)
        missing = n_codes - 1 if feature.missing else unknown
        return cls(cells, n_places, unknown, missing, n_codes)


def largest_values(cells: Cells, codes: Sequence[int]) -> list[float]:
    """The largest double with each code: what is at most this has the code or a lower one.

    Parameters
    ----------
    cells : Cells
    codes : sequence of int
        Below the last cell's, beyond which there is no largest.

    Notes
    -----
    **Claim**: for every double v, infinities included, ``v <= largest_values(cells, [k])[0]`` if
    and only if v has a code of at most k. **Tests**: tests/estimators/test_plain_codes.py.
    """
    if isinstance(cells, Lattice):
        return _largest_on_lattice(cells, np.asarray(codes, dtype=np.int64)).tolist()
    assert isinstance(cells, PublicCells)
    return [float(cells.edges[code]) for code in codes]


def _largest_on_lattice(lattice: Lattice, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """By bisection over all doubles between the bounds: a lattice's codes round, in order."""
    low = np.repeat(_ranks(np.array([lattice.lower])), codes.size)
    high = np.repeat(_ranks(np.array([lattice.upper])), codes.size)
    while (high - 1 > low).any():
        # The mean, rounded down, without a sum that would overflow.
        middle = (low & high) + ((low ^ high) >> 1)
        below = lattice.encode(_doubles(middle)) <= codes
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _doubles(low)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places of doubles among all doubles, in their order; both zeros have rank 0."""
    bits = values.view(np.int64)
    return np.where(bits < 0, -(bits & _MAGNITUDE), bits)


def _doubles(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    bits = np.where(ranks < 0, -ranks, ranks).view(np.float64)
    return np.where(ranks < 0, -bits, bits)
