"""Tables in memory hold the records that streams read, with the same meanings."""

from __future__ import annotations

import gzip

import pytest

from dpforest import Domain
from dpforest.command_line import tables
from dpforest.command_line.tables import (
    is_streamed,
    labelled,
    unlabelled,
    whole_table,
)
from dpforest.domain.values import meaning_of
from dpforest.exceptions import ParameterError, StreamError
from dpforest.records.streams import csv_files, csv_lines

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LINES = ["a,b,y", "1,x,0", "2.5,07,1", ",1e400,0", "007,,1", '"u, v",nan,0', "True,3.0,1"]


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a line or two, so that types of columns differ between them."""
    for module in (csv_files, tables):
        monkeypatch.setattr(module, "BLOCK_BYTES", 12)
    monkeypatch.setattr(csv_lines, "_STEP", 12)


def meanings(column):
    return [meaning_of(value) for value in column.to_pylist()]


@pytest.mark.usefixtures("small_blocks")
def test_parts_of_different_types_mean_what_their_cells_mean(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(LINES) + "\n")
    X, y = whole_table(labelled([str(path)], "y"), ("a", "b"))
    cells = [line.split(",") for line in LINES[1:]]
    cells[4] = ["u, v", "nan", "0"]
    for place, column in enumerate((X["a"], X["b"], y)):
        assert meanings(column) == [meaning_of(row[place]) for row in cells]
    assert X["a"].to_pylist()[0] == "1"  # whole numbers without a point, as drafts show them
    assert X["a"].type == pa.large_string() and y.type == pa.float64()


def test_an_empty_table_has_its_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n")
    X, y = whole_table(labelled([str(tmp_path / "t.csv")], "y"), ("a", "b"))
    assert X.column_names == ["a", "b"] and len(y) == X.num_rows == 0


def test_kinds_are_told_by_names(tmp_path):
    (tmp_path / "t.CSV").write_text("a,y\n1,0\n")
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a,y\n2,0\n")
    parquet.write_table(pa.table({"a": [3], "y": [0]}), tmp_path / "t.pq")
    for name, value in (("t.CSV", 1), ("t.csv.gz", 2), ("t.pq", 3)):
        X, _ = whole_table(labelled([str(tmp_path / name)], "y"), ("a",))
        assert X["a"].to_pylist() == [value]
    (tmp_path / "t.txt").write_text("a,y\n4,0\n")
    with pytest.raises(ParameterError, match="one kind"):
        labelled([str(tmp_path / "t.txt")], "y")
    X, _ = whole_table(labelled([str(tmp_path / "t.txt")], "y", "csv"), ("a",))
    assert X["a"].to_pylist() == [4]
    with pytest.raises(ParameterError, match="one kind"):
        labelled([str(tmp_path / "t.CSV"), str(tmp_path / "t.pq")], "y")


def test_a_folder_is_its_files(tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(f"a,y\n{number},0\n")
    X, _ = whole_table(labelled([str(tmp_path)], "y"), ("a",))
    assert X["a"].to_pylist() == [1, 2]
    (tmp_path / "1.parquet").write_text("")
    with pytest.raises(ParameterError, match="one kind"):
        labelled([str(tmp_path)], "y")


def test_size_goes_by_what_is_declared():
    def domain(rows):
        return Domain(features={"a": (0, 1)}, classes=["0", "1"], approximate_rows=rows)

    limit = tables.MOST_CELLS // 2
    assert not is_streamed(domain(limit), None) and is_streamed(domain(limit + 1), None)
    assert not is_streamed(domain(None), None)
    assert is_streamed(domain(None), True) and not is_streamed(domain(10**12), False)


def read(path, texts=()):
    source = unlabelled(path, texts=texts)
    source.check(("a",))
    return [batch.X for batch in source.batches_of(("a",))]


@pytest.mark.parametrize(
    "odd", ["\n", "1\n", "1,2,3\n", '"1,2\n', f"{'1' * 50},2\n"],
    ids=["empty", "short", "long", "open quote", "very long"],
)  # fmt: skip
@pytest.mark.usefixtures("small_blocks")
def test_a_line_that_is_no_record_is_refused_where_predictions_stand_by_place(
    tmp_path, monkeypatch, odd
):
    monkeypatch.setattr(csv_lines, "LONGEST_LINE", 40)
    path = tmp_path / "t.csv"
    path.write_text(f"a,k\n1,x\n{odd}2,y\n")
    with pytest.raises(StreamError, match="no record"):
        read(path)
    batches = read(path, texts=("k",))
    assert [k for X in batches for k in X["k"].to_pylist()] == ["x", "y"]
    source = labelled([str(path)], "k")
    X, y = whole_table(source, ("a",))
    assert source.left_out(len(y)) == 1


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_every_line_is_a_record_whatever_ends_the_file(tmp_path, end):
    path = tmp_path / "t.csv"
    path.write_text(f"a,k\n1,x\n2,y{end}", newline="")
    assert sum(X.num_rows for X in read(path)) == 2
    source = labelled([str(path)], "k")
    assert source.left_out(2) == 0


def test_what_is_handed_on_stays_as_it_is_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,k\n1,007\n2,12345678901234567890\n")
    assert read(path, texts=("k",))[0]["k"].to_pylist() == ["007", "12345678901234567890"]
