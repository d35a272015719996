"""The compiled grower against its slow twin: the same trees from the same draws."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from dpforest.consistent.answers import Label, Mean
from dpforest.consistent.candidates import AllFeatures, PoissonFeatures, RandomFeatures
from dpforest.consistent.grower import grow_forest
from dpforest.consistent.inclusion import BernoulliInclusion, Everyone, Partition
from dpforest.consistent.kernels import compiling
from dpforest.consistent.kernels.grow import grow_tree
from dpforest.consistent.rules import ForestRules, Stop
from dpforest.consistent.splits import BEST, RANDOM, Joint, Mixture, TwoStage
from dpforest.consistent.table import encode_table

_SPEC = importlib.util.spec_from_file_location("growers", Path(__file__).with_name("growers.py"))
growers = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(growers)

TWO_STAGE = TwoStage(5.0, 5.0)
SINGLE = RandomFeatures(single=0.3)
RULES = {
    "mrf": ForestRules(Partition(), AllFeatures(), TWO_STAGE, Label(), Stop(6)),
    "mrf, leaves drawn": ForestRules(Partition(), AllFeatures(), TWO_STAGE, Label(2.0), Stop(4)),
    "mrf (b)": ForestRules(BernoulliInclusion(), AllFeatures(), TWO_STAGE, Label(), Stop(5)),
    "mrf 2019": ForestRules(Partition(), SINGLE, Joint(10.0), Label(), Stop(6)),
    "dmrf": ForestRules(
        BernoulliInclusion(), RandomFeatures(), Mixture(0.5, BEST, TWO_STAGE), Label(), Stop(5)
    ),
    "brf": ForestRules(Partition(2.0), SINGLE, Mixture(0.3, RANDOM, BEST), Label(), Stop(6)),
    "denil": ForestRules(
        Partition(), PoissonFeatures(1.5), TwoStage(math.inf, math.inf, 12), Label(), Stop(6)
    ),
    "drawn once": ForestRules(
        BernoulliInclusion(), RandomFeatures(1, redraw=False), TWO_STAGE, Label(), Stop(2)
    ),
    "poisson, drawn once": ForestRules(
        Partition(), PoissonFeatures(0.5, redraw=False), BEST, Label(), Stop(2)
    ),
    "leaf size": ForestRules(Partition(), AllFeatures(), TWO_STAGE, Label(), Stop(11, 5)),
    "depth": ForestRules(Everyone(), AllFeatures(), TWO_STAGE, Label(), Stop(2, 1, 3)),
}
REGRESSION = {
    "mrf 2019": ForestRules(Partition(), SINGLE, Joint(10.0), Mean(), Stop(6)),
    "dmrf": ForestRules(
        BernoulliInclusion(), RandomFeatures(), Mixture(0.5, BEST, TWO_STAGE), Mean(), Stop(5)
    ),
    "brf": ForestRules(
        Partition(), SINGLE, Mixture(0.3, RANDOM, BEST), Mean("weighted_mse"), Stop(6)
    ),
    "all": ForestRules(Partition(), AllFeatures(), BEST, Mean("weighted_mse"), Stop(3)),
}


def table(kind, n, seed=3):
    """Features of few values, of many, or of both; some split one value against the rest."""
    generator = np.random.default_rng(seed)
    few = np.floor(generator.random((n, 4)) ** 2 * [2, 3, 5, 7])
    many = generator.normal(size=(n, 4))
    many[:, 0] = np.round(many[:, 0], 1)
    many[:, 3] = np.floor(np.abs(many[:, 3]) * 20)
    X = {"few": few, "many": many, "both": np.hstack([few, many])}[kind]
    against_rest = np.arange(X.shape[1]) % 2 == 1
    signal = X[:, 0] + X[:, 1] * X[:, 2] + generator.normal(size=n)
    return X, signal, against_rest


def classes_of(signal, n_classes):
    return np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def compare(X, y, n_classes, against_rest, rules, seed, keep_sorted):
    generator = np.random.default_rng(seed)
    structure, estimation = rules.records.draw(len(y), generator)
    key = generator.integers(0, 2**64, dtype=np.uint64)
    encoded = encode_table(
        X, y if n_classes else None, None if n_classes else y, n_classes, against_rest, keep_sorted
    )
    classifies = isinstance(rules.answers, Label)
    if classifies:  # as the grower does; Denil14's random points depend on the order
        structure = structure[np.argsort(y[structure], kind="stable")]
    twin = growers.Twin(X, y, n_classes, against_rest, rules).grow(
        structure.tolist(), None if estimation is None else estimation.tolist(), int(key)
    )
    tree = grow_tree(
        encoded, rules.candidates.parameters(X.shape[1]), rules.splits.parameters(),
        rules.stop.parameters(), rules.answers.strength if classifies else 0.0,
        0 if classifies else rules.answers.code, structure,
        np.empty(0, np.int32) if estimation is None else estimation, estimation is None, key,
    )  # fmt: skip
    growers.assert_same(growers.as_nested(tree), twin, 0.0 if classifies else 1e-9)
    return twin


@pytest.mark.parametrize("kind", ["few", "many", "both"])
@pytest.mark.parametrize("name", RULES)
def test_trees_are_the_twins(name, kind):
    X, signal, against_rest = table(kind, 150)
    twins = [
        compare(X, classes_of(signal, k), k, against_rest, RULES[name], seed, keep_sorted)
        for seed, k, keep_sorted in ((0, 2, True), (1, 3, False), (2, 3, True), (3, 9, True))
    ]
    assert any("children" in twin for twin in twins)


@pytest.mark.parametrize("kind", ["few", "many", "both"])
@pytest.mark.parametrize("name", REGRESSION)
def test_regression_trees_are_the_twins(name, kind):
    X, signal, against_rest = table(kind, 150)
    twins = [
        # With ties, and without.
        compare(X, np.round(signal, seed), 0, against_rest, REGRESSION[name], seed, seed % 2 == 0)
        for seed in (0, 7, 12, 13)
    ]
    assert any("children" in twin for twin in twins)


def test_counts_kept_with_nodes_and_counts_made_afresh_give_the_same_tree():
    # 600 records keep counts for many levels; with few cells a record they are made afresh below.
    X, signal, against_rest = table("both", 600)
    compare(X, classes_of(signal, 3), 3, against_rest, RULES["mrf"], 5, True)


def test_codes_of_many_values_fit():
    X, signal, _ = table("many", 400)
    X[:, 2] = np.random.default_rng(0).permutation(400)  # more than 256 values
    compare(X, classes_of(signal, 2), 2, np.arange(4) == 2, RULES["mrf"], 6, True)


@pytest.mark.parametrize("name", ["mrf", "dmrf", "denil"])
def test_nothing_depends_on_threads(name):
    X, signal, against_rest = table("both", 300)
    y = classes_of(signal, 3)

    def grown(n_jobs):
        seed = np.random.SeedSequence(11)
        return grow_forest(X, y, 3, against_rest, RULES[name], 12, seed, n_jobs)

    one, three = grown(1), grown(3)
    for part in ("roots", "feature", "low", "high", "child", "value", "n_estimation"):
        assert np.array_equal(getattr(one, part), getattr(three, part), equal_nan=part == "value")
    assert np.array_equal(one.votes(X, 1), three.votes(X, 2))


@pytest.mark.parametrize("name", RULES)
def test_leaves_hold_what_the_stop_promises(name):
    X, signal, against_rest = table("both", 400)
    rules = RULES[name]
    forest = grow_forest(
        X, classes_of(signal, 3), 3, against_rest, rules, 10, np.random.SeedSequence(2)
    )
    for number in range(forest.n_trees):
        tree = forest.tree(number)
        inner = tree.feature >= 0
        assert (tree.n_estimation[inner] >= rules.stop.split_from).all()
        assert (tree.n_estimation[1:] >= rules.stop.child_from).all()


def test_a_forest_finds_its_leaves_again():
    X, signal, against_rest = table("both", 300)
    rules = ForestRules(Everyone(), AllFeatures(), TWO_STAGE, Label(), Stop(4))
    forest = grow_forest(
        X, classes_of(signal, 3), 3, against_rest, rules, 5, np.random.SeedSequence(3)
    )
    leaves = forest.leaves(X)
    for number in range(5):
        tree = forest.tree(number)
        places, counts = np.unique(leaves[:, number], return_counts=True)
        assert (tree.feature[places] == -1).all()
        assert np.array_equal(tree.n_estimation[places], counts)


def test_votes_and_means_are_those_of_the_leaves():
    X, signal, against_rest = table("both", 300)
    y = classes_of(signal, 3)
    forest = grow_forest(X, y, 3, against_rest, RULES["mrf"], 7, np.random.SeedSequence(4))
    nodes = forest.leaves(X) + forest.roots[:-1]
    votes = np.apply_along_axis(np.bincount, 1, forest.value[nodes].astype(int), minlength=3)
    assert np.array_equal(np.floor(forest.votes(X)), votes)
    forest = grow_forest(
        X, signal, 0, against_rest, REGRESSION["dmrf"], 7, np.random.SeedSequence(5)
    )
    nodes = forest.leaves(X) + forest.roots[:-1]
    assert np.allclose(forest.means(X), forest.value[nodes].mean(axis=1), rtol=1e-12)


def test_tied_votes_are_broken_at_random_and_always_alike():
    # Leaves answer independently of the features, two trees: every second record is tied.
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 2))
    y = generator.integers(0, 2, 4000)
    rules = ForestRules(Partition(), AllFeatures(), TWO_STAGE, Label(), Stop(6))
    forest = grow_forest(X, y, 2, np.zeros(2, bool), rules, 2, np.random.SeedSequence(1))
    votes = forest.votes(X)
    tied = np.floor(votes[:, 0]) == np.floor(votes[:, 1])
    assert (votes[:, 0] != votes[:, 1]).all()
    wins = (votes[tied, 0] > votes[tied, 1]).sum()
    # Leaves are shared, so count pairs of leaves rather than records.
    pairs, first = np.unique(forest.leaves(X)[tied], axis=0, return_index=True)
    share = (votes[tied][first, 0] > votes[tied][first, 1]).mean()
    assert abs(share - 0.5) < 6.2 * 0.5 / math.sqrt(len(pairs))  # alpha 1e-9
    assert 0 < wins < tied.sum()
    assert np.array_equal(forest.votes(X[::-1]), votes[::-1])


def test_parts_compile_where_numba_has_no_option_against_counts(monkeypatch):
    kernel = compiling.kernel

    def without_option(**options):
        if "_nrt" in options:
            raise KeyError("_nrt")
        return kernel(**options)

    monkeypatch.setattr(compiling, "kernel", without_option)
    assert compiling.part(cache=False)(lambda x: x + 1)(1) == 2
