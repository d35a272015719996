"""Drafting: a first proposal for a domain, read off the records, for somebody to edit.

Nothing here is private. Every entry is marked as drafted, and a fit that uses a drafted
entry warns and has no guarantee, until somebody names a source of its own for the entry.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.checks import check_asked_task
from dpforest.domain.doubts import (
    MOST_DRAFTED,
    NO_TEXT,
    far_bounds,
    have_leading_zeros,
    look_like_identifiers,
)
from dpforest.domain.labels import check_lengths, read_labels
from dpforest.domain.marks import DRAFT_NOTE, DRAFT_SOURCE, DraftMark
from dpforest.domain.opening import read_table
from dpforest.domain.parts import is_in_parts
from dpforest.domain.schema import (
    MAX_INTEGER,
    CategoricalFeature,
    Classes,
    Label,
    NumericFeature,
    NumericTarget,
)
from dpforest.domain.series import Column, cells_of
from dpforest.domain.table import Table
from dpforest.domain.values import (
    UNREADABLE,
    Meaning,
    is_boolean,
    meaning_of,
    text_of,
    to_floats,
)
from dpforest.exceptions import (
    Described,
    DomainError,
    ParameterError,
    ParameterTypeError,
    kind_of,
)
from dpforest.observation import observe_read
from dpforest.strict_json import is_writable

#: Whole numbers of a column that may be codes of categories, and how often each occurs on average.
_MOST_CODES, _TIMES = 12, 4
#: Bounds beyond this would have an infinite width.
_LARGEST = 8e307


def draft_facts(
    X: Any, y: Any, path: str | PathLike[str] | None, task: str | None
) -> dict[str, Any]:
    """Fields of the domain that is proposed for a table; see ``Domain.draft``."""
    _check_parameters(task, path)
    _refuse_parts(X)
    table, labels = _read_table_and_labels(X, y)
    names = table.names or tuple(f"x{index}" for index in range(table.n_columns))
    if labels is not None:
        observe_read("labels")
    return {
        "features": tuple(
            _draft_feature(name, table.column(index)) for index, name in enumerate(names)
        ),
        "note": DRAFT_NOTE,
        **_draft_output(labels, task),
    }


def _check_parameters(task: str | None, path: str | PathLike[str] | None) -> None:
    check_asked_task(task)
    if path is not None and not isinstance(path, (str, PathLike)):
        kind = type(path).__name__
        raise ParameterTypeError("path", kind, "must name a new file", "Give a str or a path")
    if path is not None and os.path.exists(path):
        raise ParameterError(
            "path",
            str(path),
            "is there already, and somebody may have edited it",
            "Read it by Domain.from_json, give another path, or remove the file",
        )


def _refuse_parts(X: Any) -> None:
    """Refuse a stream, of whose parts each may hold another type of one column."""
    if is_in_parts(X):
        raise ParameterTypeError(
            "X", kind_of(X), "a draft is made from a table in memory",
            "Read the table first, or write in a shell: dpforest domain draft FILE --target NAME",
        )  # fmt: skip


def _read_table_and_labels(X: Any, y: Any) -> tuple[Table, Column | None]:
    """Both as columns, of types that have a meaning; an empty table is refused."""
    table = read_table(X)
    _check_not_empty(table)
    labels = None
    if y is not None:
        labels = read_labels(y, "Domain.draft", check=True)
        check_lengths(table, labels)
    for index in range(table.n_columns):
        table.check_column(index)
    return table, labels


def _check_not_empty(table: Table) -> None:
    """Refuse an empty table, in scikit-learn's words; there is nothing to read off it."""
    shape = f"(shape=({table.n_rows}, {table.n_columns}))"
    for count, unit in ((table.n_columns, "feature(s)"), (table.n_rows, "sample(s)")):
        if count == 0:
            raise ParameterError(
                "X",
                Described("an empty table"),
                f"Found array with 0 {unit} {shape} while a minimum of 1 is required",
                "Declare the domain instead of drafting it",
            )


def _check_draftable(name: str, column: Column) -> None:
    """Refuse a column that has no meaning here; a draft reads records openly, so it may."""
    if isinstance(column, np.ndarray):
        return
    if any(isinstance(value, (complex, np.complexfloating)) for value in column):
        raise ParameterTypeError(
            name, Described("complex numbers"), "Complex data not supported", "Use real numbers"
        )
    meanings = {meaning_of(value) for value in column} - {None}
    if meanings == {UNREADABLE}:
        raise ParameterTypeError(
            name,
            Described("a column"),
            "every value is a date, a time, nested or an object of its own, and such are not "
            "supported",
            "Leave the column out (on the command line: --drop), or turn it into numbers first, "
            "such as days since a public date: (pandas.to_datetime(column) - "
            "pandas.Timestamp('2020-01-01')).dt.days",
        )


def _draft_feature(name: str, column: Column) -> NumericFeature | CategoricalFeature:
    # Of texts one other cell would make a draft, so they are drafted, with a doubt that says why.
    if not all(isinstance(v, str) or meaning_of(v) is None for v in cells_of(column)):
        _check_draftable(name, column)
    if not _holds_booleans(column):
        numbers, unparsable = to_floats(column)
        if unparsable is None and not _are_codes(column, numbers):
            return _draft_numeric(name, numbers)
    return _draft_categorical(name, list(column))


def _are_codes(column: Column, numbers: NDArray[np.float64]) -> bool:
    """Say if all that is there are digits as codes have them; identifiers are told as numbers."""
    if isinstance(column, np.ndarray) or look_like_identifiers(numbers):
        return False
    present = [value for value in column if meaning_of(value) is not None]
    texts = [text_of(value).rstrip("\0").strip() for value in present if isinstance(value, str)]
    return len(texts) == len(present) and have_leading_zeros(texts)


def _holds_booleans(column: Column) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind == "b"
    present = [value for value in column if meaning_of(value) is not None]
    return bool(present) and all(map(is_boolean, present))


def _draft_numeric(name: str, numbers: NDArray[np.float64]) -> NumericFeature:
    finite = numbers[np.isfinite(numbers)].clip(-_LARGEST, _LARGEST)
    integer = bool(len(finite)) and _are_whole(finite)
    lower, upper = _range_of(finite, integer)
    return NumericFeature(
        name=name,
        lower=lower,
        upper=upper,
        integer=integer,
        missing=bool(np.isnan(numbers).any()),
        source=DRAFT_SOURCE,
        status="drafted",
        drafted=DraftMark(
            lower=lower,
            upper=upper,
            codes=_codes_in(finite) if integer else None,
            far=far_bounds(finite) or None,
            identifies=integer and look_like_identifiers(numbers) or None,
        ),
    )


def _codes_in(finite: NDArray[np.float64]) -> tuple[str, ...] | None:
    """The values of a column of few whole numbers, each of which occurs often; else None."""
    values = np.unique(finite)
    few = 2 <= values.size <= _MOST_CODES and finite.size >= _TIMES * values.size
    return tuple(text_of(value) for value in values.tolist()) if few else None


def _are_whole(finite: NDArray[np.float64]) -> bool:
    # One below the limit, so that a constant can still be widened.
    return bool((np.abs(finite) < MAX_INTEGER).all() and (finite == np.floor(finite)).all())


def _range_of(finite: NDArray[np.float64], integer: bool) -> tuple[float, float]:
    """The range that occurs; the unit interval for nothing, some room around a single value."""
    if not len(finite):
        return 0.0, 1.0
    lower, upper = float(finite.min()), float(finite.max())
    if lower < upper:
        return lower, upper
    room = 1.0 if integer else max(1.0, abs(lower)) / 2
    return max(lower - room, -_LARGEST), min(upper + room, _LARGEST)


def _draft_categorical(name: str, values: list[Any]) -> CategoricalFeature:
    texts: dict[Meaning, str] = {}
    counts: Counter[Meaning] = Counter()
    for value in values:
        meaning = meaning_of(value)
        counts[meaning] += 1
        if meaning not in (None, UNREADABLE):
            text = text_of(value).rstrip("\0").strip()
            if not is_writable(text):
                continue
            # The smallest text stands for its meaning, so that the order of rows plays no part.
            texts[meaning] = min(texts.get(meaning, text), text)
    # Ties by text, for the same reason.
    ranked = sorted(texts, key=lambda meaning: (-counts[meaning], texts[meaning]))
    return CategoricalFeature(
        name=name,
        categories=tuple(sorted(texts[m] for m in ranked[:MOST_DRAFTED])) or (NO_TEXT,),
        missing=counts[None] > 0,
        source=DRAFT_SOURCE,
        status="drafted",
        drafted=DraftMark(),
    )


def as_categories(
    feature: NumericFeature | CategoricalFeature, codes: tuple[str, ...]
) -> CategoricalFeature:
    """A drafted feature of few whole numbers, read as categories."""
    return CategoricalFeature(
        name=feature.name,
        categories=codes,
        missing=feature.missing,
        source=feature.source,
        declared_by=feature.declared_by,
        status="drafted",
        drafted=DraftMark(),
    )


def _draft_output(labels: Column | None, task: str | None) -> dict[str, Any]:
    """Fields ``classes`` or ``target`` of the domain."""
    if labels is None:
        return {}
    _check_draftable("y", labels)
    values = [value for value in cells_of(labels) if meaning_of(value) is not None]
    continuous = any(_is_fraction(value) for value in values)
    if task == "classification" and continuous:
        raise ParameterError(
            "y",
            Described("numbers that are not whole"),
            "Unknown label type: continuous; a classifier needs discrete classes",
            "Pass class labels, or use a regressor",
        )
    if task == "regression" or continuous:
        return {"target": _draft_target(values)}
    return {"classes": _draft_classes(values)}


def _is_fraction(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and not float(value).is_integer()


def _draft_classes(values: list[Any]) -> Classes:
    distinct: dict[Meaning, Label] = {}
    for value in values:
        distinct.setdefault(meaning_of(value), _plain_label(value))
    labels = sorted(distinct.values(), key=lambda label: (isinstance(label, str), label))
    if len(labels) < 2:
        raise DomainError(
            "classes",
            f"the labels hold {len(labels)} class, and at least two classes are needed",
            "Declare the classes",
        )
    return Classes(labels=tuple(labels), source=DRAFT_SOURCE, status="drafted", drafted=DraftMark())


def _plain_label(value: Any) -> Label:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, bool, int, float)) else text_of(value)


def _draft_target(values: list[Any]) -> NumericTarget:
    numbers, _ = to_floats(values)
    if not np.isfinite(numbers).any():
        raise DomainError(
            "target", "there is no finite number among the targets", "Declare target=(lower, upper)"
        )
    lower, upper = _range_of(numbers[np.isfinite(numbers)].clip(-_LARGEST, _LARGEST), False)
    if not math.isfinite(upper - lower):
        lower, upper = -_LARGEST, _LARGEST
    return NumericTarget(
        lower=lower,
        upper=upper,
        source=DRAFT_SOURCE,
        status="drafted",
        drafted=DraftMark(lower=lower, upper=upper),
    )
