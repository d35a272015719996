"""Meaning of one value: rules that turn a cell of a table into text, a number or a code.

Every function here looks at one value alone, and `meaning_of` is the one place where a value
is understood. That is a matter of privacy. If what a record means depended on its neighbours,
one record more could change others; and neighbours decide more than one would think: the type
of a column (one text turns a column of numbers into text, one gap turns integers into
doubles, one complex number makes all others complex). So text that reads as a number
is that number, and numbers are compared as doubles, whatever type they came in: what any
container or reader may do to a column does not change a meaning. A reader that changes the
value itself, because of other records, is out of reach: read files with fixed types.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What a cell means: None if missing, a double if a number, else text, which is never empty
#: but for what cannot be read at all.
Meaning = str | float | None

UNREADABLE = ""
#: A cell of a type that has no meaning, such as a date; it stands in columns for such cells.
NO_MEANING = object()
_BOOLEAN_WORDS = {"false": 0.0, "true": 1.0}
_BOOLEANS = (bool, np.bool_)


def meaning_of(value: Any) -> Meaning:
    """Find the meaning of a cell, whatever column it stands in.

    The type of the cell alone decides how it is read, and only methods of Python's and numpy's
    own classes are called. A class that stands for text or a number is read as the class that it
    extends, whatever it overrides. So nothing that a cell's own ``__float__``, ``__str__``,
    ``__eq__`` or ``__hash__`` does or raises plays any part, and no error is swallowed but those
    that the readers below name: a number beyond the largest double, bytes that are no UTF-8, a
    signalling NaN, and text that is no number.

    Parameters
    ----------
    value : object
        A cell: of an array, a list or a frame.

    Returns
    -------
    None
        For None, NaN, NaT, a frame's NA, a masked cell, empty text, and text that reads as NaN.
    float
        For a number or boolean, and for text that reads as one: the nearest double, infinite
        where there is none. True and "true" are 1, False and "false" 0. A complex number
        without an imaginary part is its real part, as text too: "(1+0j)".
    str
        For text, without surrounding white space; for bytes, as UTF-8. For anything else, such
        as other complex numbers and dates (both as text, too), lists and objects, ``UNREADABLE``.
    """
    kind = type(value)
    if kind is str:
        return _meaning_of_text(value)
    reader = _READERS.get(id(kind))
    if reader is not None:
        return reader(value)
    for base, of_base in _EXTENDED:
        # Of two types alone: what an object says of its class is not asked.
        if issubclass(kind, base):
            return of_base(value)
    return None if any(value is gap for gap in _gaps()) else UNREADABLE


def _meaning_of_text(text: str) -> Meaning:
    # Arrays of fixed width drop zeros at the end of a text.
    text = text.rstrip("\0").strip()
    if not text:
        return None
    try:
        return _or_missing(float(text))
    except ValueError:
        return _of_words(text)


def _of_words(text: str) -> Meaning:
    """Find the meaning of text that Python does not read as a number."""
    if text[-1] in "j)" and _COMPLEX.fullmatch(text):
        return _of_complex(complex(text))
    if _TIME.fullmatch(text):
        return UNREADABLE
    return _BOOLEAN_WORDS.get(text.lower(), text)


#: Complex numbers as Python and numpy write them, such as "(1+0j)": beside one, a library may turn
#: them into text. The patterns here stand in docs/plain_model.md too.
_REAL = r"(?:[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?|inf|nan)"
_COMPLEX = re.compile(rf"-?{_REAL}j|\(-?{_REAL}[+-]{_REAL}j\)")
#: Dates, with a time or without, and spans of days, as libraries write them. One text in a column
#: of dates makes all of them text, and they mean no more than before.
_TIME = re.compile(
    "-?[0-9]{3,}-[0-9]{2}-[0-9]{2}"
    r"(?:[ T][0-9]{2}(?::[0-9]{2}){0,2}(?:\.[0-9]+)?"
    "(?: ?(?:[A-Za-z][A-Za-z0-9_/+-]*|[+-][0-9]{2}(?::?[0-9]{2}){0,2}))?)?"
    r"|-?[0-9]+ days?,? [+-]?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
)


def _or_missing(number: float) -> float | None:
    return None if math.isnan(number) else number


def _of_whole(value: int) -> float:
    try:
        return int.__float__(value)
    except OverflowError:
        return math.inf if int.__gt__(value, 0) else -math.inf


def _of_fraction(value: Fraction) -> Meaning:
    above, below = value.numerator, value.denominator
    if not (type(above) is int is type(below)) or below <= 0:
        return UNREADABLE
    try:
        return above / below
    except OverflowError:
        return math.inf if above > 0 else -math.inf


def _of_decimal(value: Decimal) -> Meaning:
    try:
        return _or_missing(Decimal.__float__(value))
    except ValueError:  # a signalling NaN
        return UNREADABLE


def _of_complex(value: complex) -> Meaning:
    number = complex.__complex__(value)
    # Beside an infinite imaginary part pandas loses the real one.
    if math.isnan(number.real) or not math.isfinite(number.imag):
        return None
    # Any other has no text of its own: it changes with the width, and pandas loses signs of zeros.
    return UNREADABLE if number.imag else number.real


def _of_bytes(value: bytes) -> Meaning:
    try:
        return _meaning_of_text(bytes.decode(value))
    except UnicodeDecodeError:
        return UNREADABLE


def _of_time(value: Any) -> Meaning:
    return None if np.isnat(value) else UNREADABLE


def _of_nothing(_: None) -> None:
    return None


def _numpy_types(codes: str) -> list[type]:
    return [np.dtype(code).type for code in codes]


#: Types that may be extended, and how their objects are read.
_EXTENDED: tuple[tuple[type, Callable[[Any], Meaning]], ...] = (
    (str, lambda value: _meaning_of_text(str.__str__(value))),
    (int, _of_whole),
    (float, lambda value: _or_missing(float.__float__(value))),
    (complex, _of_complex),
    (bytes, _of_bytes),
    (Decimal, _of_decimal),
)
_TYPES: dict[type, Callable[[Any], Meaning]] = {
    **dict(_EXTENDED),
    **dict.fromkeys(_numpy_types("?" + np.typecodes["AllInteger"]), float),
    **dict.fromkeys(_numpy_types(np.typecodes["Float"]), lambda value: _or_missing(float(value))),
    **dict.fromkeys(
        _numpy_types(np.typecodes["Complex"]), lambda value: _of_complex(complex(value))
    ),
    **dict.fromkeys(_numpy_types("mM"), _of_time),
    Fraction: _of_fraction,
    type(None): _of_nothing,
}
#: By identity, since a class may say that it is equal to another.
_READERS = {id(kind): reader for kind, reader in _TYPES.items()}


def _gaps() -> Iterable[Any]:
    """Objects that stand for missing values: singletons of numpy and pandas."""
    pandas = sys.modules.get("pandas")
    return np.ma.masked, getattr(pandas, "NA", None), getattr(pandas, "NaT", None)


def is_missing(value: Any) -> bool:
    """Say if a value is None, NaN, NaT or a frame's NA; text never is."""
    return not isinstance(value, (str, bytes)) and meaning_of(value) is None


def text_of(value: Any) -> str:
    """Text of a category or label: whole numbers without a point, booleans as words.

    Empty for what has no meaning.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, _BOOLEANS):
        return str(bool(value))
    if isinstance(value, Decimal):
        return str(value)
    meaning = meaning_of(value)
    if isinstance(meaning, float):
        return _text_of_number(value, meaning)
    return meaning or UNREADABLE


def _text_of_number(value: Any, number: float) -> str:
    if not math.isfinite(number):  # also an integer too long to print
        return repr(number)
    if isinstance(value, int):
        return str(int(value))
    return str(int(number)) if number.is_integer() else repr(number)


#: Types for which numpy's conversion to double is float(), without warnings.
_PLAIN_TYPES = (float, int, bool, str, type(None))
_PLAIN = frozenset(map(id, _PLAIN_TYPES))
#: Types whose equal values have one meaning, so that they may be remembered by equality. Not
#: numpy's numbers: in single precision they are equal to doubles that they are not.
_REMEMBERED = _PLAIN | {id(np.str_)}


def are_plain(values: Iterable[Any]) -> bool:
    """Say if all values are Python's own numbers, texts or None."""
    return _are_all(_PLAIN, values)


def _are_all(types: frozenset[int], values: Iterable[Any]) -> bool:
    return types.issuperset(map(id, map(type, values)))


def is_boolean(value: Any) -> bool:
    """Say if a value is a boolean or the word for one."""
    if isinstance(value, str):
        return value.strip().lower() in _BOOLEAN_WORDS
    return isinstance(value, _BOOLEANS)


def is_number_text(text: str) -> bool:
    """Say if text reads as a finite number; words for booleans do not count."""
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
        all_remembered = _are_all(_REMEMBERED, values)
        codes = map(self.__getitem__ if all_remembered else self._code_of_any, values)
        return np.fromiter(codes, dtype=np.int32, count=len(values))

    def _code_of_any(self, value: Any) -> int:
        return self[value] if id(type(value)) in _REMEMBERED else self._code_of(value)

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
    if are_plain(values):
        try:
            return np.array(values, dtype=object).astype(np.float64), None
        except (ValueError, OverflowError):
            pass  # text that is no plain number, or too large an integer: one by one
    meanings = [meaning_of(value) for value in values]
    unparsable = np.fromiter((isinstance(m, str) for m in meanings), np.bool_, len(meanings))
    floats = np.array([m if isinstance(m, float) else math.nan for m in meanings], np.float64)
    return floats, unparsable if unparsable.any() else None
