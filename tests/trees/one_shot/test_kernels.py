"""Kernels against slow twins."""

from __future__ import annotations

import numpy as np

from dpforest.trees.one_shot.kernels.grid_trees import draw_grid_trees
from dpforest.trees.one_shot.kernels.leaf_tables import add_leaf_tables
from dpforest.trees.one_shot.kernels.score_tables import (
    _steps_kept,
    add_pair_scores,
    add_score_histogram,
)

STEPS = 2**20


def small_forest(seed: int):
    """Trees over three features of 5, 3 and 70 codes, in two words of bits."""
    n_codes = np.array([5, 3, 70])
    offsets = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
    bins = np.concatenate([np.arange(5), np.arange(3), np.arange(70) // 7]).astype(np.int64)
    starts = np.array([0, 5, 8, 18], dtype=np.int64)
    features = np.array([[0, 2], [2, 1], [1, -1], [2, 0]], dtype=np.int32)
    feature, mask = np.empty((4, 15), np.int32), np.empty((4, 15, 2), np.uint64)
    words = np.random.default_rng(seed).integers(0, 2**64, size=4, dtype=np.uint64)
    ordered = np.array([True, False, True])
    listed = np.array([0, seed % 3, 0], dtype=np.uint8)
    arguments = words, features, 4, bins, starts, offsets, ordered, listed
    draw_grid_trees(*arguments, feature, mask)
    compiled = feature.copy(), mask.copy()
    draw_grid_trees.py_func(*arguments, feature, mask)
    assert (feature == compiled[0]).all() and (mask == compiled[1]).all()
    generator = np.random.default_rng(seed + 1)
    codes = np.column_stack([generator.integers(0, n, 1200) for n in n_codes]).astype(np.uint8)
    return codes, generator.integers(0, 3, 1200).astype(np.uint8), feature, mask


def leaf_of(record, feature, mask) -> int:
    node = 0
    while node < feature.size:
        code = int(record[feature[node]])
        left = int(mask[node, code // 64]) >> (code % 64) & 1
        node = 2 * node + 2 - left
    return node - feature.size


def test_leaf_tables_count_every_record_once_a_tree():
    codes, labels, feature, mask = small_forest(1)
    tables = np.zeros((4, 16, 3), dtype=np.int64)
    add_leaf_tables(codes, labels, feature, mask, 4, tables)
    twin = np.zeros_like(tables)
    for record, label in zip(codes, labels, strict=True):
        for tree in range(4):
            twin[tree, leaf_of(record, feature[tree], mask[tree]), label] += 1
    assert (tables == twin).all()


def test_score_histogram():
    generator = np.random.default_rng(2)
    # More than one block; NaN is not above any edge.
    ends = [-1.0, 0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    scores = np.concatenate([ends, generator.normal(size=1100), ends])
    labels = generator.integers(0, 2, scores.size).astype(np.uint8)
    edges = np.array([-1.0, 0.0, 1.0])
    counts = np.zeros((4, 2), dtype=np.int64)
    add_score_histogram(scores, labels, edges, counts)
    twin = np.zeros_like(counts)
    places = np.searchsorted(edges, np.nan_to_num(scores, nan=-np.inf), side="right")
    np.add.at(twin, (places, labels), 1)
    assert (counts == twin).all()


def test_steps_of_a_record_are_none_to_all_whatever_its_log_probability_comes_to():
    # Rounding may leave a probability above 1; what no number is counts for nothing.
    odd = [0.0, 1e-3, 5.0, np.inf, -1e-3, -2.5, -1e300, -np.inf, np.nan]
    kept = [int(_steps_kept(np.array([log_p]), 1, 2.5, STEPS)) for log_p in odd]
    assert kept[:4] == [STEPS] * 4
    assert 0 < kept[4] < STEPS
    assert kept[5:] == [0] * 4


def test_pair_scores_lie_on_the_lattice_between_nothing_and_one():
    generator = np.random.default_rng(3)
    scores = generator.normal(scale=3.0, size=(200, 4))
    scores[:2] = [[1e300, 0.0, 0.0, -1e300], [-700.0, 700.0, 0.0, 0.0]]
    labels = generator.integers(0, 4, 200).astype(np.uint8)
    log_prior = np.log([0.1, 0.2, 0.3, 0.4])
    slopes, powers = np.array([0.0, 0.3, 2.0]), np.array([1.0, 0.5, 0.0])
    bound = 2.5
    single = np.zeros((200, 9), dtype=np.int64)
    for i in range(200):
        one = slice(i, i + 1)
        arguments = scores[one], labels[one], log_prior, slopes, powers, bound, STEPS, single[i]
        add_pair_scores(*arguments)
    together = np.zeros(9, dtype=np.int64)
    add_pair_scores(scores, labels, log_prior, slopes, powers, bound, STEPS, together)
    assert (single.sum(axis=0) == together).all()
    assert single.min() >= 0 and single.max() <= STEPS
    slopes, powers = np.repeat(slopes, 3), np.tile(powers, 3)
    values = slopes[None, :, None] * scores[2:, None, :] + powers[None, :, None] * log_prior
    top = values.max(axis=2)
    log_sum = top + np.log(np.exp(values - top[:, :, None]).sum(axis=2))
    log_p = (
        np.take_along_axis(values, labels[2:, None, None].astype(int), axis=2)[:, :, 0] - log_sum
    )
    twin = np.floor(np.clip(log_p + bound, 0.0, bound) / bound * STEPS)
    assert np.abs(single[2:] - twin).max() <= 1
