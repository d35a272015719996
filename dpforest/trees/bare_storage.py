"""Released trees as data, and checked on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ModelFormatError
from dpforest.trees.multinomial.heaps import PrivateForest


def forest_to_data(forest: PrivateForest) -> dict[str, Any]:
    """Arrays as nested lists."""
    return {
        "feature": forest.feature.tolist(),
        "low": forest.low.tolist(),
        "high": forest.high.tolist(),
        "labels": None if forest.labels is None else forest.labels.tolist(),
        "counts": None if forest.counts is None else forest.counts.tolist(),
        "noise_variance": forest.noise_variance,
        "n_classes": forest.n_classes,
    }


def forest_from_data(
    data: dict[str, Any], n_codes: NDArray[np.int64], n_classes: int
) -> PrivateForest:
    """Read what :func:`forest_to_data` wrote; see :func:`check_forest`.

    Parameters
    ----------
    data : dict
    n_codes : ndarray of int64, shape (D,)
        Codes of each feature, from the domain.
    n_classes : int
    """
    forest = PrivateForest(
        feature=_integers(data["feature"], np.int32),
        low=_integers(data["low"], np.int64),
        high=_integers(data["high"], np.int64),
        labels=None if data["labels"] is None else _integers(data["labels"], np.int32),
        counts=None if data["counts"] is None else _integers(data["counts"], np.int64),
        noise_variance=float(data["noise_variance"]),
        n_classes=int(data["n_classes"]),
    )
    check_forest(forest, n_codes, n_classes)
    return forest


def _integers(values: Any, dtype: type[np.signedinteger]) -> NDArray[Any]:
    """Lists of whole numbers as an array; nothing is rounded or wrapped to fit."""
    array = np.array(values, dtype=np.int64 if np.size(values) == 0 else None)
    if array.dtype.kind != "i" or (array.astype(dtype) != array).any():
        raise ModelFormatError(
            "the stored trees hold a value that is not a whole number. Store it again."
        )
    return array.astype(dtype)


def check_forest(forest: PrivateForest, n_codes: NDArray[np.int64], n_classes: int) -> None:
    """Refuse shapes and numbers that prediction would follow out of bounds.

    The kernels that descend do not check: a bound of a split outside its feature's codes
    would become an address outside the table.

    Raises
    ------
    ModelFormatError
    """
    if not (
        _shapes_fit(forest) and _splits_fit(forest, n_codes) and _leaves_fit(forest, n_classes)
    ):
        raise ModelFormatError("the stored trees do not fit together. Store the model again.")


def _shapes_fit(forest: PrivateForest) -> bool:
    if forest.feature.ndim != 2 or (forest.labels is None) == (forest.counts is None):
        return False
    n_trees, n_nodes = forest.feature.shape
    leaves = (n_trees, n_nodes + 1)
    return (
        n_trees > 0
        and n_nodes > 0
        and n_nodes & (n_nodes + 1) == 0
        and forest.low.shape == forest.high.shape == (n_trees, n_nodes)
        and (forest.labels is None or forest.labels.shape == leaves)
        and (forest.counts is None or forest.counts.shape == (*leaves, forest.n_classes))
    )


def _splits_fit(forest: PrivateForest, n_codes: NDArray[np.int64]) -> bool:
    feature, low, high = forest.feature, forest.low, forest.high
    if feature.min() < -1 or feature.max() >= n_codes.size:
        return False
    ends = n_codes[feature]  # of the last feature where there is no split
    return bool(((feature == -1) | ((low >= 0) & (low <= high) & (high < ends))).all())


def _leaves_fit(forest: PrivateForest, n_classes: int) -> bool:
    if forest.n_classes != n_classes:
        return False
    if not 0 <= forest.noise_variance < np.inf:
        return False
    if forest.labels is None:
        return True
    return bool(forest.labels.min() >= 0 and forest.labels.max() < forest.n_classes)
