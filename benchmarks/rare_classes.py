"""Selected rules on tables with a rare class: its records weigh more, or as others do.

The two classes of a table are thinned out until the rarer one has a given share of 9,000 records or
so. One line a share and epsilon goes to standard output: means over tables and splits.

    python benchmarks/rare_classes.py
    python benchmarks/rare_classes.py --shares 0.05 --splits 4
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
from common.models import rounded_rows
from common.scores import scores
from common.tables import Table, data_folder, load_table, stratified_split

from dpforest import PrivateForestClassifier
from dpforest.trees.rules import RulesLearner, RulesSettings
from dpforest.trees.strategies import Strategy

SETS = (
    "adult", "magic", "spambase", "electricity", "telco_churn", "brfss_diabetes", "hotel_bookings",
)  # fmt: skip
_MOST = 9000
#: No class is ever rare.
ALIKE = RulesSettings(rare_odds=1e9, rare_odds_of_much=1e9, rare_odds_of_cell=1e9)


def thinned(table: Table, share: float) -> Table:
    """The table with records of both classes drawn, once, so that the rarer one has a share."""
    generator = np.random.default_rng(0)
    classes, sizes = np.unique(table.y, return_counts=True)
    rare = np.flatnonzero(table.y == classes[sizes.argmin()])
    often = np.flatnonzero(table.y != classes[sizes.argmin()])
    often = generator.choice(often, min(often.size, _MOST), replace=False)
    n_rare = min(int(often.size * share / (1 - share)), rare.size)
    kept = np.sort(np.concatenate([often, generator.choice(rare, n_rare, replace=False)]))
    return replace(table, X=table.X[kept], y=table.y[kept])


def measured(table: Table, epsilon: float, seed: int, alike: bool) -> list[float]:
    """Accuracy, AUC and log loss of one fit of rules."""
    split = stratified_split(table, seed)
    rows = rounded_rows(split.train.size)
    domain = table.domain.model_copy(update={"approximate_rows": rows})
    learner = RulesLearner(ALIKE if alike else RulesSettings())
    forest = PrivateForestClassifier(epsilon=epsilon, strategy="rules", domain=domain)
    with mock.patch.object(Strategy, "make", return_value=learner):
        forest.fit(table.X[split.train], table.y[split.train])
    probabilities = forest.predict_proba(table.X[split.test])
    found = scores(table.y[split.test], probabilities.argmax(axis=1), probabilities)
    return [found["accuracy"], found["auc"], found["log_loss"]]


def main() -> None:
    """Fit what the arguments ask for, and print the means."""
    chosen = _arguments()
    names = [name for name in chosen.sets if (chosen.data / f"{name}.json").exists()]
    print("| share | epsilon | fits | all alike | rare records weigh more |\n|---|---|---|---|---|")
    for share in chosen.shares:
        tables = [thinned(load_table(chosen.data, name), share) for name in names]
        for epsilon in chosen.epsilons:
            fits = [
                [measured(table, epsilon, seed, alike) for alike in (True, False)]
                for table in tables
                for seed in range(chosen.splits)
            ]
            cells = [f"{100 * a:.1f} / {b:.3f} / {c:.3f}" for a, b, c in np.mean(fits, axis=0)]
            print(f"| {share} | {epsilon:g} | {len(fits)} | {cells[0]} | {cells[1]} |", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--shares", nargs="+", type=float, default=(0.04, 0.08, 0.13, 0.2, 0.28))
    parser.add_argument("--epsilons", nargs="+", type=float, default=(0.1, 0.3, 1.0))
    parser.add_argument("--splits", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
