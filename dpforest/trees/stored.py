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
