"""Move the records of a level, and the public boxes of its nodes, to the two children of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.records.kernels.prefetch import AHEAD, NEAR, prefetch


@kernel()
def apply_splits(
    codes: NDArray,
    order: NDArray,
    node_starts: NDArray,
    feature: NDArray,
    low: NDArray,
    high: NDArray,
    new_order: NDArray,
    new_starts: NDArray,
) -> None:
    """Split every node's records into its left and right child, keeping their order.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    order : int32 array of shape (m,)
    node_starts : int64 array of shape (n_nodes + 1,)
    feature, low, high : integer arrays of shape (n_nodes,)
        One split a node; ``feature == -1`` sends all records left.
    new_order : int32 array of shape (m,), overwritten; must not overlap ``order``
    new_starts : int64 array of shape (2 * n_nodes + 1,), overwritten
    """
    right = np.empty(order.shape[0], np.int32)
    flat_codes = codes.reshape(codes.size)
    far = codes.nbytes > NEAR
    width = np.uint64(codes.shape[1])
    for node in range(feature.shape[0]):
        start, end = node_starts[node], node_starts[node + 1]
        new_starts[2 * node] = start
        if feature[node] < 0:
            new_order[start:end] = order[start:end]
            new_starts[2 * node + 1] = end
            continue
        column = np.uint64(feature[node])
        bottom = np.int64(low[node])
        span = np.uint64(np.int64(high[node]) - bottom)
        n_left = np.uint64(start)
        n_right = np.uint64(0)
        for i in range(start, end):
            if far:
                prefetch(flat_codes, np.uint64(order[min(i + AHEAD, end - 1)]) * width + column)
            record = order[i]
            code = np.int64(flat_codes[np.uint64(record) * width + column])
            # Below low wraps to a huge number: one unsigned comparison tests both ends.
            goes_left = np.uint64(np.uint64(code - bottom) <= span)
            # Written to both sides, kept on one: no branch to mispredict.
            new_order[n_left] = record
            right[n_right] = record
            n_left += goes_left
            n_right += np.uint64(1) - goes_left
        middle = np.int64(n_left)
        new_starts[2 * node + 1] = middle
        new_order[middle:end] = right[: end - middle]
    new_starts[2 * feature.shape[0]] = node_starts[feature.shape[0]]


@kernel()
def initial_boxes(n_codes: NDArray, box_low: NDArray, box_high: NDArray, alive: NDArray) -> None:
    """The root's box: all codes of every feature. Arrays as in :func:`update_boxes`, one node."""
    for f in range(n_codes.shape[0]):
        box_low[0, f] = 0
        box_high[0, f] = n_codes[f] - 1
    alive[0] = True


@kernel()
def update_boxes(
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    feature: NDArray,
    low: NDArray,
    high: NDArray,
    new_low: NDArray,
    new_high: NDArray,
    new_alive: NDArray,
) -> None:
    """Boxes of the children from those of their parents and the splits drawn.

    Public in, public out: records play no part.

    Parameters
    ----------
    box_low, box_high : int32 arrays of shape (n_nodes, D)
        Smallest and largest code of each *ordered* feature that can reach the node.
    alive : bool array of shape (n_nodes, total)
        Which codes of each *categorical* feature can reach the node.
    offsets : int64 array of shape (D + 1,)
    ordered : bool array of shape (D,)
    feature, low, high : integer arrays of shape (n_nodes,)
    new_low, new_high, new_alive : same dtypes, ``2 * n_nodes`` rows, overwritten

    Notes
    -----
    A node with ``feature == -1`` has no candidate; neither has any child, which keeps its box.
    """
    for node in range(feature.shape[0]):
        left, right = 2 * node, 2 * node + 1
        for child in (left, right):
            new_low[child] = box_low[node]
            new_high[child] = box_high[node]
            new_alive[child] = alive[node]
        f = feature[node]
        if f < 0:
            continue
        if ordered[f]:
            # Ordered splits start at the box's bottom, so the right child is one interval too.
            new_high[left, f] = min(np.int64(box_high[node, f]), np.int64(high[node]))
            new_low[right, f] = max(np.int64(box_low[node, f]), np.int64(high[node]) + 1)
            continue
        for cell in range(offsets[f], offsets[f + 1]):
            inside = low[node] <= cell - offsets[f] <= high[node]
            new_alive[left, cell] = alive[node, cell] and inside
            new_alive[right, cell] = alive[node, cell] and not inside


@kernel()
def count_candidates(
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    out: NDArray,
) -> None:
    """Number of candidates that each box leaves of each feature, int64 (n_nodes, D); public.

    Boxes as in :func:`update_boxes`. Cuts of an ordered feature lie below the box's top; of a
    categorical one each alive value is a candidate if another is alive.
    """
    for node in range(out.shape[0]):
        for f in range(out.shape[1]):
            if ordered[f]:
                out[node, f] = max(np.int64(box_high[node, f]) - np.int64(box_low[node, f]), 0)
                continue
            n_alive = 0
            for cell in range(offsets[f], offsets[f + 1]):
                n_alive += alive[node, cell]
            out[node, f] = n_alive if n_alive > 1 else 0


@kernel()
def nth_candidates(
    box_low: NDArray,
    alive: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    features: NDArray,
    places: NDArray,
    out: NDArray,
) -> None:
    """Code of the candidate at a place among those of the box, in code order; public.

    ``features``, ``places`` and ``out`` are int64 (n_nodes,); the place is below what
    :func:`count_candidates` gives. Nodes with feature -1 get -1.
    """
    for node in range(features.shape[0]):
        f = features[node]
        if f < 0:
            out[node] = -1
        elif ordered[f]:
            out[node] = np.int64(box_low[node, f]) + places[node]
        else:
            seen = np.int64(-1)
            code = np.int64(-1)
            while seen < places[node]:
                code += 1
                seen += np.int64(alive[node, offsets[f] + code])
            out[node] = code
