"""Sums of trees in a graph of ONNX.

Plain operators in doubles: up to version 3 of ai.onnx.ml its trees write single precision.
"""

from __future__ import annotations

import numpy as np

from dpforest.exports.onnx_graph import Graph
from dpforest.exports.onnx_inputs import Inputs, rows_of
from dpforest.exports.onnx_walks import CodeTest, NumberTest, Test, Walks, walks_of
from dpforest.exports.parts import Leaf, Tree, Trees

#: Leaves' numbers of one record that a prediction holds at once.
_VALUES_AT_ONCE = 512


def trees_scores(part: Trees, inputs: Inputs, n_scores: int) -> str:
    """Scores of trees: shape (n, n_scores).

    Parameters
    ----------
    part : Trees
    inputs : Inputs
    n_scores : int
        How many columns there are; those that the trees do not add to are 0.
    """
    graph, width = inputs.graph, len(part.base)
    terms = [inputs.expanded(_constant(part))]
    for table in part.start:
        rows = rows_of(table, inputs.features[table.feature])
        terms.append(inputs.looked_up(table.feature, rows))
    trees = [tree for tree in part.trees if len(tree) > 1]
    for walks in walks_of(trees, inputs.features, max(16, _VALUES_AT_ONCE // width)):
        terms.append(_added_by(walks, inputs))
    return _in_columns(inputs, graph.total(terms), part.columns, n_scores)


def _constant(part: Trees) -> list[float]:
    """The base, and what trees without a split add."""
    total = list(part.base)
    for tree in part.trees:
        if _is_leaf(tree):
            assert isinstance(tree[0], Leaf)
            total = [own + value for own, value in zip(total, tree[0].values, strict=True)]
    return total


def _is_leaf(tree: Tree) -> bool:
    return len(tree) == 1


def _in_columns(inputs: Inputs, scores: str, columns: tuple[int, ...], n_scores: int) -> str:
    """Columns in their places, and zeros elsewhere."""
    if columns == tuple(range(n_scores)):
        return scores
    graph, zero = inputs.graph, len(columns)
    both = graph.joined([scores, inputs.expanded([0.0])])
    places = [columns.index(k) if k in columns else zero for k in range(n_scores)]
    return graph.columns(both, places)


def _added_by(walks: Walks, inputs: Inputs) -> str:
    """Sum of the values of the leaves where each record ends: shape (n, width)."""
    graph = inputs.graph
    leaf = graph.add("Gather", _whole(graph, walks.leaf), _walked(walks, inputs), axis=0)
    values = graph.add("Gather", graph.constant(walks.values), leaf, axis=0)
    return graph.add("ReduceSum", values, graph.places([1]), keepdims=0)


def _walked(walks: Walks, inputs: Inputs) -> str:
    """Nodes where each record ends, by tree: int32 of shape (n, n_trees)."""
    graph = inputs.graph
    groups, column_of = walks.columns()
    truths = graph.joined([_truths_of(group, inputs) for group in groups])
    columns = [column_of[number] for number in walks.test]
    passed = graph.columns(truths, [columns[root] for root in walks.roots])
    node = _moved(graph, _whole(graph, [walks.child[root] for root in walks.roots]), passed)
    for _ in range(walks.depth - 1):
        test = graph.add("Gather", _whole(graph, columns), node, axis=0)
        passed = graph.add("GatherElements", truths, test, axis=1)
        child = graph.add("Gather", _whole(graph, walks.child), node, axis=0)
        node = _moved(graph, child, passed)
    return node


def _moved(graph: Graph, child: str, passed: str) -> str:
    """The second of two children where the test is passed."""
    return graph.add("Add", child, graph.add("Cast", passed, to_type=np.int32))


def _whole(graph: Graph, values: list[int]) -> str:
    return graph.constant(values, np.int32)


def _truths_of(group: list[Test], inputs: Inputs) -> str:
    """Answers of each record to tests of one feature and one kind: bool of shape (n, n_tests)."""
    first, graph = group[0], inputs.graph
    if isinstance(first, CodeTest):
        rows = np.array([test.truths for test in group if isinstance(test, CodeTest)])
        return inputs.looked_up(first.feature, rows.T, np.bool_)
    limits = graph.constant([[test.limit for test in group if isinstance(test, NumberTest)]])
    kind = "Greater" if first.above else "LessOrEqual"
    return graph.add(kind, inputs.number(first.feature), limits)
