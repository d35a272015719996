"""The secret table, as the kernels take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.targets import TARGET_STEPS


@dataclass(frozen=True, slots=True)
class Table:
    """Records as the kernels take them; secret, and never kept after the fit.

    Attributes
    ----------
    codes : ndarray of uint8, uint16 or uint32, shape (n, D), C order
    labels : ndarray of uint8 or uint16, shape (n,)
    n_codes, offsets : ndarray of int64, shapes (D,) and (D + 1,)
    ordered : ndarray of bool, shape (D,)
    n_classes : int
    lattice : LatticeColumns or None
        How the columns are read where codes are points of a fine lattice; None on public cells.
    targets : ndarray of int32, shape (n,), or None
        For regression: places between the target's bounds, in steps of `TARGET_STEPS`. A record
        then counts as ``TARGET_STEPS - t`` parts of class 0 and ``t`` parts of class 1, and
        what is learnt as the share of class 1 is the mean.
    unknown : tuple of int
        Of each feature the code that no declared value has, -1 where there is none. Empty where
        no feature has one.
    """

    codes: NDArray
    labels: NDArray
    n_codes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    n_classes: int
    lattice: LatticeColumns | None = None
    targets: NDArray[np.int32] | None = None
    unknown: tuple[int, ...] = ()

    def __repr__(self) -> str:
        """Nothing of the records: it may stand in a log."""
        return "<records>"

    @classmethod
    def of(cls, table: EncodedTable) -> Table:
        """Fix dtypes at the door, so that kernels compile once."""
        from dpforest.records.kernels.histogram import label_dtype

        matrix = table.matrix
        offsets = np.concatenate([[0], np.cumsum(matrix.n_codes)]).astype(np.int64)
        labels = np.ascontiguousarray(table.labels, dtype=label_dtype(table.n_classes))
        columns = matrix.codes, labels, matrix.n_codes, offsets, matrix.ordered, table.n_classes
        # Four bytes a code is what the encoder makes of a lattice, and of nothing else.
        if matrix.codes.dtype != np.uint32:
            return cls(*columns, targets=table.targets, unknown=matrix.unknown)
        lattice = LatticeColumns.of(matrix, labels, table.n_classes)
        return cls(*columns, lattice, unknown=matrix.unknown)

    @classmethod
    def joined(cls, tables: Sequence[Table]) -> Table:
        """One table of the records of several on the same public cells, in their order."""
        first, targets = tables[0], [t.targets for t in tables if t.targets is not None]
        return replace(
            first,
            codes=np.concatenate([table.codes for table in tables]),
            labels=np.concatenate([table.labels for table in tables]),
            targets=np.concatenate(targets) if targets else None,
        )

    def __sizeof__(self) -> int:
        """Bytes of the records."""
        targets = 0 if self.targets is None else self.targets.nbytes
        return int(self.codes.nbytes + self.labels.nbytes + targets)

    @property
    def unit(self) -> int:
        """Amount that a record adds to class counts in all: 1, or the steps of a target."""
        return 1 if self.targets is None else TARGET_STEPS

    def rescaled(self, low: int, high: int) -> Table:
        """The same records with targets between other bounds, in steps of the present ones.

        Targets outside are clipped. A function of each record alone, given released bounds.
        """
        assert self.targets is not None
        inside = np.clip(self.targets.astype(np.int64), low, high) - low
        return replace(self, targets=(inside * TARGET_STEPS // (high - low)).astype(np.int32))

    def tossed(self, words: NDArray[np.uint64]) -> Table:
        """The same records with each target replaced by a class: 1 with probability t / steps.

        A record's class follows from its own target and its own word, so whatever is released
        of tossed records is as private as of any others; the coins are secret and forgotten.
        The share of class 1 is the mean of the targets, in expectation.
        """
        assert self.targets is not None
        places = (words >> np.uint64(48)).astype(np.int64)  # uniform below 2**16, the steps
        return replace(self, labels=(places < self.targets).astype(np.uint8), targets=None)

    @property
    def declared(self) -> NDArray[np.bool_]:
        """Mask of the cells that a declared value can lie in, shape (total codes,); public."""
        declared = np.ones(int(self.offsets[-1]), dtype=np.bool_)
        for start, unknown in zip(self.offsets, self.unknown, strict=False):
            if unknown >= 0:
                declared[start + unknown] = False
        return declared

    @property
    def n_records(self) -> int:
        """Number of records; secret under add/remove."""
        return int(self.labels.size)


@dataclass(frozen=True, slots=True, repr=False)
class LatticeColumns:
    """Columns of a table on a lattice: ordered ones sorted, categorical ones as a table of cells.

    Attributes
    ----------
    ordered, categorical : ndarray of int64
        Features of each kind.
    local : ndarray of int64, shape (D,)
        Place of every feature among those of its kind.
    words : ndarray of uint64, shape (ordered.size, n)
        Records in the order of each ordered feature; secret. Sorted once, for all trees.
    values : Table or None
        The categorical features alone; None where there are none.
    """

    ordered: NDArray[np.int64]
    categorical: NDArray[np.int64]
    local: NDArray[np.int64]
    words: NDArray[np.uint64]
    values: Table | None

    @classmethod
    def of(cls, matrix: EncodedMatrix, labels: NDArray, n_classes: int) -> LatticeColumns:
        """Sort the ordered columns and set the categorical ones apart."""
        ordered = np.flatnonzero(matrix.ordered)
        categorical = np.flatnonzero(~matrix.ordered)
        local = np.empty(matrix.n_features, dtype=np.int64)
        local[ordered] = np.arange(ordered.size)
        local[categorical] = np.arange(categorical.size)
        words = _sorted_words(matrix.codes, ordered)
        values = None
        if categorical.size:
            n_codes = matrix.n_codes[categorical]
            codes = matrix.codes[:, categorical].astype(np.min_scalar_type(n_codes.max() - 1))
            offsets = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
            columns = np.ascontiguousarray(codes), labels, n_codes, offsets
            unknown = tuple(matrix.unknown[f] for f in categorical) if matrix.unknown else ()
            ordered_ones = matrix.ordered[categorical]
            values = Table(*columns, ordered_ones, n_classes, unknown=unknown)
        return cls(ordered, categorical, local, words, values)

    def among(self, kind: NDArray[np.int64], features: NDArray) -> NDArray[np.int64]:
        """Places among the features of one kind; -1 for no feature and for the other kind."""
        # No feature is -1, which picks the last one's place and is masked out.
        return np.where(np.isin(features, kind), self.local[features], -1)


def _sorted_words(codes: NDArray, features: NDArray[np.int64]) -> NDArray[np.uint64]:
    """All records in one node, sorted once for each of the listed features, shape (D, n)."""
    words = codes.T[features].astype(np.uint64) << np.uint64(32)
    words |= np.arange(codes.shape[0], dtype=np.uint64)
    words.sort(axis=1)
    return words
