"""Histograms equal their slow twin, counted directly or from the parent."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.records.kernels import histogram
from dpforest.trees.multinomial.kernels import routing

N_CODES = (7, 3, 20, 2)


def plain(kernel):
    """The kernel's Python function, whether or not numba is switched off."""
    return getattr(kernel, "py_func", kernel)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("n_classes", "dtype"), [(2, np.uint8), (3, np.uint8), (3, np.uint16), (300, np.uint8)]
)
def test_direct_counts_equal_the_twin(twins, n_classes, dtype, compiled):
    codes, labels = twins.random_table(1, 90, N_CODES, n_classes, dtype)
    order, starts = twins.random_segments(2, 90, 5)
    out = np.full((5, sum(N_CODES), n_classes), -7, np.int32)
    kernel = histogram.level_histogram if compiled else plain(histogram.level_histogram)
    kernel(codes, labels, order, starts, twins.offsets_of(N_CODES), n_classes, out)
    for node in range(5):
        records = order[starts[node] : starts[node + 1]]
        slow = twins.histogram(codes, labels, records, N_CODES, n_classes)
        np.testing.assert_array_equal(out[node], twins.flat_histogram(slow))


def test_one_record_adds_one_to_one_cell_of_each_feature(twins):
    codes, labels = twins.random_table(3, 40, N_CODES, 3)
    order = np.arange(40, dtype=np.int32)
    offsets = twins.offsets_of(N_CODES)
    hists = np.empty((2, 1, sum(N_CODES), 3), np.int32)
    for i, n in enumerate((39, 40)):
        histogram.level_histogram(codes, labels, order[:n], np.array([0, n]), offsets, 3, hists[i])
    change = hists[1, 0] - hists[0, 0]
    assert change.sum() == len(N_CODES)
    assert set(np.unique(change)) == {0, 1}
    cells = offsets[:-1] + codes[39]
    assert (change[cells, labels[39]] == 1).all()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_rows", [0, 1, 150])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_subtraction_equals_direct_counts(twins, n_rows, n_classes, compiled):
    codes, labels = twins.random_table(6, n_rows, N_CODES, n_classes)
    offsets = twins.offsets_of(N_CODES)
    order, starts = twins.random_segments(7, n_rows, 4)
    parents = np.empty((4, sum(N_CODES), n_classes), np.int32)
    histogram.level_histogram(codes, labels, order, starts, offsets, n_classes, parents)
    # Left smaller, right smaller, right empty (no split), and left empty.
    splits = np.array([[0, 2, -1, 2], [0, 0, 0, 19], [0, 9, 0, 19]], np.int32)
    new_order, new_starts = np.empty_like(order), np.empty(9, np.int64)
    routing.apply_splits(codes, order, starts, *splits, new_order, new_starts)
    derived = np.full((8, sum(N_CODES), n_classes), -7, np.int32)
    direct = np.empty_like(derived)
    arguments = (codes, labels, new_order, new_starts, offsets, n_classes)
    kernel = histogram.child_histograms if compiled else plain(histogram.child_histograms)
    kernel(*arguments, parents, derived)
    histogram.level_histogram(*arguments, direct)
    np.testing.assert_array_equal(derived, direct)


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.uint8), (256, np.uint8), (257, np.uint16)])
def test_labels_fit_their_dtype(n_classes, dtype):
    assert histogram.label_dtype(n_classes) is dtype
    assert np.iinfo(dtype).max >= n_classes - 1
