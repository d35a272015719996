"""Records and boxes go to the children their slow twin sends them to."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.multinomial.kernels import routing

N_CODES = (7, 3, 20, 2)
ORDERED = np.array([True, False, True, False])


def plain(kernel):
    return getattr(kernel, "py_func", kernel)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_rows", [0, 1, 200])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_records_go_left_and_right_in_their_order(twins, n_rows, dtype, compiled):
    codes, _ = twins.random_table(1, n_rows, N_CODES, 2, dtype)
    order, starts = twins.random_segments(2, n_rows, 6)
    feature = np.array([0, 1, -1, 2, 3, 2], np.int32)
    low = np.array([0, 2, 0, 0, 1, 5], np.int32)
    high = np.array([3, 2, 0, 19, 1, 9], np.int32)
    new_order, new_starts = np.empty_like(order), np.empty(13, np.int64)
    kernel = routing.apply_splits if compiled else plain(routing.apply_splits)
    kernel(codes, order, starts, feature, low, high, new_order, new_starts)
    for node in range(6):
        records = order[starts[node] : starts[node + 1]]
        sides = twins.split_records(codes, records, feature[node], low[node], high[node])
        for side, expected in enumerate(sides):
            child = 2 * node + side
            got = new_order[new_starts[child] : new_starts[child + 1]]
            np.testing.assert_array_equal(got, np.array(expected, np.int32))


def test_thresholds_on_a_lattice_of_32_bits():
    codes = np.array([[0], [2**31 - 1], [2**31], [2**32 - 1]], np.uint32)
    order = np.array([3, 2, 1, 0], np.int32)
    new_order, new_starts = np.empty_like(order), np.empty(3, np.int64)
    split = np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([2**31 - 1])
    routing.apply_splits(codes, order, np.array([0, 4]), *split, new_order, new_starts)
    np.testing.assert_array_equal(new_order, [1, 0, 3, 2])
    np.testing.assert_array_equal(new_starts, [0, 2, 4])


def test_the_root_reaches_every_code(twins):
    everything = [[set(range(m)) for m in N_CODES]]
    expected = twins.box_arrays(everything, N_CODES, ORDERED)
    got = [np.empty_like(array) for array in expected]
    routing.initial_boxes(np.array(N_CODES), *got)
    for mine, twin in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, twin)


@pytest.mark.parametrize("compiled", [True, False])
def test_boxes_of_children_partition_their_parents(twins, compiled):
    offsets = twins.offsets_of(N_CODES)
    boxes = [[set(range(m)) for m in N_CODES]]
    low, high, alive = twins.box_arrays(boxes, N_CODES, ORDERED)
    kernel = routing.update_boxes if compiled else plain(routing.update_boxes)
    generator = np.random.default_rng(3)
    for _ in range(5):
        splits = [_some_split(generator, box) for box in boxes]
        boxes = [
            child
            for box, split in zip(boxes, splits, strict=True)
            for child in twins.child_boxes(box, ORDERED, *split)
        ]
        shapes = (len(boxes), len(N_CODES)), (len(boxes), len(N_CODES)), (len(boxes), sum(N_CODES))
        new = [np.empty(s, a.dtype) for s, a in zip(shapes, (low, high, alive), strict=True)]
        columns = np.array(splits, np.int32).T.copy()
        kernel(low, high, alive, offsets, ORDERED, *columns, *new)
        low, high, alive = new
        twin_low, twin_high, twin_alive = twins.box_arrays(boxes, N_CODES, ORDERED)
        np.testing.assert_array_equal(low[:, ORDERED], twin_low[:, ORDERED])
        np.testing.assert_array_equal(high[:, ORDERED], twin_high[:, ORDERED])
        categorical = np.repeat(~ORDERED, N_CODES)
        np.testing.assert_array_equal(alive[:, categorical], twin_alive[:, categorical])


def _some_split(generator, box):
    """A split that leaves both children some code, or none at all."""
    features = [f for f in range(len(box)) if len(box[f]) > 1]
    if not features or generator.random() < 0.2:
        return -1, 0, 0
    f = generator.choice(features)
    codes = sorted(box[f])
    if ORDERED[f]:
        return f, 0, generator.choice(codes[:-1])
    code = generator.choice(codes)
    return f, code, code
