"""Codes of one column: what each value becomes, and which rule it breaks.

Each is a function of the value and of public facts alone. :class:`DomainEncoder` drops by these
rules, and ``Domain.check`` tells the curator by the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.cells import Cells
from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
from dpforest.domain.series import Column, Repeated
from dpforest.domain.targets import target_steps
from dpforest.domain.values import CategoryLookup, to_floats
from dpforest.observation import observe_read

MISSING_RULE = "a value is missing, and the domain does not allow that"
WIDTH_RULE = "a row is not a list with one value for each feature"
NUMBER_RULE = "a value is not a number"
INFINITE_RULE = "a value is infinite"
LABEL_RULE = "a label is missing or not one of the declared classes"
#: Whole numbers below this are looked up in a table of all of them.
_SMALL_NUMBERS = 4096

#: Rule broken → records that break it, in the order in which they are reported.
Faults = list[tuple[str, NDArray[np.bool_]]]


def n_codes_of(feature: NumericFeature | CategoricalFeature, cells: Cells | None) -> int:
    """Number of codes of a feature; ``cells`` is its grid if it is numeric."""
    if cells is not None:
        return cells.n_codes
    assert isinstance(feature, CategoricalFeature)
    return len(feature.categories) + (feature.other is None) + feature.missing


def unknown_code(feature: NumericFeature | CategoricalFeature) -> int:
    """Code of what a categorical feature does not declare; -1 for none."""
    if isinstance(feature, NumericFeature) or feature.other is not None:
        return -1
    return len(feature.categories)


def category_codes(
    column: Repeated, feature: CategoricalFeature
) -> tuple[NDArray[np.integer], Faults]:
    """Codes of a categorical column: categories, then unknown unless ``other``, then missing."""
    n_categories = len(feature.categories)
    unknown = unknown_code(feature)
    if feature.other is not None:
        unknown = feature.categories.index(feature.other)
    missing = n_categories + (feature.other is None) if feature.missing else -1
    lookup = CategoryLookup(
        feature.categories, unknown=unknown, missing=missing, positions=not feature.holds_numbers
    )
    codes = look_up(lookup, column.values, missing)
    if column.places is not None:
        codes = codes[column.places]
    if feature.missing:
        return codes, []
    absent = codes < 0
    codes[absent] = unknown
    return codes, [(MISSING_RULE, absent)]


def look_up(lookup: CategoryLookup, column: Column, missing: int) -> NDArray[np.int32]:
    """Codes of a column by a lookup; ``missing`` is the code of NaN."""
    if not isinstance(column, np.ndarray):
        return lookup.encode(column)
    if column.dtype.kind in "iu":
        return _look_up_numbers(lookup, column)
    if column.dtype.kind != "f":
        return lookup.encode(column.tolist())
    # Every NaN in a list is an object of its own, which the lookup would remember one by one.
    numbers, _ = numbers_of(column)
    absent = np.isnan(numbers)
    codes = _look_up_numbers(lookup, np.where(absent, 0, numbers))
    codes[absent] = missing
    return codes


def _look_up_numbers(lookup: CategoryLookup, numbers: NDArray[Any]) -> NDArray[np.int32]:
    """Codes of numbers: small whole ones, as codes of categories are, from a table of all of them.

    The lookup is a function of a value alone, so the table gives what it would.
    """
    if not numbers.size:
        return lookup.encode([])
    low, high = numbers.min(), numbers.max()
    if not 0 <= low <= high < min(_SMALL_NUMBERS, numbers.size):
        return lookup.encode(numbers.tolist())
    whole = numbers.astype(np.intp)
    if not np.array_equal(whole, numbers):
        return lookup.encode(numbers.tolist())
    return lookup.encode(np.arange(int(high) + 1).astype(numbers.dtype).tolist())[whole]


def numbers_of(column: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """As ``to_floats``; in one piece: a column of a matrix lies spread over all of it."""
    if isinstance(column, np.ndarray):
        # The longest doubles overflow with a warning, and a warning must not depend on a record.
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(column, dtype=np.float64), None
    return to_floats(column)


def numeric_codes(
    column: Column, feature: NumericFeature, cells: Cells
) -> tuple[NDArray[np.integer], Faults]:
    """Codes of a numeric column; what has no code of its own gets the midpoint's."""
    numbers, unparsable = numbers_of(column)
    absent = np.isnan(numbers)
    # NaN has no place in a grid; every one is given a code below.
    codes = cells.encode(np.where(absent, feature.lower, numbers))
    faults, absent = numeric_faults(feature, numbers, unparsable)
    if unparsable is not None:
        codes[unparsable] = _midpoint_code(feature, cells)
    if feature.missing:
        codes[absent] = cells.n_codes - 1
        return codes, faults
    codes[absent] = _midpoint_code(feature, cells)
    return codes, faults


def numeric_faults(
    feature: NumericFeature, numbers: NDArray[np.float64], unparsable: NDArray[np.bool_] | None
) -> tuple[Faults, NDArray[np.bool_]]:
    """Rules that numbers of a feature break, and where there is none at all."""
    absent = np.isnan(numbers)
    faults: Faults = []
    if unparsable is not None:
        faults.append((NUMBER_RULE, unparsable))
        absent &= ~unparsable
    faults.append((INFINITE_RULE, np.isinf(numbers)))
    if not feature.missing:
        faults.append((MISSING_RULE, absent))
    return faults, absent


def _midpoint_code(feature: NumericFeature, cells: Cells) -> int:
    middle = feature.lower + (feature.upper - feature.lower) / 2
    return int(cells.encode(np.array([middle]))[0])


def steps_of_targets(labels: Column, target: NumericTarget) -> tuple[NDArray[np.int32], Faults]:
    """Places of targets between the bounds; what is no finite number breaks a rule."""
    numbers, faults = target_faults(labels)
    return target_steps(numbers, target)[0], faults


def target_faults(labels: Column) -> tuple[NDArray[np.float64], Faults]:
    """Targets as numbers, and the rules that they break."""
    observe_read("labels")
    numbers, unparsable = to_floats(labels)
    absent, infinite = np.isnan(numbers), np.isinf(numbers)
    if unparsable is None:
        return numbers, [(INFINITE_RULE, infinite), (MISSING_RULE, absent)]
    absent &= ~unparsable
    return numbers, [(NUMBER_RULE, unparsable), (INFINITE_RULE, infinite), (MISSING_RULE, absent)]


def label_codes(labels: Column, classes: Classes) -> NDArray[np.int32]:
    """Class codes of labels, -1 where missing or not declared."""
    observe_read("labels")
    lookup = CategoryLookup(classes.texts, unknown=-1, missing=-1)
    return look_up(lookup, labels, -1)
