"""Fits and predictions of the consistent forests beside scikit-learn's, in one run, on one thread.

Two tables, both as numbers: connect-4 (67,557 × 42 categorical columns as codes; skipped where its
file is absent) and 20,000 × 16 continuous values. ``min_samples_leaf=5`` for scikit-learn, k = 5
for the others. Times are seconds of processor time of the fitting thread, encoding included, the
least of interleaved repeats, after compilation. What to quote are the ratios. Since trees differ in
size, the last column divides a fit by the records of all nodes that were split: what is left after
that is the cost of small nodes.

Run with ``python benchmarks/consistent_speed.py [--trees 100] [--repeats 3] [--data FOLDER]``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np
from common.tables import data_folder
from common.timing import least_seconds

_PREDICTED = 20_000
#: What MRF with all features scored at every node may take, in units of scikit-learn's time.
TARGETS = {"connect-4": 0.35, "continuous": 1.0}


def connect_4(folder: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """Codes of the columns and of the class, or None without the file."""
    path = folder / "connect_4.csv.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt") as file:
        columns = np.array(list(csv.reader(file))[1:]).T
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in columns])
    return codes[:, :-1].astype(float), codes[:, -1]


def continuous() -> tuple[np.ndarray, np.ndarray]:
    """Normal features, nearly all values distinct; two noisy classes."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 16))
    noise = generator.normal(size=20_000)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + noise > 0).astype(int)


def models(n_trees: int, categorical: Any) -> dict[str, Any]:
    """Unfitted forests by name, scikit-learn's first."""
    from sklearn.ensemble import RandomForestClassifier

    import dpforest

    forests: dict[str, Any] = {
        "scikit-learn": RandomForestClassifier(n_trees, min_samples_leaf=5, random_state=0)
    }
    for name in ("MRF", "MRF2019", "DMRF", "BRF", "Denil14"):
        forest = getattr(dpforest, f"{name}Classifier")
        forests[name] = forest(n_trees, categorical_features=categorical, random_state=0)
    forests["DMRF, leaves of 5"] = dpforest.DMRFClassifier(
        n_trees, enforce_leaf_size=True, categorical_features=categorical, random_state=0
    )
    return forests


def sizes(forest: Any) -> tuple[float, float]:
    """Nodes of a tree, and the records in all its nodes that are split, on average."""
    stack = getattr(forest, "forest_", None)
    if stack is not None:
        records = stack.n_estimation[stack.feature >= 0].sum() / stack.n_trees
        return np.diff(stack.roots).mean(), records
    trees = [tree.tree_ for tree in forest.estimators_]
    records = np.mean([t.n_node_samples[t.children_left >= 0].sum() for t in trees])
    return np.mean([t.node_count for t in trees]), records


def compare(title: str, X: np.ndarray, y: np.ndarray, arguments: argparse.Namespace) -> None:
    """Print the times of one table."""
    categorical = np.full(X.shape[1], title == "connect-4")
    for forest in models(1, categorical).values():
        forest.fit(X[:3000], y[:3000])  # compiles, or loads what was compiled before
        forest.fit(X, y)
    forests = models(arguments.trees, categorical)
    fits = {name: lambda forest=forest: forest.fit(X, y) for name, forest in forests.items()}
    seconds = least_seconds(fits, arguments.repeats, time.thread_time)
    print(f"\n{title}: {X.shape[0]} x {X.shape[1]}, {arguments.trees} trees")
    predictions = {
        name: lambda forest=forest: forest.predict(X[:_PREDICTED])
        for name, forest in forests.items()
    }
    predicting = least_seconds(predictions, arguments.repeats, time.thread_time)
    print(
        f"{'forest':18s} {'seconds':>8s} {'/ scikit-learn':>15s} {'/ MRF':>7s} {'nodes':>7s}"
        f" {'ns a record':>12s} {'predict s':>10s} {'/ scikit-learn':>15s}"
    )
    for name, value in seconds.items():
        nodes, records = sizes(forests[name])
        print(
            f"{name:18s} {value:8.2f} {value / seconds['scikit-learn']:15.2f}"
            f" {value / seconds['MRF']:7.2f} {nodes:7.0f}"
            f" {1e9 * value / (records * arguments.trees):12.1f} {predicting[name]:10.3f}"
            f" {predicting[name] / predicting['scikit-learn']:15.2f}"
        )
    ratio = seconds["MRF"] / seconds["scikit-learn"]
    print(f"MRF / scikit-learn {ratio:.2f}, target {TARGETS[title]}: {ratio <= TARGETS[title]}")


def main() -> None:
    """Read the command line and compare on both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, default=data_folder())
    arguments = parser.parse_args()
    table = connect_4(arguments.data)
    if table is None:
        print(f"connect-4: skipped, no connect_4.csv.gz in {arguments.data}")
    else:
        compare("connect-4", *table, arguments)
    compare("continuous", *continuous(), arguments)


if __name__ == "__main__":
    main()
