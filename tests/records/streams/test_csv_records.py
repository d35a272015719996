"""CSV: a record's meaning follows from its own line and the header, whatever else is there."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, StreamError
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import DPForestError, ParameterError, ParameterTypeError
from dpforest.streams import CSVStream

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

HEADER = b"age,kind,income,target\n"
DOMAIN = Domain(
    features={
        "age": {"lower": 0, "upper": 100, "missing": True},
        "kind": ["a", "b, c", 'd"', "7"],
        "income": (0.0, 9000.0),
    },
    classes=["ill", "well"],
    approximate_rows=100,
)
#: Three that are kept, one without an income, and one whose age is text.
GOOD = [b"1,a,2,ill", b'9,"b, c",8.5,well', b"30,7,,ill", b",a,1e3,well", b"nan(7),a,2,ill"]

Records = list[tuple[int, ...]]


def codes_of(paths, invalid="drop", **parameters) -> Records:
    """Codes and label of each record that is kept, in their order."""
    encoder, stream = DomainEncoder(DOMAIN, invalid), CSVStream(paths, "target", **parameters)
    stream.check(DOMAIN.feature_names)
    found = []
    for batch in stream.batches():
        encoder.check(batch.X, batch.y)
        table = encoder.encode(batch.X, batch.y)
        found += np.column_stack([table.matrix.codes, table.labels]).tolist()
    return [tuple(record) for record in found]


def written(folder, data: bytes, name: str = "a.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    return path


def make(**parameters):
    return PrivateForestClassifier(
        epsilon=3, strategy="one_shot", domain=DOMAIN, random_state=1, **parameters
    )


# What was shown to break: each of these files is a good one with one record more.

LONG_TEXT = b"".join(b"y" * 79 + b"\n" for _ in range(2**24 // 80 + 9))
BREAKS = {
    "an open quote": b'1,"a,2,ill',
    "an open quote in the last cell": b'1,a,2,"ill',
    "a quote of several lines": b'1,"a\nb",2,ill',
    "quoted lines that are longer than a block": b'1,"' + LONG_TEXT + b'",2,ill',
    "a cell of 40 MB": b"1," + b"x" * 40_000_000 + b",2,ill",
    "a quoted cell of 40 MB": b'1,"' + b"x" * 40_000_000 + b'",2,ill',
    "a line of 40 MB": b"1,a,2,ill" * 4_500_000,
    "a lone CR": b"1\r2,a,2,ill\r5",
    "quotes and NUL": b'\0"\0",\0,",\0',
    "text in place of a number": b"x,a,2,ill",
}


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("odd", BREAKS.values(), ids=BREAKS)
def test_a_line_that_means_nothing_changes_nothing(odd, compress, tmp_path):
    if compress and len(odd) > 10**7:
        pytest.skip("the plain file shows it, and this one takes long")
    name = "a.csv.gz" if compress else "a.csv"
    lines = [line + b"\n" for line in GOOD * 25]
    clean = codes_of(written(tmp_path, HEADER + b"".join(lines), name))
    assert len(clean) == 75
    for place in (0, 50, 100):
        data = HEADER + b"".join([*lines[:place], odd + b"\n", *lines[place:]])
        assert codes_of(written(tmp_path, data, name)) == clean


@pytest.mark.parametrize(
    "odd",
    [
        "an open quote", "quoted lines that are longer than a block", "a cell of 40 MB",
        "text in place of a number",
    ],
)  # fmt: skip
def test_a_fit_is_what_it_is_without_a_line_that_means_nothing(odd, tmp_path):
    lines = [line + b"\n" for line in GOOD * 25]
    clean = make().fit(CSVStream(written(tmp_path, HEADER + b"".join(lines)), "target"))
    data = HEADER + BREAKS[odd] + b"\n" + b"".join(lines)
    accountant = BudgetAccountant(3)
    forest = make(accountant=accountant).fit(CSVStream(written(tmp_path, data), "target"))
    rows = pd.DataFrame({"age": [1, 50, None], "kind": ["a", "7", "z"], "income": [4, 9, 0]})
    assert np.array_equal(forest.predict_proba(rows), clean.predict_proba(rows))


@pytest.mark.parametrize("odd", [b"nan(7)", b"-nan", b"0x10", b"1_0", b"+5", b" 1 ", b"1e400"])
def test_a_number_means_the_same_beside_text(odd, tmp_path):
    line = odd + b",a,2,ill\n"
    alone = codes_of(written(tmp_path, HEADER + line))
    for neighbour in (b"x,a,2,ill\n", b"1,a,2,ill\n", b"2.5,a,2,ill\n"):
        own = codes_of(written(tmp_path, HEADER + neighbour))
        assert codes_of(written(tmp_path, HEADER + line + neighbour)) == alone + own


# The rules, one by one.

RULES = {
    "CRLF": (b"1,a,2,ill\r\n9,a,2,ill\r\n", 2),
    "a last line without an end": (b"1,a,2,ill\n9,a,2,ill", 2),
    "a last line that ends with CR": (b"1,a,2,ill\n9,a,2,ill\r", 2),
    "a CR more than one": (b"1,a,2,ill\r\r\n", 1),  # white space around a label
    "a lone CR ends no line": (b"1,a,2,ill\r9,a,2,ill\n", 0),
    "an empty line": (b"\n\n1,a,2,ill\n\r\n\n", 1),
    "NUL at the end of a cell": (b"1,a\0,2,ill\0\n", 1),
    "NUL in a label": (b"1,a,2,i\0ll\n", 0),
    "bytes that are no text": (b"1,\xff,2,ill\n1,a,2,\xff\n", 1),
    "a byte order mark in a line": (b"\xef\xbb\xbf1,a,2,ill\n", 0),
    "the header again": (HEADER + b"1,a,2,ill\n", 1),
    "too few cells": (b"1,a,2\n", 0),
    "too many cells": (b"1,a,2,ill,\n", 0),
    "a quoted comma": (b'1,"b, c",2,"ill"\r\n', 1),
    "two quotes are one": (b'1,"d""",2,ill\n', 1),
    "a quote in the middle": (b'1,d",2,ill\n', 1),
    "text after a quote": (b'1,"d"",2,ill\n1,"b"", c,2,ill', 0),
    "an empty quoted cell": (b'"",a,2,ill\n1,a,"",ill\n', 1),
    "no lines": (b"", 0),
}


@pytest.mark.parametrize("data, kept", RULES.values(), ids=RULES)
def test_rules_of_lines(data, kept, tmp_path):
    assert len(codes_of(written(tmp_path, HEADER + data))) == kept


def test_a_quoted_cell_is_its_text(tmp_path):
    data = b'1,"b, c",2,ill\n"1","d""","2","ill"\n1,d",2,ill\n1,"7",2,ill\n"1","a",2,ill\n'
    records = codes_of(written(tmp_path, HEADER + data))
    assert [record[1] for record in records] == [1, 2, 2, 3, 0]
    assert len({record[:1] + record[2:] for record in records}) == 1


def test_a_line_that_is_left_out_is_not_raised_for(tmp_path):
    path = written(tmp_path, HEADER + b'1,a,2,ill\n1,"a,2,ill\n1,a,2\n\n1,a,2,ill')
    assert len(codes_of(path, invalid="raise")) == 2


def test_without_quoting_quotes_are_text(tmp_path):
    data = HEADER + b'1,"a",2,ill\n1,"b, c",2,ill\n1,d",2,ill\n1,"a,2,ill\n'
    records = codes_of(written(tmp_path, data), quoting=False)
    assert [record[1] for record in records] == [4, 2, 4]  # unknown, as it stands, unknown
    assert len(codes_of(written(tmp_path, data))) == 3


def test_a_line_of_the_longest_length_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("dpforest.records.streams.csv_lines.LONGEST_LINE", 30)
    monkeypatch.setattr("dpforest.records.streams.csv_lines._STEP", 1)
    line = b"1,a,2" + b" " * 21 + b",ill"
    for size, end in itertools.product((1, 7, 29, 30, 31, 32, 64), (b"\n", b"\r\n", b"")):
        monkeypatch.setattr("dpforest.records.streams.csv_files.BLOCK_BYTES", size)
        data = HEADER + b" " + line + b"\n" + line + b"\r\n" + b" " + line + b"\r\n" + line + end
        assert len(line) == 30 and len(codes_of(written(tmp_path, data))) == 2


# Any bytes, any place, any cut.

PIECES = [
    b'"', b'""', b",", b"\r", b"\0", b" ", b"a", b"b, c", b"ill", b"well", b"1", b"7", b".5", b"-",
    b"+", b"e5", b"nan", b"nan(7)", b"inf", b"1e400", b"true", b"\xff", b"\xef\xbb\xbf",
    b"\xd9\xa3", b"\xe2\x80\x83", b"x" * 30,
]  # fmt: skip
ODD_CELLS = st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join)
CELLS = st.sampled_from([b"1", b"9", b"", b"a", b'"b, c"', b"3.5", b'"7"', b"ill"]) | ODD_CELLS
FOUR = st.tuples(CELLS, CELLS, CELLS, st.sampled_from([b"ill", b"well", b'"ill"'])).map(b",".join)
BYTES = st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))
LINES = FOUR | st.lists(CELLS, max_size=6).map(b",".join) | BYTES | ODD_CELLS


@pytest.mark.parametrize("quoting", [True, False])
@given(
    files=st.lists(st.lists(LINES, max_size=5), min_size=1, max_size=3), odd=LINES,
    where=st.integers(0, 2), place=st.integers(0, 5), size=st.integers(1, 80),
    longest=st.integers(23, 90), ends=st.sampled_from([b"\n", b"\r\n"]), last=st.booleans(),
    compress=st.booleans(),
)  # fmt: skip
def test_a_record_follows_from_its_own_line(
    files, odd, where, place, size, longest, ends, last, compress, quoting, tmp_path_factory
):
    folder = tmp_path_factory.getbasetemp() / f"lines{quoting}"
    folder.mkdir(exist_ok=True)
    suffix = ".csv.gz" if compress else ".csv"

    def write(number, lines):
        data = HEADER + ends.join(lines) + ends * (last and bool(lines))
        return written(folder, data, f"{number}{suffix}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpforest.records.streams.csv_lines.LONGEST_LINE", longest)
        patch.setattr("dpforest.records.streams.csv_files.BLOCK_BYTES", size)
        patch.setattr("dpforest.records.streams.csv_lines._STEP", 1 + size // 2)
        own = [[codes_of(write(0, [line]), quoting=quoting) for line in lines] for lines in files]
        one = codes_of(write(0, [odd]), quoting=quoting)

        def read(parts):
            return codes_of([write(*part) for part in enumerate(parts)], quoting=quoting)

        expected = list(itertools.chain(*itertools.chain(*own)))
        assert read(files) == expected
        # One record more, of any bytes, at any place.
        file = files[where % len(files)]
        place %= len(file) + 1
        file.insert(place, odd)
        own[where % len(own)].insert(place, one)
        assert len(one) <= 1
        assert read(files) == list(itertools.chain(*itertools.chain(*own)))


# What headers tell is told with nothing spent.

HEADERS = {
    "no header": ([b""], "its first line is empty"),
    "an empty first line": ([b"\n1,a,2,ill\n"], "its first line is empty"),
    "two of one name": ([b"age,kind,age,income,target\n1,a,1,2,ill"], "names must differ"),
    "two that are not read": ([b"age,kind,income,target,,\n1,a,2,ill,,"], "names must differ"),
    "two targets": ([b"age,kind,income,target,target\n1,a,2,ill,ill"], "names must differ"),
    "no target": ([b"age,kind,income\n"], "no column 'target'"),
    "no feature": ([b"age,kind,target\n"], "no column 'income'"),
    "an open quote": ([b'age,kind,income,"target\n'], "a quote that is open"),
    "a name of two lines": ([b'age,"kind\nof",income,target\n'], "a quote that is open"),
    "two bytes a sign": ([HEADER.decode().encode("utf-16")], "not UTF-8 text.*'utf-16'"),
    "a workbook": ([b"PK\x03\x04\x14\0\x06\0\x08\0\x96\xf1"], "not UTF-8 text.*sheet of Excel"),
    "a workbook of old": ([b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"], "not UTF-8.*sheet of Excel"),
    "packed and not called so": ([gzip.compress(HEADER)], "not UTF-8 text.*end with .csv.gz"),
    "Latin letters": ([b"age,kind,income,target,\xe9\n"], r"not UTF-8 text.*encoding='cp1252'\)"),
    "of a spreadsheet": ([b"age;income \x80;target\n"], "'cp1252', sep=';', decimal=','"),
    "lines that end with CR": ([b"age,kind,income,target\r1,a,2,ill\r"], "carriage return"),
    "too long": ([b"x" * (2**20 + 1) + b"," + HEADER], "longer than 1048576 bytes"),
    "without an end, too long": ([b"x" * 5_000_000], "longer than 1048576 bytes"),
    "other names": ([HEADER, b"age,kind,income,target,more\n"], "not those of 0.csv"),
    "a name less": ([HEADER, b"age,kind,target\n"], "no column 'income'"),
    "another target": ([HEADER, b"age,kind,income,label\n"], "no column 'target'"),
    "damaged from its beginning": ([b"\x1f\x8b\x08\x00damaged"], "cannot be read|first line"),
}


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("files, words", HEADERS.values(), ids=HEADERS)
def test_a_header_is_refused_with_nothing_spent(files, words, compress, tmp_path):
    if "cannot" in words and not compress:
        pytest.skip("a file that is not compressed cannot be damaged")
    suffix = "csv.gz" if compress and "cannot" not in words else "csv"
    paths = [written(tmp_path, data, f"{i}.{suffix}") for i, data in enumerate(files)]
    if "cannot" in words:
        paths = [path.rename(tmp_path / "0.csv.gz") for path in paths]
    accountant = BudgetAccountant(9)
    words = words.replace("0.csv", f"0.{suffix}")
    with pytest.raises(StreamError, match=words) as caught:
        make(accountant=accountant).fit(CSVStream(paths, "target"))
    assert caught.value.place == paths[-1].name
    assert accountant.spent.exact.epsilon == 0
    assert not list(accountant.composition().walk())[1:]


def test_names_may_come_in_another_order_and_with_a_byte_order_mark(tmp_path):
    other = b'\xef\xbb\xbf"target",income,"kind",age\r\nill,2,"b, c",1\r\n'
    paths = [
        written(tmp_path, HEADER + b'1,"b, c",2,ill', "0.csv"), written(tmp_path, other, "1.csv"),
    ]  # fmt: skip
    first, second = codes_of(paths)
    assert first == second


def test_without_quoting_a_header_is_taken_as_it_stands(tmp_path):
    path = written(tmp_path, b'"age",kind,income,target\n')
    with pytest.raises(StreamError, match="no column 'age'"):
        codes_of(path, quoting=False)
    assert codes_of(path) == []


def test_a_target_that_is_a_feature_is_refused(tmp_path):
    accountant = BudgetAccountant(9)
    with pytest.raises(ParameterError, match="a feature of the domain too"):
        make(accountant=accountant).fit(CSVStream(written(tmp_path, HEADER), "kind"))
    assert accountant.spent.exact.epsilon == 0


@pytest.mark.parametrize(
    "parameters", [{"paths": 7}, {"paths": [3]}, {"paths": None}, {"target": 3}, {"quoting": "no"}]
)
def test_parameters_of_another_kind_are_refused(parameters, tmp_path):
    path = written(tmp_path, HEADER)
    with pytest.raises(ParameterTypeError):
        CSVStream(**{"paths": path, "target": "target", **parameters})
    with pytest.raises(ParameterError, match="must name files that are there"):
        CSVStream("a\0b.csv", "target")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_compressed_file_that_was_cut_short_names_the_block(share, tmp_path):
    generator = np.random.default_rng(0)
    lines = b"".join(b"%d,a,2,ill\n" % age for age in generator.integers(0, 9**9, 30_000))
    whole = gzip.compress(HEADER + lines)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DPForestError, match=r"a.csv.gz, block \d+: it cannot be read"):
        codes_of(path)
