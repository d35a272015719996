"""Forecasts against fits: which tables ranges are found on, and what is said where none are."""

from __future__ import annotations

import argparse
import gzip
import json
import sys

import forecast
import pytest
from common.forecast_rows import CONFIRMATION, FINDING, Folders

ASKED = {"parts": list(forecast.PARTS), "sets": [], "seeds": forecast.SEEDS}


def write_table(folder, name, task="classification"):
    """The facts of a table, and a file of no records beside them."""
    folder.mkdir(exist_ok=True)
    facts = {"name": name, "task": task, "n_rows": 9, "classes": ["0", "1"]}
    (folder / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(b""))


@pytest.fixture
def folders(tmp_path):
    """Two tables at hand, and two that confirm."""
    for task in ("classification", "regression"):
        write_table(tmp_path / "own", f"own_{task}", task)
        write_table(tmp_path / "others", f"other_{task}", task)
    return Folders(tmp_path / "own", tmp_path / "others")


def asked_of(folders):
    return argparse.Namespace(data=folders.finding, confirmation=folders.confirmation, **ASKED)


@pytest.mark.parametrize(("given", "said"), [
    ("--data", "no tables in .*: give --data or DPFOREST_DATA"),
    ("--confirmation", "no tables in .*: `python benchmarks/package_tables.py .*` makes them"),
])  # fmt: skip
def test_without_tables_it_says_where_they_come_from(given, said, folders, tmp_path, monkeypatch):
    (tmp_path / "none").mkdir()
    places = {"--data": str(folders.finding), "--confirmation": str(folders.confirmation)}
    places |= {given: str(tmp_path / "none"), "--results": str(tmp_path / "lines.jsonl")}
    monkeypatch.setattr(sys, "argv", ["x", *sum(places.items(), ())])
    with pytest.raises(SystemExit, match=said):
        forecast.main()
    assert not (tmp_path / "lines.jsonl").exists()


def test_tables_that_confirm_are_none_of_those_that_ranges_are_found_on(folders):
    uses = {"own": FINDING, "others": CONFIRMATION}
    for folder, use in uses.items():
        own = {name for name, found in folders.uses.items() if found == use}
        assert own == folders.tasks(use).keys() and len(own) == 2
        assert {folders.of(name).name for name in own} == {folder}
    write_table(folders.confirmation, "own_regression", "regression")
    with pytest.raises(SystemExit, match="names in .* and in .*own_regression"):
        Folders(folders.finding, folders.confirmation).uses  # noqa: B018


def test_tables_that_confirm_have_fits_by_auto_alone(folders):
    jobs = list(forecast.jobs_of(asked_of(folders)))
    others = [job for job in jobs if folders.uses[job.dataset] == CONFIRMATION]
    assert {job.model.partition(",")[0] for job in others} == {"auto"}
    assert {job.seed for job in others} == set(range(forecast.SEEDS_OF_CONFIRMATION))
    kinds = 2 * 2 * len(forecast.DELTAS)  # of two tables, labels as they are and dealt anew
    assert len(others) == kinds * len(forecast.EPSILONS) == len(set(others))
    own = [job for job in jobs if folders.uses[job.dataset] == FINDING and job.seed]
    assert {job.model.partition(",")[0] for job in jobs} > {"auto"} and own
    assert forecast.missing([], asked_of(folders)) == {job.key for job in jobs}
