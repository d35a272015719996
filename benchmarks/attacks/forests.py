"""The attacked forests: fitted to a table, brought to the form of `Evidence`.

Of each the attacker sees what it releases, knows its parameters and the number of records, and uses
the exact likelihood of the leaves given the trees. What the choice of a tree's splits tells beyond
that is not used, as in the published attacks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from attacks.binary import BinaryTable
from attacks.evidence import (
    N_CLASSES,
    Evidence,
    Trees,
    bootstrap_evidence,
    both,
    exact_evidence,
    label_evidence,
    no_evidence,
    noisy_evidence,
)
from dpforest import MultinomialForestClassifier, PrivateForestClassifier
from dpforest.audit.recording import Recording, recording
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import RepeatedFitWarning, WeakSignalWarning
from dpforest.forest.private_plan import table_facts
from dpforest.learners.base import LearnerBudget
from dpforest.learners.rules.model import RuleModel
from dpforest.learners.rules.plan import RulesPlan, build_plan
from dpforest.learners.rules.settings import RulesSettings

DEPTH = 5

Predict = Callable[[NDArray[np.uint8]], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Release:
    """A fitted forest as its attacker sees it, and how well it predicts.

    Attributes
    ----------
    evidence : Evidence
    predict : callable
        Classes of binary records.
    what : str
        What was released, in words.
    """

    evidence: Evidence
    predict: Predict
    what: str


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
        Taken no notice of by the default private forest, which picks for itself.
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
            return _multinomial(table, x, y, epsilon, n_trees)
        return _private(table, x, y, epsilon)


PLAIN, BAGGED = "scikit-learn, no bagging", "scikit-learn, bagging"
RANDOM = "random trees, noisy counts"
MULTINOMIAL, PRIVATE = "MultinomialForestClassifier", "PrivateForestClassifier"
TARGETS = (PLAIN, BAGGED, RANDOM, MULTINOMIAL, PRIVATE)


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


def _multinomial(
    table: BinaryTable, x: NDArray[np.uint8], y: NDArray[np.int64], epsilon: float, n_trees: int
) -> Release:
    model = MultinomialForestClassifier(
        epsilon=epsilon, domain=table.domain(len(y)), n_estimators=n_trees, max_depth=DEPTH
    ).fit(x.astype(np.float64), y)
    forest = model.forest_
    trees = Trees.all_left(n_trees, DEPTH)
    for tree, node in zip(*np.nonzero(forest.feature >= 0), strict=True):
        low, high = forest.low[tree, node], forest.high[tree, node]
        zero, one = low <= 0 <= high, low <= 1 <= high
        if zero == one:
            raise AssertionError("a split of a feature of two values parts them")
        trees.split(tree, node, int(forest.feature[tree, node]), one_goes_left=bool(one))
    # The released variance of two-sided geometric noise, 1 / (2 sinh^2(r / 2)), gives its ratio.
    ratio = 2 * np.arcsinh(1 / np.sqrt(2 * forest.noise_variance))
    evidence = noisy_evidence(trees, forest.counts, float(ratio), len(y))
    return Release(
        evidence, lambda records: model.predict(records.astype(np.float64)), "noisy class counts"
    )


def _private(
    table: BinaryTable, x: NDArray[np.uint8], y: NDArray[np.int64], epsilon: float
) -> Release:
    """The default. Its attacker also sees the noisy counts that its probabilities are made of."""
    domain = table.domain(len(y))
    model = PrivateForestClassifier(epsilon=epsilon, domain=domain)
    with recording() as seen:
        model.fit(x.astype(np.float64), y)
    if model.strategy_ != "rules":
        raise NotImplementedError(f"no attack on {model.strategy_} is written; use fewer records")
    facts = table_facts(DomainEncoder(domain), domain.approximate_rows)
    budget = LearnerBudget(Fraction(str(epsilon)), Fraction(0))
    plan = build_plan(facts, budget, RulesSettings())
    evidence, what = _rules_evidence(model.model_, plan, seen, len(y))
    return Release(evidence, lambda records: model.predict(records.astype(np.float64)), what)


def _rules_evidence(
    model: RuleModel, plan: RulesPlan, seen: Recording, n: int
) -> tuple[Evidence, str]:
    """Labels of the last drawn trees given their cuts, and noisy counts where they were bought.

    Given the cuts, labels of different leaves are independent, each drawn with probability
    proportional to exp(epsilon * records right).
    """
    trees = rule_trees(model)
    evidence, what = no_evidence(trees, n), []
    if plan.stages:
        label = float(plan.stages[-1].epsilon)
        evidence = both(evidence, label_evidence(trees, model.labels[None, :], label, n))
        what.append(f"{len(plan.stages)} drawn trees with labels")
    if plan.counts is not None:
        drawn = [r for r in seen.releases if r.mechanism == "add_geometric_noise"]
        noisy = np.asarray(drawn[-1].output).reshape(1, trees.n_leaves, N_CLASSES)
        ratio = float(plan.counts.epsilon)
        evidence = both(evidence, noisy_evidence(trees, noisy, ratio, n))
        what.append("noisy class counts")
    return evidence, " and ".join(what)


def rule_trees(model: RuleModel) -> Trees:
    """The drawn tree; its nodes test weighted sums of a few binary features."""
    width = max([len(node.direction.features) for node in model.nodes if node], default=1)
    n_nodes = len(model.nodes)
    shape = 1, n_nodes, width
    features, weights = np.full(shape, -1), np.zeros(shape, np.int64)
    thresholds = np.zeros((1, n_nodes), np.int64)
    for place, node in enumerate(model.nodes):
        if node is None:
            continue
        base = 0
        for part, (feature, values) in enumerate(
            zip(node.direction.features, node.direction.tables, strict=True)
        ):
            features[0, place, part] = feature
            weights[0, place, part] = values[1] - values[0]
            base += int(values[0])
        thresholds[0, place] = node.threshold - base
    return Trees(features, weights, thresholds)
