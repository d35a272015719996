"""One learner less another by the public signal, which the limits of auto's rule are in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from common.behind_cells import DELTAS, model_name
from common.behind_found import Scores
from common.models import rounded_rows
from dpforest.accounting.releases import LearnerBudget

#: Learners, the first less the second, and the currency that their signal is in.
PAIRS = (
    ("refitted", "rules", "delta=1e-6"),
    ("boosted", "refitted", "delta=1e-6"),
    ("refitted", "rules", "pure"),
    ("boosted", "rules", "pure"),
)
#: Limits of R sqrt(2 / K); of each pair those between which it has cells.
LIMITS = (
    0, 10, 30, 60, 90, 150, 300, 700, 1500, 4000, 8000, 16_000, 30_000, 100_000, 10_000_000_000,
)  # fmt: skip
#: Cells below which a mean says nothing.
LEAST_CELLS = 4
_METRICS = (("accuracy", 100.0, 1), ("auc", 1000.0, 0), ("log_loss", 1000.0, 0))


@lru_cache(maxsize=4096)
def signal_of(n_train: int, n_classes: int, epsilon: float, currency: str) -> float:
    """R sqrt(2 / K) of a fit whose training records' number is declared."""
    budget = LearnerBudget(Fraction(repr(epsilon)), Fraction(repr(DELTAS[currency])))
    return float(budget.signal(rounded_rows(n_train)) * (2 / n_classes) ** 0.5)


def by_signal(
    scores: Scores,
    whole: Collection[str],
    epsilons: Collection[float],
    seeds: int,
    pair: tuple[str, str, str],
) -> Iterator[list[str]]:
    """Rows of one pair: classes, limits, cells, and the mean differences of three metrics.

    Parameters
    ----------
    scores : Scores
    whole : collection of str
        Names of the tables.
    epsilons : collection of float
    seeds : int
        Splits of each table.
    pair : tuple of str
        One of `PAIRS`.
    """
    first, second, currency = pair
    models = model_name(first, currency), model_name(second, currency)
    cells: dict[tuple[bool, int], list[list[float]]] = defaultdict(list)
    for name in whole:
        for epsilon in epsilons if scores.tasks[name] == "classification" else ():
            line = scores.fits[name, models[0], epsilon][0]
            signal = signal_of(line["n_train"], line["n_classes"], epsilon, currency)
            place = int(np.searchsorted(LIMITS, signal, side="right"))
            differences = [
                float(np.mean(scores.differences(name, epsilon, models, metric, seeds)))
                for metric, _, _ in _METRICS
            ]
            cells[line["n_classes"] > 2, place].append(differences)
    for several in (False, True):
        for place, (low, high) in enumerate(pairwise(LIMITS), start=1):
            found = cells[several, place]
            if len(found) >= LEAST_CELLS:
                classes = "more" if several else "two"
                between = f"{low:,} to {high:,}" if high < LIMITS[-1] else f"from {low:,}"
                yield [classes, between, f"{len(found)}", *_amounts(found)]


def _amounts(cells: list[list[float]]) -> list[str]:
    means = np.mean(cells, axis=0)
    return [
        f"{times * mean:+.{digits}f}".replace("-", "−")
        for mean, (_, times, digits) in zip(means, _METRICS, strict=True)
    ]
