"""Public cells and lattices against slow twins, and the laws every grid obeys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.domain import NumericFeature, cells_of, lattice_of


def feature(lower, upper, **more):
    return NumericFeature(name="f", lower=lower, upper=upper, **more)


def code_twin(edges, value):
    """Slow twin: the number of edges that lie strictly below the value."""
    return sum(1 for edge in edges if edge < value)


@st.composite
def numeric_features(draw):
    integer = draw(st.booleans())
    missing = draw(st.booleans())
    if integer:
        lower = draw(st.sampled_from([0, -7, 17, 10**6]))
        width = draw(st.sampled_from([1, 2, 63, 64, 65, 254, 255, 256, 300, 10**6, 2**33]))
        return feature(lower, lower + width, integer=True, missing=missing)
    lower = draw(st.sampled_from([0.0, -3.5, 1e-9, 1e12]))
    width = draw(st.floats(1e-3, 1e9))
    return feature(lower, lower + width, missing=missing)


@given(numeric_features(), st.sampled_from([2, 3, 16, 256, 1000]), st.integers(0, 2**32 - 1))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_laws_of_cells(entry, max_cells, seed):
    cells = cells_of(entry, max_cells)
    edges = cells.edges
    assert 1 <= cells.n_codes <= max_cells
    assert cells.has_missing_code == entry.missing
    assert (np.diff(edges) > 0).all()
    assert ((edges > entry.lower) & (edges < entry.upper)).all()
    if entry.integer:
        assert (edges % 1 == 0.5).all()
    draws = np.random.default_rng(seed).uniform(entry.lower, entry.upper, 20)
    values = np.sort(np.concatenate([draws, edges[:20], [entry.lower, entry.upper]]))
    codes = cells.encode(values)
    assert codes.tolist() == [code_twin(edges, value) for value in values]
    for value, code in zip(values, codes, strict=True):
        assert value <= cells.threshold(code)
        assert code == 0 or value > cells.threshold(code - 1)


@given(numeric_features(), st.integers(0, 2**32 - 1))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_laws_of_the_lattice(entry, seed):
    lattice = lattice_of(entry)
    assert lattice.n_codes <= 2**32
    assert lattice.has_missing_code == entry.missing
    values = np.sort(np.random.default_rng(seed).uniform(entry.lower, entry.upper, 50))
    values = np.concatenate([[-math.inf, entry.lower], values, [entry.upper, math.inf]])
    codes = lattice.encode(values)
    assert (np.diff(codes) >= 0).all()
    assert codes[0] == codes[1] == 0
    assert codes[-1] == codes[-2] == lattice.n_points - 1
    slack = 1e-9 * (entry.upper - entry.lower) + 4 * math.ulp(abs(entry.upper) + abs(entry.lower))
    for value, code in zip(values[1:-1], codes[1:-1], strict=True):
        assert value <= lattice.threshold(code) + slack
        assert lattice.threshold(code) <= entry.upper


def test_one_cell_a_value_for_a_small_integer_range():
    cells = cells_of(feature(17, 90, integer=True))
    assert cells.n_codes == 74
    ages = np.arange(17.0, 91.0)
    assert cells.encode(ages).tolist() == list(range(74))
    assert cells.threshold(0) == 17.5
    assert cells.threshold(73) == 90
    assert cells_of(feature(0, 255, integer=True)).n_codes == 256
    # One code goes to the missing value, so that codes still fit a byte.
    assert cells_of(feature(0, 255, integer=True, missing=True)).n_codes <= 256


def test_log_spacing():
    """Equal width in log(1 + 500 x / upper), only above a range of 64 from zero."""
    cells = cells_of(feature(0, 1000))
    assert cells.n_codes == 256
    warped = np.log1p(500 * cells.edges / 1000) / math.log1p(500)
    np.testing.assert_allclose(warped, np.arange(1, 256) / 256, rtol=1e-10)
    np.testing.assert_allclose(cells_of(feature(0, 64)).edges, np.arange(1, 256) / 4)
    np.testing.assert_allclose(cells_of(feature(-1, 255)).edges, np.arange(0, 255))


def test_integer_edges_are_distinct_half_integers():
    cells = cells_of(feature(0, 1000, integer=True))
    assert cells.n_codes < 256
    assert cells.edges[0] == 0.5
    assert (np.diff(cells.edges) >= 1).all()
    assert cells_of(feature(0, 99_999, integer=True)).n_codes == 256


@pytest.mark.parametrize("lower", [-(2**53), -(2**52) - 3, 2**52 - 3, 2**53 - 6])
def test_integers_that_have_no_halves_between_them_have_a_cell_each(lower):
    """From 2^52 on doubles are whole, and a half-integer was rounded to a neighbour of both."""
    cells, integers = cells_of(feature(lower, lower + 6, integer=True)), lower + np.arange(7.0)
    assert cells.encode(integers).tolist() == list(range(7))
    assert (np.diff(cells.edges) > 0).all()
    lattice = lattice_of(feature(lower, lower + 6, integer=True))
    assert lattice.encode(integers).tolist() == list(range(7))


def test_out_of_bounds_is_clipped():
    for grid in (cells_of(feature(0, 10)), lattice_of(feature(0, 10))):
        codes = grid.encode(np.array([-math.inf, -5, 0, 10, 50, math.inf]))
        assert codes.tolist() == [0, 0, 0, *[grid.n_codes - 1] * 3]


def test_bounds_closer_than_the_cells():
    low = 1.0
    high = math.nextafter(math.nextafter(low, 2), 2)
    cells = cells_of(feature(low, high))
    assert cells.n_codes == 2
    assert cells.encode(np.array([low, high])).tolist() == [0, 1]


def test_the_grid_is_read_only_and_depends_on_the_declaration_alone():
    cells = cells_of(feature(0, 10))
    with pytest.raises(ValueError, match="read-only"):
        cells.edges[0] = 3
    assert np.array_equal(cells.edges, cells_of(feature(0, 10)).edges)


def test_lattice_sizes():
    assert lattice_of(feature(0, 1)).n_codes == 2**32
    assert lattice_of(feature(0, 1, missing=True)).n_codes == 2**32
    integers = lattice_of(feature(-3, 4, integer=True, missing=True))
    assert integers.n_codes == 9
    assert integers.encode(np.array([-3.0, 0.2, 4.0])).tolist() == [0, 3, 7]
    assert [integers.threshold(code) for code in (0, 6, 7)] == [-2.5, 3.5, 4]
    wide = lattice_of(feature(0, 2**40, integer=True))
    assert not wide.whole
    assert wide.n_points == 2**32
    assert wide.threshold(0) == 256
