"""Cells of CSV lines: compiled loops against plain rules, on all short lines; numbers as alone."""

from __future__ import annotations

import csv
import itertools
import math
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.domain.values import meaning_of
from dpforest.records.streams.csv_lines import LONGEST_LINE, blocks_of_lines, cells_of

pa = pytest.importorskip("pyarrow")

from dpforest.records.kernels.csv_cells import (  # noqa: E402
    EMPTY,
    NUMBER,
    OTHER,
    kinds_of_cells,
)
from dpforest.records.streams.csv_columns import table_of_block  # noqa: E402
from dpforest.records.streams.text import text_column  # noqa: E402

NAMES = ("one", "two", "three")


def short_lines(signs: str, longest: int) -> list[str]:
    return ["".join(s) for n in range(longest + 1) for s in itertools.product(signs, repeat=n)]


def rows_of(block: bytes, names, quoting=True, longest=LONGEST_LINE) -> list[tuple[str, ...]]:
    """Cells of the lines that are kept, as text."""
    # A text in each column, so that none is turned into numbers.
    block = ",".join("x" for _ in names).encode() + b"\n" + block
    table = table_of_block(block, names, names, quoting, longest)
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))[1:]


@pytest.mark.parametrize("quoting", [True, False])
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_all_short_lines_are_read_by_the_plain_rules(n_columns, quoting):
    lines = short_lines('a,"\r', 7)
    expected = []
    for line in lines:
        cells = cells_of(line.removesuffix("\r"), quoting)
        if cells is not None and len(cells) == n_columns:
            expected.append(tuple(cells))
    assert len(expected) > 100
    block = "\n".join(lines).encode()
    assert rows_of(block, NAMES[:n_columns], quoting) == expected


def test_the_plain_rules_are_those_of_pythons_reader():
    for line in short_lines('a, "', 7)[1:]:
        # Python reads on in the next line where a quote is open: then its end is in a cell.
        theirs = next(csv.reader([line + "\n"]))
        assert cells_of(line, True) == (None if theirs[-1].endswith("\n") else theirs)
        assert cells_of(line, False) == line.split(",")


def test_columns_that_nobody_reads_still_count():
    block = b'1,2,3\n4,5\n6,"7",8\n9,"a,b\n10,11,12,13\n14,",",15'
    table = table_of_block(block, NAMES, ("three", "one"), True, LONGEST_LINE)
    assert table.to_pydict() == {"three": [3, 8, 15], "one": [1, 6, 14]}


@pytest.mark.parametrize("quoting", [True, False])
def test_a_line_that_is_too_long_is_left_out(quoting):
    block = b"1,23,4\n1,234,5\n1,23,4\r\n1,234,5\r\n1,23,4"
    assert len(rows_of(block, NAMES, quoting, longest=6)) == 3
    assert len(rows_of(block, NAMES, quoting, longest=7)) == 5


def read_of(text: bytes):
    place = 0

    def read(size: int) -> bytes:
        nonlocal place
        place += size
        return text[place - size : place]

    return read


@given(
    lines=st.lists(st.text("ab\r", max_size=9).map(str.encode), max_size=9),
    end=st.booleans(),
    size=st.integers(1, 30),
    rest=st.integers(0, 5),
)
def test_blocks_hold_whole_lines_and_all_but_long_ones(lines, end, size, rest):
    text = b"\n".join(lines) + b"\n" * end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpforest.records.streams.csv_lines.LONGEST_LINE", 5)
        blocks = list(blocks_of_lines(read_of(text[rest:]), text[:rest], size))
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    # What is held never grows with a line: a block, and what was begun before it.
    assert all(len(block) <= max(size, rest) + 6 for block in blocks)
    found = b"".join(blocks).split(b"\n")
    kept = [line for line in text.split(b"\n") if len(line.removesuffix(b"\r")) <= 5]
    short = [line for line in found if len(line.removesuffix(b"\r")) <= 5]
    assert [line for line in short if line] == [line for line in kept if line]


ODD_TEXTS = [
    "", " ", "\0", "1\0", " 1 ", "+5", "-5", "--5", "1_0", "0x10", "1d5", "1D5", "1e400", "-1e400",
    "1e-400", "1e5", "1E+5", "1e", "e5", ".", "-", "-.", ".5", "5.", "-.5e-1", "1.2.3", "1,5",
    "inf", "-inf", "Infinity", "+inf", "nan", "-nan", "NaN", "nan(7)", "NAN(ind)", "1.#INF", "NULL",
    "null", "NA", "N/A", "None", "true", "False", "TRUE", "007", "-0", "0.0", "1e22", "1e23",
    "9007199254740993", "18446744073709551617", "0.1", "1.7976931348623159e308", "4.9e-324",
    "2.4703282292062327e-324", "1" * 40, "1" * 41, "0." + "3" * 38, "1e99", "1e100", "१२", "٣",
    "１２", "\ufeff1", "\u00a07", "1\r", "\r1", "1\x1f", "abc", "ill", "1 2", "$1", "1%", "1f",
]  # fmt: skip


def meanings(cells: list[bytes]) -> list[object]:
    """What a column of CSV makes of cells, as the encoder will understand them."""
    block = b"".join(b"0," + cell + b"\n" for cell in cells)
    table = table_of_block(block, ("zero", "cell"), ("cell",), True, LONGEST_LINE)
    return [meaning_of(value) for value in table["cell"].to_pylist()]


def quoted(text: str) -> bytes:
    return ('"' + text.replace('"', '""') + '"').encode()


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("text", ODD_TEXTS, ids=repr)
def test_a_cell_means_what_its_text_means_whatever_stands_beside_it(text):
    alone = meaning_of(text)
    cell = quoted(text)
    for neighbours in ([], [b"1"], [b"x"], [b"nan"], [b"1", b"", b"2.5e3"], [b"\xff"]):
        before, after = meanings([cell, *neighbours]), meanings([*neighbours, cell])
        assert same(before[0], alone) and same(after[-1], alone), neighbours


#: What every reader of decimals takes for the same number, whatever its release.
PLAIN_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,2})?")


def test_the_quick_way_is_taken_for_plain_numbers_alone():
    texts = [*short_lines("1.-+eE", 6), *short_lines("0e", 6), *ODD_TEXTS, "/", ":", "1/", ":1"]
    cells = [text.encode() for text in texts]
    data = np.frombuffer(b"".join(cells), np.uint8)
    offsets = np.cumsum([0, *map(len, cells)], dtype=np.int32)
    kinds = np.empty(len(cells), np.uint8)
    kinds_of_cells(data, offsets, kinds)
    for text, kind in zip(texts, kinds, strict=True):
        plain = PLAIN_NUMBER.fullmatch(text) and len(text) <= 40
        assert kind == (EMPTY if not text else NUMBER if plain else OTHER), text


DIGITS = st.text("0123456789", max_size=24)


@given(
    sign=st.sampled_from(["", "-"]), whole=DIGITS, point=st.sampled_from(["", "."]),
    fraction=DIGITS, exponent=st.just("") | st.integers(-99, 99).map("e{}".format),
)  # fmt: skip
@settings(max_examples=500)
def test_decimals_are_read_as_alone(sign, whole, point, fraction, exponent):
    text = sign + whole + point + fraction + exponent
    assert same(meanings([text.encode()])[0], meaning_of(text))


def test_decimals_between_two_doubles_are_read_as_alone():
    generator = np.random.default_rng(3)
    texts = []
    for bits in generator.integers(2**62 - 2**58, 2**62 + 2**58, 4000):
        low, high = np.array([bits, bits + 1]).view(np.float64)
        middle = (Decimal(float(low)) + Decimal(float(high))) / 2
        texts += [f"{middle:.{digits}f}"[:40] for digits in (15, 16, 17, 30)]
        texts += [repr(float(low)), f"{float(high):.17g}"]
    assert all(map(same, meanings([t.encode() for t in texts]), map(meaning_of, texts)))


def test_bytes_that_are_no_text_are_read_as_python_reads_them():
    """Else Arrow might take for text what Python cannot read later, and a fit would end."""
    signs = [b"a", b"\x7f", b"\x80", b"\x8f", b"\x90", b"\x9f", b"\xa0", b"\xbf", b"\xc0"]
    tails = [b"".join(t) for n in range(4) for t in itertools.product(signs[1:], repeat=n)]
    for lead in [*range(0xC0, 0xC3), *range(0xDF, 0xE2), *range(0xEC, 0x100)]:
        for tail in tails:
            cell = bytes([lead]) + tail
            found = text_column(pa.array([cell], pa.binary())).to_pylist()
            assert found == [cell.decode("utf-8", "replace")]
    assert text_column(pa.array([b"a", None, b"\xff"])).to_pylist() == ["a", None, "\ufffd"]
