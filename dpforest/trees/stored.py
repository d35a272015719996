"""Reading released models back: whatever a damaged file holds, no kernel is led out of bounds.

Kernels that predict do not check what they follow, so a reader checks every shape, index and
range against the public facts, and raises ``ModelFormatError``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ModelFormatError
from dpforest.trees.multinomial.heaps import ReleasedTrees

#: Largest size of a stored real number: sums of as many as a model has stay finite.
LARGEST = 1e100


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """Turn whatever damaged data makes of a reader into ModelFormatError.

    Parameters
    ----------
    kind : str
        What is read, for the message.
    """
    try:
        yield
    except ModelFormatError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise damaged(kind, f"{type(error).__name__} while reading it") from None


def damaged(kind: str, what: str) -> ModelFormatError:
    """The error for a model that cannot be followed."""
    return ModelFormatError(f"the stored {kind} is damaged: {what}. Store it again.")


def require(holds: Any, kind: str, what: str) -> None:
    """Refuse a model where a rule does not hold.

    Raises
    ------
    ModelFormatError
    """
    if not holds:
        raise damaged(kind, what)


def require_alike(data: dict[str, Any], name: str, n_classes: int, kind: str) -> None:
    """Refuse a model that was written under another name, or for other classes.

    Raises
    ------
    ModelFormatError
    """
    require(data["kind"] == name, kind, "it is of another kind")
    require(data["n_classes"] == n_classes, kind, "its classes are not the domain's")


def real_numbers(
    values: Any,
    shape: tuple[int, ...],
    name: str,
    low: float = -LARGEST,
    high: float = LARGEST,
) -> NDArray[np.float64]:
    """Nested lists of numbers in [low, high] as an array of that shape.

    Raises
    ------
    ModelFormatError
    """
    array = _checked(np.array(values), "fiu", shape, name, low, high)
    return array.astype(np.float64)


def whole_numbers(
    values: Any, shape: tuple[int, ...], name: str, low: int, high: int, dtype: Any = np.int64
) -> NDArray[Any]:
    """Nested lists of whole numbers in [low, high] as an array of that shape.

    Raises
    ------
    ModelFormatError
    """
    return _checked(np.array(values), "iu", shape, name, low, high).astype(dtype)


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in [low, high].

    Raises
    ------
    ModelFormatError
    """
    require(
        isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
        name,
        f"no whole number from {low} to {high}",
    )
    return int(value)


def _checked(
    array: NDArray[Any], kinds: str, shape: tuple[int, ...], name: str, low: float, high: float
) -> NDArray[Any]:
    require(array.dtype.kind in kinds, name, "it holds a value of the wrong kind")
    require(array.shape == shape, name, "its shape does not fit")
    # Written so that it is false for NaN.
    require(bool(((array >= low) & (array <= high)).all()), name, "a number is out of range")
    return array


# -- trees whose splits were drawn ----------------------------------------------------------------

_TREES = "forest of drawn splits"
_ANY = -(2**63), 2**63 - 1


def forest_to_data(forest: ReleasedTrees) -> dict[str, Any]:
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
) -> ReleasedTrees:
    """Read what :func:`forest_to_data` wrote.

    Parameters
    ----------
    data : dict
    n_codes : ndarray of int64, shape (D,)
        Codes of each feature, from the domain.
    n_classes : int

    Raises
    ------
    ModelFormatError
    """
    with reading(_TREES):
        feature, low, high = splits_from_data(data, n_codes, _TREES)
        require(data["n_classes"] == n_classes, _TREES, "it is of other classes")
        variance = float(data["noise_variance"])
        require(0 <= variance < np.inf, _TREES, "its noise has no variance")
        labels, counts = _leaves(data, (len(feature), feature.shape[1] + 1), n_classes)
        return ReleasedTrees(feature, low, high, labels, counts, variance, n_classes)


def splits_from_data(
    data: dict[str, Any], n_codes: NDArray[np.int64], kind: str
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Feature of every split, -1 where there is none, and the first and last code that go left.

    Parameters
    ----------
    data : dict
        Of complete trees of one depth, with ``feature``, ``low`` and ``high``.
    n_codes : ndarray of int64, shape (D,)
        Codes of each feature, from the domain.
    kind : str
        What is read, for the message.

    Raises
    ------
    ModelFormatError
    """
    n_trees, n_nodes = shape = np.shape(data["feature"])
    complete = n_trees > 0 and n_nodes > 0 and n_nodes & (n_nodes + 1) == 0
    require(complete, kind, "its trees are not complete")
    feature = whole_numbers(data["feature"], shape, kind, -1, n_codes.size - 1, np.int32)
    most = int(n_codes.max()) - 1
    low, high = (whole_numbers(data[key], shape, kind, 0, most) for key in ("low", "high"))
    ends = n_codes[feature]  # of the last feature where there is no split
    inside = (feature == -1) | ((low <= high) & (high < ends))
    require(inside.all(), kind, "a split lies outside its feature")
    return feature, low, high


def _leaves(
    data: dict[str, Any], shape: tuple[int, int], n_classes: int
) -> tuple[NDArray[np.int32] | None, NDArray[np.int64] | None]:
    """A label or counts for each leaf, and the other one missing."""
    labels, counts = data["labels"], data["counts"]
    require((labels is None) != (counts is None), _TREES, "its leaves have labels or counts")
    if labels is not None:
        return whole_numbers(labels, shape, _TREES, 0, n_classes - 1, np.int32), None
    return None, whole_numbers(counts, (*shape, n_classes), _TREES, *_ANY)
