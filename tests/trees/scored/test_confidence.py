"""Right answers less claimed ones: bounds, a slow twin, and what scores are multiplied by."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.bridge.bridge import Bridge
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.scored.claims import SHORTER, STEPS, ConfidenceSums, confidence_sensitivity
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.confidence import (
    CONFIDENCE_ROLE,
    SPREAD,
    confidence_is_affordable,
    likely_scale,
)
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.training import train_on

FAR = [np.nan, np.inf, -np.inf, 0.0, 40.0, -40.0, 745.0, -745.0, 1e300, -1e300]
extreme = st.floats(-1e6, 1e6) | st.sampled_from(FAR)
DELTA = Fraction(1, 10**6)


def table_of(labels, n_classes: int) -> Table:
    """Records of these labels, in their order; codes number them."""
    n = len(labels)
    codes = np.arange(n, dtype=np.uint16)[:, None]
    return Table(codes, np.asarray(labels, dtype=np.uint8), np.array([max(n, 2)]),
                 np.array([0, max(n, 2)]), np.array([True]), n_classes)  # fmt: skip


class OfRecords:
    """A move that gives each record scores of its own."""

    def __init__(self, scores: np.ndarray) -> None:
        self.own = scores

    def move(self, chunk: Chunk, scores: np.ndarray) -> None:
        scores += self.own[chunk.table.codes[:, 0]]


def sums_of(scores, labels, n_classes, factor=1.0, shift=None):
    scores = np.asarray(scores, dtype=np.float64)
    shift = np.zeros(scores.shape[1]) if shift is None else np.asarray(shift, dtype=np.float64)
    history = ScoreHistory(np.zeros(scores.shape[1]), (OfRecords(scores),))
    query = ConfidenceSums(history, factor, shift)
    return query.count(Chunk(table_of(labels, n_classes)))


def largest_share(z: np.ndarray) -> np.ndarray:
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    return raised.max(axis=1) / raised.sum(axis=1)


@given(st.integers(2, 6), st.data())
def test_one_record_adds_no_more_than_is_paid_for(n_classes, data):
    size = n_score_columns(n_classes)
    scores = data.draw(st.lists(extreme, min_size=size, max_size=size))
    label = data.draw(st.integers(0, n_classes - 1))
    factor, shift = data.draw(st.floats(0, 3)), data.draw(st.floats(-3, 3))
    first, second = (int(v) for v in sums_of([scores], [label], n_classes, factor, [shift] * size))
    bounds = confidence_sensitivity()
    assert abs(first) <= STEPS and second >= 0
    assert abs(first) + second <= bounds.l1 and first**2 + second**2 <= bounds.l2_squared


def test_of_many_classes_a_record_reaches_nearly_all_that_is_paid_for():
    # Sure of one of 200 classes, and hardly so once scores are shorter; and wrong.
    first, second = (int(v) for v in sums_of([[8.0] + [0.0] * 199], [1], 200))
    bounds = confidence_sensitivity()
    assert second == 2 * STEPS // 3
    assert 0.95 * bounds.l1 < abs(first) + second <= bounds.l1
    assert 0.9 * bounds.l2_squared < first**2 + second**2 <= bounds.l2_squared


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_sums_are_those_of_a_slow_twin(n_classes):
    generator = np.random.default_rng(n_classes)
    n, size = 1300, n_score_columns(n_classes)  # more than one block
    scores, labels = generator.normal(size=(n, size)), generator.integers(0, n_classes, n)
    shift = generator.normal(size=size)
    z = 1.2 * scores + shift
    z = np.column_stack([np.zeros(n), z]) if n_classes == 2 else z
    hits = z.argmax(axis=1) == labels
    claims, short = largest_share(z), largest_share(SHORTER * z)
    first, second = sums_of(scores, labels, n_classes, 1.2, shift)
    assert first == pytest.approx((hits - claims).sum() * STEPS, abs=n)
    assert second == pytest.approx(2 * (claims - short).clip(max=1 / 3).sum() * STEPS, abs=n)


def test_records_whose_scores_are_no_numbers_add_nothing():
    assert sums_of([[np.nan, 0.0, 1.0]], [2], 3).tolist() == [0, 0]
    with_one = sums_of([[np.nan], [1.0]], [1, 1], 2)
    assert with_one.tolist() == sums_of([[1.0]], [1], 2).tolist()


def test_two_halves_add_up_to_the_whole():
    generator = np.random.default_rng(0)
    scores, labels = generator.normal(size=(700, 4)), generator.integers(0, 4, 700)
    parts = [sums_of(scores[part], labels[part], 4) for part in (slice(300), slice(300, None))]
    assert (sum(parts) == sums_of(scores, labels, 4)).all()


def test_scores_that_are_right_as_often_as_they_claim_stay_as_they_are():
    assert likely_scale(0.0, 70.0, 5.0, 1000) == 1.0


@given(st.floats(-500, 500), st.floats(-50, 300), st.floats(0.1, 1e4))
def test_what_is_right_more_often_gets_longer_and_the_less_so_the_more_noise(gap, fall, noise):
    found = likely_scale(gap, fall, noise, 1000)
    assert 0.39 < found < 1.66
    assert (found >= 1) if gap >= 0 else (found <= 1)
    noisier = likely_scale(gap, fall, 2 * noise, 1000)
    assert abs(math.log(noisier)) <= abs(math.log(found)) + 1e-12


def test_noise_as_wide_as_what_is_likely_beforehand_halves_the_logarithm():
    slope = 200.0  # for one step of the logarithm
    fall = slope * math.log(1 / SHORTER)
    half = likely_scale(20.0, fall, SPREAD * slope, 1000)
    assert math.log(likely_scale(20.0, fall, 0.0, 1000)) == pytest.approx(0.1)
    assert math.log(half) == pytest.approx(0.05)


def test_the_length_is_found_again_without_noise():
    generator = np.random.default_rng(1)
    true = generator.normal(size=(40_000, 3))
    odds = np.exp(true)
    labels = (generator.random((40_000, 1)) > (odds / odds.sum(1, keepdims=True)).cumsum(1)).sum(1)
    for too_long in (0.8, 1.0, 1.3, 1.6):
        first, second = sums_of(too_long * true, labels, 3)
        found = likely_scale(first / STEPS, second / 2 / STEPS, 0.0, 40_000)
        assert found * too_long == pytest.approx(1.0, abs=0.12)


def facts_of(n_classes: int, rows: float | None, unit: int = 1) -> TableFacts:
    sizes = np.array([8, 8, 8, 8, 8])
    scaled = tuple(np.linspace(0.1, 0.9, 8) for _ in sizes)
    return TableFacts(
        sizes, np.ones(5, bool), np.zeros(5, bool), scaled, n_classes, rows, unit
    )  # fmt: skip


def roles_of(learner, n_classes, rows, delta=DELTA, epsilon=1, unit=1):
    budget = LearnerBudget(Fraction(epsilon), Fraction(delta), certified=bool(delta))
    plan = learner.plan(facts_of(n_classes, rows, unit), budget)
    return [release.role for round_ in plan.rounds for release in round_.releases]


@pytest.mark.parametrize("learner", [RefittedForest(), BoostedForest(), AdditiveForest()])
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_it_is_asked_for_last_and_of_classes_alone(learner, delta):
    roles = roles_of(learner, 3, 50_000.0, delta)
    assert roles[-1] == CONFIDENCE_ROLE and roles.count(CONFIDENCE_ROLE) == 1
    assert CONFIDENCE_ROLE not in roles_of(learner, 2, 50_000.0, delta, unit=2**16)
    # Of two classes only a refitted forest asks.
    asks = isinstance(learner, RefittedForest)
    assert (CONFIDENCE_ROLE in roles_of(learner, 2, 50_000.0, delta)) == asks


def test_it_is_not_asked_for_where_noise_would_hide_the_answer():
    share, budget = Fraction(2, 100), LearnerBudget(Fraction(1), DELTA)
    assert not confidence_is_affordable(facts_of(3, None), budget, share)
    assert not confidence_is_affordable(facts_of(3, 300.0), budget, share)
    assert confidence_is_affordable(facts_of(3, 3000.0), budget, share)
    assert not confidence_is_affordable(facts_of(3, 3000.0, unit=2), budget, share)
    pure = LearnerBudget(Fraction(1), Fraction(0))
    assert not confidence_is_affordable(facts_of(3, 300.0), pure, share)
    assert confidence_is_affordable(facts_of(3, 30_000.0), pure, share)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize(("learner", "n_classes"), [
    (RefittedForest(), 2), (RefittedForest(), 3), (BoostedForest(), 3), (AdditiveForest(), 3),
])  # fmt: skip
def test_what_is_looked_at_are_the_scores_of_the_model_but_for_one_factor(
    learner, n_classes, delta, monkeypatch
):
    looked, ask = [], Bridge.ask

    def watched(bridge, question, *roles):
        looked.append(question)
        return ask(bridge, question, *roles)

    monkeypatch.setattr(Bridge, "ask", watched)
    monkeypatch.setattr("dpforest.trees.scored.confidence.likely_scale", lambda *_: 1.25)
    # Of two classes a linear start is there too, with a delta.
    facts, n = facts_of(n_classes, 30_000.0), 400
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 8, (n, 5)).astype(np.uint8)
    labels = ((codes[:, 0] > 3).astype(np.uint8) * (n_classes - 1)).astype(np.uint8)
    table = Table(codes, labels, facts.n_codes, facts.offsets, facts.ordered, n_classes)
    plan = learner.plan(facts, LearnerBudget(Fraction(2), delta))
    roles = {release.role for round_ in plan.rounds for release in round_.releases}
    assert ("linear start: Gram matrix" in roles) == (bool(delta) and learner.name == "refitted")
    with BudgetAccountant._unlimited().open_scope("fit") as scope:
        source, records = SeededSource(5), MemoryRecords(table)
        model = train_on(learner, plan, scope, source, records, facts, lambda: None)
    query = looked[-1]
    seen = query.factor * query.scored.scores(Chunk(table)) + query.shift
    released = model.log_odds(codes)[:, -seen.shape[1] :]
    assert np.ptp(released) > 0.1
    # Steps are rounded to a lattice once they have their length.
    assert released == pytest.approx(1.25 * seen, abs=2e-3)


def claimed_and_right(learner, facts, codes, labels, n) -> tuple[float, float]:
    """Mean largest share of records that were not trained on, and how many were named right."""
    table = Table(codes[:n], labels[:n], facts.n_codes, facts.offsets, facts.ordered, 3)
    plan = learner.plan(facts, LearnerBudget(Fraction(2), DELTA, certified=True))
    with BudgetAccountant._unlimited().open_scope("fit") as scope:
        source, records = SeededSource(5), MemoryRecords(table)
        model = train_on(learner, plan, scope, source, records, facts, int)
    scores = model.log_odds(codes[n:])
    right = scores.argmax(axis=1) == labels[n:]
    return float(largest_share(scores).mean()), float(right.mean())


def test_a_forest_of_noisy_labels_claims_less_too_much(monkeypatch):
    generator = np.random.default_rng(3)
    n, facts, learner = 8000, facts_of(3, 8000.0), RefittedForest()
    codes = generator.integers(0, 8, (2 * n, 5)).astype(np.uint8)
    places = (codes[:, :3] >= 4) * 1.2 + generator.gumbel(size=(2 * n, 3))
    labels = places.argmax(axis=1).astype(np.uint8)
    claimed, right = claimed_and_right(learner, facts, codes, labels, n)
    monkeypatch.setattr(
        "dpforest.trees.scored.confidence.confidence_is_affordable", lambda *_: False
    )
    without, as_right = claimed_and_right(learner, facts, codes, labels, n)
    assert right == pytest.approx(as_right, abs=0.02)
    assert without - as_right > 0.1
    assert abs(claimed - right) < 0.75 * (without - as_right)
