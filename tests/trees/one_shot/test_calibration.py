"""Calibration: what one record can change, and what the fits arrive at."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import TrainingTable
from dpforest.trees.one_shot import calibration
from dpforest.trees.one_shot.calibration import (
    STEPS,
    fit_logistic,
    release_histogram_calibration,
    release_pair_calibration,
)
from dpforest.trees.one_shot.leaf_scores import LeafScores

WIDE = np.array([2.0, 1.0])
CENTRES = np.linspace(-3.0, 3.0, 16)


def leaves_of(prior: list[float]) -> LeafScores:
    generator = np.random.default_rng(1)
    scores = generator.normal(size=(3, 8, len(prior)))
    return LeafScores(scores, np.full((3, 8), 1 / 8), np.array(prior), 1000.0, 0.5)


def grant_for(event):
    scope = BudgetAccountant._unlimited().open_scope("calibration")
    return scope.request(event, role="calibration", cells=16)


class Scored:
    """Records whose only code is their number, and the scores that somebody gave them."""

    def __init__(self, scores: np.ndarray) -> None:
        self._scores = scores if scores.ndim == 2 else scores[:, None]

    def scores(self, codes: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self._scores[codes[:, 0]])


def records_with(scores: np.ndarray, labels: np.ndarray) -> tuple[MemoryRecords, Scored]:
    n_codes = np.array([2**16])
    codes = np.arange(len(scores), dtype=np.uint16)[:, None]
    offsets, ordered = np.array([0, 2**16]), np.array([True])
    n_classes = 2 if scores.ndim == 1 else scores.shape[1]
    table = TrainingTable(codes, labels.astype(np.uint8), n_codes, offsets, ordered, n_classes)
    return MemoryRecords(table), Scored(scores)


def histogram(slope: float, intercept: float, n: float) -> np.ndarray:
    p = 1.0 / (1.0 + np.exp(-slope * CENTRES - intercept))
    return n * np.column_stack([1.0 - p, p])


@pytest.mark.parametrize(("slope", "intercept"), [(0.5, 0.0), (2.0, -1.5), (5.0, 1.0)])
def test_a_histogram_without_noise_gives_its_curve_back(slope, intercept):
    found = fit_logistic(CENTRES, histogram(slope, intercept, 1e6), 1.0, np.array([2.0, 0.0]), WIDE)
    assert np.allclose(found, (slope, intercept), atol=0.01)


def test_a_histogram_of_noise_leaves_what_was_expected():
    noise = np.random.default_rng(2).normal(scale=1e5, size=(16, 2))
    counts = histogram(3.0, 1.0, 10.0) + noise
    slope, intercept = fit_logistic(CENTRES, counts, 1e10, np.zeros(2), WIDE)
    # The mean of a normal cut off below nothing.
    assert 0.0 <= slope < 2.5
    assert abs(intercept) < 1.0


def captured(monkeypatch, name: str) -> list[np.ndarray]:
    """Raw counts that a mechanism is given, which never leave it."""
    seen: list[np.ndarray] = []
    mechanism = getattr(calibration, name)

    def spy(values, *rest):
        seen.append(np.array(values))
        return mechanism(values, *rest)

    monkeypatch.setattr(calibration, name, spy)
    return seen


def test_a_record_moves_the_histogram_by_one(monkeypatch):
    seen = captured(monkeypatch, "add_count_noise")
    generator = np.random.default_rng(3)
    scores, labels = generator.normal(size=300), generator.integers(0, 2, 300).astype(np.uint8)
    event = GeometricNoise(Fraction(1), Fraction(1))
    for n in (300, 299, 1, 0):
        data = records_with(scores[:n], labels[:n])
        grant = grant_for(event)
        release_histogram_calibration(leaves_of([0.4, 0.6]), *data, 2.0, 1, grant, SeededSource(n))
    raw_tables = seen
    assert np.abs(raw_tables[0] - raw_tables[1]).sum() == 1
    assert np.abs(raw_tables[2] - raw_tables[3]).sum() == 1


def test_a_record_moves_all_pairs_within_a_range_of_one(monkeypatch):
    seen = captured(monkeypatch, "select_exponential")
    generator = np.random.default_rng(4)
    scores, labels = 5.0 * generator.normal(size=(50, 3)), generator.integers(0, 3, 50)
    event = ExponentialSelection(Fraction(1, 100), Fraction(1))
    leaves = leaves_of([0.2, 0.3, 0.5])
    for n in range(50, 39, -1):
        data = records_with(scores[:n], labels[:n])
        release_pair_calibration(leaves, *data, 3.0, grant_for(event), SeededSource(n))
    moved = -np.diff(np.array(seen), axis=0)
    assert moved.min() >= 0 and moved.max() <= STEPS
    # The bound is reached, nearly, by a record that is told apart and misjudged.
    assert moved.max() > 0.9 * STEPS and moved.min() == 0


def test_the_selected_pair_is_the_best_where_the_budget_is_ample():
    generator = np.random.default_rng(5)
    scores = generator.normal(size=(20_000, 3))
    prior = np.array([0.2, 0.3, 0.5])
    p = np.exp(1.4 * scores) * prior
    p /= p.sum(axis=1, keepdims=True)
    labels = (generator.random(20_000)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    event = ExponentialSelection(Fraction(10), Fraction(1))
    found = release_pair_calibration(
        leaves_of(prior.tolist()),
        *records_with(scores, np.minimum(labels, 2)),
        5.0,
        grant_for(event),
        SeededSource(6),
    )
    assert 1.0 < found.slope < 2.0
    assert np.allclose(found.base, np.log(prior), rtol=0.26)
