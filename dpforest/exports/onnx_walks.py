"""Trees as arrays that all records walk down together, a level at a time.

At each node a record goes to the first or the second of two children that lie side by side, by one
test of one feature. Tests that several nodes share are made once, as a column of truth values.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from dpforest.exports.parts import Feature, Leaf, Split, Tree


@dataclass(frozen=True, slots=True)
class NumberTest:
    """True for numbers up to a limit, or for those above it; never for NaN."""

    feature: int
    limit: float
    above: bool


@dataclass(frozen=True, slots=True)
class CodeTest:
    """Truth by the code of a category; never for a missing one."""

    feature: int
    truths: tuple[bool, ...]


Test = NumberTest | CodeTest


def test_of(split: Split, feature: Feature) -> tuple[Test, int, int]:
    """A split as a test, with the children of those who fail it and of those who pass.

    A missing value fails, whichever side it goes to: so comparisons with NaN, which are false, say
    what is meant.
    """
    sides = (split.left, split.right) if split.missing_left else (split.right, split.left)
    if feature.categories is None:
        limit = math.inf if split.threshold is None else split.threshold
        return NumberTest(split.feature, limit, above=split.missing_left), *sides
    assert split.categories is not None
    left = [place in split.categories for place in range(len(feature.categories))]
    left += [split.missing_left, split.unknown_left]
    truths = tuple(side != split.missing_left for side in left)
    return CodeTest(split.feature, truths), *sides


@dataclass(slots=True)
class Walks:
    """Nodes of some trees, all of which split at the root.

    Attributes
    ----------
    features : sequence of Feature
        Those that the tests look at.
    roots : list of int
    test, child, leaf : list of int
        By node: which test; the first of two children, or the node itself at a leaf; the leaf's
        place in ``values``.
    values : list of tuple of float
        What leaves add; equal ones are kept once.
    depth : int
        Levels of splits on the longest way.
    tests : dict of Test to int
        Number of each test. The first is one that all fail: leaves have it.
    """

    features: Sequence[Feature]
    roots: list[int] = field(default_factory=list)
    test: list[int] = field(default_factory=list)
    child: list[int] = field(default_factory=list)
    leaf: list[int] = field(default_factory=list)
    depth: int = 0
    tests: dict[Test, int] = field(default_factory=dict)
    _values: dict[tuple[float, ...], int] = field(default_factory=dict)

    @property
    def values(self) -> list[tuple[float, ...]]:
        """Values that leaves add."""
        return list(self._values)

    def take(self, tree: Tree) -> None:
        """Append one tree."""
        root = tree[0]
        assert isinstance(root, Split)
        if not self.tests:
            self.tests[_never(root.feature, self.features[root.feature])] = 0
        self.roots.append(self._room(1))
        waiting = deque([(0, self.roots[-1], 0)])
        while waiting:
            own, place, level = waiting.popleft()
            node = tree[own]
            if isinstance(node, Leaf):
                self.leaf[place] = self._values.setdefault(node.values, len(self._values))
                self.depth = max(self.depth, level)
                continue
            test, *children = test_of(node, self.features[node.feature])
            self.test[place] = self.tests.setdefault(test, len(self.tests))
            self.child[place] = first = self._room(2)
            waiting.extend((own, first + k, level + 1) for k, own in enumerate(children))

    def columns(self) -> tuple[list[list[Test]], list[int]]:
        """Tests by feature and kind, and the column of each by its number, the groups in a row."""
        groups: dict[tuple[int, bool], list[Test]] = {}
        for test in self.tests:
            above = isinstance(test, NumberTest) and test.above
            groups.setdefault((test.feature, above), []).append(test)
        in_order = [test for group in groups.values() for test in group]
        column = {test: place for place, test in enumerate(in_order)}
        return list(groups.values()), [column[test] for test in self.tests]

    def _room(self, n: int) -> int:
        """Place of the first of new nodes, leaves until something else is known of them."""
        first = len(self.child)
        self.child.extend(range(first, first + n))
        self.test.extend([0] * n)
        self.leaf.extend([0] * n)
        return first


def _never(place: int, feature: Feature) -> Test:
    """A test that no record passes."""
    if feature.categories is None:
        return NumberTest(place, math.inf, above=True)
    return CodeTest(place, (False,) * (len(feature.categories) + 2))


def walks_of(trees: Sequence[Tree], features: Sequence[Feature], at_once: int) -> list[Walks]:
    """Trees that split, some at a time so that a prediction's memory is bounded."""
    found = []
    for start in range(0, len(trees), at_once):
        walks = Walks(features)
        for tree in trees[start : start + at_once]:
            walks.take(tree)
        found.append(walks)
    return found
