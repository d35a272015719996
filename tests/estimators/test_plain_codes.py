"""Thresholds of the plain form are exact: a double at most that goes left has that code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.domain.cells import cells_of, lattice_of
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.plain.codes import FeatureCodes, largest_values

BOUNDS = [
    (0.0, 1.0), (-1.0, 1.0), (-1e6, 1e6), (0.1, 0.3), (1e15, 1e15 + 2), (-3.0, -1e-300),
    (0.0, 5e-324 * 2**40), (-8e307, 8e307), (0.0, 1e6), (1 / 3, 2 / 3),
]  # fmt: skip
GRIDS = [
    grid(NumericFeature(name="x", lower=low, upper=high, missing=missing))
    for grid in (cells_of, lattice_of)
    for low, high in BOUNDS
    for missing in (False, True)
] + [
    grid(NumericFeature(name="x", lower=low, upper=high, integer=True))
    for grid in (cells_of, lattice_of)
    for low, high in [(0, 1), (-5, 5), (0, 100_000), (-(2**53), 2**53), (-(2**31), 2**31 + 7)]
]


def n_places(grid) -> int:
    return grid.n_codes - grid.has_missing_code


def check(grid, codes) -> None:
    """A threshold has a code of its own or below, and the next double a higher one."""
    largest = np.array(largest_values(grid, codes))
    assert (grid.encode(largest) <= codes).all()
    assert (grid.encode(np.nextafter(largest, np.inf)) > codes).all()


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: f"{type(grid).__name__}")
def test_the_next_double_is_beyond_a_threshold(grid):
    last = n_places(grid) - 2
    middle = np.random.default_rng(0).integers(0, last + 1, 300)
    check(grid, np.unique([0, last // 2, last, *middle]))


@given(
    low=st.floats(-1e300, 1e300), span=st.floats(1e-300, 1e300), share=st.floats(0, 1),
    values=st.lists(st.floats(allow_nan=False), min_size=1),
)  # fmt: skip
def test_a_threshold_parts_all_doubles_as_the_code_does(low, span, share, values):
    if not low < low + span:
        return
    grid = lattice_of(NumericFeature(name="x", lower=low, upper=low + span))
    code = int(share * (grid.n_points - 2))
    threshold = largest_values(grid, [code])[0]
    tried = np.array([*values, threshold, low, low + span, np.inf, -np.inf])
    assert ((tried <= threshold) == (grid.encode(tried) <= code)).all()


def test_the_lattice_s_own_threshold_would_be_off():
    # Else a bisection would be too much.
    grid = lattice_of(NumericFeature(name="x", lower=-1e6, upper=1e6))
    codes = np.random.default_rng(0).integers(0, grid.n_points - 1, 2000)
    rounded = [grid.threshold(int(code)) for code in codes]
    assert (np.array(rounded) != largest_values(grid, codes)).any()


def test_codes_of_a_feature_are_those_of_the_encoder():
    features = [
        NumericFeature(name="a", lower=0, upper=10),
        NumericFeature(name="b", lower=0, upper=10, missing=True),
        CategoricalFeature(name="c", categories=["x", "y"]),
        CategoricalFeature(name="d", categories=["x", "y"], other="y", missing=True),
        CategoricalFeature(name="e", categories=["x", "y"], missing=True),
    ]
    encoder = DomainEncoder(Domain(features=features, classes=["no", "yes"]))
    odd = [["?", "?", "?", "?", "?"], [None] * 5]
    unknown, missing = encoder.encode_to_predict(odd)[0].tolist()
    found = [FeatureCodes.of(encoder, place) for place in range(5)]
    assert [codes.unknown for codes in found] == unknown
    assert [codes.missing for codes in found] == missing
    assert [codes.n_codes for codes in found] == encoder.n_codes.tolist()
    assert [codes.n_places for codes in found] == [256, 255, 2, 2, 2]
