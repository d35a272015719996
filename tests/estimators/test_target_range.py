"""The released range of targets, rescaling into it, and classes tossed from targets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import GeometricNoise
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.target_range import (
    N_CELLS,
    Rescaled,
    TargetCells,
    Tossed,
    find_range,
    release_target_range,
)
from dpforest.exceptions import GrantError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.row_words import RowWords
from dpforest.records.base import Block, MemoryRecords
from dpforest.records.table import TrainingTable

steps = st.integers(0, TARGET_STEPS)
ALPHA = 1e-9


def table_of(targets) -> TrainingTable:
    n = len(targets)
    codes, labels = np.zeros((n, 1), np.uint8), np.zeros(n, np.uint8)
    columns = np.array([2]), np.array([0, 2]), np.array([True])
    return TrainingTable(codes, labels, *columns, 2, targets=np.array(targets, dtype=np.int32))


def grant_of(epsilon):
    event = GeometricNoise(Fraction(epsilon), Fraction(1))
    return BudgetAccountant(epsilon).request(event, role="range")


def released(targets, epsilon, seed):
    records = MemoryRecords(table_of(targets))
    return release_target_range(records, grant_of(epsilon), SeededSource(seed))


# -- the release -----------------------------------------------------------------------------


@given(st.lists(steps, max_size=20), steps)
def test_a_record_adds_one_to_one_cell(targets, another):
    one = TargetCells().count(Block(table_of(targets)))
    more = TargetCells().count(Block(table_of([*targets, another])))
    difference = more - one
    assert difference.min() == 0 and difference.sum() == 1 and difference.size == N_CELLS
    assert difference[min(another * N_CELLS // TARGET_STEPS, N_CELLS - 1)] == 1


def test_the_release_wants_a_grant_of_its_kind_and_uses_it_up():
    records, grant = MemoryRecords(table_of([5] * 10)), grant_of(1)
    release_target_range(records, grant, SeededSource(0))
    with pytest.raises(GrantError):
        release_target_range(records, grant, SeededSource(0))


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


# -- rescaling -------------------------------------------------------------------------------


@given(st.lists(steps, min_size=1, max_size=20), st.lists(steps, min_size=2, max_size=2))
def test_rescaled_targets_are_those_of_the_twin(targets, ends):
    low, high = sorted(ends)
    if low == high:
        return
    table = Rescaled(low, high).table(Block(table_of(targets)))
    twin = [(min(max(t, low), high) - low) * TARGET_STEPS // (high - low) for t in targets]
    assert table.targets.tolist() == twin and table.targets.dtype == np.int32
    assert min(twin) >= 0 and max(twin) <= TARGET_STEPS
    # Back in the declared range no more than a step is lost.
    for target, place in zip(targets, twin, strict=True):
        back = low + Fraction(place * (high - low), TARGET_STEPS)
        assert 0 <= min(max(target, low), high) - back < 1


def test_the_whole_range_changes_nothing():
    targets = [0, 1, 77, TARGET_STEPS - 1, TARGET_STEPS]
    assert Rescaled(0, TARGET_STEPS).table(Block(table_of(targets))).targets.tolist() == targets


# -- coins -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0, 1, 2**15, TARGET_STEPS - 1, TARGET_STEPS])
def test_a_coin_is_exact_over_all_words(target):
    words = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    table = table_of([target] * words.size).tossed(words)
    assert table.targets is None and table.unit == 1
    assert int(table.labels.sum()) == target


def chi_square(targets, labels, scale=1.0):
    """Of classes against their chances, by eight groups of targets."""
    total = 0.0
    for group in np.unique(targets):
        own = labels[targets == group]
        chance = min(group / TARGET_STEPS * scale, 1.0)
        total += (own.sum() - own.size * chance) ** 2 / (own.size * chance * (1 - chance))
    return total


def test_tossed_classes_follow_their_chances():
    targets = np.repeat(np.arange(1, 9) * TARGET_STEPS // 12, 20_000)
    rows = SeededSource(5).rows()
    table = Tossed(rows).table(Block(table_of(targets)))
    limit = chi2.isf(ALPHA, df=8)
    assert chi_square(targets, table.labels) < limit
    assert chi_square(targets, table.labels, 1.3) > limit
    assert chi_square(targets, table.labels, 0.7) > limit


def test_a_coin_is_the_records_own_however_the_table_is_cut():
    targets = np.random.default_rng(1).integers(0, TARGET_STEPS, 100)
    rows = RowWords.keyed(np.arange(4, dtype=np.uint64))
    whole = Tossed(rows).table(Block(table_of(targets))).labels
    part = Tossed(rows).table(Block(table_of(targets[30:60]), 30)).labels
    assert whole[30:60].tolist() == part.tolist()
