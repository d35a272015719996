"""The released range of targets: paid for once, and where nearly all records are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import Domain, PrivateForestRegressor
from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import SHARED, PlanError, Release, once
from dpforest.bridge.bridge import Bridge
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.fit_plan import RANGE_ROLE
from dpforest.estimators.target_range import EDGES, N_CELLS, find_range, release_target_range
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords
from dpforest.records.counts import TargetSpans
from dpforest.records.table import Table

steps = st.integers(0, TARGET_STEPS)


def table_of(targets) -> Table:
    n = len(targets)
    codes, labels = np.zeros((n, 1), np.uint8), np.zeros(n, np.uint8)
    columns = np.array([2]), np.array([0, 2]), np.array([True])
    return Table(codes, labels, *columns, 2, targets=np.array(targets, dtype=np.int32))


def bridge_to(targets, event, seed=0, accountant=None):
    scope = (accountant or BudgetAccountant(10)).open_scope("fit")
    bought = once(SHARED, Release(RANGE_ROLE, event))
    return Bridge((bought,), scope, MemoryRecords(table_of(targets)), SeededSource(seed))


def released(targets, epsilon, seed):
    event = GeometricNoise(Fraction(epsilon), Fraction(1))
    return release_target_range(bridge_to(targets, event, seed), float(len(targets)))


# -- the release -----------------------------------------------------------------------------


@given(st.lists(steps, max_size=20), steps)
def test_a_record_adds_one_to_one_span(targets, another):
    one = TargetSpans(EDGES).count(Chunk(table_of(targets)))
    more = TargetSpans(EDGES).count(Chunk(table_of([*targets, another])))
    difference = more - one
    assert difference.min() == 0 and difference.sum() == 1 and difference.size == len(EDGES) - 1
    held = int(difference.argmax())
    assert EDGES[held] <= another < EDGES[held + 1] or another == TARGET_STEPS == EDGES[held + 1]


def test_spans_cover_the_bounds_once():
    assert EDGES[0] == 0 and EDGES[-1] == TARGET_STEPS
    assert list(EDGES) == sorted(set(EDGES))
    assert sorted(TARGET_STEPS - edge for edge in EDGES) == list(EDGES)
    assert set(range(0, TARGET_STEPS, TARGET_STEPS // N_CELLS)) < set(EDGES)


def test_it_is_paid_for_once_for_what_a_record_moves():
    accountant = BudgetAccountant(1)
    event = GeometricNoise(Fraction(1), Fraction(1))
    bridge = bridge_to([5] * 10, event, accountant=accountant)
    release_target_range(bridge, 10.0)
    assert [entry.role for entry in accountant.ledger] == [RANGE_ROLE]
    assert accountant.spent.epsilon == 1
    with pytest.raises(PlanError):
        release_target_range(bridge, 10.0)


def test_noise_for_less_than_a_record_moves_releases_nothing():
    event = GeometricNoise(Fraction(1), Fraction(1, 2))
    with pytest.raises(PlanError, match="less than one record moves"):
        release_target_range(bridge_to([5] * 10, event), 10.0)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=N_CELLS, max_size=N_CELLS))
def test_any_noise_leaves_a_range_within_the_cells(counts):
    first, last = find_range(np.array(counts), 1.0)
    assert 0 <= first <= last <= N_CELLS


@pytest.mark.parametrize("place", [(0, 5), (20, 30), (59, 64), (31, 33)])
def test_without_noise_the_range_is_where_the_records_are(place):
    counts = np.zeros(N_CELLS, dtype=np.int64)
    counts[slice(*place)] = 1000
    assert find_range(counts, 1e-9) == place


def test_noise_alone_leaves_the_declared_range():
    full = [released([], "0.001", seed) == (0, TARGET_STEPS) for seed in range(40)]
    # A run of cells passes three deviations by chance once in a while: about 150 runs a release.
    assert np.mean(full) >= 0.5
    for seed in range(40):
        low, high = released([TARGET_STEPS // 2] * 3, "0.001", seed)
        assert 0 <= low < high <= TARGET_STEPS


def test_the_range_holds_nearly_all_records_and_leaves_the_rest_out():
    generator, widths = np.random.default_rng(0), []
    for seed in range(20):
        shares = np.clip(generator.normal(0.2, 0.02, 20_000), 0, 1)
        targets = (shares * TARGET_STEPS).astype(np.int32)
        low, high = released(targets, "0.05", seed)
        cut = ((targets < low) | (targets > high)).mean()
        assert cut < 0.05
        widths.append((high - low) / TARGET_STEPS)
    # Six deviations of the targets are 0.12; the margins, and now and then a stray run, are beside.
    assert np.median(widths) < 0.4 and max(widths) < 0.8


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("most", [20, 100, 900])
def test_bounds_that_are_far_too_wide_are_cut_to_where_targets_lie(most, upper):
    """Beside a bound, to a thousandth of what was declared."""
    for seed in range(20):
        steps = np.random.default_rng(seed).integers(0, most, 3000)
        targets = TARGET_STEPS - steps if upper else steps
        low, high = released(targets, "1", seed)
        assert (targets >= low).all() and (targets <= high).all()
        assert high - low <= max(4 * most, 64)


def test_targets_of_one_cell_have_a_range_of_two():
    width = TARGET_STEPS // N_CELLS
    targets = np.random.default_rng(0).integers(20 * width, 21 * width, 3000)
    for seed in range(20):
        assert released(targets, "1", seed) == (19.5 * width, 21.5 * width)


@pytest.mark.parametrize("place", [0, TARGET_STEPS // 3, TARGET_STEPS])
def test_one_cell_is_no_range_where_many_targets_lie_elsewhere(place):
    """Three of ten targets are too few in each cell to be seen, and no tail."""
    far = np.random.default_rng(1).integers(0, TARGET_STEPS, 900)
    targets = np.concatenate([np.full(2100, place), far])
    wide = [np.subtract(*released(targets, "0.05", seed)[::-1]) for seed in range(40)]
    assert np.mean(np.array(wide) > TARGET_STEPS // 4) > 0.9


def test_hardly_any_noise_makes_a_far_cell_of_a_range():
    """Of 74 noisy counts one is above 4.6 deviations in one fit of twenty."""
    targets = np.random.default_rng(0).normal(0.3, 0.02, 3000) * TARGET_STEPS
    wide = [np.subtract(*released(targets.astype(np.int32), "0.05", s)[::-1]) for s in range(300)]
    assert np.median(wide) < TARGET_STEPS // 6
    assert np.mean(np.array(wide) > TARGET_STEPS // 3) < 0.02


@pytest.mark.parametrize("upper", [100.0, 10_000.0])
def test_a_regression_with_wide_bounds_is_no_worse_than_the_mean(upper):
    """Noise is in units of the range between which a regression learns."""
    gains = []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        X = generator.uniform(size=(3000, 2))
        y = 5 + 10 * X[:, 0] + generator.normal(size=3000)
        domain = Domain(
            features={"a": (0.0, 1.0), "b": (0.0, 1.0)}, target=(0, upper), approximate_rows=2000
        )
        forest = PrivateForestRegressor(epsilon=1, domain=domain, random_state=seed)
        gains.append(forest.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]))
    assert np.median(gains) > 0.5 and min(gains) > 0
