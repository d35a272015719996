"""A table in parts is told of as the whole one: its findings, their order and their bound."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from dpforest.domain import Domain, tallies
from dpforest.domain.findings import FOR_THE_CURATOR
from dpforest.exceptions import DomainError, ParameterError, StreamError
from dpforest.streams import BatchStream, CSVStream, ParquetStream

FEATURES = {
    "age": {"lower": 0, "upper": 90, "integer": True},
    "weight": {"lower": -5, "upper": 5, "missing": True},
    "sex": ["Female", "Male"],
    "job": {"categories": ["clerk", "else"], "other": "else", "missing": True},
}
DOMAIN = Domain(features=FEATURES, classes=["no", "yes"], target=(0, 2))
NAMES = list(FEATURES)
ODD = {
    "age": [30, 31, 104, -3, 12.5, "x", "1,5", float("inf"), None, "104", "1e400"],
    "weight": [0.5, "0.5", -7.25, 6, None, "n/a", "7.0", float("nan")],
    "sex": ["Male", "Female", "male", 1, "1", True, "True", "femal", None, "17"],
    "job": ["clerk", "else", "boss", None, "", "CLERK", b"x", (1, 2)],
    "y": ["no", "yes", "No ", 0, "1", None, "maybe", 7.0, "2.5"],
}


def a_table(seed, n_rows=60, plain=False):
    """Rows, of which the first half is good, so that most rules are met late; and labels."""
    drawn = random.Random(seed)
    good = [30, 0.5, "Male", "clerk", "yes"]
    rows = [[drawn.choice(values) for values in ODD.values()] for _ in range(n_rows // 2)]
    rows = [good] * (n_rows // 2) + rows
    if plain:
        rows = [["" if v is None else str(v).replace(",", ";") for v in row] for row in rows]
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def in_parts(X, y, seed):
    """The same in parts of random sizes, some of them empty."""
    cuts = sorted(random.Random(seed).choices(range(len(X) + 1), k=5))
    return [(X[a:b], y[a:b]) for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True) if b > a]


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("seed", range(8))
def test_findings_in_parts_are_those_of_the_whole_table(seed, task):
    X, y = a_table(seed)
    whole = DOMAIN.check(X, y, task=task)
    assert len(whole.findings) > 10 and 0 < whole.dropped < whole.records
    found = DOMAIN.check(BatchStream(in_parts(X, y, seed)), task=task)
    assert found == whole and str(found) == str(whole)


def test_a_rule_that_is_met_late_stands_where_the_whole_table_has_it():
    late = [[30, 0, "Male", "clerk"]] * 3 + [[None, 9, "m", None], ["x", 0, "Male", "clerk"], [1]]
    parts = [([row], ["no"]) for row in late]
    parts[0] = (np.array([late[0]], dtype=object), ["no"])  # an array has no rows of other widths
    found = DOMAIN.check(BatchStream(parts))
    assert found == DOMAIN.check(late, ["no"] * 6)
    dropped = [(one.column, one.effect) for one in found.findings if one.effect == "dropped"]
    assert [column for column, _ in dropped] == ["X", "age", "age"]


def test_the_farthest_number_is_that_of_all_parts():
    parts = [([[n, w, "Male", "clerk"]], ["no"]) for n, w in [(95, -6), (200, -60), (101, -7)]]
    rules = [one.rule for one in DOMAIN.check(BatchStream(parts)).findings]
    assert rules == ["a number is above 90; the farthest is 200",
                     "a number is below -5; the farthest is -60"]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_frames_and_files_in_parts(seed, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = a_table(seed, plain=True)
    frame = pandas.DataFrame(X, columns=NAMES).assign(note="n", y=y)
    whole = DOMAIN.check(frame.drop(columns="y"), frame["y"])
    assert whole.ignored_columns == ("note",) and whole.dropped
    frames = [frame[:17], frame[17:18], frame[18:]]
    assert DOMAIN.check(BatchStream(frames, target="y")) == whole
    for number, part in enumerate(frames):
        part.to_csv(tmp_path / f"{number}.csv", index=False)
        part.to_parquet(tmp_path / f"{number}.parquet", index=False, row_group_size=7)
    assert DOMAIN.check(ParquetStream(tmp_path, "y")) == whole
    # In a file a column of numbers loses how they were spelt: "7.0" is 7 there.
    of_files = DOMAIN.check(CSVStream(tmp_path, "y"))
    assert of_files.dropped == whole.dropped and of_files.ignored_columns == ("note",)
    told = [
        [(f.column, f.rule, f.effect, f.records) for f in c.findings] for c in (of_files, whole)
    ]
    assert told[0] == told[1]


def test_lines_of_files_that_are_no_record_are_counted(tmp_path):
    pytest.importorskip("pyarrow")
    header = "age,weight,sex,job,y\n"
    good, open_quote, short = "30,1,Male,clerk,no\n", '31,1,Male,"clerk,no\n', "31,1\n"
    for number, lines in enumerate([good + short, open_quote, short * 2]):
        (tmp_path / f"{number}.csv").write_text(header + lines)
    found = DOMAIN.check(CSVStream(tmp_path, "y"))
    assert (found.records, found.dropped, found.lines_left_out) == (1, 0, 4)
    assert "no record, and that no fit reads: 4. They have another number of cells" in " ".join(
        str(found).split()
    )
    assert found.to_dict()["lines_left_out"] == 4
    said = " ".join(str(found).split())
    assert "line end inside of a quoted cell is such lines" in said
    assert said.index("A fit would use") < said.index("Lines of the file") < 400
    whole = DOMAIN.check(CSVStream(tmp_path / "0.csv", "y"))
    assert whole.lines_left_out == 1
    (tmp_path / "0.csv").write_text(header + good[:-1])
    whole = DOMAIN.check(CSVStream(tmp_path / "0.csv", "y"))
    assert whole.lines_left_out == 0 and "no record" not in str(whole)
    assert DOMAIN.check(BatchStream([([[30, 1, "Male", "clerk"]], ["no"])])) == whole


def test_a_number_is_one_value_in_a_part_of_numbers_and_in_a_part_of_text():
    parts = [([[104, 0, "Male", "clerk"]], ["no"]), ([["104", "0", "Male", "clerk"]], ["no"])]
    (finding,) = DOMAIN.check(BatchStream(parts)).findings
    assert [(one.value, one.records) for one in finding.values] == [("104", 2)]
    said = {"104": "104", " 104": "' 104'", "True": "True", "true": "'true'", "1e3": "'1e3'",
            True: "True", 104.0: "104", "x": "'x'"}  # fmt: skip
    assert {value: tallies.written(value) for value in said} == said


@pytest.mark.parametrize(
    ("bound", "limit", "apart"), [("MOST_APART", 100, 100), ("MOST_CHARACTERS", 500, 50)]
)
def test_values_are_told_apart_up_to_a_bound(bound, limit, apart, monkeypatch):
    monkeypatch.setattr(tallies, bound, limit)
    rows = [[30, 0, f"value {i:02}" if i < 100 else f"v{i}", "clerk"] for i in range(300)] * 2
    rows += [[30, 0, "value 07", "clerk"]]
    found = DOMAIN.check(BatchStream([(rows[:250], ["no"] * 250), (rows[250:], ["no"] * 351)]))
    assert found == DOMAIN.check(rows, ["no"] * 601)
    (finding,) = found.findings
    assert (finding.records, len(finding.values) + finding.more_values) == (601, apart)
    assert finding.untold == 600 - 2 * apart and finding.values[0].records == 3
    assert f"and at least {apart - 5} others" in " ".join(str(found).split())


def test_memory_does_not_grow_with_the_table(monkeypatch):
    """Each part takes some 300 kilobytes, all of its texts are new, and there are forty of them."""
    monkeypatch.setattr(tallies, "MOST_CHARACTERS", 2**18)
    monkeypatch.setattr(tallies, "_MOST_GUESSES", 5)

    def parts():
        for number in range(40):
            names = [f"{number}-{i}-" + "x" * 200 for i in range(1000)]
            yield [[30, 0, name, "clerk"] for name in names], ["no"] * 1000

    DOMAIN.check(BatchStream([next(parts())]))
    tracemalloc.start()
    try:
        found = DOMAIN.check(BatchStream(parts))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (finding,) = found.findings
    assert found.records == finding.records == 40_000 and finding.untold > 30_000
    assert peak < 3 * 10**6  # the texts alone take eight


def test_nothing_of_a_stream_is_released_and_the_curator_is_told():
    found = DOMAIN.check(BatchStream([([[30, 0, "Male", "clerk"]], ["nope"])]))
    assert " ".join(str(found).split()).startswith(FOR_THE_CURATOR)
    assert found.to_dict()["for_the_curator_alone"]


def test_what_does_not_fit_is_refused_by_its_place():
    with pytest.raises(ParameterError, match="y.*must be left out"):
        DOMAIN.check(BatchStream([]), ["no"])
    with pytest.raises(ParameterError, match="task"):
        DOMAIN.check(BatchStream([([[30, 0, "Male", "clerk"]], ["no"])]), task="both")
    with pytest.raises(StreamError, match="batch 1"):
        batches = [([[30, 0, "Male", "clerk"]], ["no"]), (np.zeros((2, 3)), ["no"] * 2)]
        DOMAIN.check(BatchStream(lambda: batches))
    with pytest.raises(DomainError, match="does not declare"):
        Domain(features=FEATURES).check(BatchStream([([[30, 0, "Male", "clerk"]], ["no"])]))
    empty = DOMAIN.check(BatchStream([]))
    assert (empty.records, empty.dropped, empty.findings) == (0, 0, ())
