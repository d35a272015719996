"""A released private forest as plain JSON that any language can follow: docs/plain_model.md.

Splits of values, leaf values, a link; no codes of ours, no hexadecimal, no ledger. It predicts as
the forest does, up to the rounding of sums, and no estimator is made of it again.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.checks import write_file
from dpforest.domain.cells import PublicCells
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature
from dpforest.plain.codes import FeatureCodes
from dpforest.plain.reader import FORMAT, VERSION
from dpforest.plain.trees import MaskedSplits, RangedSplits, plain_trees

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """Predictions that scores become.

    Attributes
    ----------
    content : dict
        As it stands in the file; classes in the order of ``classes_``.
    order : sequence of int
        Which class of the domain each column of the file is.
    """

    content: Plain
    order: Sequence[int]


def plain_model(
    encoder: DomainEncoder, strategy: str, model: Any, link: Link, path: str | Path | None = None
) -> str:
    """Write a released model as plain JSON.

    Parameters
    ----------
    encoder : DomainEncoder
        What gives values their codes.
    strategy : str
        Which kind of model.
    model : ReleasedModel
    link : Link
    path : str or Path, optional
        Where to write the text too; a file that is there is replaced.
    """
    features = [FeatureCodes.of(encoder, place) for place in range(len(encoder.domain.features))]
    writer = _Writer(features, link.order)
    score = writer.score(strategy, model)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "digits": _zeros(),
        "features": [_feature(encoder, place, place in writer.in_tables) for place in
                     range(len(features))],
        "score": score,
        "link": link.content,
    }  # fmt: skip
    text = json.dumps(content, allow_nan=False)
    if path is not None:
        write_file(path, text)
    return text


@cache
def _zeros() -> str:
    """The zero of every script whose digits read as digits: nine more follow each."""
    characters = map(chr, range(sys.maxunicode + 1))
    return "".join(c for c in characters if unicodedata.decimal(c, None) == 0)


def _feature(encoder: DomainEncoder, place: int, in_tables: bool) -> Plain:
    """Describe how a feature's value is read; its edges only where a table needs its cell."""
    feature, cells = encoder.domain.features[place], encoder.cells[place]
    if isinstance(feature, CategoricalFeature):
        numbers = "values" if feature.holds_numbers else "positions"
        known: Plain = {"numbers": numbers, "categories": list(feature.categories)}
    else:
        known = {"numbers": "values"}
        if in_tables:
            assert isinstance(cells, PublicCells)
            known["edges"] = cells.edges.tolist()
    return {"name": feature.name, "kind": feature.kind, **known}


class _Writer:
    """Scores of every strategy, columns in the order of the file's classes."""

    def __init__(self, features: Sequence[FeatureCodes], order: Sequence[int]) -> None:
        self._features = features
        self._order = [int(k) for k in order]
        #: Features whose cells some table looks at.
        self.in_tables: set[int] = set()

    def score(self, strategy: str, model: Any) -> Plain:
        """The score of a model of this strategy."""
        writers: dict[str, Callable[[Any], Plain]] = {
            "rules": self._rules,
            "one_shot": self._one_shot,
            "refitted": self._refitted,
            "boosted": self._boosted,
            "additive": self._additive,
            "multinomial": self._multinomial,
        }
        return writers[strategy](model)

    def _one_shot(self, model: Any) -> Plain:
        return self._masked(model.base, None, model.trees, model.values)

    def _refitted(self, model: Any) -> Plain:
        return self._masked(model.base, self._start(model), model.trees, model.steps)

    def _boosted(self, model: Any) -> Plain:
        return self._trees(model.base, self._start(model), _ranged(model), model.steps)

    def _additive(self, model: Any) -> Plain:
        return self._trees(model.base, self._start(model), [], np.zeros((0, 0, model.base.size)))

    def _multinomial(self, model: Any) -> Plain:
        return self._trees(model.values.base, None, _ranged(model.forest), model.values.values)

    def _masked(self, base: Any, start: Any, trees: Any, values: Any) -> Plain:
        splits = [
            MaskedSplits(trees.feature[number], trees.mask[number])
            for number in range(trees.n_trees)
        ]
        return self._trees(base, start, splits, values)

    def _trees(
        self, base: NDArray[np.float64], start: Any, trees: Sequence[Any], values: Any
    ) -> Plain:
        own = self._columns(base.size)
        # One entry is the score of the second class of the domain; the first's is 0.
        columns = [self._order.index(1)] if base.size == 1 else list(range(base.size))
        return {
            "kind": "trees",
            "columns": columns,
            "base": base[own].tolist(),
            "start": start,
            "trees": plain_trees(trees, values[:, :, own], self._features),
        }

    def _start(self, model: Any) -> list[Plain] | None:
        """Tables of what each feature adds by its codes, where they add something."""
        if model.code_values is None:
            return None
        columns = self._columns(model.code_values.shape[1])
        parts = np.split(model.code_values[:, columns], model.offsets[1:-1])
        return [self._table(place, part) for place, part in enumerate(parts)]

    def _columns(self, n: int) -> list[int]:
        return [0] if n == 1 else self._order

    def _rules(self, model: Any) -> Plain:
        from dpforest.trees.rules.model import HARD_WEIGHT

        nodes: list[Plain] = []
        self._place_rule(model, 0, nodes)
        return {
            "kind": "rules",
            "steepness": model.steepness,
            "hard_weight": HARD_WEIGHT,
            "nodes": nodes,
        }

    def _place_rule(self, model: Any, node: int, nodes: list[Plain]) -> int:
        """Place of a node of the heap in the list; one that sends all left has none."""
        while node < len(model.nodes) and model.nodes[node] is None:
            node = 2 * node + 1
        place = len(nodes)
        if node >= len(model.nodes):
            own = model.probabilities[node - len(model.nodes), self._order]
            nodes.append({"probabilities": own.tolist()})
            return place
        nodes.append(self._rule(model.nodes[node]))
        nodes[place]["left"] = self._place_rule(model, 2 * node + 1, nodes)
        nodes[place]["right"] = self._place_rule(model, 2 * node + 2, nodes)
        return place

    def _rule(self, node: Any) -> Plain:
        direction = node.direction
        tables = zip(direction.features, direction.tables, strict=True)
        return {
            "sum": [self._table(int(feature), table) for feature, table in tables],
            "threshold": int(node.threshold),
            "width": int(direction.width),
        }

    def _table(self, place: int, by_code: NDArray[Any]) -> Plain:
        """Scores that each cell or category of a feature adds, and missing and unknown values."""
        codes = self._features[place]
        self.in_tables.add(place)
        return {
            "feature": place,
            "places": by_code[: codes.n_places].tolist(),
            "missing": by_code[codes.missing].tolist(),
            "unknown": by_code[codes.unknown].tolist(),
        }


def _ranged(forest: Any) -> list[RangedSplits]:
    """Splits of trees that send ranges of codes left."""
    return [
        RangedSplits(forest.feature[t], forest.low[t], forest.high[t])
        for t in range(forest.n_trees)
    ]
