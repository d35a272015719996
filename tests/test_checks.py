"""Checks of arguments: a value of a wrong kind and a value out of range are told apart."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest

from dpforest.checks import check_integer, check_n_jobs, check_number, check_part, check_share
from dpforest.exceptions import ParameterError, ParameterTypeError

CHECKS = {
    "a whole number": lambda value: check_integer(value, "size", 1, 5),
    "a part": lambda value: check_part(value, "share"),
    "a part or 1": lambda value: check_part(value, "share", most=1),
    "a share": lambda value: check_share(value, "share"),
    "a number": lambda value: check_number(value, "rate", 0.0, 2.0),
    "a number above": lambda value: check_number(value, "rate", 0.0, 2.0, closed=False),
    "threads": check_n_jobs,
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("value", ["2", b"2", True, [1], 1j, {}])
def test_what_is_no_number_is_of_a_wrong_kind(check, value):
    with pytest.raises(ParameterTypeError):
        check(value)


@pytest.mark.parametrize(("name", "value"), [
    *(("a whole number", value) for value in (0, 6)),
    *(("a part", value) for value in (0, 1, -0.5, math.nan)),
    *(("a part or 1", value) for value in (0, 1.5)),
    *(("a share", value) for value in (1, -0.5, math.nan)),
    *(("a number", value) for value in (-0.1, 2.1, math.nan, math.inf)),
    ("a number above", 0), ("threads", 0),
])  # fmt: skip
def test_a_number_out_of_range_is_of_the_right_kind(name, value):
    with pytest.raises(ParameterError) as caught:
        CHECKS[name](value)
    assert type(caught.value) is ParameterError


@pytest.mark.parametrize("value", [0.5, Fraction(1, 2), np.float32(0.5)])
def test_numbers_of_every_kind_pass(value):
    check_part(value, "share")
    assert check_number(value, "rate", 0.0, 2.0, closed=False) == 0.5


def test_the_ends_of_ranges():
    check_part(1, "share", most=1)
    check_share(0, "share")
    assert check_number(0, "rate", 0.0, 2.0) == 0.0 and check_number(2, "rate", 0.0, 2.0) == 2.0
    assert check_integer(np.int64(5), "size", 1, 5) == 5


def test_threads_are_counted_as_scikit_learn_counts_them():
    assert (check_n_jobs(None), check_n_jobs(3)) == (1, 3)
    assert check_n_jobs(-1) == os.cpu_count() and check_n_jobs(-10_000) == 1
