"""Codes: each value of a table becomes one, or breaks a rule, by public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.cells import Cells
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
from dpforest.domain.selection import Selection
from dpforest.domain.series import Column, Repeated
from dpforest.domain.targets import target_steps
from dpforest.domain.values import CategoryLookup, to_floats
from dpforest.exceptions import InvalidRecordError
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

#: Records below which columns of numbers are encoded beside each other: to look at each by itself
#: would take longer than its values do.
_FEW_RECORDS = 4096
#: Where at most one feature of so many is read, each is encoded by itself.
_FEW_READ = 4
#: Cells that are encoded beside each other, few enough for fast memory.
_CELLS_AT_ONCE = 2**15


@dataclass(frozen=True, eq=False)
class TableCodes:
    """Codes of tables by the features of a domain and their public grids.

    Attributes
    ----------
    features : tuple of NumericFeature or CategoricalFeature
    cells : tuple of Cells or None
        The grid of each numeric feature.
    n_codes : int64 array of shape (n_features,)
    ordered : bool array of shape (n_features,)
    dtype : dtype
        Type of the codes.
    """

    features: tuple[NumericFeature | CategoricalFeature, ...]
    cells: tuple[Cells | None, ...]
    n_codes: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    dtype: np.dtype[Any]

    @property
    def unknown(self) -> tuple[int, ...]:
        """Code of each feature that no declared value has, -1 where there is none; public."""
        return tuple(map(unknown_code, self.features))

    def with_labels(
        self, selection: Selection, labels: Column, output: Classes | NumericTarget, invalid: str
    ) -> EncodedTable:
        """Codes of a table and of its labels, without the records that are dropped.

        If ``invalid`` is "raise" none is: a record that breaks a rule is an `InvalidRecordError`.
        """
        matrix, keep = self.to_train(selection, invalid)
        if isinstance(output, Classes):
            codes = label_codes(labels, output)
            faults: Faults = [(LABEL_RULE, codes < 0)]
        else:
            codes, faults = steps_of_targets(labels, output)
        _apply("y", faults, keep, invalid)
        if not keep.all():
            matrix = replace(matrix, codes=matrix.codes[keep])
            codes = codes[keep]
        if isinstance(output, Classes):
            return EncodedTable(matrix, codes, len(output.labels))
        return EncodedTable(matrix, np.zeros_like(codes), 2, codes)

    def to_train(
        self, selection: Selection, invalid: str
    ) -> tuple[EncodedMatrix, NDArray[np.bool_]]:
        """Codes to train on, and which records are kept; the others have unspecified codes."""
        n_rows = selection.table.n_rows
        codes = np.empty((n_rows, len(self.features)), dtype=self.dtype)
        keep = np.ones(n_rows, dtype=np.bool_)
        if selection.table.broken is not None:
            _apply("X", [(WIDTH_RULE, selection.table.broken)], keep, invalid)
        for position, feature in enumerate(self.features):
            codes[:, position], faults = self._encode_column(selection, position)
            _apply(feature.name, faults, keep, invalid)
        return EncodedMatrix(codes, self.n_codes, self.ordered, self.unknown), keep

    def to_predict(
        self, selection: Selection, read: Sequence[int] | None
    ) -> tuple[NDArray[np.integer], list[int]]:
        """Codes of all records, and places of numeric features of which no value is a number."""
        n_rows, n_features = selection.table.n_rows, len(self.features)
        codes = np.zeros((n_rows, n_features), dtype=self.dtype)
        few = read is not None and _FEW_READ * len(read) <= n_features
        if not few and n_rows < _FEW_RECORDS and self._encode_numbers(selection, codes):
            return codes, []
        without = []
        for position in read if few and read is not None else range(n_features):
            codes[:, position], faults = self._encode_column(selection, position)
            if have_no_number(codes[:, position], faults, int(self.n_codes[position])):
                without.append(position)
        return codes, without

    def _encode_column(
        self, selection: Selection, position: int
    ) -> tuple[NDArray[np.integer], Faults]:
        """Codes of one feature, and which records break which rule."""
        feature, cells = self.features[position], self.cells[position]
        if isinstance(feature, CategoricalFeature):
            return category_codes(selection.repeated(position), feature)
        assert cells is not None
        return numeric_codes(selection.column(position), feature, cells)

    def _encode_numbers(self, selection: Selection, codes: NDArray[Any]) -> bool:
        """Encode a table of numeric features and plain numbers, all features of a grid at once.

        Returns
        -------
        bool
            False, with nothing done, if the table or the domain is of another kind.
        """
        numbers = selection.numbers() if self.ordered.all() else None
        if numbers is None:
            return False
        at_once = max(1, _CELLS_AT_ONCE // max(len(numbers), 1))
        for of_grid in self._grids.values():
            feature, cells = self.features[of_grid[0]], self.cells[of_grid[0]]
            assert isinstance(feature, NumericFeature) and cells is not None
            for first in range(0, len(of_grid), at_once):
                positions = of_grid[first : first + at_once]
                # Column by column, as pandas keeps them, so that each is copied in one piece.
                values = numbers.T[positions]
                found, _ = numeric_codes(values.ravel(), feature, cells)
                codes[:, positions] = found.reshape(values.shape).T
        return True

    @cached_property
    def _grids(self) -> dict[Any, list[int]]:
        """Places of the numeric features that have the same grid, and mean the same by a gap."""
        found: dict[Any, list[int]] = {}
        for position, feature in enumerate(self.features):
            if isinstance(feature, NumericFeature):
                key = feature.lower, feature.upper, feature.integer, feature.missing
                found.setdefault(key, []).append(position)
        return found


def _apply(column: str, faults: Faults, keep: NDArray[np.bool_], invalid: str) -> None:
    """Drop the records that break a rule, or raise for the first rule that is broken."""
    for rule, broken in faults:
        if not broken.any():
            continue
        if invalid == "raise":
            raise InvalidRecordError(column, rule)
        keep[broken] = False


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
        codes[unparsable] = midpoint_code(feature, cells)
    if feature.missing:
        codes[absent] = cells.n_codes - 1
        return codes, faults
    codes[absent] = midpoint_code(feature, cells)
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


def have_no_number(codes: NDArray[np.integer], faults: Faults, n_codes: int) -> bool:
    """Say if each value of a numeric column is no number or missing, and not all are missing."""
    broken = dict(faults)
    if NUMBER_RULE not in broken:
        return False
    absent = broken.get(MISSING_RULE, codes == n_codes - 1)
    return bool((broken[NUMBER_RULE] | absent).all())


def midpoint_code(feature: NumericFeature, cells: Cells) -> int:
    """Code of what is no number: that of the middle of the bounds."""
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
