"""Safe-Bayesian forest (2015), Tables 1 to 3 and Figure 4: five 80/20 splits, equal classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.balanced import PRINTED, Balance, split, split_balanced
from papers.engine import Task
from papers.printed.safe_bayesian import TABLE_1
from papers.safe_bayesian_page import page, plot_curves
from papers.sets import available, read
from papers.splits import Fold

NAME = "safe_bayesian"
TREES = 1000
METHODS = ("S-Bayes", "kNN", "SVM", "RF-Gini", "RF-entropy", "ExtraTrees")
#: How records are drawn: as the figures imply; the whole set made equal first; not made equal.
DRAWS = ("printed", "equal", "natural")
#: Without equal classes, which are no part of the paper, only these.
NATURAL_METHODS = ("S-Bayes", "RF-Gini")
#: Splits of Figure 4 and of the last table, to one of the other tables.
MORE = 4
#: m / N of the operating curves.
FRACTIONS = tuple(float(f) for f in np.geomspace(0.002, 1, 28))


def tasks(folder: Path, repeats: int = 5) -> Iterator[Task]:
    """A task a split, all draws and methods; of the figure's forest `MORE` times as many."""
    for repeat in range(repeats):
        for draw in DRAWS:
            for name in available(folder, tuple(TABLE_1)):
                for method in NATURAL_METHODS if draw == "natural" else METHODS:
                    yield Task(name, f"{method}, {draw}", repeat, -1)
    for repeat in range(repeats, MORE * repeats):
        for name in available(folder, tuple(TABLE_1)):
            yield Task(name, "S-Bayes, printed", repeat, -1)


def records(folder: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Records; of breast_original those with a missing cell are left out, as in LIBSVM's copy."""
    data = read(folder, name)
    whole = (data.X != -1).all(axis=1) if name == "breast_original" else slice(None)
    return data.X[whole], data.y[whole]


def fold_of(y: NDArray[np.int64], name: str, draw: str, repeat: int) -> Fold:
    """Training and test records."""
    if draw == "equal":
        return split_balanced(y, repeat)
    return split(y, repeat, PRINTED[name] if draw == "printed" else Balance(train_each=None))


def evaluate(task: Task, folder: Path) -> dict[str, Any]:
    """Accuracy on the test records; for the Safe-Bayesian forest all that the paper shows."""
    method, draw = task.method.split(", ")
    X, y = records(folder, task.dataset)
    train, test = fold_of(y, task.dataset, draw, task.repeat)
    X_train, X_test = transformed(X[train], X[test])
    sizes = {"n_train": len(train), "n_test": len(test)}
    if method == "S-Bayes":
        return sizes | safe_bayesian(X_train, y[train], X_test, y[test], task.repeat)
    model = baseline(method, task.seed).fit(X_train, y[train])
    return sizes | {"accuracy": float(np.mean(model.predict(X_test) == y[test]))}


def transformed(
    X_train: NDArray[np.float64], X_test: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probability-integral transform by the training records, for every method alike."""
    columns = np.sort(X_train, axis=0).T

    def places(X: NDArray[np.float64]) -> NDArray[np.float64]:
        ranks = [np.searchsorted(c, x, side="right") for c, x in zip(columns, X.T, strict=True)]
        return np.stack(ranks, axis=1) / (len(X_train) + 1.0)

    return places(X_train), places(X_test)


def safe_bayesian(
    X_train: NDArray[np.float64],
    y_train: NDArray[np.int64],
    X_test: NDArray[np.float64],
    y_test: NDArray[np.int64],
    seed: int,
) -> dict[str, Any]:
    """One forest read in three ways; the seed of a repeat is that of every dataset's structures."""
    import dpforest

    forest = dpforest.SafeBayesianForestClassifier(n_estimators=TREES, random_state=seed)
    forest.fit(X_train, y_train)
    n = len(y_train)
    ways = forest.operating_curve(X_test, y_test, [5, n, np.inf])
    sizes = [fraction * n for fraction in FRACTIONS]
    return {
        **dict(zip(("accuracy", "bma", "best_tree"), map(float, ways.accuracy), strict=True)),
        "log_probability": float(ways.log_probability[0]),
        "bma_log_probability": float(ways.log_probability[1]),
        "train_curve": forest.operating_curve(X_train, y_train, sizes).accuracy.tolist(),
        "test_curve": forest.operating_curve(X_test, y_test, sizes).accuracy.tolist(),
    }


def baseline(method: str, seed: int) -> Any:
    """As section 5 sets them: k = 3, a linear SVM, 1000 trees with half of the features."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    if method == "kNN":
        return KNeighborsClassifier(3)
    if method == "SVM":
        return GridSearchCV(SVC(kernel="linear"), {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}, cv=5)
    common: dict[str, Any] = {"n_estimators": TREES, "max_features": 0.5, "random_state": seed}
    if method == "ExtraTrees":
        return ExtraTreesClassifier(**common)
    criterion = "gini" if method == "RF-Gini" else "entropy"
    return RandomForestClassifier(criterion=criterion, **common)


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    return page(lines, f"python benchmarks/papers {NAME}", available(folder, tuple(TABLE_1)))


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """Figure 4."""
    plot_curves(lines, FRACTIONS, folder / "safe_bayesian_figure4.svg")
