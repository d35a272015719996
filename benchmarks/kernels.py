"""Speed of the tree kernels, and of a whole forest of them beside scikit-learn's.

One process, one thread, a synthetic table with the size and code counts of the Adult data.
Nothing here is private: the loop takes the best candidate where the library would draw one.

Run with ``python benchmarks/kernels.py [--rows 36631] [--trees 100] [--depth 8]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from common.timing import least_seconds
from sklearn.ensemble import RandomForestClassifier

from dpforest.records.kernels import histogram
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.kernels import leaves, predict, routing, scoring, stages

N_CODES = np.array([74, 9, 256, 17, 16, 8, 15, 7, 6, 3, 256, 256, 99, 42], dtype=np.int64)
ORDERED = np.isin(np.arange(14), [0, 2, 4, 10, 11, 12])
OFFSETS = np.concatenate([[0], np.cumsum(N_CODES)]).astype(np.int64)
TOTAL = int(OFFSETS[-1])
N_CLASSES = 2


def synthetic_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Skewed codes, two of them nearly constant like capital gain, and a learnable label."""
    generator = np.random.default_rng(1)
    quantiles = generator.random((n_rows, N_CODES.size))
    codes = np.floor(N_CODES * quantiles**1.5).astype(np.uint8)
    codes[generator.random(n_rows) < 0.92, 10] = 0
    codes[generator.random(n_rows) < 0.95, 11] = 0
    signal = 3 * quantiles[:, 0] + 2 * quantiles[:, 4] + (codes[:, 5] == 2) + (codes[:, 10] > 0)
    labels = signal + generator.normal(size=n_rows) > 4
    return codes, labels.astype(np.uint8)


def best_time(call: Callable[[], Any], repeats: int) -> float:
    """Shortest of several runs in seconds, after one to warm up."""
    call()
    return least_seconds({"call": call}, repeats)["call"]


class Workspace:
    """Buffers of one tree after another, with the code counts of this table."""

    def __init__(self, codes: np.ndarray, labels: np.ndarray, depth: int) -> None:
        self.codes, self.labels, self.depth = codes, labels, depth
        n_rows, n_features = codes.shape
        nodes = 2**depth
        self.hists = [np.empty((nodes, TOTAL, N_CLASSES), np.int32) for _ in range(2)]
        self.orders = [np.empty(n_rows, np.int32) for _ in range(2)]
        self.starts = [np.empty(nodes + 1, np.int64) for _ in range(2)]
        self.boxes = [
            (
                np.empty((nodes, n_features), np.int32),
                np.empty((nodes, n_features), np.int32),
                np.empty((nodes, TOTAL), np.bool_),
            )
            for _ in range(2)
        ]
        self.scores = np.empty(nodes * int(N_CODES.max()))
        self.feature_scores = np.empty((nodes, n_features))
        self.heap = np.empty((3, nodes - 1), np.int32)
        self.leaf_counts = np.empty((nodes, N_CLASSES), np.int64)
        self.root = np.empty((1, TOTAL, N_CLASSES), np.int32)
        self.start()
        histogram.level_histogram(
            codes, labels, self.orders[0], self.starts[0][:2], OFFSETS, N_CLASSES, self.root
        )

    def start(self) -> None:
        """All records in the root."""
        self.orders[0][:] = np.arange(self.orders[0].size, dtype=np.int32)
        self.starts[0][:2] = 0, self.orders[0].size
        low, high, alive = self.boxes[0]
        routing.initial_boxes(N_CODES, low[:1], high[:1], alive[:1])

    def grow(self, criterion: str) -> np.ndarray:
        """One tree by largest score, in the two stages of the library; its leaf counts."""
        self.start()
        self.hists[0][:1] = self.root
        for level in range(self.depth):
            self._grow_level(level, CRITERIA[criterion])
        side = self.depth % 2
        leaves.leaf_counts(
            self.labels, self.orders[side], self.starts[side], N_CLASSES, self.leaf_counts
        )
        return self.leaf_counts

    def counted(self, level: int) -> tuple[Any, ...]:
        """Counts and boxes of a level, as the scoring kernels take them."""
        side, n_nodes = level % 2, 2**level
        boxes = [array[:n_nodes] for array in self.boxes[side]]
        return self.hists[side][:n_nodes], OFFSETS, ORDERED, *boxes

    def score(self, level: int, criterion: Any) -> None:
        """Best score of every feature of the level's nodes."""
        best = self.feature_scores[: 2**level]
        stages.best_scores(*self.counted(level), criterion.code, criterion.normalised, best)

    def route(self, level: int) -> None:
        """Records of the level to their children."""
        side, n_nodes = level % 2, 2**level
        split = self.heap[:, n_nodes - 1 : 2 * n_nodes - 1]
        starts, new_starts = self.starts[side], self.starts[1 - side]
        routing.apply_splits(
            self.codes,
            self.orders[side],
            starts[: n_nodes + 1],
            *split,
            self.orders[1 - side],
            new_starts[: 2 * n_nodes + 1],
        )

    def count(self, level: int) -> None:
        """Histograms of the children of a level."""
        side, n_nodes = level % 2, 2**level
        histogram.child_histograms(
            self.codes,
            self.labels,
            self.orders[1 - side],
            self.starts[1 - side][: 2 * n_nodes + 1],
            OFFSETS,
            N_CLASSES,
            self.hists[side][:n_nodes],
            self.hists[1 - side][: 2 * n_nodes],
        )

    def _grow_level(self, level: int, criterion: Any) -> None:
        side, n_nodes = level % 2, 2**level
        self.score(level, criterion)
        features = self.feature_scores[:n_nodes].argmax(axis=1)
        sizes = N_CODES[features]
        starts = np.cumsum(sizes) - sizes
        stages.chosen_scores(
            *self.counted(level), criterion.code, criterion.normalised, features, starts,
            self.scores,
        )  # fmt: skip
        rows = zip(starts, starts + sizes, strict=True)
        choices = np.array([self.scores[start:end].argmax() for start, end in rows])
        split = self.heap[:, n_nodes - 1 : 2 * n_nodes - 1]
        scoring.chosen_splits(ORDERED, features, choices, *split)
        self.route(level)
        if level + 1 < self.depth:
            boxes = [array[:n_nodes] for array in self.boxes[side]]
            new_boxes = [array[: 2 * n_nodes] for array in self.boxes[1 - side]]
            routing.update_boxes(*boxes, OFFSETS, ORDERED, *split, *new_boxes)
            self.count(level)


def report_kernels(workspace: Workspace, criterion: str, repeats: int) -> None:
    """Rates of the single kernels on a middle level of a grown tree."""
    codes, depth = workspace.codes, workspace.depth
    n_rows, n_features = codes.shape
    workspace.grow(criterion)
    side, n_nodes = (depth - 1) % 2, 2 ** (depth - 1)
    order, starts = workspace.orders[side], workspace.starts[side][: n_nodes + 1]
    hist = np.empty_like(workspace.hists[0][:n_nodes])
    arguments = (codes, workspace.labels, order, starts, OFFSETS, N_CLASSES, hist)
    seconds = best_time(lambda: histogram.level_histogram(*arguments), repeats)
    print(f"histogram        {n_rows * n_features / seconds / 1e9:8.2f} G updates/s")
    for name, entry in CRITERIA.items():
        seconds = best_time(lambda: workspace.score(depth - 1, entry), repeats)  # noqa: B023
        print(f"{name:16s} {n_nodes * TOTAL / seconds / 1e6:8.0f} M cells scored/s")
    seconds = best_time(lambda: workspace.route(depth - 1), repeats)
    print(f"routing          {n_rows / seconds / 1e6:8.0f} M records/s")


def report_forest(workspace: Workspace, criterion: str, n_trees: int) -> None:
    """Growing and predicting a forest, beside scikit-learn's on the same codes."""
    codes, labels, depth = workspace.codes, workspace.labels, workspace.depth
    table = codes.astype(np.float32)
    forest = RandomForestClassifier(n_trees, max_depth=depth, n_jobs=1, random_state=0)
    theirs = best_time(lambda: forest.fit(table, labels), 1)

    def grow_all() -> None:
        for _ in range(n_trees):
            workspace.grow(criterion)

    ours = best_time(grow_all, 2)
    print(f"fit     {ours:6.3f} s, scikit-learn {theirs:6.3f} s, ratio {ours / theirs:.3f}")
    heaps = np.repeat(workspace.heap[:, None], n_trees, axis=1)
    values = np.repeat(workspace.leaf_counts[None].astype(float), n_trees, axis=0)
    out = np.empty((codes.shape[0], N_CLASSES))
    theirs = best_time(lambda: forest.predict_proba(table), 2)
    ours = best_time(lambda: predict.sum_leaf_values(codes, *heaps, depth, values, out), 3)
    print(f"predict {ours:6.3f} s, scikit-learn {theirs:6.3f} s, ratio {ours / theirs:.3f}")


def main() -> None:
    """Read the command line and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=36631)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--criterion", choices=list(CRITERIA), default="gini_count")
    arguments = parser.parse_args()
    workspace = Workspace(*synthetic_table(arguments.rows), arguments.depth)
    report_kernels(workspace, arguments.criterion, 20)
    report_forest(workspace, arguments.criterion, arguments.trees)


if __name__ == "__main__":
    main()
