"""The membership attack of benchmarks/attacks, and the bounds that it is drawn beside."""

from __future__ import annotations

import numpy as np
import pytest
from attacks.bounds import largest_auc, largest_true_positive_rate
from attacks.membership import PRIVATE as OURS
from attacks.membership import Job, measured, offline_scores, online_scores, run, true_rates


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_the_largest_area_is_that_under_the_largest_rates(epsilon, delta):
    rates = np.linspace(0.0, 1.0, 200_001)
    highest = [largest_true_positive_rate(epsilon, delta, rate) for rate in rates]
    assert largest_auc(epsilon, delta) == pytest.approx(np.trapezoid(highest, rates), abs=1e-5)


def test_bounds_of_randomised_response():
    """It reaches them: a truthful bit with probability e^ε / (1 + e^ε)."""
    truth = np.e / (1 + np.e)
    assert largest_auc(1.0, 0.0) == pytest.approx(truth)
    assert largest_true_positive_rate(1.0, 0.0, 1 - truth) == pytest.approx(truth)
    assert largest_true_positive_rate(1.0, 0.0, 0.001) == pytest.approx(0.001 * np.e)
    assert largest_true_positive_rate(30.0, 0.0, 0.5) == pytest.approx(1.0)
    assert largest_auc(0.0, 0.0) == 0.5
    assert largest_auc(1e6, 0.0) == 1.0


def made_up(gap: float, n_models: int = 40, n: int = 300):
    """Confidences that are higher by ``gap`` in models with the record."""
    generator = np.random.default_rng(0)
    inside = generator.random((n_models, n)) < 0.5
    level = generator.normal(0.0, 3.0, n)
    return level + gap * inside + generator.normal(0.0, 1.0, inside.shape), inside


@pytest.mark.parametrize("scores", [online_scores, offline_scores])
def test_a_gap_is_found_at_its_size(scores):
    """Two unit normals two apart have an area of Φ(2/√2) = 0.921."""
    confidence, inside = made_up(2.0)
    found = measured(scores(confidence, inside), inside, 0)
    assert found["auc"] == pytest.approx(0.921, abs=0.02)
    low, high = found["auc_interval"]
    assert low < found["auc"] < high
    assert found["tpr"] > 0.05


@pytest.mark.parametrize("scores", [online_scores, offline_scores])
def test_nothing_is_found_where_nothing_is(scores):
    confidence, inside = made_up(0.0)
    found = measured(scores(confidence, inside), inside, 0)
    # 12,000 scores: the area's deviation is 0.0053.
    assert found["auc"] == pytest.approx(0.5, abs=0.032)
    assert found["tpr"] < 0.006


def test_a_model_is_scored_without_itself():
    confidence, inside = made_up(1.0, n_models=6, n=20)
    changed = inside.copy()
    changed[2] = ~changed[2]
    for scores in (online_scores, offline_scores):
        assert np.array_equal(scores(confidence, inside)[2], scores(confidence, changed)[2])


def test_true_rates_by_hand():
    inside = np.array([[True, True, True, False, False, False, False]])
    scores = np.array([[9.0, 5.0, 1.0, 8.0, 5.0, 2.0, 0.0]])
    rates = true_rates(scores, inside, np.array([0.0, 0.25, 0.5, 1.0]))
    # None of the others above 8; one above 5, which the tied member is not; two above 2; all.
    assert rates.tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3, 1.0])


def test_a_run_reports_rates_beside_bounds():
    line = run(Job("mammographic_masses", OURS, 0.1, 0.0), n_models=6)
    assert line["members"] + line["non_members"] == 6 * 961
    assert line["tpr_bound"] == pytest.approx(0.001 * np.exp(0.1))
    assert line["auc_bound"] == pytest.approx(np.exp(0.1) / (1 + np.exp(0.1)))
    assert 0.4 < line["online"]["auc"] < 0.6
