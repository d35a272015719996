"""What one value means, whatever column it stands in."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpforest.domain.values import CategoryLookup, is_missing, text_of, to_floats


def look_up(categories, *values, positions=False):
    lookup = CategoryLookup(categories, unknown=-2, missing=-1, positions=positions)
    return lookup.encode(list(values), len(values)).tolist()


def test_text():
    values = ["a", 3, 3.0, np.int8(3), 0.5, True, np.bool_(False), -0.0, Decimal("1.50")]
    assert [text_of(value) for value in values] == [
        "a", "3", "3", "3", "0.5", "True", "False", "0", "1.50",
    ]  # fmt: skip


def test_missing():
    pandas = pytest.importorskip("pandas")
    for value in (None, math.nan, np.float32("nan"), pandas.NA, pandas.NaT, Decimal("nan")):
        assert is_missing(value)
    for value in (0, "", "nan", np.zeros(2), [], Decimal("snan")):
        assert not is_missing(value)
    assert look_up(("a",), None, math.nan, pandas.NA, pandas.NaT, "") == [-1] * 5
    assert look_up(("a", ""), "") == [1]


def test_numbers_match_categories_by_value():
    categories = ("0", "1.0", "2.5", "x")
    assert look_up(categories, 0, 1, True, 2.5, np.float32(2.5), Fraction(5, 2)) == [
        0, 1, 1, 2, 2, 2,
    ]  # fmt: skip
    assert look_up(categories, "0", "1", "x", 7, math.inf, 2 + 0j, 2.5 + 0j) == [
        0, -2, 3, -2, -2, -2, 2,
    ]  # fmt: skip


def test_booleans_match_words_and_digits():
    assert look_up(("False", "True"), False, True, 0, 1, 1.0, "True") == [0, 1, 0, 1, 1, 1]
    assert look_up(("0", "1"), False, True, np.bool_(True)) == [0, 1, 1]


def test_positions_are_a_last_resort():
    assert look_up(("a", "b"), 0, 1.0, 2, -1, 0.5, "0", positions=True) == [0, 1, -2, -2, -2, -2]
    assert look_up(("a", "b"), 0, 1) == [-2, -2]


def test_equal_values_have_equal_codes_in_any_order():
    """The lookup remembers, and Python holds True, 1 and 1.0 for one key."""
    values = [True, 1, 1.0, np.int64(1), Decimal(1), Fraction(1), 1 + 0j]
    for categories in (("1", "True"), ("True", "1"), ("True",), ("1.0",), ("a", "b"), ("01", "1")):
        alone = [look_up(categories, value, positions=True)[0] for value in values]
        assert len(set(alone)) == 1
        assert look_up(categories, *values, positions=True) == alone
        assert look_up(categories, *values[::-1], positions=True) == alone


def test_what_cannot_be_hashed_or_printed_is_unknown():
    class Hostile:
        def __hash__(self):
            raise RuntimeError("secret")

        def __str__(self):
            raise RuntimeError("secret")

    assert look_up(("a",), "a", {"a": 1}, Hostile(), [1]) == [0, -2, -2, -2]


def test_floats_from_objects():
    values = ["1", " 2.5 ", None, "", "  ", 3, True, math.nan, "nan", Decimal("1.5"), "-inf"]
    numbers, unparsable = to_floats(values)
    expected = [1, 2.5, *[math.nan] * 3, 3, 1, *[math.nan] * 2, 1.5, -math.inf]
    np.testing.assert_array_equal(numbers, expected)
    assert unparsable is None
    odd = ["x", 1j, np.complex128(1), np.array([1]), {}, 10**400, b"z", 7]
    numbers, unparsable = to_floats(odd)
    assert unparsable.tolist() == [True] * 7 + [False]
    assert numbers[-1] == 7


def test_both_ways_to_floats_agree():
    values = ["1e3", 2, None, 0.1, True, "nan", "1_0"]
    quick, _ = to_floats(values)
    slow, unparsable = to_floats([*values, "x"])
    np.testing.assert_array_equal(quick, slow[:-1])
    assert unparsable.tolist() == [False] * len(values) + [True]
