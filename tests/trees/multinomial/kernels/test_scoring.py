"""Scores equal their slow twin; what is a candidate follows from the box alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.kernels import scoring

N_CODES = (6, 3, 9, 2, 4)
ORDERED = np.array([True, False, True, False, False])


def plain(kernel):
    return getattr(kernel, "py_func", kernel)


def nodes_with_boxes(twins, n_classes):
    """Histograms of records drawn inside boxes: whole, cut, single codes, and empty nodes."""
    whole = [set(range(m)) for m in N_CODES]
    cut = [{2, 3, 4}, {0, 2}, {8}, {0, 1}, {1}]
    point = [{5}, {1}, {0}, {1}, {2}]
    boxes = [whole, cut, point, whole, cut]
    generator = np.random.default_rng(1)
    counts = []
    for box, n_rows in zip(boxes, (60, 40, 10, 0, 1), strict=True):
        columns = [generator.choice(sorted(codes), n_rows) for codes in box]
        labels = generator.integers(0, n_classes, n_rows)
        codes = np.array(columns).T.astype(np.uint8)
        counts.append(twins.histogram(codes, labels, range(n_rows), N_CODES, n_classes))
    return boxes, counts


def score(twins, hist, boxes, criterion, kernel=scoring.score_level):
    out = np.full(hist.shape[:2], np.nan)
    arrays = twins.box_arrays(boxes, N_CODES, ORDERED)
    kernel(hist, twins.offsets_of(N_CODES), ORDERED, *arrays, CRITERIA[criterion].code, out)
    return out


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("name", CRITERIA)
def test_scores_equal_the_twin(twins, name, n_classes):
    boxes, counts = nodes_with_boxes(twins, n_classes)
    hist = np.array([twins.flat_histogram(node) for node in counts])
    got = score(twins, hist, boxes, name)
    expected = [
        twins.scores(node, box, ORDERED, name) for node, box in zip(counts, boxes, strict=True)
    ]
    if CRITERIA[name].normalised:
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", CRITERIA)
def test_compiled_equals_not_compiled(twins, name):
    boxes, counts = nodes_with_boxes(twins, 3)
    hist = np.array([twins.flat_histogram(node) for node in counts])

    def slow(*arguments):
        table = scoring._x_log_x_table()
        plain(scoring._score_level)(*arguments[:-1], table, arguments[-1])

    np.testing.assert_array_equal(
        score(twins, hist, boxes, name, slow), score(twins, hist, boxes, name)
    )


@pytest.mark.parametrize("name", CRITERIA)
def test_a_class_nobody_has_changes_nothing(twins, name):
    """Two classes take a path of their own through the Gini scores."""
    boxes, counts = nodes_with_boxes(twins, 2)
    hist = np.array([twins.flat_histogram(node) for node in counts])
    wider = np.concatenate([hist, np.zeros_like(hist[:, :, :1])], axis=2)
    np.testing.assert_array_equal(score(twins, wider, boxes, name), score(twins, hist, boxes, name))


@pytest.mark.parametrize("name", CRITERIA)
def test_candidates_follow_from_the_box_alone(twins, name):
    boxes, counts = nodes_with_boxes(twins, 3)
    hist = np.array([twins.flat_histogram(node) for node in counts])
    with_records = score(twins, hist, boxes, name)
    without = score(twins, np.zeros_like(hist), boxes, name)
    np.testing.assert_array_equal(np.isfinite(with_records), np.isfinite(without))
    assert (without[np.isfinite(without)] == 0).all()
    assert not np.isfinite(without[2]).any()  # the box of one point
    assert not np.isnan(with_records).any()


def test_logarithms_beyond_the_table(twins):
    """Counts past the table of x ln x take the logarithm itself."""
    counts = [[[40000, 100], [100, 50000]], [[40100, 50100], [0, 0]]]
    hist = twins.flat_histogram(counts)[None]
    boxes = twins.box_arrays([[{0, 1}, {0, 1}]], (2, 2), (True, True))
    out = np.empty((1, 4))
    ordered = np.array([True, True])
    code = CRITERIA["entropy_decrease"].code
    scoring.score_level(hist, twins.offsets_of((2, 2)), ordered, *boxes, code, out)
    left, right = counts[0]
    assert out[0, 0] == pytest.approx(twins.decrease(twins.entropy, left, right), rel=1e-9)
    assert out[0, 2] == pytest.approx(0, abs=1e-9)


def some_scores():
    generator = np.random.default_rng(2)
    scores = generator.normal(size=(6, sum(N_CODES)))
    scores[generator.random(scores.shape) < 0.3] = -np.inf
    scores[1, :6] = -np.inf  # a feature without candidates
    scores[2] = -np.inf  # a node without any
    scores[3] = 0.25  # all the same
    return scores


@pytest.mark.parametrize("compiled", [True, False])
def test_joint_scores_equal_the_twin(twins, compiled):
    scores = some_scores()
    expected = [twins.normalised(node) for node in scores]
    kernel = scoring.joint_scores if compiled else plain(scoring.joint_scores)
    unchanged = scores.copy()
    kernel(unchanged, False)
    np.testing.assert_array_equal(unchanged, scores)
    kernel(scores, True)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("spread", [5e-324, 1e-300, 1.0, 1e300])
def test_normalised_scores_never_leave_the_lattice(spread):
    fractions = np.linspace(0, 1, 1001)
    scores = (fractions * spread)[None].copy()
    scoring.joint_scores(scores, True)
    assert scores.min() == 0
    assert scores.max() == scoring.LATTICE_STEPS
    np.testing.assert_array_equal(scores, np.floor(scores))


def test_splits_of_a_choice():
    features = np.array([2, 1, -1, 0])
    split = np.full((3, 4), -7, np.int32)
    scoring.chosen_splits(ORDERED, features, np.array([4, 2, -1, -1]), *split)
    np.testing.assert_array_equal(split, [[2, 1, -1, -1], [0, 2, 0, 0], [4, 2, 0, 0]])
