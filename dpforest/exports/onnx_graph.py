"""A graph of ONNX as it is written: operators, constants, and names that no feature has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Versions that runtimes have read since 2021; a later one would bring nothing that is used here.
OPSET, ML_OPSET, IR_VERSION = 13, 2, 7
#: The operators' domain of machine learning; of it the look-up of texts alone is used.
ML = "ai.onnx.ml"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: what it reads, the one tensor that it writes, its attributes."""

    kind: str
    inputs: tuple[str, ...]
    output: str
    domain: str
    attributes: dict[str, Any]


@dataclass(slots=True)
class Graph:
    """Operators in the order in which they run.

    Attributes
    ----------
    prefix : str
        Of all names that are made here; no feature and no output begins with it.
    operators : list of Operator
    constants : dict of str to array
        By name; equal ones are kept once.
    """

    prefix: str
    operators: list[Operator] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    _names: dict[Any, str] = field(default_factory=dict)

    @classmethod
    def beside(cls, names: Sequence[str]) -> Graph:
        """An empty graph whose own names differ from these."""
        prefix = "t"
        while any(name.startswith(prefix) for name in names):
            prefix += "_"
        return cls(prefix)

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """A tensor of fixed values; an object array holds texts."""
        array = np.asarray(values, dtype=dtype)
        content = tuple(array.ravel()) if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._names:
            self._names[key] = f"{self.prefix}_constant_{len(self.constants)}"
            self.constants[self._names[key]] = array
        return self._names[key]

    def places(self, values: Sequence[int]) -> str:
        """Whole numbers of 64 bits, as axes and shapes are."""
        return self.constant(values, np.int64)

    def add(
        self, kind: str, *inputs: str, to: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        """Append an operator.

        Parameters
        ----------
        kind : str
            Its name in ONNX.
        *inputs : str
            Names of tensors.
        to : str, optional
            Name of what it writes; a new one without.
        domain : str
            Of the operator.
        **attributes
            Of the operator.

        Returns
        -------
        str
            Name of what it writes.
        """
        output = to or f"{self.prefix}_{len(self.operators)}"
        self.operators.append(Operator(kind, inputs, output, domain, attributes))
        return output

    def total(self, terms: Sequence[str]) -> str:
        """The sum of tensors, from the first to the last."""
        result = terms[0]
        for term in terms[1:]:
            result = self.add("Add", result, term)
        return result

    def joined(self, columns: Sequence[str]) -> str:
        """Matrices beside one another."""
        return columns[0] if len(columns) == 1 else self.add("Concat", *columns, axis=1)

    def columns(self, matrix: str, places: Sequence[int]) -> str:
        """Some columns of a matrix."""
        return self.add("Gather", matrix, self.places(places), axis=1)
