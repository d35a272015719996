"""The median of a regression's targets: what a record moves, what is asked for, where it lies."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest import Domain, PrivateForestRegressor, ReportError, verify_report
from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection
from dpforest.accounting.releases import PlanError, Release, once
from dpforest.bridge.bridge import Bridge
from dpforest.exceptions import WeakSignalWarning
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Secret
from dpforest.report.digests import digest_of
from dpforest.streams import BatchStream
from dpforest.trees.one_shot.learner import _median_shares
from dpforest.trees.one_shot.plan import Role
from dpforest.trees.one_shot.queries import N_MEDIAN_CELLS, MedianRank, median_scores

LOWER, UPPER, N = 0.0, 1000.0, 400


class Counted:
    """Records of which only the counts by cell are known."""

    def __init__(self, counts):
        self.counts = counts

    def sealed_total(self, query):
        return Secret(np.asarray(self.counts, dtype=np.int64))


def drawn(counts, epsilon, seed, score_range=1, scope=None):
    scope = scope or BudgetAccountant._unlimited().open_scope("test")
    event = ExponentialSelection(Fraction(epsilon), Fraction(score_range))
    rounds = (once("one_shot", Release(Role.MEDIAN, event)),)
    return _median_shares(Bridge(rounds, scope, Counted(counts), SeededSource(seed)))[1]


@pytest.mark.parametrize("seed", range(20))
def test_one_record_moves_every_score_by_one_step_at_most(seed):
    generator = np.random.default_rng(seed)
    counts = generator.poisson(generator.choice([0.01, 1.0, 50.0]), N_MEDIAN_CELLS)
    more = counts.copy()
    more[generator.integers(N_MEDIAN_CELLS)] += 1
    moved = median_scores(more) - median_scores(counts)
    assert set(np.unique(moved)) <= {-1.0, 0.0, 1.0}


def test_the_bound_on_what_a_record_moves_is_met():
    counts = np.zeros(N_MEDIAN_CELLS, dtype=np.int64)
    counts[:] = 3
    more = counts.copy()
    more[-1] += 1
    moved = median_scores(more) - median_scores(counts)
    assert np.ptp(moved) * MedianRank().unit == MedianRank().score_range


def test_a_draw_paid_for_at_half_its_range_is_refused():
    with pytest.raises(PlanError, match="less than one record moves"):
        drawn(np.ones(N_MEDIAN_CELLS), 1, 1, score_range=Fraction(1, 2))


def test_odds_of_two_cells_are_those_of_the_mechanism():
    """20,000 draws; a miss of four standard deviations has odds of one in 16,000."""
    counts = np.zeros(N_MEDIAN_CELLS, dtype=np.int64)
    counts[0], counts[-1] = 3, 1
    # Cell 0 has 1 more above it, every inner cell 2 more below, the last one 3 more.
    epsilon, draws = 3, 20_000
    weights = np.exp(epsilon * median_scores(counts) / 2)
    share = weights[0] / weights.sum()
    scope = BudgetAccountant._unlimited().open_scope("test")
    hits = sum(drawn(counts, epsilon, n, scope=scope) < 1 / N_MEDIAN_CELLS for n in range(draws))
    assert abs(hits / draws - share) < 4 * math.sqrt(share * (1 - share) / draws)


def test_a_generous_budget_finds_the_median():
    generator = np.random.default_rng(0)
    targets = generator.beta(2, 9, 5000)
    counts = np.histogram(targets, bins=N_MEDIAN_CELLS, range=(0, 1))[0]
    found = [drawn(counts, 2, seed) for seed in range(20)]
    assert np.abs(np.array(found) - np.median(targets)).max() < 0.01


def regressor(rows, n_features=1, **parameters):
    names = ["x", *(f"x{number}" for number in range(1, n_features))]
    features = dict.fromkeys(names, (0.0, 1.0))
    domain = Domain(features=features, target=(LOWER, UPPER), approximate_rows=rows)
    return PrivateForestRegressor(domain=domain, **parameters)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_takes_the_place_of_the_mean_where_the_rule_says(delta):
    for signal, name in ((5, "prior"), (7, "median of the target"), (29, "median of the target"),
                         (31, "prior")):  # fmt: skip
        # So many features that no curve of one can be known.
        plan = regressor(N, 12, epsilon=signal * 2**0.5 / N, delta=delta).plan()
        assert [part.name for part in plan.parts] == [name]
        assert plan.parts[0].share == 1.0 and "epsilon" in plan.details["budget shares add up in"]


def test_narrow_targets_are_found_where_a_mean_would_drown():
    generator = np.random.default_rng(3)
    X, y = generator.random((N, 1)), np.clip(generator.normal(120, 30, N), LOWER, UPPER)
    errors = []
    for seed in range(10):
        forest = regressor(N, epsilon=20 * 2**0.5 / N, random_state=seed)
        with pytest.warns(WeakSignalWarning):
            errors.append(forest.fit(X, y).predict(X[:1])[0] - y.mean())
        assert [entry.role for entry in forest.accountant_.ledger] == ["median of the target"]
    assert np.abs(errors).mean() < 20  # noise on the mean alone would be 1000 / 20
    again = type(forest).from_json(forest.to_json())
    assert np.array_equal(again.predict(X), forest.predict(X))


def test_a_stream_gives_the_median_of_its_table(capsys):
    generator = np.random.default_rng(7)
    X, y = generator.random((N, 1)), generator.uniform(LOWER, UPPER, N)
    whole = regressor(N, epsilon="0.06", random_state=4)
    streamed = regressor(N, epsilon="0.06", random_state=4, verbose=1)
    parts = [(X[a : a + 150], y[a : a + 150]) for a in range(0, N, 150)]
    with pytest.warns(WeakSignalWarning):
        whole.fit(X, y)
    with pytest.warns(WeakSignalWarning):
        streamed.fit(BatchStream(lambda: iter(parts), memory_limit=0))
    assert [entry.role for entry in streamed.accountant_.ledger] == ["median of the target"]
    assert np.array_equal(whole.predict(X), streamed.predict(X))
    assert "1/1" in capsys.readouterr().err


def test_a_report_with_the_name_that_its_role_had_holds():
    forest = regressor(N, epsilon=20 * 2**0.5 / N)
    with pytest.warns(WeakSignalWarning):
        forest.fit(np.zeros((N, 1)), np.full(N, 120.0))
    written = json.dumps(json.loads(forest.privacy_report().model_dump_json(exclude={"digest"})))
    for name, holds in (("middle of the target", True), ("mean of the target", False)):
        earlier = json.loads(written.replace("median of the target", name))
        report = json.dumps(earlier | {"digest": digest_of(earlier)})
        if holds:
            assert "plan and settings" in verify_report(report).held
        else:
            with pytest.raises(ReportError, match="role is not what such a fit asks for"):
                verify_report(report)
