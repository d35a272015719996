"""A small table, its domain and one forest, made once; commands run in this process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from dpforest import Domain
from dpforest.__main__ import main
from dpforest.ledger.command_line import ACTOR_VARIABLE, URL_VARIABLE

sys.path.insert(0, str(Path(__file__).resolve().parent))  # the helpers of these tests

FIT = (
    "fit stays.csv --target back --domain domain.json --epsilon 1 --strategy one_shot --seed 5 "
    "--yes --output"
)


def write_table(path: Path, n_records: int = 400) -> None:
    generator = np.random.default_rng(3)
    age = generator.integers(0, 100, n_records)
    ward = generator.choice(["north", "south"], n_records)
    back = np.where(generator.random(n_records) < age / 100, "yes", "no")
    rows = [f"{k:04d},{a},{w},{b}" for k, (a, w, b) in enumerate(zip(age, ward, back, strict=True))]
    path.write_text("\n".join(["stay,age,ward,back", *rows]) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """A folder with a table, its domain, and a forest with its report."""
    for package in ("pyarrow", "jinja2"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("stays")
    write_table(folder / "stays.csv")
    Domain(
        features={"age": (0, 110), "ward": ["north", "south"]},
        classes=["no", "yes"],
        approximate_rows=400,
    ).to_json(folder / "domain.json")
    with contextlib.chdir(folder):
        assert main([*FIT.split(), "forest"]) == 0
    return folder


@pytest.fixture
def here(stored, tmp_path, monkeypatch):
    """An own folder in which the same files are to be read."""
    for name in ("stays.csv", "domain.json", "forest"):
        os.symlink(stored / name, tmp_path / name)
    for variable in (URL_VARIABLE, ACTOR_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path
