"""The four choices: what each forest's rules say, and that trees are drawn by them.

Root splits of thousands of trees are compared with the exact probabilities of their rules by
chi-square: accepted unless p < 1e-9, and rejected at 1e-9 for strengths 30 % off.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, poisson

from dpforest.consistent.answers import Label, Mean
from dpforest.consistent.brf import BRFClassifier, BRFRegressor
from dpforest.consistent.candidates import (
    AllFeatures,
    PoissonFeatures,
    RandomFeatures,
    resolve_max_features,
)
from dpforest.consistent.denil14 import Denil14Classifier
from dpforest.consistent.dmrf import DMRFClassifier, DMRFRegressor
from dpforest.consistent.grower import grow_forest
from dpforest.consistent.inclusion import BernoulliInclusion, GivenPartition, Partition
from dpforest.consistent.mrf import MRFClassifier
from dpforest.consistent.mrf2019 import MRF2019Classifier, MRF2019Regressor
from dpforest.consistent.rules import ForestRules, Stop
from dpforest.consistent.splits import BEST, RANDOM, Joint, Mixture, TwoStage

_SPEC = importlib.util.spec_from_file_location("growers", Path(__file__).with_name("growers.py"))
growers = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(growers)

ALPHA = 1e-9
Q = 1 - 1 / math.e

# -- what the forests are --------------------------------------------------------------------

PAPERS = {
    MRFClassifier(): ForestRules(
        Partition(1.0), AllFeatures(), TwoStage(5.0, 5.0), Label(math.inf), Stop(6)
    ),
    MRFClassifier(B1=4, B2=6, B3=8, records="bernoulli", leaf_size=7): ForestRules(
        BernoulliInclusion(Q), AllFeatures(), TwoStage(2.0, 3.0), Label(4.0), Stop(7)
    ),
    MRF2019Classifier(): ForestRules(
        Partition(1.0), RandomFeatures("sqrt", 0.05), Joint(10.0), Label(), Stop(6)
    ),
    MRF2019Regressor(): ForestRules(
        Partition(1.0), RandomFeatures("sqrt", 0.05), Joint(10.0), Mean("mse"), Stop(6)
    ),
    DMRFClassifier(): ForestRules(
        BernoulliInclusion(Q), RandomFeatures("sqrt"), Mixture(0.5, BEST, TwoStage(5.0, 5.0)),
        Label(), Stop(5),
    ),
    DMRFClassifier(redraw=False): ForestRules(
        BernoulliInclusion(Q), RandomFeatures("sqrt", redraw=False),
        Mixture(0.5, BEST, TwoStage(5.0, 5.0)), Label(), Stop(5),
    ),
    MRF2019Regressor(redraw=False): ForestRules(
        Partition(1.0), RandomFeatures("sqrt", 0.05, False), Joint(10.0), Mean("mse"), Stop(6)
    ),
    BRFClassifier(redraw=False): ForestRules(
        Partition(1.0), RandomFeatures("sqrt", 0.05, False), Mixture(0.05, RANDOM, BEST),
        Label(), Stop(6),
    ),
    Denil14Classifier(redraw=False): ForestRules(
        Partition(1.0), PoissonFeatures(10.0, False), TwoStage(math.inf, math.inf, 100), Label(),
        Stop(6),
    ),
    DMRFRegressor(max_depth=3): ForestRules(
        BernoulliInclusion(Q), RandomFeatures("sqrt"), Mixture(0.5, BEST, TwoStage(5.0, 5.0)),
        Mean("mse"), Stop(5, 1, 3),
    ),
    BRFClassifier(enforce_leaf_size=True): ForestRules(
        Partition(1.0), RandomFeatures("sqrt", 0.05), Mixture(0.05, RANDOM, BEST), Label(),
        Stop(6, 5),
    ),
    BRFRegressor(records="bernoulli", inclusion=0.5): ForestRules(
        BernoulliInclusion(0.5), RandomFeatures("sqrt", 0.05), Mixture(0.05, RANDOM, BEST),
        Mean("weighted_mse"), Stop(5),
    ),
    Denil14Classifier(partition_rate=2.0): ForestRules(
        Partition(2.0), PoissonFeatures(10.0), TwoStage(math.inf, math.inf, 100), Label(), Stop(6)
    ),
}  # fmt: skip


@pytest.mark.parametrize("estimator", PAPERS, ids=lambda e: type(e).__name__)
def test_each_forest_is_four_choices_and_a_stop(estimator):
    assert estimator._rules() == PAPERS[estimator]


@pytest.mark.parametrize(
    ("value", "size"),
    [("sqrt", 6), ("log2", 5), (None, 42), (7, 7), (100, 42), (0.5, 21), (1.0, 42), (0.001, 1)],
)
def test_max_features_reads_as_in_scikit_learn(value, size):
    assert resolve_max_features(value, 42) == size


# -- records ---------------------------------------------------------------------------------


def test_a_partition_has_fixed_sizes_and_uniform_members():
    generator = np.random.default_rng(1)
    times = np.zeros(30)
    for _ in range(4000):
        structure, estimation = Partition(1.5).draw(30, generator)
        assert structure.size == 18
        assert sorted([*structure, *estimation]) == list(range(30))
        times[structure] += 1
    # Standardised; |z| of 30 correlated normals, union bound at 1e-9.
    assert np.abs((times / 4000 - 0.6) / math.sqrt(0.24 / 4000)).max() < 6.6


def test_a_partition_leaves_an_estimation_point():
    for n_records, sizes in ((1, (0, 1)), (2, (1, 1)), (3, (2, 1))):
        structure, estimation = Partition(100.0).draw(n_records, np.random.default_rng(0))
        assert (structure.size, estimation.size) == sizes


def test_bernoulli_inclusion_is_independent_and_never_empty():
    generator = np.random.default_rng(2)
    drawn = [BernoulliInclusion(Q).draw(12, generator) for _ in range(5000)]
    inside = np.zeros((5000, 12))
    for row, (records, estimation) in enumerate(drawn):
        assert estimation is None
        inside[row, records] = 1
    assert np.abs((inside.mean(axis=0) - Q) / math.sqrt(Q * (1 - Q) / 5000)).max() < 6.5
    assert np.abs(np.corrcoef(inside.T) - np.eye(12)).max() < 6.8 / math.sqrt(5000)
    tiny = [BernoulliInclusion(1e-3).draw(3, generator)[0].size for _ in range(50)]
    assert min(tiny) == 1


# -- root splits -----------------------------------------------------------------------------


def table():
    """90 records, four features of 2 to 12 values, the second one value against the rest."""
    generator = np.random.default_rng(8)
    X = np.floor(generator.random((90, 4)) * [3, 4, 2, 12])
    signal = X[:, 0] + 2 * (X[:, 1] == 2) + 0.2 * X[:, 3] + generator.normal(size=90)
    return X, signal, np.array([False, True, False, False])


def sizes(rule, n_features):
    """Numbers of candidate features with their probabilities."""
    if rule.size == 0:
        return {n_features: 1.0}
    if rule.poisson:
        out = Counter()
        for count in range(60):
            out[min(1 + count, n_features)] += poisson.pmf(count, rule.poisson)
        return out
    return {1: rule.single, rule.size: 1 - rule.single}


def softmax(scores, strength):
    weights = np.array(growers.weights_of(scores, strength, min(scores), max(scores)))
    return weights / weights.sum()


def root_law(X, y, n_classes, against_rest, rules):
    """Exact probability of every root split."""
    twin = growers.Twin(X, y, n_classes, against_rest, rules)
    offers = [twin.offers(f, range(len(y)), []) for f in range(X.shape[1])]
    split = rules.splits.parameters()
    law = Counter()
    for size, chance in sizes(rules.candidates.parameters(X.shape[1]), X.shape[1]).items():
        subsets = list(itertools.combinations(range(X.shape[1]), size))
        for subset in subsets:
            if split.joint:
                every = [(f, offer) for f in subset for offer in offers[f]]
                chances = softmax([offer[2] for _, offer in every], split.other_value)
                for (f, offer), p in zip(every, chances, strict=True):
                    law[f, offer[1]] += chance / len(subsets) * p
                continue
            for share, by_feature, by_value in (
                (split.first, split.first_feature, split.first_value),
                (1 - split.first, split.other_feature, split.other_value),
            ):
                best = [max(offer[2] for offer in offers[f]) for f in subset]
                for f, p in zip(subset, softmax(best, by_feature), strict=True):
                    values = softmax([offer[2] for offer in offers[f]], by_value)
                    for offer, r in zip(offers[f], values, strict=True):
                        law[f, offer[1]] += chance / len(subsets) * share * p * r
    return law


def p_value(counts, law):
    """Chi-square of counts against probabilities; rare outcomes are pooled."""
    n = sum(counts.values())
    assert counts.keys() <= {outcome for outcome, p in law.items() if p > 0}
    common = [outcome for outcome, p in law.items() if n * p >= 8]
    observed = [counts[outcome] for outcome in common]
    expected = [n * law[outcome] for outcome in common]
    rest = n - sum(expected)
    if rest > 1e-6 * n:
        observed.append(n - sum(observed))
        expected.append(rest)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return chi2.sf(statistic, len(expected) - 1)


def root_counts(X, y, n_classes, against_rest, rules, n_trees=6000):
    forest = grow_forest(X, y, n_classes, against_rest, rules, n_trees, np.random.SeedSequence(21))
    roots = forest.roots[:-1]
    assert (forest.feature[roots] >= 0).all()
    return Counter(zip(forest.feature[roots].tolist(), forest.high[roots].tolist(), strict=True))


EVERYONE = GivenPartition(tuple(range(90)), tuple(range(90)))
STUMP = Stop(0, 0, 1)
LAWS = {
    "mrf": (AllFeatures(), TwoStage(5.0, 5.0)),
    "mrf 2019": (RandomFeatures(2, 0.3), Joint(10.0)),
    "dmrf": (RandomFeatures(2), Mixture(0.5, BEST, TwoStage(5.0, 5.0))),
    "brf": (RandomFeatures(2, 0.3), Mixture(0.3, RANDOM, BEST)),
    "denil": (PoissonFeatures(1.0), BEST),
}


def stronger(choice, factor):
    if isinstance(choice, Joint):
        return Joint(choice.strength * factor)
    if isinstance(choice, Mixture):
        if choice.other == BEST:
            return replace(choice, probability=choice.probability * factor)
        return replace(choice, other=stronger(choice.other, factor))
    return TwoStage(choice.feature * factor, choice.value * factor)


@pytest.mark.parametrize("n_classes", [3, 0])
@pytest.mark.parametrize("name", LAWS)
def test_root_splits_are_drawn_by_the_rules(name, n_classes):
    X, signal, against_rest = table()
    y = np.digitize(signal, [2.0, 3.5]) if n_classes else signal
    candidates, splits = LAWS[name]
    answers = Label() if n_classes else Mean()
    rules = ForestRules(EVERYONE, candidates, splits, answers, STUMP)
    counts = root_counts(X, y, n_classes, against_rest, rules)
    assert p_value(counts, root_law(X, y, n_classes, against_rest, rules)) > ALPHA
    if splits == BEST:
        wrong = [replace(rules, candidates=PoissonFeatures(mean)) for mean in (0.7, 1.3)]
    else:
        wrong = [replace(rules, splits=stronger(splits, factor)) for factor in (0.7, 1.3)]
    for other in wrong:
        assert p_value(counts, root_law(X, y, n_classes, against_rest, other)) < ALPHA


def test_equal_best_splits_are_taken_in_turn():
    # Three copies of a feature: each is the root of a third of the trees.
    X, signal, _ = table()
    X = X[:, [0, 0, 0]]
    for n_classes, y, answers in (
        (2, (signal > 3).astype(int), Label()),
        (0, signal, Mean("weighted_mse")),
    ):
        rules = ForestRules(EVERYONE, AllFeatures(), BEST, answers, STUMP)
        forest = grow_forest(
            X, y, n_classes, np.zeros(3, bool), rules, 6000, np.random.SeedSequence(5)
        )
        counts = Counter(forest.feature[forest.roots[:-1]].tolist())
        assert p_value(counts, {f: 1 / 3 for f in range(3)}) > ALPHA


def test_labels_of_leaves_are_drawn_by_their_shares():
    # A root that may not split: 90 records with shares 0.5, 0.3, 0.2.
    y = np.repeat([0, 1, 2], [45, 27, 18])
    X = np.zeros((90, 1))

    def law(strength):
        weights = np.exp(strength * np.array([0.5, 0.3, 0.2]))
        return dict(enumerate(weights / weights.sum()))

    def counts(strength):
        rules = ForestRules(EVERYONE, AllFeatures(), BEST, Label(strength), STUMP)
        forest = grow_forest(X, y, 3, np.zeros(1, bool), rules, 6000, np.random.SeedSequence(6))
        return Counter(forest.value.astype(int).tolist())

    assert p_value(counts(5.0), law(5.0)) > ALPHA
    assert p_value(counts(5.0), law(3.5)) < ALPHA
    assert p_value(counts(5.0), law(6.5)) < ALPHA
    assert counts(math.inf) == {0: 6000}
    assert p_value(counts(0.0), law(0.0)) > ALPHA


def test_a_searched_range_is_that_of_the_picked_points():
    # One feature 0 … 19 once each, 3 picked points: P(range is [a, b]) = (b - a - 1) / C(20, 3),
    # and the best cut of an alternating sequence of classes depends on nothing but the range.
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] >= 10).astype(int)
    rules = ForestRules(
        GivenPartition(tuple(range(20)), tuple(range(20))), AllFeatures(),
        TwoStage(0.0, 0.0, search_points=3), Label(), STUMP,
    )  # fmt: skip
    law = Counter()
    for a, b in itertools.combinations(range(20), 2):
        for cut in range(a, b):
            law[0, cut + 0.5] += (b - a - 1) / math.comb(20, 3) / (b - a)
    counts = root_counts(X, y, 2, np.zeros(1, bool), rules)
    assert p_value(counts, law) > ALPHA
    uniform = {(0, cut + 0.5): 1 / 19 for cut in range(19)}
    assert p_value(counts, uniform) < ALPHA
