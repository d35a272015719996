"""A released private forest as plain JSON that any language can follow: docs/plain_model.md.

Codes of values, nodes with the codes that go left, leaf values, a link; no hexadecimal, no ledger.
It predicts as the forest does, up to the rounding of sums, and is not read back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature

FORMAT = "dpforest-plain"
VERSION = 1

Plain = dict[str, Any]


def plain_model(
    encoder: DomainEncoder, strategy: str, model: Any, link: Plain, path: str | Path | None = None
) -> str:
    """Write a released model as plain JSON.

    Parameters
    ----------
    encoder : DomainEncoder
        What gives values their codes.
    strategy : str
        Which kind of model.
    model : ReleasedModel
    link : dict
        What scores become.
    path : str or Path, optional
        Where to write the text too.
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "features": [_feature(encoder, place) for place in range(len(encoder.domain.features))],
        "score": _WRITERS[strategy](model, encoder.n_codes),
        **link,
    }
    text = json.dumps(content, allow_nan=False)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _feature(encoder: DomainEncoder, place: int) -> Plain:
    """How a value of a feature becomes a code."""
    feature, cells = encoder.domain.features[place], encoder.cells[place]
    last = int(encoder.n_codes[place]) - 1
    if isinstance(feature, CategoricalFeature):
        other, n = feature.other, len(feature.categories)
        unknown = n if other is None else feature.categories.index(other)
        known: Plain = {"categories": list(feature.categories)}
    else:
        assert cells is not None
        n = last + 1 - cells.has_missing_code
        middle = feature.lower + (feature.upper - feature.lower) / 2
        unknown = int(cells.encode(np.array([middle]))[0])
        known = {"edges": [cells.threshold(code) for code in range(n - 1)]}
    missing = last if feature.missing else unknown
    return {"name": feature.name, **known, "unknown": unknown, "missing": missing}


def _one_shot(model: Any, n_codes: NDArray[np.int64]) -> Plain:
    trees = _masked_trees(model.trees, model.values, n_codes)
    return {"kind": "sum", "base": model.base.tolist(), "codes": None, "trees": trees}


def _refitted(model: Any, n_codes: NDArray[np.int64]) -> Plain:
    codes = None
    if model.code_values is not None:
        parts = np.split(model.code_values, model.offsets[1:-1])
        codes = [part.tolist() for part in parts]
    trees = _masked_trees(model.trees, model.steps, n_codes)
    return {"kind": "sum", "base": model.base.tolist(), "codes": codes, "trees": trees}


def _multinomial(model: Any, n_codes: NDArray[np.int64]) -> Plain:
    from dpforest.trees.leaf_values import leaf_values

    forest, values = model.forest, leaf_values(model.forest)
    trees = []
    for number in range(forest.n_trees):
        split = forest.feature[number] >= 0
        low = np.where(split, forest.low[number], 0)
        # Where nothing could be split, every record goes left.
        high = np.where(split, forest.high[number], n_codes[0] - 1)
        left = [[[int(a), int(b)]] if a <= b else [] for a, b in zip(low, high, strict=True)]
        feature = np.where(split, forest.feature[number], 0).tolist()
        trees.append({"feature": feature, "left": left, "values": values.values[number].tolist()})
    return {"kind": "sum", "base": values.base.tolist(), "codes": None, "trees": trees}


def _rules(model: Any, n_codes: NDArray[np.int64], graded: bool = True) -> Plain:
    from dpforest.learners.rules.model import HARD_WEIGHT, STEEPNESS

    nodes = [None if node is None else _rule(node) for node in model.nodes]
    return {
        "kind": "rules",
        "nodes": nodes,
        "probabilities": model.probabilities.tolist(),
        "steepness": STEEPNESS if graded else None,
        "hard_weight": HARD_WEIGHT,
    }


def _rule(node: Any) -> Plain:
    direction = node.direction
    return {
        "features": list(direction.features),
        "adds": [table.tolist() for table in direction.tables],
        "threshold": node.threshold,
        "width": direction.width,
    }


def _combined(model: Any, n_codes: NDArray[np.int64]) -> Plain:
    parts = [_rules(model.rules, n_codes, graded=False), _one_shot(model.forest, n_codes)]
    a, b = model.weights
    base = (1.0 - a - b) * model.log_prior
    return {"kind": "mix", "base": base.tolist(), "weights": [a, b], "parts": parts}


def _selected(model: Any, n_codes: NDArray[np.int64]) -> Plain:
    return _WRITERS[model.strategy](model.model, n_codes)


_WRITERS: dict[str, Callable[[Any, NDArray[np.int64]], Plain]] = {
    "rules": _rules,
    "one_shot": _one_shot,
    "refitted": _refitted,
    "combined": _combined,
    "multinomial": _multinomial,
    "private_selection": _selected,
}


def _masked_trees(
    trees: Any, values: NDArray[np.float64], n_codes: NDArray[np.int64]
) -> list[Plain]:
    """Trees with the runs of codes that go left."""
    return [
        {
            "feature": trees.feature[number].tolist(),
            "left": [
                _runs(mask, int(n_codes[feature]))
                for feature, mask in zip(trees.feature[number], trees.mask[number], strict=True)
            ],
            "values": values[number].tolist(),
        }
        for number in range(trees.n_trees)
    ]


def _runs(mask: NDArray[np.uint64], n_codes: int) -> list[list[int]]:
    """First and last code of every run of set bits."""
    bits = np.unpackbits(mask.astype("<u8").view(np.uint8), bitorder="little")[:n_codes]
    edges = np.flatnonzero(np.diff(bits, prepend=0, append=0))
    return [[int(first), int(end) - 1] for first, end in edges.reshape(-1, 2)]
