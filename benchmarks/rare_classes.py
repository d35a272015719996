"""What learners do for a rare class, beside the same learner without it, on tables that have one.

The two classes of a table are thinned out until the rarer one has a given share of 9,000 records or
so, 30,000 for refitted forests. Of rules its records weigh more than others; steps of refitted
forests count on its curvature. One line a share and epsilon goes to standard output: means over
tables and splits.

    python benchmarks/rare_classes.py
    python benchmarks/rare_classes.py --shares 0.05 --splits 4
    python benchmarks/rare_classes.py --learner refitted --delta 1e-6
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
from common.models import rounded_rows
from common.scores import scores
from common.tables import Table, data_folder, load_table, stratified_split

from dpforest import PrivateForestClassifier
from dpforest.trees.base import Learner
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings
from dpforest.trees.rules import RulesLearner, RulesSettings
from dpforest.trees.strategies import Strategy

SETS = (
    "adult", "magic", "spambase", "electricity", "telco_churn", "brfss_diabetes", "hotel_bookings",
)  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """A learner as it is, and without what it does for a rare class.

    Attributes
    ----------
    usual, alike : Learner
    most : int
        Records of the class that is not rare.
    shares, epsilons : tuple of float
        Where it is compared by default.
    words : str
        What is done.
    """

    usual: Learner
    alike: Learner
    most: int
    shares: tuple[float, ...]
    epsilons: tuple[float, ...]
    words: str


COMPARED = {
    "rules": Compared(
        RulesLearner(),
        # No class is ever rare.
        RulesLearner(
            RulesSettings(rare_odds=1e9, rare_odds_of_much=1e9, rare_odds_of_cell=1e9)
        ),
        9000, (0.04, 0.08, 0.13, 0.2, 0.28), (0.1, 0.3, 1.0), "records of a rare class weigh more",
    ),
    "refitted": Compared(
        RefittedForest(),
        RefittedForest(RefittedSettings(rare_share=0.0), PureRefittedSettings(rare_share=0.0)),
        30_000, (0.0025, 0.005, 0.01, 0.02), (0.5, 1.0, 2.0, 5.0), "steps by its own curvature",
    ),
}  # fmt: skip


def thinned(table: Table, share: float, most: int) -> Table:
    """The table with records of both classes drawn, once, so that the rarer one has a share."""
    generator = np.random.default_rng(0)
    classes, sizes = np.unique(table.y, return_counts=True)
    rare = np.flatnonzero(table.y == classes[sizes.argmin()])
    often = np.flatnonzero(table.y != classes[sizes.argmin()])
    often = generator.choice(often, min(often.size, most), replace=False)
    n_rare = min(int(often.size * share / (1 - share)), rare.size)
    kept = np.sort(np.concatenate([often, generator.choice(rare, n_rare, replace=False)]))
    return replace(table, X=table.X[kept], y=table.y[kept])


def measured(
    table: Table, epsilon: float, delta: float, seed: int, learner: Learner
) -> list[float]:
    """Accuracy, AUC and log loss of one fit."""
    split = stratified_split(table, seed)
    rows = rounded_rows(split.train.size)
    domain = table.domain.model_copy(update={"approximate_rows": rows})
    forest = PrivateForestClassifier(
        epsilon=epsilon, delta=delta, strategy=learner.name, domain=domain
    )
    with mock.patch.object(Strategy, "make", return_value=learner):
        forest.fit(table.X[split.train], table.y[split.train])
    probabilities = forest.predict_proba(table.X[split.test])
    found = scores(table.y[split.test], probabilities.argmax(axis=1), probabilities)
    return [found["accuracy"], found["auc"], found["log_loss"]]


def main() -> None:
    """Fit what the arguments ask for, and print the means."""
    chosen = _arguments()
    compared = COMPARED[chosen.learner]
    names = [name for name in chosen.sets if (chosen.data / f"{name}.json").exists()]
    print(f"| share | epsilon | fits | all alike | {compared.words} |\n|---|---|---|---|---|")
    for share in chosen.shares or compared.shares:
        tables = [thinned(load_table(chosen.data, name), share, compared.most) for name in names]
        for epsilon in chosen.epsilons or compared.epsilons:
            fits = [
                [
                    measured(table, epsilon, chosen.delta, seed, learner)
                    for learner in (compared.alike, compared.usual)
                ]
                for table in tables
                for seed in range(chosen.splits)
            ]
            cells = [f"{100 * a:.1f} / {b:.3f} / {c:.4f}" for a, b, c in np.mean(fits, axis=0)]
            print(f"| {share} | {epsilon:g} | {len(fits)} | {cells[0]} | {cells[1]} |", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--learner", choices=COMPARED, default="rules")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--shares", nargs="+", type=float)
    parser.add_argument("--epsilons", nargs="+", type=float)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--splits", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
