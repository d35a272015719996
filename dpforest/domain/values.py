"""What one value means: the rules that turn a cell of a table into text, a number or a code.

Every function here looks at one value alone, and `meaning_of` is the one place where a value
is understood. That is a matter of privacy. If what a record means depended on its neighbours,
one record more could change others; and neighbours decide more than one would think: the type
of a column (one text turns a column of numbers into text, one gap turns integers into
doubles, one long decimal gives all the others trailing zeros). So text that reads as a number
is that number, and numbers are compared as doubles, whatever type they came in: what any
container or reader may do to a column does not change a meaning. A reader that changes the
value itself, because of other records, is out of reach: read files with fixed types.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What a cell means: None if missing, a double if a number, else text, which is never empty
#: but for what cannot be read at all.
Meaning = str | float | None

UNREADABLE = ""
#: Types for which numpy's conversion to double is float(), without warnings.
_PLAIN_TYPES = frozenset({float, int, bool, str, type(None)})
#: Types whose equal values have one meaning, so that they may be remembered by equality. Not
#: numpy's numbers: in single precision they are equal to doubles that they are not.
_REMEMBERED_TYPES = _PLAIN_TYPES | {np.str_}
_BOOLEAN_WORDS = {"false": 0.0, "true": 1.0}
_BOOLEANS = (bool, np.bool_)
_NUMBERS = (numbers.Real, Decimal, np.bool_)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or a frame's NA."""
    if value is None:
        return True
    try:
        differs = value != value
    except Exception:
        return False
    # Anything else, such as an array, has no truth value, or only one with a warning.
    if isinstance(differs, _BOOLEANS):
        return bool(differs)
    return type(value).__name__ == "NAType"


def text_of(value: Any) -> str:
    """Text of a category or label: whole numbers without a point, booleans as words."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, _BOOLEANS):
        return str(bool(value))
    if isinstance(value, bytes):
        return value.decode()
    if _is_number(value) and not isinstance(value, Decimal):
        number = _double_of(value)
        if not math.isfinite(number):  # also an integer too long to print
            return repr(number)
        return str(int(value)) if value == int(value) else repr(number)
    return str(value)


def meaning_of(value: Any) -> Meaning:
    """What a cell means, whatever column it stands in.

    Parameters
    ----------
    value : object
        A cell: of an array, a list or a frame.

    Returns
    -------
    None
        For None, NaN, NaT, NA, empty text, and text that reads as NaN.
    float
        For a number or boolean of any type, and for text that reads as one: the nearest
        double, infinite where there is none. True and "true" are 1, False and "false" 0.
    str
        For anything else: its text without surrounding white space.
    """
    if type(value) is str:
        return _meaning_of_text(value)
    try:
        if is_missing(value):
            return None
        if _is_number(value):
            number = _double_of(value)
            return None if math.isnan(number) else number
        return _meaning_of_text(text_of(value))
    except Exception:
        # A record may hold objects of any class, and nothing of theirs may come out of a fit.
        return UNREADABLE


def _meaning_of_text(text: str) -> Meaning:
    # Arrays of fixed width drop zeros at the end of a text.
    text = text.rstrip("\0").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        return _BOOLEAN_WORDS.get(text.lower(), text)
    return None if math.isnan(number) else number


def _is_number(value: Any) -> bool:
    # To Python, numpy's spans of time are integers.
    return isinstance(value, _NUMBERS) and not isinstance(value, np.timedelta64)


def _double_of(number: Any) -> float:
    """The nearest double, infinite beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_boolean(value: Any) -> bool:
    """Whether a value is a boolean or the word for one."""
    if isinstance(value, str):
        return value.strip().lower() in _BOOLEAN_WORDS
    return isinstance(value, _BOOLEANS)


def is_number_text(text: str) -> bool:
    """Whether text reads as a finite number, words for booleans aside."""
    meaning = meaning_of(text)
    return isinstance(meaning, float) and math.isfinite(meaning) and not is_boolean(text)


class CategoryLookup(dict[Any, int]):
    """Value to code, by meaning; it remembers the values met of a few plain types.

    It remembers values of records, so it lives for one call only and is never kept. It does so
    by Python's equality, which says little of other types: Decimals, times or tuples that are
    equal may have different texts, and any class may define it. Those are looked up anew.

    Parameters
    ----------
    categories : sequence of str
        Category ``k`` has code ``k``; of several with one meaning the first counts.
    unknown, missing : int
        Codes of a value that is not listed, and of a missing one.
    positions : bool
        Whether a number that matches no category means the category at that position.
    """

    def __init__(
        self, categories: Sequence[str], *, unknown: int, missing: int, positions: bool = False
    ) -> None:
        super().__init__()
        self._codes: dict[Meaning, int] = {None: missing, UNREADABLE: unknown}
        for code, category in enumerate(categories):
            self._codes.setdefault(meaning_of(category), code)
        self._unknown = unknown
        self._positions = len(categories) if positions else 0

    def __missing__(self, value: Any) -> int:
        code = self[value] = self._code_of(value)
        return code

    def encode(self, values: list[Any]) -> NDArray[np.int32]:
        """Codes of many values, as an int32 array of shape (n_values,)."""
        all_remembered = _REMEMBERED_TYPES.issuperset(map(type, values))
        codes = map(self.__getitem__ if all_remembered else self._code_of_any, values)
        return np.fromiter(codes, dtype=np.int32, count=len(values))

    def _code_of_any(self, value: Any) -> int:
        return self[value] if type(value) in _REMEMBERED_TYPES else self._code_of(value)

    def _code_of(self, value: Any) -> int:
        meaning = meaning_of(value)
        code = self._codes.get(meaning)
        if code is not None:
            return code
        if isinstance(meaning, float) and 0 <= meaning < self._positions and meaning.is_integer():
            return int(meaning)
        return self._unknown


def to_floats(
    values: NDArray[Any] | list[Any],
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Numbers of a column, by meaning, and where a value was not one.

    Returns
    -------
    numbers : float64 array of shape (n,)
        NaN where missing or not a number.
    unparsable : bool array of shape (n,), or None
        True where a value is neither missing nor a number; None if there is none.
    """
    if isinstance(values, np.ndarray):
        # The longest doubles overflow with a warning, and a warning must not depend on a record.
        with np.errstate(all="ignore"):
            return values.astype(np.float64, copy=False), None
    if _PLAIN_TYPES.issuperset(map(type, values)):
        try:
            return np.array(values, dtype=object).astype(np.float64), None
        except (ValueError, OverflowError):
            pass  # text that is no plain number, or too large an integer: one by one
    meanings = [meaning_of(value) for value in values]
    unparsable = np.fromiter((isinstance(m, str) for m in meanings), np.bool_, len(meanings))
    floats = np.array([m if isinstance(m, float) else math.nan for m in meanings], np.float64)
    return floats, unparsable if unparsable.any() else None
