"""Readers of files and batches: order, errors, and what later lines do to earlier ones."""

from __future__ import annotations

import gzip
import os
import re

import pytest

from dpforest.command_line import tables
from dpforest.exceptions import ParameterError, ParameterTypeError, StreamError
from dpforest.records.streams import csv_files, csv_lines
from dpforest.records.streams import files as reading_files
from dpforest.streams import BatchStream, CSVStream, ParquetStream

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def test_files_of_a_folder_come_in_the_order_of_their_names(tmp_path):
    names = ["b.csv", "a.csv", "c10.csv", "c2.csv"]
    for name in names:
        (tmp_path / name).write_text("x,y\n1,0\n")
    found = reading_files.file_list(tmp_path, "csv")
    assert [path.name for path in found] == sorted(names)
    (tmp_path / "B2.CSV").write_text("x,y\n1,0\n")
    (tmp_path / "b.txt").write_text("no table\n")
    found = reading_files.file_list(tmp_path, "csv")
    assert [path.name for path in found] == sorted([*names, "B2.CSV"])
    given = [tmp_path / name for name in names]
    assert [path.name for path in reading_files.file_list(given, "csv")] == names


def write_row(path, x):
    """A table of one record, as the end of its name says."""
    ending = path.suffix.lower()
    if ending in (".parquet", ".pq"):
        parquet.write_table(pa.table({"x": [x], "y": [0]}), path)
        return
    text = f"x,y\n{x},0\n".encode()
    path.write_bytes(gzip.compress(text) if ending == ".gz" else text)


@pytest.mark.parametrize("ending", [end for ends in reading_files.ENDINGS.values() for end in ends])
def test_a_folder_is_searched_for_every_ending(ending, tmp_path):
    """None of its tables is left out in silence, and all are read."""
    (kind,) = [kind for kind, ends in reading_files.ENDINGS.items() if ending in ends]
    first = reading_files.ENDINGS[kind][0]
    mixed = "".join(sign.upper() if k % 2 else sign for k, sign in enumerate(ending))
    for x, name in enumerate((f"a{first}", f"b{ending}", f"c{ending.upper()}", f"d{mixed}")):
        write_row(tmp_path / name, x)
    stream = (CSVStream if kind == "csv" else ParquetStream)(tmp_path, "y")
    stream.check(("x",))
    assert [path.name[0] for path in stream.paths] == ["a", "b", "c", "d"]
    read = [value for batch in stream.batches() for value in batch.X["x"].to_pylist()]
    assert list(map(float, read)) == [0, 1, 2, 3]


@pytest.mark.parametrize("ending", [end for ends in reading_files.ENDINGS.values() for end in ends])
def test_a_name_that_is_no_text_is_a_name(ending, tmp_path):
    """Of bytes that are no UTF-8; in a locale of ASCII alone, every other letter is such."""
    write_row(tmp_path / f"a{ending}", 7)
    odd = tmp_path / os.fsdecode(b"st\xffays" + ending.encode())
    try:
        (tmp_path / f"a{ending}").rename(odd)
    except OSError:
        pytest.skip("names of files are text here")
    stream = (ParquetStream if "p" in ending else CSVStream)(odd, "y")
    stream.check(("x",))
    (batch,) = stream.batches()
    assert list(map(float, batch.X["x"].to_pylist())) == [7]


def test_kinds_of_packing_are_those_that_pyarrow_knows(tmp_path):
    """By small and large letters."""
    for ending, kind in csv_files.PACKED.items():
        assert pa.Codec.detect(f"a{ending}").name == kind
        for name in (f"a.csv{ending}", f"A.CSV{ending.upper()}"):
            with pa.output_stream(tmp_path / name, compression=kind) as packed:
                packed.write(b"x,y\n1,0\n")
            assert len(next(CSVStream(tmp_path / name, "y").batches()).y) == 1


@pytest.mark.parametrize(
    ("plain", "packed"),
    [("a.csv", "a.csv.gz"), ("A.CSV", "a.csv.gz"), ("a.csv", "A.Csv.GZ"), ("a.Csv", "a.csv.gz")],
)
def test_a_file_beside_its_compressed_form_is_refused(tmp_path, plain, packed):
    write_row(tmp_path / plain, 1)
    write_row(tmp_path / packed, 1)
    said = f"the file {plain} (and {packed}): is given twice"
    with pytest.raises(ParameterError, match=re.escape(said)):
        CSVStream(tmp_path, "y")
    (tmp_path / plain).rename(tmp_path / "b.csv")
    stream = CSVStream(tmp_path, "y")
    assert [len(batch.y) for batch in stream.batches()] == [1, 1]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (CSVStream, ["a.csv", "a.csv.gz"]),
        (CSVStream, ["A.csv.BZ2", "b.csv", "a.csv"]),
        (CSVStream, ["a.csv.zst", "a.csv.lz4"]),
        (CSVStream, ["", "a.csv.bz2"]),  # a folder with a.csv, and a file of it that it leaves out
        (ParquetStream, ["a.parquet", "b.parquet", "a.pq"]),
        (ParquetStream, [""]),
    ],
)
def test_a_file_in_two_forms_is_refused_in_a_list_too(kind, names, tmp_path):
    """Whatever path leads to its folder; by the names alone, before a file is opened."""
    for name in {"a.csv", "a.csv.bz2", "a.parquet", "a.pq", *names} - {""}:
        (tmp_path / name).touch()
    here, again = tmp_path, tmp_path / ".." / tmp_path.name
    for first in (here, again):
        with pytest.raises(ParameterError, match=r"the file [aA].* \(and [aA].*\): is given twice"):
            kind([first / names[0], *(here / name for name in names[1:])], "y")
    below = tmp_path / "below"
    below.mkdir()
    for place in (tmp_path / "b.csv", below / "b.csv.gz"):
        place.touch()
    assert len(CSVStream([tmp_path / "b.csv", below], "y").paths) == 2


def test_what_is_no_file_is_refused_by_what_it_is(tmp_path):
    (tmp_path / "folder" / "within.csv").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("folder", "paths='within.csv': is a folder in a folder"),
        ("empty", "paths=a folder: .*folders in a folder are not searched"),
        ("absent.csv", "paths='absent.csv': must name files that are there"),
        ("x" * 300 + ".csv", "paths=x+.*: cannot be looked at|must name files that are there"),
    ):
        with pytest.raises(ParameterError, match=said):
            CSVStream(tmp_path / name, "y")
    with pytest.raises(ParameterError, match="paths=an empty list: must name files"):
        CSVStream([], "y")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have names")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ParameterError, match="'a.csv': is no file that can be read again"):
        CSVStream(tmp_path / "a.csv", "y")


def test_what_may_not_be_read_is_said_to_be_so(tmp_path, monkeypatch):
    """Not that it is damaged, or that a folder has no files."""

    def denied(*given):
        raise PermissionError(13, "Permission denied", str(tmp_path / "own"))

    denied_file = pytest.raises(StreamError, match="PermissionError.. Give this user the right")
    with denied_file, reading_files.reading("a.csv"):
        denied()
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(reading_files.Path, "iterdir", denied)
    for look in (CSVStream, ParquetStream):
        with pytest.raises(ParameterError, match="paths=own: cannot be looked at .Permission"):
            look(tmp_path / "own", "y")
    with pytest.raises(ParameterError, match="paths=own: cannot be looked at .Permission"):
        tables.labelled([str(tmp_path / "own")], "y")


def test_files_of_one_name_in_two_folders_or_by_two_cases_are_two(tmp_path):
    (tmp_path / "below").mkdir()
    for name in ("a.csv", "below/a.csv.gz", "b.csv", "B.csv"):
        write_row(tmp_path / name, 1)
    n_files = len([path for path in tmp_path.rglob("*") if path.is_file()])
    assert len(CSVStream([tmp_path, tmp_path / "below"], "y").paths) == n_files


def test_a_file_that_is_named_twice_is_refused(tmp_path):
    """Its records would count twice; a file is the same by any name."""
    (tmp_path / "a.csv").write_text("x,y\n1,0\n")
    (tmp_path / "b.csv").write_text("x,y\n1,0\n")
    link = tmp_path / "elsewhere"
    link.symlink_to(tmp_path / "a.csv")
    folder, other_way = tmp_path, tmp_path / ".." / tmp_path.name / "a.csv"
    for again in (tmp_path / "a.csv", link, other_way):
        with pytest.raises(ParameterError, match=r"the file .*: is given twice.*Name each file"):
            CSVStream([folder, again], "y")
    assert len(CSVStream([tmp_path / "a.csv", tmp_path / "b.csv"], "y").paths) == 2


def test_files_stay_those_that_were_named(tmp_path, monkeypatch):
    """Else two names of two files were two of one file where the process works elsewhere later."""
    for folder, rows in (("here", "1,0\n"), ("there", "2,0\n3,0\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text(f"x,y\n{rows}")
    monkeypatch.chdir(tmp_path / "here")
    stream = CSVStream(["a.csv", tmp_path / "there" / "a.csv"], "y")
    monkeypatch.chdir(tmp_path / "there")
    stream.check(("x",))
    assert [batch.X["x"].to_pylist() for batch in stream.batches()] == [[1], [2, 3]]


def test_a_link_that_leads_to_a_file_of_the_stream_by_now_is_refused(tmp_path):
    """When the fit is made, before it is charged."""
    for name in ("a.csv", "b.csv"):
        write_row(tmp_path / name, 1)
    link = tmp_path / "link.csv"
    link.symlink_to("b.csv")
    stream = CSVStream([tmp_path / "a.csv", link], "y")
    stream.check(("x",))
    link.unlink()
    link.symlink_to("a.csv")
    with pytest.raises(ParameterError, match=r"the file link.csv: is given twice"):
        stream.check(("x",))


class Place:
    """A path that says what it is."""

    def __init__(self, told):
        self.told = told

    def __fspath__(self):
        return self.told


def test_what_says_of_itself_that_it_is_a_path_of_text_is_one(tmp_path):
    write_row(tmp_path / "a.csv", 1)
    assert len(CSVStream(Place(str(tmp_path / "a.csv")), "y").paths) == 1
    for told in (os.fsencode(tmp_path / "a.csv"), 3):
        for given in (Place(told), [Place(told)]):
            with pytest.raises(ParameterTypeError, match="paths=<.*>: must be a path, or a list"):
                CSVStream(given, "y")


@pytest.mark.parametrize("error", [pa.ArrowInvalid, OSError])
def test_what_a_reader_says_of_a_value_is_not_passed_on(error):
    with pytest.raises(StreamError) as caught, reading_files.reading("part 3"):
        raise error("In row 17: cannot convert 'secret' of 41 cells")
    assert "part 3" in str(caught.value) and error.__name__ in str(caught.value)
    assert not any(word in str(caught.value) for word in ("secret", "17", "41"))


def test_what_can_be_read_once_only_is_refused():
    for once in (iter([]), (pair for pair in [])):
        with pytest.raises(ParameterTypeError, match="fresh iterable for each pass"):
            BatchStream(once)


def test_a_text_in_a_later_block_leaves_earlier_ones_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_lines, "_STEP", 64)
    path = tmp_path / "table.csv"
    lines = [f"{i},{i % 2}" for i in range(60)]

    def values():
        path.write_text("\n".join(["x,y", *lines, ""]))
        stream = CSVStream(path, "y")
        parts = [batch.X.column("x").to_pylist() for batch in stream.batches()]
        assert len(parts) > 3
        # Numbers may come as text or not: they mean the same.
        return [
            str(float(value)) if str(value)[0].isdigit() else value
            for part in parts
            for value in part
        ]

    before = values()
    lines.append("many,1")
    assert values() == [*before, "many"]
