"""Steps count on the curvature of a rare class, and of a target's mean, where that is far less."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.targets import TARGET_STEPS
from dpforest.trees.refitted import RefittedForest, learner
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.refitted.steps import curvature_at

N = 4000
SIZE = RefittedSize(2, 2, 2)
#: So much that what is released is what the records say.
EPSILON, DELTA = Fraction(10**4), Fraction(1, 10**6)
CODES = [40, -5, 7]
#: Residuals are left whole, so that rounds begin at the shares of the records.
WHOLE = {"clip": 1, "clip_of_much": 1}


@pytest.fixture
def counted_on(monkeypatch, trained_by):
    """Curvatures that the steps of a fit count on, all of them the same."""

    def of(facts, table, delta, **settings):
        found, made = [], learner.shrunk_steps
        monkeypatch.setattr(
            learner, "shrunk_steps", lambda *given: found.append(given[4]) or made(*given)
        )
        forest = RefittedForest(
            RefittedSettings(fixed_size=SIZE, **settings),
            PureRefittedSettings(fixed_size=SIZE, **settings),
        )
        trained_by(forest, facts, table, LearnerBudget(EPSILON, delta))
        monkeypatch.undo()
        assert len(found) >= SIZE.n_rounds
        (own,) = set(found)
        return own

    return of


def labels_of(share, n_classes=2):
    """So many records of the second class; the others in turn of the rest."""
    labels = np.arange(N) % (n_classes - 1)
    labels[labels >= 1] += 1
    labels[: round(share * N)] = 1
    return labels


@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("share", [0.004, 0.012, 0.985, 0.998])
def test_a_rare_class_has_its_own_curvature(facts_of, table_of, counted_on, delta, share):
    facts = facts_of(CODES, 2, float(N))
    found = counted_on(facts, table_of(facts, N, labels=labels_of(share)), delta, **WHOLE)
    assert found == pytest.approx(share * (1 - share), rel=0.2)


@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize(("share", "n_classes"), [(0.03, 2), (0.5, 2), (0.004, 3), (0.004, 5)])
def test_other_classes_have_the_bound(facts_of, table_of, counted_on, delta, share, n_classes):
    facts = facts_of(CODES, n_classes, float(N))
    table = table_of(facts, N, labels=labels_of(share, n_classes))
    assert counted_on(facts, table, delta) == min(0.25, 1 / n_classes)


def test_what_is_rare_is_a_setting(facts_of, table_of, counted_on):
    facts = facts_of(CODES, 2, float(N))
    table = table_of(facts, N, labels=labels_of(0.1))
    assert counted_on(facts, table, DELTA, rare_share=0.2, **WHOLE) == pytest.approx(0.09, rel=0.05)
    assert counted_on(facts, table, DELTA, rare_share=0.05, **WHOLE) == 0.25


def test_it_is_that_of_the_scores_that_rounds_begin_with(facts_of, table_of, counted_on):
    """Where residuals are clipped these are further out than the shares."""
    facts = facts_of(CODES, 2, float(N))
    table = table_of(facts, N, labels=labels_of(0.02))
    assert counted_on(facts, table, DELTA, **WHOLE) == 0.25
    half = {"clip": Fraction(1, 2), "clip_of_much": Fraction(1, 2)}
    assert counted_on(facts, table, DELTA, **half) == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("mean", [0.02, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("curves", [True, False])
def test_targets_have_the_curvature_of_their_mean_with_a_delta(
    means, targets, counted_on, mean, curves
):
    facts = means(float(N))
    table = targets(facts, N)
    table = replace(table, targets=np.full(N, round(mean * TARGET_STEPS), dtype=np.int32))
    limit = 0.0 if curves else 1e9
    found = counted_on(facts, table, DELTA, curve_signal=limit)
    assert found == pytest.approx(mean * (1 - mean), rel=0.1)
    assert counted_on(facts, table, DELTA, own_curvature_of_means=False) == 0.25


def test_few_long_steps_of_targets_in_pure_epsilon_keep_the_bound(means, targets, counted_on):
    facts = means(float(N))
    default = PureRefittedSettings().own_curvature_of_means
    assert counted_on(facts, targets(facts, N), 0, own_curvature_of_means=default) == 0.25


@pytest.mark.parametrize("score", [-1000.0, -50.0, 50.0, 1000.0])
def test_a_released_share_of_none_is_no_curvature_of_none(score):
    assert curvature_at(np.array([score])) == 1 / 1024


def test_it_is_the_slope_of_a_share():
    for score in (-4.0, -1.0, 0.0, 0.3, 5.0):

        def share(x: float) -> float:
            return 1 / (1 + np.exp(-x))

        slope = (share(score + 1e-5) - share(score - 1e-5)) / 2e-5
        assert curvature_at(np.array([score])) == pytest.approx(slope, rel=1e-6)
