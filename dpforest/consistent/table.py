"""A table as the kernels take it: ranks of the distinct values of each feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.cells import WIDTH
from dpforest.consistent.kernels.lanes import LANES, MOST_CODES
from dpforest.consistent.kernels.layout import Table

#: A feature has a node histogram if its cells are at most this share of the records ...
_CELLS_OF_RECORDS = 1 / 16
#: ... and at most so many values.
_MOST_COUNTED = 256
#: Features of at most four values are counted side by side where a node looks at so many of them
#: for each 64 columns.
_LANES_PAY = 2
#: Whole numbers in a range up to this many times the records are ranked by counting.
_DENSE = 4


def ranks(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distinct values in ascending order, and each record's place among them."""
    low, high = float(column.min()), float(column.max())
    if high - low < _DENSE * column.size + 1024 and abs(low) < 2.0**52:
        offsets = (column - low).astype(np.int64)
        if np.array_equal(offsets + low, column):
            present = np.bincount(offsets) > 0
            place = np.cumsum(present) - 1
            return (np.flatnonzero(present) + low).astype(np.float64), place[offsets]
    values, codes = np.unique(column, return_inverse=True)
    return values, codes.reshape(-1)


def encode_table(
    X: NDArray[np.float64],
    labels: NDArray | None,
    targets: NDArray | None,
    n_classes: int,
    against_rest: NDArray[np.bool_],
    keep_sorted: bool,
    share: float = 1.0,
) -> Table:
    """Encode once for a forest.

    Parameters
    ----------
    X : float64 array of shape (n, D)
        Finite numbers.
    labels, targets : arrays of shape (n,)
        Class codes, or targets; the other is None.
    n_classes : int
        0 in regression.
    against_rest : bool array of shape (D,)
    keep_sorted : bool
        Whether features of many values are kept in order in every node, rather than sorted where
        they are drawn.
    share : float
        Share of the features that a node looks at.
    """
    n_records, n_features = X.shape
    encoded = [ranks(np.ascontiguousarray(X[:, f])) for f in range(n_features)]
    sizes = np.array([values.size for values, _ in encoded], dtype=np.int64)
    few, in_lanes, width = _layout(sizes, n_records, n_classes, share)
    rows = np.zeros((n_records, width), np.uint8 if sizes.max() <= 256 else np.uint32)
    for f, (_, codes) in enumerate(encoded):
        rows[:, f] = codes
    counted = np.concatenate([np.flatnonzero(in_lanes), np.flatnonzero(few & ~in_lanes)])
    ordered = np.flatnonzero(~few) if keep_sorted else np.empty(0, np.int64)
    sorted_place = np.full(n_features, -1, np.int64)
    sorted_place[ordered] = np.arange(ordered.size)
    return Table(
        rows=rows,
        labels=np.empty(0, np.uint16) if labels is None else labels.astype(np.uint16),
        targets=np.empty(0) if targets is None else np.array(targets, dtype=np.float64),
        n_classes=n_classes,
        values=np.concatenate([values for values, _ in encoded]).astype(np.float64),
        value_starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        n_codes=sizes,
        against_rest=against_rest.astype(np.bool_),
        counted=counted,
        n_lanes=int(in_lanes.sum()),
        lane_codes=int(sizes[in_lanes].max(initial=0)),
        firsts=(np.cumsum(sizes[counted]) - sizes[counted]).astype(np.int64),
        n_cells=-(-int(sizes[counted].sum()) // WIDTH) * WIDTH,
        sorted_place=sorted_place,
        words=_sorted_words(rows, ordered),
    )


def _layout(
    sizes: NDArray[np.int64], n_records: int, n_classes: int, share: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], int]:
    """Find the features counted in histograms, those counted in lanes, and columns of a row."""
    cells = sizes * (n_classes or 3)
    few = (sizes <= _MOST_COUNTED) & (cells <= max(_CELLS_OF_RECORDS * n_records, 64))
    in_lanes = few & (sizes <= MOST_CODES) & (n_classes > 0 and sizes.max() <= 256)
    width = -(-sizes.size // LANES) * LANES
    if in_lanes.sum() * share < _LANES_PAY * (width // LANES):
        return few, np.zeros_like(few), sizes.size
    return few, in_lanes, width


def _sorted_words(rows: NDArray[Any], ordered: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Codes of some features above record numbers, each feature's in ascending order."""
    words = rows.T[ordered].astype(np.uint64) << np.uint64(32)
    words |= np.arange(rows.shape[0], dtype=np.uint64)
    words.sort(axis=1)
    return words
