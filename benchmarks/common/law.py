"""A made-up law of two classes whose best accuracy is known: summed over its cells, no fit.

A record has ten features, each even between 0 and 1. Four of them say with what probability it is
of the second class; that probability is the same within a cell of sixteenths.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.metrics import roc_auc_score

from dpforest import Domain

NAME = "made-up law"
FEATURES = 10
#: Cells of each of the four features that matter.
CELLS = 16
TELLING = 4
#: Records of a chunk, each with a seed of its own.
CHUNK = 250_000
TEST_CHUNKS = range(10**6, 10**6 + 2)


def domain(rows: int) -> Domain:
    """Its declared domain."""
    features = {f"x{place}": (0.0, 1.0) for place in range(FEATURES)}
    return Domain(features=features, classes=[0, 1], approximate_rows=rows)


@cache
def probabilities() -> np.ndarray:
    """Of the second class, by cell (float64, shape (16,) * 4): effects of one, two and three."""
    place = (np.arange(CELLS) + 0.5) / CELLS - 0.5
    a, b, c, d = np.meshgrid(*[place] * TELLING, indexing="ij")
    wave = np.sin(2 * np.pi * a)
    log_odds = 3 * wave + 5 * b + 24 * c * d + 3 * np.sin(4 * np.pi * b) * np.sign(d) * wave
    return 1 / (1 + np.exp(-log_odds))


def best_accuracy() -> float:
    """That of the rule that names the likelier class of each cell: cells are equally likely."""
    of_second = probabilities()
    return float(np.maximum(of_second, 1 - of_second).mean())


def best_area() -> float:
    """Area under the curve of the probabilities themselves."""
    return area(probabilities().ravel(), probabilities().ravel())


def area(of_second: np.ndarray, scores: np.ndarray) -> float:
    """Area under the curve of scores, every record counted in both classes by its probability."""
    labels = np.repeat([1, 0], of_second.size)
    weights = np.concatenate([of_second, 1 - of_second])
    return float(roc_auc_score(labels, np.tile(scores, 2), sample_weight=weights))


def probabilities_of(X: np.ndarray) -> np.ndarray:
    """Of the second class, by record."""
    return probabilities()[tuple((X[:, :TELLING] * CELLS).astype(np.intp).T)]


def chunk(number: int, rows: int = CHUNK) -> tuple[np.ndarray, np.ndarray]:
    """Features (float32) and classes (uint8) of a chunk."""
    generator = np.random.default_rng([11, number])
    X = generator.random((rows, FEATURES), dtype=np.float32)
    return X, (generator.random(rows) < probabilities_of(X)).astype(np.uint8)


def records(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n records."""
    X, y = np.empty((n, FEATURES), np.float32), np.empty(n, np.uint8)
    for number, first in enumerate(range(0, n, CHUNK)):
        rows = min(CHUNK, n - first)
        X[first : first + rows], y[first : first + rows] = chunk(number, rows)
    return X, y


@cache
def held_out() -> np.ndarray:
    """Features of records that are in no table."""
    return np.concatenate([chunk(number)[0] for number in TEST_CHUNKS])


def judged(predicted: np.ndarray, of_second: np.ndarray) -> dict[str, float]:
    """Accuracy and area by what the law says of the test records; their classes are not drawn.

    The accuracy is the best one less what is lost where another class than the likelier is named,
    so chance moves it only by which cells the test records lie in.

    Parameters
    ----------
    predicted : ndarray of int, shape (n,)
        Classes named for `held_out`.
    of_second : ndarray of float64, shape (n,)
        Probabilities predicted.
    """
    truth = probabilities_of(held_out())
    lost = np.maximum(truth, 1 - truth) - np.where(predicted == 1, truth, 1 - truth)
    return {"accuracy": best_accuracy() - float(lost.mean()), "auc": area(truth, of_second)}
