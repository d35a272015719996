"""Rules in a graph of ONNX: every leaf's share of a record, and scores from the shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.exports.onnx_graph import Graph
from dpforest.exports.onnx_inputs import Inputs, rows_of
from dpforest.exports.parts import Leaf, Rule, Rules

#: Beyond this an exponential is as good as 0 or infinity.
_LARGEST_STEPS = 700.0


@dataclass(frozen=True, slots=True)
class Level:
    """Nodes at one distance from the root.

    Attributes
    ----------
    parents : list of int
        Place of each node's parent at the level above.
    edges : list of int
        What hands a record down: number k of the rules to the left, n_rules + k to the right.
    leaves : list of int
        Places at this level of those that are leaves.
    """

    parents: list[int]
    edges: list[int]
    leaves: list[int]


def rules_scores(part: Rules, inputs: Inputs) -> str:
    """Scores of rules: the logarithms of mixed probabilities, of shape (n, n_scores)."""
    graph = inputs.graph
    rules = {place: node for place, node in enumerate(part.nodes) if isinstance(node, Rule)}
    if not rules:
        return inputs.expanded(np.log([_values(part, 0)])[0].tolist())
    levels, leaves = _levels(part, {place: k for k, place in enumerate(rules)})
    sums = _sums(list(rules.values()), inputs)
    shares = _shared(graph, _passed(graph, list(rules.values()), sums), levels)
    if part.steepness is not None:
        soft = _shared(graph, _passed_softly(graph, list(rules.values()), sums, part), levels)
        shares = _mixed(graph, soft, shares, part.hard_weight, len(leaves))
    values = graph.constant([_values(part, leaf) for leaf in leaves])
    return graph.add("Log", graph.add("MatMul", shares, values))


def sigmoid(graph: Graph, score: str) -> str:
    """1 / (1 + exp(-score))."""
    limits = graph.constant(-_LARGEST_STEPS), graph.constant(_LARGEST_STEPS)
    clipped = graph.add("Clip", score, *limits)
    one = graph.constant(1.0)
    return graph.add("Div", one, graph.add("Add", one, graph.add("Exp", graph.add("Neg", clipped))))


def _values(part: Rules, place: int) -> tuple[float, ...]:
    leaf = part.nodes[place]
    assert isinstance(leaf, Leaf)
    return leaf.values


def _levels(part: Rules, number: dict[int, int]) -> tuple[list[Level], list[int]]:
    """Levels below the root, and all leaves in the order in which levels name them."""
    levels: list[Level] = []
    leaves: list[int] = []
    above = [0]
    while any(place in number for place in above):
        level, below = Level([], [], []), list[int]()
        for parent, place in enumerate(above):
            rule = part.nodes[place]
            if isinstance(rule, Rule):
                level.parents.extend((parent, parent))
                level.edges.extend((number[place], len(number) + number[place]))
                below.extend((rule.left, rule.right))
        level.leaves.extend(k for k, place in enumerate(below) if place not in number)
        leaves.extend(below[k] for k in level.leaves)
        levels.append(level)
        above = below
    return levels, leaves


def _sums(rules: list[Rule], inputs: Inputs) -> str:
    """Sums of what features add to each rule: shape (n, n_rules), whole numbers."""
    rows: dict[int, NDArray[np.float64]] = {}
    for number, rule in enumerate(rules):
        for table in rule.tables:
            own = np.array(rows_of(table, inputs.features[table.feature]), dtype=np.float64)
            known = rows.setdefault(table.feature, np.zeros((own.size, len(rules))))
            known[:, number] += own
    nothing = [inputs.expanded([0.0] * len(rules))]
    return inputs.graph.total(
        [inputs.looked_up(place, table) for place, table in rows.items()] or nothing
    )


def _passed(graph: Graph, rules: list[Rule], sums: str) -> str:
    """1 where a record goes right as a whole, else 0."""
    beyond = graph.add("Greater", sums, _row(graph, rules, lambda rule: rule.threshold))
    return graph.add("Cast", beyond, to_type=np.float64)


def _passed_softly(graph: Graph, rules: list[Rule], sums: str, part: Rules) -> str:
    """Share of a record that goes right."""
    assert part.steepness is not None
    beyond = graph.add("Sub", sums, _row(graph, rules, lambda rule: rule.threshold))
    beyond = graph.add("Sub", beyond, graph.constant(0.5))
    steps = graph.add("Div", beyond, _row(graph, rules, lambda rule: rule.width))
    return sigmoid(graph, graph.add("Mul", graph.constant(part.steepness), steps))


def _row(graph: Graph, rules: list[Rule], of: Callable[[Rule], int]) -> str:
    return graph.constant([[float(of(rule)) for rule in rules]])


def _shared(graph: Graph, right: str, levels: list[Level]) -> str:
    """Share of each leaf: what is handed down on its way, multiplied from the root on."""
    handed = graph.joined([graph.add("Sub", graph.constant(1.0), right), right])
    found, above = [], ""
    for level in levels:
        own = graph.columns(handed, level.edges)
        above = graph.add("Mul", graph.columns(above, level.parents), own) if above else own
        if level.leaves:
            found.append(graph.columns(above, level.leaves))
    return graph.joined(found)


def _mixed(graph: Graph, soft: str, hard: str, weight: float, n_leaves: int) -> str:
    """Both shares of each leaf by their weights.

    The weights are rows: onnxruntime 1.27 to 1.30 join a product of matrices with a single number
    beside it to one operator, in which the number has single precision (MatMulScaleFusion).
    """
    own, both = graph.constant([[weight] * n_leaves]), graph.constant([[1.0 + weight] * n_leaves])
    return graph.add("Div", graph.add("Add", soft, graph.add("Mul", own, hard)), both)
