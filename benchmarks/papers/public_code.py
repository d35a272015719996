"""MRF 2020 as in its authors' public code: labels are majorities, but on one of five paths.

The code (github.com/jiawangbai/Multinomial-Random-Forest) makes a leaf of a node whose structure
points are of one class, or have no feature with two values; of a child with at most k estimation
points, on either side; and of a node whose split would leave a side without estimation points. The
last alone hands B3 on, and draws a label by ``softmax(B3/2 · count)`` over the classes that are
there. All others answer by majority.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.engine import Task
from papers.sets import read
from papers.splits import folds

N_SPLITS = 10
_DEPTH = 10


def evaluate(task: Task, folder: Path) -> dict[str, Any]:
    """Accuracy on one fold, how many leaves there are, and how many drew their label."""
    import dpforest

    data = read(folder, task.dataset)
    train, test = folds(data.y, task.repeat, N_SPLITS)[task.fold]
    _, trees, text = task.method.split("; ")
    budget = float(text)
    level = budget / (2 * _DEPTH)
    model = dpforest.MRFClassifier(
        int(trees), B1=level, B2=level, categorical_features=list(data.categorical),
        random_state=task.seed,
    ).fit(data.X[train], data.y[train])  # fmt: skip
    drawn = draw_labels(model, data.X[train], data.y[train], budget)
    return {
        "accuracy": float(np.mean(model.predict(data.X[test]) == data.y[test])),
        "drawn": drawn,
        "leaves": int(np.sum(model.forest_.feature < 0)),
        "epsilon": None,
    }


def draw_labels(model: Any, X: NDArray[np.float64], y: NDArray[Any], B3: float) -> int:
    """Give leaves where a split was given up a drawn label; returns how many there are.

    Parameters
    ----------
    model : MRFClassifier
        Fitted to ``X`` and ``y`` with majority labels and an int as ``random_state``.
    X : ndarray of shape (n, D)
    y : ndarray of shape (n,)
    B3 : float
    """
    labels = np.searchsorted(model.classes_, y)
    forest, places = model.forest_, model.apply(X)
    generator = np.random.default_rng([model.random_state, 3])
    n_drawn = 0
    for tree, (structure, estimation) in enumerate(_sides(model, X.shape[0])):
        first, last = forest.roots[tree : tree + 2]
        many = np.flatnonzero(
            (forest.feature[first:last] < 0) & (forest.n_estimation[first:last] > model.leaf_size)
        )
        chosen, answers = (by_leaf(own, places[own, tree]) for own in (structure, estimation))
        for leaf in many:
            own = chosen[leaf]
            if np.ptp(labels[own]) == 0 or not np.ptp(X[own], axis=0).any():
                continue
            present, counts = np.unique(labels[answers[leaf]], return_counts=True)
            weights = np.exp(B3 / 2 * (counts - counts.max()))
            forest.value[first + leaf] = generator.choice(present, p=weights / weights.sum())
            n_drawn += 1
    return n_drawn


def by_leaf(points: NDArray[np.int32], leaves: NDArray[Any]) -> dict[int, NDArray[np.int32]]:
    """The points of each leaf."""
    order = np.argsort(leaves, kind="stable")
    found, firsts = np.unique(leaves[order], return_index=True)
    return dict(zip(found.tolist(), np.split(points[order], firsts[1:]), strict=True))


def _sides(model: Any, n: int) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Structure and estimation points of each tree, drawn once more as they were."""
    from dpforest.consistent.grower import seed_of

    _, *children = seed_of(model.random_state).spawn(model.n_estimators + 1)
    found = []
    for child in children:
        generator = np.random.Generator(np.random.PCG64(child))
        generator.integers(0, 2**64, dtype=np.uint64)  # the tree's own key
        found.append(model._rules().records.draw(n, generator))
    return found
