"""Fits beside the public figures that ranges go by, and the tables of which ranges are found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from common.forecast_fits import SHUFFLED, Job, forest_of, tables_of
from common.records import positions_domain
from common.results import Line
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.estimators.claims import ClaimedGain
from dpforest.estimators.forecast_range import (
    PublicFigures,
    Range,
    planned_range,
    public_figures,
    range_after_fit,
)
from dpforest.estimators.planning import plan_of

#: What tables are for: ranges are found on those at hand, and held against those of packages.
FINDING, CONFIRMATION = "finding", "confirmation"
#: Of fits to few records, which release a constant alone. No range but theirs goes by them.
CONSTANT_EPSILON = 0.005


@dataclass(frozen=True)
class Row:
    """One fit: what it gained, and what was known of it before and after."""

    dataset: str
    task: str
    model: str
    epsilon: float
    seed: int
    gain: float
    strategy: str
    told: ClaimedGain | None
    use: str
    figures: PublicFigures

    @property
    def is_auto(self) -> bool:
        """Whether the library picked the strategy, for labels as they are."""
        return self.model.startswith("auto") and not self.is_shuffled

    @property
    def is_shuffled(self) -> bool:
        """Whether labels were dealt anew."""
        return self.model.endswith(SHUFFLED)

    @property
    def is_small(self) -> bool:
        """Whether the budget is one of those for constants."""
        return self.epsilon == CONSTANT_EPSILON

    @property
    def planned(self) -> Range:
        """Range before the fit, as the library promises it."""
        return planned_range(self.figures)

    @property
    def after(self) -> Range:
        """Range after it."""
        return range_after_fit(self.figures, self.strategy, self.told)

    def holds(self, promised: Range) -> bool:
        """Whether the gain, to two digits as ranges are, lies in a range."""
        return promised[0] <= round(self.gain, 2) <= promised[1]


@dataclass(frozen=True)
class Folders:
    """Where tables lie, by what they are for.

    Attributes
    ----------
    finding : Path
    confirmation : Path
    """

    finding: Path
    confirmation: Path

    def tasks(self, use: str) -> dict[str, str]:
        """Tasks of the tables for one of both uses, by name, short ones first."""
        return tables_of(getattr(self, use))

    @cached_property
    def uses(self) -> dict[str, str]:
        """What each table is for, by name.

        Raises
        ------
        SystemExit
            If a name is in both folders.
        """
        found, confirmed = self.tasks(FINDING), self.tasks(CONFIRMATION)
        if both := sorted(found.keys() & confirmed.keys()):
            raise SystemExit(f"names in {self.finding} and in {self.confirmation}: {both}")
        return dict.fromkeys(found, FINDING) | dict.fromkeys(confirmed, CONFIRMATION)

    def of(self, name: str) -> Path:
        """Where a table lies."""
        folder: Path = getattr(self, self.uses[name])
        return folder


def rows_of(lines: list[Line], folders: Folders) -> list[Row]:
    """Fits with their figures; no table is read for that, only what is declared of it."""
    kept = ("dataset", "task", "model", "epsilon", "seed", "gain", "strategy")
    return [
        Row(**{key: line[key] for key in kept}, told=line["told"] and ClaimedGain(*line["told"]),
            use=folders.uses[line["dataset"]],
            figures=figures_of(line, folders.of(line["dataset"])))
        for line in lines
    ]  # fmt: skip


def figures_of(line: Line, folder: Path) -> PublicFigures:
    """What was known before a fit."""
    key = (line["task"], line["model"], line["epsilon"])
    return _figures(line["dataset"], *key, line["rows"], folder)


@cache
def _figures(
    name: str, task: str, model: str, epsilon: float, rows: int, folder: Path
) -> PublicFigures:
    forest = forest_of(Job(name, task, model, epsilon, 0))
    encoder = forest._encoder(_domain(name, folder))
    plan = plan_of(forest._wanted(), encoder, float(rows), OWN_BUDGET)
    found = public_figures(plan)
    assert found is not None
    return found


@cache
def _domain(name: str, folder: Path) -> Any:
    path = folder / f"{name.partition('@')[0]}.json"
    return positions_domain(json.loads(path.read_text(encoding="utf-8")))
