"""The attacked forests: fitted to a table, brought to the form of `Evidence`.

Of each the attacker sees what it releases, knows its parameters and the number of records, and uses
the exact likelihood of the leaves given the trees. What the choice of a tree's splits tells beyond
that is not used, as in the published attacks.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from attacks.binary import BinaryTable
from attacks.evidence import (
    N_CLASSES,
    Trees,
    bootstrap_evidence,
    exact_evidence,
    noisy_evidence,
)
from attacks.ours import multinomial, private
from attacks.release import DEPTH, Release
from dpforest.exceptions import RepeatedFitWarning, WeakSignalWarning

PLAIN, BAGGED = "scikit-learn, no bagging", "scikit-learn, bagging"
RANDOM = "random trees, noisy counts"
MULTINOMIAL, PRIVATE = "MultinomialForestClassifier", "PrivateForestClassifier"
ONE_SHOT = "PrivateForestClassifier, one-shot"
TARGETS = (PLAIN, BAGGED, RANDOM, MULTINOMIAL, PRIVATE, ONE_SHOT)


def fit_forest(
    target: str,
    table: BinaryTable,
    x: NDArray[np.uint8],
    y: NDArray[np.int64],
    epsilon: float | None,
    n_trees: int,
    seed: int,
) -> Release:
    """Fit one of `TARGETS`.

    Parameters
    ----------
    target : str
    table : BinaryTable
        Where the domain comes from.
    x, y : ndarray
        The training table.
    epsilon : float or None
        None for forests that are not private.
    n_trees : int
        Taken no notice of by `PrivateForestClassifier`, which picks for itself.
    seed : int
        Of scikit-learn and of the random trees; our own noise comes from the operating system.
    """
    if target.startswith("scikit-learn"):
        return _sklearn(x, y, n_trees, seed, bootstrap=target == BAGGED)
    assert epsilon is not None
    if target == RANDOM:
        return _random_trees(x, y, epsilon, n_trees, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        warnings.simplefilter("ignore", WeakSignalWarning)
        if target == MULTINOMIAL:
            return multinomial(table, x, y, epsilon, n_trees)
        # From epsilon = 9 on the default would fit so few records by refitted trees, whose sums of
        # residuals no attack here reads; rules release counts.
        return private(table, x, y, epsilon, "one_shot" if target == ONE_SHOT else "rules")


def _sklearn(
    x: NDArray[np.uint8], y: NDArray[np.int64], n_trees: int, seed: int, bootstrap: bool
) -> Release:
    model = RandomForestClassifier(
        n_trees, max_depth=DEPTH, bootstrap=bootstrap, random_state=seed
    ).fit(x, y)
    trees = Trees.all_left(n_trees, DEPTH)
    counts = np.zeros((n_trees, trees.n_leaves, N_CLASSES))
    for number, estimator in enumerate(model.estimators_):
        _unfold(estimator.tree_, trees, counts, number)
    evidence = (bootstrap_evidence if bootstrap else exact_evidence)(
        trees, np.rint(counts).astype(np.int64), len(y)
    )
    what = "class counts of bootstrap samples" if bootstrap else "true class counts"
    return Release(evidence, model.predict, what)


def _unfold(tree: object, trees: Trees, counts: NDArray[np.float64], number: int) -> None:
    """Put one of scikit-learn's trees into a complete one; leaves above the last level go left."""
    waiting = [(0, 0)]
    while waiting:
        source, place = waiting.pop()
        if tree.children_left[source] >= 0:  # type: ignore[attr-defined]
            trees.split(number, place, int(tree.feature[source]))  # type: ignore[attr-defined]
            waiting.append((int(tree.children_left[source]), 2 * place + 1))  # type: ignore[attr-defined]
            waiting.append((int(tree.children_right[source]), 2 * place + 2))  # type: ignore[attr-defined]
            continue
        while place < trees.n_leaves - 1:
            place = 2 * place + 1
        # Values are shares since scikit-learn 1.3.
        shares = tree.value[source][0] / tree.value[source][0].sum()  # type: ignore[attr-defined]
        size = tree.weighted_n_node_samples[source]  # type: ignore[attr-defined]
        counts[number, place - (trees.n_leaves - 1)] = shares * size


def _random_trees(
    x: NDArray[np.uint8], y: NDArray[np.int64], epsilon: float, n_trees: int, seed: int
) -> Release:
    """The attacked forest of the 2025 paper: random trees, all leaf counts with noise at ε/T.

    Its noise is Laplace, cut to whole numbers; here it is two-sided geometric. Features are drawn
    without those that a path has used.
    """
    generator = np.random.default_rng(seed)
    trees = random_structure(x.shape[1], n_trees, generator)
    ratio = epsilon / n_trees
    true = trees.counts(x, y)
    noise = generator.geometric(1 - np.exp(-ratio), (2, *true.shape))
    noisy = true + noise[0] - noise[1]
    return Release(
        noisy_evidence(trees, noisy, ratio, len(y)),
        lambda records: _vote(trees, noisy, records),
        "noisy class counts",
    )


def random_structure(n_features: int, n_trees: int, generator: np.random.Generator) -> Trees:
    """Trees that draw a feature not yet used on the path, in every node."""
    trees = Trees.all_left(n_trees, DEPTH)
    for tree in range(n_trees):
        used: list[tuple[int, ...]] = [()]
        for node in range(trees.n_leaves - 1):
            path = used[node]
            left = [feature for feature in range(n_features) if feature not in path]
            feature = int(generator.choice(left))
            trees.split(tree, node, feature)
            used += [(*path, feature)] * (2 if node == 0 or len(used) <= 2 * node + 2 else 0)
    return trees


def _vote(trees: Trees, counts: NDArray[np.int64], records: NDArray[np.uint8]) -> NDArray[np.int64]:
    leaves = trees.leaves(records)
    positive = np.maximum(counts, 0) + 0.5
    shares = positive / positive.sum(axis=2, keepdims=True)
    votes = shares[np.arange(trees.n_trees)[None, :], leaves].sum(axis=1)
    return np.argmax(votes, axis=1)
