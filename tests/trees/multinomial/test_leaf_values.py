"""Leaf values against a slow twin, and what prediction makes of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpforest.trees.multinomial.heaps import ReleasedTrees
from dpforest.trees.multinomial.leaf_values import (
    LeafValues,
    leaf_values,
    log_odds_values,
    released_prior,
    shrink_counts,
    vote_values,
)

# As documented; the twin shares no number with the code.
STRENGTH, VARIANCE_FLOOR, PROBABILITY_FLOOR = 10.0, 0.02, 1e-4


def to_probabilities(total, values):
    """Class probabilities from sums over trees, as the model makes them."""
    scores = total + values.base
    if values.log_scale:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def forest_of(counts, variance):
    counts = np.asarray(counts, dtype=np.int64)
    n_trees, n_leaves, n_classes = counts.shape
    nodes = np.zeros((n_trees, n_leaves - 1), dtype=np.int32)
    return ReleasedTrees(nodes, nodes, nodes, None, counts, variance, n_classes)


def noisy_counts(seed, n_trees, n_leaves, n_classes, size, spread):
    generator = np.random.default_rng(seed)
    true = generator.multinomial(size, generator.dirichlet(np.ones(n_leaves * n_classes)), n_trees)
    noise = np.rint(generator.normal(0, spread, true.shape)).astype(int)
    return (true + noise).reshape(n_trees, n_leaves, n_classes)


def twin_shrink(counts, variance):
    """Probabilities, masses and weights of one tree's leaves; one node at a time, from the root."""
    n_classes = len(counts[0])

    def visit(leaves, parent):
        sums = [sum(int(leaf[c]) for leaf in leaves) for c in range(n_classes)]
        noise = variance * len(leaves)
        size = sum(sums)
        mass = max(size, math.sqrt(noise * n_classes), 1e-9)
        spread = max(*(p * (1 - p) for p in parent), VARIANCE_FLOOR)
        effective = mass / (1 + noise / (mass * spread))
        weight = effective / (effective + STRENGTH)
        moved = [
            max(p + weight / mass * (count - p * size), 0.0)
            for p, count in zip(parent, sums, strict=True)
        ]
        own = [p / sum(moved) for p in moved] if sum(moved) > 0 else list(parent)
        if len(leaves) == 1:
            return [(own, mass, weight)]
        half = len(leaves) // 2
        return visit(leaves[:half], own) + visit(leaves[half:], own)

    return visit(counts, [1 / n_classes] * n_classes)


def twin_prior(forest):
    n_summed = forest.counts.shape[0] * forest.counts.shape[1]
    floor = max(1.0, math.sqrt(forest.noise_variance * n_summed))
    totals = [
        max(float(sum(int(n) for n in forest.counts[..., c].ravel())), floor)
        for c in range(forest.n_classes)
    ]
    return [total / sum(totals) for total in totals]


def twin_probabilities(forest, leaf_of_tree):
    """Class probabilities of a record that falls into the given leaf of each tree."""
    n_trees, n_classes = forest.n_trees, forest.n_classes
    score, own = [0.0] * n_classes, 0.0
    for t in range(n_trees):
        leaves = twin_shrink(forest.counts[t].tolist(), forest.noise_variance)
        whole = sum(mass for _, mass, _ in leaves)
        own += sum(mass * weight for _, mass, weight in leaves) / whole / n_trees
        for c in range(n_classes):
            logs = [math.log(max(p[c], PROBABILITY_FLOOR)) for p, _, _ in leaves]
            centre = sum(m * x for (_, m, _), x in zip(leaves, logs, strict=True)) / whole
            score[c] += logs[leaf_of_tree[t]] - centre
    prior = twin_prior(forest)
    odds = [
        math.exp(s / (1 + (n_trees - 1) * own)) * max(p, PROBABILITY_FLOOR)
        for s, p in zip(score, prior, strict=True)
    ]
    return [x / sum(odds) for x in odds]


CASES = [
    (2, 300, 0.0),
    (2, 300, 8.0),
    (3, 1000, 2.0),
    (5, 40, 30.0),
    (2, 100_000, 1.0),
    (2, 0, 5.0),
]


@pytest.mark.parametrize(("n_classes", "size", "spread"), CASES)
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_shrinkage_is_the_twins(n_classes, size, spread, depth):
    for counts in noisy_counts(depth, 3, 2**depth, n_classes, size, spread):
        shrunk = shrink_counts(counts, spread**2)
        for leaf, (probabilities, mass, weight) in enumerate(twin_shrink(counts, spread**2)):
            assert shrunk.probabilities[leaf] == pytest.approx(probabilities, abs=1e-12)
            assert shrunk.masses[leaf] == pytest.approx(mass)
            assert shrunk.weights[leaf] == pytest.approx(weight)


@pytest.mark.parametrize(("n_classes", "size", "spread"), CASES)
def test_probabilities_are_the_twins(n_classes, size, spread):
    forest = forest_of(noisy_counts(7, 3, 4, n_classes, size, spread), spread**2)
    assert released_prior(forest) == pytest.approx(twin_prior(forest))
    values = log_odds_values(forest)
    assert values.log_scale and values.values.shape == (3, 4, n_classes)
    for leaves in ([0, 0, 0], [1, 2, 3], [3, 0, 2]):
        total = sum(values.values[t, leaf] for t, leaf in enumerate(leaves))
        found = to_probabilities(total[None, :], values)[0]
        assert found == pytest.approx(twin_probabilities(forest, leaves), abs=1e-12)


@pytest.mark.parametrize(("n_classes", "size", "spread"), CASES)
def test_values_are_finite_and_probabilities_are_such(n_classes, size, spread):
    counts = noisy_counts(3, 6, 16, n_classes, size, spread)
    for forest in (forest_of(counts, spread**2), forest_of(counts - 50, spread**2)):
        shrunk = shrink_counts(forest.counts[0], forest.noise_variance)
        assert np.allclose(shrunk.probabilities.sum(axis=1), 1)
        assert ((shrunk.probabilities >= 0) & (shrunk.probabilities <= 1)).all()
        assert ((shrunk.weights >= 0) & (shrunk.weights < 1)).all() and (shrunk.masses > 0).all()
        values = leaf_values(forest)
        total = values.values[:, :, :].sum(axis=0)
        probabilities = to_probabilities(total, values)
        assert np.isfinite(probabilities).all() and np.allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("scale", [1, 10**6, 2**61])
def test_counts_drowned_in_noise(scale):
    # Sums of such counts leave the range of int64; a wrap would turn signs round.
    forest = forest_of(np.full((2, 8, 2), scale), float(scale) ** 2)
    values = leaf_values(forest)
    probabilities = to_probabilities(values.values.sum(axis=0), values)
    assert probabilities == pytest.approx(np.full((8, 2), 0.5))
    lopsided = forest_of(np.full((2, 8, 2), (scale, -scale)), 1.0)
    values = leaf_values(lopsided)
    assert (to_probabilities(values.values.sum(axis=0), values)[:, 0] > 0.5).all()


def test_noise_prunes_by_itself():
    counts = np.zeros((1, 8, 2), dtype=np.int64)
    counts[0, :4], counts[0, 4:] = (90, 10), (10, 90)
    clear = shrink_counts(counts[0], 1.0)
    assert clear.probabilities[0, 0] > 0.8 and clear.probabilities[7, 0] < 0.2
    drowned = shrink_counts(counts[0], 1e8)
    assert drowned.probabilities == pytest.approx(np.full((8, 2), 0.5), abs=0.01)
    assert drowned.weights.max() < 0.05 < 0.7 < clear.weights.min()


def test_log_odds_are_averaged_where_leaves_are_known_and_added_where_not():
    leaves = np.array([[9_000, 1_000], [1_000, 9_000]])
    for n_trees in (1, 10):
        values = log_odds_values(forest_of([leaves] * n_trees, 0.0))
        total = values.values[:, 0].sum(axis=0)
        assert to_probabilities(total[None], values)[0, 0] == pytest.approx(0.9, abs=0.01)
    faint = [log_odds_values(forest_of([leaves // 1000] * n, 1e4)) for n in (1, 10)]
    one, ten = (v.values[:, 0].sum(axis=0)[0] for v in faint)
    assert 5 * one < ten < 10.001 * one


def test_votes_are_shares_of_drawn_labels():
    labels = np.array([[0, 2], [2, 2], [0, 1], [0, 0]], dtype=np.int32)
    values = vote_values(labels, 3)
    assert not values.log_scale and not values.base.any()
    for leaves, expected in (([0] * 4, [3 / 4, 0, 1 / 4]), ([1] * 4, [1 / 4, 1 / 4, 1 / 2])):
        total = sum(values.values[t, leaf] for t, leaf in enumerate(leaves))
        assert to_probabilities(total[None], values)[0] == pytest.approx(expected)
    nodes = np.zeros((4, 1), dtype=np.int32)
    forest = ReleasedTrees(nodes, nodes, nodes, labels, None, 0.0, 3)
    assert np.array_equal(leaf_values(forest).values, values.values)


def test_log_odds_need_counts():
    labels = np.zeros((1, 2), dtype=np.int32)
    nodes = np.zeros((1, 1), dtype=np.int32)
    with pytest.raises(AssertionError, match="released counts"):
        log_odds_values(ReleasedTrees(nodes, nodes, nodes, labels, None, 0.0, 2))


def test_softmax_does_not_overflow():
    values = LeafValues(np.zeros((1, 1, 2)), np.array([0.0, 1.0]), log_scale=True)
    probabilities = to_probabilities(np.array([[1e4, -1e4], [-1e4, 1e4], [0.0, 0.0]]), values)
    assert probabilities[:2] == pytest.approx(np.array([[1, 0], [0, 1]]))
    assert probabilities[2] == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e)])
