"""One tree of a plain model in words, for people: conditions, and what a leaf says.

All of it is read off the plain form (docs/plain_model.md) and the domain's declared facts, so it
holds released values alone. Numbers are rounded to six digits; the plain form has them exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.exceptions import ParameterError
from dpforest.plain.rule_words import rule_words

Plain = Mapping[str, Any]
Features = Sequence[NumericFeature | CategoricalFeature]

_SHARED = (
    "Near a cut a record has a share of both sides; what a leaf says is for records that lie in it "
    "as a whole."
)


class ShownNode(NamedTuple):
    """A node in words.

    Attributes
    ----------
    left_if, right_if : str
        Conditions of the two sides; of a leaf the first is what it says.
    left, right : int or None
        Places of the children; None at a leaf.
    """

    left_if: str
    right_if: str = ""
    left: int | None = None
    right: int | None = None


class ShownTree(NamedTuple):
    """A tree in words; the first node is the root."""

    title: str
    notes: tuple[str, ...]
    nodes: tuple[ShownNode, ...]

    def depth_below(self, place: int) -> int:
        """Splits on the longest way from a node to a leaf."""
        node = self.nodes[place]
        if node.left is None or node.right is None:
            return 0
        return 1 + max(self.depth_below(node.left), self.depth_below(node.right))


def shown_tree(content: Plain, features: Features, tree: int | None) -> ShownTree:
    """One tree of a plain model, or its rules.

    Parameters
    ----------
    content : mapping
        The plain form.
    features : sequence of Feature
        Of the domain.
    tree : int or None
        Number of the tree; None for the rules, or where there are none the first tree.

    Raises
    ------
    ParameterError
        If the model has no such tree.
    """
    rules, forest = _parts(content["score"])
    if rules is not None and tree is None:
        return _shown_rules(rules, content, features)
    trees = forest["trees"] if forest is not None else []
    number = 0 if tree is None else tree
    if not 0 <= number < len(trees):
        raise ParameterError(
            "tree", tree, _what_there_is(rules, forest, len(trees)), _repair(rules, trees)
        )
    return _shown_values(trees[number], number, forest, content, features)


def _parts(score: Plain) -> tuple[Plain | None, Plain | None]:
    """Rules and trees of a score, where it has them."""
    parts = score["parts"] if score["kind"] == "mix" else [score]
    found = {part["kind"]: part for part in parts}
    return found.get("rules"), found.get("trees")


def _what_there_is(rules: Plain | None, forest: Plain | None, n_trees: int) -> str:
    if n_trees:
        return f"the model has {n_trees} trees, counted from 0"
    if rules is not None:
        return "the model is one tree of rules, and has no other trees"
    if forest is not None and forest["start"]:
        return "the model is a sum of curves of single features, and has no trees"
    return "the model released no trees: the budget was enough for what holds for all records alike"


def _repair(rules: Plain | None, trees: Sequence[Any]) -> str:
    if trees:
        return f"Give a number from 0 to {len(trees) - 1}"
    if rules is not None:
        return "Leave tree out"
    return "Use explain(), whose plot draws how predictions go with each feature"


def _shown_rules(rules: Plain, content: Plain, features: Features) -> ShownTree:
    nodes: list[ShownNode] = []
    sums: dict[str, int] = {}
    for node in rules["nodes"]:
        if "probabilities" in node:
            nodes.append(ShownNode(_of_shares(node["probabilities"], content["link"])))
        else:
            sides = rule_words(node, content["features"], features, sums)
            nodes.append(ShownNode(*sides, node["left"], node["right"]))
    notes = [f"sum {number} adds: {words}." for words, number in sums.items()]
    if rules["steepness"] is not None:
        notes.append(_SHARED)
    return ShownTree("rules", tuple(notes), tuple(nodes))


def _of_shares(shares: Sequence[float], link: Plain) -> str:
    """Words of a leaf of rules: shares of the classes, or the mean of the target."""
    if link["kind"] == "mean":
        low, high = link["range"]
        return f"mean {low * shares[0] + high * shares[1]:.6g}"
    most = max(range(len(shares)), key=shares.__getitem__)
    return f"{link['classes'][most]}: {_by_class(shares, link['classes'], '{:.3g}')}"


def _shown_values(
    tree: Sequence[Plain], number: int, forest: Any, content: Plain, features: Features
) -> ShownTree:
    nodes = []
    for node in tree:
        if "values" in node:
            nodes.append(ShownNode(_of_values(node["values"], forest["columns"], content["link"])))
        else:
            left, right = _sides(
                node, content["features"][node["feature"]], features[node["feature"]]
            )
            nodes.append(ShownNode(left, right, node["left"], node["right"]))
    title = f"tree {number} of {len(forest['trees'])} (counted from 0)"
    return ShownTree(title, (_meaning(content["link"]),), tuple(nodes))


def _meaning(link: Plain) -> str:
    """Say what the numbers at leaves are."""
    if link["kind"] == "shares":
        return "A leaf adds to the votes of each class; all trees are added up."
    what = "the target's place between its bounds" if link["kind"] == "mean" else "each class"
    return f"A leaf adds to the log-odds of {what}; all trees are added up."


def _of_values(values: Sequence[float], columns: Sequence[int], link: Plain) -> str:
    names = ["low", "high"] if link["kind"] == "mean" else link["classes"]
    if len(values) == 1 and link["kind"] == "mean":
        return f"adds {values[0]:+.4g}"
    return "adds " + _by_class(values, [names[column] for column in columns], "{:+.4g}")


def _by_class(values: Sequence[float], names: Sequence[Any], form: str) -> str:
    return ", ".join(
        f"{name} {form.format(value)}" for name, value in zip(names, values, strict=True)
    )


def _sides(
    node: Plain, known: Plain, feature: NumericFeature | CategoricalFeature
) -> tuple[str, str]:
    """Conditions of the two sides of a split of one feature."""
    if node.get("categories") is not None:
        names = known["categories"]
        sides: list[list[str]] = [[], []]
        for place, name in enumerate(names):
            sides[place not in node["categories"]].append(str(name))
        if isinstance(feature, CategoricalFeature) and feature.other is None:
            sides[node["unknown"] != "left"].append("any other")
    else:
        cut = node["threshold"]
        sides = [["any number"], []] if cut is None else [[f"<= {cut:.6g}"], [f"> {cut:.6g}"]]
    if feature.missing:
        sides[node["missing"] != "left"].append("missing")
    left, right = (_condition(feature.name, side) for side in sides)
    return left, right


def _condition(name: str, side: Sequence[str]) -> str:
    if not side:
        return f"{name}: nothing"
    joined = " or ".join(side)
    return f"{name} {joined}" if side[0].startswith(("<", ">")) else f"{name} is {joined}"
