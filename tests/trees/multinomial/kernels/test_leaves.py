"""Leaf counts equal a plain count, however the records came to their leaves."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.multinomial.kernels import leaves

N_CODES = (7, 3, 20)
ORDERED = (True, False, True)
DEPTH = 4


def plain(kernel):
    return getattr(kernel, "py_func", kernel)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_classes", [2, 5, 300])
def test_grouped_records(twins, n_classes, compiled):
    _, labels = twins.random_table(1, 120, N_CODES, n_classes)
    order, starts = twins.random_segments(2, 120, 8)
    out = np.full((8, n_classes), -7, np.int64)
    kernel = leaves.leaf_counts if compiled else plain(leaves.leaf_counts)
    kernel(labels, order, starts, n_classes, out)
    for leaf in range(8):
        mine = labels[order[starts[leaf] : starts[leaf + 1]]]
        np.testing.assert_array_equal(out[leaf], np.bincount(mine, minlength=n_classes))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_routed_records(twins, dtype, compiled):
    codes, labels = twins.random_table(3, 150, N_CODES, 3, dtype)
    heap = [array[0] for array in twins.random_heap(4, 1, DEPTH, N_CODES, ORDERED)]
    rows = np.arange(149, -1, -2, dtype=np.int32)
    got = np.empty(rows.size, np.int32)
    kernel = leaves.route_records if compiled else plain(leaves.route_records)
    kernel(codes, rows, *heap, DEPTH, got)
    expected = [twins.leaf_of(codes[row], *heap, DEPTH) for row in rows]
    np.testing.assert_array_equal(got, expected)
    counts = np.full((2**DEPTH, 3), -7, np.int64)
    leaves.routed_leaf_counts(got, rows, labels, 3, counts)
    twin = np.zeros_like(counts)
    np.add.at(twin, (expected, labels[rows]), 1)
    np.testing.assert_array_equal(counts, twin)


def test_no_records_at_all():
    counts = np.full((4, 2), -7, np.int64)
    nobody = np.empty(0, np.int32)
    leaves.leaf_counts(np.empty(0, np.uint8), nobody, np.zeros(5, np.int64), 2, counts)
    assert not counts.any()
    counts[:] = -7
    leaves.routed_leaf_counts(nobody, nobody, np.empty(0, np.uint8), 2, counts)
    assert not counts.any()


def test_a_tree_without_splits_has_one_leaf(twins):
    codes, _ = twins.random_table(5, 10, N_CODES, 2)
    none = np.empty(0, np.int32)
    out = np.full(10, -7, np.int32)
    leaves.route_records(codes, np.arange(10, dtype=np.int32), none, none, none, 0, out)
    assert not out.any()


@pytest.mark.parametrize("code", [0, 1, 200])
def test_a_node_without_a_split_sends_everybody_left(code):
    codes = np.full((5, 2), code, dtype=np.uint8)
    feature = np.array([-1, 1, -1], dtype=np.int32)
    low, high = np.array([0, 0, 0]), np.array([0, 100, 0])
    found = np.empty(5, dtype=np.int32)
    leaves.route_records(codes, np.arange(5, dtype=np.int32), feature, low, high, 2, found)
    assert (found == (0 if code <= 100 else 1)).all()
