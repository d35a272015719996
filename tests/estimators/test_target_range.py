"""The released range of targets: paid for once, and where nearly all records are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import SHARED, Release, once
from dpforest.bridge import Bridge, PlanError
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.fit_plan import RANGE_ROLE
from dpforest.estimators.target_range import N_CELLS, find_range, release_target_range
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords, TargetCells
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
    return release_target_range(bridge_to(targets, event, seed))


# -- the release -----------------------------------------------------------------------------


@given(st.lists(steps, max_size=20), steps)
def test_a_record_adds_one_to_one_cell(targets, another):
    one = TargetCells(N_CELLS).count(Chunk(table_of(targets)))
    more = TargetCells(N_CELLS).count(Chunk(table_of([*targets, another])))
    difference = more - one
    assert difference.min() == 0 and difference.sum() == 1 and difference.size == N_CELLS
    assert difference[min(another * N_CELLS // TARGET_STEPS, N_CELLS - 1)] == 1


def test_it_is_paid_for_once_for_what_a_record_moves():
    accountant = BudgetAccountant(1)
    event = GeometricNoise(Fraction(1), Fraction(1))
    bridge = bridge_to([5] * 10, event, accountant=accountant)
    release_target_range(bridge)
    assert [entry.role for entry in accountant.ledger] == [RANGE_ROLE]
    assert accountant.spent.epsilon == 1
    with pytest.raises(PlanError):
        release_target_range(bridge)


def test_noise_for_less_than_a_record_moves_releases_nothing():
    event = GeometricNoise(Fraction(1), Fraction(1, 2))
    with pytest.raises(PlanError, match="less than one record moves"):
        release_target_range(bridge_to([5] * 10, event))


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
