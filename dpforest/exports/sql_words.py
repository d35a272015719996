"""Words of SQL that SQLite, DuckDB and PostgreSQL read alike."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

DOUBLE = "DOUBLE PRECISION"
#: A column of every stage that holds 0 as a double. PostgreSQL takes a number that is written out
#: for a decimal, and would add decimals; with this beside it, a number is a double.
ZERO = "z"
#: Terms of a sum that stand side by side: SQLite bounds the depth of an expression by 1,000.
_TERMS = 50
#: Digits of a decimal, and its places behind the point, up to which every reader is exact.
_SURE_DIGITS, _SURE_PLACES = 15, 22
#: Powers of two that are whole numbers of 64 bits.
_STEP = 62
#: What is said of a table's name by itself that `may_be_several`.
MAY_BE_SEVERAL = "has a point in it, so that it may be one name, or a schema's and a table's"


def may_be_several(name: str) -> bool:
    """Tell whether a name by itself may stand for a schema's and a table's."""
    return "." in name


def quoted_name(name: str) -> str:
    """A name as it stands, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text as it stands, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def number(value: float) -> str:
    """A double, with an exponent: without one DuckDB and PostgreSQL take it for a decimal."""
    written = repr(float(value))
    return written if "e" in written else written + "e0"


def double(value: float) -> str:
    """A double that no reader takes for anything else."""
    return f"{ZERO} + {number(value)}"


def exact(value: float) -> str:
    """The very same double in every database, for comparisons.

    Some versions of SQLite read long decimals one step too low or too high. A whole number times or
    by powers of two is exact everywhere.
    """
    if _is_sure(value):
        return number(value)
    whole, below = value.as_integer_ratio()
    power = 1 - below.bit_length()
    while whole % 2 == 0:
        whole, power = whole // 2, power + 1
    sign = "*" if power > 0 else "/"
    steps = [_STEP] * (abs(power) // _STEP) + [abs(power) % _STEP]
    factors = "".join(f" {sign} {2**step}" for step in steps if step)
    return f"CAST({whole} AS {DOUBLE}){factors}"


def _is_sure(value: float) -> bool:
    """Tell whether its shortest decimal is the double itself, and short."""
    decimal = Decimal(repr(value))
    _, digits, places = decimal.as_tuple()
    short = len(digits) <= _SURE_DIGITS and -_SURE_PLACES <= int(places) <= 0
    return value == 0 or (short and decimal == Decimal(value))


def total(terms: Sequence[str]) -> str:
    """A sum, in brackets so that it is not deep."""
    while len(terms) > 1:
        groups = [terms[start : start + _TERMS] for start in range(0, len(terms), _TERMS)]
        terms = ["(" + " + ".join(group) + ")" for group in groups]
    return terms[0]


def among(column: str, values: Sequence[int], *, inside: bool = True) -> str:
    """Condition that a column has one of some values, or none of them."""
    if len(values) == 1:
        return f"{column} {'=' if inside else '<>'} {values[0]}"
    listed = ", ".join(map(str, values))
    return f"{column} {'' if inside else 'NOT '}IN ({listed})"
