"""Meaning of one value, whatever column it stands in."""

from __future__ import annotations

import datetime
import math
import uuid
import warnings
import zoneinfo
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpforest.domain import CategoricalFeature
from dpforest.domain import values as values_module
from dpforest.domain.codes import look_up as look_up_column
from dpforest.domain.values import (
    UNREADABLE,
    CategoryLookup,
    is_missing,
    meaning_of,
    text_of,
    to_floats,
)
from dpforest.exceptions import DomainError


def look_up(categories, *values, positions=False):
    lookup = CategoryLookup(categories, unknown=-2, missing=-1, positions=positions)
    return lookup.encode(list(values)).tolist()


def test_text():
    values = ["a", 3, 3.0, np.int8(3), 0.5, True, np.bool_(False), -0.0, Decimal("1.50")]
    assert [text_of(value) for value in values] == [
        "a", "3", "3", "3", "0.5", "True", "False", "0", "1.50",
    ]  # fmt: skip
    values = [Fraction(5, 2), np.float32(0.1), 2**60, 1e300, b"a", np.timedelta64(3, "D"), 1j]
    assert [text_of(value) for value in values] == [
        "2.5", "0.10000000149011612", str(2**60), str(int(1e300)), "a", "", "",
    ]  # fmt: skip
    # Python refuses to print integers of more than 4300 digits.
    assert [text_of(value) for value in (math.inf, -(10**5000))] == ["inf", "-inf"]


def test_meanings():
    assert [
        meaning_of(v) for v in (1, "1", " 01\n", "1.0", True, "TRUE", b"1", Decimal("1.00"))
    ] == [1.0] * 8
    assert [meaning_of(v) for v in (None, "", "  ", "nan", "-NaN", math.nan, Decimal("nan"))] == [
        None
    ] * 7
    assert [meaning_of(v) for v in (" a b ", b"a b", np.str_("a b\0"), "a b\0")] == ["a b"] * 4
    assert [meaning_of(v) for v in (10**400, "1e400", np.longdouble("1e4000"), "inf")] == [
        math.inf
    ] * 4
    # Numbers are doubles: a reader that knows no other type changes no meaning.
    assert meaning_of(2**53 + 1) == meaning_of(float(2**53)) == meaning_of(str(2**53 + 1))
    assert meaning_of(Decimal("0.10")) == meaning_of(0.1) == meaning_of("0.1000")
    # Nothing that has a meaning means the same as what cannot be read.
    day = datetime.date(2020, 1, 1)
    time = np.datetime64("2020-01-01")
    for value in (b"\xff", Decimal("snan"), (10**5000,), [1], {1: 1}, np.array(1), day,
                  datetime.timedelta(1), time, uuid.UUID(int=1)):  # fmt: skip
        assert meaning_of(value) == UNREADABLE
    assert meaning_of(np.datetime64("NaT", "D")) is meaning_of(np.ma.masked) is None


def test_dates_are_no_text():
    """One text makes all dates of a column text in Dask, and in readers: nothing is nothing."""
    pandas = pytest.importorskip("pandas")
    for moment in ("2020-01-01", "2020-01-01 12:34", "1066-10-14 00:00:00.000000123"):
        for unit in ("D", "h", "s", "ms", "ns"):
            made = np.datetime64(moment, unit if unit != "ns" or moment[0] == "2" else "us")
            for zone in (None, "UTC", "Asia/Kolkata"):
                stamp = pandas.Timestamp(made, tz=zone and zoneinfo.ZoneInfo(zone))
                python = stamp.to_pydatetime(warn=False)
                for value in (made, stamp, python, python.date()):
                    assert meaning_of(value) == meaning_of(str(value)) == UNREADABLE, str(value)
                assert meaning_of(f"{stamp:%Y-%m-%d %H:%M:%S %Z}") == UNREADABLE
    for span in (datetime.timedelta(1), datetime.timedelta(-1, 5, 7), pandas.Timedelta(1, "D")):
        assert meaning_of(span) == meaning_of(str(span)) == UNREADABLE
    for text in (
        "2020-01",
        "12:00",
        "1 day",
        "7 days",
        "2020-01-01 or so",
        "a 2020-01-01",
        "1-2-3",
    ):
        assert meaning_of(text) == text
    with pytest.raises(DomainError, match="has no meaning, as dates"):
        CategoricalFeature(name="day", categories=("2020-01-01", "2020-01-02"))


def test_complex_numbers():
    """A complex number in a column makes all others complex, or their text."""
    for real in (1.0, 0.0, -0.0, -2.5, 1e300, 0.1, math.inf, -math.inf):
        made = [complex(real, 0), complex(real, -0.0), np.complex128(real), np.clongdouble(real)]
        for value in (*made, *map(str, made)):
            assert meaning_of(value) == real, value
    assert [meaning_of(complex(a, b)) for a, b in ((math.nan, 0), (math.nan, 1))] == [None] * 2
    assert meaning_of("(nan+0j)") is None
    # What has an imaginary part means nothing, and so does its text, whatever a column's width is.
    for value in (1j, complex(-0.0, 1), 1 + 2j, 0.1 + 0.1j, complex(math.inf, 1)):
        made = [kind(value) for kind in (complex, np.complex64, np.complex128, np.clongdouble)]
        for one in (*made, *map(str, made)):
            assert meaning_of(one) == UNREADABLE, one
    # No other text is a complex number.
    for text in ("j", "J", "3J", "1+0j", "1+2j", "12 j", "0J", "(1+2J)", "(j)", "(x0j)"):
        assert meaning_of(text) == text
    with pytest.raises(DomainError, match="has no meaning, as dates, complex numbers"):
        CategoricalFeature(name="kind", categories=("1i", "1j"))


def test_missing():
    pandas = pytest.importorskip("pandas")
    for value in (None, math.nan, np.float32("nan"), pandas.NA, pandas.NaT, Decimal("nan")):
        assert is_missing(value)
    for value in (0, "", "nan", np.zeros(2), [], Decimal("snan")):
        assert not is_missing(value)
    assert look_up(("a",), None, math.nan, pandas.NA, pandas.NaT, "") == [-1] * 5
    assert look_up(("a",), " ", "nan", "NaN", "None") == [-1, -1, -1, -2]


def test_numbers_match_categories_by_value():
    categories = ("0", "1.0", "2.5", "x")
    assert look_up(categories, 0, 1, True, 2.5, np.float32(2.5), Fraction(5, 2)) == [
        0, 1, 1, 2, 2, 2,
    ]  # fmt: skip
    assert look_up(categories, "0", "1", "x", 7, math.inf, 2 + 0j, 2.5 + 0j) == [
        0, 1, 3, -2, -2, -2, 2,
    ]  # fmt: skip


def test_booleans_match_words_and_digits():
    assert look_up(("False", "True"), False, True, 0, 1, 1.0, "True") == [0, 1, 0, 1, 1, 1]
    assert look_up(("0", "1"), False, True, np.bool_(True)) == [0, 1, 1]


def test_positions_are_a_last_resort():
    values = [0, 1.0, "1", True, 2, -1, 0.5, math.inf]
    assert look_up(("a", "b"), *values, positions=True) == [0, 1, 1, 1, -2, -2, -2, -2]
    assert look_up(("a", "b"), 0, 1, "0") == [-2, -2, -2]


def test_equal_values_have_equal_codes_in_any_order():
    """The lookup remembers, and Python holds True, 1 and 1.0 for one key."""
    values = [True, 1, 1.0, "1", "1.0", "true", np.int64(1), Decimal(1), Fraction(1)]
    for categories in (("1", "True"), ("True", "1"), ("True",), ("1.0",), ("a", "b"), ("01", "1")):
        alone = [look_up(categories, value, positions=True)[0] for value in values]
        assert len(set(alone)) == 1
        assert look_up(categories, *values, positions=True) == alone
        assert look_up(categories, *values[::-1], positions=True) == alone


def test_equal_values_of_other_types_are_looked_up_one_by_one():
    """Equality says nothing of meanings, and a memory keyed by it would mix them up."""

    class Equal:
        def __hash__(self):
            return hash(1.0)

        def __eq__(self, other):
            return True

    for cells in ([1.0, Equal(), 1.0], [Equal(), 1.0]):
        assert look_up(("1",), *cells) == [-2 if type(v) is Equal else 0 for v in cells]
    assert look_up(("0.1",), Decimal("0.10"), Decimal("0.1")) == [0, 0]
    # Numpy holds these for equal; as doubles they are not.
    assert look_up(("0.1",), 0.1, np.float32(0.1), 0.1) == [0, -2, 0]


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
    odd = ["x", 1j, np.complex128(1), np.array([1]), {}, b"z", 7, 10**400, -(10**400), "true"]
    numbers, unparsable = to_floats(odd)
    assert unparsable.tolist() == [True] * 2 + [False] + [True] * 3 + [False] * 4
    assert numbers[[2, 6, 7, 8, 9]].tolist() == [1, 7, math.inf, -math.inf, 1]


def test_both_ways_to_floats_agree():
    values = ["1e3", 2, None, 0.1, True, "nan", "1_0"]
    quick, _ = to_floats(values)
    slow, unparsable = to_floats([*values, "x"])
    np.testing.assert_array_equal(quick, slow[:-1])
    assert unparsable.tolist() == [False] * len(values) + [True]


class Odd(Exception):
    """Nobody may catch it."""


def refusing(kind, *arguments):
    """An object of a class that extends another, and whose every method fails."""

    def fail(self, *_):
        raise Odd

    methods = (
        "float str repr int bool index complex bytes eq ne lt gt le ge hash len iter getitem "
        "getattribute format array trunc round"
    )
    names = [f"__{name}__" for name in methods.split()]
    return type("Refusing", (kind,), dict.fromkeys(names, fail))(*arguments)


def test_no_method_of_a_cell_is_called():
    class Failing(type):
        def __hash__(cls):
            raise Odd

        def __eq__(cls, other):
            raise Odd

        def __instancecheck__(cls, instance):
            raise Odd

        __name__ = property(__hash__)

    class Strange(metaclass=Failing):
        @property
        def __class__(self):
            raise Odd

        __float__ = __str__ = __hash__ = __eq__ = __ne__ = __class__.fget

    cells = [Strange(), refusing(object), refusing(str, "a"), refusing(int, 2),
             refusing(bytes, b"1"), refusing(float, 0.5), refusing(complex, 1 + 0j),
             refusing(Decimal, "0.10"),
             refusing(np.float64, 3.0), refusing(Fraction, 1, 2), refusing(np.float32, 1.0),
             refusing(list), refusing(dict), refusing(datetime.date, 2020, 1, 1)]  # fmt: skip
    expected = ["", "", "a", 2, 1, 0.5, 1, 0.1, 3, *[""] * 5]
    assert [meaning_of(cell) for cell in cells] == expected
    assert look_up(("a", "2"), *cells) == [-2, -2, 0, 1, *[-2] * 10]
    numbers, unparsable = to_floats(cells)
    assert [v for v, bad in zip(numbers.tolist(), unparsable, strict=True) if not bad] == [
        2, 1, 0.5, 1, 0.1, 3,
    ]  # fmt: skip


def test_errors_of_the_machine_are_not_swallowed(monkeypatch):
    """What is swallowed is named in the docstring: an error of ours, or of memory, is not."""
    for kind in (MemoryError, RecursionError, KeyboardInterrupt, RuntimeError):

        def fail(_, kind=kind):
            raise kind

        monkeypatch.setitem(values_module._READERS, id(Decimal), fail)
        for call in (
            meaning_of,
            lambda cell: look_up(("a",), cell),
            lambda cell: to_floats([cell]),
        ):
            with pytest.raises(kind):
                call(Decimal(1))


def test_cells_at_the_edges():
    long = "9" * 5000
    assert [meaning_of(v) for v in (int("9" * 300) ** 40, -(10**5000), long, f"-{long}")] == [
        math.inf, -math.inf, math.inf, -math.inf,
    ]  # fmt: skip
    assert [meaning_of(v) for v in ("\ud800", " \udfff\0", "1\ud800")] == [
        "\ud800",
        "\udfff",
        "1\ud800",
    ]
    assert look_up(("\ud800",), "\ud800", "\udfff") == [0, -2]
    assert meaning_of("nan(7)") == "nan(7)"
    broken = Fraction(1, 2)
    for part in (0, "1", refusing(int, 1)):
        broken._denominator = part
        assert meaning_of(broken) == UNREADABLE
    assert meaning_of(Fraction(10**400, 3)) == math.inf == -meaning_of(Fraction(-(10**400), 3))
    assert meaning_of(Fraction(1, 10**400)) == 0
    changing = [1.0]
    assert meaning_of(changing) == UNREADABLE
    changing.append(2)
    assert meaning_of(changing) == UNREADABLE


#: Columns that are read at one go, and their cells one by one.
NUMBERS = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, 0.1, 0.5, 1e300, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("code", [*np.typecodes["AllInteger"], *"?efdg"])
def test_quick_ways_agree_with_the_meaning_of_each_cell(code):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.array(NUMBERS[:-3] if code not in "efdg" else NUMBERS).astype(code)
    cells = [meaning_of(cell) for cell in array]
    floats, unparsable = to_floats(array)
    assert unparsable is None
    np.testing.assert_array_equal(floats, [math.nan if cell is None else cell for cell in cells])
    for categories in (("0", "1", "0.5", str(2**53)), ("a", "b")):
        lookup = CategoryLookup(categories, unknown=-2, missing=-1, positions=categories[0] == "a")
        one_by_one = [int(lookup.encode([cell])[0]) for cell in array]
        assert look_up_column(lookup, array, -1).tolist() == one_by_one
        assert look_up_column(lookup, np.abs(array[:2]), -1).tolist() == one_by_one[:2]
