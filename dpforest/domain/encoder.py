"""DomainEncoder: from a table of any kind to codes, record by record, by public rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.checks import TASKS, check_choice, check_integer
from dpforest.domain.cells import Cells, cells_of, lattice_of
from dpforest.domain.codes import TableCodes, label_codes, n_codes_of
from dpforest.domain.column_names import is_read_by_position, read_by_name, select_columns
from dpforest.domain.facts import PublicFacts
from dpforest.domain.labels import check_lengths, open_labels, read_labels
from dpforest.domain.list_order import ListOrder, list_order
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.opening import read_table
from dpforest.domain.reading import quietly
from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
from dpforest.domain.selection import Selection
from dpforest.domain.series import Column
from dpforest.domain.table import check_row_widths
from dpforest.exceptions import DomainError

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
        return self._codes.unknown

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
            self._output()
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
        output = self._output()
        table = self._open(X)
        labels = self._read_labels(y, table)
        return self._codes.with_labels(table, labels, output, self.invalid)

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
        return self._codes.to_train(self._open(X), self.invalid)

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
        codes, without = self._codes.to_predict(table, read)
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

    def __getstate__(self) -> dict[str, Any]:
        # Codes are made again by whoever reads it, so that pickles name no class but this one.
        return {name: value for name, value in vars(self).items() if name != "_codes"}

    @cached_property
    def _codes(self) -> TableCodes:
        return TableCodes(self.domain.features, self.cells, self.n_codes, self.ordered, self.dtype)

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

    def _output(self) -> Classes | NumericTarget:
        return self._classes() if self.task == "classification" else self._target()

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


def _listed_order(feature: NumericFeature | CategoricalFeature) -> ListOrder:
    if isinstance(feature, NumericFeature):
        return ListOrder.NOTHING
    return list_order(feature.categories, feature.other)
