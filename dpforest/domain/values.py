"""What one value means: the rules that turn a cell of a table into text, a number or a code.

Every function here looks at one value alone. That is a matter of privacy: if the meaning of
a record depended on its neighbours in the table, one record more could change others. So
values that Python holds for equal (``True``, ``1``, ``1.0``) mean the same everywhere, and
which path a column takes (array of doubles, list of objects) never changes a result.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Types for which numpy's conversion to double is float(), without warnings.
_PLAIN_TYPES = frozenset({float, int, bool, str, type(None)})
_BOOLEAN_WORDS = {0: "False", 1: "True"}


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or a frame's NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except Exception:
        return type(value).__name__ == "NAType"


def text_of(value: Any) -> str:
    """Canonical text of a category or label: whole numbers without a point, booleans as words."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


class CategoryLookup(dict[Any, int]):
    """Value to code, remembering every value met.

    It remembers values of records, so it lives for one call only and is never kept.

    Parameters
    ----------
    categories : sequence of str
        Category ``k`` has code ``k``.
    unknown, missing : int
        Codes of a value that is not listed, and of a missing one.
    positions : bool
        Whether a number that matches no category means the category at that position.
    """

    def __init__(
        self, categories: Sequence[str], *, unknown: int, missing: int, positions: bool = False
    ) -> None:
        super().__init__()
        self._codes = {category: code for code, category in enumerate(categories)}
        self._numbers = _numbers_of(categories)
        self._unknown = unknown
        self._missing = missing
        self._positions = len(categories) if positions else 0

    def __missing__(self, value: Any) -> int:
        code = self._code_of(value)
        self[value] = code
        return code

    def encode(self, values: Iterable[Any], n_values: int) -> NDArray[np.int32]:
        """Codes of many values, as an int32 array of shape (n_values,)."""
        values = values if isinstance(values, list) else list(values)
        try:
            return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=n_values)
        except Exception:
            # Something that cannot be hashed or compared: no memory for this column.
            return np.fromiter(map(self._code_of, values), dtype=np.int32, count=n_values)

    def _code_of(self, value: Any) -> int:
        if isinstance(value, str):
            return self._codes.get(value, self._unknown if value else self._missing)
        if is_missing(value):
            return self._missing
        number = _number_of(value)
        if number is not None:
            return self._code_of_number(number)
        try:
            return self._codes.get(str(value), self._unknown)
        except Exception:
            return self._unknown

    def _code_of_number(self, number: int | float) -> int:
        """Code of a number: by text, by value, as a boolean, as a position, in this order."""
        code = self._codes.get(text_of(number))
        if code is None:
            code = self._numbers.get(number)
        if code is None and number in _BOOLEAN_WORDS:
            code = self._codes.get(_BOOLEAN_WORDS[int(number)])
        if code is None and 0 <= number < self._positions and number == int(number):
            code = int(number)
        return self._unknown if code is None else code


def _numbers_of(categories: Sequence[str]) -> dict[float, int]:
    """Finite numbers that categories spell, each with the first category that spells it."""
    codes: dict[float, int] = {}
    for code, category in enumerate(categories):
        try:
            number = float(category)
        except ValueError:
            continue
        if math.isfinite(number):
            codes.setdefault(number, code)
    return codes


def _number_of(value: Any) -> int | float | None:
    """The plain int or float equal to a number of any type; None for what is no real number."""
    if isinstance(value, (bool, np.bool_, numbers.Integral)):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, (numbers.Number, np.number)):
        return None
    try:
        # Decimal, Fraction, and a complex number on the real line.
        number = float(value.real)  # type: ignore[union-attr]
        return number if number == value else None
    except Exception:
        return None


def to_floats(
    values: NDArray[Any] | list[Any],
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Numbers of a column, and where a value was not one.

    Returns
    -------
    numbers : float64 array of shape (n,)
        NaN where missing or not a number.
    unparsable : bool array of shape (n,), or None
        True where a value is neither missing nor a number; None if there is none.
    """
    if isinstance(values, np.ndarray):
        return values.astype(np.float64, copy=False), None
    if _PLAIN_TYPES.issuperset(map(type, values)):
        try:
            return np.array(values, dtype=object).astype(np.float64), None
        except (ValueError, OverflowError):
            pass
    parsed = [_parse(value) for value in values]
    unparsable = np.fromiter((number is None for number in parsed), np.bool_, len(parsed))
    floats = np.array([math.nan if number is None else number for number in parsed], np.float64)
    return floats, unparsable if unparsable.any() else None


def _parse(value: Any) -> float | None:
    """A number from one value: NaN for a missing one, None for what is no number."""
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return math.nan
    elif is_missing(value):
        return math.nan
    # float() of these would warn, and a warning must not depend on a record.
    if isinstance(value, (complex, np.complexfloating, np.ndarray)):
        return None
    try:
        return float(value)
    except Exception:
        return None
