"""Features in their short form, ``{"age": (17, 90), "sex": ["Female", "Male"]}``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from numbers import Integral, Number, Real
from typing import Any, NoReturn

import numpy as np

from dpforest.display import page_of_docs
from dpforest.domain.complaints import likely_field
from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.exceptions import DomainError, kind_of, shown

#: Two numbers that are categories more often than bounds.
_CODES = {-1, 0, 1, 2}
#: Fields that a feature in its short form may have.
_FIELDS = frozenset((*NumericFeature.model_fields, *CategoricalFeature.model_fields))
_TWO_NUMBERS = "bounds are two numbers"


def feature_from(name: Any, entry: Any) -> Any:
    """One feature from the short form: bounds, categories, fields, or a feature.

    Raises
    ------
    DomainError
        If the name is no text, or the entry is none of these.
    """
    _check_name(name)
    if isinstance(entry, (NumericFeature, CategoricalFeature)):
        if entry.name != name:
            raise DomainError(name, "key and feature's name differ", "Use one name for both")
        return entry
    if isinstance(entry, Mapping):
        return {"name": name, "kind": _kind_of(entry), **entry}
    if isinstance(entry, tuple) and len(entry) == 2 and all(map(_is_bound, entry)):
        return NumericFeature(name=name, lower=entry[0], upper=entry[1])
    if isinstance(entry, tuple):
        _check_no_bounds_meant(name, entry)
    if isinstance(entry, (list, tuple)):
        _check_not_bounds(name, entry)
        return CategoricalFeature(name=name, categories=tuple(entry))
    _refuse_entry(name, entry)


def _check_name(name: Any) -> None:
    if isinstance(name, str):
        return
    repair = "Write names as texts"
    if isinstance(name, Integral) and not isinstance(name, bool):
        repair = f"Write 'x{name}': columns of an array are read by their positions"
    raise DomainError("features", f"the name {shown(name)} is no text", repair)


def _check_no_bounds_meant(name: str, entry: tuple[Any, ...]) -> None:
    """Refuse a tuple that may be meant as bounds, by what is wrong with them."""
    if len(entry) == 2 and any(map(_is_date, entry)):
        raise DomainError(
            name,
            f"{_TWO_NUMBERS}, and dates mean nothing in a record",
            "Make the column numbers, such as days since a public date, and write (lower, upper)",
        )
    if any(map(_may_be_bound, entry)):
        raise DomainError(name, *_fault_of_bounds(entry))


def _fault_of_bounds(entry: tuple[Any, ...]) -> tuple[str, str]:
    """Rule that two bounds break, and how to write them."""
    absent = [end for end, bound in zip(("lower", "upper"), entry, strict=False) if bound is None]
    if len(entry) == 2 and absent:
        missing = "both are" if len(absent) == 2 else f"the {absent[0]} one is"
        return f"{_TWO_NUMBERS}, and {missing} missing", "Write (lower, upper)"
    numbers = [text.strip() if isinstance(text, str) else str(text) for text in entry]
    if len(entry) == 2 and all(map(_is_finite, numbers)) and str in map(type, entry):
        written = f"Write ({', '.join(numbers)}), or categories as a list"
        return f"{_TWO_NUMBERS}, and a text is none", written
    return _TWO_NUMBERS, "Write (lower, upper), or categories as a list"


def _refuse_entry(name: str, entry: Any) -> NoReturn:
    """Refuse what is neither bounds nor categories, by its kind."""
    if isinstance(entry, range):
        rule, repair = "categories are a list, and a range is none", f"Write list({_of(entry)})"
        raise DomainError(name, rule, repair)
    if isinstance(entry, Iterable) and not isinstance(entry, (str, bytes, type)):
        raise DomainError(
            name,
            "categories are a list: a set has another order in every process, and what a column "
            "or an array holds may have been read off records",
            "Write the public categories as [...], or list(...) of what is public",
        )
    given = kind_of(entry) if not isinstance(entry, (str, type)) else shown(entry)
    raise DomainError(
        name,
        f"must be a (lower, upper) tuple, a list of categories or a feature, not {given}",
        "Write (0, 110) for numbers, [False, True] for booleans, ['a', 'b'] for categories; see "
        f"{page_of_docs('domain.md')}",
    )


def _of(numbers: range) -> str:
    """A range as people write it."""
    short = numbers.start == 0 and numbers.step == 1
    return f"range({numbers.stop})" if short else repr(numbers)


def _kind_of(fields: Mapping[Any, Any]) -> str:
    """The kind of a feature by its fields, of which one may be misspelt."""
    named = (
        "categories" in fields
        or not {"lower", "upper"} & set(fields)
        and any(
            isinstance(word, str) and likely_field(word, _FIELDS) == "categories" for word in fields
        )
    )
    return "categorical" if named else "numeric"


def _check_not_bounds(name: str, entry: Sequence[Any]) -> None:
    """Refuse ``[0, 110]``: whoever means two categories can say so; usual codes are two."""
    if len(entry) == 2 and all(map(_is_bound, entry)) and not set(entry) <= _CODES:
        raise DomainError(
            name,
            "a list of two numbers may be meant as bounds",
            "Write (lower, upper) for bounds, or {'categories': [...]} for two categories",
        )


def _may_be_bound(value: Any) -> bool:
    """True of what may be meant as one bound of two: a number of any kind, or a text of one."""
    if isinstance(value, str):
        return _is_number(value)
    return value is None or isinstance(value, Number) and not isinstance(value, bool)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_finite(text: str) -> bool:
    return _is_number(text) and math.isfinite(float(text))


def _is_date(value: Any) -> bool:
    """True of a date, alone or with a time: of Python, numpy or pandas."""
    return isinstance(value, (date, np.datetime64))


def _is_bound(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
