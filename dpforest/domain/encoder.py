"""DomainEncoder: from a table of any kind to codes, record by record, by public rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.checks import TASKS, check_choice, check_integer
from dpforest.domain.cells import Cells, cells_of, lattice_of
from dpforest.domain.column_names import is_read_by_position, read_by_name, select_columns
from dpforest.domain.facts import PublicFacts
from dpforest.domain.labels import check_lengths, open_labels, read_labels
from dpforest.domain.list_order import ListOrder, list_order
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.opening import read_table
from dpforest.domain.reading import quietly
from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
from dpforest.domain.selection import Selection
from dpforest.domain.series import Column, Repeated
from dpforest.domain.table import check_row_widths
from dpforest.domain.targets import target_steps
from dpforest.domain.values import CategoryLookup, to_floats
from dpforest.exceptions import DomainError, InvalidRecordError
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

#: Stands for labels that were left out, where None means that somebody forgot them.
FEATURES_ONLY: Any = object()


class Meaningless(NamedTuple):
    """Features of a table to predict whose columns mean nothing as a whole.

    Attributes
    ----------
    of_times : tuple of str
        Of dates or times by the type of an array or a frame.
    without_numbers : tuple of str
        Numeric ones that are read, of whose values none is a number, and some are there.
    """

    of_times: tuple[str, ...]
    without_numbers: tuple[str, ...]


class DomainEncoder:
    """Encode tables by a domain, without learning anything from them.

    What becomes of a record depends on that record and the domain alone, whatever the
    container and the type of its columns (see `dpforest.domain.values.meaning_of`):

    ========================================  =============================================
    value                                     becomes
    ========================================  =============================================
    number outside the bounds                 the nearest bound
    category not listed                       ``other``, or the code reserved for unknowns
    missing, where allowed                    the feature's last code
    missing where not allowed, infinity,      the record is dropped (``invalid="drop"``) or
    no number in a numeric column, unknown    `InvalidRecordError` (``invalid="raise"``)
    label; in a list of rows, a row of
    another width
    ========================================  =============================================

    For prediction no record is dropped: see `encode_to_predict`.

    Parameters
    ----------
    domain : Domain
        The public facts.
    invalid : {"drop", "raise"}
        What to do with a record that has no meaning under the domain. Raising tells
        whoever sees it about the records, so it is for the curator only.
    thresholds : {"cells", "lattice"}
        Public cells of at most ``max_cells`` a feature, or a lattice of up to 2**32 points.
    max_cells : int
        Largest number of codes of a numeric feature, 2 to 65,536.
    task : {"classification", "regression"}
        Whether labels are classes or numbers between the domain's target bounds.
    estimator_name : str
        Whose name stands in error messages.

    Attributes
    ----------
    n_codes : int64 array of shape (n_features,)
    ordered : bool array of shape (n_features,)
    cells : tuple of Cells or None
        The public grid of each numeric feature; None for a categorical one.
    """

    def __init__(
        self,
        domain: PublicFacts,
        invalid: str = "drop",
        thresholds: str = "cells",
        max_cells: int = 256,
        *,
        task: str = "classification",
        estimator_name: str = "DomainEncoder",
    ) -> None:
        self.domain = domain
        self.invalid = check_choice(invalid, "invalid", ("drop", "raise"))
        self.thresholds = check_choice(thresholds, "thresholds", ("cells", "lattice"))
        self.task = check_choice(task, "task", TASKS)
        self.max_cells = check_integer(max_cells, "max_cells", 2, 2**16)
        self.estimator_name = estimator_name
        self.cells = tuple(map(self._grid_of, domain.features))
        self.n_codes = np.array(
            [n_codes_of(*pair) for pair in zip(domain.features, self.cells, strict=True)],
            dtype=np.int64,
        )
        self.ordered = np.array([f.kind == "numeric" for f in domain.features], dtype=np.bool_)
        self.n_codes.flags.writeable = self.ordered.flags.writeable = False

    @property
    def listed(self) -> tuple[ListOrder, ...]:
        """Word of each feature's list of categories on their order; nothing of a number."""
        return tuple(map(_listed_order, self.domain.features))

    @property
    def unknown(self) -> tuple[int, ...]:
        """Code of each feature that no declared value has, -1 where there is none; public."""
        return tuple(map(unknown_code, self.domain.features))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the codes: the smallest that holds every feature's."""
        if self.thresholds == "lattice":
            return np.dtype(np.uint32)
        return np.dtype(np.uint8 if self.n_codes.max() <= 256 else np.uint16)

    def check(self, X: Any, y: Any = FEATURES_ONLY) -> None:
        """Check shape and types of a table, and of labels if given, before any value is read.

        Types are refused where no record decides them: those of an Arrow schema. What numpy,
        pandas and polars infer is read, whatever it is. Labels left out are not checked; ``None``
        for labels is refused.

        Raises
        ------
        ParameterError, ParameterTypeError, DomainError
            Naming what does not fit; never a value or a number of rows.
        """
        table = self._open(X)
        table.check()
        if y is not FEATURES_ONLY:
            self._check_declared()
            features = read_by_name(table.table.names, self.domain.feature_names)
            opened = open_labels(y, self.estimator_name, True, features)
            # Their number alone: what a label is, is read once it was paid for.
            check_lengths(table.table, opened)

    def reads_by_position(self, X: Any) -> bool:
        """Say if a table, of a width that was checked, has names and none of the declared ones."""
        table = read_table(X, self.domain.feature_names)
        return is_read_by_position(table, self.domain.feature_names)

    @quietly
    def encode(self, X: Any, y: Any) -> EncodedTable:
        """Encode a table with its labels, without the records that are dropped.

        Parameters
        ----------
        X : array, list or data frame of shape (n_samples, n_features)
            Frames are read by name if they have all declared names, else by position.
            An empty list is a table without records.
        y : array, list or series of shape (n_samples,)
            Labels, compared with the declared classes by meaning, like categories; for
            regression numbers, clipped to the declared bounds.

        Returns
        -------
        EncodedTable

        Raises
        ------
        InvalidRecordError
            With ``invalid="raise"``, if some record breaks a rule.
        """
        self._check_declared()
        table = self._open(X)
        labels = self._read_labels(y, table)
        matrix, keep = self._encode_table(table)
        if self.task == "classification":
            codes = label_codes(labels, self._classes())
            faults: Faults = [(LABEL_RULE, codes < 0)]
        else:
            codes, faults = steps_of_targets(labels, self._target())
        self._apply("y", faults, keep)
        if not keep.all():
            matrix = replace(matrix, codes=matrix.codes[keep])
            codes = codes[keep]
        if self.task == "classification":
            return EncodedTable(matrix, codes, len(self._classes().labels))
        return EncodedTable(matrix, np.zeros_like(codes), 2, codes)

    @quietly
    def encode_features(self, X: Any) -> tuple[EncodedMatrix, NDArray[np.bool_]]:
        """Encode a table's features; rows stay in place.

        Parameters
        ----------
        X : array, list or data frame of shape (n_samples, n_features)
            The table.

        Returns
        -------
        matrix : EncodedMatrix
            One row for each row of X, the invalid ones included (with unspecified codes).
        keep : bool array of shape (n_samples,)
            False where the record is to be dropped.
        """
        return self._encode_table(self._open(X))

    @quietly
    def encode_to_predict(
        self, X: Any, read: Sequence[int] | None = None
    ) -> tuple[NDArray[np.integer], Meaningless]:
        """Encode a table for prediction; rows stay in place, and none is dropped.

        Every record gets a code by a fixed public rule: infinity is clipped; what is no number,
        or missing where that is not allowed, counts as the midpoint of the bounds, or as unknown
        in a categorical feature.

        Parameters
        ----------
        X : array, list or data frame of shape (n_samples, n_features)
            The table.
        read : sequence of int, optional
            Places of the features that codes are read of; of others the code may be 0, and their
            columns are asked for their names and types alone.

        Returns
        -------
        codes : array of shape (n_samples, n_features)
        meaningless : Meaningless
        """
        table = self._open_to_predict(X)
        codes, without = self._codes_to_predict(table, read)
        of_times, names = table.of_times(), self.domain.feature_names
        return codes, Meaningless(
            tuple(names[place] for place in of_times),
            tuple(names[place] for place in without if place not in of_times),
        )

    @quietly
    def as_given(self, X: Any) -> NDArray[Any]:
        """Values of a table's declared columns in the domain's order, as they were given.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Of objects where some column is no numbers.
        """
        selection = self._open(X)
        columns = [selection.column(place) for place in range(self.domain.n_features)]
        numbers = [c for c in columns if isinstance(c, np.ndarray) and c.dtype.kind in "biuf"]
        if len(numbers) == len(columns):
            return np.column_stack(numbers)
        cells = np.empty((selection.table.n_rows, len(columns)), dtype=object)
        for place, column in enumerate(columns):
            for row, cell in enumerate(column):
                cells[row, place] = cell
        return cells

    @quietly
    def encode_labels(self, y: Any) -> NDArray[np.int32]:
        """Class codes of labels, -1 where missing or not declared."""
        return label_codes(read_labels(y, self.estimator_name), self._classes())

    def _grid_of(self, feature: NumericFeature | CategoricalFeature) -> Cells | None:
        if isinstance(feature, CategoricalFeature):
            return None
        if self.thresholds == "lattice":
            return lattice_of(feature)
        return cells_of(feature, self.max_cells)

    def _classes(self) -> Classes:
        if self.domain.classes is None:
            raise DomainError("classes", "no classes are declared", "Declare at least two")
        return self.domain.classes

    def _target(self) -> NumericTarget:
        if self.domain.target is None:
            raise DomainError(
                "target", "no target bounds are declared", "Declare target=(lower, upper)"
            )
        return self.domain.target

    def _check_declared(self) -> None:
        if self.task == "classification":
            self._classes()
        else:
            self._target()

    def _open(self, X: Any) -> Selection:
        table = read_table(X, self.domain.feature_names)
        indices = select_columns(table, self.domain.feature_names, self.estimator_name)
        return Selection(table, indices)

    def _open_to_predict(self, X: Any) -> Selection:
        table = self._open(X)
        table.check()
        check_row_widths(table.table, self.estimator_name)
        return table

    def _read_labels(self, y: Any, selection: Selection) -> Column:
        # Parts of a stream come here without a look at the door.
        features = read_by_name(selection.table.names, self.domain.feature_names)
        labels = read_labels(y, self.estimator_name, features=features)
        check_lengths(selection.table, labels)
        return labels

    def _encode_table(self, selection: Selection) -> tuple[EncodedMatrix, NDArray[np.bool_]]:
        """Codes to train on, and which records are kept."""
        n_rows = selection.table.n_rows
        codes = np.empty((n_rows, self.domain.n_features), dtype=self.dtype)
        keep = np.ones(n_rows, dtype=np.bool_)
        if selection.table.broken is not None:
            self._apply("X", [(WIDTH_RULE, selection.table.broken)], keep)
        for position, feature in enumerate(self.domain.features):
            codes[:, position], faults = self._encode_column(selection, position)
            self._apply(feature.name, faults, keep)
        return EncodedMatrix(codes, self.n_codes, self.ordered, self.unknown), keep

    def _codes_to_predict(
        self, selection: Selection, read: Sequence[int] | None
    ) -> tuple[NDArray[np.integer], list[int]]:
        """Codes of all records, and places of numeric features of which no value is a number."""
        n_rows, n_features = selection.table.n_rows, self.domain.n_features
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
        feature, cells = self.domain.features[position], self.cells[position]
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
            feature, cells = self.domain.features[of_grid[0]], self.cells[of_grid[0]]
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
        for position, feature in enumerate(self.domain.features):
            if isinstance(feature, NumericFeature):
                key = feature.lower, feature.upper, feature.integer, feature.missing
                found.setdefault(key, []).append(position)
        return found

    def _apply(self, column: str, faults: Faults, keep: NDArray[np.bool_]) -> None:
        """Drop the records that break a rule, or raise for the first rule that is broken."""
        for rule, broken in faults:
            if not broken.any():
                continue
            if self.invalid == "raise":
                raise InvalidRecordError(column, rule)
            keep[broken] = False


def n_codes_of(feature: NumericFeature | CategoricalFeature, cells: Cells | None) -> int:
    """Number of codes of a feature; ``cells`` is its grid if it is numeric."""
    if cells is not None:
        return cells.n_codes
    assert isinstance(feature, CategoricalFeature)
    return len(feature.categories) + (feature.other is None) + feature.missing


def _listed_order(feature: NumericFeature | CategoricalFeature) -> ListOrder:
    if isinstance(feature, NumericFeature):
        return ListOrder.NOTHING
    return list_order(feature.categories, feature.other)


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
