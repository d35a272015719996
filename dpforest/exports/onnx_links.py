"""From scores to what a graph of ONNX gives: probabilities and labels, or means."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exports.onnx_graph import Graph
from dpforest.exports.onnx_rules import sigmoid
from dpforest.exports.parts import Label, Link

#: Whole numbers that a tensor of 64 bits holds.
_LARGEST_WHOLE = 2**63


def probabilities_of(graph: Graph, scores: str, link: Link, to: str) -> str:
    """Probabilities of the classes: shape (n, n_classes)."""
    if link.kind == "softmax":
        largest = graph.add("ReduceMax", scores, axes=[1], keepdims=1)
        scores = graph.add("Exp", graph.add("Sub", scores, largest))
    total = graph.add("ReduceSum", scores, graph.places([1]), keepdims=1)
    return graph.add("Div", scores, total, to=to)


def labels_of(graph: Graph, probabilities: str, link: Link, to: str) -> str:
    """The most probable class of each record, of several the first: shape (n,)."""
    labels = label_array(link.classes)
    place = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    return graph.add("Gather", graph.constant(labels, labels.dtype), place, axis=0, to=to)


def label_array(classes: Sequence[Label]) -> NDArray[Any]:
    """Labels as a tensor holds them.

    All bool, all whole numbers of 64 bits, or all doubles stay what they are; all else is text, as
    whole numbers beside doubles are where one is no double.
    """
    if all(isinstance(label, bool) for label in classes):
        return np.array(classes, dtype=np.bool_)
    if any(isinstance(label, (bool, str)) for label in classes):
        return np.array([str(label) for label in classes], dtype=object)
    if all(map(_is_whole, classes)):
        return np.array(classes, dtype=np.int64)
    if any(isinstance(label, float) for label in classes) and all(map(_is_double, classes)):
        return np.array(classes, dtype=np.float64)
    return np.array([str(label) for label in classes], dtype=object)


def _is_whole(label: Label) -> bool:
    return isinstance(label, int) and -_LARGEST_WHOLE <= label < _LARGEST_WHOLE


def _is_double(label: Label) -> bool:
    """Tell whether a number is a double, without a digit lost."""
    with suppress(OverflowError):
        return float(label) == label
    return False


def means_of(graph: Graph, scores: str, link: Link, to: str) -> str:
    """The expected target: shape (n, 1)."""
    difference = graph.add("Sub", graph.columns(scores, [1]), graph.columns(scores, [0]))
    high = sigmoid(graph, difference)
    low = graph.add("Sub", graph.constant(1.0), high)
    return graph.add(
        "Add",
        graph.add("Mul", graph.constant(link.low), low),
        graph.add("Mul", graph.constant(link.high), high),
        to=to,
    )
