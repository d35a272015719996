"""The search at the door: its list of containers is whole, and it finds what is planted."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")
pytest.importorskip("dask.array")

import door  # noqa: E402
import narwhals as nw  # noqa: E402
from common.sources import Sources  # noqa: E402
from doorway import answers, containers, page, planted, processes, readers, search  # noqa: E402
from doorway.effects import EFFECTS  # noqa: E402

import dpforest  # noqa: E402
from dpforest.records.streams.base import Source, Stream  # noqa: E402

pytestmark = [
    # Dask's and pandas' own, while tables are made.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

#: What narwhals reads but no test here can: other machines or engines, or nothing in memory.
ELSEWHERE = {
    "MODIN", "CUDF", "PYSPARK", "PYSPARK_CONNECT", "DASK", "DUCKDB", "IBIS", "SQLFRAME", "UNKNOWN",
}  # fmt: skip
#: Families in which every container of narwhals is held.
HELD = {"PANDAS": "pandas, inferred", "POLARS": "polars, inferred", "PYARROW": "Arrow, inferred"}


#: Of a shell: files as those readers read them, in one piece (tests/command_line/test_fit.py holds
#: one forest of both); and records to predict, on which nothing is trained.
NOT_SEARCHED = {"WholeTable", "_FeaturesOfCSV", "_FeaturesOfParquet"}


def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


# -- the list is whole ---------------------------------------------------------------------------


def test_every_source_of_records_is_searched():
    for module in pkgutil.walk_packages(dpforest.__path__, "dpforest."):
        if any(part in module.name for part in (".streams", ".dask", ".command_line.tables")):
            importlib.import_module(module.name)
    ours = {one for one in subclasses(Source) if one.__module__.startswith("dpforest.")}
    made = {one.__name__ for one in ours if not one.__abstractmethods__}
    assert Stream in ours and made
    assert made == {reader.source for reader in readers.readers()} | NOT_SEARCHED


def test_every_type_of_numpy_is_searched():
    kinds = {np.dtype(code).type for code in containers.NUMPY_TYPES if code != "T"}
    assert {np.dtype(code).type for code in np.typecodes["All"]} <= kinds
    assert "T" in containers.NUMPY_TYPES  # texts of free width are in no list of numpy's


def test_every_type_of_pandas_is_searched():
    held = {type(pd.api.types.pandas_dtype(name)) for name in containers.PANDAS_TYPES}
    held |= {pd.SparseDtype, pd.ArrowDtype}  # ways of their own
    known = {
        one
        for one in subclasses(pd.api.extensions.ExtensionDtype)
        if one.__module__.split(".")[0] == "pandas" and hasattr(pd, one.__name__)
    }
    assert known and known <= held


def test_every_type_of_polars_is_searched():
    held = {one if isinstance(one, type) else type(one) for one in containers.POLARS_TYPES}
    leaves = {one for one in subclasses(pl.DataType) if not one.__subclasses__()}
    ours = {
        one for one in leaves if one.__module__.startswith("polars.") and hasattr(pl, one.__name__)
    }
    # What is of no known type, or of another library.
    aside = {"Unknown", "Extension", "BaseExtension"}
    assert {one.__name__ for one in ours - held} <= aside and pl.Int64 in ours


def test_every_type_of_arrow_is_searched():
    held = {one.id for one in containers.ARROW_TYPES}
    ids = {name: value for name, value in vars(pa.lib).items() if name.startswith("Type_")}
    # Marks of kinds, or types that pyarrow does not make; 0 is that of no values.
    aside = {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME", "Type_EXTENSION", "Type_MAX_ID"}
    assert len(ids) > 30
    assert {name for name, value in ids.items() if value not in held} <= aside


def test_every_library_that_narwhals_reads_is_searched_or_named():
    known = {one.name for one in nw.Implementation}
    assert known <= ELSEWHERE | HELD.keys()
    assert set(HELD.values()) <= search.families().keys()


def test_every_container_and_reader_has_its_share():
    names = list(search.families())
    chunks = door.tasks_of(200_000, 0, [], set())
    assert all(sum(one == name for one, _, _ in chunks) * search.CHUNK >= 5_000 for name in names)
    assert len(chunks) * search.CHUNK >= 200_000


# -- what it finds -------------------------------------------------------------------------------


@pytest.mark.parametrize("family", search.families())
def test_nothing_is_found(family, tmp_path):
    line = search.Chunk(family, 0, 1, tmp_path).run(24)
    assert not line["faults"], json.dumps(line["faults"], indent=1, default=str)
    assert sum(line["ways"].values()) > 12


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault):
    assert planted.search(fault, seed=0)["pairs"] is not None


def test_planted_faults_are_taken_out_again(tmp_path):
    for fault in planted.FAULTS:
        with fault.planted():
            pass
    for family in {fault.family for fault in planted.FAULTS}:
        assert search.first_found(family, 4, 5, tmp_path) is None


def an_answer(records=(), error=None, ours=True, warned=(), codes=None):
    return answers.Answer(error, ours, list(records), codes, warned)


REFUSED = ("check", "ParameterError", "words")


@pytest.mark.parametrize(
    ("smaller", "larger", "fault"),
    [
        (an_answer("ab"), an_answer("axb"), None),
        (an_answer("ab"), an_answer("ab"), None),
        (an_answer("ab"), an_answer("xabx"), "other records changed"),
        (an_answer("ab"), an_answer("a"), "other records changed"),
        (an_answer("ab"), an_answer("aax"), "other records changed"),
        (an_answer(), an_answer(error=REFUSED), "record decides on an error"),
        (an_answer(error=REFUSED), an_answer(), "record decides on an error"),
        (an_answer(error=REFUSED), an_answer(error=REFUSED), None),
        (an_answer(error=REFUSED), an_answer(error=(*REFUSED[:2], "other")), "another error"),
        (an_answer(error=REFUSED, ours=False), an_answer(error=REFUSED), "refused too late"),
        (an_answer(error=("encoding", "", "")), an_answer(error=("encoding", "", "")),
         "refused too late"),
        (an_answer(warned=(("W", ""),)), an_answer(), "record decides on a warning"),
        (an_answer(codes=np.array([[1], [2]])), an_answer(codes=np.array([[1], [7], [2]])), None),
        (an_answer(codes=np.array([[1], [2]])), an_answer(codes=np.array([[1], [7], [3]])),
         "predictions changed"),
    ],
)  # fmt: skip
def test_pairs_are_judged(smaller, larger, fault):
    assert answers.fault_of(smaller, larger, place=1) == fault
    assert fault is None or fault in answers.FAULTS


# -- running it ----------------------------------------------------------------------------------


def test_a_chunk_is_drawn_alike_and_what_is_done_is_skipped(tmp_path):
    one, two = (search.Chunk("lists", 3, 2, tmp_path).run(10) for _ in range(2))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    every = door.tasks_of(2_000, 0, ["lists", "csv"], set())
    assert {name for name, _, _ in every} == {
        name for name in search.families() if "lists" in name or "CSV" in name
    }
    assert door.tasks_of(2_000, 0, ["lists", "csv"], set(every[:3])) == every[3:]


def test_a_process_that_dies_is_a_finding():
    line = processes._lost(("lists", 1, 2), "the process died")
    assert line["faults"][0]["signature"][0] == "the process died"


def test_the_page_says_what_was_tried_and_found(tmp_path):
    line = search.Chunk("lists", 0, 0, tmp_path).run(5)
    fault = next(one for one in planted.FAULTS if one.family == "lists")
    with fault.planted():
        found = {**search.Chunk("lists", 0, 0, tmp_path).run(60), "family": "lists with a fault"}
    assert found["faults"]
    tried = [{"sources": "s", **one} for one in (line, found)]
    missed = {"name": "n", "family": "lists", "pairs": None, "most": 7, "seed": 0}
    page.write_page(tmp_path / "page.md", tried, [missed], "s")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| lists | 5 |" in text and "one more" in text and "not in 7" in text
    assert all(effect.name in text for effect in EFFECTS)
    page.write_page(tmp_path / "page.md", tried[:1], [], "s")
    assert "None was found" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_the_print_is_of_the_readers_and_of_the_search():
    everything = door.SOURCES.print()
    for folder in door.SOURCES.files:
        assert (door.REPOSITORY / folder).is_dir()
        others = tuple(one for one in door.SOURCES.files if one != folder)
        assert Sources(files=others).print() != everything


def test_chunks_of_other_code_are_run_again(tmp_path, monkeypatch):
    ran = []

    def run_all(tasks, processes):
        ran.append(len(tasks))
        yield from ({"family": name, "number": n, "seed": seed} for name, n, seed in tasks)

    monkeypatch.setattr(door, "run_all", run_all)
    arguments = argparse.Namespace(pairs=2_000, seed=0, only=["lists"], processes=1)
    results = door.Store(tmp_path / "door.jsonl", door.SOURCES)
    door.run(arguments, results)
    door.run(arguments, results)
    text = results.path.read_text(encoding="utf-8").replace(door.SOURCES.print(), "other")
    results.path.write_text(text, encoding="utf-8")
    door.run(arguments, results)
    assert ran[0] > 0 and ran == [ran[0], 0, ran[0]]
