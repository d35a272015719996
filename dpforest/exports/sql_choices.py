"""Trees as CASE expressions that nest little, however deep the trees are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpforest.exports.parts import Leaf, Rule, Split
from dpforest.exports.sql_words import double, number

#: A condition of going left, and its opposite; or the answer where all records go one way.
Test = tuple[str, str] | bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that conditions choose.

    Attributes
    ----------
    cases : str
        ``WHEN … THEN …``, in a row; empty where the value is one for all.
    otherwise : float
        The value where no condition holds.
    depth : int
        How deep expressions lie in each other.
    """

    cases: str
    otherwise: float
    depth: int = 0

    @property
    def text(self) -> str:
        """An expression of SQL, a double."""
        if not self.cases:
            return number(self.otherwise)
        return f"CASE {self.cases} ELSE {double(self.otherwise)} END"


def chosen(test: Test, left: Choice, right: Choice) -> Choice:
    """The left value where a test holds, else the right one.

    The shallower goes in the middle, the other joins its conditions at the end. So the depth grows
    by one only where two equally deep ones meet: it is at most the logarithm of the leaves.
    SQLite's parser has room for about 20.
    """
    if isinstance(test, bool) or left == right:
        return left if test else right
    holds, fails = test
    if left.depth > right.depth:
        holds, left, right = fails, right, left
    cases = f"WHEN {holds} THEN {left.text}" + (f" {right.cases}" if right.cases else "")
    depth = max(left.depth + 1, right.depth)
    return Choice(cases, right.otherwise, depth)


def tree_choice(
    nodes: Sequence[Split | Rule | Leaf], column: int, test_of: Callable[[int], Test]
) -> Choice:
    """One column of a tree's leaves.

    Parameters
    ----------
    nodes : sequence of Split, Rule or Leaf
        Parents before their children.
    column : int
    test_of : callable
        The test of the node at a place.
    """
    found: dict[int, Choice] = {}
    for place in reversed(range(len(nodes))):
        node = nodes[place]
        if isinstance(node, Leaf):
            found[place] = Choice("", node.values[column])
        else:
            left, right = found.pop(node.left), found.pop(node.right)
            found[place] = chosen(test_of(place), left, right)
    return found[0]
