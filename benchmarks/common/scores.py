"""Accuracy, area under the curve, log loss and Brier score from one table of probabilities."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

METRICS = ("accuracy", "auc", "log_loss", "brier")
#: Of a probability, in the log loss: a forest that never saw a class gives it none.
_LEAST = float(np.finfo(np.float64).eps)


def scores(
    labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray
) -> dict[str, float]:
    """The four metrics.

    Parameters
    ----------
    labels, predicted : ndarray of int, shape (n,)
        Positions of the classes.
    probabilities : ndarray of float64, shape (n, n_classes)
        Every declared class has its column.

    Returns
    -------
    dict
        ``auc`` is the mean over the classes in ``labels`` of one against the rest. ``brier``
        sums squares over the classes, and is half of that for two classes.
    """
    n_classes = probabilities.shape[1]
    truth = labels[:, None] == np.arange(n_classes)
    own = np.clip(probabilities[truth], _LEAST, 1.0)
    squares = np.square(probabilities - truth).sum(axis=1).mean()
    return {
        "accuracy": float(np.mean(predicted == labels)),
        "auc": _area(truth, probabilities),
        "log_loss": float(-np.log(own).mean()),
        "brier": float(squares / 2 if n_classes == 2 else squares),
    }


def _area(truth: np.ndarray, probabilities: np.ndarray) -> float:
    present = np.flatnonzero(truth.any(axis=0) & ~truth.all(axis=0))
    if truth.shape[1] == 2:
        present = present[-1:]  # the other class's curve is the same one
    areas = [roc_auc_score(truth[:, label], probabilities[:, label]) for label in present]
    return float(np.mean(areas))


def in_all_classes(probabilities: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities with a column for every declared class, from those a model has seen."""
    complete = np.zeros((probabilities.shape[0], n_classes))
    complete[:, np.asarray(classes, dtype=int)] = probabilities
    return complete
