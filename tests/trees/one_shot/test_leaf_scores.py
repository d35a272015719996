"""Shrinkage: exact where there is no noise, the prior where there is nothing else."""

from __future__ import annotations

import numpy as np

from dpforest.trees.one_shot.leaf_scores import score_leaves

ALL_LIVE = np.ones((1, 4), dtype=bool)


def table(n: int) -> np.ndarray:
    return np.array([[[9 * n, n], [8 * n, 2 * n], [n, 9 * n], [5 * n, 5 * n]]], dtype=np.int64)


def test_large_counts_without_noise_give_their_own_log_odds():
    leaves = score_leaves(table(10**6), ALL_LIVE, 0.0, 10.0)
    p = np.exp(leaves.scores[0] + np.log(leaves.prior))
    assert np.allclose(p / p.sum(axis=1, keepdims=True), table(1)[0] / 10.0, atol=1e-4)
    assert np.allclose(leaves.prior, [23 / 40, 17 / 40], atol=1e-5)
    assert np.allclose(leaves.masses, 0.25)
    assert leaves.size == 40 * 10**6


def test_noise_beyond_the_counts_leaves_the_prior():
    generator = np.random.default_rng(1)
    noise = np.rint(generator.normal(scale=1e6, size=(8, 4, 2))).astype(np.int64)
    counts = np.repeat(table(10), 8, axis=0) + noise
    leaves = score_leaves(counts, np.ones((8, 4), dtype=bool), 1e12, 10.0)
    assert np.abs(leaves.scores).max() < 0.2
    assert (leaves.prior > 0.2).all()


def test_leaves_that_no_record_reaches_are_left_out():
    live = np.array([[True, True, True, False]])
    counts = table(1000)
    counts[0, 3] = 0
    wild = counts.copy()
    wild[0, 3] = [10**9, -(10**9)]
    first = score_leaves(counts, live, 50.0, 10.0)
    second = score_leaves(wild, live, 50.0, 10.0)
    assert (first.scores == second.scores).all()
    assert (first.scores[0, 3] == 0.0).all()
    assert first.masses[0, 3] == 0.0


def test_a_class_histogram_counts_by_its_noise():
    counts = table(1000)
    told = np.array([0, 40_000])
    sure = score_leaves(counts, ALL_LIVE, 1e6, 10.0, told, 1.0)
    unsure = score_leaves(counts, ALL_LIVE, 1.0, 10.0, told, 1e9)
    assert sure.prior[1] > 0.99
    assert abs(unsure.prior[1] - 17 / 40) < 1e-3


def test_trees_that_are_known_well_are_averaged():
    known = score_leaves(np.repeat(table(10**6), 10, axis=0), np.ones((10, 4), bool), 1.0, 10.0)
    drowned = score_leaves(np.repeat(table(1), 10, axis=0), np.ones((10, 4), bool), 1e8, 10.0)
    assert abs(known.scale - 0.1) < 1e-3
    assert drowned.scale > 0.9


def test_any_counts_give_finite_scores():
    generator = np.random.default_rng(2)
    for size in (0, 3, 10**6, 2**62):
        counts = generator.integers(-size, size + 1, size=(4, 8, 3))
        leaves = score_leaves(counts, np.ones((4, 8), dtype=bool), float(size) ** 2, 10.0)
        assert np.isfinite(leaves.scores).all()
        assert np.isfinite(leaves.masses).all()
        assert abs(leaves.prior.sum() - 1.0) < 1e-12
