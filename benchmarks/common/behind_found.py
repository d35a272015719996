"""Cells in which auto stands against another model, and in which of them it is behind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from common.behind_cells import DELTAS, Rivals, known_models
from common.paired import holm, p_below_zero
from common.results import Line

#: How far a mean difference may be below 0; accuracy and AUC from 0 to 1.
MARGINS = {"accuracy": 0.003, "auc": 0.003, "r2": 0.02}
METRICS = {"classification": ("accuracy", "auc"), "regression": ("r2",)}
LEVEL = 0.05
#: R² below this counts as this: one lost fit must not hide all others.
FLOOR = -1.0
#: In neither half of the tables when the rules of auto were looked for.
IN_NO_HALF = "internet_ads_subset"


@dataclass(frozen=True)
class Cell:
    """Auto against one model on one table, at one epsilon, in one currency, by one metric.

    Parameters
    ----------
    dataset, task, currency, metric : str
    epsilon : float
    auto, rival : str
        The model that auto is, and the one that it stands against.
    differences : tuple of float
        Auto's score less the other's, split by split.
    is_pure_auto : bool
        Whether the other is what auto is without a delta.
    p, corrected : float
        p-value of the mean being below 0, alone and by Holm over all cells compared.
    """

    dataset: str
    task: str
    epsilon: float
    currency: str
    auto: str
    rival: str
    metric: str
    differences: tuple[float, ...]
    is_pure_auto: bool = False
    p: float = 1.0
    corrected: float = 1.0

    @property
    def mean(self) -> float:
        """Below 0 where auto is worse."""
        return float(np.mean(self.differences))

    @property
    def is_below(self) -> bool:
        """Whether the mean alone is too low, which chance may do."""
        return self.mean < -MARGINS[self.metric]

    @property
    def is_behind(self) -> bool:
        """Whether it is too low, and not by chance."""
        return self.is_below and self.corrected < LEVEL


class Scores:
    """Result lines by table, model, epsilon and split; of all tables or of those that are whole."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.fits: dict[tuple[str, str, float], dict[int, Line]] = {}
        self.tasks: dict[str, str] = {}
        for line in lines:
            if "error" not in line:
                key = line["dataset"], line["model"], line["epsilon"]
                self.fits.setdefault(key, {})[line["seed"]] = line
                self.tasks[line["dataset"]] = line["task"]

    def rivals(self, dataset: str, epsilon: float) -> Rivals | None:
        """What auto is there and what it stands against; None where the former is not known."""
        own = {
            currency: self.fits[key][0]["is"]
            for currency in DELTAS
            if (key := (dataset, f"auto, {currency}", epsilon)) in self.fits
        }
        known = tuple(known_models(self.tasks[dataset]))
        return Rivals(own, known) if len(own) == len(DELTAS) else None

    def is_whole(self, dataset: str, epsilons: Collection[float], seeds: int) -> bool:
        """Whether a table has every split of every model at every epsilon."""
        for epsilon in epsilons:
            rivals = self.rivals(dataset, epsilon)
            if rivals is None:
                return False
            for model in {*rivals.known, *rivals.auto.values()}:
                if not set(range(seeds)) <= self.fits.get((dataset, model, epsilon), {}).keys():
                    return False
        return True

    def differences(
        self, dataset: str, epsilon: float, pair: tuple[str, str], metric: str, seeds: int
    ) -> tuple[float, ...]:
        """The first model's score less the second's on every split.

        Raises
        ------
        ValueError
            If the two were not tested on the same records.
        """
        first, second = (self.fits[dataset, model, epsilon] for model in pair)
        for seed in range(seeds):
            if first[seed]["split"] != second[seed]["split"]:
                raise ValueError(f"{dataset}, split {seed}: {pair} were tested on other records")
        return tuple(
            _score(first[seed], metric) - _score(second[seed], metric) for seed in range(seeds)
        )


def _score(line: Line, metric: str) -> float:
    return max(line[metric], FLOOR) if metric == "r2" else float(line[metric])


def compared(
    scores: Scores, datasets: Iterable[str], epsilons: Collection[float], seeds: int
) -> list[Cell]:
    """All cells of whole tables, their p-values corrected over all of them."""
    cells = [cell for name in datasets for cell in _of_table(scores, name, epsilons, seeds)]
    alone = [p_below_zero(cell.differences) for cell in cells]
    both = zip(cells, alone, holm(alone), strict=True)
    return [replace(cell, p=p, corrected=float(corrected)) for cell, p, corrected in both]


def _of_table(
    scores: Scores, dataset: str, epsilons: Collection[float], seeds: int
) -> Iterator[Cell]:
    task = scores.tasks[dataset]
    for epsilon in epsilons:
        rivals = scores.rivals(dataset, epsilon)
        assert rivals is not None
        for currency, auto, rival in rivals.pairs():
            is_pure_auto = currency != "pure" and rival == rivals.auto["pure"]
            for metric in METRICS[task]:
                apart = scores.differences(dataset, epsilon, (auto, rival), metric, seeds)
                yield Cell(
                    dataset, task, epsilon, currency, auto, rival, metric, apart, is_pure_auto
                )


def development(names: Iterable[str]) -> set[str]:
    """Every second table in the order of names, from the first; the others confirm."""
    return set(sorted(set(names) - {IN_NO_HALF})[::2])
