"""Sums over a feature's bins and steps by its codes, against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.curves.in_turn.kernels.features import bin_sums
from dpforest.trees.scored.kernels.code_values import add_code_values

SIZES = [pytest.param(0, id="no record"), pytest.param(1, id="one"), pytest.param(300, id="many")]


@pytest.mark.parametrize("n_records", SIZES)
@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_sums_of_bins_are_those_of_a_slow_twin(n_records, n_columns, dtype):
    generator = np.random.default_rng(n_records + n_columns)
    n_codes, n_bins = 17, 5
    codes = generator.integers(0, n_codes, n_records).astype(dtype)
    of_code = np.sort(generator.integers(0, n_bins, n_codes))
    rows = generator.integers(-(2**31), 2**31, (n_records, 2 * n_columns)).astype(np.int32)
    twin = [[0] * n_columns for _ in range(n_bins)]
    for code, row in zip(codes, rows, strict=True):
        for k in range(n_columns):
            twin[of_code[code]][k] += int(row[k])
    out = np.full((n_bins, n_columns), 99, dtype=np.int64)
    bin_sums(codes, of_code, rows, out)
    assert out.tolist() == twin


@pytest.mark.parametrize("n_records", SIZES)
@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_steps_by_code_are_added_to_what_was_there(n_records, n_columns, dtype):
    generator = np.random.default_rng(n_records + n_columns)
    codes = generator.integers(0, 17, n_records).astype(dtype)
    values = generator.normal(size=(17, n_columns))
    before = generator.normal(size=(n_records, n_columns))
    scores = before.copy()
    add_code_values(codes[:, None], np.array([0, 17]), values, scores)
    twin = [
        [before[i, k] + values[codes[i], k] for k in range(n_columns)] for i in range(n_records)
    ]
    assert np.array_equal(scores, np.array(twin).reshape(n_records, n_columns))
