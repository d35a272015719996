"""Splits of the Safe-Bayesian paper, whose classes are equal in number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from papers.splits import Fold


@dataclass(frozen=True)
class Balance:
    """What is drawn, see :func:`split`.

    Attributes
    ----------
    test : int
        Test records, of all; 0: 20 % of all, rounded.
    train_each : int or None
        Training records of each class; 0: as many as the rarest class still has. None: all that
        is left, however many of each class.
    test_each : int
        Test records of each class, in place of ``test``.
    """

    test: int = 0
    train_each: int | None = 0
    test_each: int = 0


#: As the paper's figures imply: docs/papers/safe_bayesian.md says how this was read off them.
PRINTED = {
    "australian": Balance(138, 240),
    "breast_original": Balance(137, 190),
    "diabetes_pima": Balance(154, 210),
    "heart_statlog": Balance(54, 0),
    "ionosphere": Balance(70, 100),
    "german_numer": Balance(200, 240),
    "iris": Balance(30, 10),
    "wine": Balance(36, None),
    "svmguide2": Balance(train_each=42, test_each=11),
}


def split(y: NDArray[np.int64], repeat: int, balance: Balance) -> Fold:
    """Draw test records from all, then training records from the rest.

    Parameters
    ----------
    y : ndarray of shape (n,)
    repeat : int
        Seed of the order in which records are taken; the same for every method.
    balance : Balance
        Where a class has fewer records left than ``train_each``, all have as many as it.
    """
    order = np.random.RandomState(repeat).permutation(len(y))
    if balance.test_each:
        tested = _first_of_each(order, y, balance.test_each)
    else:
        tested = order[: balance.test or round(0.2 * len(y))]
    left = order[~np.isin(order, tested)]
    if balance.train_each is None:
        return left, tested
    fewest = int(np.bincount(y[left]).min())
    return _first_of_each(left, y, min(balance.train_each or fewest, fewest)), tested


def split_balanced(y: NDArray[np.int64], repeat: int) -> Fold:
    """As many of each class as the rarest has, then 80 and 20 % of these."""
    order = np.random.RandomState(repeat).permutation(len(y))
    kept = _first_of_each(order, y, int(np.bincount(y).min()))
    kept = np.random.RandomState(repeat).permutation(kept)
    n_test = round(0.2 * len(kept))
    return kept[n_test:], kept[:n_test]


def _first_of_each(order: NDArray[np.int64], y: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return np.concatenate([order[y[order] == label][:n] for label in np.unique(y)])
