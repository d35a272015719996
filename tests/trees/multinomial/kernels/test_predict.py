"""Prediction walks as its slow twin does, and adds tree by tree whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.multinomial.kernels import predict

N_CODES = (7, 3, 20)
ORDERED = (True, False, True)


def plain(kernel):
    return getattr(kernel, "py_func", kernel)


def leaves_of(codes, feature, low, high, depth, kernel=predict.sum_leaf_values):
    """Leaf number of every record in every tree: the sum over one tree whose values are these."""
    out = np.full((len(codes), len(feature)), np.nan)
    numbers = np.arange(2.0**depth)[None, :, None]
    for tree in range(len(feature)):
        heap = (array[tree : tree + 1] for array in (feature, low, high))
        kernel(codes, *heap, depth, numbers, out[:, tree : tree + 1])
    return out.astype(np.int32)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("depth", "dtype"), [(1, np.uint8), (3, np.uint16), (5, np.uint32)])
def test_leaves_equal_the_twin(twins, depth, dtype, compiled):
    codes, _ = twins.random_table(1, 70, N_CODES, 2, dtype)
    heaps = twins.random_heap(2, 4, depth, N_CODES, ORDERED)
    kernel = predict.sum_leaf_values if compiled else plain(predict.sum_leaf_values)
    out = leaves_of(codes, *heaps, depth, kernel)
    for tree in range(4):
        heap = [array[tree] for array in heaps]
        expected = [twins.leaf_of(row, *heap, depth) for row in codes]
        np.testing.assert_array_equal(out[:, tree], expected)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 256, 600])
def test_sums_are_those_of_a_loop_over_trees(twins, n_rows, n_classes):
    codes, _ = twins.random_table(3, n_rows, N_CODES, 2)
    heaps = twins.random_heap(4, 9, 4, N_CODES, ORDERED)
    values = np.random.default_rng(5).normal(size=(9, 16, n_classes))
    leaf = leaves_of(codes, *heaps, 4)
    out = np.full((n_rows, n_classes), np.nan)
    predict.sum_leaf_values(codes, *heaps, 4, values, out)
    expected = np.zeros((n_rows, n_classes))
    for tree in range(9):
        expected += values[tree, leaf[:, tree]]
    np.testing.assert_array_equal(out, expected)


def test_a_record_alone_gets_the_same_bits_as_in_a_batch(twins):
    codes, _ = twins.random_table(6, 513, N_CODES, 2)
    heaps = twins.random_heap(7, 9, 4, N_CODES, ORDERED)
    values = np.random.default_rng(8).normal(size=(9, 16, 2))
    whole, alone = np.empty((513, 2)), np.empty((1, 2))
    predict.sum_leaf_values(codes, *heaps, 4, values, whole)
    for row in (0, 255, 256, 512):
        predict.sum_leaf_values(codes[row : row + 1], *heaps, 4, values, alone)
        np.testing.assert_array_equal(alone[0], whole[row])


def test_thresholds_on_a_lattice_of_32_bits():
    codes = np.array([[0], [2**31 - 1], [2**31], [2**32 - 1]], np.uint32)
    feature = np.array([[0, 0, 0]], np.int32)
    low = np.array([[0, 1, 2**32 - 1]])
    high = np.array([[2**31 - 1, 2**32 - 1, 2**32 - 1]])
    out = leaves_of(codes, feature, low, high, 2)
    np.testing.assert_array_equal(out[:, 0], [1, 0, 3, 2])
