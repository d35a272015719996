"""Histograms of features' codes in groups of two and more widths, and the counts that fit them.

A rank is the sum of many cells, and their noise adds up: for 256 cells to eight times that of one.
So neighbours are counted in groups too, which give the sum of sixteen at the price of one. All
widths are of the same records, so their best unbiased fit is had by one way up and one down (Hay,
Rastogi, Miklau and Suciu 2010, "Boosting the accuracy of differentially private histograms through
consistency", section 4; here with groups of any size).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.counts import CodeCounts

#: Neighbours that are counted together.
FAN = 16
#: No more cells or groups than this are left as they are; in pure epsilon, where every width adds
#: to the noise of all counts and not to its square, groups of more of them are worth their price.
FEW, PURE_FEW = 2 * FAN, 8 * FAN


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """Records of each code of some features, then of each group of codes, of groups, and so on.

    Attributes
    ----------
    features : ndarray of int64
    n_codes : ndarray of int64
        Of each of these features.
    few : int
        So many cells or groups are not grouped.
    """

    features: NDArray[np.int64]
    n_codes: NDArray[np.int64]
    few: int = FEW

    @property
    def sensitivity(self) -> Sensitivity:
        """L1, and L2 squared: the number of widths of all features together.

        **Relation**: add or remove one record. **Proof**: it has one code of each feature, so it
        adds 1 to one code, to the group of this code, and so on: to one count of each width.
        **Tests**: tests/trees/random/test_groups.py.
        """
        size = Fraction(sum(len(width_sizes(int(n), self.few)) for n in self.n_codes))
        return Sensitivity(size, size)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Counts of a chunk: a feature after the other, of each its codes first."""
        counts = CodeCounts(self.features).count(chunk)
        parts = [part for own in _parted(counts, self.n_codes) for part in widths_of(own, self.few)]
        return np.concatenate(parts) if parts else counts

    def fitted(self, released: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Counts of the codes of each feature that all noisy counts together speak for.

        Every record has a code of every feature, so all have the same total.
        """
        sizes = [width_sizes(int(n), self.few) for n in self.n_codes]
        parts = _parted(released.astype(np.float64), [sum(own) for own in sizes])
        trees = [_upward(_parted(*one)) for one in zip(parts, sizes, strict=True)]
        total = _common_total(trees)
        return [_downward(tree, total) for tree in trees]


Number = TypeVar("Number", np.int64, np.float64)
#: Estimates of the counts of one width, and their variances in those of one noisy count.
Width = tuple[NDArray[np.float64], NDArray[np.float64]]


def width_sizes(n_codes: int, few: int = FEW) -> list[int]:
    """Numbers of counts of each width of a feature: its codes, its groups, and so on."""
    sizes = [n_codes]
    while sizes[-1] > few:
        sizes.append(-(-sizes[-1] // FAN))
    return sizes


def widths_of(counts: NDArray[np.int64], few: int = FEW) -> list[NDArray[np.int64]]:
    """Counts of one feature's codes, and of its groups."""
    widths = [counts]
    while widths[-1].size > few:
        widths.append(_joined(widths[-1]))
    return widths


def _joined(values: NDArray[Number]) -> NDArray[Number]:
    joined: NDArray[Number] = np.add.reduceat(values, np.arange(0, values.size, FAN))
    return joined


def _parted(
    counts: NDArray[Number], sizes: Sequence[int] | NDArray[np.int64]
) -> list[NDArray[Number]]:
    return np.split(counts, np.cumsum(sizes)[:-1])


def _upward(widths: list[NDArray[np.float64]]) -> list[Width]:
    """Estimates of counts by themselves and by all that they are made of."""
    found = [(widths[0], np.ones(widths[0].size))]
    for own in widths[1:]:
        values, variances = (_joined(x) for x in found[-1])
        weight = variances / (1.0 + variances)
        found.append((values + weight * (own - values), weight))
    return found


def _common_total(trees: list[list[Width]]) -> float:
    """Number of records, by the totals of all features."""
    widest = [tree[-1] for tree in trees]
    totals = np.array([values.sum() for values, _ in widest])
    weights = 1.0 / np.array([variances.sum() for _, variances in widest])
    return float((weights * totals).sum() / weights.sum())


def _downward(tree: list[Width], total: float) -> NDArray[np.float64]:
    """Counts of codes that add up to the groups, and these to the total."""
    wanted = np.array([total])
    for number, (values, variances) in enumerate(reversed(tree)):
        group = np.arange(values.size) // FAN if number else np.zeros(values.size, dtype=np.int64)
        sums = np.bincount(group, values), np.bincount(group, variances)
        wanted = values + ((wanted - sums[0]) / sums[1])[group] * variances
    return wanted
