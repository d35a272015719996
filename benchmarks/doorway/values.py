"""Odd values: what the cells of one more record may hold, by kind."""

from __future__ import annotations

import collections
import datetime
import math
import pathlib
import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from doorway import objects

HOUR = datetime.timezone(datetime.timedelta(hours=1))
NOON = datetime.datetime(2020, 1, 1, 12)
PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0007))[0]
NEGATIVE_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0000))[0]
Pair = collections.namedtuple("Pair", "a b")


@dataclass(frozen=True, eq=False)
class Odd:
    """A value with its kind and how to write it."""

    kind: str
    text: str
    value: Any


def _by_repr(kind: str, *values: Any) -> list[Odd]:
    return [Odd(kind, _short(repr(value)), value) for value in values]


def _named(kind: str, **values: Any) -> list[Odd]:
    return [Odd(kind, name, value) for name, value in values.items()]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:24]}… ({len(text)} signs)"


_NO_SIGNS = ["", " ", "\t", "\0", "\u00a0", "\u2003", "\u200b", "\ufeff", "\x1c", "\x85", "\v"]
_SIGNS = [
    "1\0", "\0" + "1", "a\0b", "yes\0", "yes\0 ", "yes \0", "yes\0\0", "\ud800", "yes\udcff",
    "\u00a01\u00a0", "\u200b1", "\ufeff1", "\x1c1", "1\x85", "yes\u2003", "ﬀ", "İ", "ß", "é",
    "e\u0301", "👍", "a" * 5000, "yes" + " " * 3000, "x" * 70_000,
]  # fmt: skip
_NUMBERS_AS_TEXT = [
    "１", "٣", "१", "²", "½", "Ⅷ", "1_0", "1__0", "_1", "0x1", "0x1p3", "0b1", "0o7", "1e0", "1E0",
    "1e400", "-1e400", "1e-400", "1.", ".5", "01", "+1", "--1", " 1 ", "1 ", "1,5", "1,000",
    "1'000", "1 000", "1.0.0", "1d", "1f", "1L", "1j", "1+0j", "(1+0j)", "(1+nanj)", "9" * 400,
    "9" * 5000, "0." + "1" * 5000, "9007199254740993", "18446744073709551616", "0.1", "0.10",
    "1/2", "50%", "$1", "−1", "1e", "0e0", "-0", "1e5", "2.5",
]  # fmt: skip
_NAN_AS_TEXT = [
    "nan", "NaN", "-nan", "+nan", "nan(7)", "NaN(7)", "nan()", "-nan(ind)", "1.#QNAN", "NA", "N/A",
    "#N/A", "null", "NULL", "None", "<NA>", "NaT", "nil", "-", "?", "inf", "-inf", "Infinity",
    "infinity", "INF", "+Inf", "1.#INF", "∞",
]  # fmt: skip
_WORDS = [
    "true", "TRUE", "tRuE", "false", "False ", "t", "yes", "YES", "no", "on", "2020-01-01", "12:00",
    "2020-01-01 12:00:00+01:00", "01/02/2020", "{}", "[1]", "[1, 2]", "b'1'", "lambda", "a,b",
    "a;b",
    'a"b', '"', '""', '"a', "a\"", "'", "\\", "\\N", "\\\"", "#", "# 1", "=1+1",
]  # fmt: skip
_LINES = ["\r", "a\rb", "\n", "a\nb", "\r\n", "a\r\nb", "\u2028", "\f", "1\n", "1\r"]

ODD: tuple[Odd, ...] = (
    *_by_repr("missing", None, math.nan, np.float32("nan"), np.float16("nan"), Decimal("NaN"),
              pd.NA, pd.NaT, np.datetime64("NaT", "D"), np.timedelta64("NaT", "D"), np.ma.masked),
    *_named("missing", NaN_with_a_payload=PAYLOAD, negative_NaN=NEGATIVE_NAN,
            longdouble_NaN=np.longdouble("nan")),
    *_by_repr("infinity", math.inf, -math.inf, np.float32("inf"), Decimal("-Infinity"),
              np.longdouble("1e4000")),
    *_by_repr("complex", 1j, 1 + 0j, 2 + 0j, 0j, -0j, complex(math.nan, 0), complex(0, math.nan),
              complex(1, math.nan), complex(math.inf, 0), complex(1, math.inf), (-1) ** 0.5,
              np.complex64(0.1), np.complex64(1), np.complex128(1), np.clongdouble(1)),
    *_by_repr("plain number", 0, 1, 2, -1, 1.0, 0.5, 0.1, 2.5, -0.0, 5e-324, 1e300, 300, 70_000,
              2**31, 2**40, -(2**31) - 1, 1e-300),
    *_by_repr("huge integer", 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63),
              -(2**63) - 1, 2**64 - 1, 2**64, 2**70, 2**127, 2**128, -(2**200)),
    *_named("huge integer", ten_to_400=10**400, minus_ten_to_400=-(10**400),
            of_5000_digits=10**5000, minus_of_5000_digits=-(10**5000)),
    *_by_repr("Decimal", Decimal("sNaN"), Decimal("0.1"), Decimal("0.10"), Decimal(1),
              Decimal("1.00"), Decimal("1E+3"), Decimal("1E+400"), Decimal("1E-400"),
              Decimal("1E+99999"), Decimal("0E-500"), Decimal("-0"), Decimal(2**53 + 1),
              Decimal("0.1000000000000000055511151231257827")),
    *_named("Decimal", of_100_digits=Decimal("1." + "1" * 99)),
    *_by_repr("Fraction", Fraction(1, 3), Fraction(1, 2), Fraction(2)),
    *_named("Fraction", fraction_of_ten_to_400=Fraction(10**400, 3)),
    *_by_repr("bytes", b"1", b"yes", b"", b"0.5", b"\xff\xfe", b"1\0", b"nan", b"\xc3\xa9",
              bytearray(b"1"), np.bytes_(b"1")),
    *_named("bytes", memoryview_of_1=memoryview(b"1")),
    *_by_repr("blank text", *_NO_SIGNS),
    *_by_repr("text with odd signs", *_SIGNS),
    *_by_repr("text like a number", *_NUMBERS_AS_TEXT),
    *_by_repr("text like NaN", *_NAN_AS_TEXT),
    *_by_repr("word", *_WORDS),
    *_by_repr("text of several lines", *_LINES),
    *_by_repr("boolean", True, False, np.True_, np.False_),
    *_by_repr("nested", {}, {"a": 1}, {"a": "x", "b": None}, [], [1], [1.5, "x"], [[1]], (), (1,),
              (1, 2), ("a", 1), {1}, frozenset(), range(2), collections.deque([1]), Pair(1, 2),
              [None], {"a": [1]}, {1: 2}, [1, 2, 3]),
    *_by_repr("array in a cell", np.zeros(0), np.array([1.0]), np.array([1, 2]), np.array(1.0),
              np.array("yes"), np.zeros((2, 2)), np.array([math.nan]), np.array(None),
              np.ma.masked_array([1], [True])),
    *_named("array in a cell", series=pd.Series([1, 2]), frame=pd.DataFrame({"a": [1]})),
    *_named("hostile object", **{
        name: getattr(objects, name)() for name in (
            "FloatRefuses", "TextRefuses", "TextRunsDeep", "EqualRefuses", "HashRefuses",
            "LengthRefuses", "ArrayRefuses", "TruthRefuses", "AttributeRefuses", "AllRefuse",
            "LengthLies", "RowLies", "ArrayLies", "EqualToAll", "NeverItself", "HasEverything",
            "ClassLies",
        )
    }),
    *_named("hostile subclass", NumberLies=objects.NumberLies(0.5),
            NumberRefuses=objects.NumberRefuses(0.5), WholeRefuses=objects.WholeRefuses(1),
            TextLies=objects.TextLies("yes")),
    *_named("subclass", str_of_its_own=objects.PlainText("yes"),
            str_of_its_own_1=objects.PlainText("1"), int_of_its_own=objects.PlainWhole(1),
            float_of_its_own=objects.PlainNumber(0.5), np_str=np.str_("yes"),
            np_str_1=np.str_("1")),
    *_by_repr("numpy scalar", np.int8(1), np.uint8(200), np.int16(1), np.uint16(1), np.int32(1),
              np.uint32(1), np.int64(1), np.uint64(2**64 - 1), np.float16(0.1), np.float32(0.1),
              np.float32(0.5), np.float64(0.1), np.longdouble("0.1"), np.longdouble("0.5"),
              np.longdouble(2**53) + 1, np.void(b"1")),
    *_by_repr("date or time", NOON, NOON.replace(tzinfo=datetime.UTC), NOON.replace(tzinfo=HOUR),
              datetime.date(2020, 1, 1), datetime.time(12), datetime.timedelta(1),
              datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1),
              np.datetime64("2020-01-01"), np.datetime64("2020-01-01T12", "ns"),
              np.datetime64("1600"), np.timedelta64(1, "D"), np.timedelta64(1, "ns"),
              np.timedelta64(3, "D"), pd.Timestamp("2020-01-01"), pd.Timestamp("2020", tz="UTC"),
              pd.Timestamp("2020-01-01 12:00", tz="Europe/Berlin"), pd.Timedelta("1D"),
              pd.Period("2020"), pd.Interval(0, 1), pd.DateOffset(1)),
    *_by_repr("other object", objects.Colour.RED, objects.Grade.ONE, objects.Word.YES,
              objects.Point(), Ellipsis, NotImplemented, int, uuid.UUID(int=1),
              pathlib.PurePosixPath("a"), ValueError("x"), slice(1)),
    *_named("other object", a_lambda=lambda: 1, an_object=object()),
)  # fmt: skip

KINDS: dict[str, tuple[Odd, ...]] = {}
for _odd in ODD:
    KINDS[_odd.kind] = (*KINDS.get(_odd.kind, ()), _odd)

#: Records that are no rows of the table's width; only some containers take them.
ROW_KIND = "row of another width"
_TEXTS = {id(odd.value): odd.text for odd in ODD}
_HELD = [odd.value for odd in ODD]  # so that no other value gets the id of one


def shown(value: Any) -> str:
    """How a cell is written in an example."""
    text = _TEXTS.get(id(value))
    if text is not None:
        return text
    try:
        return _short(repr(value))
    except Exception:
        return f"a {type(value).__name__}"
