"""Our private forests as their attackers see them.

Of the default the attacker gets more than is released: the noisy counts themselves, which the model
keeps only as probabilities made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.binary import BinaryTable
from attacks.evidence import (
    N_CLASSES,
    Evidence,
    Trees,
    beside,
    both,
    label_evidence,
    no_evidence,
    noisy_evidence,
)
from attacks.release import DEPTH, Release
from dpforest import MultinomialForestClassifier, PrivateForestClassifier
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import LearnerBudget
from dpforest.audit.recording import recording
from dpforest.trees.base import PRIOR_ROLE
from dpforest.trees.one_shot.model import OneShotModel
from dpforest.trees.one_shot.plan import Role
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.rules.directions import RuleNode
from dpforest.trees.rules.model import RuleModel
from dpforest.trees.rules.plan import COUNT_ROLE, LEAVES_OF_A_STAGE, cells_role, stage_role
from dpforest.trees.rules.probabilities import class_weights
from dpforest.trees.rules.settings import RulesSettings

Noisy = dict[str, NDArray[np.int64]]


def multinomial(
    table: BinaryTable, x: NDArray[np.uint8], y: NDArray[np.int64], epsilon: float, n_trees: int
) -> Release:
    """Noisy counts of all leaves, which its model holds as they are."""
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


def private(
    table: BinaryTable, x: NDArray[np.uint8], y: NDArray[np.int64], epsilon: float, strategy: str
) -> Release:
    """Rules or one-shot tables, whichever the fit released; budgets are read off its ledger."""
    domain = table.domain(len(y))
    model = PrivateForestClassifier(epsilon=epsilon, domain=domain, strategy=strategy)
    with recording() as seen:
        model.fit(x.astype(np.float64), y)
    noisy = {
        release.paid[-3]: np.asarray(release.output)
        for release in seen.releases
        if release.mechanism == "add_geometric_noise" and release.paid is not None
    }
    prices = {entry.role: entry.parameters for entry in model.accountant_.ledger}
    evidence, what = _evidence_of(model.model_, prices, noisy, len(y))
    return Release(evidence, lambda records: model.predict(records.astype(np.float64)), what)


def _evidence_of(
    model: Any, prices: dict[str, dict[str, str]], noisy: Noisy, n: int
) -> tuple[Evidence, str]:
    if isinstance(model, RuleModel):
        return rules_evidence(model, prices, noisy, n)
    if isinstance(model, OneShotModel):
        return tables_evidence(model.trees, prices, noisy, n)
    if {"rules", "forest"} <= set(getattr(type(model), "__slots__", ())):
        rules, first = rules_evidence(model.rules, prices, noisy, n)
        tables, second = tables_evidence(model.forest.trees, prices, noisy, n)
        return beside(rules, tables), f"{first}; {second}"
    raise NotImplementedError(f"no attack on a {type(model).__name__} is written")


def _ratio(parameters: dict[str, str]) -> float:
    return float(Fraction(parameters["epsilon"]) / Fraction(parameters["l1_sensitivity"]))


def rules_evidence(
    model: RuleModel, prices: dict[str, dict[str, str]], noisy: Noisy, n: int
) -> tuple[Evidence, str]:
    """Labels of the last drawn trees given their cuts, and noisy counts where they were bought.

    Given the cuts, labels of different leaves are independent, each drawn with probability
    proportional to exp(epsilon * records right). Where classes weigh unequally a label is no
    evidence here: its odds go by both counts, not by their difference.
    """
    trees = rule_trees(model.nodes)
    evidence, what = no_evidence(trees, n), []
    stages = [stage_role(k) for k in range(len(prices)) if stage_role(k) in prices]
    if stages:
        price = prices[stages[-1]]
        ratio = float(Fraction(price["epsilon"]) / Fraction(price["score_range"]))
        of_labels = label_evidence(trees, model.labels[None, :], ratio, n)
        weighed = _weighed_leaves(len(stages), trees.n_leaves, prices, noisy, n)
        of_labels.margins[0, weighed] = 0.0
        evidence = both(evidence, of_labels)
        what.append(f"rules drawn in {len(stages)} stage{'s' if len(stages) > 1 else ''}")
    if COUNT_ROLE in noisy:
        counts = noisy[COUNT_ROLE].reshape(1, trees.n_leaves, N_CLASSES)
        ratio = _ratio(prices[COUNT_ROLE])
        evidence = both(evidence, noisy_evidence(trees, counts, ratio, n))
        what.append("noisy class counts")
    for stage in range(1, len(stages)):
        if (role := cells_role(stage)) in noisy:
            above = rule_trees(model.nodes[: LEAVES_OF_A_STAGE**stage - 1])
            counts = noisy[role].reshape(1, above.n_leaves, N_CLASSES)
            evidence = beside(evidence, noisy_evidence(above, counts, _ratio(prices[role]), n))
    return evidence, ", ".join(what) or "class shares"


def _weighed_leaves(
    n_stages: int, n_leaves: int, prices: dict[str, dict[str, str]], noisy: Noisy, n: int
) -> NDArray[np.bool_]:
    """Leaves whose labels were drawn where classes weigh unequally, by released counts."""
    settings = RulesSettings()
    role, odds = cells_role(n_stages - 1), settings.rare_odds_of_cell
    if role not in noisy:
        spent = sum((Fraction(price["epsilon"]) for price in prices.values()), Fraction(0))
        signal = LearnerBudget(spent, Fraction(0)).signal(n)
        role, odds = PRIOR_ROLE, settings.rare_odds_at(signal)
    if role not in noisy:
        return np.zeros(n_leaves, dtype=np.bool_)
    price = prices[role]
    event = GeometricNoise(Fraction(price["epsilon"]), Fraction(price["l1_sensitivity"]))
    counts = noisy[role].reshape(-1, N_CLASSES)
    weighed = [max(class_weights(one, event.variance, settings, odds)) > 1 for one in counts]
    return np.repeat(weighed, n_leaves // len(weighed))


def rule_trees(nodes: Sequence[RuleNode | None]) -> Trees:
    """The drawn tree; its nodes test weighted sums of a few binary features."""
    width = max([len(node.direction.features) for node in nodes if node], default=1)
    n_nodes = len(nodes)
    trees = Trees.all_left(1, (n_nodes + 1).bit_length() - 1, width)
    for place, node in enumerate(nodes):
        if node is None:
            continue
        base = 0
        parts = zip(node.direction.features, node.direction.tables, strict=True)
        for part, (feature, values) in enumerate(parts):
            trees.features[0, place, part] = feature
            trees.weights[0, place, part] = values[1] - values[0]
            base += int(values[0])
        trees.thresholds[0, place] = node.threshold - base
    return trees


def tables_evidence(
    drawn: RandomTrees, prices: dict[str, dict[str, str]], noisy: Noisy, n: int
) -> tuple[Evidence, str]:
    """Noisy class counts of all leaves of public trees."""
    trees = Trees.all_left(drawn.n_trees, drawn.depth)
    for tree, node in np.ndindex(*drawn.feature.shape):
        left = int(drawn.mask[tree, node, 0]) & 3  # a bit for each of the two codes
        if left != 3:
            trees.split(tree, node, int(drawn.feature[tree, node]), one_goes_left=left == 2)
    counts = noisy[Role.LEAVES].reshape(trees.n_trees, trees.n_leaves, N_CLASSES)
    live = trees.counts(*_all_records(trees)).sum(axis=2) > 0
    evidence = noisy_evidence(trees, counts, _ratio(prices[Role.LEAVES]), n)
    # Leaves that nothing can reach hold noise alone.
    evidence.counts[~live] = 0.0
    return evidence, f"noisy class counts of {trees.n_trees} public trees"


def _all_records(trees: Trees) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Enough random records to reach every leaf of trees over two or three features each."""
    generator = np.random.default_rng(0)
    x = generator.integers(0, 2, (4000, int(trees.features.max()) + 1)).astype(np.uint8)
    return x, np.zeros(4000, dtype=np.int64)
