"""Trials: forests with other settings, on other readings of a dataset, under one name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from papers import variants
from papers.sets import PaperSet, read
from papers.tables.mrf2020_table1 import N_SPLITS, forest

Change = Callable[[PaperSet, Path], PaperSet]
Make = Callable[[PaperSet, int], Any]


def as_is(data: PaperSet, folder: Path) -> PaperSet:
    return data


def plain(data: PaperSet, folder: Path) -> PaperSet:
    """The file's own target and columns."""
    return read(folder, data.name)


def numbered(data: PaperSet, folder: Path) -> PaperSet:
    return variants.with_identifier(read(folder, data.name))


@dataclass(frozen=True)
class Trial:
    """One column of a section: what it fits, on which reading of the data."""

    printed: str
    make: Make
    change: Change = as_is


@dataclass(frozen=True)
class Section:
    """A question, the datasets it is about and the trials that may answer it."""

    title: str
    text: str
    sets: tuple[str, ...]
    trials: dict[str, Trial]


def table_1(method: str, change: Change = as_is) -> Trial:
    return Trial(method, partial(_as_in_table_1, method), change)


def _as_in_table_1(method: str, data: PaperSet, seed: int) -> Any:
    return forest(method, data, seed)


def denil14(**changes: Any) -> Trial:
    return Trial("Denil14", partial(_make_denil14, changes))


def _make_denil14(changes: dict[str, Any], data: PaperSet, seed: int) -> Any:
    """Denil14 with other settings, or other candidate features (``features=`` so many)."""
    from dpforest import Denil14Classifier
    from dpforest.consistent.candidates import RandomFeatures

    settings = {"enforce_leaf_size": True, **changes}
    features = settings.pop("features", None)
    structure = settings.pop("structure_points", None)
    if structure is not None:
        n_train = data.n_rows * (N_SPLITS - 1) // N_SPLITS
        points = min(structure, n_train // 2)
        settings["partition_rate"] = points / (n_train - points)

    class Variant(Denil14Classifier):
        def _rules(self) -> Any:
            rules = super()._rules()
            return replace(rules, candidates=RandomFeatures(features)) if features else rules

    return Variant(random_state=seed, categorical_features=list(data.categorical), **settings)


def breiman(**changes: Any) -> Trial:
    return Trial("Breiman", partial(_make_breiman, changes))


def _make_breiman(changes: dict[str, Any], data: PaperSet, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=seed, **changes)


def by_metric(method: str, metric: str) -> Trial:
    return Trial(method, partial(_make_by_metric, method, metric))


def _make_by_metric(method: str, metric: str, data: PaperSet, seed: int) -> Any:
    from papers import comprf

    kind = getattr(comprf, f"CompRF{method[-1]}Classifier")
    return kind(n_estimators=100, metric=metric, random_state=seed)


def with_stop(method: str, enforced: bool, **settings: Any) -> Trial:
    settings["enforce_leaf_size"] = enforced
    return Trial(method, partial(_make_with, method, settings))


def _make_with(method: str, settings: dict[str, Any], data: PaperSet, seed: int) -> Any:
    from dpforest import consistent

    categorical = list(data.categorical)
    kind = getattr(consistent, f"{method}Classifier")
    return kind(categorical_features=categorical, random_state=seed, **settings)


def change(function: Callable[[PaperSet], PaperSet]) -> Change:
    return lambda data, folder: function(data)
