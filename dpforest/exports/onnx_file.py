"""The bytes of a graph of ONNX; the one place that needs the package onnx."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import MissingExtraError
from dpforest.exports.onnx_graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph, Operator

NOTE = (
    "Released values of a private forest. This file holds no privacy guarantee by itself: the "
    "report of the fit says what was promised and spent."
)
#: How many records there are.
_RECORDS = "records"


@dataclass(frozen=True, slots=True)
class Port:
    """A tensor that goes in or comes out.

    Attributes
    ----------
    name : str
    dtype : str
        As numpy has it; ``"O"`` is text.
    width : int or None
        Columns; None for a tensor of one dimension.
    note : str
    """

    name: str
    dtype: str
    width: int | None
    note: str


def model_bytes(graph: Graph, ports_in: Sequence[Port], ports_out: Sequence[Port]) -> bytes:
    """A whole file."""
    onnx = _onnx()
    helper = onnx.helper
    content = helper.make_graph(
        [_node(onnx, operator) for operator in graph.operators],
        "forest",
        [_value(onnx, port) for port in ports_in],
        [_value(onnx, port) for port in ports_out],
        [_tensor(onnx, name, array) for name, array in graph.constants.items()],
        doc_string=NOTE,
    )
    model = helper.make_model(content, **_facts(helper))
    return bytes(model.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ModuleNotFoundError:
        raise MissingExtraError("onnx", "onnx", "to_onnx()") from None
    return onnx


def _facts(helper: Any) -> dict[str, Any]:
    """Versions and words of a file."""
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    return {
        "opset_imports": versions,
        "ir_version": IR_VERSION,
        "producer_name": "dpforest",
        "producer_version": version("dpforest"),
        "doc_string": NOTE,
    }


def _node(onnx: Any, operator: Operator) -> Any:
    attributes = dict(operator.attributes)
    if "to_type" in attributes:
        attributes["to"] = _kind(onnx, np.dtype(attributes.pop("to_type")))
    return onnx.helper.make_node(
        operator.kind, operator.inputs, [operator.output], domain=operator.domain, **attributes
    )


def _kind(onnx: Any, dtype: np.dtype) -> int:
    if dtype.kind == "O":
        return int(onnx.TensorProto.STRING)
    return int(onnx.helper.np_dtype_to_tensor_dtype(dtype))


def _value(onnx: Any, port: Port) -> Any:
    shape = [_RECORDS] if port.width is None else [_RECORDS, port.width]
    kind = _kind(onnx, np.dtype(port.dtype))
    return onnx.helper.make_tensor_value_info(port.name, kind, shape, doc_string=port.note)


def _tensor(onnx: Any, name: str, array: NDArray[Any]) -> Any:
    return onnx.numpy_helper.from_array(array, name)
