"""Errors show of a parameter what somebody typed, never a table passed by mistake."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpforest import PrivateForestClassifier
from dpforest.exceptions import (
    Described,
    ParameterError,
    ParameterTypeError,
    kind_of,
    printable,
    shown,
)

SECRET = "4711.25"


class NoRepr:
    def __repr__(self) -> str:
        raise RuntimeError(SECRET)


class FloatNoRepr(float):
    def __repr__(self) -> str:
        raise RuntimeError(SECRET)


SHOWN = [
    (-1, "-1"),
    ("abc", "'abc'"),
    (None, "None"),
    (float, "<class 'float'>"),
    ((1, "a"), "(1, 'a')"),
    ({"a": [1, 2]}, "{'a': [1, 2]}"),
    (10**5000, "<int>"),
    (NoRepr(), "<NoRepr>"),
    (FloatNoRepr(1), "<FloatNoRepr>"),
    ([NoRepr()], "<list>"),
    (np.array([4711.25]), "<ndarray>"),
    ([[[4711.25]]], "<list>"),
    ([4711.25] * 1000, "<list>"),
    ({"a": np.array([4711.25])}, "<dict>"),
]


@pytest.mark.parametrize(("value", "text"), SHOWN, ids=range(len(SHOWN)))
def test_shown(value, text):
    assert shown(value) == text


def test_a_long_text_is_cut():
    assert len(shown("x" * 10**6)) < 300


def frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    columns = {"a": [4711.25] * 50}
    return [pandas.DataFrame(columns), polars.DataFrame(columns), arrow.table(columns)]


@pytest.mark.parametrize("parameter", ["epsilon", "delta", "domain", "max_records_per_unit"])
def test_a_table_in_place_of_a_parameter_is_not_printed(parameter):
    for table in [np.full((50, 1), 4711.25), [[4711.25]] * 50, *frames()]:
        forest = PrivateForestClassifier(**{"epsilon": 1, parameter: table})
        with pytest.raises(ValueError) as caught:
            forest.plan()
        assert SECRET not in str(caught.value)


def test_errors_survive_pickling():
    error = ParameterError("epsilon", -1, "must be positive", "Give more")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.parameter, again.value) == (str(error), "epsilon", -1)


@pytest.mark.parametrize("value", ["d.json", {"a": (0, 1)}, 3, np.zeros(2)])
def test_a_value_of_a_wrong_kind_is_told_by_its_kind(value):
    forest = PrivateForestClassifier(epsilon=1, domain=value)
    with pytest.raises(ParameterTypeError) as caught:
        forest.plan()
    assert f"domain=<{type(value).__name__}>: " in str(caught.value)
    assert kind_of(None) is None and repr(kind_of("x")) == "<str>"


def test_signs_that_steer_a_terminal_are_written_out():
    signs = "".join(map(chr, [*range(0x3100), *range(0xD7F0, 0x10000), 0x1F600, 0xE0001, 0x10FFFF]))
    assert printable(signs).isprintable()
    assert printable("a\tb\u202e\ud800 é—中") == "a\\tb\\u202e\\ud800 é—中"
    assert repr(Described("a\nb")) == "a\\nb"
