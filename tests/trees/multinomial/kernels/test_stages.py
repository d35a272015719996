"""The two stages score as the whole level does, to the bit, and as the slow twin normalises."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.kernels import scoring, stages

N_CODES = (6, 3, 40, 2, 17)
ORDERED = np.array([True, False, True, False, False])


def random_boxes(generator):
    """A box of each kind: whole, cut, and with single codes."""
    boxes = []
    for keep in (1.0, 0.7, 0.4, 0.1):
        box = []
        for m, is_ordered in zip(N_CODES, ORDERED, strict=True):
            if is_ordered:
                low = int(generator.integers(0, m)) if keep < 1 else 0
                high = int(generator.integers(low, m)) if keep < 1 else m - 1
                box.append(set(range(low, high + 1)))
            else:
                box.append({c for c in range(m) if generator.random() < keep} or {0})
        boxes.append(box)
    return boxes


def counted_nodes(twins, seed, n_classes):
    """Nodes with many records, few and none in random boxes, as the kernels take them."""
    generator = np.random.default_rng(seed)
    boxes = random_boxes(generator) * 3
    hist = []
    for box, n_rows in zip(boxes, [500] * 4 + [12, 3, 1, 0] + [80] * 4, strict=True):
        columns = [generator.choice(sorted(codes), n_rows) for codes in box]
        codes = np.array(columns).T.astype(np.uint8).reshape(n_rows, len(N_CODES))
        labels = generator.integers(0, n_classes, n_rows)
        counts = twins.histogram(codes, labels, range(n_rows), N_CODES, n_classes)
        hist.append(twins.flat_histogram(counts))
    arrays = twins.box_arrays(boxes, N_CODES, ORDERED)
    return np.array(hist, dtype=np.int32), twins.offsets_of(N_CODES), ORDERED, *arrays


def all_scores(counted, criterion):
    out = np.full(counted[0].shape[:2], np.nan)
    scoring.score_level(*counted, criterion.code, out)
    return out


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("name", CRITERIA)
def test_best_scores_are_the_largest_of_the_level(twins, name, n_classes):
    criterion = CRITERIA[name]
    for seed in range(5):
        counted = counted_nodes(twins, seed, n_classes)
        scores, offsets = all_scores(counted, criterion), counted[1]
        spans = list(zip(offsets[:-1], offsets[1:], strict=True))
        for normalised in (False, True):
            got = np.full((len(scores), len(N_CODES)), np.nan)
            stages.best_scores(*counted, criterion.code, normalised, got)
            for node, row in enumerate(scores):
                best = [row[a:b].max() for a, b in spans]
                expected = twins.normalised(best) if normalised else best
                np.testing.assert_array_equal(got[node], expected)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CRITERIA)
def test_chosen_scores_are_those_of_the_level(twins, name, n_classes):
    criterion = CRITERIA[name]
    counted = counted_nodes(twins, 9, n_classes)
    scores, offsets = all_scores(counted, criterion), counted[1]
    features = np.arange(len(scores)) % (len(N_CODES) + 1) - 1
    sizes = np.where(features >= 0, np.array(N_CODES)[features], 0)
    starts = np.cumsum(sizes) - sizes
    for normalised in (False, True):
        got = np.full(int(sizes.sum()), np.nan)
        stages.chosen_scores(*counted, criterion.code, normalised, features, starts, got)
        rows = [s[offsets[f] : offsets[f + 1]] for s, f in zip(scores, features, strict=True)]
        rows = [row for row, f in zip(rows, features, strict=True) if f >= 0]
        expected = [twins.normalised(row) if normalised else row for row in rows]
        np.testing.assert_array_equal(got, np.concatenate(expected))


@pytest.mark.parametrize("large", [2**26, 2**26 + 2, 2**30])
def test_counts_beyond_exact_doubles_are_squared_in_integers(twins, large):
    """Around the number of records up to which squares are taken in doubles."""
    counts = [[[large - 7, 3], [2, 1], [0, 0], [1, 0]], [[large - 5, 4], [1, 0], [0, 0], [0, 0]]]
    assert sum(map(sum, counts[0])) == large
    hist = twins.flat_histogram(counts)[None].astype(np.int32)
    ordered = np.array([True, False])
    boxes = twins.box_arrays([[set(range(4)), set(range(4))]], (4, 4), ordered)
    counted = hist, twins.offsets_of((4, 4)), ordered, *boxes
    criterion = CRITERIA["gini_count"]
    scores = all_scores(counted, criterion)
    got = np.empty((1, 2))
    stages.best_scores(*counted, criterion.code, False, got)
    np.testing.assert_array_equal(got[0], [scores[0, :3].max(), scores[0, 4:].max()])


def test_squares_of_many_records_are_rounded_once():
    # Beyond 2^26 records a square is no double, and two that are rounded apart are no exact sum.
    generator = np.random.default_rng(5)
    hist = generator.integers(2**28, 2**29, (500, 2, 2)).astype(np.int32)
    n = len(hist)
    low, high = np.zeros((n, 1), np.int32), np.ones((n, 1), np.int32)
    alive = np.ones((n, 2), np.bool_)
    out = np.empty((n, 1))
    facts = np.array([0, 2]), np.array([True]), low, high, alive
    stages.best_scores(hist, *facts, scoring.GINI_COUNT, False, out)
    for counts, score in zip(hist.tolist(), out[:, 0], strict=True):
        purities = [np.float64(a * a + b * b) / np.float64(a + b) for a, b in counts]
        assert score == sum(np.floor(purity * scoring.LATTICE_STEPS) for purity in purities)
