"""Counting 64 features at once against numpy; grouping by class; draws of so many records."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.consistent.kernels.lanes import LANES, MOST_CODES, count_lanes
from dpforest.consistent.kernels.rows import group_by_class, mark_so_many
from dpforest.consistent.table import encode_table


@pytest.mark.parametrize("most_codes", [2, 3, 4])
@pytest.mark.parametrize("n_records", [1, 255, 1300])
def test_counts_are_those_of_numpy(most_codes, n_records):
    generator = np.random.default_rng(n_records)
    n, n_features, n_classes = 1500, 70, 3
    n_codes = generator.integers(1, most_codes + 1, n_features)
    rows = np.zeros((n, 2 * LANES), np.uint8)
    rows[:, :n_features] = generator.integers(0, n_codes, (n, n_features))
    labels = np.sort(generator.choice(n_classes, n, p=[0.8, 0.0, 0.2])).astype(np.uint16)
    records = np.sort(generator.choice(n, n_records, replace=False)).astype(np.int32)
    features = generator.permutation(n_features)[:40]
    firsts = np.cumsum(n_codes[features]) - n_codes[features]
    stride = int(n_codes[features].sum()) + 3
    cells = np.zeros(5 + n_classes * stride, np.int32)
    totals = np.bincount(labels[records], minlength=n_classes)
    count_lanes(
        rows, records, 0, totals, most_codes, features, firsts, 40, n_codes, cells, 5, stride,
        np.empty((MOST_CODES - 1) * LANES, np.uint8),
    )  # fmt: skip
    expected = np.zeros_like(cells)
    for f, first in zip(features, firsts, strict=True):
        np.add.at(expected, 5 + labels[records] * stride + first + rows[records, f], 1)
    assert np.array_equal(cells, expected)


def test_only_features_of_few_values_are_counted_side_by_side():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.integers(0, k, 900) for k in (3, 9, 2, 4, 200)]).astype(float)
    y = generator.integers(0, 2, 900)
    table = encode_table(X, y, None, 2, np.zeros(5, bool), True)
    assert (table.n_lanes, table.lane_codes) == (3, 4)
    assert table.counted.tolist() == [0, 2, 3, 1]
    assert table.rows.shape == (900, LANES) and not table.rows[:, 5:].any()
    # Not where a node looks at too few of them, nor in regression.
    assert encode_table(X, y, None, 2, np.zeros(5, bool), True, share=0.4).n_lanes == 0
    assert encode_table(X, None, y, 0, np.zeros(5, bool), True).rows.shape == (900, 5)


def test_records_are_grouped_by_class_in_order():
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 5, 300).astype(np.uint16)
    records = generator.permutation(300)[:200].astype(np.int32)
    expected = records[np.argsort(labels[records], kind="stable")]
    totals = np.empty(6, np.int64)
    group_by_class.py_func(labels, records, totals, np.empty(200, np.int32))
    assert np.array_equal(records, expected)
    assert np.array_equal(totals, np.bincount(labels[records], minlength=6))


@pytest.mark.parametrize("n_marked", [0, 2, 5])
def test_every_set_of_so_many_records_is_as_likely(n_marked):
    generator = np.random.default_rng(2)
    out, sets = np.empty(5, np.bool_), {}
    for _ in range(20_000):
        mark_so_many(generator.random(5), n_marked, out)
        assert out.sum() == n_marked
        sets[out.tobytes()] = sets.get(out.tobytes(), 0) + 1
    n_sets = {0: 1, 2: 10, 5: 1}[n_marked]
    assert len(sets) == n_sets
    # Chi-square with 9 degrees of freedom stays below 62 but for one time in 10**9.
    assert sum((k - 20_000 / n_sets) ** 2 for k in sets.values()) / (20_000 / n_sets) < 62
