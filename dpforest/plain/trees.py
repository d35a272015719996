"""Trees over codes as trees over values: one threshold or one set of categories a split.

A released tree sends codes left by a mask or a range, which may include codes that cannot reach the
node. So the codes that can reach each node are followed down from the root. A split is written for
these alone, and is left out where they all go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ModelFormatError
from dpforest.plain.codes import FeatureCodes, largest_values

Plain = dict[str, Any]
#: The largest double of a cell of a feature.
Thresholds = Callable[[int, int], float]


class _Run(NamedTuple):
    """Cells of a numeric feature that can reach a node; none where the last is before the first."""

    low: int
    high: int
    #: Whether a missing value can, where it is a value of its own.
    absent: bool


#: What can reach a node of a feature that was split above it: cells, or codes of categories.
_Reach = _Run | NDArray[np.int64]
_Reached = Mapping[int, _Reach]


class Splits(Protocol):
    """Splits of one tree over codes, as a heap: children of i are 2 i + 1 and 2 i + 2."""

    @property
    def features(self) -> NDArray[np.int32]:
        """Feature of every split; negative where all go left."""

    def goes_left(self, node: int, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask of the codes that go left."""

    def left_run(self, node: int, low: int, high: int) -> tuple[int, int]:
        """First and last of the cells from ``low`` to ``high`` that go left.

        The last is before the first where there is none.

        Raises
        ------
        ModelFormatError
            If there are others between them.
        """


@dataclass(frozen=True, slots=True)
class MaskedSplits:
    """Splits that hold a bit for every code.

    Attributes
    ----------
    features : int32 array of shape (n_nodes,)
    masks : uint64 array of shape (n_nodes, W)
    """

    features: NDArray[np.int32]
    masks: NDArray[np.uint64]

    def goes_left(self, node: int, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask of the codes that go left."""
        bits = self.masks[node][codes >> 6] >> (codes & 63).astype(np.uint64)
        return (bits & np.uint64(1)).astype(np.bool_)

    def left_run(self, node: int, low: int, high: int) -> tuple[int, int]:
        """First and last of the cells from ``low`` to ``high`` that go left."""
        left = low + np.flatnonzero(self.goes_left(node, np.arange(low, high + 1)))
        if not left.size:
            return low, low - 1
        first, last = int(left[0]), int(left[-1])
        if last - first + 1 != left.size:
            raise _no_threshold()
        return first, last


@dataclass(frozen=True, slots=True)
class RangedSplits:
    """Splits that hold the first and the last code that goes left, each of shape (n_nodes,)."""

    features: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def goes_left(self, node: int, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask of the codes that go left."""
        return (self.low[node] <= codes) & (codes <= self.high[node])

    def left_run(self, node: int, low: int, high: int) -> tuple[int, int]:
        """First and last of the cells from ``low`` to ``high`` that go left."""
        first, last = max(low, int(self.low[node])), min(high, int(self.high[node]))
        return (first, last) if first <= last else (low, low - 1)


def plain_trees(
    trees: Sequence[Splits], values: NDArray[np.float64], features: Sequence[FeatureCodes]
) -> list[list[Plain]]:
    """Trees as lists of nodes; the first is the root, and children come after their parents.

    Parameters
    ----------
    trees : sequence of Splits
    values : float64 array of shape (n_trees, n_leaves, C)
    features : sequence of FeatureCodes

    Raises
    ------
    ModelFormatError
        If cells of an ordered feature go left and right by turns, which no fit brings about.
    """
    plans = [_Planner(tree, features).plan() for tree in trees]
    threshold = _thresholds([cut for plan in plans for cut in plan.cuts], features)
    return [
        [node.written(threshold, values[number]) for node in plan.nodes]
        for number, plan in enumerate(plans)
    ]


def _thresholds(cuts: list[tuple[int, int]], features: Sequence[FeatureCodes]) -> Thresholds:
    """The exact doubles of all cuts, those of a feature found together."""
    found: dict[tuple[int, int], float] = {}
    for feature in {feature for feature, _ in cuts}:
        cells = features[feature].cells
        assert cells is not None
        codes = sorted({cell for other, cell in cuts if other == feature})
        found.update(
            ((feature, code), value)
            for code, value in zip(codes, largest_values(cells, codes), strict=True)
        )
    return lambda feature, cell: found[feature, cell]


@dataclass(slots=True)
class _Leaf:
    number: int

    def written(self, threshold: Thresholds, values: NDArray[np.float64]) -> Plain:
        return {"values": values[self.number].tolist()}


@dataclass(slots=True)
class _Split:
    """A split on the way: by cell or by set, and where its children stand."""

    feature: int
    cut: int | None
    categories: list[int] | None
    missing: bool
    unknown: bool
    left: int = 0
    right: int = 0

    def written(self, threshold: Thresholds, values: NDArray[np.float64]) -> Plain:
        rule: Plain = {"categories": self.categories}
        if self.categories is None:
            rule = {"threshold": None if self.cut is None else threshold(self.feature, self.cut)}
        return {
            "feature": self.feature, **rule, "missing": _side(self.missing),
            "unknown": _side(self.unknown), "left": self.left, "right": self.right,
        }  # fmt: skip


def _side(left: bool) -> str:
    return "left" if left else "right"


@dataclass(frozen=True, slots=True)
class _Parting:
    """A split with the heap's nodes on either side, and what of its feature reaches them."""

    split: _Split
    nodes: tuple[int, int]
    reaches: tuple[_Reach, _Reach]


class _Planner:
    """Puts the nodes of one tree in a list, without splits that part nothing."""

    def __init__(self, tree: Splits, features: Sequence[FeatureCodes]) -> None:
        self._tree, self._features = tree, features
        self._n_nodes = tree.features.size
        self.nodes: list[_Leaf | _Split] = []

    def plan(self) -> _Planner:
        self._place(0, {})
        return self

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """Feature and cell of every threshold."""
        splits = (node for node in self.nodes if isinstance(node, _Split))
        return [(split.feature, split.cut) for split in splits if split.cut is not None]

    def _place(self, node: int, reached: _Reached) -> int:
        """Place of a node of the heap in the list, with all below it behind it."""
        parting: _Parting | int = node
        while isinstance(parting, int):
            node = parting
            if node >= self._n_nodes:
                self.nodes.append(_Leaf(node - self._n_nodes))
                return len(self.nodes) - 1
            parting = self._part(node, reached)
        place, split = len(self.nodes), parting.split
        self.nodes.append(split)
        (left, right), (on_left, on_right) = parting.nodes, parting.reaches
        split.left = self._place(left, {**reached, split.feature: on_left})
        split.right = self._place(right, {**reached, split.feature: on_right})
        return place

    def _part(self, node: int, reached: _Reached) -> _Parting | int:
        """The split of a node, or the child that all go to."""
        feature = int(self._tree.features[node])
        if feature < 0:
            return 2 * node + 1
        codes, reach = self._features[feature], reached.get(feature)
        if codes.cells is None:
            live = np.arange(codes.n_codes) if reach is None else np.asarray(reach)
            return self._part_categories(node, feature, live)
        run = reach if isinstance(reach, _Run) else _Run(0, codes.n_places - 1, codes.has_missing)
        return self._part_cells(node, feature, run)

    def _part_categories(self, node: int, feature: int, live: NDArray[np.int64]) -> _Parting | int:
        left, codes = self._tree.goes_left(node, live), self._features[feature]
        if left.all() or not left.any():
            return 2 * node + 2 - int(left.any())
        on_left = live[left]
        split = _Split(
            feature, None, on_left[on_left < codes.n_places].tolist(),
            missing=codes.missing in on_left, unknown=codes.unknown in on_left,
        )  # fmt: skip
        return _Parting(split, (2 * node + 1, 2 * node + 2), (on_left, live[~left]))

    def _part_cells(self, node: int, feature: int, run: _Run) -> _Parting | int:
        codes, children = self._features[feature], (2 * node + 1, 2 * node + 2)
        sides = self._tree.goes_left(node, np.array([codes.missing, codes.unknown]))
        if run.low > run.high:  # only what is missing comes here
            return children[int(not sides[0])]
        last, swapped = _last_cell(*self._tree.left_run(node, run.low, run.high), run)
        if swapped:
            sides, children = ~sides, children[::-1]
        missing, unknown = sides.tolist()
        if last == run.high and (missing or not run.absent):
            return children[0]
        split = _Split(feature, None if last == run.high else last, None, missing, unknown)
        on_left = _Run(run.low, last, run.absent and missing)
        on_right = _Run(last + 1, run.high, run.absent and not missing)
        return _Parting(split, children, (on_left, on_right))


def _last_cell(first: int, last: int, run: _Run) -> tuple[int, bool]:
    """Up to which cell numbers go one way, and whether that is the way of the right child."""
    if last < first:
        return run.high, True
    if first == run.low:
        return last, False
    if last == run.high:
        return first - 1, True
    raise _no_threshold()


def _no_threshold() -> ModelFormatError:
    return ModelFormatError(
        "a split of an ordered feature is no threshold, so the model has no plain form. "
        "Store the model that was fitted again."
    )
