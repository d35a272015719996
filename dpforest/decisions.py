"""Class scores: what scikit-learn asks of classifiers beside ``predict_proba``, and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class ClassScores:
    """Log-probabilities and decision values from class probabilities; costs nothing."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, shape (n, n_classes)."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of :meth:`predict_proba`, shape (n, n_classes); minus infinity for 0.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Finite score of each class: the largest is the one that ``predict`` gives.

        Log-probabilities where the model adds up log-odds, else probabilities themselves.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray of float64
            Of two classes the second's score minus the first's, shape (n,); of more, shape
            (n, n_classes), in the order of ``classes_``.
        """
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _class_scores(self, X: Any) -> NDArray[np.float64]:
        """Finite scores in the order of ``classes_``, larger for a larger probability."""
        return self.predict_proba(X)


def softmax(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of classes from log-odds, each row adding up to 1.

    Parameters
    ----------
    weights : ndarray of float64, shape (n, n_classes)
        Log-odds.
    """
    shares = np.exp(weights - weights.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def log_shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of `softmax`, finite where a share is too small for a double.

    Parameters
    ----------
    weights : ndarray of float64, shape (n, n_classes)
        Log-odds.
    """
    shifted = weights - weights.max(axis=1, keepdims=True)
    shares = np.exp(shifted)
    whole = shares.sum(axis=1, keepdims=True)
    shares /= whole
    # By the share itself, so that equal shares have equal logarithms.
    with np.errstate(divide="ignore"):
        return np.where(shares > np.finfo(float).tiny, np.log(shares), shifted - np.log(whole))
