"""Regressions on large tables: features as targets, `auto` beside the learners that it picks from.

The large tables at hand are of classes, so an ordered feature is the target and the other features
tell of it; the table's own classes are left out. R² is against the mean of the training targets.
One JSON line a fit is appended to ``--results``; what is there is skipped. Then
docs/large_targets_results.md is written from all lines.

    python benchmarks/large_targets.py
    python benchmarks/large_targets.py --report-only

The number of records is declared in its first digit, and noise comes from the operating system.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common.large_targets_report import CURRENCIES, EPSILONS, LEARNERS, PEER, write_page
from common.models import rounded_rows
from common.pages import DOCS
from common.records import Split
from common.regression_tables import RegressionTable, random_split
from common.results import Line, Store, fit_and_report, key_of
from common.sources import Sources, by_beginning
from common.tables import REPOSITORY, data_folder, load_table
from tqdm import tqdm

from dpforest import Domain, PrivateForestRegressor

#: Targets of each table: features of many values, none of them a copy of another feature.
TARGETS = {
    "hotel_bookings": ("adr", "lead_time"),
    "nycflights13": ("temp", "distance", "pressure"),
    "brfss_diabetes": ("BMI", "GenHlth", "Age"),
    "electricity": ("nswdemand", "transfer", "nswprice"),
    "adult": ("age", "hours-per-week"),
    "covertype": ("Elevation", "Horizontal_Distance_To_Roadways"),
}
PAGE = DOCS / "large_targets_results.md"
MADE_BY = {
    PEER: Sources(("large_targets:peer", "large_targets:made_of"), packages=("scikit-learn",)),
    "": Sources(("large_targets:private_forest", "large_targets:made_of")),
}


def made_of(folder: Path, name: str, target: str) -> RegressionTable:
    """A table whose target is one of its features; records without it are left out."""
    table = load_table(folder, name)
    features = table.domain.features
    place = [feature.name for feature in features].index(target)
    low, high = features[place].lower, features[place].upper
    y = table.X[:, place].astype(np.float64)
    kept, others = (y >= low) & (y <= high), np.delete(np.arange(len(features)), place)
    domain = Domain(
        features=tuple(features[f] for f in others), target={"lower": low, "upper": high}
    )
    return RegressionTable(f"{name}.{target}", table.X[kept][:, others], y[kept], domain)


def private_forest(
    table: RegressionTable, split: Split, model: str, epsilon: float
) -> tuple[np.ndarray, str]:
    """Predictions by one of ours, and the learner that it was."""
    strategy, _, currency = model.partition(", ")
    domain = table.domain.model_copy(update={"approximate_rows": rounded_rows(split.train.size)})
    forest = PrivateForestRegressor(
        epsilon=epsilon, delta=CURRENCIES[currency], strategy=strategy, domain=domain
    )
    picked = forest.plan().strategy
    forest.fit(table.X[split.train], table.y[split.train])
    return forest.predict(table.X[split.test]), picked


def peer(table: RegressionTable, split: Split) -> np.ndarray:
    """Predictions by scikit-learn's histogram boosting at its defaults; not private."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    X = table.ordinal.X
    model = HistGradientBoostingRegressor(random_state=0).fit(X[split.train], table.y[split.train])
    return model.predict(X[split.test])


def measured(table: RegressionTable, model: str, epsilon: float | None, seed: int) -> Line:
    """One result line."""
    split, picked = random_split(table, seed), ""
    line: Line = {"dataset": table.name, "model": model, "epsilon": epsilon, "seed": seed}
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if epsilon is None:
            found = peer(table, split)
        else:
            found, picked = private_forest(table, split, model, epsilon)
    taken = round(time.process_time() - started, 2)
    spread = np.mean((table.y[split.test] - table.y[split.train].mean()) ** 2)
    r2 = float(1 - np.mean((table.y[split.test] - found) ** 2) / spread)
    return line | {"rows": split.train.size, "r2": r2, "picked": picked, "seconds": taken}


def jobs(seeds: int) -> Iterator[tuple[str, str, str, float | None, int]]:
    """All fits, table by table."""
    for name, targets in TARGETS.items():
        for target in targets:
            for seed in range(seeds):
                yield name, target, PEER, None, seed
                for currency in CURRENCIES:
                    for learner in LEARNERS:
                        for epsilon in EPSILONS:
                            yield name, target, f"{learner}, {currency}", epsilon, seed


def stored(path: Path) -> Store:
    """Lines with what they depend on."""
    return Store(path, lambda line: by_beginning(MADE_BY, line["model"]))


def fit_missing(asked: argparse.Namespace, out: Store) -> None:
    """Append the lines that are not there yet."""
    done = {key_of(line) for line in out.lines()}
    table = None
    for name, target, model, epsilon, seed in tqdm(list(jobs(asked.seeds)), unit="fit"):
        if (f"{name}.{target}", model, epsilon, seed) in done:
            continue
        if table is None or table.name != f"{name}.{target}":
            table = made_of(asked.data, name, target)
        out.append(measured(table, model, epsilon, seed))


def report(asked: argparse.Namespace, lines: list[Line]) -> None:
    """Write the page."""
    wanted = {
        (f"{name}.{target}", model, epsilon, seed)
        for name, target, model, epsilon, seed in jobs(asked.seeds)
    }
    print(write_page(asked.page, lines, wanted - {key_of(line) for line in lines}))


def main() -> None:
    """Fit what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--results", type=Path, default=REPOSITORY / "benchmarks/results/large_targets.jsonl"
    )
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--report-only", action="store_true")
    asked = parser.parse_args()
    if not asked.data.is_dir():
        raise SystemExit(f"no tables in {asked.data}: name their folder by --data or DPFOREST_DATA")
    fit_and_report(asked, stored(asked.results), fit_missing, report)


if __name__ == "__main__":
    main()
