"""Bins of records under many directions at a time."""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel

#: Records whose sums are made direction after direction, so that what is written stays near.
_BLOCK = 512


@kernel()
def direction_bins(codes, features, tables, starts, parts, lows, every, firsts):
    """Bins of records under each direction, shape (n, M).

    Part p reads ``tables[starts[p] + code]`` of feature ``features[p]``; direction m adds up the
    parts from ``parts[m]`` on to ``parts[m + 1]``. Bins of its sums, from ``lows[m]`` on, begin at
    ``firsts[m]`` of ``every``, see `bins_of_sums`. Tables are of uint32: parts below 0 wrap around,
    and so do sums on their way, but not where they end.
    """
    n_records, n_directions = codes.shape[0], lows.size
    found = np.empty((n_records, n_directions), dtype=np.uint8)
    sums, columns = np.empty(_BLOCK, np.uint32), np.empty((codes.shape[1], _BLOCK), codes.dtype)
    for first in range(0, n_records, _BLOCK):
        count = min(_BLOCK, n_records - first)
        for feature in range(codes.shape[1]):
            for i in range(count):
                columns[feature, i] = codes[first + i, feature]
        for m in range(n_directions):
            sums[:count] = np.uint32(firsts[m] - lows[m])
            for p in range(parts[m], parts[m + 1]):
                table, column = tables[starts[p] : starts[p + 1]], columns[features[p]]
                for i in range(count):
                    sums[i] += table[column[i]]
            for i in range(count):
                found[first + i, m] = every[sums[i]]
    return found


@kernel()
def bins_of_sums(lows, widths, thresholds, edges):
    """Bins of every sum that a direction can have, one after the other, and where each begins.

    A sum's bin is the number of thresholds below it; those of direction m are ascending, from
    ``edges[m]`` on to ``edges[m + 1]``.
    """
    firsts = np.zeros(widths.size + 1, dtype=np.int64)
    firsts[1:] = np.cumsum(widths)
    every = np.empty(firsts[widths.size], dtype=np.uint8)
    for m in range(widths.size):
        cut = edges[m]
        for value in range(widths[m]):
            while cut < edges[m + 1] and thresholds[cut] < lows[m] + value:
                cut += 1
            every[firsts[m] + value] = cut - edges[m]
    return every, firsts
