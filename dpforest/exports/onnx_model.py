"""A plain model as a graph of ONNX: records in by the names of their features, predictions out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpforest.checks import write_file
from dpforest.exceptions import ParameterError
from dpforest.exports.onnx_file import Port, model_bytes
from dpforest.exports.onnx_graph import Graph
from dpforest.exports.onnx_inputs import Inputs
from dpforest.exports.onnx_links import label_array, labels_of, means_of, probabilities_of
from dpforest.exports.onnx_rules import rules_scores
from dpforest.exports.onnx_trees import trees_scores
from dpforest.exports.parts import Document, Link, Rules, Trees, read_document, texts_of

#: Names of what comes out, as other writers of ONNX have them.
OF_CLASSES, OF_MEANS = ("label", "probabilities"), ("variable",)


def onnx_model(
    plain: str, path: str | Path | None = None, outputs: Sequence[str] | None = None
) -> bytes:
    """Write a plain model as ONNX.

    Parameters
    ----------
    plain : str
        What ``to_plain`` returned.
    path : str or Path, optional
        Where to write the file too; one that is there is replaced.
    outputs : sequence of str, optional
        Names of what comes out: labels and probabilities, or means.

    Returns
    -------
    bytes
        The file.

    Raises
    ------
    ParameterError
        An output has the name of a feature, or there are too many or too few; or a text of the
        domain holds U+0000.
    MissingExtraError
        Without the package onnx.
    """
    document = read_document(plain)
    names = _checked(outputs, document)
    _check_texts(document)
    graph = Graph.beside([*names, *(feature.name for feature in document.features)])
    inputs = Inputs(graph, document.features)
    _finish(graph, _scores(document.score, inputs, document.link), document.link, names)
    content = model_bytes(graph, _ports_in(document), _ports_out(document.link, names))
    if path is not None:
        write_file(path, content)
    return content


def _checked(outputs: Any, document: Document) -> tuple[str, ...]:
    """Names of outputs, all different and none that of a feature."""
    default = OF_CLASSES if document.link.classes else OF_MEANS
    names = default if outputs is None else outputs
    fits = isinstance(names, (list, tuple)) and all(isinstance(n, str) and n for n in names)
    if not fits or len(names) != len(default):
        raise ParameterError(
            "outputs", outputs, f"must be {len(default)} names", f"Write outputs={list(default)}"
        )
    taken = [*(feature.name for feature in document.features), *names]
    if len(set(taken)) < len(taken):
        raise ParameterError(
            "outputs", list(names), "must be names that differ from each other and from features",
            f"Write for instance outputs={[f'predicted_{name}' for name in default]}",
        )  # fmt: skip
    return tuple(names)


def _check_texts(document: Document) -> None:
    """Refuse names, categories and classes that runtimes would cut short."""
    for text, entry in texts_of(document):
        _check_text(text, entry)


def _check_text(text: str, entry: str) -> None:
    if "\0" in text:
        raise ParameterError(
            "domain", entry, "has a text with U+0000 in it, where runtimes of ONNX end a text",
            "Declare it without, and fit again, or use to_plain()",
        )  # fmt: skip


def _scores(score: Trees | Rules, inputs: Inputs, link: Link) -> str:
    if isinstance(score, Trees):
        return trees_scores(score, inputs, link.n_scores)
    return rules_scores(score, inputs)


def _finish(graph: Graph, scores: str, link: Link, names: tuple[str, ...]) -> None:
    if not link.classes:
        means_of(graph, scores, link, names[0])
        return
    label, probabilities = names
    labels_of(graph, probabilities_of(graph, scores, link, probabilities), link, label)


def _ports_in(document: Document) -> list[Port]:
    return [
        Port(feature.name, "f8", 1, "number; NaN is missing")
        if feature.is_numeric
        else Port(feature.name, "O", 1, "text of a category; an empty one is missing")
        for feature in document.features
    ]


def _ports_out(link: Link, names: tuple[str, ...]) -> list[Port]:
    if not link.classes:
        return [Port(names[0], "f8", 1, "expected target")]
    labels = label_array(link.classes).dtype.str
    return [
        Port(names[0], labels, None, "most probable class"),
        Port(names[1], "f8", len(link.classes), "probability of each class"),
    ]
