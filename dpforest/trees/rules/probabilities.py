"""Class probabilities of leaves from released values only: all of it post-processing.

A drawn label says nothing of how often it is right. Without counts the answer is a modest
public confidence that grows with R; with noisy counts it moves from there toward them, by as
much as their noise allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Released
from dpforest.trees.rules.settings import RulesSettings

#: Confidence above chance of an uncounted label: CONFIDENCE_LIMIT * R / (R + CONFIDENCE_HALFWAY).
#: Of more than three classes HALFWAY_OF_A_CLASS for each of them is in the place of the latter, and
#: of more than CONFIDENCE_CLASSES the limit shrinks with their number.
CONFIDENCE_LIMIT, CONFIDENCE_CLASSES = 0.65, 8.0
CONFIDENCE_HALFWAY, HALFWAY_OF_A_CLASS = 12.0, 4.0
#: Pseudo-count of what counts are shrunk toward.
PRIOR_STRENGTH = 8.0
#: Power to which a leaf's probabilities are raised: a record has soft shares in leaves beside its
#: own, which makes what is said of it more even than it is.
SHARPENING = 1.15
#: Smallest probability of a class, of more than a hundred classes half of an even share.
PROBABILITY_FLOOR = 0.005
_VARIANCE_FLOOR = 0.02
#: Least odds of a leaf's label against each other class, of more than two.
LABEL_LEAD = 1.05


def confidence(signal: float, n_classes: int) -> float:
    """Probability that a label is right, as far as R and the number of classes K tell.

    A little below the mean of what was measured, on 28 small tables; of more than three classes
    read off tasks made of all tables, of more than eight off 14 tables. The more classes, the
    fewer of them four leaves can name, however much is known.
    """
    halfway = max(CONFIDENCE_HALFWAY, HALFWAY_OF_A_CLASS * n_classes)
    limit = CONFIDENCE_LIMIT * min(1.0, CONFIDENCE_CLASSES / n_classes)
    above = limit * signal / (signal + halfway)
    return 1.0 / n_classes + (1.0 - 1.0 / n_classes) * above


def uncounted_probabilities(
    labels: NDArray[np.int64], n_classes: int, signal: float
) -> NDArray[np.float64]:
    """Probabilities of leaves of which only labels are known, shape (n_leaves, n_classes)."""
    right = confidence(signal, n_classes)
    table = np.full((labels.size, n_classes), (1.0 - right) / max(n_classes - 1, 1))
    table[np.arange(labels.size), labels] = right
    return _sharpened(table)


def counted_probabilities(
    labels: NDArray[np.int64],
    counts: Released,
    reachable: NDArray[np.bool_],
    variance: float,
    signal: float,
    class_weights: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Probabilities of leaves with noisy class counts, shape (n_leaves, n_classes).

    Of leaves that records can reach: first one share of right labels and one class prior for all
    of them, then each leaf's own counts, each step shrunk toward the one before by its noise, which
    do not overrule its label where there are more than two classes; last they are sharpened. In the
    other leaves classes are even.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_leaves,)
    counts : Released, shape (n_leaves, n_classes)
        May be negative.
    reachable : ndarray of bool, shape (n_leaves,)
        As the released cuts say.
    variance : float
        Of the noise on one count.
    signal : float
        R.
    class_weights : ndarray of int64, shape (n_leaves, n_classes)
        That the labels were drawn with.
    """
    table = np.full(counts.shape, 1.0 / counts.shape[1])
    table[reachable] = _shrunk(
        labels[reachable], counts[reachable], variance, signal, class_weights[reachable]
    )
    return table


def _shrunk(
    labels: NDArray[np.int64],
    counts: NDArray[np.int64],
    variance: float,
    signal: float,
    class_weights: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Probabilities of leaves that records can reach."""
    n_leaves, n_classes = counts.shape
    expected = np.full(2, 1.0 - confidence(signal, n_classes))
    expected[0] = 1.0 - expected[0]
    # Labels are right where every class counts for its weight: there they begin, and are put back.
    weighed = counts * class_weights
    right = weighed[np.arange(n_leaves), labels].sum()
    answers = np.array([right, weighed.sum() - right], dtype=np.float64)
    # The wrong ones are a sum of n_classes - 1 counts a leaf; the mean is close enough.
    spread = variance * float((class_weights**2).mean())
    share = shrink(answers, spread * n_leaves * n_classes / 2, expected)[0]
    uniform = np.full(n_classes, 1.0 / n_classes)
    prior = shrink(counts.sum(axis=0).astype(np.float64), variance * n_leaves, uniform)
    table = np.empty((n_leaves, n_classes))
    for leaf, (label, times) in enumerate(zip(labels, class_weights, strict=True)):
        others = np.where(np.arange(n_classes) == label, 0.0, np.maximum(prior, 0.01) * times)
        start = (1.0 - share) * others / max(others.sum(), 1e-9)
        start[label] = share
        start /= times
        start /= start.sum()
        table[leaf] = shrink(counts[leaf].astype(np.float64), variance, start)
    return _sharpened(_led(table, labels) if n_classes > 2 else table)


def _led(table: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same with each leaf's label in front: it cost five to nine times what its counts did."""
    leaves = np.arange(labels.size)
    others = table.copy()
    others[leaves, labels] = 0.0
    led = table.copy()
    led[leaves, labels] = np.maximum(table[leaves, labels], LABEL_LEAD * others.max(axis=1))
    return led


def _sharpened(table: NDArray[np.float64]) -> NDArray[np.float64]:
    sharp: NDArray[np.float64] = table**SHARPENING
    return sharp / sharp.sum(axis=1, keepdims=True)


def class_weights(
    counts: Released, variance: float, settings: RulesSettings, rare_odds: float
) -> tuple[int, ...]:
    """Steps that a right answer on a record of each class is worth, from noisy class counts.

    A class is taken for more frequent than it looks by one deviation of the noise.

    Parameters
    ----------
    counts : Released, shape (n_classes,)
    variance : float
        Of the noise on one count.
    settings : RulesSettings
    rare_odds : float
        From which a record of the rare class weighs more.
    """
    most = np.maximum(counts.astype(np.float64), 0.0) + max(1.0, variance**0.5)
    odds = float(most.max()) / most
    weights = np.rint(np.minimum(odds**settings.rare_power, settings.most_weight))
    return tuple(int(w) for w in np.where(odds >= rare_odds, weights, 1.0))


def prior_probabilities(counts: Released, variance: float) -> NDArray[np.float64]:
    """Class shares from one noisy histogram, shape (n_classes,).

    The mean of two estimates, so its log loss is at most the mean of theirs: counts kept above
    their noise, best where classes are unequal, and counts shrunk to equal shares.
    """
    floored = np.maximum(counts.astype(np.float64), max(1.0, np.sqrt(variance)))
    uniform = np.full(counts.size, 1.0 / counts.size)
    shrunk = shrink(counts.astype(np.float64), variance, uniform, strength=4.0)
    return 0.5 * (floored / floored.sum() + shrunk)


def shrink(
    counts: NDArray[np.float64],
    variance: float,
    start: NDArray[np.float64],
    strength: float = PRIOR_STRENGTH,
) -> NDArray[np.float64]:
    """Move from ``start`` toward noisy counts by the weight n_eff / (n_eff + strength).

    n_eff = m / (1 + variance / (m q)): m is the noisy size, kept above its noise, q the
    largest p (1 - p) of the start.
    """
    size = counts.sum()
    mass = max(size, np.sqrt(variance * counts.size), 1e-9)
    spread = max(float((start * (1 - start)).max()), _VARIANCE_FLOOR)
    effective = mass / (1.0 + variance / (mass * spread))
    moved = start + effective / (effective + strength) * (counts - start * size) / mass
    moved = np.maximum(moved, min(PROBABILITY_FLOOR, 0.5 / counts.size))
    return moved / moved.sum()
