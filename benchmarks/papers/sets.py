"""Datasets as the papers use them: numbers, codes of categories, -1 for a missing value."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

#: What the papers say they fill missing values with.
MISSING = -1.0


@dataclass(frozen=True)
class PaperSet:
    """A dataset.

    Attributes
    ----------
    X : ndarray of float64, shape (n, D)
        A category is its position among the declared ones.
    y : ndarray, shape (n,)
        Positions of the classes (int64), or the numbers of a regression (float64).
    categorical : tuple of int
        Columns that hold categories.
    columns : tuple of str
    classes : tuple of str
        Empty for regression.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    categorical: tuple[int, ...]
    columns: tuple[str, ...]
    classes: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return self.X.shape[0]


def available(folder: Path, names: list[str] | tuple[str, ...]) -> list[str]:
    """Those of the named datasets whose files are there, in the order given."""
    return [name for name in names if (folder / f"{name}.csv.gz").exists()]


def facts(folder: Path, name: str) -> dict[str, Any]:
    """What the JSON file beside a dataset says of it."""
    return dict(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))


@lru_cache(maxsize=4)
def read(
    folder: Path,
    name: str,
    *,
    target: str = "target",
    task: str | None = None,
    drop: tuple[str, ...] = (),
) -> PaperSet:
    """Read a dataset.

    Parameters
    ----------
    folder : Path
    name : str
    target : str
        Column to predict; where it is one of the features, the file's own target becomes one.
    task : {"classification", "regression"}, optional
        The file's own by default. Classes read as numbers where it is regression.
    drop : tuple of str
        Columns to leave out.
    """
    about = facts(folder, name)
    kinds = {column["name"]: column for column in about["columns"]}
    kinds["target"] = _target_kind(about)
    texts = {key: column for key, column in _read(folder / f"{name}.csv.gz").items()
             if key not in drop}  # fmt: skip
    features = [column for column in texts if column != target]
    regression = (task or about["task"]) == "regression"
    kind = {"kind": "numeric"} if regression else kinds[target]
    y = _numbers(texts[target], kind)
    return PaperSet(
        name,
        np.column_stack([_numbers(texts[column], kinds[column]) for column in features]),
        y if regression else y.astype(np.int64),
        tuple(i for i, column in enumerate(features) if kinds[column]["kind"] == "categorical"),
        tuple(features),
        () if regression else tuple(map(str, kind["categories"])),
    )


def _target_kind(about: dict[str, Any]) -> dict[str, Any]:
    if about["task"] == "regression":
        return {"kind": "numeric"}
    return {"kind": "categorical", "categories": about["classes"]}


def _read(path: Path) -> dict[str, list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    columns = [[text.strip() for text in column] for column in zip(*rows, strict=True)]
    return dict(zip(header, columns, strict=True))


def _numbers(texts: list[str], kind: dict[str, Any]) -> np.ndarray:
    if kind["kind"] != "categorical":
        return np.array([float(text) if text else MISSING for text in texts])
    places = {str(category): float(place) for place, category in enumerate(kind["categories"])}
    return np.array([places[text] if text else MISSING for text in texts])
