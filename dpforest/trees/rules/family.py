"""All decision trees of height at most two over public directions, as one family of candidates.

A candidate is a whole tree: a cut at the root, in each child a label or a cut with two
labels; or one label for all. Its score is the number of records it classifies right. The
weights factorise: given the root's cut the children are independent, and given a cut so are
its labels. So sums over more trees than could be counted are products of small sums, and a
tree is proposed from the root downward, one small draw a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.streamed import FACTOR_BITS, ROOM, Envelope, Proposal, pick
from dpforest.trees.rules.kernels.roots import root_bounds
from dpforest.trees.rules.kernels.trees import close_node, count_bins, stump_bounds

#: Bits of a root candidate's integer weight.
_ROOT_BITS = 40
_LEAF_SCALE = 2**FACTOR_BITS
#: Records, each as often as it weighs, that kernels of all root cuts count in 32 bits.
_MOST_AT_ONCE = 2**31 - 1


class Branch(NamedTuple):
    """A node of a drawn tree: a cut of a direction, or a label (then ``direction`` is -1)."""

    direction: int
    cut: int
    label: int
    left: Branch | None
    right: Branch | None

    @classmethod
    def leaf(cls, label: int) -> Branch:
        """A node that predicts one label."""
        return cls(-1, -1, label, None, None)

    @classmethod
    def split(cls, direction: int, cut: int, left: Branch, right: Branch) -> Branch:
        """A node that sends bins up to ``cut`` of a direction left."""
        return cls(direction, cut, -1, left, right)


@dataclass(frozen=True, slots=True, eq=False)
class FamilyWeights:
    """Public weights of the candidates.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_directions + 1,)
        Where the bins of each direction start.
    cut : ndarray of int64, shape (n_directions,)
        Weight of every cut of a direction, for each pair of labels below it; positive.
    stop : int
        Weight of each label where a child of the root is not split.
    root_stop : int
        Weight of each label where the root is not split.
    """

    offsets: NDArray[np.int64]
    cut: NDArray[np.int64]
    stop: int
    root_stop: int

    @classmethod
    def of(
        cls,
        n_bins: NDArray[np.int64],
        shares: NDArray[np.float64],
        n_classes: int,
        stop_share: float,
    ) -> FamilyWeights:
        """Integers near the wanted shares.

        Parameters
        ----------
        n_bins : ndarray of int64, shape (n_directions,)
        shares : ndarray of float64, shape (n_directions,)
            Share of each direction; divided equally among its cuts.
        n_classes : int
        stop_share : float
            Share of trees that are not split, at the root and in each child.
        """
        total = _total_weight(n_classes)
        offsets = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
        n_cuts = np.maximum(n_bins - 1, 1)
        whole = shares.sum() if shares.size else 1.0
        cut = np.maximum(np.rint(total * shares / whole / n_cuts), 1).astype(np.int64)
        odds = stop_share / (1 - stop_share)
        mass = int((cut * (n_bins - 1)).sum())
        stop = max(round(odds * n_classes * mass), 1)
        child = n_classes * stop + n_classes**2 * mass
        return cls(offsets, cut, stop, max(round(odds * mass * child**2) // n_classes, 1))

    @staticmethod
    def hold(n_cuts: int, n_classes: int, stop_share: float) -> bool:
        """True if sums of bounds stay below 2^63, of so many cuts at most; public.

        Else they would wrap around, and trees would be drawn by another law than was paid for.

        Notes
        -----
        **Proof**: a cut's weight is above its share of `_total_weight` by 1 at most, its bound is
        that times two leaf sums, and labels alone add ``stop_share / (1 - stop_share)`` as much.
        What is rounded is less than a 2^20th. A root's weight is below 2^(_ROOT_BITS + 1).
        **Tests**: tests/trees/rules/test_family.py.
        """
        if n_cuts > 2 ** (61 - _ROOT_BITS):
            return False
        leaf_sum = n_classes * (_LEAF_SCALE + 1)
        most = (_total_weight(n_classes) + n_cuts) * leaf_sum**2 / (1 - stop_share)
        return most < 2.0**63 * (1 - 2.0**-20)

    @property
    def n_directions(self) -> int:
        """Number of directions."""
        return int(self.cut.size)

    @property
    def n_cuts(self) -> int:
        """Number of cuts of all directions."""
        return int(self.offsets[-1]) - self.n_directions

    def locate(self, cut: int) -> tuple[int, int]:
        """Direction of a cut number, and the place of the cut in it."""
        firsts = self.offsets - np.arange(self.offsets.size)
        direction = int(np.searchsorted(firsts, cut, side="right")) - 1
        return direction, cut - int(firsts[direction])


def _total_weight(n_classes: int) -> int:
    """Weight of all cuts for one pair of labels, about: the less the more pairs there are."""
    return int(2 ** min(20, 32 - 2 * math.ceil(math.log2(max(n_classes, 2)))))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinnedRecords:
    """Records of one cell as bins of the directions; secret.

    Attributes
    ----------
    bins : ndarray of uint8, shape (n, n_directions)
    labels : ndarray of int64, shape (n,)
    class_weights : ndarray of int64, shape (n_classes,)
        How often a record of each class counts: right answers are counted in those steps.
    """

    bins: NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_weights: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.class_weights.size

    def where(self, side: NDArray[np.bool_]) -> BinnedRecords:
        """The records of one side."""
        bins = np.ascontiguousarray(self.bins[side])
        return BinnedRecords(bins, self.labels[side], self.class_weights)

    def weighed(self, class_weights: tuple[int, ...]) -> BinnedRecords:
        """The records, each to be counted as often as its class weighs."""
        return replace(self, class_weights=np.array(class_weights, dtype=np.int64))

    def sizes(self) -> NDArray[np.int64]:
        """Class counts."""
        counts = np.bincount(self.labels, minlength=self.n_classes).astype(np.int64)
        return counts * self.class_weights


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Child:
    """Bounds of all trees of height at most one over the records of a child; secret.

    Attributes
    ----------
    records : BinnedRecords
    sizes : ndarray of int64, shape (n_classes,)
        Class counts.
    scores, bounds : ndarray of int64, shape (n_cuts,)
        Of every cut.
    by_score : ndarray of int64, shape (sum of sizes + 1,)
        Bound of all cuts of a score, scaled down by its gap to the best.
    stops : ndarray of int64, shape (n_classes,)
        Bound of each label where there is no cut, scaled down alike.
    best : int
        The largest score.
    """

    records: BinnedRecords
    sizes: NDArray[np.int64]
    scores: NDArray[np.int64]
    bounds: NDArray[np.int64]
    by_score: NDArray[np.int64]
    stops: NDArray[np.int64]
    best: int


class TreeFamily:
    """Trees of height at most two over some records; makes `Proposal` objects of `Branch`.

    Notes
    -----
    **Sensitivity**: a record more is classified right by a tree or not, so every score moves
    by 0 or 1: a range of 1. One that is there w times moves it by 0 or w.
    **Promise of a family**: a root candidate is proposed by an
    integer r >= w z_l z_r e^(-c gap) / 2^shift (bounds of its children), a child's score
    class by an integer b >= (sum of bounds in it) e^(-c gap), a stump in it in proportion to its
    bound w s_l s_r, a label by an integer l >= 2^S e^(-c gap). Multiplying by the exact value
    over the integer at each step, the bounds z and s cancel, each being the total of the next
    step; what is left is w w_l w_r 2^(4S - shift) e^(-c (reference - score)). A child or root
    that is a constant label takes the same scale. **Tests**: tests/trees/rules/test_family.py
    (all trees of a small family enumerated, probabilities and scales equal exactly).
    """

    def __init__(self, records: BinnedRecords, weights: FamilyWeights, envelope: Envelope) -> None:
        self._records, self._weights, self._envelope = records, weights, envelope
        self._sizes = records.sizes()
        n = int(self._sizes.sum())
        self._factors = envelope.factors(n)
        self._label_bounds = envelope.integers(n)
        self._stop = weights.stop * _LEAF_SCALE**2
        self._scores, self._lefts, self._rights = self._bound_children()
        self._top = max(int(self._scores.max(initial=0)), int(self._sizes.max()))
        self._roots, self._shift = self._bound_roots()
        # A child of nobody is bounded too: which of the root's children a tree splits is drawn by
        # records, and what is called is compiled and kept for others to see.
        self._bounded(records.where(np.zeros(records.labels.size, dtype=np.bool_)))

    @classmethod
    def of(
        cls, read: Callable[[], BinnedRecords], weights: FamilyWeights
    ) -> Callable[[Envelope], TreeFamily]:
        """Argument of `select_exponential_streamed`: records are read when it calls."""
        return lambda envelope: cls(read(), weights, envelope)

    def _bound_children(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        if int(self._sizes.sum()) > _MOST_AT_ONCE:
            return self._bound_each_child()
        left_score, left, right_score, right = root_bounds(
            self._records.bins,
            self._records.labels,
            self._records.class_weights,
            self._sizes,
            self._weights.offsets,
            self._weights.cut,
            self._stop,
            self._label_bounds,
            self._factors,
        )
        return left_score + right_score, left, right

    def _bound_each_child(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The same numbers, each child by itself and in 64 bits, which takes far longer.

        How many records there are is secret, so no such number may end a fit.
        """
        found = np.empty((2, 2, self._weights.n_cuts), dtype=np.int64)
        for number in range(self._weights.n_cuts):
            direction, cut = self._weights.locate(number)
            left = self._records.bins[:, direction] <= cut
            for half, side in enumerate((left, ~left)):
                child, total = self._bounded(self._records.where(side))
                found[half, :, number] = child.best, total
        (left_score, lefts), (right_score, rights) = found
        return left_score + right_score, lefts, rights

    def _bound_roots(self) -> tuple[NDArray[np.int64], int]:
        """Integer weights of every root cut, then of every constant label; and their scale."""
        n_cuts = np.diff(self._weights.offsets) - 1
        values = np.repeat(self._weights.cut, n_cuts).astype(np.float64)
        values *= self._lefts.astype(np.float64) * self._rights
        values *= self._factors[self._top - self._scores]
        stops = float(self._weights.root_stop * _LEAF_SCALE**4)
        values = np.append(values, stops * self._factors[self._top - self._sizes])
        shift = math.frexp(values.max())[1] - _ROOT_BITS
        return np.floor(np.ldexp(values, -shift) * ROOM).astype(np.int64) + 1, shift

    def propose(self, source: RandomSource) -> Proposal:
        """Draw a tree from the root downward."""
        chosen = pick(self._roots, source)
        unit = Fraction(2) ** self._shift * int(self._roots[chosen])
        if chosen >= self._scores.size:
            label = chosen - self._scores.size
            ratio = self._weights.root_stop * _LEAF_SCALE**4 / unit
            return Proposal(Branch.leaf(label), ratio, self._top - int(self._sizes[label]))
        direction, cut = self._weights.locate(chosen)
        left_side = self._records.bins[:, direction] <= cut
        left = self._propose_child(left_side, int(self._lefts[chosen]), source)
        right = self._propose_child(~left_side, int(self._rights[chosen]), source)
        product = int(self._weights.cut[direction])
        product *= int(self._lefts[chosen]) * int(self._rights[chosen])
        return Proposal(
            Branch.split(direction, cut, left.outcome, right.outcome),
            product / unit * left.ratio * right.ratio,
            self._top - int(self._scores[chosen]) + left.gap + right.gap,
        )

    def _propose_child(self, side: NDArray[np.bool_], total: int, source: RandomSource) -> Proposal:
        """Draw a label or a cut with two labels; the root was drawn by a bound of ``total``."""
        child = self._bound_child(self._records.where(side), total)
        chosen = pick(np.concatenate([child.by_score, child.stops]), source)
        if chosen >= child.by_score.size:
            label = chosen - child.by_score.size
            ratio = Fraction(self._stop, int(child.stops[label]))
            return Proposal(Branch.leaf(label), ratio, child.best - int(child.sizes[label]))
        return self._propose_cut(child, chosen, source)

    def _bound_child(self, records: BinnedRecords, total: int) -> _Child:
        """Bounds of all trees of a child, which add up to the total that its parent was told."""
        child, found = self._bounded(records)
        if found != total:
            raise AssertionError("a child adds up to what its parent was told")
        return child

    def _bounded(self, records: BinnedRecords) -> tuple[_Child, int]:
        """Bounds of all trees of a child, and what they add up to."""
        weights, sizes, n = self._weights, records.sizes(), records.labels.size
        counts = np.zeros((int(weights.offsets[-1]), records.n_classes), dtype=np.int64)
        count_bins(records.bins, records.labels, np.arange(n), weights.offsets, counts)
        counts *= records.class_weights
        scores, bounds = np.empty((2, weights.n_cuts), dtype=np.int64)
        stump_bounds(
            counts, sizes, weights.offsets, weights.cut, self._label_bounds, scores, bounds
        )
        by_score = np.zeros(sizes.sum() + 1, dtype=np.int64)
        stops = np.empty(records.n_classes, dtype=np.int64)
        best, total = close_node(scores, bounds, sizes, self._stop, self._factors, by_score, stops)
        return _Child(records, sizes, scores, bounds, by_score, stops, best), total

    def _propose_cut(self, child: _Child, score: int, source: RandomSource) -> Proposal:
        """Draw one of the cuts of a score, and a label on either side of it."""
        members = np.flatnonzero(child.scores == score)
        within = child.bounds[members]
        direction, cut = self._weights.locate(int(members[pick(within, source)]))
        ratio = Fraction(int(within.sum()), int(child.by_score[score]))
        below = child.records.bins[:, direction] <= cut
        left = self._propose_label(child.records.where(below).sizes(), source)
        right = self._propose_label(child.records.where(~below).sizes(), source)
        return Proposal(
            Branch.split(direction, cut, left.outcome, right.outcome),
            ratio * left.ratio * right.ratio,
            child.best - score + left.gap + right.gap,
        )

    def _propose_label(self, sizes: NDArray[np.int64], source: RandomSource) -> Proposal:
        gaps = int(sizes.max()) - sizes
        bounds = self._label_bounds[gaps]
        label = pick(bounds, source)
        ratio = Fraction(_LEAF_SCALE, int(bounds[label]))
        return Proposal(Branch.leaf(label), ratio, int(gaps[label]))
