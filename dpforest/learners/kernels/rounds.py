"""One round of the refitted forest: residuals on a lattice, their sums over candidate leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.learners.kernels.block_math import exp_of
from dpforest.learners.kernels.cell_sums import add_cell_sums, tree_cells
from dpforest.learners.kernels.random_trees import descend, descend_from
from dpforest.learners.kernels.reach import (
    MAX_DEPTH,
    N_PLACES,
    common_reach,
    features_used,
    fill_reach,
    leaves_of_places,
    place_of,
)

_BLOCK = 512
#: Features of a tree up to which looking up is quicker than walking.
_MOST_USED = 6
#: Records below which it is not worth making the tables.
_FEW_RECORDS = 4096
#: Log-odds beyond which a residual is none.
_MOST = 700.0


# Without numpy's error model a division is a branch, and the loop is no vector loop.
@kernel(error_model="numpy")
def lattice_residuals(scores: NDArray, labels: NDArray, steps: int, residuals: NDArray) -> None:
    """Residuals of every record, each rounded toward zero to a multiple of 1 / steps.

    Two classes: one column, r = [y = 1] - p, so ``|r| <= steps``. More: r_k = -floor(p_k steps)
    for k != y, and r_y the sum of the others' sizes, so a row sums to nothing, its positive part
    is at most ``steps`` and its square at most ``2 steps**2``. The sum of the others is at most
    ``steps (1 + K 2**-52)`` before it is rounded and an integer afterwards; the bound is kept
    by force all the same.

    Parameters
    ----------
    scores : float64 array of shape (n, C)
        C = 1 (log-odds of class 1) or K (softmax).
    labels : uint array of shape (n,)
    steps : int
    residuals : int32 array of shape (n, C), overwritten
    """
    n_columns = scores.shape[1]
    raised, sizes = np.empty((n_columns, _BLOCK)), np.empty((n_columns, _BLOCK), np.int32)
    total, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        own, label = scores[first : first + count], labels[first : first + count]
        if n_columns == 1:
            for i in range(count):
                raised[0, i] = min(-own[i, 0], _MOST) if label[i] == 1 else min(own[i, 0], _MOST)
            exp_of(raised[0, :count], scratch)
            # The distance of p from the label is e / (1 + e), e = exp of the odds against it.
            total[:count] = 1.0 + raised[0, :count]
        else:
            for i in range(count):
                top = own[i, 0]
                for k in range(1, n_columns):
                    top = max(top, own[i, k])
                for k in range(n_columns):
                    raised[k, i] = own[i, k] - top
            total[:count] = 0.0
            for k in range(n_columns):
                exp_of(raised[k, :count], scratch)
                total[:count] += raised[k, :count]
        for k in range(n_columns):
            for i in range(count):
                share = raised[k, i] / total[i]
                # The comparison is false for NaN too, which would break the bound.
                kept = share if 0.0 <= share <= 1.0 else 0.0
                sizes[k, i] = np.int32(kept * steps)
        if n_columns == 1:
            for i in range(count):
                residuals[first + i, 0] = sizes[0, i] if label[i] == 1 else -sizes[0, i]
        else:
            _share_out(sizes, label, steps, residuals[first : first + count])


@kernel()
def _share_out(sizes: NDArray, labels: NDArray, steps: int, residuals: NDArray) -> None:
    """Less what every other class has, the label's own the sum of that, which is never above 1."""
    for i in range(labels.size):
        room, label = np.int32(steps), np.int64(labels[i])
        for k in range(sizes.shape[0]):
            if k != label:
                size = min(sizes[k, i], room)
                residuals[i, k] = -size
                room -= size
        residuals[i, label] = steps - room


@kernel(error_model="numpy")
def target_residuals(
    scores: NDArray, targets: NDArray, target_steps: int, steps: int, residuals: NDArray
) -> None:
    """Target less expectation of every record, rounded toward zero to a multiple of 1 / steps.

    ``|r| <= steps``, as for two classes; the bound is kept by force.

    Parameters
    ----------
    scores : float64 array of shape (n, 1)
        Log-odds of the expectation between the target's bounds.
    targets : int32 array of shape (n,)
    target_steps, steps : int
    residuals : int32 array of shape (n, 1), overwritten
    """
    raised, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        for i in range(count):
            raised[i] = min(-scores[first + i, 0], _MOST)
        exp_of(raised[:count], scratch)
        for i in range(count):
            score = scores[first + i, 0]
            apart = targets[first + i] / target_steps - 1.0 / (1.0 + raised[i])
            kept = apart if -1.0 <= apart <= 1.0 and score == score else 0.0  # none for NaN
            residuals[first + i, 0] = np.int32(kept * steps)


@kernel(forceinline=True)
def _add_at(leaves: NDArray, residuals: NDArray, first: int, count: int, sums: NDArray) -> None:
    """Add the residuals of a block to the rows of ``sums`` (…, C) that ``leaves`` names."""
    # A column at a time: the short loop over columns inside would cost more than the sums.
    for k in range(residuals.shape[1]):
        for i in range(count):
            sums[np.uint64(leaves[i]), k] += residuals[first + i, k]


def candidate_sums(
    codes: NDArray,
    residuals: NDArray,
    feature: NDArray,
    mask: NDArray,
    depth: int,
    sizes: NDArray,
    sums: NDArray,
) -> None:
    """Residuals summed over the leaves of every candidate tree, each in the quickest way.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    residuals : int32 array of shape (n, C), none above ``cell_sums.LARGEST`` in size
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
    sizes : int64 array of shape (D,)
        Of every feature a number above its codes: the smaller, the quicker.
    sums : int64 array of shape (m, 2**depth, C), overwritten
    """
    cells_of = tree_cells(feature, mask, sizes, codes.shape[0])
    others = np.flatnonzero(cells_of[0] == 0)
    if others.size == feature.shape[0]:
        reach_sums(codes, residuals, feature, mask, depth, sums)
        return
    sums[:] = 0
    add_cell_sums(codes, residuals, feature, mask, depth, sizes, cells_of, sums)
    if others.size > 0:
        part = np.empty((others.size, *sums.shape[1:]), dtype=np.int64)
        reach_sums(codes, residuals, feature[others], mask[others], depth, part)
        sums[others] = part


@kernel()
def reach_sums(
    codes: NDArray, residuals: NDArray, feature: NDArray, mask: NDArray, depth: int, sums: NDArray
) -> None:
    """Residuals summed over the leaves of trees of any kind.

    In trees that use few features the first six levels are looked up, see ``reach``, and only
    the rest is walked. Below some thousands of records making the tables would take longer.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    residuals : int32 array of shape (n, C)
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
    sums : int64 array of shape (m, 2**depth, C), overwritten
    """
    n_trees = feature.shape[0]
    top = min(depth, MAX_DEPTH)
    used = np.zeros((n_trees, _MOST_USED), np.int64)
    n_used = np.full(n_trees, _MOST_USED + 1)
    n_tables = n_trees if codes.shape[0] >= _FEW_RECORDS else 0
    reach = np.empty((n_tables, _MOST_USED, 64 * mask.shape[2]), np.uint64)
    for tree in range(n_tables):
        head = feature[tree, : (1 << top) - 1]
        n_used[tree] = features_used(head, mask[tree], used[tree])
        if n_used[tree] <= _MOST_USED:
            fill_reach(head, mask[tree], top, used[tree, : n_used[tree]], reach[tree])
    # A leaf has a place, which saves looking the leaf up for every record.
    leaf_at = leaves_of_places(top)
    by_place = np.zeros((n_trees, N_PLACES, residuals.shape[1]), np.int64)
    # Codes of a block with a feature a row, since a tree's few features are read one by one.
    columns = np.empty((codes.shape[1] if n_tables > 0 else 0, _BLOCK), codes.dtype)
    node = np.empty(_BLOCK, np.int32)
    reached = np.empty(_BLOCK, np.uint64)
    sums[:] = 0
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for f in range(columns.shape[0]):
            for i in range(count):
                columns[f, i] = codes[first + i, f]
        for tree in range(n_trees):
            if n_used[tree] > _MOST_USED:
                descend(codes, first, count, feature[tree], mask[tree], depth, node)
                _add_at(node, residuals, first, count, sums[tree])
                continue
            common_reach(columns, count, used[tree], n_used[tree], reach[tree], reached)
            for i in range(count):
                reached[i] = place_of(reached[i])
            if depth == top:
                _add_at(reached, residuals, first, count, by_place[tree])
                continue
            for i in range(count):
                node[i] = leaf_at[reached[i]]
            descend_from(codes, first, count, feature[tree], mask[tree], top, depth, node)
            _add_at(node, residuals, first, count, sums[tree])
    for tree in range(n_trees):
        if depth == top and n_used[tree] <= _MOST_USED:
            for place in range(N_PLACES):
                sums[tree, leaf_at[place]] += by_place[tree, place]


@kernel()
def chosen_leaves(
    codes: NDArray, feature: NDArray, mask: NDArray, depth: int, out: NDArray
) -> None:
    """Leaf number of every record in one tree, looked up as :func:`candidate_sums` does.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    feature, mask : arrays of shape (2**depth - 1,) and (2**depth - 1, W)
    depth : int
    out : int32 array of shape (n,), overwritten
    """
    top = min(depth, MAX_DEPTH)
    head = feature[: (1 << top) - 1]
    used = np.zeros(_MOST_USED, np.int64)
    n_used = features_used(head, mask, used)
    looks_up = n_used <= _MOST_USED and codes.shape[0] >= _FEW_RECORDS
    reach = np.empty((_MOST_USED, 64 * mask.shape[1]), np.uint64)
    if looks_up:
        fill_reach(head, mask, top, used[:n_used], reach)
    leaf_at = leaves_of_places(top)
    columns = np.empty((_MOST_USED, _BLOCK), codes.dtype)
    rows = np.arange(_MOST_USED)
    reached = np.empty(_BLOCK, np.uint64)
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        node = out[first : first + count]
        if not looks_up:
            descend(codes, first, count, feature, mask, depth, node)
            continue
        for j in range(n_used):
            for i in range(count):
                columns[j, i] = codes[first + i, used[j]]
        common_reach(columns, count, rows, n_used, reach, reached)
        for i in range(count):
            node[i] = leaf_at[place_of(reached[i])]
        if depth > top:
            descend_from(codes, first, count, feature, mask, top, depth, node)


@kernel()
def leaf_sums(leaves: NDArray, residuals: NDArray, sums: NDArray) -> None:
    """Residuals and records summed over the leaves of one tree.

    Parameters
    ----------
    leaves : int32 array of shape (n,)
    residuals : int32 array of shape (n, C)
    sums : int64 array of shape (2**depth, C + 1), overwritten
        Residual sums, and in the last column the number of records.
    """
    n_columns = residuals.shape[1]
    sums[:] = 0
    for i in range(leaves.size):
        for k in range(n_columns):
            sums[leaves[i], k] += residuals[i, k]
        sums[leaves[i], n_columns] += 1


@kernel()
def add_steps(leaves: NDArray, steps: NDArray, scores: NDArray) -> None:
    """Add the step of its leaf to every record's scores (n, C), in place."""
    for i in range(leaves.size):
        for k in range(scores.shape[1]):
            scores[i, k] += steps[leaves[i], k]
