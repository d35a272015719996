"""Tensors made of a record's: numbers as they are, and codes that tables are looked up by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpforest.exports.onnx_graph import ML, Graph
from dpforest.exports.parts import Feature, Table
from dpforest.exports.spellings import spellings


class Inputs:
    """Features of a graph; codes are made where something asks for them, once.

    Parameters
    ----------
    graph : Graph
    features : sequence of Feature
    """

    def __init__(self, graph: Graph, features: Sequence[Feature]) -> None:
        self.graph, self.features = graph, features
        self._codes: dict[int, str] = {}

    def number(self, place: int) -> str:
        """Values of a numeric feature: doubles of shape (n, 1), NaN where missing."""
        return self.features[place].name

    def code(self, place: int) -> str:
        """Codes of a feature, int64 of shape (n,).

        A cell or category by its place; then one for missing, and of a category one for unknown.
        """
        if place not in self._codes:
            make = self._cell if self.features[place].is_numeric else self._position
            self._codes[place] = make(self.features[place])
        return self._codes[place]

    def looked_up(self, place: int, rows: Any, dtype: Any = np.float64) -> str:
        """Rows of a table by the codes of a feature: shape (n, columns).

        Parameters
        ----------
        place : int
            Of the feature.
        rows : array of shape (n_codes, columns)
        dtype : dtype
        """
        table = self.graph.constant(rows, dtype)
        return self.graph.add("Gather", table, self.code(place), axis=0)

    def expanded(self, row: Sequence[float]) -> str:
        """The same row for all records: shape (n, len(row))."""
        shape = self.graph.add("Shape", self.features[0].name)
        return self.graph.add("Expand", self.graph.constant([row]), shape)

    def _position(self, feature: Feature) -> str:
        known = spellings(feature)
        assert feature.categories is not None
        found = self.graph.add(
            "LabelEncoder", feature.name, domain=ML, keys_strings=list(known),
            values_int64s=list(known.values()), default_int64=len(feature.categories) + 1,
        )  # fmt: skip
        return self.graph.add("Squeeze", found, self.graph.places([1]))

    def _cell(self, feature: Feature) -> str:
        """Number of edges below a number; NaN lies above none, and gets the code of missing."""
        graph, edges = self.graph, feature.edges or ()
        # IsNaN of doubles came to onnxruntime with 1.14; comparisons have always been there.
        number = graph.add("LessOrEqual", feature.name, graph.constant(np.inf))
        missing = graph.add("Cast", graph.add("Not", number), to_type=np.int64)
        code = graph.add("Mul", missing, graph.places([len(edges) + 1]))
        if edges:
            below = graph.add("Less", graph.constant([edges]), feature.name)
            count = graph.add("Cast", below, to_type=np.int64)
            count = graph.add("ReduceSum", count, graph.places([1]), keepdims=1)
            code = graph.add("Add", count, code)
        return graph.add("Squeeze", code, graph.places([1]))


def rows_of(table: Table, feature: Feature) -> list[Any]:
    """Entries of a table in the order of a feature's codes; a number is never unknown."""
    beyond = [table.missing] if feature.is_numeric else [table.missing, table.unknown]
    return [*table.places, *beyond]
