"""Public cells and lattices: how a numeric feature's values become small integers.

Both follow from the declared bounds alone, never from values, so every threshold a tree can
choose is public. Code ``k`` holds the values in ``(threshold(k - 1), threshold(k)]``: a split
at ``k`` sends left what is at most ``threshold(k)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.schema import NumericFeature

#: Cells are log-spaced where the lower bound is 0 and the upper bound is above this.
LOG_RANGE = 64
#: Steepness of the log spacing: equal width in log(1 + LOG_STEEPNESS * x / upper).
LOG_STEEPNESS = 500.0
#: Points of the fine lattice over a real feature's bounds.
LATTICE_POINTS = 2**32
#: Doubles from here on are whole.
_FIRST_WITHOUT_HALVES = 2.0**52
#: Values below which numpy finds their cells: quicker than loading what is compiled.
FEW_VALUES = 4096


def compile_search() -> None:
    """Compile the search for many values, however many there are: see `compile_for`."""
    from dpforest.domain.kernels.places import find_places, padded_edges
    from dpforest.kernels.compiling import compile_for

    compile_for(find_places, padded_edges(np.empty(0)), np.empty(0), np.empty(0, dtype=np.int64))


class Cells(Protocol):
    """A public grid over one numeric feature."""

    @property
    def n_codes(self) -> int:
        """Number of codes, the one for missing values included."""

    @property
    def has_missing_code(self) -> bool:
        """True if the last code stands for a missing value."""

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Codes of values; out-of-bounds ones, infinities included, are clipped. Not for NaN."""

    def threshold(self, code: int) -> float:
        """Largest value with this code; the upper bound for the last cell and for missing."""


@dataclass(frozen=True, slots=True, eq=False)
class PublicCells:
    """At most 256 public cells of one feature.

    Attributes
    ----------
    edges : float64 array, ascending
        Interior edges; a value on an edge belongs to the cell below it.
    upper : float
        The feature's upper bound.
    has_missing_code : bool
        Whether one more code, the last, stands for a missing value.
    """

    edges: NDArray[np.float64]
    upper: float
    has_missing_code: bool

    @property
    def n_codes(self) -> int:
        """Number of codes, the one for missing values included."""
        return len(self.edges) + 1 + self.has_missing_code

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Codes of values, as int64; what lies outside the bounds is clipped into the end cells."""
        # Values beyond the end edges fall into the end cells, so clipping needs no step.
        if values.size < FEW_VALUES:
            return np.searchsorted(self.edges, values, side="left").astype(np.int64, copy=False)
        # Here, so that domains can be declared without waiting for numba.
        from dpforest.domain.kernels.places import find_places, padded_edges

        codes = np.empty(values.shape, dtype=np.int64)
        find_places(padded_edges(self.edges), np.ascontiguousarray(values, np.float64), codes)
        return codes

    def threshold(self, code: int) -> float:
        """Largest value with this code; the upper bound for the last cell and for missing."""
        return float(self.edges[code]) if code < len(self.edges) else self.upper


@dataclass(frozen=True, slots=True)
class Lattice:
    """A fine public lattice: 2**32 points of a real feature, every integer of an integer one.

    Attributes
    ----------
    lower, upper : float
        The feature's bounds.
    n_points : int
        Points in use.
    whole : bool
        Whether the points are the integers from ``lower`` to ``upper``.
    has_missing_code : bool
        Whether one more code, the last, stands for a missing value.
    """

    lower: float
    upper: float
    n_points: int
    whole: bool
    has_missing_code: bool

    @property
    def n_codes(self) -> int:
        """Number of codes, the one for missing values included."""
        return self.n_points + self.has_missing_code

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Codes of values, as int64; each step rounds monotonically, so codes keep the order."""
        clipped = np.clip(values, self.lower, self.upper)
        if self.whole:
            # From 2^52 on a half rounds: whole numbers are taken as they are.
            halves = np.where(np.abs(clipped) < _FIRST_WITHOUT_HALVES, 0.5, 0.0)
            return np.ceil(clipped - halves).astype(np.int64) - int(self.lower)
        share = (clipped - self.lower) / (self.upper - self.lower)
        codes = np.ceil(share * self.n_points).astype(np.int64) - 1
        return np.clip(codes, 0, self.n_points - 1)

    def threshold(self, code: int) -> float:
        """Upper edge of a code's cell, up to the rounding of one double."""
        if code >= self.n_points - 1:
            return self.upper
        if self.whole:
            return self.lower + code + 0.5
        return self.lower + (self.upper - self.lower) * ((code + 1) / self.n_points)


def cells_of(feature: NumericFeature, max_cells: int = 256) -> PublicCells:
    """Public cells of a feature, from its bounds.

    An integer feature with few enough values has a cell for each. Else, where the lower
    bound is 0 and the upper above 64, cells are of equal width in log(1 + 500 x / upper);
    else of equal width. Edges of an integer feature are rounded to distinct half-integers.

    Parameters
    ----------
    feature : NumericFeature
        Its ``missing`` takes one of the codes.
    max_cells : int
        Largest number of codes, the one for missing values included; at least 2.
    """
    n_cells = max_cells - feature.missing
    if feature.integer and feature.upper - feature.lower + 1 <= n_cells:
        edges = _between_integers(np.arange(feature.lower, feature.upper))
    else:
        edges = _spaced_edges(feature, n_cells)
        if feature.integer:
            edges = np.floor(edges) + 0.5
        edges = np.unique(edges)
        edges = edges[(edges > feature.lower) & (edges < feature.upper)]
    edges = np.ascontiguousarray(edges, dtype=np.float64)
    edges.flags.writeable = False
    return PublicCells(edges, feature.upper, feature.missing)


def _between_integers(below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges behind integers: half-integers, or from 2^52 on, where there are none, themselves."""
    return np.where(np.abs(below) < _FIRST_WITHOUT_HALVES, below + 0.5, below)


def _spaced_edges(feature: NumericFeature, n_cells: int) -> NDArray[np.float64]:
    if feature.lower == 0 and feature.upper > LOG_RANGE:
        step = math.log1p(LOG_STEEPNESS) / n_cells
        # Twelve digits, so that an edge is the same double whatever the machine's exp.
        return np.array(
            [
                float(f"{feature.upper * (math.expm1(step * k) / LOG_STEEPNESS):.12g}")
                for k in range(1, n_cells)
            ]
        )
    shares = np.arange(1, n_cells) / n_cells
    return feature.lower + (feature.upper - feature.lower) * shares


def lattice_of(feature: NumericFeature) -> Lattice:
    """Fine public lattice of a feature, from its bounds; codes fit four bytes."""
    room = LATTICE_POINTS - feature.missing
    n_integers = int(feature.upper) - int(feature.lower) + 1 if feature.integer else 0
    whole = feature.integer and n_integers <= room
    n_points = n_integers if whole else room
    return Lattice(feature.lower, feature.upper, n_points, whole, feature.missing)
